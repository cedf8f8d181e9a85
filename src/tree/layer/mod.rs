//! Layers: unpacked trees with their snapshots, kept on the disk and shared by all that unpack the same archives.
//!
//! A layer is a folder `KEY` with `tree`, `record` (the snapshot) and perhaps `pack` (the contents in one file) and `left`
//! (what unpacking left beside the tree). It is complete or absent: it is made as `.tmp-KEY` and takes its name at the end. Beside it lies `KEY.lock`: whoever makes
//! or removes the layer holds the lock alone, whoever uses it holds it with others; the kernel gives it up with the
//! process. So what lies there as `.tmp-KEY` while the lock is free was left by a run that was killed. The lock's time
//! is that of the last use.

mod adopt;
mod copy;
mod lock;
mod make;
mod pack;
mod record;
mod room;
mod store;
mod verify;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use memmap2::Mmap;

pub use adopt::adopt;
pub use make::Made;
pub use room::Room;
pub use store::{LayerError, LayerStore};

use super::snapshot::Snapshot;
use record::Head;

/// A layer in use; it is not removed as long as the value lives.
#[derive(Debug)]
pub struct Layer {
    dir: PathBuf,
    head: Head,
    snapshot: Snapshot,
    left: Option<Vec<u8>>,
    /// Bytes of the pack, made or not.
    packed: u64,
    pack: Mutex<Option<Arc<Mmap>>>,
    lock: File,
}

impl Layer {
    /// What WORKDIR is to be. Only to be read.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// The layer's name in the folder of layers.
    pub fn key(&self) -> &Path {
        self.dir.file_name().map_or(Path::new(""), Path::new)
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What unpacking had to remark.
    pub fn remarks(&self) -> &[String] {
        &self.head.remarks
    }

    /// What unpacking left beside the tree, as the maker wrote it.
    pub fn left(&self) -> Option<&[u8]> {
        self.left.as_deref()
    }

    /// Whether files have several names, which an overlay would part.
    pub fn has_hard_links(&self) -> bool {
        self.head.hard_links
    }

    /// Bytes of the files, and their number with folders and links.
    pub fn size(&self) -> (u64, u64) {
        (self.head.disk, self.snapshot.len() as u64)
    }
}
