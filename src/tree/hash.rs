//! The md5 of a file, read once.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

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
    Ok(hash(&mut file, size, None)?.0)
}

thread_local! {
    /// Files are read into the same memory one after the other.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes; larger files are hashed piece by piece.
const WHOLE: u64 = 1 << 20;

/// Hashes the `size` bytes of `file` and keeps those of a file up to [`PACK_FILE_LIMIT`] in the pack.
pub(super) fn hash(file: &mut File, size: u64, pack: Option<&Pack>) -> io::Result<(Md5, Option<Slot>)> {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(size.min(WHOLE) as usize, 0);
        let mut slot = pack.filter(|_| size <= PACK_FILE_LIMIT).map(|p| p.reserve(size));
        let mut sum = md5::Context::new();
        let mut done = 0;
        while done < size {
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
                pack.fill(slot, done, &buffer[..n])?;
            }
            done += n as u64;
        }
        Ok((sum.finalize().0, slot))
    })
}
