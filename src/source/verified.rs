//! Which files were found good: a file that is as it was need not be read again.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use super::distfile::Distfile;
use super::verify::{VerifyError, verify};

/// A file changed less than this ago may change again without its time showing it.
const SETTLED: Duration = Duration::from_secs(2);

/// What was found good, in this run and in earlier ones.
#[derive(Debug, Default)]
pub struct Verified {
    known: Mutex<HashMap<Seen, Arc<Mutex<bool>>>>,
    /// Where it is kept, an empty file each.
    dir: Option<PathBuf>,
}

/// A file and what it was compared with. Links to it, which a job makes, do not change it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    hashes: Vec<(String, String)>,
}

impl Verified {
    /// Keeps what is found good in `dir`, which is made when needed.
    pub fn kept_in(dir: PathBuf) -> Verified {
        Verified { dir: Some(dir), ..Verified::default() }
    }

    /// [`verify`], unless the file was found good before. Of several threads with the same file one reads it.
    pub fn check(&self, path: &Path, file: &Distfile) -> Result<(), VerifyError> {
        let Some(seen) = Seen::of(path, file) else { return verify(path, file) };
        let slot = self.slot(&seen);
        let mut good = slot.lock().unwrap_or_else(|e| e.into_inner());
        if *good || self.kept(&seen) {
            *good = true;
            return Ok(());
        }
        verify(path, file)?;
        *good = true;
        self.keep(&seen);
        Ok(())
    }

    /// What is to be found good by somebody who hashes it while he reads it; none where it is known already.
    pub(super) fn unknown(&self, path: &Path, file: &Distfile) -> Option<Seen> {
        let seen = Seen::of(path, file)?;
        let good = *self.slot(&seen).lock().unwrap_or_else(|e| e.into_inner()) || self.kept(&seen);
        (!good).then_some(seen)
    }

    /// It was found good. False where it is another file by now, of which nothing is known.
    pub(super) fn found_good(&self, path: &Path, file: &Distfile, seen: &Seen) -> bool {
        if Seen::of(path, file).as_ref() != Some(seen) {
            return false;
        }
        *self.slot(seen).lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.keep(seen);
        true
    }

    /// A file that was verified while it was fetched.
    pub fn remember(&self, path: &Path, file: &Distfile) {
        if let Some(seen) = Seen::of(path, file) {
            *self.slot(&seen).lock().unwrap_or_else(|e| e.into_inner()) = true;
        }
    }

    fn slot(&self, seen: &Seen) -> Arc<Mutex<bool>> {
        self.known.lock().unwrap_or_else(|e| e.into_inner()).entry(seen.clone()).or_default().clone()
    }

    fn kept(&self, seen: &Seen) -> bool {
        self.file(seen).is_some_and(|file| file.exists())
    }

    fn keep(&self, seen: &Seen) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
        let settled = seen.modified.0 + (SETTLED.as_secs() as i64) < now;
        // without a digest nothing was verified
        if let Some(file) = self.file(seen).filter(|_| settled && !seen.hashes.is_empty()) {
            let _ = file.parent().map(fs::create_dir_all);
            let _ = fs::write(file, b"");
        }
    }

    fn file(&self, seen: &Seen) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("{:x}", md5::compute(format!("{seen:?}")))))
    }
}

impl Seen {
    fn of(path: &Path, file: &Distfile) -> Option<Seen> {
        let meta = fs::metadata(path).ok()?;
        Some(Seen {
            file: (meta.dev(), meta.ino()),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            hashes: file.hashes.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::testing::distfile;

    #[test]
    fn read_once_as_long_as_it_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let kept = dir.path().join("verified");
        fs::write(&path, b"good").unwrap();
        let file = distfile("a.tar", b"good");
        Verified::kept_in(kept.clone()).check(&path, &file).unwrap();
        assert!(!kept.exists(), "it may still be changing");
        let old = SystemTime::now() - Duration::from_secs(60);
        let touch = || fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        touch();
        let verified = Verified::kept_in(kept.clone());
        verified.check(&path, &file).unwrap();
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1);
        // a link changes nothing of it
        fs::hard_link(&path, dir.path().join("b")).unwrap();
        // what nobody does: other contents under the same time show that it is not read
        fs::write(&path, b"evil").unwrap();
        touch();
        verified.check(&path, &file).unwrap();
        Verified::kept_in(kept.clone()).check(&path, &file).unwrap();
        fs::write(&path, b"evil").unwrap();
        assert!(verified.check(&path, &file).is_err() && Verified::kept_in(kept).check(&path, &file).is_err());
        assert!(verified.check(&path, &distfile("a.tar", b"another")).is_err());
    }
}
