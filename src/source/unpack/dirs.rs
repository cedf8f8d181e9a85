//! Opening the directory that a member is to stand in, without ever leaving the tree.
//!
//! The fast way is one `openat2` beneath the root that refuses every link; the careful way goes component by
//! component, makes what is missing, and decides about links.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::error::{Fault, Outcome, shown};
use super::limits::Budget;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directories of a tree, by path relative to its root.
pub(super) struct Dirs {
    root: OwnedFd,
    last: Option<(Vec<u8>, OwnedFd)>,
    /// Links that this archive made: nothing of it may be written through them.
    pub(super) own_links: HashSet<Vec<u8>>,
    /// The process's umask takes bits from 0755, so modes must be set once more.
    pub(super) fix_modes: bool,
}

impl Dirs {
    pub(super) fn new(root: OwnedFd) -> Self {
        Dirs { root, last: None, own_links: HashSet::new(), fix_modes: umask_takes(0o755) }
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// The directory that [`Self::open`] opened last, which is the one at `path`.
    pub(super) fn current(&self, path: &[u8]) -> BorrowedFd<'_> {
        match &self.last {
            Some((_, fd)) if !path.is_empty() => fd.as_fd(),
            _ => self.root.as_fd(),
        }
    }

    /// Forgets the directory opened last; to be called when one was removed.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// The directory at `path`, made with all above it where it is missing.
    pub(super) fn open(&mut self, path: &[u8], budget: &mut Budget) -> Outcome<BorrowedFd<'_>> {
        self.open_with(path, Some(budget))
    }

    /// The directory at `path`, which must be there.
    pub(super) fn open_existing(&mut self, path: &[u8]) -> Outcome<BorrowedFd<'_>> {
        self.open_with(path, None)
    }

    fn open_with(&mut self, path: &[u8], make: Option<&mut Budget>) -> Outcome<BorrowedFd<'_>> {
        if path.is_empty() {
            return Ok(self.root.as_fd());
        }
        if self.last.as_ref().is_none_or(|(known, _)| known != path) {
            let fd = match self.open_plain(path) {
                Some(fd) => fd,
                None => self.walk(path, make)?,
            };
            self.last = Some((path.to_vec(), fd));
        }
        Ok(self.current(path))
    }

    fn open_plain(&self, path: &[u8]) -> Option<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, path, DIRECTORY, Mode::empty(), resolve).ok()
    }

    fn walk(&self, path: &[u8], mut make: Option<&mut Budget>) -> Outcome<OwnedFd> {
        let mut here = rustix::fs::openat(&self.root, ".", DIRECTORY, Mode::empty())?;
        let mut end = 0;
        for part in path.split(|b| *b == b'/') {
            end += part.len();
            let so_far = &path[..end];
            end += 1;
            here = match rustix::fs::openat(&here, part, DIRECTORY, Mode::empty()) {
                Ok(fd) => fd,
                Err(Errno::NOENT) => {
                    let Some(budget) = make.as_deref_mut() else {
                        return Err(Fault::failed(format!("no directory {}", shown(so_far))));
                    };
                    budget.one_file()?;
                    self.make_dir(here.as_fd(), part)?;
                    rustix::fs::openat(&here, part, DIRECTORY, Mode::empty())?
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let stat = rustix::fs::statat(&here, part, AtFlags::SYMLINK_NOFOLLOW)?;
                    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                        return Err(Fault::failed(format!("{} is no directory", shown(so_far))));
                    }
                    self.follow(so_far)?
                }
                Err(errno) => return Err(errno.into()),
            };
        }
        Ok(here)
    }

    /// A link that stood in the tree before the archive (an ebuild's `ln -s`) is followed as tar follows it, as long
    /// as the kernel vouches that it stays beneath the root.
    fn follow(&self, path: &[u8]) -> Outcome<OwnedFd> {
        if self.own_links.contains(path) {
            return Err(Fault::refused(format!(
                "it would be written through the link {} of the same archive",
                shown(path)
            )));
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolve)
            .map_err(|_| Fault::refused(format!("it would be written through the link {}", shown(path))))
    }

    pub(super) fn make_dir(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
        if self.fix_modes {
            rustix::fs::chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())?;
        }
        Ok(())
    }
}

/// Whether the umask takes any of these bits; also true where that cannot be known. Asked of /proc, since umask(2)
/// can only be read by setting it, for all threads.
fn umask_takes(bits: u32) -> bool {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find_map(|l| l.strip_prefix("Umask:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        })
        .is_none_or(|umask| umask & bits != 0)
}
