//! Distfiles that are verified while they are unpacked, so that they are read once.
//!
//! What is unpacked so counts only if all hashes are right at the end, and nobody may look at it before. Where anything goes
//! wrong it is thrown away and the file is verified first: then the error is that one's.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::distfile::Distfile;
use super::store::DistfileStore;
use super::tap::Tapped;
use super::unpack::{self, Clock, Kind, Limits, UnpackError, Unpacked};
use super::verified::Seen;
use super::verify::VerifyError;
use crate::gentoo::within::Within;

/// A copy of a distfile that has the right size.
#[derive(Debug)]
pub struct LocalCopy {
    pub path: PathBuf,
    /// Nobody has verified it yet.
    unknown: Option<Seen>,
}

impl LocalCopy {
    pub fn is_verified(&self) -> bool {
        self.unknown.is_none()
    }
}

/// Why a file was not unpacked, or is not to be used.
#[derive(Debug, thiserror::Error)]
pub enum OnceError {
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    #[error(transparent)]
    Verify(#[from] VerifyError),
    #[error("the file changed while it was read")]
    Changed,
}

impl DistfileStore {
    /// The copy that [`DistfileStore::obtain`] would look at first. None where that has more to do than to verify it.
    pub fn copy(&self, file: &Distfile) -> Option<LocalCopy> {
        if matches!(&file.name[..], "" | "." | "..") || file.name.contains(['/', '\0']) || !file.in_manifest() {
            return None;
        }
        let path = self.dirs().map(|dir| (dir, dir.join(&file.name))).find(|(_, path)| path.exists());
        let (dir, path) = path?;
        let meta = std::fs::metadata(&path).ok()?;
        if !meta.is_file() || meta.len() != file.size {
            return None;
        }
        if self.of_repository.contains(dir) && !Within::root(dir).holds(&path) {
            return None;
        }
        let unknown = self.verified.unknown(&path, file);
        Some(LocalCopy { path, unknown })
    }

    /// Unpacks a copy as [`unpack::unpack_hashed`] does. A copy that nobody has verified is verified by the same reading.
    pub fn unpack_copy(
        &self,
        copy: &LocalCopy,
        file: &Distfile,
        kind: Kind,
        into: &Path,
        limits: &Limits,
        clock: &Clock,
    ) -> Result<Unpacked, OnceError> {
        let name = OsStr::new(&file.name);
        let Some(seen) = &copy.unknown else {
            return Ok(unpack::unpack_hashed(kind, &copy.path, name, into, limits, clock)?);
        };
        let opened = File::open(&copy.path).map_err(VerifyError::from)?;
        let (tapped, watch) = Tapped::watched(opened, file, clock)?;
        let unpacked = unpack::unpack_tapped(kind, tapped, name, into, limits, clock)?;
        watch.finish()?;
        match self.verified.found_good(&copy.path, file, seen) {
            true => Ok(unpacked),
            false => Err(OnceError::Changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::testing::distfile;

    fn store(dir: &Path) -> DistfileStore {
        DistfileStore::new(dir.to_owned(), dir.join("fallback"), None)
    }

    #[test]
    fn unpacked_and_verified_by_one_reading() {
        let temp = tempfile::tempdir().unwrap();
        let (store, into) = (store(temp.path()), temp.path().join("into"));
        std::fs::create_dir(&into).unwrap();
        let packed = zstd::stream::encode_all(&b"text"[..], 1).unwrap();
        let file = distfile("a.zst", &packed);
        assert!(store.copy(&file).is_none(), "it is not there");
        std::fs::write(temp.path().join("a.zst"), &packed).unwrap();
        let copy = store.copy(&file).unwrap();
        assert!(!copy.is_verified());
        let kind = Kind::Single(unpack::Codec::Zstd);
        store.unpack_copy(&copy, &file, kind, &into, &Limits::default(), &Clock::default()).unwrap();
        assert_eq!(std::fs::read(into.join("a")).unwrap(), b"text");
        let copy = store.copy(&file).unwrap();
        assert!(copy.is_verified());
        std::fs::remove_file(into.join("a")).unwrap();
        store.unpack_copy(&copy, &file, kind, &into, &Limits::default(), &Clock::default()).unwrap();
    }

    #[test]
    fn what_the_manifest_does_not_mean_is_never_good() {
        let temp = tempfile::tempdir().unwrap();
        let (store, into) = (store(temp.path()), temp.path().join("into"));
        std::fs::create_dir(&into).unwrap();
        let packed = zstd::stream::encode_all(&b"text"[..], 1).unwrap();
        let other = zstd::stream::encode_all(&b"evil"[..], 1).unwrap();
        let path = temp.path().join("a.zst");
        std::fs::write(&path, &other).unwrap();
        let file = distfile("a.zst", &packed);
        let kind = Kind::Single(unpack::Codec::Zstd);
        let copy = store.copy(&file).unwrap();
        let error = store.unpack_copy(&copy, &file, kind, &into, &Limits::default(), &Clock::default()).unwrap_err();
        assert!(matches!(error, OnceError::Verify(VerifyError::Mismatch(_))), "{error}");
        assert!(!store.copy(&file).unwrap().is_verified());
        // right bytes in a file that was another one when it was looked at
        std::fs::remove_file(into.join("a")).unwrap();
        std::fs::write(temp.path().join("new"), &packed).unwrap();
        std::fs::rename(temp.path().join("new"), &path).unwrap();
        let error = store.unpack_copy(&copy, &file, kind, &into, &Limits::default(), &Clock::default()).unwrap_err();
        assert!(matches!(error, OnceError::Changed), "{error}");
        // another size, or no hash to compare with, is not for this way
        std::fs::write(&path, b"longer than it is").unwrap();
        assert!(store.copy(&file).is_none());
        assert!(store.copy(&Distfile { hashes: Default::default(), ..file }).is_none());
    }
}
