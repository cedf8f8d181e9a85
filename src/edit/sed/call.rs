//! What the judge is told of one traced sed call.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::argv::Invocation;
use super::script::Locale;

/// One sed call that has run, with what it read.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    pub invocation: &'a Invocation,
    /// The contents of the files named by `-f`, by the name as given.
    pub script_files: HashMap<Vec<u8>, Vec<u8>>,
    /// What `r` and `R` would have read, by the name as given; None: there was no such file. A name that is not
    /// here at all is unknown.
    pub read_files: HashMap<Vec<u8>, Option<Vec<u8>>>,
    pub environment: Environment,
    /// The exit status; None: not known.
    pub exit: Option<i32>,
    /// The input files, in the order of [`Invocation::files`]; a single one where sed read its standard input.
    pub targets: Vec<Target<'a>>,
}

/// The variables that sed heeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    pub lc_all: Option<OsString>,
    pub lc_ctype: Option<OsString>,
    pub lang: Option<OsString>,
    pub posixly_correct: bool,
}

/// An input file.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub before: Content<'a>,
    /// Whether the call left other contents than it found; None: not known.
    pub changed: Option<bool>,
}

/// The contents of an input file before the call.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// There was no such regular file.
    Missing,
    Bytes(&'a [u8]),
    /// They are kept in this file.
    File(&'a Path),
}

impl<'a> Target<'a> {
    /// A file of which both contents are at hand.
    pub fn of_bytes(before: &'a [u8], after: &[u8]) -> Target<'a> {
        Target { before: Content::Bytes(before), changed: Some(before != after) }
    }
}

impl Content<'_> {
    pub fn is_missing(&self) -> bool {
        matches!(self, Content::Missing)
    }

    /// Makes the contents appear under `path`, without a copy where they are in a file already.
    pub(super) fn place(&self, path: &Path) -> io::Result<()> {
        match self {
            Content::Missing => Ok(()),
            Content::Bytes(bytes) => fs::write(path, bytes),
            Content::File(file) => std::os::unix::fs::symlink(fs::canonicalize(file)?, path),
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Content::Missing => 0,
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(path) => fs::metadata(path).map_or(0, |data| data.len()),
        }
    }

    /// Does its last line lack its end?
    pub(super) fn is_cut_off(&self, delimiter: u8) -> bool {
        let read = |path: &Path| -> io::Result<u8> {
            let mut last = [0];
            let file = fs::File::open(path)?;
            file.read_exact_at(&mut last, file.metadata()?.len().saturating_sub(1))?;
            Ok(last[0])
        };
        match self {
            Content::Missing => false,
            Content::Bytes(bytes) => bytes.last().is_some_and(|&last| last != delimiter),
            Content::File(path) => read(path).is_ok_and(|last| last != delimiter),
        }
    }

    /// How many lines sed finds in it.
    pub(super) fn lines(&self, delimiter: u8) -> io::Result<u64> {
        let read;
        let bytes = match self {
            Content::Missing => return Ok(0),
            Content::Bytes(bytes) => bytes,
            Content::File(path) => {
                read = fs::read(path)?;
                read.as_slice()
            }
        };
        let open = bytes.last().is_some_and(|&last| last != delimiter);
        Ok(memchr::memchr_iter(delimiter, bytes).count() as u64 + u64::from(open))
    }
}

impl Environment {
    /// The locale in which sed read the script.
    pub fn locale(&self) -> Locale {
        let names = [&self.lc_all, &self.lc_ctype, &self.lang];
        let name = names.into_iter().flatten().find(|value| !value.is_empty());
        let utf8 = name.is_some_and(|name| {
            let name = name.to_string_lossy().to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        });
        Locale { posixly_correct: self.posixly_correct, utf8 }
    }

    /// The variables to set, by name.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let named = [("LC_ALL", &self.lc_all), ("LC_CTYPE", &self.lc_ctype), ("LANG", &self.lang)];
        let mut out: Vec<_> =
            named.into_iter().filter_map(|(name, value)| value.clone().map(|value| (name, value))).collect();
        if self.posixly_correct {
            out.push(("POSIXLY_CORRECT", OsString::from("1")));
        }
        out
    }
}
