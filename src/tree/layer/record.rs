//! A snapshot as a file: a line of JSON, the entries in order of path, and the md5 of all that.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tree::Entries;
use crate::tree::hash::hex;
use crate::tree::pack::{PACK_FILE_LIMIT, Slot};
use crate::tree::snapshot::{Entry, Kind, Stamp};

/// To be raised whenever an older layer is not what would be made now.
pub const VERSION: u32 = 1;

/// What is known of a layer beside its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub version: u32,
    /// Of the root.
    pub mode: u32,
    /// Of the root.
    pub mtime: (i64, i64),
    pub remarks: Vec<String>,
    pub hard_links: bool,
    /// The md5 of `left`, where there is one.
    #[serde(default)]
    pub left: Option<String>,
    /// Bytes on the disk.
    pub disk: u64,
    pub entries: u64,
}

/// All that a record says.
#[derive(Debug)]
pub struct Record {
    pub head: Head,
    pub entries: Entries,
    /// How many bytes a pack of the contents takes.
    pub packed: u64,
}

/// Writes the record.
pub fn write(path: &Path, head: &Head, entries: &Entries) -> io::Result<()> {
    let mut out = serde_json::to_vec(head)?;
    out.push(b'\n');
    for (path, entry) in entries.iter() {
        let (kind, more): (u8, &[u8]) = match &entry.kind {
            Kind::File { md5, .. } => (b'f', md5),
            Kind::Link(target) => (b'l', target.as_os_str().as_bytes()),
            Kind::Directory => (b'd', b""),
            Kind::Other => (b'o', b""),
        };
        out.push(kind);
        out.extend(entry.mode.to_le_bytes());
        let stamp = &entry.stamp;
        out.extend(entry.size.to_le_bytes());
        out.extend(stamp.ino.to_le_bytes());
        for number in [stamp.mtime.0, stamp.mtime.1, stamp.ctime.0, stamp.ctime.1] {
            out.extend(number.to_le_bytes());
        }
        for bytes in [more, path.as_os_str().as_bytes()] {
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(bytes);
        }
    }
    let sum = md5::compute(&out);
    out.extend(sum.0);
    fs::File::create_new(path)?.write_all(&out)
}

/// Reads a record.
pub fn read(path: &Path) -> io::Result<Record> {
    let data = fs::read(path)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the record is damaged");
    let (data, sum) = data.split_last_chunk::<16>().ok_or_else(damaged)?;
    if md5::compute(data).0 != *sum {
        return Err(damaged());
    }
    let end = memchr::memchr(b'\n', data).ok_or_else(damaged)?;
    let head: Head = serde_json::from_slice(&data[..end])?;
    if head.version != VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the record is of another version"));
    }
    let mut fields = Fields(&data[end + 1..]);
    let mut packed = 0;
    let mut found = Vec::with_capacity(head.entries as usize);
    while !fields.0.is_empty() {
        found.push(fields.entry(&mut packed).ok_or_else(damaged)?);
    }
    if found.len() as u64 != head.entries {
        return Err(damaged());
    }
    Ok(Record { head, entries: found.into_iter().collect(), packed })
}

/// What unpacking left beside the tree of the layer in `dir`, where it left something.
pub fn left(dir: &Path, head: &Head) -> io::Result<Option<Vec<u8>>> {
    let Some(sum) = &head.left else { return Ok(None) };
    let data = fs::read(dir.join("left"))?;
    match hex(&md5::compute(&data).0) == *sum {
        true => Ok(Some(data)),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "what unpacking left is damaged")),
    }
}

/// The head alone, unverified.
pub fn head(path: &Path) -> io::Result<Head> {
    let mut line = Vec::new();
    io::BufReader::new(fs::File::open(path)?).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn entry(&mut self, packed: &mut u64) -> Option<(PathBuf, Entry)> {
        let [kind] = self.array()?;
        let mode = u32::from_le_bytes(self.array()?);
        let size = u64::from_le_bytes(self.array()?);
        let ino = u64::from_le_bytes(self.array()?);
        let mut number = || self.array().map(i64::from_le_bytes);
        let mtime = (number()?, number()?);
        let ctime = (number()?, number()?);
        let more = self.bytes()?;
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
        let kind = match kind {
            b'f' => {
                let kept = size <= PACK_FILE_LIMIT;
                let pack = kept.then(|| Slot::at(*packed, size));
                *packed += if kept { size } else { 0 };
                Kind::File { md5: more.try_into().ok()?, pack }
            }
            b'l' => Kind::Link(path(more)),
            b'd' => Kind::Directory,
            b'o' => Kind::Other,
            _ => return None,
        };
        Some((path(self.bytes()?), Entry { kind, mode, size, stamp: Stamp { ino, size, mtime, ctime } }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let stamp = Stamp { ino: 7, size: 3, mtime: (-1, 2), ctime: (3, 4) };
        let entry = |kind| Entry { kind, mode: 0o755, size: 3, stamp };
        let entries: Entries = [
            ("a", entry(Kind::File { md5: [9; 16], pack: Some(Slot::at(0, 3)) })),
            ("b\n", entry(Kind::Link("../x".into()))),
            ("d", entry(Kind::Directory)),
            ("d/f", entry(Kind::File { md5: [8; 16], pack: Some(Slot::at(3, 3)) })),
            ("p", entry(Kind::Other)),
        ]
        .map(|(path, entry)| (path.into(), entry))
        .into_iter()
        .collect();
        let head = Head { version: VERSION, remarks: vec!["x".into()], entries: 5, ..Head::default() };
        let path = dir.path().join("record");
        write(&path, &head, &entries).unwrap();
        let record = read(&path).unwrap();
        assert_eq!((&record.head, record.packed), (&head, 6));
        let all = |entries: &Entries| format!("{:?}", entries.iter().collect::<Vec<_>>());
        assert_eq!(all(&record.entries), all(&entries));
        assert_eq!(self::head(&path).unwrap(), head);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(read(&path).is_err());
        }
    }
}
