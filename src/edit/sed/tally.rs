//! Reads the marks that a [probe](super::probe) leaves, and counts what each command did to each file.

use super::probe::{Owner, Whence, mark, range_index};
use super::script::*;

/// What one command did in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Its address let it run.
    pub ran: bool,
    /// Its regex, or a letter of `y`, matched.
    pub matched: bool,
    /// It made other bytes of the pattern space, or of the output.
    pub changed: bool,
    /// It ran on the last line.
    pub late: bool,
}

/// A range that was open when its input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unclosed {
    pub owner: Owner,
    pub target: usize,
}

/// All marks of a call.
pub(super) struct Tallies<'a> {
    script: &'a Script,
    whence: Whence,
    nonce: Vec<u8>,
    delimiter: u8,
    /// For [`Whence::Line`]: the last line's number of each target.
    last_lines: Vec<u64>,
    targets: usize,
    /// Every target is an input of its own: ranges begin anew in each.
    separate: bool,
    commands: Vec<Tally>,
    ranges: Vec<Range>,
    /// Per target: a command was run that a replay must not run, and what follows is guesswork.
    tainted: Vec<bool>,
    /// Per target: `q` or `Q` ended it.
    quit: Vec<bool>,
    line: Vec<u8>,
    state: State,
    at: Place,
    before: Vec<u8>,
    printed: bool,
}

/// The state of a range address in a target.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    open: bool,
    /// The line at hand has opened it: its end isn't looked for there.
    fresh: bool,
    /// The target of the last line within it.
    entered: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    kind: u8,
    index: usize,
    target: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    WantPlace,
    WantSpace,
    /// Between the marks of one command.
    Inside,
}

impl<'a> Tallies<'a> {
    /// `targets` files will be read; `last_lines` says for [`Whence::Line`] where each ends.
    pub(super) fn new(script: &'a Script, targets: usize, separate: bool, delimiter: u8) -> Self {
        let owners = script.commands.len() + script.blocks.len();
        let mut tallies = Tallies {
            script,
            whence: Whence::Single,
            nonce: Vec::new(),
            delimiter,
            last_lines: Vec::new(),
            targets,
            separate,
            commands: vec![Tally::default(); script.commands.len() * targets],
            ranges: vec![Range::default(); owners * targets],
            tainted: vec![false; targets],
            quit: vec![false; targets],
            line: Vec::new(),
            state: State::Idle,
            at: Place::default(),
            before: Vec::new(),
            printed: false,
        };
        for (owner, addresses) in owners_of(script) {
            let from_start = addresses.first.as_ref().is_some_and(|first| first.kind == AddressKind::Line(0));
            for target in 0..targets {
                tallies.ranges[range_index(script, owner) * targets + target].open = from_start;
            }
        }
        tallies
    }

    /// Before a run: its marks, and what they say of the place. `target` is the one of a run on a single file.
    pub(super) fn begin(&mut self, nonce: &[u8], whence: Whence, target: usize, last_lines: Vec<u64>) {
        self.nonce = nonce.to_vec();
        self.whence = whence;
        self.last_lines = last_lines;
        self.at.target = target;
        self.line.clear();
        self.state = State::Idle;
    }

    /// Takes output of the run.
    pub(super) fn feed(&mut self, mut chunk: &[u8]) {
        while let Some(at) = memchr::memchr(self.delimiter, chunk) {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&chunk[..at]);
            self.one(&line);
            line.clear();
            self.line = line;
            chunk = &chunk[at + 1..];
        }
        self.line.extend_from_slice(chunk);
    }

    pub(super) fn of(&self, command: usize, target: usize) -> &Tally {
        &self.commands[command * self.targets + target]
    }

    pub(super) fn is_tainted(&self, target: usize) -> bool {
        self.tainted[target]
    }

    /// After the last run: the ranges that ran to the end of their input.
    pub(super) fn unclosed(&self) -> Vec<Unclosed> {
        let mut out = Vec::new();
        for (owner, _) in owners_of(self.script) {
            let row = range_index(self.script, owner) * self.targets;
            for range in &self.ranges[row..row + self.targets] {
                match range.entered {
                    Some(target) if range.open && !self.quit[target] => out.push(Unclosed { owner, target }),
                    _ => {}
                }
            }
        }
        out
    }

    fn one(&mut self, line: &[u8]) {
        if let Some(rest) = line.strip_prefix(self.nonce.as_slice()) {
            let index = rest.get(1..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            let (Some(&kind), Some(index)) = (rest.first(), index) else {
                return;
            };
            self.at = Place { kind, index, ..self.at };
            self.state = match kind {
                mark::AFTER => State::WantSpace,
                mark::END | mark::EARLY | mark::LATE => self.reached(),
                _ if self.whence == Whence::Single => self.reached(),
                _ => State::WantPlace,
            };
            return;
        }
        match self.state {
            State::WantPlace => {
                let number = std::str::from_utf8(line).ok().and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(0);
                let target = match self.whence {
                    Whence::Line => self.last_lines.partition_point(|&last| last < number),
                    _ => number as usize,
                };
                self.at.target = target.min(self.targets.saturating_sub(1));
                self.state = self.reached();
            }
            State::WantSpace => {
                self.space(line);
                self.state = if self.at.kind == mark::BEFORE { State::Inside } else { State::Idle };
            }
            State::Inside => self.printed = true,
            State::Idle => {}
        }
    }

    /// A mark whose place is known.
    fn reached(&mut self) -> State {
        let Place { kind, index, target } = self.at;
        if kind == mark::RANGE || kind == mark::END {
            self.range(kind, index, target);
            return State::Idle;
        }
        let Some(command) = self.script.commands.get(index) else {
            return State::Idle;
        };
        let tainted = self.tainted[target];
        let tally = &mut self.commands[index * self.targets + target];
        match kind {
            mark::RAN => {
                tally.ran = true;
                tally.matched = true;
                match command.name {
                    b'q' | b'Q' => self.quit[target] = true,
                    b'e' => self.tainted[target] = true,
                    _ => tally.changed |= !tainted,
                }
                State::Idle
            }
            mark::EARLY => {
                tally.changed |= !tainted;
                State::Idle
            }
            mark::LATE => {
                tally.late = true;
                State::Idle
            }
            mark::BEFORE | mark::RAN_ON => {
                tally.ran = true;
                State::WantSpace
            }
            _ => State::Idle,
        }
    }

    fn range(&mut self, kind: u8, index: usize, target: usize) {
        let column = if self.separate { target } else { 0 };
        let Some(range) = self.ranges.get_mut(index * self.targets + column) else {
            return;
        };
        if kind == mark::RANGE {
            range.fresh = !range.open;
            range.open = true;
            range.entered = Some(target);
        } else if !range.fresh {
            range.open = false;
        }
    }

    /// The pattern space beside a mark, as `l` writes it.
    fn space(&mut self, line: &[u8]) {
        let Place { kind, index, target } = self.at;
        if kind == mark::BEFORE {
            self.before = line.to_vec();
            self.printed = false;
            return;
        }
        let Some(command) = self.script.commands.get(index) else {
            return;
        };
        let tainted = self.tainted[target];
        let tally = &mut self.commands[index * self.targets + target];
        let changed = match &command.detail {
            Detail::Text(text) => {
                tally.matched = true;
                let same = text.strip_suffix(b"\n").is_some_and(|text| text == listed(line));
                command.addresses.second.is_some() || !same
            }
            _ => line != self.before,
        };
        let matched = changed
            || match &command.detail {
                Detail::Substitute(substitute) => substitute.number.is_none() || self.printed,
                Detail::Transliterate { from, .. } => {
                    let space = listed(&self.before);
                    from.iter().any(|letter| memchr::memmem::find(&space, letter).is_some())
                }
                _ => true,
            };
        tally.matched |= matched;
        if matched && matches!(&command.detail, Detail::Substitute(Substitute { evaluate: true, .. })) {
            // what the line becomes is the business of the command that it names
            self.tainted[target] = true;
        } else {
            tally.changed |= changed && !tainted;
        }
    }
}

/// Everything in a script that has addresses.
fn owners_of(script: &Script) -> impl Iterator<Item = (Owner, &Addresses)> {
    let commands = script.commands.iter().map(|command| (Owner::Command(command.index), &command.addresses));
    let blocks = script.blocks.iter().enumerate().map(|(index, block)| (Owner::Block(index), &block.addresses));
    commands.chain(blocks)
}

/// The bytes that a line of `l` shows.
fn listed(line: &[u8]) -> Vec<u8> {
    let line = line.strip_suffix(b"$").unwrap_or(line);
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, tail)) = rest.split_first() else {
            break;
        };
        rest = tail;
        out.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' if rest.len() >= 2 => {
                let value = [escape, rest[0], rest[1]]
                    .iter()
                    .fold(0u32, |value, digit| value * 8 + u32::from(digit.wrapping_sub(b'0') & 7));
                rest = &rest[2..];
                value as u8
            }
            other => other,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_l_writes() {
        assert_eq!(listed(b"a\\\\b\\n\\t\\303\\251\\000$$"), b"a\\b\n\t\xc3\xa9\0$");
    }
}
