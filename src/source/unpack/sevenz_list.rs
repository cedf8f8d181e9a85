//! How long the list of a .7z's files is (7zFormat.txt in the LZMA SDK), before anybody makes room for it: it may be
//! compressed, and claims as many files as it has bytes.

use std::io::{self, Read, Seek, SeekFrom};

use super::error::{Fault, Outcome};
use super::fields::Fields;

const START: usize = 32;
/// Bytes of what says how the list is compressed: one folder of few coders.
const LONGEST: u64 = 4096;

const END: u8 = 0;
const HEADER: u8 = 1;
const PACK_INFO: u8 = 6;
const UNPACK_INFO: u8 = 7;
const SIZE: u8 = 9;
const CRC: u8 = 10;
const FOLDER: u8 = 11;
const UNPACK_SIZE: u8 = 12;
const ENCODED_HEADER: u8 = 23;

/// Bytes of the list when it is decoded. What is not as 7-Zip writes it is an error.
pub(super) fn length(file: &mut (impl Read + Seek)) -> Outcome<u64> {
    let mut start = [0; START];
    file.read_exact(&mut start)?;
    let number = |at: usize| u64::from_le_bytes(start[at..at + 8].try_into().unwrap_or_default());
    let (offset, size) = (number(12), number(20));
    if start[8..].iter().all(|byte| *byte == 0) {
        return Err(Fault::failed("it was not finished: the place of its list of files is not told"));
    }
    let at = offset.checked_add(START as u64).ok_or_else(odd)?;
    file.seek(SeekFrom::Start(at))?;
    let mut head = Vec::new();
    file.take(size.min(LONGEST)).read_to_end(&mut head)?;
    let mut rest = Fields(&head);
    match rest.byte() {
        _ if size == 0 => Ok(0),
        Some(HEADER) => Ok(size),
        Some(ENCODED_HEADER) => encoded(&mut rest).ok_or_else(odd),
        _ => Err(odd()),
    }
}

fn odd() -> Fault {
    Fault::from(io::Error::new(io::ErrorKind::InvalidData, "its list of files can't be read"))
}

fn encoded(rest: &mut Fields) -> Option<u64> {
    is(rest, PACK_INFO)?;
    number(rest)?;
    let streams = number(rest)?;
    let mut next = rest.byte()?;
    if next == SIZE {
        for _ in 0..streams {
            number(rest)?;
        }
        next = rest.byte()?;
    }
    if next == CRC {
        sums(rest, streams)?;
        next = rest.byte()?;
    }
    (next == END).then_some(())?;
    is(rest, UNPACK_INFO)?;
    is(rest, FOLDER)?;
    (number(rest)? == 1).then_some(())?;
    // it is here, not elsewhere
    is(rest, 0)?;
    let coders = number(rest)?;
    for _ in 0..coders {
        let flags = rest.byte()?;
        // one stream in and one out, as the reader wants it
        (flags & 0x10 == 0).then_some(())?;
        rest.bytes(u64::from(flags & 0xf))?;
        if flags & 0x20 != 0 {
            let length = number(rest)?;
            rest.bytes(length)?;
        }
    }
    for _ in 1..coders {
        number(rest)?;
        number(rest)?;
    }
    is(rest, UNPACK_SIZE)?;
    (0..coders).map(|_| number(rest)).try_fold(0, |most: u64, size| Some(most.max(size?)))
}

fn is(rest: &mut Fields, byte: u8) -> Option<()> {
    (rest.byte()? == byte).then_some(())
}

/// As many leading ones in the first byte as bytes follow, the lowest first; what is left of the first is the highest.
fn number(rest: &mut Fields) -> Option<u64> {
    let first = rest.byte()?;
    let follow = first.leading_ones();
    let low = rest.bytes(u64::from(follow))?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let high = u64::from(first) & (0x7f_u64 >> follow);
    Some(if follow < 8 { low | high << (8 * follow) } else { low })
}

fn sums(rest: &mut Fields, n: u64) -> Option<()> {
    let told = match rest.byte()? {
        0 => rest.bytes(n.div_ceil(8))?.iter().map(|byte| u64::from(byte.count_ones())).sum(),
        _ => n,
    };
    rest.bytes(told.checked_mul(4)?).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use sevenz_rust2::{ArchiveEntry, ArchiveWriter};

    use super::*;

    fn archive(files: usize) -> Vec<u8> {
        let mut writer = ArchiveWriter::new(Cursor::new(Vec::new())).unwrap();
        for number in 0..files {
            let entry = ArchiveEntry::new_file(&format!("name of file {number}"));
            writer.push_archive_entry(entry, Some(&b"text"[..])).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn of_what_is_written() {
        let (few, many) = (archive(3), archive(300));
        let [few, many] = [few, many].map(|data| length(&mut Cursor::new(data)).unwrap());
        // two bytes a character, the sum, the size
        assert!((3 * 30..1000).contains(&few), "{few}");
        assert!((300 * 34..300 * 100).contains(&many), "{many}");
    }

    #[test]
    fn numbers_of_every_length() {
        for (bytes, wanted) in [
            (&[0x7f][..], 0x7f),
            (&[0x80, 0xff], 0xff),
            (&[0xbf, 1], 0x3f01),
            (&[0xc1, 2, 3], 0x1_0302),
            (&[0xfe, 1, 2, 3, 4, 5, 6, 7], 0x07_0605_0403_0201),
            (&[0xff, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
        ] {
            assert_eq!(number(&mut Fields(bytes)), Some(wanted), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn no_archive_breaks_it(data in proptest::collection::vec(any::<u8>(), 0..100), kind in 0..3, at in 0..60usize) {
            let mut whole = archive(2);
            let begin = [HEADER, ENCODED_HEADER, 0xff][kind as usize];
            let end = whole.len().saturating_sub(at);
            whole.truncate(end);
            whole.push(begin);
            whole.extend(&data);
            let _ = length(&mut Cursor::new(whole));
            let _ = length(&mut Cursor::new(data));
        }
    }
}
