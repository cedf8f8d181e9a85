//! Writing members into a directory: through directory descriptors only, never through a link, never into a file
//! that stands there already.
//!
//! Modes are those that `unpack` leaves behind (PMS: "permissions a+r,u+w,go-w, and a+x for directories"; Portage:
//! `chmod a+rX,u+w,g-w,o-w`), so only two are left: 0755 for directories and whatever anybody may execute, 0644 for the
//! rest. Set-user-id, set-group-id and sticky bits go, as they do for tar(1) run by an ordinary user, so that root and
//! others get the same tree. The modes are right from the beginning, so a directory that the archive makes read-only is no hindrance.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::dirs::Dirs;
use super::error::{Fault, Outcome};
use super::limits::Budget;
use super::member::Member;
use super::sums::{ByInode, Sums};

/// A point in time: seconds since 1970, and the nanoseconds of that second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
}

impl Stamp {
    fn times(self) -> Timestamps {
        Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: self.seconds, tv_nsec: i64::from(self.nanos.min(999_999_999)) },
        }
    }
}

/// A directory being filled.
pub(super) struct Tree {
    dirs: Dirs,
    budget: Budget,
    /// Set at the end, since every member written into a directory changes its time.
    dir_times: HashMap<Member, Stamp>,
    /// The files' md5s, where they are wanted.
    sums: Option<Sums>,
}

impl Tree {
    pub(super) fn open(into: &Path, budget: Budget, hashed: bool) -> Outcome<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(into, flags, Mode::empty())
            .map_err(|e| Fault::failed(format!("{}: {}", into.display(), text(e))))?;
        Ok(Tree { dirs: Dirs::new(root), budget, dir_times: HashMap::new(), sums: hashed.then(Sums::new) })
    }

    pub(super) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// A directory, or the root itself; one that is there already stays. A link in its place is replaced, as GNU tar does.
    pub(super) fn dir(&mut self, at: &Member, mode: u32, mtime: Option<Stamp>) -> Outcome<()> {
        if at.is_root() {
            // PMS leaves the mode of the current directory to the archive; without its owner's bits nothing could go on.
            let mode = Mode::from_raw_mode((mode & 0o755) | 0o700);
            let _ = rustix::fs::chmodat(self.dirs.root(), ".", mode, AtFlags::empty());
        } else {
            self.make(at, |dirs, parent, name| match dirs.make_dir(parent, name) {
                Err(Errno::EXIST) if is_dir(parent, name) => {
                    rustix::fs::chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())
                }
                other => other,
            })?;
        }
        if let Some(mtime) = mtime
            && self.dir_times.insert(at.clone(), mtime).is_none()
        {
            self.budget.keep(at.bytes().len())?;
        }
        Ok(())
    }

    /// A file whose contents `fill` writes.
    pub(super) fn file<T>(
        &mut self,
        at: &Member,
        mode: u32,
        mtime: Option<Stamp>,
        fill: impl FnOnce(&mut Contents<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let bits = Mode::from_raw_mode(if mode & 0o111 != 0 { 0o755 } else { 0o644 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = self.make(at, |_, parent, name| rustix::fs::openat(parent, name, flags, bits))?;
        if self.dirs.fix_modes {
            rustix::fs::fchmod(&fd, bits)?;
        }
        if let Some(sums) = &mut self.sums {
            sums.begin();
        }
        let (budget, sums) = (&mut self.budget, self.sums.as_mut());
        let mut contents = Contents { file: File::from(fd), budget, hole: 0, end: 0, sums };
        let result = fill(&mut contents)?;
        let file = contents.close()?;
        if let Some(sums) = &mut self.sums {
            // names may come to mean another file later on, through links or since a member replaces it
            sums.end(rustix::fs::fstat(&file)?.st_ino)?;
        }
        if let Some(mtime) = mtime {
            // A time that the file system cannot hold is no reason to fail; tar warns and goes on.
            let _ = rustix::fs::futimens(&file, &mtime.times());
        }
        Ok(result)
    }

    /// A symbolic link; its target is kept as it is, wherever it points.
    pub(super) fn symlink(&mut self, at: &Member, to: &[u8], mtime: Option<Stamp>) -> Outcome<()> {
        self.make(at, |_, parent, name| {
            rustix::fs::symlinkat(to, parent, name)?;
            if let Some(mtime) = mtime {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                let _ = rustix::fs::utimensat(parent, name, &mtime.times(), flags);
            }
            Ok(())
        })?;
        self.own_link(at)
    }

    fn own_link(&mut self, at: &Member) -> Outcome<()> {
        match self.dirs.own_links.insert(at.bytes().to_vec()) {
            true => self.budget.keep(at.bytes().len()),
            false => Ok(()),
        }
    }

    /// A further name for a file of the tree.
    pub(super) fn hard_link(&mut self, at: &Member, to: &Member) -> Outcome<()> {
        let (dir, target) = to.split();
        let found = self.dirs.open_existing(dir)?.try_clone_to_owned()?;
        self.make(at, |_, parent, name| {
            match rustix::fs::linkat(&found, target, parent, name, AtFlags::empty()) {
                // A link of a file to itself is what tar makes of a file that it saw twice.
                Err(Errno::EXIST) if same_file(&found, target, parent, name) => Ok(()),
                other => other,
            }
        })?;
        // Another name of a link is a link.
        if self.dirs.own_links.contains(to.bytes()) {
            self.own_link(at)?;
        }
        Ok(())
    }

    /// A FIFO; nobody opens it here.
    pub(super) fn fifo(&mut self, at: &Member, mode: u32, mtime: Option<Stamp>) -> Outcome<()> {
        let bits = Mode::from_raw_mode(if mode & 0o111 != 0 { 0o755 } else { 0o644 });
        self.make(at, |_, parent, name| {
            rustix::fs::mknodat(parent, name, FileType::Fifo, bits, 0)?;
            if let Some(mtime) = mtime {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                let _ = rustix::fs::utimensat(parent, name, &mtime.times(), flags);
            }
            Ok(())
        })
    }

    /// Sets the directories' times. Gives files and bytes written, and the md5s.
    pub(super) fn finish(mut self) -> Outcome<(u64, u64, ByInode)> {
        for (at, stamp) in std::mem::take(&mut self.dir_times) {
            self.budget.look()?;
            let (dir, name) = at.split();
            let name = if at.is_root() { b"." } else { name };
            // Whatever replaced the directory meanwhile keeps its own time.
            if let Ok(parent) = self.dirs.open_existing(dir)
                && is_dir(parent, name)
            {
                let _ = rustix::fs::utimensat(parent, name, &stamp.times(), AtFlags::SYMLINK_NOFOLLOW);
            }
        }
        let sums = self.sums.map(Sums::finish).transpose()?.unwrap_or_default();
        Ok((self.budget.files(), self.budget.bytes(), sums))
    }

    /// Runs `make` in the member's directory; where something stands in the way, removes it and runs `make` once more.
    fn make<T>(&mut self, at: &Member, make: impl Fn(&Dirs, BorrowedFd<'_>, &[u8]) -> Result<T, Errno>) -> Outcome<T> {
        if at.is_root() {
            return Err(Fault::failed("a name that stands for the directory itself"));
        }
        self.budget.one_file()?;
        self.budget.depth(at.bytes().iter().filter(|b| **b == b'/').count())?;
        let (dir, name) = at.split();
        self.dirs.open(dir, &mut self.budget)?;
        // Lent again, shared: `make` needs both the directory and what surrounds it.
        let parent = self.dirs.current(dir);
        match make(&self.dirs, parent, name) {
            Err(Errno::EXIST) => {
                let dir_removed = remove(parent, name)?;
                let made = make(&self.dirs, parent, name);
                if self.dirs.own_links.remove(at.bytes()) {
                    self.budget.forget(at.bytes().len());
                }
                if dir_removed {
                    self.dirs.forget();
                }
                Ok(made?)
            }
            other => Ok(other?),
        }
    }
}

/// Removes what stands at a name; a directory only if it is empty. True if it was a directory.
fn remove(parent: BorrowedFd<'_>, name: &[u8]) -> Outcome<bool> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) => Ok(false),
        Err(Errno::ISDIR | Errno::PERM) => {
            rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
                .map_err(|e| Fault::failed(format!("a directory is in the way: {}", text(e))))?;
            Ok(true)
        }
        Err(errno) => Err(errno.into()),
    }
}

fn is_dir(parent: BorrowedFd<'_>, name: &[u8]) -> bool {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn same_file(dir: &OwnedFd, name: &[u8], other_dir: BorrowedFd<'_>, other: &[u8]) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    match (rustix::fs::statat(dir, name, flags), rustix::fs::statat(other_dir, other, flags)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

fn text(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

/// The contents of a file being written, counted against the bounds.
pub(super) struct Contents<'t> {
    file: File,
    budget: &'t mut Budget,
    /// Bytes of hole at the end so far.
    hole: u64,
    end: u64,
    sums: Option<&'t mut Sums>,
}

impl Contents<'_> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.budget.spend(bytes.len() as u64)?;
        if self.hole > 0 {
            std::io::Seek::seek(&mut self.file, std::io::SeekFrom::Start(self.end))?;
            self.hole = 0;
        }
        self.file.write_all(bytes)?;
        if let Some(sums) = &mut self.sums {
            sums.take(bytes)?;
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Leaves so many zero bytes out; they count as written.
    pub(super) fn hole(&mut self, bytes: u64) -> Outcome<()> {
        self.budget.spend(bytes)?;
        if let Some(sums) = &mut self.sums {
            static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
            let mut left = bytes;
            while left > 0 {
                self.budget.look()?;
                let step = left.min(ZEROS.len() as u64);
                sums.take(&ZEROS[..step as usize])?;
                left -= step;
            }
        }
        self.hole += bytes;
        self.end += bytes;
        Ok(())
    }

    fn close(self) -> Outcome<File> {
        if self.hole > 0 {
            self.file.set_len(self.end)?;
        }
        Ok(self.file)
    }
}
