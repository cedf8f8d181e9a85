//! Work folders that nobody removed, since their run was killed: the next run does.
//!
//! A run holds a lock on a file in its folder as long as it lives; the kernel gives the lock up with the process, however
//! that ends.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{FlockOperation, OFlags, flock};
use tempfile::TempDir;

use super::interrupt::interrupted;
use crate::tree;

/// How the folders' names begin.
pub const PREFIX: &str = "ebaudit-run-";

const LOCK: &str = "lock";

/// The lock's name until it is held.
const NEW: &str = "lock.new";

/// Makes a folder in `parent` and marks it as used as long as the value lives.
pub fn make(parent: &Path) -> io::Result<(TempDir, File)> {
    const TRIES: u32 = 20;
    let mut tries = 0;
    loop {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        tries += 1;
        match hold(dir.path()) {
            Ok(lock) => {
                OWN.lock().unwrap_or_else(|e| e.into_inner()).push(dir.path().to_owned());
                return Ok((dir, lock));
            }
            // another run swept it away before it was marked
            Err(_) if tries < TRIES && !dir.path().join(LOCK).exists() => {}
            Err(error) => return Err(error),
        }
    }
}

/// The folders that this process made.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes them all, for a process that ends at once.
pub fn remove_own() {
    OWN.lock().unwrap_or_else(|e| e.into_inner()).drain(..).for_each(|dir| remove(&dir));
}

/// Removes a folder that [`make`] made, or one like it. The lock goes last: who is killed on the way leaves a folder that the next run
/// knows for one that was left, and until the end no other run takes it for one.
pub fn remove(dir: &Path) {
    for item in fs::read_dir(dir).into_iter().flatten().flatten().filter(|item| item.file_name() != LOCK) {
        let _ = fs::remove_file(item.path()).or_else(|_| tree::remove(&item.path()));
    }
    let _ = tree::remove(dir);
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
    let own = rustix::process::geteuid().as_raw();
    for item in fs::read_dir(parent).into_iter().flatten().flatten() {
        // what a killed run left may be large
        if interrupted() {
            return;
        }
        let named = item.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let ours = || fs::symlink_metadata(item.path()).is_ok_and(|m| m.is_dir() && m.uid() == own);
        if !named || !ours() {
            continue;
        }
        // an empty one may be another run's that is beginning: that one takes another folder then
        if fs::remove_dir(item.path()).is_err() && is_left(&item.path()) {
            remove(&item.path());
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
}
