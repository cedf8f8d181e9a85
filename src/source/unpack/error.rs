//! Why an archive was not unpacked, in one line that names the archive and the member.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;

use super::clock::Halt;
use crate::escape::escape;

/// Why an archive was not unpacked. Every text is one line and begins with the archive's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnpackError {
    /// A member asks to be written outside of the directory, or through a link: the archive as a whole is refused.
    /// Nothing outside was touched; members before the offending one may lie in the directory.
    Refused { archive: String, why: String },
    /// Damaged, truncated, unreadable, or the disk failed.
    Failed { archive: String, why: String },
    /// More than [`super::Limits`] allows.
    TooLarge { archive: String, why: String },
    /// A kind of archive, or of compression, that ebaudit cannot read.
    Unsupported { archive: String, why: String },
    /// The time of the [`super::Clock`] is over.
    TooSlow { archive: String, why: String },
    /// Nobody wants it any more, says the [`super::Clock`].
    Stopped { archive: String, why: String },
}

impl UnpackError {
    /// The text without the archive's name.
    pub fn why(&self) -> &str {
        match self {
            Self::Refused { why, .. }
            | Self::Failed { why, .. }
            | Self::TooLarge { why, .. }
            | Self::Unsupported { why, .. }
            | Self::TooSlow { why, .. }
            | Self::Stopped { why, .. } => why,
        }
    }
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { archive, why } => {
                write!(f, "{archive}: refused: {why}; nothing outside was touched")
            }
            Self::Failed { archive, why }
            | Self::TooLarge { archive, why }
            | Self::Unsupported { archive, why }
            | Self::TooSlow { archive, why }
            | Self::Stopped { archive, why } => write!(f, "{archive}: {why}"),
        }
    }
}

impl std::error::Error for UnpackError {}

/// What went wrong below the archive's name, which only the outermost caller knows.
#[derive(Debug)]
pub(super) struct Fault {
    sort: Sort,
    member: Option<Vec<u8>>,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Refused,
    Failed,
    TooLarge,
    Unsupported,
    TooSlow,
    Stopped,
}

pub(super) type Outcome<T> = Result<T, Fault>;

impl Fault {
    fn new(sort: Sort, why: impl Into<String>) -> Self {
        Fault { sort, member: None, why: why.into() }
    }

    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::new(Sort::Refused, why)
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::new(Sort::Failed, why)
    }

    pub(super) fn too_large(why: impl Into<String>) -> Self {
        Self::new(Sort::TooLarge, why)
    }

    pub(super) fn unsupported(why: impl Into<String>) -> Self {
        Self::new(Sort::Unsupported, why)
    }

    /// What decoders may have made another error of.
    pub(super) fn or_halt(self, halt: Option<Halt>) -> Self {
        halt.map_or(self, Self::from)
    }

    /// Names the member; the innermost name stays.
    pub(super) fn of(mut self, member: &[u8]) -> Self {
        self.member.get_or_insert_with(|| member.to_vec());
        self
    }

    pub(super) fn into_error(self, archive: &OsStr) -> UnpackError {
        let archive = shown(archive.as_bytes());
        let why = match &self.member {
            Some(member) => format!("member {}: {}", shown(member), one_line(&self.why)),
            None => one_line(&self.why),
        };
        match self.sort {
            Sort::Refused => UnpackError::Refused { archive, why },
            Sort::Failed => UnpackError::Failed { archive, why },
            Sort::TooLarge => UnpackError::TooLarge { archive, why },
            Sort::Unsupported => UnpackError::Unsupported { archive, why },
            Sort::TooSlow => UnpackError::TooSlow { archive, why },
            Sort::Stopped => UnpackError::Stopped { archive, why },
        }
    }
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Self {
        let sort = match halt {
            Halt::Time(_) => Sort::TooSlow,
            Halt::Stopped => Sort::Stopped,
            Halt::Decoded(_) => Sort::TooLarge,
        };
        Self::new(sort, halt.to_string())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if let Some(halt) = error.get_ref().and_then(|inner| inner.downcast_ref::<Halt>()) {
            return (*halt).into();
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::failed("truncated: unexpected end of the file"),
            _ => Self::failed(error.to_string()),
        }
    }
}

impl From<rustix::io::Errno> for Fault {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::from(io::Error::from(errno))
    }
}

/// A name for people: escaped, without control characters, never longer than a line can bear.
pub(super) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = one_line(&escape(name));
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_and_names_archive_and_member() {
        let error = Fault::refused("climbs out\nof it").of(b"a\nb\xff").into_error(OsStr::new("x.tar"));
        assert_eq!(
            error.to_string(),
            "x.tar: refused: member a\\x0ab\\xff: climbs out\\x0aof it; nothing outside was touched"
        );
    }
}
