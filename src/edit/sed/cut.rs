//! The cutter: a parser of sed scripts that accepts and refuses what GNU sed 4.9 does (its `compile.c`), save that
//! regular expressions are not compiled.

use super::argv::Flags;
use super::script::*;
use super::text::{self, Place};
use super::version;

#[path = "cut_parts.rs"]
mod parts;
#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;

/// Cuts pieces, each with the flags that sed had seen before it.
pub(super) fn pieces(pieces: &[(&[u8], Flags)], locale: Locale) -> Result<Script, CutError> {
    let mut joined = Vec::new();
    let mut script = Script::default();
    for (index, &(text, flags)) in pieces.iter().enumerate() {
        if index > 0 {
            joined.push(b'\n');
        }
        let start = joined.len();
        joined.extend_from_slice(text);
        script.pieces.push(PieceText { span: start..joined.len(), flags });
    }
    let mut cutter = Cutter {
        text: &joined,
        at: 0,
        end: 0,
        piece: 0,
        locale,
        dialect: if locale.posixly_correct { Dialect::Correct } else { Dialect::Gnu },
        sandbox: false,
        open: Vec::new(),
        pending: None,
        script,
    };
    for index in 0..pieces.len() {
        cutter.piece(index)?;
    }
    cutter.finish()?;
    let mut script = cutter.script;
    script.text = joined;
    Ok(script)
}

/// How far sed keeps to POSIX.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Gnu,
    /// POSIXLY_CORRECT is set.
    Correct,
    /// `--posix`
    Basic,
}

/// Text of `a i c` whose piece ended in a backslash; the next piece goes on with it.
struct Pending {
    command: usize,
    raw: Vec<u8>,
}

struct Cutter<'a> {
    text: &'a [u8],
    at: usize,
    /// The end of the piece at hand.
    end: usize,
    piece: usize,
    locale: Locale,
    dialect: Dialect,
    sandbox: bool,
    open: Vec<usize>,
    pending: Option<Pending>,
    script: Script,
}

impl Cutter<'_> {
    fn fail<T>(&self, reason: &str) -> Result<T, CutError> {
        let start = self.script.pieces[self.piece].span.start;
        Err(CutError { piece: self.piece, offset: self.at.saturating_sub(start), reason: reason.to_string() })
    }

    /// The next byte of the piece, taken.
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text[..self.end].get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn piece(&mut self, index: usize) -> Result<(), CutError> {
        let PieceText { span, flags } = self.script.pieces[index].clone();
        let newly_posix = flags.posix && (index == 0 || !self.script.pieces[index - 1].flags.posix);
        if newly_posix {
            self.dialect = Dialect::Basic;
        }
        self.sandbox = flags.sandbox;
        (self.piece, self.at, self.end) = (index, span.start, span.end);
        if let Some(Pending { command, raw }) = self.pending.take() {
            self.read_text(command, raw)?;
        }
        loop {
            while self.peek().is_some_and(|b| b == b';' || is_space(b)) {
                self.at += 1;
            }
            if self.peek().is_none() {
                break;
            }
            self.item()?;
        }
        if self.dialect == Dialect::Basic && self.pending.is_some() {
            return self.fail("incomplete command");
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), CutError> {
        if let Some(&block) = self.open.last() {
            self.piece = self.script.blocks[block].piece;
            self.at = self.script.blocks[block].span.start;
            return self.fail("unmatched `{'");
        }
        if let Some(Pending { command, raw }) = self.pending.take() {
            // sed takes it as it stands, without looking at its escapes
            if let Detail::Text(text) = &mut self.script.commands[command].detail {
                *text = raw;
            }
        }
        let labels: std::collections::HashSet<&[u8]> = self
            .script
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Label { name, .. } => Some(name.as_slice()),
                _ => None,
            })
            .collect();
        for command in self.script.commands.iter().rev() {
            if let Detail::Branch(label) = &command.detail
                && !label.is_empty()
                && !labels.contains(label.as_slice())
            {
                let reason = format!("can't find label for jump to `{}'", String::from_utf8_lossy(label));
                let offset = command.span.start - self.script.pieces[command.piece].span.start;
                return Err(CutError { piece: command.piece, offset, reason });
            }
        }
        Ok(())
    }

    /// One command, brace, label or comment.
    fn item(&mut self) -> Result<(), CutError> {
        let start = self.at;
        let addresses = self.addresses()?;
        let Some(letter) = self.next() else {
            return self.fail("missing command");
        };
        self.refuse_in_posix(letter, &addresses)?;
        let addressed = addresses.first.is_some();
        let here = self.piece;
        match letter {
            b'#' => {
                if addressed {
                    return self.fail("comments don't accept any addresses");
                }
                let first_line = here == 0 && start == 0;
                if first_line && self.peek() == Some(b'n') {
                    self.script.quiet = true;
                }
                self.skip_line();
                self.script.items.push(Item::Comment(start..self.at));
            }
            b':' => {
                if addressed {
                    return self.fail(": doesn't want any addresses");
                }
                let (name, _) = self.label();
                if name.is_empty() {
                    return self.fail("\":\" lacks a label");
                }
                self.script.items.push(Item::Label { name, span: start..self.at, piece: here });
            }
            b'{' => {
                let block = self.script.blocks.len();
                let first = self.script.commands.len();
                self.script.blocks.push(Block { span: start..self.at, addresses, commands: first..first, piece: here });
                self.script.items.push(Item::Open(block));
                self.open.push(block);
            }
            b'}' => {
                let Some(block) = self.open.pop() else {
                    return self.fail("unexpected `}'");
                };
                if addressed {
                    return self.fail("`}' doesn't want any addresses");
                }
                self.script.blocks[block].commands.end = self.script.commands.len();
                self.script.items.push(Item::Close { block, span: start..self.at });
                self.command_end()?;
            }
            _ => self.command(start, letter, addresses)?,
        }
        Ok(())
    }

    fn refuse_in_posix(&self, letter: u8, addresses: &Addresses) -> Result<(), CutError> {
        if self.dialect != Dialect::Basic {
            return Ok(());
        }
        match letter {
            b'e' | b'F' | b'v' | b'z' | b'L' | b'Q' | b'T' | b'R' | b'W' => self.unknown_command(letter),
            b'a' | b'i' | b'l' | b'=' | b'r' if addresses.second.is_some() => {
                self.fail("command only uses one address")
            }
            _ => Ok(()),
        }
    }

    fn unknown_command<T>(&self, letter: u8) -> Result<T, CutError> {
        self.fail(&format!("unknown command: `{}'", String::from_utf8_lossy(&[letter])))
    }

    fn command(&mut self, start: usize, letter: u8, addresses: Addresses) -> Result<(), CutError> {
        let index = self.script.commands.len();
        self.script.items.push(Item::Command(index));
        self.script.commands.push(ScriptCommand {
            index,
            name: letter,
            span: start..self.at,
            addresses,
            detail: Detail::Plain,
            block: self.open.last().copied(),
            piece: self.piece,
        });
        match letter {
            b'=' | b'd' | b'D' | b'F' | b'g' | b'G' | b'h' | b'H' | b'n' | b'N' | b'p' | b'P' | b'z' | b'x' => {
                self.command_end()?;
            }
            b'a' | b'i' | b'c' => {
                if self.dialect == Dialect::Basic {
                    self.skip_blanks();
                    if self.peek().is_some_and(|b| b != b'\\') {
                        return self.fail("expected \\ after `a', `c' or `i'");
                    }
                }
                self.skip_blanks();
                self.leading_text(index)?;
            }
            b'e' => {
                if self.sandbox {
                    return self.fail(SANDBOX);
                }
                self.skip_blanks();
                match self.peek() {
                    None | Some(b'\n') => self.set(index, Detail::Execute, self.at),
                    Some(_) => {
                        self.leading_text(index)?;
                        self.script.commands[index].detail = Detail::Execute;
                    }
                }
            }
            b'b' | b't' | b'T' => {
                let (label, end) = self.label();
                self.set(index, Detail::Branch(label), end);
            }
            b'q' | b'Q' | b'l' | b'L' => {
                if matches!(letter, b'q' | b'Q') && self.script.commands[index].addresses.second.is_some() {
                    return self.fail("command only uses one address");
                }
                self.skip_blanks();
                let digits = self.dialect != Dialect::Basic && self.peek().is_some_and(|b| b.is_ascii_digit());
                let number = digits.then(|| self.integer());
                let end = if digits { self.at } else { self.script.commands[index].span.end };
                self.set(index, Detail::Number(number), end);
                self.command_end()?;
            }
            b'r' | b'R' | b'w' | b'W' => {
                let name = self.file_name()?;
                self.set(index, Detail::File(name), self.at);
            }
            b's' => {
                let substitute = self.substitute()?;
                let end = substitute.flags.end;
                self.set(index, Detail::Substitute(substitute), end);
            }
            b'y' => {
                let lists = self.transliterate()?;
                self.set(index, lists, self.at);
                self.command_end()?;
            }
            b'v' => {
                let (version, end) = self.label();
                if version::is_newer(&version) {
                    return self.fail("expected newer version of sed");
                }
                self.dialect = Dialect::Gnu;
                self.set(index, Detail::Version, end);
            }
            _ => return self.unknown_command(letter),
        }
        Ok(())
    }

    fn set(&mut self, index: usize, detail: Detail, end: usize) {
        let command = &mut self.script.commands[index];
        command.detail = detail;
        command.span.end = end.max(command.span.start);
    }
}

const SANDBOX: &str = "e/r/w commands disabled in sandbox mode";

/// The bytes between commands: C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}
