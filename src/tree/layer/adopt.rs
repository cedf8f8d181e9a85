//! A tree that something else than our unpacker made, brought into a layer: copied, and hashed on the way.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::Scope;
use rustix::fs::{AtFlags, CWD, FileType, Mode, Stat};

use super::copy::times;
use super::{Layer, Made};
use crate::tree::gauge::Gauge;
use crate::tree::hash::Md5;
use crate::tree::snapshot::{Entry, Kind, Most, Snapshot, Stamp};
use crate::tree::untrusted;
use crate::tree::walk::{Found, Root};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 18;

/// Copies what lies below `from` to `to`, an empty folder. A process of the ebuild may still wait there, so no name is
/// looked up but in a folder that is held open, and no link is followed. What a copy would not be is an error: sockets
/// and devices, extended attributes, a file with a name elsewhere.
pub fn adopt(from: &Path, to: &Path, most: Most) -> io::Result<Made> {
    let copier = Copier::new(Root(untrusted::folder(CWD, from)?), most);
    rayon::scope(|scope| copier.folder(scope, PathBuf::new(), 0, to.to_owned()));
    let Copier { root, sums, several, folders, failed, .. } = copier;
    if let Some(error) = inner(failed) {
        return Err(error);
    }
    if inner(several).values().any(|(_, left)| *left > 0) {
        return Err(other(from, "a file has a name elsewhere"));
    }
    let mut folders = inner(folders);
    folders.push((to.to_owned(), rustix::fs::fstat(&root.0)?));
    // the deepest first, since what is done within a folder changes its time, and needs its mode
    folders.sort_by_key(|(path, _)| std::cmp::Reverse(path.components().count()));
    for (path, stat) in folders {
        be(&path, &stat)?;
    }
    Ok(Made { sums: inner(sums), ..Made::default() })
}

impl Layer {
    /// The snapshot of the tree at `from`, which this layer was just copied from.
    pub fn of_origin(&self, from: &Path) -> io::Result<Snapshot> {
        let one = |(path, entry): (&Path, &Entry)| {
            let meta = fs::symlink_metadata(from.join(path))?;
            let kind = meta.file_type();
            let same = match &entry.kind {
                Kind::Directory => kind.is_dir(),
                Kind::Link(_) => kind.is_symlink() && meta.len() == entry.size,
                Kind::File { .. } => kind.is_file() && meta.len() == entry.size,
                Kind::Other => kind.is_fifo(),
            };
            let now = Entry::new(entry.kind.clone(), &meta);
            match same && now.mode == entry.mode {
                true => Ok((path.to_owned(), now)),
                false => Err(other(path, "it is not what was copied")),
            }
        };
        Ok(Snapshot::of(self.snapshot.iter().map(one).collect::<io::Result<Vec<_>>>()?.into_iter().collect()))
    }
}

struct Copier {
    /// The tree that is copied.
    root: Root,
    most: Most,
    gauge: Gauge,
    entries: AtomicU64,
    sums: Mutex<HashMap<u64, Md5>>,
    /// Files of several names by their inode: where the first one is, and how many are to come.
    several: Mutex<HashMap<u64, (PathBuf, u64)>>,
    /// Folders that were made, and what they are to be.
    folders: Mutex<Vec<(PathBuf, Stat)>>,
    failed: Mutex<Option<io::Error>>,
}

impl Copier {
    fn new(root: Root, most: Most) -> Copier {
        Copier {
            root,
            most,
            gauge: Gauge::new(most),
            entries: AtomicU64::default(),
            sums: Mutex::default(),
            several: Mutex::default(),
            folders: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    fn folder<'a>(&'a self, scope: &Scope<'a>, path: PathBuf, depth: usize, to: PathBuf) {
        if let Err(error) = self.fill(scope, path, depth, &to) {
            *locked(&self.failed) = Some(error);
        }
    }

    fn fill<'a>(&'a self, scope: &Scope<'a>, path: PathBuf, depth: usize, to: &Path) -> io::Result<()> {
        let mut items = Vec::new();
        for item in self.root.list(path, depth).map_err(|(_, error)| error)? {
            let item = item.map_err(|(_, error)| error)?;
            let stat = item.stat()?;
            items.push((item, stat));
        }
        // some file systems list a folder in the order in which it was filled
        items.sort_by_key(|(_, stat)| stat.st_ino);
        for (item, stat) in items {
            if locked(&self.failed).is_some() {
                return Ok(());
            }
            if self.entries.fetch_add(1, Ordering::Relaxed) >= self.most.entries as u64 {
                return Err(other(&item.path, "there is too much"));
            }
            let to = to.join(&item.name);
            plain(&item)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    fs::DirBuilder::new().mode(0o700).create(&to)?;
                    locked(&self.folders).push((to.clone(), stat));
                    scope.spawn(move |scope| self.folder(scope, item.path, item.depth, to));
                }
                FileType::Symlink => {
                    symlink(item.read_link()?, &to)?;
                    times(&to, Stamp::of_stat(&stat).mtime);
                }
                FileType::Fifo => {
                    rustix::fs::mknodat(CWD, &to, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
                    be(&to, &stat)?;
                }
                FileType::RegularFile => self.name(&item, &stat, &to)?,
                _ => return Err(other(&item.path, "no copy would be the same")),
            }
        }
        Ok(())
    }

    /// One name of a file, which may have several.
    fn name(&self, from: &Found, stat: &Stat, to: &Path) -> io::Result<()> {
        if names(stat) < 2 {
            return self.file(from, stat, to);
        }
        // held until the first name is there
        let mut several = locked(&self.several);
        if let Some((first, left)) = several.get_mut(&stat.st_ino) {
            *left = left.checked_sub(1).ok_or_else(|| other(&from.path, "it is being written"))?;
            return fs::hard_link(first, to);
        }
        several.insert(stat.st_ino, (to.to_owned(), names(stat) - 1));
        self.file(from, stat, to)
    }

    fn file(&self, from: &Found, stat: &Stat, to: &Path) -> io::Result<()> {
        let length = stat.st_size as u64;
        self.gauge.take(length)?;
        let mut source = from.open()?;
        if source.metadata()?.ino() != stat.st_ino {
            return Err(other(&from.path, "it is being written"));
        }
        let file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
        let shared = length > 0 && rustix::fs::ioctl_ficlone(&file, &source).is_ok();
        let mut sum = md5::Context::new();
        let mut buffer = vec![0; PIECE.min(length as usize + 1)];
        let mut size = 0;
        loop {
            self.gauge.look()?;
            let n = source.read(&mut buffer)?;
            if n == 0 {
                break;
            }
            sum.consume(&buffer[..n]);
            // a hole stays one
            if !shared && buffer[..n].iter().any(|byte| *byte != 0) {
                file.write_all_at(&buffer[..n], size)?;
            }
            size += n as u64;
        }
        if !shared {
            file.set_len(size)?;
        }
        if size != length {
            return Err(other(&from.path, "it is being written"));
        }
        be(to, stat)?;
        locked(&self.sums).insert(file.metadata()?.ino(), sum.finalize().0);
        Ok(())
    }
}

/// Whether a copy of the contents is the whole of it.
fn plain(item: &Found) -> io::Result<()> {
    let mut names = [0u8; 4096];
    let length = match rustix::fs::llistxattr(item.by_descriptor(), &mut names) {
        Ok(length) => length,
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        Err(error) => return Err(error.into()),
    };
    let own = |name: &[u8]| name.starts_with(b"user.") || name.starts_with(b"system.");
    match names[..length].split(|b| *b == 0).any(own) {
        true => Err(other(&item.path, "it has extended attributes")),
        false => Ok(()),
    }
}

// another type on other machines
#[allow(clippy::unnecessary_cast)]
fn names(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}

/// Gives `path` the mode and the time of what it was copied from.
fn be(path: &Path, stat: &Stat) -> io::Result<()> {
    rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(stat.st_mode & 0o7777), AtFlags::empty())?;
    times(path, Stamp::of_stat(stat).mtime);
    Ok(())
}

fn other(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

fn inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::RenameFlags;

    use super::*;
    use crate::tree::changes;
    use crate::tree::layer::LayerStore;

    fn odd_tree(root: &Path) {
        for name in ["z/y/x", "a"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for number in 0..50u8 {
            fs::write(root.join(format!("z/y/{number}")), vec![number; usize::from(number) * 10_000]).unwrap();
        }
        fs::set_permissions(root.join("z/y/7"), PermissionsExt::from_mode(0o4711)).unwrap();
        fs::hard_link(root.join("z/y/9"), root.join("a/nine")).unwrap();
        symlink("../nowhere", root.join("a/link")).unwrap();
        rustix::fs::mknodat(CWD, root.join("a/fifo"), FileType::Fifo, Mode::from_raw_mode(0o640), 0).unwrap();
        fs::set_permissions(root.join("z/y"), PermissionsExt::from_mode(0o2750)).unwrap();
        fs::set_permissions(root, PermissionsExt::from_mode(0o711)).unwrap();
        for name in ["z/y/8", "z/y", "a", ""] {
            filetime::set_file_mtime(root.join(name), filetime::FileTime::from_unix_time(1234, 567)).unwrap();
        }
    }

    #[test]
    fn the_layer_is_what_the_tree_is() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("work");
        fs::create_dir(&tree).unwrap();
        odd_tree(&tree);
        let store = LayerStore::open(&dir.path().join("layers")).unwrap();
        let make = |to: &Path| {
            Ok::<_, io::Error>(Made { left: Some(b"state".to_vec()), ..adopt(&tree, to, Most::default())? })
        };
        let layer = store.obtain("k", Most::default(), &|| true, make).unwrap();
        assert_eq!(layer.left(), Some(&b"state"[..]));
        let of_origin = layer.of_origin(&tree).unwrap();
        let hashed = Snapshot::take(&tree, None, None, Most::default()).unwrap();
        for other in [&of_origin, &hashed] {
            assert!(changes(layer.snapshot(), other).is_empty());
            assert_eq!(other.tree_md5(&tree), layer.snapshot().tree_md5(&tree));
        }
        let seen = Snapshot::take(&tree, Some(&of_origin), None, Most::default()).unwrap();
        for (((path, layer), (_, origin)), (_, seen)) in layer.snapshot().iter().zip(of_origin.iter()).zip(seen.iter())
        {
            assert_eq!(layer.stamp.mtime, seen.stamp.mtime, "{}", path.display());
            assert_eq!(origin.stamp, seen.stamp, "{}", path.display());
        }
        let root = fs::metadata(layer.tree()).unwrap();
        assert_eq!((root.mode() & 0o7777, root.mtime()), (0o711, 1234));
        assert!(layer.has_hard_links());
        fs::rename(tree.join("a"), tree.join("b")).unwrap();
        symlink("b", tree.join("a")).unwrap();
        assert!(layer.of_origin(&tree).is_err());
        fs::remove_file(tree.join("a")).unwrap();
        fs::rename(tree.join("b"), tree.join("a")).unwrap();
        assert!(layer.of_origin(&tree).is_ok());
        fs::write(tree.join("z/y/3"), "other").unwrap();
        assert!(layer.of_origin(&tree).is_err());
        drop(layer);
        store.let_go();
        fs::write(store.dir().join("k/left"), "stat").unwrap();
        assert!(store.find("k").is_none() && store.find("none").is_none());
        assert!(!store.dir().join("none.lock").exists());
    }

    #[test]
    fn what_is_swapped_for_a_link_meanwhile_leads_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["from/d", "elsewhere"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("elsewhere/secret"), "s").unwrap();
        symlink(at("elsewhere"), at("link")).unwrap();
        let (stop, rounds) = (std::sync::atomic::AtomicBool::new(false), 300);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let swap = || rustix::fs::renameat_with(CWD, at("link"), CWD, at("from/d"), RenameFlags::EXCHANGE);
                while !stop.load(Ordering::Relaxed) {
                    swap().unwrap();
                }
            });
            for round in 0..rounds {
                let to = at(&format!("to{round}"));
                fs::create_dir(&to).unwrap();
                let _ = adopt(&at("from"), &to, Most::default());
                let is_link = fs::symlink_metadata(to.join("d")).is_ok_and(|meta| meta.is_symlink());
                let leads = !is_link && to.join("d/secret").exists();
                if leads || round + 1 == rounds {
                    stop.store(true, Ordering::Relaxed);
                }
                assert!(!leads);
            }
        });
    }

    #[test]
    fn what_no_copy_would_be_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut number = 0;
        let mut tried = |why: &str| {
            number += 1;
            let to = at(&format!("to{number}"));
            fs::create_dir(&to).unwrap();
            let error = adopt(&at("from"), &to, Most { bytes: 1000, ..Most::default() }).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        fs::create_dir(at("from")).unwrap();
        fs::write(at("from/f"), "x").unwrap();
        fs::hard_link(at("from/f"), at("elsewhere")).unwrap();
        tried("a name elsewhere");
        fs::remove_file(at("elsewhere")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(at("from/s")).unwrap();
        tried("no copy");
        drop(socket);
        fs::remove_file(at("from/s")).unwrap();
        fs::File::create(at("from/large")).unwrap().set_len(1001).unwrap();
        tried("too many bytes");
        fs::remove_file(at("from/large")).unwrap();
        if rustix::fs::setxattr(at("from/f"), "user.x", b"y", rustix::fs::XattrFlags::empty()).is_ok() {
            tried("extended attributes");
        }
    }
}
