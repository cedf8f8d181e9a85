//! The snapshot of a tree that was just unpacked, from the md5s that were taken meanwhile.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use rayon::Scope;

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
    let meta = fs::symlink_metadata(root).map_err(|e| read(root, e))?;
    let looker = Looker { root, sums: made.sums, most, count: AtomicUsize::new(0), found: Mutex::default() };
    rayon::scope(|scope| looker.folder(scope, root.to_owned(), 0));
    let Found { entries, disk, hard_links, failed, .. } = looker.found.into_inner().unwrap_or_else(|e| e.into_inner());
    if let Some(error) = failed {
        return Err(error);
    }
    let head = Head {
        version: VERSION,
        mode: meta.mode() & 0o7777,
        mtime: (meta.mtime(), meta.mtime_nsec()),
        remarks: made.remarks,
        hard_links,
        left: made.left.map(|left| hex(&md5::compute(left).0)),
        disk,
        entries: entries.len() as u64,
    };
    Ok((head, entries.into_iter().collect()))
}

fn read(path: &Path, source: io::Error) -> SnapshotError {
    SnapshotError::Read { path: path.into(), source }
}

/// Folders are looked at side by side.
struct Looker<'a> {
    root: &'a Path,
    sums: HashMap<u64, Md5>,
    most: Most,
    count: AtomicUsize,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    entries: Vec<(PathBuf, Entry)>,
    /// Bytes.
    disk: u64,
    hard_links: bool,
    /// Files of several names that are counted.
    linked: HashSet<u64>,
    failed: Option<SnapshotError>,
}

struct Seen {
    path: PathBuf,
    entry: Entry,
    /// Bytes.
    disk: u64,
    /// A file of several names.
    several: bool,
}

impl Looker<'_> {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// `depth`: in how many folders below the root it lies, itself counted.
    fn folder<'s>(&'s self, scope: &Scope<'s>, path: PathBuf, depth: usize) {
        if self.found().failed.is_some() {
            return;
        }
        match self.entries(&path, depth) {
            Ok(entries) => {
                for seen in entries.iter().filter(|seen| seen.entry.kind == Kind::Directory) {
                    let path = self.root.join(&seen.path);
                    scope.spawn(move |scope| self.folder(scope, path, depth + 1));
                }
                self.found().add(entries);
            }
            Err(error) => self.found().failed = Some(error),
        }
    }

    fn entries(&self, folder: &Path, depth: usize) -> Result<Vec<Seen>, SnapshotError> {
        let mut found = Vec::new();
        for item in fs::read_dir(folder).map_err(|e| read(folder, e))? {
            let item = item.map_err(|e| read(folder, e))?;
            if self.count.fetch_add(1, Ordering::Relaxed) >= self.most.entries {
                return Err(SnapshotError::TooMany { limit: self.most.entries });
            }
            if depth > self.most.depth {
                return Err(SnapshotError::TooDeep { limit: self.most.depth });
            }
            let path = item.path();
            // relative to the open folder, which spares the way there
            let meta = item.metadata().map_err(|e| read(&path, e))?;
            let entry = self.entry(&path, &meta).map_err(|e| read(&path, e))?;
            let (path, several) = (below(self.root, &path), meta.nlink() > 1 && !meta.is_dir());
            found.push(Seen { path, entry, disk: meta.blocks() * 512, several });
        }
        Ok(found)
    }

    fn entry(&self, path: &Path, meta: &fs::Metadata) -> io::Result<Entry> {
        let kind = Kind::of(path, meta, || {
            let known = self.sums.get(&meta.ino()).copied();
            Ok(Kind::File { md5: known.map_or_else(|| md5_of_file(path), Ok)?, pack: None })
        })?;
        Ok(Entry::new(kind, meta))
    }
}

impl Found {
    fn add(&mut self, entries: Vec<Seen>) {
        for Seen { path, entry, disk, several } in entries {
            self.hard_links |= several;
            if !several || self.linked.insert(entry.stamp.ino) {
                self.disk += disk;
            }
            self.entries.push((path, entry));
        }
    }
}
