//! A snapshot: every file, link and directory below a folder, with the md5 of every regular file.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use rustix::fs::{FileType, Stat};

use super::entries::Entries;
use super::gauge::Gauge;
use super::hash::{Md5, hash, hex};
use super::pack::{Pack, Slot};
use super::walk::{Found, Walk};

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The path is relative to the tree.
    #[error("can't read {}: {source}", if path.as_os_str().is_empty() { Path::new("the tree") } else { path }.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the tree has more than {limit} files and folders (--max-tree-files)")]
    TooMany { limit: usize },
    #[error("the tree has more than {limit} folders within folders (--max-depth)")]
    TooDeep { limit: usize },
    #[error("the tree's files have more than {limit} bytes, holes among them (--max-tree-size)")]
    TooLarge { limit: u64 },
    #[error("reading the tree took longer than --timeout allows")]
    TooSlow,
    #[error("reading the tree was interrupted")]
    Stopped,
    #[error("can't keep the tree's contents: {0}")]
    Pack(io::Error),
}

/// What an entry is. Devices, sockets and FIFOs are never opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    File { md5: Md5, pack: Option<Slot> },
    Link(PathBuf),
    Directory,
    Other,
}

impl Kind {
    /// What lies at `path`, by its `meta`; `file` says it of a regular file.
    pub(super) fn of(path: &Path, meta: &fs::Metadata, file: impl FnOnce() -> io::Result<Kind>) -> io::Result<Kind> {
        let kind = meta.file_type();
        if kind.is_dir() {
            Ok(Kind::Directory)
        } else if kind.is_symlink() {
            fs::read_link(path).map(Kind::Link)
        } else if kind.is_file() {
            file()
        } else {
            Ok(Kind::Other)
        }
    }
}

/// What stat said; equal values mean that the contents are the same (nothing sets ctime back).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub(super) ino: u64,
    pub(super) size: u64,
    pub(super) mtime: (i64, i64),
    pub(super) ctime: (i64, i64),
}

impl Stamp {
    // other types on other machines
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn of_stat(stat: &Stat) -> Stamp {
        Stamp {
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    pub(super) fn of(meta: &fs::Metadata) -> Stamp {
        Stamp {
            ino: meta.ino(),
            size: meta.size(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    /// Permission bits, `st_mode & 0o7777`.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    pub(super) stamp: Stamp,
}

impl Entry {
    /// Where the contents are kept, if they are.
    pub fn slot(&self) -> Option<Slot> {
        match self.kind {
            Kind::File { pack, .. } => pack,
            _ => None,
        }
    }

    fn of_stat(kind: Kind, stat: &Stat) -> Entry {
        let stamp = Stamp::of_stat(stat);
        Entry { kind, mode: stat.st_mode & 0o7777, size: stamp.size, stamp }
    }

    pub(super) fn new(kind: Kind, meta: &fs::Metadata) -> Entry {
        Entry { kind, mode: meta.mode() & 0o7777, size: meta.size(), stamp: Stamp::of(meta) }
    }
}

/// All entries of a tree. Those of a tree that several share are there once, with what is otherwise here laid over them.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    base: Arc<Entries>,
    /// None for what is not there.
    over: BTreeMap<PathBuf, Option<Entry>>,
}

/// How large a tree may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    pub entries: usize,
    /// Folders within folders.
    pub depth: usize,
    /// In all files, as long as they say that they are.
    pub bytes: u64,
    /// When reading it must be over.
    pub until: Option<Instant>,
}

impl Default for Most {
    fn default() -> Most {
        Most { entries: 4_000_000, depth: 256, bytes: 40 << 30, until: None }
    }
}

impl Snapshot {
    /// Walks `root` and hashes every regular file in parallel.
    ///
    /// A file whose stamp is that of `known` keeps the md5 from there and is not read again. With a `pack`, the
    /// contents of files up to [`PACK_FILE_LIMIT`] are kept in it.
    pub fn take(
        root: &Path,
        known: Option<&Snapshot>,
        pack: Option<&Pack>,
        most: Most,
    ) -> Result<Snapshot, SnapshotError> {
        let count = AtomicUsize::new(0);
        let gauge = Gauge::new(most);
        let walk = Walk::new(root).map_err(|source| SnapshotError::Read { path: PathBuf::new(), source })?;
        // threads take entries from the walk as it goes on, so that hashing begins with the first file
        let found = walk.par_bridge().filter_map(|item| {
            let item = match item {
                Ok(item) => item,
                Err((path, source)) => return Some(Err(SnapshotError::Read { path, source })),
            };
            if count.fetch_add(1, Ordering::Relaxed) >= most.entries {
                return Some(Err(SnapshotError::TooMany { limit: most.entries }));
            }
            if item.depth > most.depth.saturating_add(1) {
                return Some(Err(SnapshotError::TooDeep { limit: most.depth }));
            }
            let before = known.and_then(|k| k.get(&item.path));
            match entry(&item, before, pack, &gauge) {
                Ok(Some(entry)) => Some(Ok((item.path, entry))),
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            }
        });
        Ok(Snapshot::of(found.collect::<Result<Vec<_>, _>>()?.into_iter().collect()))
    }

    pub fn of(entries: Entries) -> Snapshot {
        Snapshot { base: Arc::new(entries), over: BTreeMap::new() }
    }

    /// The shared tree of this one with what is otherwise laid over it.
    pub fn with(&self, over: BTreeMap<PathBuf, Option<Entry>>) -> Snapshot {
        Snapshot { base: self.base.clone(), over }
    }

    pub fn get(&self, path: &Path) -> Option<&Entry> {
        match self.over.get(path) {
            Some(entry) => entry.as_ref(),
            None => self.base.get(path),
        }
    }

    /// In order of path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        // pieces of the shared tree, each up to the next path that has something over it
        let mut from = 0;
        self.over.iter().map(Some).chain([None]).flat_map(move |over| {
            let place = over.map_or(Err(self.base.len()), |(path, _)| self.base.place(path));
            let piece = self.base.between(from, place.unwrap_or_else(|at| at));
            from = place.map_or_else(|at| at, |at| at + 1);
            let own = over.and_then(|(path, entry)| Some((path.as_path(), entry.as_ref()?)));
            piece.iter().map(|(path, entry)| (path.as_path(), entry)).chain(own)
        })
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        let more = |(path, entry): (&PathBuf, &Option<Entry>)| match (self.base.place(path).is_ok(), entry) {
            (true, None) => -1,
            (false, Some(_)) => 1,
            _ => 0,
        };
        self.base.len().saturating_add_signed(self.over.iter().map(more).sum())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shared tree.
    pub(super) fn lower(&self) -> &Entries {
        &self.base
    }

    /// What lies over the shared tree at a path.
    pub(super) fn laid_over(&self, path: &Path) -> Option<&Entry> {
        self.over.get(path)?.as_ref()
    }

    /// The paths at which `other` may differ, where both lie over the same tree.
    pub(super) fn apart<'a>(&'a self, other: &'a Snapshot) -> Option<BTreeSet<&'a Path>> {
        let paths = || self.over.keys().chain(other.over.keys()).map(PathBuf::as_path).collect();
        Arc::ptr_eq(&self.base, &other.base).then(paths)
    }

    /// Number of regular files.
    pub fn files(&self) -> u64 {
        self.iter().filter(|(_, e)| matches!(e.kind, Kind::File { .. })).count() as u64
    }

    /// Bytes in regular files.
    pub fn bytes(&self) -> u64 {
        self.iter().filter(|(_, e)| matches!(e.kind, Kind::File { .. })).map(|(_, e)| e.size).sum()
    }

    /// The md5 of the regular file at `path`.
    pub fn md5(&self, path: &Path) -> Option<Md5> {
        match self.get(path)?.kind {
            Kind::File { md5, .. } => Some(md5),
            _ => None,
        }
    }

    /// One md5 for the whole tree: of a listing with type, permission bits, path and md5 or link target of each
    /// entry in order of path. `root` in a link's target is written `${WORKDIR}`, so that the value does not
    /// depend on where the tree lies.
    pub fn tree_md5(&self, root: &Path) -> String {
        let absolute = |entry: &Entry| matches!(&entry.kind, Kind::Link(target) if target.is_absolute());
        // that of a shared tree is the same for all who share it, unless a link may lead to the root
        match self.over.is_empty() && !self.base.iter().any(|(_, entry)| absolute(entry)) {
            true => self.base.sum(|| self.listed(root)).to_owned(),
            false => self.listed(root),
        }
    }

    fn listed(&self, root: &Path) -> String {
        let mut sum = md5::Context::new();
        let root = root.as_os_str().as_bytes();
        let mut line = Vec::new();
        for (path, entry) in self.iter() {
            line.clear();
            match &entry.kind {
                Kind::File { md5, .. } => {
                    let _ = write!(line, "f {:04o} ", entry.mode);
                    line.extend(hex(md5).as_bytes());
                    line.push(b' ');
                }
                Kind::Directory => drop(write!(line, "d {:04o} ", entry.mode)),
                Kind::Other => line.extend(b"o "),
                Kind::Link(target) => {
                    line.extend(b"l ");
                    let target = target.as_os_str().as_bytes();
                    match target.strip_prefix(root) {
                        Some(rest) => line.extend([&b"${WORKDIR}"[..], rest].concat()),
                        None => line.extend(target),
                    }
                    line.push(0);
                }
            }
            line.extend(path.as_os_str().as_bytes());
            line.push(0);
            sum.consume(&line);
        }
        hex(&sum.finalize().0)
    }

    /// A regular file with these contents whose contents are kept.
    pub fn kept(&self, md5: &Md5) -> Option<(&Path, Slot)> {
        let over = self.over.iter().filter_map(|(path, entry)| Some((path.as_path(), entry.as_ref()?)));
        let mut all = self.base.with_md5(md5).chain(over);
        all.find_map(|(path, entry)| match entry.kind {
            Kind::File { md5: known, pack: Some(slot) } if known == *md5 => Some((path, slot)),
            _ => None,
        })
    }

    /// Whether a regular file has these contents.
    pub fn has(&self, md5: &Md5) -> bool {
        let over = self.over.values().flatten();
        self.base.with_md5(md5).any(|(path, _)| !self.over.contains_key(path))
            || over.into_iter().any(|entry| matches!(&entry.kind, Kind::File { md5: known, .. } if known == md5))
    }
}

/// A path of the walk relative to its root, without looking at each part of it.
pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
    let (root, path) = (root.as_os_str().as_bytes(), path.as_os_str().as_bytes());
    let rest = path.strip_prefix(root).unwrap_or(path);
    PathBuf::from(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}

pub(super) fn entry(
    item: &Found,
    known: Option<&Entry>,
    pack: Option<&Pack>,
    gauge: &Gauge,
) -> Result<Option<Entry>, SnapshotError> {
    match gauge.look().and_then(|()| look(item, known, pack, gauge)) {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(match gauge.halted(&source) {
            Some(halted) => halted,
            None => SnapshotError::Read { path: item.path.clone(), source },
        }),
    }
}

fn look(item: &Found, known: Option<&Entry>, pack: Option<&Pack>, gauge: &Gauge) -> io::Result<Entry> {
    if item.kind == FileType::RegularFile && known.is_none() {
        let mut file = item.open()?;
        let meta = file.metadata()?;
        let (md5, pack) = hash(&mut file, meta.len(), pack, gauge)?;
        return Ok(Entry::new(Kind::File { md5, pack }, &meta));
    }
    let stat = item.stat()?;
    let stamp = Stamp::of_stat(&stat);
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link(item.read_link()?),
        FileType::RegularFile => match known {
            Some(Entry { kind: Kind::File { md5, pack }, stamp: before, .. }) if *before == stamp => {
                Kind::File { md5: *md5, pack: *pack }
            }
            _ => {
                let (md5, pack) = hash(&mut item.open()?, stamp.size, pack, gauge)?;
                Kind::File { md5, pack }
            }
        },
        _ => Kind::Other,
    };
    Ok(Entry::of_stat(kind, &stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_files_links_modes_and_empty_directories() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("empty")).unwrap();
        fs::write(root.join("a"), "hello\n").unwrap();
        std::os::unix::fs::symlink(root.join("a"), root.join("l")).unwrap();
        let one = Snapshot::take(root, None, None, Most::default()).unwrap();
        assert_eq!(one.iter().count(), 3);
        assert_eq!(hex(&one.md5(Path::new("a")).unwrap()), "b1946ac92492d2347c6235b4d2611184");
        let same = one.tree_md5(root);
        fs::remove_dir(root.join("empty")).unwrap();
        let two = Snapshot::take(root, Some(&one), None, Most::default()).unwrap();
        assert_ne!(two.tree_md5(root), same);
    }

    #[test]
    fn the_tree_md5_does_not_depend_on_the_place() {
        let sum = |dir: &Path| {
            fs::write(dir.join("a"), "x").unwrap();
            std::os::unix::fs::symlink(dir.join("a"), dir.join("l")).unwrap();
            Snapshot::take(dir, None, None, Most::default()).unwrap().tree_md5(dir)
        };
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(sum(a.path()), sum(b.path()));
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        assert!(matches!(
            Snapshot::take(dir.path(), None, None, Most { entries: 2, ..Most::default() }),
            Err(SnapshotError::TooMany { limit: 2 })
        ));
    }
}
