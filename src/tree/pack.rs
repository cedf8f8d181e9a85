//! The pristine contents of a tree in one file: written once while the tree is hashed, read through a memory map.
//!
//! It costs one sequential write instead of a second tree, gives every diff its old side, and lets the whole tree
//! be searched without opening a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

use super::layer::Layer;

/// Bytes; contents of larger files are not kept.
pub const PACK_FILE_LIMIT: u64 = 16 << 20;

/// Where a file's contents lie in the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    offset: u64,
    len: u64,
}

impl Slot {
    pub(super) fn at(offset: u64, len: u64) -> Slot {
        Slot { offset, len }
    }

    pub(super) fn start(self) -> u64 {
        self.offset
    }

    pub(super) fn len(self) -> u64 {
        self.len
    }
}

/// Only this process writes or reads the file; it has no name once it is open. What a layer has is not in it: the slots
/// of the layer come first, and those of the file after them.
#[derive(Debug)]
pub struct Pack {
    layer: Option<Arc<Layer>>,
    dir: PathBuf,
    file: File,
    end: AtomicU64,
}

/// A pack in memory.
#[derive(Clone, Debug, Default)]
pub struct PackMap {
    layer: Option<Arc<Mmap>>,
    /// Where the own part begins.
    from: u64,
    own: Option<Arc<Mmap>>,
}

impl PackMap {
    /// The contents in a slot.
    pub fn get(&self, slot: Slot) -> Option<&[u8]> {
        let (map, offset) = match slot.offset.checked_sub(self.from) {
            Some(offset) => (self.own.as_deref()?, offset),
            None => (self.layer.as_deref()?, slot.offset),
        };
        map.get(offset as usize..(offset + slot.len) as usize)
    }
}

impl Pack {
    /// An empty pack in `dir`.
    pub fn create(dir: &Path) -> io::Result<Pack> {
        Ok(Pack { layer: None, dir: dir.to_owned(), file: tempfile::tempfile_in(dir)?, end: AtomicU64::new(0) })
    }

    /// A pack in `dir` of what a layer has and what will be put beside it.
    pub fn over(layer: Arc<Layer>, dir: &Path) -> io::Result<Pack> {
        let end = AtomicU64::new(layer.packed());
        Ok(Pack { layer: Some(layer), end, ..Pack::create(dir)? })
    }

    fn from(&self) -> u64 {
        self.layer.as_ref().map_or(0, |layer| layer.packed())
    }

    /// Room for `len` bytes, to be filled; many threads may do so at once.
    pub fn reserve(&self, len: u64) -> Slot {
        Slot { offset: self.end.fetch_add(len, Ordering::Relaxed), len }
    }

    /// Writes `data` into a slot, `at` bytes from its beginning.
    pub fn fill(&self, slot: Slot, at: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, slot.offset - self.from() + at)
    }

    #[cfg(test)]
    pub fn room(&self) -> io::Result<std::fs::Metadata> {
        self.file.metadata()
    }

    /// Keeps `data`.
    #[cfg(test)]
    pub fn put(&self, data: &[u8]) -> io::Result<Slot> {
        let slot = self.reserve(data.len() as u64);
        self.fill(slot, 0, data)?;
        Ok(slot)
    }

    /// All that was put so far, and what the layer has.
    pub fn map(&self) -> io::Result<PackMap> {
        let layer = self.layer.as_ref().map(|layer| layer.pack(&self.dir)).transpose()?;
        // SAFETY: the file has no name and no other process holds it; this one only ever appends
        let own = unsafe { Mmap::map(&self.file) }?;
        Ok(PackMap { layer, from: self.from(), own: Some(Arc::new(own)) })
    }

    /// The contents of the file at `path`, whose slot it is. Those of a layer are read from there.
    pub fn get(&self, path: &Path, slot: Slot) -> io::Result<Vec<u8>> {
        let Some(offset) = slot.offset.checked_sub(self.from()) else {
            return self.layer.as_ref().map_or_else(|| Ok(Vec::new()), |layer| layer.read(path, slot));
        };
        let mut data = vec![0; slot.len as usize];
        self.file.read_exact_at(&mut data, offset)?;
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
        let map = pack.map().unwrap();
        for (slot, text) in [(b, ""), (c, "two"), (a, "one")] {
            assert_eq!(pack.get(Path::new("any"), slot).unwrap(), text.as_bytes());
            assert_eq!(map.get(slot), Some(text.as_bytes()));
        }
    }
}
