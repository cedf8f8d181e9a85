//! The partial file: `NAME.ebaudit-part` beside where the file will stand, locked as long as somebody writes to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};

use super::Fault;

/// Without a Manifest to say how long the file is, something must end a server that never does.
const LONGEST_UNKNOWN: u64 = 16 << 30;

/// A partial file that this process holds the lock of. The lock ends with the process, however it ends.
pub(super) struct Part {
    path: PathBuf,
    file: File,
    len: u64,
    waited: bool,
}

impl Part {
    /// Opens the partial file of a target; waits while another process writes to it.
    pub(super) fn open(target: &Path) -> io::Result<Self> {
        let mut path = target.as_os_str().to_owned();
        path.push(".ebaudit-part");
        let path = PathBuf::from(path);
        let mut waited = false;
        loop {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::open(&path, flags, Mode::from_raw_mode(0o644))?);
            if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                waited = true;
                rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            }
            let held = rustix::fs::fstat(&file)?;
            // The holder before may have renamed it: then this is the finished file, and not to be written to.
            match rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(named) if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino) => {
                    let len = file.metadata()?.len();
                    return Ok(Part { path, file, len, waited });
                }
                _ => waited = true,
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes there already.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether another process held the lock in between.
    pub(super) fn waited(&self) -> bool {
        self.waited
    }

    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.len = 0;
        Ok(())
    }

    /// Throws away what cannot be the beginning of a file of that size; nothing of an unknown file is gone on with.
    pub(super) fn limit(&mut self, size: Option<u64>) -> io::Result<()> {
        match size {
            Some(size) if self.len <= size => Ok(()),
            _ => self.clear(),
        }
    }

    /// Appends all that a body gives, but never more than the size. Too much, too little and lost connections are
    /// faults; what came stays.
    pub(super) fn take_all(
        &mut self,
        body: &mut dyn Read,
        size: Option<u64>,
        tell: &mut dyn FnMut(u64),
    ) -> Result<(), Fault> {
        let most = size.unwrap_or(LONGEST_UNKNOWN);
        self.file.seek(SeekFrom::Start(self.len))?;
        let mut buffer = vec![0; 128 << 10];
        tell(self.len);
        loop {
            let n = match body.read(&mut buffer) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Fault::Passing(error.to_string(), None)),
            };
            if n == 0 {
                break;
            }
            if n as u64 > most - self.len {
                self.clear()?;
                return Err(Fault::Lasting(format!("more than the expected {most} bytes")));
            }
            self.file.write_all(&buffer[..n])?;
            self.len += n as u64;
            tell(self.len);
        }
        match size {
            Some(size) if self.len < size => {
                Err(Fault::Passing(format!("ended after {} of {size} bytes", self.len), None))
            }
            _ => Ok(()),
        }
    }

    /// Puts the file under its name, in place of whatever stands there.
    pub(super) fn finish(self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)
    }

    pub(super) fn discard(self) {
        // Still locked: whoever waits for it sees that its name is gone and begins anew.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Leaves what the next run can go on with, and no empty files.
    pub(super) fn keep_or_discard(self) {
        if self.len == 0 {
            self.discard();
        }
    }
}
