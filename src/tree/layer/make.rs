//! The snapshot of a tree that was just unpacked, from the md5s that were taken meanwhile.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use walkdir::WalkDir;

use super::record::{Head, VERSION};
use crate::tree::Entries;
use crate::tree::hash::{Md5, hex, md5_of_file};
use crate::tree::snapshot::{Entry, Kind, Most, SnapshotError, below};

/// What unpacking told of a tree.
#[derive(Debug, Default)]
pub struct Made {
    /// The md5 of files by their inode number; one that is missing is read.
    pub sums: HashMap<u64, Md5>,
    pub remarks: Vec<String>,
    /// What it left beside the tree; the maker knows what it means.
    pub left: Option<Vec<u8>>,
}

/// What the record of `root` says.
pub fn look(root: &Path, made: Made, most: Most) -> Result<(Head, Entries), SnapshotError> {
    let read = |path: &Path, source| SnapshotError::Read { path: path.into(), source };
    let meta = fs::symlink_metadata(root).map_err(|e| read(root, e))?;
    let mut head = Head {
        version: VERSION,
        mode: meta.mode() & 0o7777,
        mtime: (meta.mtime(), meta.mtime_nsec()),
        remarks: made.remarks,
        left: made.left.map(|left| hex(&md5::compute(left).0)),
        ..Head::default()
    };
    let mut found = Vec::new();
    let mut linked = HashSet::new();
    for item in WalkDir::new(root).min_depth(1) {
        let item = item.map_err(|e| read(root, e.into()))?;
        if found.len() >= most.entries {
            return Err(SnapshotError::TooMany { limit: most.entries });
        }
        if item.depth() > most.depth.saturating_add(1) {
            return Err(SnapshotError::TooDeep { limit: most.depth });
        }
        let path = item.path();
        let meta = item.metadata().map_err(|e| read(item.path(), e.into()))?;
        let file = || {
            let known = made.sums.get(&meta.ino()).copied();
            Ok(Kind::File { md5: known.map_or_else(|| md5_of_file(path), Ok)?, pack: None })
        };
        let kind = Kind::of(path, &meta, file).map_err(|e| read(path, e))?;
        let several = meta.nlink() > 1 && !meta.is_dir();
        head.hard_links |= several;
        if !several || linked.insert(meta.ino()) {
            head.disk += meta.blocks() * 512;
        }
        found.push((below(root, path), Entry::new(kind, &meta)));
    }
    head.entries = found.len() as u64;
    Ok((head, found.into_iter().collect()))
}
