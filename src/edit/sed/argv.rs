//! The command line of GNU sed 4.9: options, script pieces and input files, as its `getopt_long` reads them.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// One sed call's words, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The parts of the script in the order in which sed compiles them.
    pub pieces: Vec<Piece>,
    /// The input files; none means standard input.
    pub files: Vec<Operand>,
    /// `-i` with its suffix as written (empty: no backup). The last `-i` wins.
    pub in_place: Option<Vec<u8>>,
    /// `-n`; a script that begins with `#n` says the same.
    pub quiet: bool,
    /// `-s` or `-i`: every file has line numbers, `$` and hold space of its own.
    pub separate: bool,
    pub follow_symlinks: bool,
    pub unbuffered: bool,
    pub debug: bool,
    /// The flags as they stand after the last word.
    pub flags: Flags,
}

/// Options that sed heeds while it compiles, so that a piece knows only those given before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `-E`, `-r`
    pub extended: bool,
    /// `-z`
    pub null_data: bool,
    /// `--posix`
    pub posix: bool,
    /// `--sandbox`
    pub sandbox: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PieceKind {
    /// `-e TEXT`
    Expression,
    /// `-f FILE`
    File,
    /// The first operand, where neither `-e` nor `-f` is given.
    Operand,
}

/// A part of the script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub kind: PieceKind,
    /// The word of argv that holds `text`.
    pub index: usize,
    /// Where in that word `text` begins.
    pub offset: usize,
    /// The script, or the file's name.
    pub text: Vec<u8>,
    /// The flags in force when sed compiled this piece.
    pub flags: Flags,
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    pub index: usize,
    pub name: Vec<u8>,
}

/// Why sed would not start on the script. `index` is the word at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgvError {
    #[error("unknown option {option}")]
    Unknown { index: usize, option: String },
    #[error("ambiguous option {option}")]
    Ambiguous { index: usize, option: String },
    #[error("option {option} wants an argument")]
    NoArgument { index: usize, option: String },
    #[error("option {option} takes no argument")]
    ExcessArgument { index: usize, option: String },
    #[error("no script")]
    NoScript,
    #[error("{option} asks for a text only, nothing is edited")]
    Informational { index: usize, option: &'static str },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arg {
    None,
    Required,
    Optional,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opt {
    Binary,
    Extended,
    Debug,
    Expression,
    File,
    InPlace,
    LineLength,
    NullData,
    Quiet,
    Posix,
    Sandbox,
    Separate,
    Unbuffered,
    Version,
    Help,
    FollowSymlinks,
}

const LONG: &[(&str, Arg, Opt)] = &[
    ("binary", Arg::None, Opt::Binary),
    ("regexp-extended", Arg::None, Opt::Extended),
    ("debug", Arg::None, Opt::Debug),
    ("expression", Arg::Required, Opt::Expression),
    ("file", Arg::Required, Opt::File),
    ("in-place", Arg::Optional, Opt::InPlace),
    ("line-length", Arg::Required, Opt::LineLength),
    ("null-data", Arg::None, Opt::NullData),
    ("zero-terminated", Arg::None, Opt::NullData),
    ("quiet", Arg::None, Opt::Quiet),
    ("posix", Arg::None, Opt::Posix),
    ("silent", Arg::None, Opt::Quiet),
    ("sandbox", Arg::None, Opt::Sandbox),
    ("separate", Arg::None, Opt::Separate),
    ("unbuffered", Arg::None, Opt::Unbuffered),
    ("version", Arg::None, Opt::Version),
    ("help", Arg::None, Opt::Help),
    ("follow-symlinks", Arg::None, Opt::FollowSymlinks),
];

fn short(letter: u8) -> Option<(Arg, Opt)> {
    Some(match letter {
        b'b' => (Arg::None, Opt::Binary),
        b's' => (Arg::None, Opt::Separate),
        b'n' => (Arg::None, Opt::Quiet),
        b'r' | b'E' => (Arg::None, Opt::Extended),
        b'z' => (Arg::None, Opt::NullData),
        b'u' => (Arg::None, Opt::Unbuffered),
        b'e' => (Arg::Required, Opt::Expression),
        b'f' => (Arg::Required, Opt::File),
        b'l' => (Arg::Required, Opt::LineLength),
        b'i' => (Arg::Optional, Opt::InPlace),
        _ => return None,
    })
}

impl Invocation {
    /// Reads `argv` (word 0 is the program's name) as GNU sed does: options and operands may be mixed unless
    /// `posixly_correct` (the environment variable), `--` ends the options, long options may be abbreviated.
    pub fn parse(argv: &[Vec<u8>], posixly_correct: bool) -> Result<Invocation, ArgvError> {
        let mut reader = Reader { argv, at: 1, result: Invocation::default() };
        let mut operands = Vec::new();
        while let Some(word) = argv.get(reader.at) {
            let index = reader.at;
            reader.at += 1;
            if word == b"--" {
                operands.extend(reader.at..argv.len());
                break;
            }
            if let Some(name) = word.strip_prefix(b"--") {
                reader.long(index, name)?;
            } else if word.len() > 1 && word[0] == b'-' {
                reader.cluster(index, word)?;
            } else {
                operands.push(index);
                if posixly_correct {
                    operands.extend(reader.at..argv.len());
                    break;
                }
            }
        }
        let mut result = reader.result;
        let mut operands = operands.into_iter();
        if result.pieces.is_empty() {
            let index = operands.next().ok_or(ArgvError::NoScript)?;
            let (kind, flags) = (PieceKind::Operand, result.flags);
            result.pieces.push(Piece { kind, index, offset: 0, text: argv[index].clone(), flags });
        }
        result.files = operands.map(|index| Operand { index, name: argv[index].clone() }).collect();
        Ok(result)
    }

    /// Whether `-E`, `-r` or `-z` came only after a piece that was then compiled without it.
    pub fn has_late_flags(&self) -> bool {
        self.pieces.iter().any(|piece| piece.flags != self.flags)
    }

    /// Where `-i` with a suffix puts the copy of `file`: each `*` of the suffix stands for the name as it was
    /// given, directories included; a suffix without one is appended. None: no copy is kept.
    pub fn backup_path(&self, file: &[u8]) -> Option<PathBuf> {
        let suffix = self.in_place.as_deref().filter(|s| !s.is_empty() && *s != b"*")?;
        let mut name = Vec::new();
        if !suffix.contains(&b'*') {
            name.extend_from_slice(file);
        }
        for &byte in suffix {
            match byte {
                b'*' => name.extend_from_slice(file),
                _ => name.push(byte),
            }
        }
        Some(Path::new(OsStr::from_bytes(&name)).to_path_buf())
    }
}

struct Reader<'a> {
    argv: &'a [Vec<u8>],
    at: usize,
    result: Invocation,
}

impl Reader<'_> {
    fn long(&mut self, index: usize, word: &[u8]) -> Result<(), ArgvError> {
        let (name, value) = match memchr::memchr(b'=', word) {
            Some(at) => (&word[..at], Some(at + 1)),
            None => (word, None),
        };
        let option = || format!("--{}", String::from_utf8_lossy(name));
        let exact = LONG.iter().find(|(long, ..)| long.as_bytes() == name);
        let mut hits = LONG.iter().filter(|(long, ..)| long.as_bytes().starts_with(name));
        let &(_, arg, opt) = match exact.or_else(|| hits.next()) {
            None => {
                return Err(ArgvError::Unknown { index, option: option() });
            }
            Some(hit) if exact.is_none() && hits.any(|other| other.2 != hit.2) => {
                return Err(ArgvError::Ambiguous { index, option: option() });
            }
            Some(hit) => hit,
        };
        // word lacks the two dashes
        match (arg, value) {
            (Arg::None, Some(_)) => Err(ArgvError::ExcessArgument { index, option: option() }),
            (_, Some(at)) => self.apply(opt, index, at + 2),
            (Arg::Required, None) => {
                let index = self.next_word(index, option())?;
                self.apply(opt, index, 0)
            }
            _ => self.apply(opt, index, self.argv[index].len()),
        }
    }

    fn cluster(&mut self, index: usize, word: &[u8]) -> Result<(), ArgvError> {
        for at in 1..word.len() {
            let option = || format!("-{}", String::from_utf8_lossy(&word[at..at + 1]));
            let (arg, opt) = short(word[at]).ok_or_else(|| ArgvError::Unknown { index, option: option() })?;
            match arg {
                Arg::None => self.apply(opt, index, word.len())?,
                Arg::Required if at + 1 == word.len() => {
                    let index = self.next_word(index, option())?;
                    return self.apply(opt, index, 0);
                }
                _ => return self.apply(opt, index, at + 1),
            }
        }
        Ok(())
    }

    fn next_word(&mut self, index: usize, option: String) -> Result<usize, ArgvError> {
        if self.at >= self.argv.len() {
            return Err(ArgvError::NoArgument { index, option });
        }
        self.at += 1;
        Ok(self.at - 1)
    }

    /// Heeds one option; its argument is what stands in word `index` from `offset` on.
    fn apply(&mut self, opt: Opt, index: usize, offset: usize) -> Result<(), ArgvError> {
        let text = || self.argv[index][offset..].to_vec();
        let result = &mut self.result;
        let flags = result.flags;
        match opt {
            Opt::Binary | Opt::LineLength => {}
            Opt::Extended => result.flags.extended = true,
            Opt::NullData => result.flags.null_data = true,
            Opt::Posix => result.flags.posix = true,
            Opt::Sandbox => result.flags.sandbox = true,
            Opt::Debug => result.debug = true,
            Opt::Expression => {
                result.pieces.push(Piece { kind: PieceKind::Expression, index, offset, text: text(), flags });
            }
            Opt::File => result.pieces.push(Piece { kind: PieceKind::File, index, offset, text: text(), flags }),
            Opt::InPlace => {
                result.in_place = Some(text());
                result.separate = true;
            }
            Opt::Quiet => result.quiet = true,
            Opt::Separate => result.separate = true,
            Opt::Unbuffered => result.unbuffered = true,
            Opt::FollowSymlinks => result.follow_symlinks = true,
            Opt::Version => {
                return Err(ArgvError::Informational { index, option: "--version" });
            }
            Opt::Help => {
                return Err(ArgvError::Informational { index, option: "--help" });
            }
        }
        Ok(())
    }
}

/// `argv` of a [`std::process::Command`]-like word list, as bytes.
pub fn words<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(argv: I) -> Vec<Vec<u8>> {
    argv.into_iter().map(|word| word.as_ref().to_os_string().into_vec()).collect()
}

#[cfg(test)]
#[path = "argv_tests.rs"]
mod tests;
