//! A layer copied to where it can be written: file by file, sharing the blocks where the file system can do that.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_OMIT};

use super::Layer;
use crate::tree::snapshot::{Entry, Kind, Snapshot, Stamp};

/// Threads that make files; more of them stand in each other's way.
const MAKERS: usize = 4;

impl Layer {
    /// Makes the tree below `to`, an empty folder, and gives its snapshot, which is the layer's but for what stat says.
    ///
    /// What a folder holds is made in the order in which it was unpacked, since some file systems list it so.
    pub fn copy(&self, to: &Path) -> io::Result<Snapshot> {
        let mut work = Work { folders: Vec::new(), left: 0, made: Vec::new(), failed: None };
        let mut folders: HashMap<&Path, Folder> = HashMap::new();
        for (path, entry) in self.snapshot.iter() {
            folders.entry(path.parent().unwrap_or(Path::new(""))).or_default().push((path, entry));
        }
        for folder in folders.values_mut() {
            folder.sort_by_key(|(_, entry)| entry.stamp.ino);
        }
        let root = folders.remove(Path::new("")).unwrap_or_default();
        work.left = folders.len() + 1;
        work.folders.push(root);
        let maker = Maker {
            from: self.tree(),
            to: to.to_owned(),
            several: self.head.hard_links.then(|| Mutex::new(HashMap::new())),
            shares: AtomicBool::new(true),
            exact_modes: umask_is_harmless(),
        };
        let (work, rest, more) = (Mutex::new(work), Mutex::new(folders), Condvar::new());
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(MAKERS);
        let run = || maker.run(&work, &rest, &more);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // where no thread is to be had, this one does it all
                let _ = std::thread::Builder::new().spawn_scoped(scope, run);
            }
            run();
        });
        let work = work.into_inner().unwrap_or_else(|e| e.into_inner());
        if let Some(error) = work.failed {
            return Err(error);
        }
        let mut entries: HashMap<PathBuf, Entry> = work.made.into_iter().collect();
        if self.has_hard_links() {
            // another name changes the status of the file that has the first one
            for (path, entry) in &mut entries {
                entry.stamp = Stamp::of(&fs::symlink_metadata(to.join(path))?);
            }
        }
        // the last ones first, since what is made within a folder changes its time
        for (path, entry) in self.snapshot.iter().filter(|(_, entry)| entry.kind == Kind::Directory) {
            let full = to.join(path);
            times(&full, entry.stamp.mtime);
            entries.insert(path.to_owned(), Entry::new(Kind::Directory, &fs::symlink_metadata(full)?));
        }
        self.root_to(to)?;
        Ok(Snapshot::of(entries.into_iter().collect()))
    }

    /// Gives the folder `to` what no snapshot has: the mode and the time of the root.
    pub fn root_to(&self, to: &Path) -> io::Result<()> {
        rustix::fs::chmodat(CWD, to, Mode::from_raw_mode(self.head.mode), AtFlags::empty())?;
        times(to, self.head.mtime);
        Ok(())
    }
}

type Folder<'a> = Vec<(&'a Path, &'a Entry)>;

/// Folders whose contents are to be made; they are there themselves.
struct Work<'a> {
    folders: Vec<Folder<'a>>,
    /// Folders that are not done, those that are not there yet included.
    left: usize,
    made: Vec<(PathBuf, Entry)>,
    failed: Option<io::Error>,
}

struct Maker {
    from: PathBuf,
    to: PathBuf,
    /// Where files of several names were made, by the inode number in the layer.
    several: Option<Mutex<HashMap<u64, PathBuf>>>,
    /// Whether blocks can be shared, as far as is known.
    shares: AtomicBool,
    exact_modes: bool,
}

impl Maker {
    fn run<'a>(&self, work: &Mutex<Work<'a>>, rest: &Mutex<HashMap<&'a Path, Folder<'a>>>, more: &Condvar) {
        let locked = || work.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            let mut now = locked();
            let folder = loop {
                if now.failed.is_some() || now.left == 0 {
                    return;
                }
                match now.folders.pop() {
                    Some(folder) => break folder,
                    None => now = more.wait(now).unwrap_or_else(|e| e.into_inner()),
                }
            };
            drop(now);
            let mut made = Vec::with_capacity(folder.len());
            let mut found = Vec::new();
            let mut failed = None;
            for (path, entry) in folder {
                match self.make(path, entry) {
                    Ok(Some(entry)) => made.push((path.to_owned(), entry)),
                    Ok(None) => {
                        found.extend(rest.lock().unwrap_or_else(|e| e.into_inner()).remove(path));
                    }
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            let mut now = locked();
            now.made.extend(made);
            now.folders.extend(found);
            now.left -= 1;
            now.failed = now.failed.take().or(failed);
            more.notify_all();
        }
    }

    /// Makes one entry; none for a folder, whose time comes last.
    fn make(&self, path: &Path, entry: &Entry) -> io::Result<Option<Entry>> {
        let to = self.to.join(path);
        match &entry.kind {
            Kind::Directory => {
                fs::DirBuilder::new().mode(entry.mode).create(&to)?;
                self.mode(&to, entry.mode)?;
                return Ok(None);
            }
            Kind::Link(target) => symlink(target, &to)?,
            Kind::Other => {
                rustix::fs::mknodat(CWD, &to, FileType::Fifo, Mode::from_raw_mode(entry.mode), 0)?;
                self.mode(&to, entry.mode)?;
            }
            Kind::File { .. } => return self.file(path, &to, entry).map(Some),
        }
        times(&to, entry.stamp.mtime);
        Ok(Some(Entry { stamp: Stamp::of(&fs::symlink_metadata(&to)?), ..entry.clone() }))
    }

    fn file(&self, path: &Path, to: &Path, entry: &Entry) -> io::Result<Entry> {
        let of = |meta: &fs::Metadata| Entry { stamp: Stamp::of(meta), ..entry.clone() };
        // held until the first name is there
        let mut several = self.several.as_ref().map(|several| several.lock().unwrap_or_else(|e| e.into_inner()));
        if let Some(first) = several.as_mut().and_then(|several| several.get(&entry.stamp.ino)) {
            fs::hard_link(first, to)?;
            return Ok(of(&fs::symlink_metadata(to)?));
        }
        let mut source = File::open(self.from.join(path))?;
        let mut file = File::options().write(true).create_new(true).mode(entry.mode).open(to)?;
        self.mode(to, entry.mode)?;
        let shared = self.shares.load(Ordering::Relaxed) && entry.size > 0 && {
            let shared = rustix::fs::ioctl_ficlone(&file, &source).is_ok();
            self.shares.fetch_and(shared, Ordering::Relaxed);
            shared
        };
        if !shared && io::copy(&mut source, &mut file)? != entry.size {
            return Err(io::Error::other(format!("{}: the layer has another size", path.display())));
        }
        let _ = rustix::fs::futimens(&file, &timestamps(entry.stamp.mtime));
        let meta = file.metadata()?;
        if let Some(several) = &mut several {
            several.insert(entry.stamp.ino, to.to_owned());
        }
        Ok(of(&meta))
    }

    fn mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        if !self.exact_modes {
            rustix::fs::chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())?;
        }
        Ok(())
    }
}

fn timestamps((tv_sec, tv_nsec): (i64, i64)) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec, tv_nsec },
    }
}

/// A time that the file system can't hold is no reason to fail.
pub(super) fn times(path: &Path, mtime: (i64, i64)) {
    let _ = rustix::fs::utimensat(CWD, path, &timestamps(mtime), AtFlags::SYMLINK_NOFOLLOW);
}

/// Whether the umask leaves the modes that layers have.
fn umask_is_harmless() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|l| l.strip_prefix("Umask:")).unwrap_or_default();
    u32::from_str_radix(umask.trim(), 8).is_ok_and(|umask| umask & 0o755 == 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::tree::layer::{LayerStore, Made};
    use crate::tree::{Most, changes};

    #[test]
    fn the_copy_is_what_the_layer_is() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(&dir.path().join("layers")).unwrap();
        let make = |tree: &Path| -> io::Result<Made> {
            for name in ["z/y/x", "a"] {
                fs::create_dir_all(tree.join(name))?;
            }
            for number in 0..100 {
                fs::write(tree.join(format!("z/y/{number}")), vec![number; usize::from(number) * 1000])?;
            }
            fs::set_permissions(tree.join("z/y/7"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
            fs::hard_link(tree.join("z/y/9"), tree.join("a/nine"))?;
            symlink("../nowhere", tree.join("a/link"))?;
            rustix::fs::mknodat(CWD, tree.join("a/fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0)?;
            for name in ["z/y/8", "z/y", "a", ""] {
                filetime::set_file_mtime(tree.join(name), filetime::FileTime::from_unix_time(1234, 567))?;
            }
            Ok(Made::default())
        };
        let layer = store.obtain("k", Most::default(), &|| true, make).unwrap();
        let to = dir.path().join("work");
        fs::create_dir(&to).unwrap();
        let told = layer.copy(&to).unwrap();
        let seen = Snapshot::take(&to, Some(&told), None, Most::default()).unwrap();
        let hashed = Snapshot::take(&to, None, None, Most::default()).unwrap();
        assert!(changes(layer.snapshot(), &hashed).is_empty());
        for other in [&told, &seen, &hashed] {
            assert_eq!(other.tree_md5(&to), layer.snapshot().tree_md5(&to));
        }
        for ((path, of_layer), (_, of_copy)) in layer.snapshot().iter().zip(told.iter()) {
            assert_eq!(of_layer.stamp.mtime, of_copy.stamp.mtime, "{}", path.display());
            assert_eq!(of_copy.stamp, Stamp::of(&fs::symlink_metadata(to.join(path)).unwrap()), "{}", path.display());
        }
        assert_eq!(fs::metadata(&to).unwrap().mtime(), 1234);
        let ino = |name: &str| fs::metadata(to.join(name)).unwrap().ino();
        assert_eq!(ino("a/nine"), ino("z/y/9"));
    }
}
