//! Files in folders that an ebuild may write: links, FIFOs and endless files wait there for whoever opens them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Opens a regular file to read it. No name of the path may be a link.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, OFlags::RDONLY, Mode::empty())
}

fn open_as(path: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS) {
        // old kernels, and containers that do not know the call
        Err(Errno::NOSYS | Errno::PERM) => File::from(by_steps(CWD, path, flags, mode)?),
        other => File::from(other?),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Opens a folder to list it. No name of the path, which starts at `at` unless it is absolute, may be a link.
pub fn folder(at: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat2(&at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Err(Errno::NOSYS | Errno::PERM) => by_steps(at, path, flags, Mode::empty()),
        other => Ok(other?),
    }
}

fn by_steps(at: impl AsFd, path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(at, if path.is_absolute() { "/" } else { "." }, step, Mode::empty())?;
    let mut names = path.components().filter(|c| matches!(c, Component::Normal(_))).peekable();
    while let Some(name) = names.next() {
        match names.peek() {
            Some(_) => at = rustix::fs::openat(&at, name.as_os_str(), step, Mode::empty())?,
            None => return Ok(rustix::fs::openat(&at, name.as_os_str(), flags, mode)?),
        }
    }
    Ok(rustix::fs::openat(&at, ".", flags, mode)?)
}

/// The contents of a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    open(path)?.take(limit + 1).read_to_end(&mut data)?;
    if data.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{} is larger than {limit} bytes", path.display()),
        ));
    }
    Ok(data)
}

/// [`read`] as text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    read(path, limit).map(|data| String::from_utf8_lossy(&data).into_owned())
}

/// Adds to a regular file that has no other name, or makes it. No name of the path may be a link.
pub fn append(path: &Path, data: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let mut file = open_as(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE, Mode::from_raw_mode(0o600))?;
    match file.metadata()?.nlink() {
        1 => file.write_all(data),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the file has another name")),
    }
}

/// Writes a new file where nothing has the name. No name of the path may be a link.
pub fn create(path: &Path, data: &[u8]) -> io::Result<()> {
    open_as(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600))?.write_all(data)
}

/// Writes a new file, in the place of whatever has the name; its folder is one that the ebuild can't replace.
pub fn write(path: &Path, data: &[u8]) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // never through a link that took the name again meanwhile
    File::create_new(path)?.write_all(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn reads_files_and_nothing_that_leads_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/f"), "text").unwrap();
        symlink("d/f", root.join("link")).unwrap();
        symlink("d", root.join("e")).unwrap();
        rustix::fs::mknodat(CWD, root.join("fifo"), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        assert_eq!(read(&root.join("d/f"), 4).unwrap(), b"text");
        assert!(read(&root.join("d/f"), 3).is_err());
        assert!(by_steps(CWD, &root.join("d/f"), flags, Mode::empty()).is_ok());
        for name in ["link", "e/f", "fifo", "d", "gone"] {
            assert!(read(&root.join(name), 9).is_err(), "{name}");
        }
        for name in ["link", "e/f"] {
            assert!(by_steps(CWD, &root.join(name), flags, Mode::empty()).is_err(), "{name}");
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let held = folder(CWD, &root).unwrap();
        for name in [".", "d"] {
            assert!(
                folder(&held, Path::new(name)).is_ok()
                    && by_steps(&held, Path::new(name), flags, Mode::empty()).is_ok()
            );
        }
        for name in ["e", "d/f", "gone"] {
            assert!(folder(&held, Path::new(name)).is_err(), "{name}");
        }
        write(&root.join("link"), b"new").unwrap();
        assert_eq!(read_text(&root.join("link"), 9).unwrap(), "new");
        assert_eq!(read(&root.join("d/f"), 9).unwrap(), b"text");
    }
}
