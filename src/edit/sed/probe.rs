//! The script with a mark beside every command, so that one run of sed tells what each of them did.
//!
//! A mark is an `i\` line, and `l` shows the pattern space beside it: both touch neither pattern space, hold space,
//! `t`'s flag nor the line number, so the run takes the very way of the call. Everything runs under `-n`, which
//! leaves nothing but marks in the output; commands that only write (`a i p w …`) are replaced by their mark, and
//! nothing is executed or written. `s` is asked only where its regex matches (`/re/{mark; s; mark}`), which keeps
//! the output small and changes nothing, since `s` does nothing elsewhere; both leave the same regex for `//`.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::argv::Flags;
use super::script::*;

/// How a mark says which file sed is reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whence {
    /// There is only one.
    Single,
    /// `F`: right where every file stands alone.
    Name,
    /// `=`: the number of the line, counted through all files.
    Line,
}

/// A marked script, ready to run.
pub(super) struct Probe {
    /// Script files in order, each with the flags that sed must know when it compiles it.
    pub parts: Vec<(Flags, Vec<u8>)>,
    /// What every mark begins with: no file can hold it but by a miracle.
    pub nonce: Vec<u8>,
}

/// The letters of the marks.
pub(super) mod mark {
    /// The command ran.
    pub const RAN: u8 = b'x';
    /// The command ran, and the pattern space follows.
    pub const RAN_ON: u8 = b'c';
    /// `q` ran before the end of the input.
    pub const EARLY: u8 = b'n';
    /// The command ran on the last line.
    pub const LATE: u8 = b'l';
    /// The pattern space before the command follows.
    pub const BEFORE: u8 = b'b';
    /// The pattern space behind the command follows.
    pub const AFTER: u8 = b'a';
    /// The line is in the range of a command or block.
    pub const RANGE: u8 = b'r';
    /// The range's end matches the line.
    pub const END: u8 = b'e';
}

/// What a range belongs to, as an index of the marks: commands first, then blocks.
pub(super) fn range_index(script: &Script, owner: Owner) -> usize {
    match owner {
        Owner::Command(index) => index,
        Owner::Block(index) => script.commands.len() + index,
    }
}

/// Something that has addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Command(usize),
    Block(usize),
}

impl Probe {
    pub(super) fn new(script: &Script, quiet: bool, whence: Whence) -> Probe {
        let nonce = format!("mark-{:016x}-", RandomState::new().build_hasher().finish()).into_bytes();
        // a test of the range's end would become the regex that `//` means
        let ranges = !script.regexes().any(Regex::is_last_used);
        let mut writer = Writer { script, quiet, whence, nonce: &nonce, ranges, out: Vec::new() };
        let mut parts: Vec<(Flags, Vec<u8>)> = Vec::new();
        for item in &script.items {
            let piece = writer.item(item);
            let text = std::mem::take(&mut writer.out);
            let Some(flags) = piece.and_then(|piece| script.pieces.get(piece)).map(|piece| piece.flags) else {
                continue;
            };
            match parts.last_mut() {
                Some((last, part)) if *last == flags => part.extend_from_slice(&text),
                _ => parts.push((flags, text)),
            }
        }
        if parts.is_empty() {
            parts.push((Flags::default(), Vec::new()));
        }
        Probe { parts, nonce }
    }
}

struct Writer<'a> {
    script: &'a Script,
    quiet: bool,
    whence: Whence,
    nonce: &'a [u8],
    ranges: bool,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn line(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.out.extend_from_slice(part);
        }
        self.out.push(b'\n');
    }

    /// Writes an item; the piece that it comes from, None where nothing is to be written.
    fn item(&mut self, item: &Item) -> Option<usize> {
        match item {
            Item::Comment(_) => None,
            Item::Close { block, span } => {
                self.line(&[b"}"]);
                Some(self.script.locate(span.start).0.max(self.script.blocks[*block].piece))
            }
            Item::Label { name, piece, .. } => {
                self.line(&[b":", name]);
                Some(*piece)
            }
            Item::Open(index) => {
                let block = &self.script.blocks[*index];
                self.range(&block.addresses, Owner::Block(*index));
                let address = addresses(self.script, &block.addresses);
                self.line(&[&address, b"{"]);
                Some(block.piece)
            }
            Item::Command(index) => {
                let command = &self.script.commands[*index];
                self.range(&command.addresses, Owner::Command(*index));
                self.command(command);
                Some(command.piece)
            }
        }
    }

    fn mark(&mut self, kind: u8, index: usize) {
        let nonce = self.nonce;
        self.line(&[b"i\\"]);
        self.line(&[nonce, &[kind], index.to_string().as_bytes()]);
        if !matches!(kind, mark::AFTER | mark::END | mark::EARLY | mark::LATE) {
            match self.whence {
                Whence::Single => {}
                Whence::Name => self.line(&[b"F"]),
                Whence::Line => self.line(&[b"="]),
            }
        }
        if matches!(kind, mark::BEFORE | mark::AFTER | mark::RAN_ON) {
            self.line(&[b"l"]);
        }
    }

    /// Marks the lines of a range that a regex ends.
    fn range(&mut self, found: &Addresses, owner: Owner) {
        let Some(second) = &found.second else { return };
        if !self.ranges || !matches!(second.kind, AddressKind::Regex(_)) {
            return;
        }
        let index = range_index(self.script, owner);
        let whole = addresses(self.script, &Addresses { negated: false, ..found.clone() });
        let end = self.script.source(&second.span).to_vec();
        self.line(&[&whole, b"{"]);
        self.mark(mark::RANGE, index);
        self.line(&[&end, b"{"]);
        self.mark(mark::END, index);
        self.line(&[b"}"]);
        self.line(&[b"}"]);
    }

    fn command(&mut self, command: &ScriptCommand) {
        let address = addresses(self.script, &command.addresses);
        let source = self.script.source(&command.span).to_vec();
        let index = command.index;
        match (command.name, &command.detail) {
            (b'b' | b't' | b'T' | b'n' | b'N' | b'D' | b'h' | b'H' | b'g' | b'G' | b'x' | b'v', _) => {
                self.line(&[&source]);
            }
            // only the address has an effect: its regex is what `//` may mean
            (b'p' | b'P', _) if self.quiet => self.line(&[&address, b"{};"]),
            (b'a' | b'i', Detail::Text(text)) if text.is_empty() => self.line(&[&address, b"{};"]),
            (b's', Detail::Substitute(substitute)) => {
                self.line(&[&address, b"{"]);
                self.substitute(index, substitute);
                self.line(&[b"}"]);
            }
            (b'y' | b'z', _) => {
                self.line(&[&address, b"{"]);
                self.mark(mark::BEFORE, index);
                let bare = self.without_address(command);
                self.line(&[&bare]);
                self.mark(mark::AFTER, index);
                self.line(&[b"}"]);
            }
            (b'd', _) => {
                self.line(&[&address, b"{"]);
                self.mark(mark::RAN, index);
                self.line(&[b"d"]);
                self.line(&[b"}"]);
            }
            // to what follows `c` is a `d`
            (b'c', _) => {
                self.line(&[&address, b"{"]);
                self.mark(mark::RAN_ON, index);
                self.late(index);
                self.line(&[b"d"]);
                self.line(&[b"}"]);
            }
            (b'q' | b'Q', _) => {
                self.line(&[&address, b"{"]);
                self.mark(mark::RAN, index);
                self.line(&[b"$!{"]);
                self.mark(mark::EARLY, index);
                self.line(&[b"}"]);
                self.late(index);
                self.line(&[b"q"]);
                self.line(&[b"}"]);
            }
            (b'r' | b'R', _) => {
                self.line(&[&address, b"{"]);
                self.mark(mark::RAN, index);
                self.late(index);
                self.line(&[b"}"]);
            }
            _ => {
                self.line(&[&address, b"{"]);
                self.mark(mark::RAN, index);
                self.line(&[b"}"]);
            }
        }
    }

    fn late(&mut self, index: usize) {
        self.line(&[b"${"]);
        self.mark(mark::LATE, index);
        self.line(&[b"}"]);
    }

    fn substitute(&mut self, index: usize, substitute: &Substitute) {
        let regex = &substitute.regex;
        let pattern = self.script.source(&regex.span).to_vec();
        let delimiter = [regex.delimiter];
        let case: &[u8] = if regex.ignore_case { b"I" } else { b"" };
        let lines: &[u8] = if regex.multiline { b"M" } else { b"" };
        let start: &[u8] = if regex.delimiter == b'/' { b"" } else { b"\\" };
        self.line(&[start, &delimiter, &pattern, &delimiter, case, lines, b"{"]);
        self.mark(mark::BEFORE, index);
        let replacement = self.script.source(&substitute.replacement).to_vec();
        let global: &[u8] = if substitute.global { b"g" } else { b"" };
        let (mut number, mut print): (Vec<u8>, &[u8]) = (Vec::new(), b"");
        if let Some(wanted) = substitute.number {
            number = wanted.to_string().into_bytes();
            // only a print tells that the wanted match was there
            print = b"p";
        }
        self.line(&[
            b"s",
            &delimiter,
            &pattern,
            &delimiter,
            &replacement,
            &delimiter,
            global,
            &number,
            print,
            case,
            lines,
        ]);
        self.mark(mark::AFTER, index);
        self.line(&[b"}"]);
    }

    fn without_address(&self, command: &ScriptCommand) -> Vec<u8> {
        let at = [&command.addresses.first, &command.addresses.second]
            .into_iter()
            .flatten()
            .map(|address| address.span.end)
            .max()
            .unwrap_or(command.span.start);
        let rest = self.script.source(&(at..command.span.end));
        let skip = rest.iter().take_while(|&&b| matches!(b, b' ' | b'\t' | b'!')).count();
        rest[skip..].to_vec()
    }
}

/// Addresses as text, without blanks.
pub(super) fn addresses(script: &Script, found: &Addresses) -> Vec<u8> {
    let mut out = Vec::new();
    match (&found.first, &found.second) {
        (Some(first), None) if first.kind == AddressKind::Line(0) => out.push(b'1'),
        (first, second) => {
            for (index, address) in [first, second].into_iter().flatten().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(script.source(&address.span));
            }
        }
    }
    if found.negated {
        out.push(b'!');
    }
    out
}
