//! The lock beside a layer.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Alone,
    WithOthers,
}

/// Takes the lock at `path`, made where it is missing; none where somebody else has it.
pub fn take(path: &Path, share: Share) -> io::Result<Option<File>> {
    let operation = match share {
        Share::Alone => FlockOperation::NonBlockingLockExclusive,
        Share::WithOthers => FlockOperation::NonBlockingLockShared,
    };
    loop {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        match flock(&file, operation) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        // whoever removed the layer took the lock with it: then this one guards nothing
        let (held, named) = (file.metadata()?, fs::symlink_metadata(path));
        if named.is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino())) {
            return Ok(Some(file));
        }
    }
}

/// Notes that the layer is used now.
pub fn touch(lock: &File) {
    // a time that can't be set makes the layer look older than it is
    let _ = lock.set_modified(SystemTime::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_or_with_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k.lock");
        let one = take(&path, Share::WithOthers).unwrap().unwrap();
        let two = take(&path, Share::WithOthers).unwrap().unwrap();
        assert!(take(&path, Share::Alone).unwrap().is_none());
        drop((one, two));
        let alone = take(&path, Share::Alone).unwrap().unwrap();
        assert!(take(&path, Share::WithOthers).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        drop(alone);
        assert!(take(&path, Share::Alone).unwrap().is_some());
    }
}
