//! The records of pax extended headers: `LENGTH KEY=VALUE\n`, the value being any bytes.

use super::sparse::MOST_PIECES;
use crate::source::unpack::error::{Fault, Outcome};
use crate::source::unpack::tree::Stamp;

/// What extended headers say of the members to come.
#[derive(Debug, Clone, Default)]
pub(super) struct Records {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) mtime: Option<Stamp>,
    pub(super) sparse: SparseRecords,
}

/// GNU's records for sparse files, in its three versions.
#[derive(Debug, Clone, Default)]
pub(super) struct SparseRecords {
    pub(super) major: Option<u64>,
    /// The true name; `path` is one for tars that know no sparse files.
    pub(super) name: Option<Vec<u8>>,
    pub(super) real_size: Option<u64>,
    /// Offsets and lengths of what is no hole (versions 0.0 and 0.1).
    pub(super) map: Vec<(u64, u64)>,
    offset: Option<u64>,
}

impl Records {
    /// Reads a header's data; later records overrule earlier ones.
    pub(super) fn read(data: &[u8]) -> Outcome<Records> {
        let mut records = Records::default();
        each(data, |key, value| records.set(key, value))?;
        Ok(records)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Outcome<()> {
        let sparse = &mut self.sparse;
        match key {
            // An empty value takes the record back.
            b"path" => self.path = Some(value.to_vec()).filter(|v| !v.is_empty()),
            b"GNU.sparse.name" => sparse.name = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()).filter(|v| !v.is_empty()),
            b"size" => self.size = Some(number(value)?),
            b"mtime" => self.mtime = stamp(value),
            b"GNU.sparse.major" => sparse.major = Some(number(value)?),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => sparse.real_size = Some(number(value)?),
            b"GNU.sparse.offset" => sparse.offset = Some(number(value)?),
            b"GNU.sparse.numbytes" => {
                let offset = sparse.offset.take().ok_or_else(malformed)?;
                sparse.map.push((offset, number(value)?));
                few(sparse.map.len())?;
            }
            b"GNU.sparse.map" => {
                few(memchr::memchr_iter(b',', value).count() / 2)?;
                let numbers = value.split(|b| *b == b',').map(number).collect::<Outcome<Vec<u64>>>()?;
                if numbers.len() % 2 != 0 {
                    return Err(malformed());
                }
                sparse.map = numbers.chunks_exact(2).map(|c| (c[0], c[1])).collect();
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.major.is_some() || self.sparse.real_size.is_some()
    }
}

/// What a global header says of all members that follow: the time. GNU tar gives all of them one name or one size if it is
/// asked to, and fails at sparse files; nobody writes such archives.
pub(super) fn global(data: &[u8]) -> Outcome<Option<Stamp>> {
    let mut records = Records::default();
    each(data, |key, value| match key {
        b"path" | b"linkpath" | b"size" => Err(of_all(key)),
        _ if key.starts_with(b"GNU.sparse.") => Err(of_all(key)),
        _ => records.set(key, value),
    })?;
    Ok(records.mtime)
}

fn of_all(key: &[u8]) -> Fault {
    Fault::failed(format!("a global pax header gives one {} to all members", String::from_utf8_lossy(key)))
}

fn each(mut data: &[u8], mut take: impl FnMut(&[u8], &[u8]) -> Outcome<()>) -> Outcome<()> {
    while !data.is_empty() && data[0] != 0 {
        let (record, rest) = split(data).ok_or_else(malformed)?;
        data = rest;
        let equals = memchr::memchr(b'=', record).ok_or_else(malformed)?;
        take(&record[..equals], &record[equals + 1..])?;
    }
    Ok(())
}

fn few(pieces: usize) -> Outcome<()> {
    if pieces > MOST_PIECES { Err(malformed()) } else { Ok(()) }
}

fn malformed() -> Fault {
    Fault::failed("damaged: malformed pax header")
}

/// The first record without its length and newline, and what follows.
fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = memchr::memchr(b' ', data.get(..data.len().min(24))?)?;
    let length = usize::try_from(number(&data[..blank]).ok()?).ok()?;
    let record = data.get(blank + 1..length)?;
    let (newline, record) = record.split_last()?;
    (*newline == b'\n').then_some((record, &data[length..]))
}

pub(super) fn number(text: &[u8]) -> Outcome<u64> {
    std::str::from_utf8(text).ok().and_then(|t| t.trim().parse().ok()).ok_or_else(malformed)
}

/// `1700000000.25`, also negative; what cannot be read is no time.
fn stamp(value: &[u8]) -> Option<Stamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds: i64 = whole.parse().ok()?;
    if fraction.len() > 40 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut nanos: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    if whole.starts_with('-') && nanos > 0 {
        seconds = seconds.checked_sub(1)?;
        nanos = 1_000_000_000 - nanos;
    }
    Some(Stamp { seconds, nanos })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_are_read_by_their_length() {
        let records = Records::read(b"15 path=a\nb=\xff\n\n22 mtime=-1.250000000\n11 size=42\n").unwrap();
        assert_eq!(records.path.as_deref(), Some(&b"a\nb=\xff\n"[..]));
        assert_eq!(records.mtime, Some(Stamp { seconds: -2, nanos: 750_000_000 }));
        assert_eq!(records.size, Some(42));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for data in [&b"5 a"[..], b"x path=a\n", b"0 a=b\n", b"9 path=abc", b"6 abc\n"] {
            assert!(Records::read(data).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_input_breaks_it(data: Vec<u8>) {
            let _ = (Records::read(&data), global(&data));
        }
    }
}
