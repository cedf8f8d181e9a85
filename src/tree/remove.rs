//! Removing a tree that an ebuild made: of any depth, with any modes, and never anything outside of it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

/// Directories that are open at a time; what lies deeper is moved up first.
const DEPTH: u32 = 64;

/// Removes the directory `root` with all that it holds; one that is not there is removed already.
pub fn remove(root: &Path) -> io::Result<()> {
    let opened = match open(rustix::fs::CWD, root) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let mut moved = 0;
    // each round ends what the one before had to move up
    loop {
        let before = moved;
        empty(opened.as_fd(), opened.as_fd(), 0, &mut moved)?;
        if moved == before {
            break;
        }
    }
    drop(opened);
    Ok(rustix::fs::unlinkat(rustix::fs::CWD, root, AtFlags::REMOVEDIR)?)
}

fn open<P: rustix::path::Arg + Copy>(at: BorrowedFd<'_>, name: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(at, name, flags, Mode::empty());
    if let Ok(dir) = &dir {
        let _ = rustix::fs::fchmod(dir, Mode::RWXU);
    }
    dir
}

fn empty(dir: BorrowedFd<'_>, root: BorrowedFd<'_>, depth: u32, moved: &mut u64) -> io::Result<()> {
    let names: Vec<CString> = Dir::read_from(dir)?
        .filter_map(|item| Some(item.ok()?.file_name().to_owned()))
        .filter(|name| !matches!(name.to_bytes(), b"." | b".."))
        .collect();
    for name in &names {
        match rustix::fs::unlinkat(dir, name.as_c_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        let child = match open(dir, name.as_c_str()) {
            Err(Errno::ACCESS) => {
                // a link in its place would have gone as a file
                let _ = rustix::fs::chmodat(dir, name.as_c_str(), Mode::RWXU, AtFlags::empty());
                open(dir, name.as_c_str())?
            }
            other => other?,
        };
        if depth >= DEPTH {
            drop(child);
            *moved += 1;
            rustix::fs::renameat(dir, name.as_c_str(), root, format!("\u{1}{moved}"))?;
            continue;
        }
        empty(child.as_fd(), root, depth + 1, moved)?;
        drop(child);
        rustix::fs::unlinkat(dir, name.as_c_str(), AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn takes_what_is_deep_closed_or_a_link() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(outer.path().join("kept"), "").unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(outer.path(), root.join("a/link")).unwrap();
        fs::set_permissions(root.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        // deeper than a path can be long
        let mut at = open(rustix::fs::CWD, root.as_path()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "deep", Mode::RWXU).unwrap();
            at = open(at.as_fd(), "deep").unwrap();
        }
        drop(at);
        remove(&root).unwrap();
        assert!(!root.exists());
        assert!(outer.path().join("kept").exists());
        remove(&root).unwrap();
    }
}
