//! Which files `unpack` unpacks, and as what: the table of PMS, "Misc commands", `unpack`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A compression of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Gzip,
    Bzip2,
    /// xz and the older lzma format: the data says which.
    Xz,
    Zstd,
    /// `compress`, suffix `.Z`.
    Compress,
}

/// A kind of archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// tar, compressed or not: as GNU tar does, the data is asked, not the name.
    Tar,
    Zip,
    SevenZip,
    /// `.a` and `.deb`.
    Ar,
    /// One compressed file; it unpacks to its name without the last suffix.
    Single(Codec),
    /// Named by PMS up to EAPI 7; ebaudit cannot read it.
    Rar,
    /// Named by PMS up to EAPI 7; ebaudit cannot read it.
    Lha,
}

/// The EAPIs (from, to) that know a suffix.
type Span = (u32, u32);
const ALWAYS: Span = (0, u32::MAX);
const UP_TO_7: Span = (0, 7);
const FROM_3: Span = (3, u32::MAX);
const FROM_6: Span = (6, u32::MAX);

/// The suffixes as they are written where capitals count (before EAPI 6).
const TABLE: &[(&str, Kind, Span)] = &[
    ("tar", Kind::Tar, ALWAYS),
    ("tar.gz", Kind::Tar, ALWAYS),
    ("tgz", Kind::Tar, ALWAYS),
    ("tar.Z", Kind::Tar, ALWAYS),
    ("tar.bz2", Kind::Tar, ALWAYS),
    ("tar.bz", Kind::Tar, ALWAYS),
    ("tbz2", Kind::Tar, ALWAYS),
    ("tbz", Kind::Tar, ALWAYS),
    ("tar.lzma", Kind::Tar, ALWAYS),
    ("tar.xz", Kind::Tar, FROM_3),
    ("txz", Kind::Tar, FROM_6),
    ("zip", Kind::Zip, ALWAYS),
    ("ZIP", Kind::Zip, ALWAYS),
    ("jar", Kind::Zip, ALWAYS),
    ("gz", Kind::Single(Codec::Gzip), ALWAYS),
    // gzip reads both formats; the data says which.
    ("Z", Kind::Single(Codec::Gzip), ALWAYS),
    ("bz2", Kind::Single(Codec::Bzip2), ALWAYS),
    ("bz", Kind::Single(Codec::Bzip2), ALWAYS),
    ("xz", Kind::Single(Codec::Xz), FROM_3),
    ("lzma", Kind::Single(Codec::Xz), ALWAYS),
    ("a", Kind::Ar, ALWAYS),
    ("deb", Kind::Ar, ALWAYS),
    ("7z", Kind::SevenZip, UP_TO_7),
    ("7Z", Kind::SevenZip, UP_TO_7),
    ("rar", Kind::Rar, UP_TO_7),
    ("RAR", Kind::Rar, UP_TO_7),
    ("lha", Kind::Lha, UP_TO_7),
    ("LHA", Kind::Lha, UP_TO_7),
    ("LHa", Kind::Lha, UP_TO_7),
    ("lzh", Kind::Lha, UP_TO_7),
    ("lhz", Kind::Lha, UP_TO_7),
];

impl Kind {
    /// What `unpack` of that EAPI takes the file for; `None` where it leaves the file packed without a word.
    /// An EAPI that is no number counts as the newest.
    pub fn by_name(name: &OsStr, eapi: &str) -> Option<Kind> {
        let eapi = eapi.parse::<u32>().unwrap_or(u32::MAX);
        let suffix = suffix(name.as_bytes())?;
        TABLE
            .iter()
            .filter(|(_, _, (from, to))| (*from..=*to).contains(&eapi))
            .find(|(known, _, _)| match eapi {
                // PMS: "unpack … must match file extensions in a case-insensitive manner" from EAPI 6 on.
                6.. => known.as_bytes().eq_ignore_ascii_case(suffix),
                _ => known.as_bytes() == suffix,
            })
            .map(|(_, kind, _)| *kind)
    }
}

/// The last suffix, `tar.` before it included.
fn suffix(name: &[u8]) -> Option<&[u8]> {
    let base = name.rsplit(|b| *b == b'/').next()?;
    let dot = memchr::memrchr(b'.', base)?;
    let stem = &base[..dot];
    let start = match stem.len().checked_sub(4) {
        Some(at) if stem[at..].eq_ignore_ascii_case(b".tar") => at,
        _ => dot,
    };
    Some(&base[start + 1..]).filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, eapi: &str) -> Option<Kind> {
        Kind::by_name(OsStr::new(name), eapi)
    }

    #[test]
    fn suffixes_as_pms_has_them() {
        assert_eq!(kind("a-1.tar.gz", "8"), Some(Kind::Tar));
        assert_eq!(kind("A-1.TAR.XZ", "8"), Some(Kind::Tar));
        assert_eq!(kind("A-1.TAR.XZ", "5"), None);
        assert_eq!(kind("a.ZIP", "5"), Some(Kind::Zip));
        assert_eq!(kind("a.txz", "5"), None);
        assert_eq!(kind("a.tar.Z", "0"), Some(Kind::Tar));
        assert_eq!(kind("a.b.gz", "8"), Some(Kind::Single(Codec::Gzip)));
        assert_eq!(kind("a.7z", "7"), Some(Kind::SevenZip));
        assert_eq!(kind("a.7z", "8"), None);
        assert_eq!(kind("a.rar", "7"), Some(Kind::Rar));
        assert_eq!(kind("x.tgz", "9"), Some(Kind::Tar));
        assert_eq!(kind("dir.gz/x.deb", "9"), Some(Kind::Ar));
    }

    #[test]
    fn what_is_left_packed() {
        for name in ["README", "a.crate", "b.gem", "c.tar.zst", "d.zst", "e.patch", "tar", ".", "x.", "f.tar.zip"] {
            assert_eq!(kind(name, "8"), None, "{name}");
        }
    }
}
