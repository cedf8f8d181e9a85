//! Copying folders whose links may lead anywhere.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use filetime::FileTime;

use super::scratch::told;

/// Files of a record that no dependency needs, and that are big.
const LEFT_OUT: [&str; 3] = ["CONTENTS", "environment.bz2", "NEEDED.ELF.2"];

/// How deep folders may lie, links followed.
const DEPTH: usize = 48;

/// What all copies together may hold, in bytes.
const SIZE: u64 = 1 << 30;

const FILES: u64 = 1_000_000;

/// Copies, and counts what it copied.
#[derive(Debug)]
pub struct Copier {
    size: u64,
    files: u64,
}

impl Default for Copier {
    fn default() -> Copier {
        Copier { size: SIZE, files: FILES }
    }
}

impl Copier {
    /// Files and folders with their times: a record in one file is only good with that of its folder. Links are followed:
    /// what lies behind is wanted, not a way out of the copy. A folder that is not there is none.
    pub fn tree(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        let Ok(from) = from.canonicalize() else { return Ok(()) };
        let mut above = Vec::new();
        for folder in from.ancestors().skip(1) {
            let metadata = fs::metadata(folder).map_err(|error| told(folder, &error))?;
            above.push((metadata.dev(), metadata.ino()));
        }
        let deepest = above.len() + DEPTH;
        self.folder(&from, to, &mut above, deepest)
    }

    fn folder(&mut self, from: &Path, to: &Path, above: &mut Vec<(u64, u64)>, deepest: usize) -> Result<(), String> {
        let metadata = fs::metadata(from).map_err(|error| told(from, &error))?;
        let own = (metadata.dev(), metadata.ino());
        // a link to where it stands, or above
        if above.contains(&own) {
            return Ok(());
        }
        if above.len() >= deepest {
            return Err(told(from, &format!("more than {DEPTH} folders deep; do its links lead in a circle?")));
        }
        self.count(from, 0)?;
        above.push(own);
        fs::create_dir_all(to).map_err(|error| told(to, &error))?;
        for entry in fs::read_dir(from).map_err(|error| told(from, &error))? {
            let path = entry.map_err(|error| told(from, &error))?.path();
            let Some(name) = path.file_name() else { continue };
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_dir() {
                // a link to the profile is made anew
                if name != "make.profile" || !path.is_symlink() {
                    self.folder(&path, &to.join(name), above, deepest)?;
                }
            } else if metadata.is_file() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                self.file(&path, &to.join(name), metadata.len())?;
            }
        }
        above.pop();
        let time = FileTime::from_last_modification_time(&metadata);
        filetime::set_file_mtime(to, time).map_err(|error| told(to, &error))
    }

    fn file(&mut self, from: &Path, to: &Path, size: u64) -> Result<(), String> {
        self.count(from, size)?;
        // what the kernel makes up has no size and may have no end
        let done = if size == 0 { File::create(to).map(drop) } else { fs::copy(from, to).map(drop) };
        done.map_err(|error| told(from, &error))
    }

    fn count(&mut self, path: &Path, size: u64) -> Result<(), String> {
        let left = self.size.checked_sub(size).zip(self.files.checked_sub(1));
        let Some((size, files)) = left else {
            let most = format!("more than {} MiB or {FILES} files are to be copied", SIZE >> 20);
            return Err(told(path, &format!("{most}; does a link of etc/portage lead out of it?")));
        };
        (self.size, self.files) = (size, files);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_but_not_in_circles() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("etc/portage"), dir.path().join("to"));
        for folder in ["etc/portage/package.use", "shared/back"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("shared/file"), "text").unwrap();
        symlink(".", from.join("loop")).unwrap();
        symlink("/", from.join("root")).unwrap();
        symlink("nowhere", from.join("lost")).unwrap();
        for folder in ["package.use/a", "package.mask"] {
            symlink(dir.path().join("shared"), from.join(folder)).unwrap();
        }
        symlink(&from, dir.path().join("shared/back/up")).unwrap();
        Copier::default().tree(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("package.use/a/file")).unwrap(), "text");
        assert_eq!(fs::read_to_string(to.join("package.mask/file")).unwrap(), "text");
        for gone in ["loop", "root", "lost", "package.mask/back/up"] {
            assert!(!to.join(gone).exists(), "{gone}");
        }
        assert!(Copier::default().tree(&dir.path().join("none"), &dir.path().join("out")).is_ok());
    }

    #[test]
    fn no_more_than_may_be_is_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        File::create(from.join("big")).unwrap().set_len(SIZE + 1).unwrap();
        assert!(Copier::default().tree(&from, &to).unwrap_err().contains("1024 MiB"));
        fs::remove_file(from.join("big")).unwrap();
        fs::create_dir_all(from.join("x/".repeat(DEPTH + 1))).unwrap();
        assert!(Copier::default().tree(&from, &to).unwrap_err().contains("folders deep"));
    }
}
