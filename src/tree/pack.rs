//! The pristine contents of a tree in one file: written once while the tree is hashed, read through a memory map.
//!
//! It costs one sequential write instead of a second tree, gives every diff its old side, and lets the whole tree
//! be searched without opening a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes; contents of larger files are not kept.
pub const PACK_FILE_LIMIT: u64 = 16 << 20;

/// Where a file's contents lie in the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    offset: u64,
    len: u64,
}

impl Slot {
    /// The contents in a map of the pack.
    pub fn of(self, map: &[u8]) -> Option<&[u8]> {
        map.get(self.offset as usize..(self.offset + self.len) as usize)
    }
}

/// Only this process writes or reads the file; it has no name once it is open.
#[derive(Debug)]
pub struct Pack {
    file: File,
    end: AtomicU64,
}

impl Pack {
    /// An empty pack in `dir`.
    pub fn create(dir: &Path) -> io::Result<Pack> {
        Ok(Pack { file: tempfile::tempfile_in(dir)?, end: AtomicU64::new(0) })
    }

    /// Room for `len` bytes, to be filled; many threads may do so at once.
    pub fn reserve(&self, len: u64) -> Slot {
        Slot { offset: self.end.fetch_add(len, Ordering::Relaxed), len }
    }

    /// Writes `data` into a slot, `at` bytes from its beginning.
    pub fn fill(&self, slot: Slot, at: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, slot.offset + at)
    }

    /// Keeps `data`.
    #[cfg(test)]
    pub fn put(&self, data: &[u8]) -> io::Result<Slot> {
        let slot = self.reserve(data.len() as u64);
        self.fill(slot, 0, data)?;
        Ok(slot)
    }

    /// All that was put so far, to be read through [`Slot::of`].
    pub fn map(&self) -> io::Result<memmap2::Mmap> {
        // SAFETY: the file has no name and no other process holds it; this one only ever appends
        unsafe { memmap2::Mmap::map(&self.file) }
    }

    pub fn get(&self, slot: Slot) -> io::Result<Vec<u8>> {
        let mut data = vec![0; slot.len as usize];
        self.file.read_exact_at(&mut data, slot.offset)?;
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_put() {
        let dir = tempfile::tempdir().unwrap();
        let pack = Pack::create(dir.path()).unwrap();
        let (a, b, c) = (pack.put(b"one").unwrap(), pack.put(b"").unwrap(), pack.put(b"two").unwrap());
        assert_eq!(pack.get(b).unwrap(), b"");
        assert_eq!(pack.get(c).unwrap(), b"two");
        assert_eq!(pack.get(a).unwrap(), b"one");
    }
}
