//! The folders that runs work in, and those that nobody removed, since their run was killed: the next run does.
//!
//! A run holds a lock as long as it lives, on a file in its folder or, where the folder has a number, beside it; the kernel
//! gives the lock up with the process, however that ends.
//!
//! What a phase makes may name the place where it was made, so runs are to have the same place: the folder of the first
//! number that no other run holds. Whoever makes or removes a folder with a number holds its lock.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::interrupt::interrupted;
use crate::tree;

/// How the folders' names begin.
pub const PREFIX: &str = "ebaudit-run-";

const LOCK: &str = "lock";

/// The lock's name until it is held.
const NEW: &str = "lock.new";

/// Runs at once that have a number.
const NUMBERS: u32 = 64;

/// A folder of this run. Removed with the value.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: PathBuf, lock: File) -> Folder {
        OWN.lock().unwrap_or_else(|e| e.into_inner()).push(path.clone());
        Folder { path, _lock: lock }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let mut own = OWN.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(at) = own.iter().position(|path| *path == self.path) {
            own.swap_remove(at);
            drop(own);
            remove(&self.path);
        }
    }
}

/// Makes a folder in `parent` whose name another run may have again.
pub fn make_numbered(parent: &Path) -> io::Result<Folder> {
    for number in 0..NUMBERS {
        let path = parent.join(numbered(number));
        let Ok(Some(lock)) = hold_beside(&path) else { continue };
        // whoever had the number left it, or it is somebody else's
        if fs::symlink_metadata(&path).is_ok_and(|meta| is_ours(&meta)) {
            let _ = tree::remove(&path);
        }
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Folder::new(path, lock)),
            Err(error) => {
                let _ = fs::remove_file(beside(&path));
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
            }
        }
    }
    make(parent)
}

/// Makes a folder in `parent` with a name of its own.
pub fn make(parent: &Path) -> io::Result<Folder> {
    const TRIES: u32 = 20;
    let mut tries = 0;
    loop {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        tries += 1;
        match hold(dir.path()) {
            Ok(lock) => return Ok(Folder::new(dir.keep(), lock)),
            // another run swept it away before it was marked
            Err(_) if tries < TRIES && !dir.path().join(LOCK).exists() => {}
            Err(error) => return Err(error),
        }
    }
}

/// The folders that this process made.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes them all, for a process that ends right after: another run may have their numbers then.
pub fn remove_own() {
    OWN.lock().unwrap_or_else(|e| e.into_inner()).drain(..).for_each(|dir| remove(&dir));
}

/// Removes a folder that [`make`] made, or one like it, by whoever holds its lock. That goes last: who is killed on the way leaves a
/// folder that the next run knows for one that was left, and until the end no other run takes it for one.
pub fn remove(dir: &Path) {
    for item in fs::read_dir(dir).into_iter().flatten().flatten().filter(|item| item.file_name() != LOCK) {
        let _ = fs::remove_file(item.path()).or_else(|_| tree::remove(&item.path()));
    }
    let _ = tree::remove(dir);
    if number_of(dir).is_some() && !dir.exists() {
        let _ = fs::remove_file(beside(dir));
    }
}

fn numbered(number: u32) -> String {
    format!("{PREFIX}{}.{number}", rustix::process::geteuid().as_raw())
}

/// The number of a folder of ours.
fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let number = name.rsplit_once('.')?.1.parse().ok()?;
    (name == numbered(number)).then_some(number)
}

/// The lock of a folder with a number.
fn beside(path: &Path) -> PathBuf {
    path.with_added_extension("lock")
}

/// Takes the lock of a folder with a number; none where another run has it, or it is not ours to take.
fn hold_beside(path: &Path) -> io::Result<Option<File>> {
    let lock = beside(path);
    loop {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(&lock)?;
        let held = file.metadata()?;
        if held.uid() != rustix::process::geteuid().as_raw()
            || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return Ok(None);
        }
        // whoever had it may have removed it: then it guards nothing
        if fs::symlink_metadata(&lock).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
            return Ok(Some(file));
        }
    }
}

fn is_ours(meta: &fs::Metadata) -> bool {
    meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw()
}

/// Marks `dir` as used as long as the value lives.
fn hold(dir: &Path) -> io::Result<File> {
    let fresh = dir.join(NEW);
    let file = File::create_new(&fresh)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // under its name it is never seen without the lock
    fs::rename(&fresh, dir.join(LOCK))?;
    Ok(file)
}

/// Removes the folders in `parent` that are ours and that nobody holds.
pub fn sweep(parent: &Path) {
    for item in fs::read_dir(parent).into_iter().flatten().flatten() {
        // what a killed run left may be large
        if interrupted() {
            return;
        }
        let path = item.path();
        let folder = if path.extension().is_some_and(|e| e == "lock") { path.with_extension("") } else { path.clone() };
        if number_of(&folder).is_some() {
            if let Ok(Some(_held)) = hold_beside(&folder) {
                match fs::symlink_metadata(&folder) {
                    Ok(meta) if !is_ours(&meta) => drop(fs::remove_file(beside(&folder))),
                    _ => remove(&folder),
                }
            }
            continue;
        }
        let named = item.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        if !named || !fs::symlink_metadata(&path).is_ok_and(|meta| is_ours(&meta)) {
            continue;
        }
        // an empty one may be another run's that is beginning: that one takes another folder then
        if fs::remove_dir(&path).is_err() && is_left(&path) {
            remove(&path);
        }
    }
}

fn is_left(dir: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let open = |name: &str| File::options().read(true).custom_flags(flags).open(dir.join(name));
    match open(LOCK).or_else(|_| open(NEW)) {
        Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok(),
        // the lock comes first: without it a folder of ours was being removed, and anything else is none of ours
        Err(error) => error.kind() == io::ErrorKind::NotFound && has_only_ours(dir),
    }
}

fn has_only_ours(dir: &Path) -> bool {
    let ours =
        |name: &[u8]| matches!(name, b"bin" | b"jobs" | b"prelude" | b"real" | b"root") || name.starts_with(b"sed-");
    fs::read_dir(dir).is_ok_and(|items| items.flatten().all(|item| ours(item.file_name().as_encoded_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let dir = |name: &str| parent.path().join(name);
        for name in [
            "ebaudit-run-a",
            "ebaudit-run-b",
            "ebaudit-run-c",
            "ebaudit-run-d/jobs",
            "ebaudit-run-e/src",
            "ebaudit-f/jobs",
            "other",
        ] {
            fs::create_dir_all(dir(name)).unwrap();
        }
        let held = hold(&dir("ebaudit-run-a")).unwrap();
        drop(hold(&dir("ebaudit-run-b")).unwrap());
        drop(hold(&dir("other")).unwrap());
        sweep(parent.path());
        assert!(dir("ebaudit-run-a").exists() && !dir("ebaudit-run-b").exists());
        // without a lock one was being made or removed when it was left
        assert!(!dir("ebaudit-run-c").exists() && !dir("ebaudit-run-d").exists());
        // what somebody else made
        assert!(dir("ebaudit-run-e/src").exists() && dir("ebaudit-f/jobs").exists() && dir("other").exists());
        drop(held);
        sweep(parent.path());
        assert!(!dir("ebaudit-run-a").exists());
    }

    #[test]
    fn the_first_number_that_is_free_is_taken_again() {
        let parent = tempfile::tempdir().unwrap();
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(parent.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let one = make_numbered(parent.path()).unwrap();
        let two = make_numbered(parent.path()).unwrap();
        assert_eq!((number_of(one.path()), number_of(two.path())), (Some(0), Some(1)));
        sweep(parent.path());
        assert_eq!(names().len(), 4);
        drop(one);
        assert_eq!(names().len(), 2);
        let again = make_numbered(parent.path()).unwrap();
        assert_eq!(number_of(again.path()), Some(0));
        drop((again, two));
        // what a killed run left, and what is somebody else's
        fs::create_dir_all(parent.path().join(numbered(0)).join("jobs")).unwrap();
        fs::write(beside(&parent.path().join(numbered(0))), "").unwrap();
        fs::write(beside(&parent.path().join(numbered(1))), "").unwrap();
        fs::write(parent.path().join(numbered(2)), "").unwrap();
        let third = make_numbered(parent.path()).unwrap();
        assert!(number_of(third.path()) == Some(0) && !third.path().join("jobs").exists());
        sweep(parent.path());
        drop(third);
        assert_eq!(names(), [numbered(2).as_str()]);
        let _other = fs::File::create(parent.path().join(numbered(0))).unwrap();
        assert_eq!(number_of(make_numbered(parent.path()).unwrap().path()), Some(1));
    }
}
