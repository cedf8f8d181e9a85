//! A sed script as data: its single commands, in the order in which sed has them, each with its place in argv.

use std::collections::HashMap;
use std::ops::Range;

use super::argv::{Flags, Invocation, PieceKind};
use super::cut;

/// A place in [`Script::text`].
pub type Span = Range<usize>;

/// A script cut into commands. Made by [`Script::cut`].
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// All pieces, joined by newlines, files with their contents.
    pub text: Vec<u8>,
    pub pieces: Vec<PieceText>,
    pub commands: Vec<ScriptCommand>,
    pub blocks: Vec<Block>,
    /// Everything in its order: commands, and what is none (braces, labels, comments).
    pub items: Vec<Item>,
    /// The script begins with `#n`, which is `-n`.
    pub quiet: bool,
    /// Lines end in NUL (`-z` stands anywhere among the options).
    pub null_data: bool,
}

/// Where a piece of the invocation lies in the joined text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceText {
    pub span: Span,
    pub flags: Flags,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An index into [`Script::commands`].
    Command(usize),
    /// An index into [`Script::blocks`].
    Open(usize),
    Close {
        block: usize,
        span: Span,
    },
    Label {
        name: Vec<u8>,
        span: Span,
        piece: usize,
    },
    Comment(Span),
}

/// `{ … }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address and the `{`.
    pub span: Span,
    pub addresses: Addresses,
    /// The commands within, those of inner blocks included.
    pub commands: Range<usize>,
    pub piece: usize,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptCommand {
    pub index: usize,
    /// The letter.
    pub name: u8,
    /// From the address to the end of the command, without what separates it from the next.
    pub span: Span,
    pub addresses: Addresses,
    pub detail: Detail,
    /// The innermost block that holds it, an index into [`Script::blocks`].
    pub block: Option<usize>,
    /// The piece in which it begins, an index into [`Script::pieces`].
    pub piece: usize,
}

/// What stands before a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    pub first: Option<Address>,
    pub second: Option<Address>,
    /// `!`
    pub negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub span: Span,
    pub kind: AddressKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressKind {
    Line(u64),
    /// `$`
    Last,
    Regex(Regex),
    /// `first~step`
    Step {
        first: u64,
        step: u64,
    },
    /// `addr,+N`
    Plus(u64),
    /// `addr,~N`
    Multiple(u64),
    /// `+0` or `~0`: sed reads it as no limit at all, the range ends at once.
    Any,
}

/// A regular expression as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regex {
    /// Between the delimiters.
    pub span: Span,
    pub delimiter: u8,
    pub ignore_case: bool,
    pub multiline: bool,
}

impl Regex {
    /// `//`: the regular expression last used while running.
    pub fn is_last_used(&self) -> bool {
        self.span.is_empty()
    }
}

/// What a command has after its letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// `= d D F g G h H n N p P x z`
    Plain,
    Substitute(Substitute),
    /// `y`: both lists, character by character.
    Transliterate {
        from: Vec<Vec<u8>>,
        to: Vec<Vec<u8>>,
    },
    /// `a i c`, decoded, with its last newline; empty where the script ends after `a\`.
    Text(Vec<u8>),
    /// `e`
    Execute,
    /// `b t T`; an empty label is the end of the script.
    Branch(Vec<u8>),
    /// `q Q l L` and their number
    Number(Option<u64>),
    /// `r R w W`
    File(Vec<u8>),
    /// `v`
    Version,
}

/// The parts of `s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitute {
    pub regex: Regex,
    pub replacement: Span,
    /// All behind the last delimiter, a file name included.
    pub flags: Span,
    pub global: bool,
    pub print: bool,
    pub number: Option<u64>,
    pub evaluate: bool,
    pub write: Option<Vec<u8>>,
}

/// The flags of an `s` without the file that it writes.
pub fn without_file(flags: &[u8]) -> &[u8] {
    flags.split(|b| *b == b'w').next().unwrap_or_default()
}

/// Why a script can't be cut; sed refuses it as well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct CutError {
    /// An index into the invocation's pieces.
    pub piece: usize,
    /// Where in that piece's text sed stopped.
    pub offset: usize,
    pub reason: String,
}

/// The surroundings that matter to sed's parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locale {
    /// The environment holds POSIXLY_CORRECT.
    pub posixly_correct: bool,
    /// The locale's characters are UTF-8.
    pub utf8: bool,
}

impl Script {
    /// Cuts the script of `invocation`. `files` holds what the files named by `-f` contain, by the name as given.
    pub fn cut(invocation: &Invocation, files: &HashMap<Vec<u8>, Vec<u8>>, locale: Locale) -> Result<Script, CutError> {
        let mut pieces = Vec::with_capacity(invocation.pieces.len());
        for (index, piece) in invocation.pieces.iter().enumerate() {
            let text = match piece.kind {
                PieceKind::File => files.get(&piece.text).ok_or_else(|| CutError {
                    piece: index,
                    offset: 0,
                    reason: format!("couldn't open file {}", crate::escape::escape(&piece.text)),
                })?,
                PieceKind::Expression | PieceKind::Operand => &piece.text,
            };
            pieces.push((text.as_slice(), piece.flags));
        }
        let mut script = cut::pieces(&pieces, locale)?;
        script.null_data = invocation.flags.null_data;
        Ok(script)
    }

    /// The command's own text, as it stands in the script.
    pub fn source(&self, span: &Span) -> &[u8] {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// The piece that holds a place of the joined text, and the offset within that piece. The newline that joins
    /// two pieces belongs to the first.
    pub fn locate(&self, at: usize) -> (usize, usize) {
        let piece = self.pieces.partition_point(|p| p.span.start <= at).saturating_sub(1);
        (piece, at - self.pieces.get(piece).map_or(0, |p| p.span.start.min(at)))
    }

    /// The regular expressions in which the commands and blocks are written, addresses first.
    pub fn regexes(&self) -> impl Iterator<Item = &Regex> {
        let blocks = self.blocks.iter().flat_map(|block| block.addresses.regexes());
        let commands = self.commands.iter().flat_map(ScriptCommand::regexes);
        blocks.chain(commands)
    }
}

impl Addresses {
    pub fn regexes(&self) -> impl Iterator<Item = &Regex> {
        [&self.first, &self.second].into_iter().flatten().filter_map(|address| match &address.kind {
            AddressKind::Regex(regex) => Some(regex),
            _ => None,
        })
    }
}

impl ScriptCommand {
    /// The status with which `q` or `Q` ends the call.
    pub fn status(&self) -> Option<u64> {
        match self.detail {
            Detail::Number(status) if matches!(self.name, b'q' | b'Q') => status,
            _ => None,
        }
    }

    /// The command's `text` without such a status, so that a run of it says no more than that it ran.
    pub fn without_status<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.status() {
            Some(_) => &text[..text.iter().rposition(|b| matches!(b, b'q' | b'Q')).map_or(0, |at| at + 1)],
            None => text,
        }
    }

    pub fn regexes(&self) -> impl Iterator<Item = &Regex> {
        let own = match &self.detail {
            Detail::Substitute(substitute) => Some(&substitute.regex),
            _ => None,
        };
        self.addresses.regexes().chain(own)
    }
}
