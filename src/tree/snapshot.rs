//! A snapshot: every file, link and directory below a folder, with the md5 of every regular file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::WalkDir;

use super::pack::{PACK_FILE_LIMIT, Pack, Slot};

pub type Md5 = [u8; 16];

/// Lower-case hexadecimal digits, as md5sum prints them.
pub fn hex(md5: &Md5) -> String {
    md5.iter().map(|b| format!("{b:02x}")).collect()
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

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("can't read the tree: {0}")]
    Walk(#[from] walkdir::Error),
    #[error("can't read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("the tree has more than {limit} files and folders")]
    TooMany { limit: usize },
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

/// What stat said; equal values mean that the contents are the same (nothing sets ctime back).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    ino: u64,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub kind: Kind,
    /// Permission bits, `st_mode & 0o7777`.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    stamp: Stamp,
}

/// All entries by their path relative to the root, which itself is left out.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub entries: BTreeMap<PathBuf, Entry>,
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
        limit: usize,
    ) -> Result<Snapshot, SnapshotError> {
        let mut found = Vec::new();
        for item in WalkDir::new(root).min_depth(1).follow_links(false) {
            let item = match item {
                Ok(item) => item,
                // a background process may still be at work: what vanished is not there
                Err(error) if gone(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            let meta = match item.metadata() {
                Ok(meta) => meta,
                Err(error) if gone(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            if found.len() >= limit {
                return Err(SnapshotError::TooMany { limit });
            }
            found.push((item.into_path(), meta));
        }
        let entries = found
            .into_par_iter()
            .filter_map(|(path, meta)| {
                let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
                let before = known.and_then(|k| k.entries.get(&relative));
                match entry(&path, &meta, before, pack) {
                    Ok(Some(entry)) => Some(Ok((relative, entry))),
                    Ok(None) => None,
                    Err(error) => Some(Err(error)),
                }
            })
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        Ok(Snapshot { entries })
    }

    /// Number of regular files.
    pub fn files(&self) -> u64 {
        self.entries.values().filter(|e| matches!(e.kind, Kind::File { .. })).count() as u64
    }

    /// Bytes in regular files.
    pub fn bytes(&self) -> u64 {
        self.entries.values().filter(|e| matches!(e.kind, Kind::File { .. })).map(|e| e.size).sum()
    }

    /// The md5 of the regular file at `path`.
    pub fn md5(&self, path: &Path) -> Option<Md5> {
        match self.entries.get(path)?.kind {
            Kind::File { md5, .. } => Some(md5),
            _ => None,
        }
    }

    /// One md5 for the whole tree: of a listing with type, permission bits, path and md5 or link target of each
    /// entry in order of path. `root` in a link's target is written `${WORKDIR}`, so that the value does not
    /// depend on where the tree lies.
    pub fn tree_md5(&self, root: &Path) -> String {
        let mut sum = md5::Context::new();
        let root = root.as_os_str().as_bytes();
        for (path, entry) in &self.entries {
            match &entry.kind {
                Kind::File { md5, .. } => sum.consume(format!("f {:04o} {} ", entry.mode, hex(md5))),
                Kind::Directory => sum.consume(format!("d {:04o} ", entry.mode)),
                Kind::Other => sum.consume("o "),
                Kind::Link(target) => {
                    sum.consume("l ");
                    match target.as_os_str().as_bytes().strip_prefix(root) {
                        Some(rest) => {
                            sum.consume(b"${WORKDIR}");
                            sum.consume(rest);
                        }
                        None => sum.consume(target.as_os_str().as_bytes()),
                    }
                    sum.consume(b"\0");
                }
            }
            sum.consume(path.as_os_str().as_bytes());
            sum.consume(b"\0");
        }
        hex(&sum.finalize().0)
    }
}

fn gone(error: &walkdir::Error) -> bool {
    error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound)
}

fn entry(
    path: &Path,
    meta: &fs::Metadata,
    known: Option<&Entry>,
    pack: Option<&Pack>,
) -> Result<Option<Entry>, SnapshotError> {
    let stamp = Stamp {
        ino: meta.ino(),
        size: meta.size(),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        ctime: (meta.ctime(), meta.ctime_nsec()),
    };
    let kind = meta.file_type();
    let kind = if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        match fs::read_link(path) {
            Ok(target) => Kind::Link(target),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SnapshotError::Read { path: path.into(), source }),
        }
    } else if kind.is_fifo() || !kind.is_file() {
        Kind::Other
    } else {
        match known {
            Some(Entry { kind: Kind::File { md5, pack }, stamp: old, .. }) if *old == stamp => {
                Kind::File { md5: *md5, pack: *pack }
            }
            _ => match hash(path, meta.size(), pack) {
                Ok((md5, pack)) => Kind::File { md5, pack },
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(SnapshotError::Read { path: path.into(), source }),
            },
        }
    };
    Ok(Some(Entry { kind, mode: meta.mode() & 0o7777, size: meta.size(), stamp }))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    File::options().read(true).custom_flags(flags as i32).open(path)
}

/// The md5 of a regular file; a link is an error.
pub fn md5_of_file(path: &Path) -> io::Result<Md5> {
    Ok(hash(path, fs::symlink_metadata(path)?.len(), None)?.0)
}

fn hash(path: &Path, size: u64, pack: Option<&Pack>) -> io::Result<(Md5, Option<Slot>)> {
    let mut file = open(path)?;
    if size <= PACK_FILE_LIMIT {
        let mut data = Vec::with_capacity(size as usize + 1);
        file.by_ref().take(PACK_FILE_LIMIT + 1).read_to_end(&mut data)?;
        if data.len() as u64 <= PACK_FILE_LIMIT {
            let slot = pack.map(|p| p.put(&data)).transpose()?;
            return Ok((md5::compute(&data).0, slot));
        }
        // it grew under our hands: fall through and stream it
        file = open(path)?;
    }
    let mut sum = md5::Context::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((sum.finalize().0, None)),
            Ok(n) => sum.consume(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
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
        let one = Snapshot::take(root, None, None, 100).unwrap();
        assert_eq!(one.entries.len(), 3);
        assert_eq!(hex(&one.md5(Path::new("a")).unwrap()), "b1946ac92492d2347c6235b4d2611184");
        let same = one.tree_md5(root);
        fs::remove_dir(root.join("empty")).unwrap();
        let two = Snapshot::take(root, Some(&one), None, 100).unwrap();
        assert_ne!(two.tree_md5(root), same);
    }

    #[test]
    fn the_tree_md5_does_not_depend_on_the_place() {
        let sum = |dir: &Path| {
            fs::write(dir.join("a"), "x").unwrap();
            std::os::unix::fs::symlink(dir.join("a"), dir.join("l")).unwrap();
            Snapshot::take(dir, None, None, 9).unwrap().tree_md5(dir)
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
        assert!(matches!(Snapshot::take(dir.path(), None, None, 2), Err(SnapshotError::TooMany { limit: 2 })));
    }
}
