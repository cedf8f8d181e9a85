//! A package's Manifest: sizes and digests of its files (GLEP 44, GLEP 74).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::text::ReadError;
use super::within::Within;
use crate::escape;

/// Why a Manifest can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(
        "{}:{line}: `{text}` is no Manifest entry; it must be TYPE NAME SIZE and pairs of HASH DIGEST",
        path.display()
    )]
    BadEntry { path: PathBuf, line: usize, text: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What kind of file an entry is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    Dist,
    Aux,
    Ebuild,
    Misc,
}

/// A file's size and digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: EntryKind,
    pub name: OsString,
    /// In bytes.
    pub size: u64,
    /// By the name of the hash (`BLAKE2B`); digests are lower-case hexadecimal.
    pub hashes: BTreeMap<String, String>,
    /// The line of the Manifest, counted from 1.
    pub line: usize,
}

/// A package's Manifest. Of several entries for a file the last counts, as in Portage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub path: PathBuf,
    /// Whether the file is there at all.
    pub present: bool,
    entries: BTreeMap<(EntryKind, OsString), Entry>,
}

impl Manifest {
    /// Reads the Manifest in a package's directory; one that is not there has no entries.
    pub fn read(dir: &Path, within: &Within) -> Result<Manifest, ManifestError> {
        let path = dir.join("Manifest");
        match within.read_bytes(&path)? {
            Some(bytes) => Manifest::parse(&bytes, &path),
            None => Ok(Manifest { path, ..Manifest::default() }),
        }
    }

    /// Reads the text of a Manifest; `path` is only named in errors. The armour of a signed one is passed over, as
    /// are lines of other types.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Manifest, ManifestError> {
        let mut entries = BTreeMap::new();
        for (line, said) in unarmoured(bytes) {
            let mut words = said.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            let kind = match words.next() {
                Some(b"DIST") => EntryKind::Dist,
                Some(b"AUX") => EntryKind::Aux,
                Some(b"EBUILD") => EntryKind::Ebuild,
                Some(b"MISC") => EntryKind::Misc,
                _ => continue,
            };
            let entry = read_entry(kind, line, words).ok_or_else(|| ManifestError::BadEntry {
                path: path.to_owned(),
                line,
                text: escape::escape(said.trim_ascii()),
            })?;
            entries.insert((kind, entry.name.clone()), entry);
        }
        Ok(Manifest { path: path.to_owned(), present: true, entries })
    }

    /// The entry of a file.
    pub fn get(&self, kind: EntryKind, name: &OsStr) -> Option<&Entry> {
        self.entries.get(&(kind, name.to_owned()))
    }

    /// The entry of a distfile.
    pub fn dist(&self, name: &str) -> Option<&Entry> {
        self.get(EntryKind::Dist, OsStr::new(name))
    }

    /// All entries, by kind and name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

fn read_entry<'a>(kind: EntryKind, line: usize, mut words: impl Iterator<Item = &'a [u8]>) -> Option<Entry> {
    let text = |word: &'a [u8]| std::str::from_utf8(word).ok();
    let name = OsString::from_vec(words.next()?.to_vec());
    let size = text(words.next()?)?.parse().ok()?;
    let mut hashes = BTreeMap::new();
    while let Some(hash) = words.next() {
        let digest = text(words.next()?)?;
        if digest.is_empty() || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        hashes.insert(text(hash)?.to_owned(), digest.to_ascii_lowercase());
    }
    Some(Entry { kind, name, size, hashes, line })
}

/// The lines that are signed, or all where nothing is, with their numbers.
fn unarmoured(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    #[derive(PartialEq)]
    enum In {
        Text,
        Header,
        Signature,
    }
    let mut state = In::Text;
    bytes.split(|&byte| byte == b'\n').enumerate().filter_map(move |(index, line)| {
        let said = line.trim_ascii_end();
        match state {
            In::Text if said == b"-----BEGIN PGP SIGNED MESSAGE-----" => state = In::Header,
            In::Text if said == b"-----BEGIN PGP SIGNATURE-----" => state = In::Signature,
            In::Text => return Some((index + 1, said.strip_prefix(b"- ").unwrap_or(said))),
            In::Header if said.is_empty() => state = In::Text,
            In::Signature if said == b"-----END PGP SIGNATURE-----" => state = In::Text,
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Result<Manifest, ManifestError> {
        Manifest::parse(text, Path::new("Manifest"))
    }

    #[test]
    fn reads_entries() {
        let manifest = parse(b"DIST a.tar.gz 12 BLAKE2B AB12 SHA512 cd\nAUX x/y.patch 0\nDIST b\xff 1\r\nTIMESTAMP x\n\nDIST a.tar.gz 13 SHA512 00\n").unwrap();
        let entry = manifest.dist("a.tar.gz").unwrap();
        assert_eq!((entry.size, entry.line, entry.hashes.get("SHA512").map(String::as_str)), (13, 6, Some("00")));
        assert_eq!(manifest.entries().count(), 3);
        let odd = OsString::from_vec(b"b\xff".to_vec());
        assert!(manifest.get(EntryKind::Dist, &odd).is_some());
        assert!(manifest.get(EntryKind::Aux, OsStr::new("x/y.patch")).is_some());
        assert!(manifest.dist("x/y.patch").is_none());
    }

    #[test]
    fn reads_past_the_armour() {
        let signed = b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nDIST a 1 SHA512 aa\n- DIST b 1 SHA512 aa\n-----BEGIN PGP SIGNATURE-----\n\nDIST c 1 SHA512 aa\n-----END PGP SIGNATURE-----\n";
        let manifest = parse(signed).unwrap();
        assert!(manifest.dist("a").is_some() && manifest.dist("b").is_some() && manifest.dist("c").is_none());
    }

    #[test]
    fn errors_name_file_and_line() {
        for bad in ["DIST", "DIST a", "DIST a b", "DIST a -1", "DIST a 1 SHA512", "DIST a 1 SHA512 xyz"] {
            let error = parse(format!("\n{bad}\n").as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("Manifest:2: `{bad}` is no Manifest entry")), "{error}");
        }
    }

    #[test]
    fn nothing_there() {
        let manifest = Manifest::read(Path::new("/nonexistent"), &Within::anywhere()).unwrap();
        assert!(!manifest.present && manifest.entries().next().is_none());
    }

    proptest! {
        #[test]
        fn never_panics(bytes: Vec<u8>) {
            let _ = parse(&bytes);
            let _ = parse(&[b"DIST ", bytes.as_slice()].concat());
        }
    }
}
