//! Reading in a repository of strangers: what a link there leads to outside of it is neither read nor listed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::text::{self, Line, ReadError};

/// The directories of version control that Portage passes over (those with a dot are hidden anyway).
const VERSION_CONTROL: [&str; 3] = ["CVS", "RCS", "SCCS"];

/// Where files may lie that are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// A repository without links on the way to it; none where everything may be read.
    root: Option<PathBuf>,
}

impl Within {
    /// Links may lead anywhere: the files are the user's own, or of a repository that the user trusts.
    pub fn anywhere() -> Within {
        Within::default()
    }

    /// Links must not lead out of `root`, however `root` itself was reached.
    pub fn root(root: &Path) -> Within {
        // what is not there holds nothing that could be read
        Within { root: Some(root.canonicalize().unwrap_or_else(|_| root.to_owned())) }
    }

    /// What holds for the files of a folder: as here if the folder lies within, else anything.
    pub fn of(&self, dir: &Path) -> Within {
        match self.holds(dir) {
            true => self.clone(),
            false => Within::anywhere(),
        }
    }

    /// Whether a folder is one whose files may not lead everywhere.
    pub fn is_bounded_at(&self, dir: &Path) -> bool {
        self.of(dir) != Within::anywhere()
    }

    /// Whether a path that is there leads to something within.
    pub fn holds(&self, path: &Path) -> bool {
        let Some(root) = &self.root else { return true };
        path.canonicalize().is_ok_and(|real| real.starts_with(root))
    }

    /// The error of a path that leads out; what is not there leads nowhere.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        match path.canonicalize() {
            Ok(real) if !real.starts_with(root) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "a link leads out of the repository, where nothing is read; put a copy in its place",
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// [`text::read_bytes`]
    pub fn read_bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
        let wrap = |source| ReadError { path: path.to_owned(), source };
        match self.check(path).and_then(|()| text::bounded(path)) {
            Ok(bytes) => Ok(bytes),
            Err(error) if text::is_absent(&error) => Ok(None),
            Err(error) => Err(wrap(error)),
        }
    }

    /// [`text::read`]
    pub fn read(&self, path: &Path) -> Result<Option<String>, ReadError> {
        Ok(self.read_bytes(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// [`text::first_line`]
    pub fn first_line(&self, path: &Path) -> Result<Option<String>, ReadError> {
        Ok(self.read(path)?.map(|text| text.lines().next().unwrap_or("").trim().to_owned()))
    }

    /// [`text::lines`]
    pub fn lines(&self, path: &Path) -> Result<Vec<Line>, ReadError> {
        let mut first = None;
        let lines = text::gather(path, self, &mut |error| {
            first.get_or_insert(error);
        });
        first.map_or(Ok(lines), Err)
    }

    /// [`text::files`]
    pub fn files(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let mut out = Vec::new();
        let mut stack = vec![(path.to_owned(), 0)];
        while let Some((at, depth)) = stack.pop() {
            // a link that leads back up must not keep us here for ever
            if depth > 32 {
                continue;
            }
            match fs::metadata(&at) {
                Ok(meta) if meta.is_dir() => {
                    for name in self.sorted_names(&at)?.into_iter().rev() {
                        let shown = name.to_string_lossy();
                        if shown.starts_with('.') || shown.ends_with('~') {
                            continue;
                        }
                        if VERSION_CONTROL.contains(&&*shown) && at.join(&name).is_dir() {
                            continue;
                        }
                        stack.push((at.join(&name), depth + 1));
                    }
                }
                Err(error) if text::is_absent(&error) => {}
                // what can't be read is told when it is read
                _ => out.push(at),
            }
        }
        Ok(out)
    }

    /// [`text::sorted_names`]
    pub fn sorted_names(&self, dir: &Path) -> Result<Vec<OsString>, ReadError> {
        let wrap = |source| ReadError { path: dir.to_owned(), source };
        let entries = match self.check(dir).and_then(|()| fs::read_dir(dir)) {
            Ok(entries) => entries,
            Err(error) if text::is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(wrap(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(wrap)?.file_name());
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_may_stay_and_must_not_leave() {
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        fs::create_dir_all(repo.join("d")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(repo.join("d/file"), "text\n").unwrap();
        fs::write(dir.path().join("out/file"), "secret\n").unwrap();
        symlink(&repo, dir.path().join("by-link")).unwrap();
        for (name, to) in [("in", "d/file"), ("out", "../out/file"), ("dir", "../out"), ("far", "/etc/hostname")] {
            symlink(to, repo.join(name)).unwrap();
        }
        symlink("../../out/file", repo.join("d/out")).unwrap();
        let at = dir.path().join("by-link");
        let within = Within::root(&at);
        assert_eq!(within.first_line(&at.join("in")).unwrap().as_deref(), Some("text"));
        assert_eq!(within.read(&at.join("gone")).unwrap(), None);
        for name in ["out", "dir/file", "d/out"] {
            let error = within.read(&at.join(name)).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}: can't be read: a link leads out of the repository")), "{error}");
        }
        assert!(within.lines(&at.join("d")).is_err());
        assert!(within.files(&at.join("dir")).is_err() && within.sorted_names(&at.join("dir")).is_err());
        let free = Within::anywhere();
        assert_eq!(free.first_line(&at.join("out")).unwrap().as_deref(), Some("secret"));
        assert_eq!(within.of(&dir.path().join("out")), free);
        assert_eq!(within.of(&repo.join("d")), within);
    }
}
