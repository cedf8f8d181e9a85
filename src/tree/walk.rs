//! All that lies below a folder, while processes of an ebuild may still be at work there: a name is looked up in a folder
//! that is held open and was reached without links, so that what takes the place of another leads nowhere else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::untrusted;

/// The folder whose tree is read.
pub(super) struct Root(pub(super) OwnedFd);

/// Each entry after the folder that it is in. What vanishes meanwhile is passed over.
pub struct Walk {
    root: Root,
    now: Option<Listing>,
    /// To be opened, and how deep they are. They are not held open, since there may be many.
    folders: Vec<(PathBuf, usize)>,
}

/// The folder that is being listed.
pub(super) struct Listing {
    folder: Arc<OwnedFd>,
    items: Dir,
    path: PathBuf,
    depth: usize,
}

/// A folder, or what could not be read of it.
pub type Error = (PathBuf, io::Error);

/// A name in a folder that is held open.
pub struct Found {
    folder: Arc<OwnedFd>,
    pub(super) name: OsString,
    /// Below the root.
    pub path: PathBuf,
    /// 1 of what lies in the root.
    pub depth: usize,
    pub kind: FileType,
}

impl Walk {
    /// `root` itself must be no link.
    pub fn new(root: &Path) -> io::Result<Walk> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, Mode::empty())?;
        Ok(Walk { root: Root(root), now: None, folders: vec![(PathBuf::new(), 0)] })
    }
}

impl Root {
    /// A folder of the tree, by its path below the root.
    pub(super) fn list(&self, path: PathBuf, depth: usize) -> Result<Listing, Error> {
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let opened = untrusted::folder(&self.0, here).and_then(|folder| Ok((Dir::read_from(&folder)?, folder)));
        match opened {
            Ok((items, folder)) => Ok(Listing { folder: Arc::new(folder), items, path, depth }),
            Err(error) => Err((path, told(error))),
        }
    }
}

impl Iterator for Listing {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match self.items.next()? {
                Ok(item) => item,
                Err(error) => return Some(Err((self.path.clone(), error.into()))),
            };
            let name = item.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsString::from_vec(name.to_vec());
            let path = self.path.join(&name);
            let (folder, depth) = (self.folder.clone(), self.depth + 1);
            let mut found = Found { folder, name, path, depth, kind: item.file_type() };
            // some file systems do not say
            if found.kind == FileType::Unknown {
                match found.stat() {
                    Ok(stat) => found.kind = FileType::from_raw_mode(stat.st_mode),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Some(Err((found.path, error))),
                }
            }
            return Some(Ok(found));
        }
    }
}

impl Iterator for Walk {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.now.as_mut().and_then(Iterator::next) {
                Some(Ok(found)) => {
                    if found.kind == FileType::Directory {
                        self.folders.push((found.path.clone(), found.depth));
                    }
                    return Some(Ok(found));
                }
                Some(Err(error)) => {
                    self.now = None;
                    return Some(Err(error));
                }
                None => {}
            }
            let (path, depth) = self.folders.pop()?;
            match self.root.list(path, depth) {
                Ok(listing) => self.now = Some(listing),
                Err((_, error)) if error.kind() == io::ErrorKind::NotFound => self.now = None,
                Err(error) => {
                    self.now = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// What was a folder when it was listed.
fn told(error: io::Error) -> io::Error {
    let replaced = [Errno::LOOP, Errno::NOTDIR].map(|errno| Some(errno.raw_os_error()));
    match replaced.contains(&error.raw_os_error()) {
        true => io::Error::other("it was replaced while the tree was read"),
        false => error,
    }
}

impl Found {
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&*self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Where the link leads to.
    pub fn read_link(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&*self.folder, &self.name, Vec::new())?;
        Ok(OsStr::from_bytes(target.as_bytes()).into())
    }

    /// The regular file.
    pub fn open(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&*self.folder, &self.name, flags, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("it was replaced while the tree was read")),
        }
    }

    /// For calls that take no folder. The last name is the only one that may be a link.
    pub fn by_descriptor(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string()).join(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        fs::write(dir.path().join("a/b/f"), "").unwrap();
        symlink("a", dir.path().join("l")).unwrap();
        let all: Vec<_> = Walk::new(dir.path()).unwrap().map(|found| found.ok().unwrap()).collect();
        let mut paths: Vec<_> = all.iter().map(|found| (found.path.to_str().unwrap(), found.depth)).collect();
        assert!(paths.iter().position(|(path, _)| *path == "a") < paths.iter().position(|(path, _)| *path == "a/b"));
        paths.sort();
        assert_eq!(paths, [("a", 1), ("a/b", 2), ("a/b/c", 3), ("a/b/f", 3), ("l", 1)]);
        let link = all.iter().find(|found| found.kind == FileType::Symlink).unwrap();
        assert_eq!(link.read_link().unwrap(), Path::new("a"));
        assert!(link.open().is_err());
        assert!(Walk::new(&dir.path().join("l")).is_err());
    }

    #[test]
    fn what_takes_the_place_of_a_folder_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        for path in ["root/d", "outside"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(outside.join("secret"), "").unwrap();
        fs::write(root.join("d/f"), "").unwrap();
        let mut walk = Walk::new(&root).unwrap();
        let folder = walk.next().unwrap().ok().unwrap();
        fs::rename(root.join("d"), root.join("was")).unwrap();
        symlink(&outside, root.join("d")).unwrap();
        let (path, error) = walk.next().unwrap().err().unwrap();
        assert_eq!((folder.path.as_path(), path.as_path()), (Path::new("d"), Path::new("d")));
        assert_eq!(error.to_string(), "it was replaced while the tree was read");
        assert!(walk.next().is_none());
        // what was found before is still that of the folder that was held open
        let mut walk = Walk::new(&root).unwrap();
        let all: Vec<_> = walk.by_ref().map(|found| found.ok().unwrap()).collect();
        let file = all.iter().find(|found| found.path == Path::new("was/f")).unwrap();
        fs::rename(root.join("was"), root.join("away")).unwrap();
        symlink(&outside, root.join("was")).unwrap();
        assert!(file.open().is_ok());
    }
}
