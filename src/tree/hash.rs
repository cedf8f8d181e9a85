//! The md5 of a file, read once.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::gauge::Gauge;
use super::pack::{PACK_FILE_LIMIT, Pack, Slot};
use super::untrusted;

pub type Md5 = [u8; 16];

/// Lower-case hexadecimal digits, as md5sum prints them.
pub fn hex(md5: &Md5) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    md5.iter().flat_map(|b| [b >> 4, b & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Reads what [`hex`] wrote.
pub fn unhex(text: &str) -> Option<Md5> {
    let mut md5 = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in md5.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[i * 2..i * 2 + 2], 16).ok()?;
    }
    Some(md5)
}

/// The md5 of a regular file; a link is an error.
pub fn md5_of_file(path: &Path) -> io::Result<Md5> {
    let mut file = untrusted::open(path)?;
    let size = file.metadata()?.len();
    Ok(hash(&mut file, size, None, &Gauge::open())?.0)
}

thread_local! {
    /// Files are read into the same memory one after the other.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes; larger files are hashed piece by piece.
const WHOLE: u64 = 1 << 20;

/// Hashes the `size` bytes of `file` and keeps those of a file up to [`PACK_FILE_LIMIT`] in the pack.
pub(super) fn hash(file: &mut File, size: u64, pack: Option<&Pack>, gauge: &Gauge) -> io::Result<(Md5, Option<Slot>)> {
    gauge.take(size)?;
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(size.min(WHOLE) as usize, 0);
        let mut slot = pack.filter(|_| size <= PACK_FILE_LIMIT).map(|p| p.reserve(size));
        let mut sum = md5::Context::new();
        let mut done = 0;
        while done < size {
            gauge.look()?;
            let want = (size - done).min(WHOLE) as usize;
            let n = match file.read(&mut buffer[..want]) {
                // it shrank under our hands: what is kept would not be what was hashed
                Ok(0) => {
                    slot = None;
                    break;
                }
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            sum.consume(&buffer[..n]);
            if let (Some(pack), Some(slot)) = (pack, slot) {
                keep(pack, slot, size, done, &buffer[..n])?;
            }
            done += n as u64;
        }
        Ok((sum.finalize().0, slot))
    })
}

/// Writes a piece of a file of `size` bytes into its slot. A hole stays one, but for the byte that says how long it is.
fn keep(pack: &Pack, slot: Slot, size: u64, at: u64, data: &[u8]) -> io::Result<()> {
    let skipped = match data.iter().all(|byte| *byte == 0) {
        true if at + data.len() as u64 == size => data.len().saturating_sub(1),
        true => data.len(),
        false => 0,
    };
    pack.fill(slot, at + skipped as u64, &data[skipped..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn holes_cost_no_room_in_the_pack() {
        let dir = tempfile::tempdir().unwrap();
        let pack = Pack::create(dir.path()).unwrap();
        let path = dir.path().join("f");
        let mut text = vec![0; 3 << 20];
        text[(2 << 20) + 5] = 7;
        std::fs::write(&path, &text).unwrap();
        let mut slots = Vec::new();
        for len in [3 << 20, 12 << 20, 12 << 20] {
            let mut file = File::options().read(true).write(true).open(&path).unwrap();
            file.set_len(len).unwrap();
            slots.push((hash(&mut file, len, Some(&pack), &Gauge::open()).unwrap().1.unwrap(), len));
        }
        for (slot, len) in slots {
            text.resize(len as usize, 0);
            assert_eq!(pack.get(&path, slot).unwrap(), text);
        }
        assert!(pack.room().unwrap().blocks() * 512 < 6 << 20);
    }
}
