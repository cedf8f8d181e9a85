//! A tree under what was written to it by way of an overlay: the folder above holds exactly the files that were touched.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::gauge::Gauge;
use super::pack::Pack;
use super::snapshot::{Entry, Kind, Most, Snapshot, SnapshotError, entry};
use super::walk::Walk;

/// Says of a folder that what lies below is not seen through it.
const OPAQUE: &str = "user.overlay.opaque";

/// Whether a file above hides the one below: a character device of number 0.
pub fn is_whiteout(meta: &fs::Metadata) -> bool {
    meta.file_type().is_char_device() && meta.rdev() == 0
}

impl Snapshot {
    /// This tree, whose lower entries are shared, under the folder `upper` of an overlay.
    ///
    /// `known` is what was found there before; the contents of files go to `pack` as with [`Snapshot::take`]. Nothing
    /// but `upper` is read.
    pub fn under(
        &self,
        upper: &Path,
        known: Option<&Snapshot>,
        pack: Option<&Pack>,
        most: Most,
    ) -> Result<Snapshot, SnapshotError> {
        let mut over = BTreeMap::new();
        let gauge = Gauge::new(most);
        let read = |path: &Path, source| SnapshotError::Read { path: path.into(), source };
        for item in Walk::new(upper).map_err(|e| read(Path::new(""), e))? {
            let item = item.map_err(|(path, error)| read(&path, error))?;
            if item.depth > most.depth.saturating_add(1) {
                return Err(SnapshotError::TooDeep { limit: most.depth });
            }
            let path = item.path.clone();
            if item.kind == FileType::CharacterDevice && item.stat().map_err(|e| read(&path, e))?.st_rdev == 0 {
                self.hide(&path, true, &mut over);
                continue;
            }
            let is_dir = item.kind == FileType::Directory;
            if !is_dir || is_opaque(&item.by_descriptor()).map_err(|e| read(&path, e))? {
                self.hide(&path, false, &mut over);
            }
            let known = known.and_then(|k| k.laid_over(&path));
            let Some(mut entry) = entry(&item, known, pack, &gauge)? else { continue };
            if let (Kind::File { md5, .. }, Some(Entry { kind: Kind::File { md5: old, pack }, .. })) =
                (&entry.kind, self.get(&path))
                && md5 == old
            {
                entry.kind = Kind::File { md5: *old, pack: *pack };
            }
            over.insert(path, Some(entry));
            if over.len() > most.entries {
                return Err(SnapshotError::TooMany { limit: most.entries });
            }
        }
        let snapshot = self.with(over);
        if snapshot.len() > most.entries {
            return Err(SnapshotError::TooMany { limit: most.entries });
        }
        Ok(snapshot)
    }

    /// What lies below `path`, and itself if `whole`, is not there.
    fn hide(&self, path: &Path, whole: bool, over: &mut BTreeMap<PathBuf, Option<Entry>>) {
        for path in self.lower().below(path) {
            over.insert(path.to_owned(), None);
        }
        if whole {
            over.insert(path.to_owned(), None);
        }
    }
}

fn is_opaque(dir: &Path) -> io::Result<bool> {
    let mut value = [0; 8];
    match rustix::fs::lgetxattr(dir, OPAQUE, &mut value) {
        Ok(length) => Ok(&value[..length] == b"y"),
        Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tree::{Pack, changes};

    /// The upper folder of an overlay is made by hand: only root may make a whiteout, so it takes part where it can.
    #[test]
    fn what_lies_above_counts_and_what_it_hides_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let (lower, upper) = (dir.path().join("lower"), dir.path().join("upper"));
        let put = |root: &Path, name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        for name in
            ["kept", "same", "changed", "merged/a", "merged/b", "opaque/a", "opaque/d/b", "file/a", "gone", "x/y"]
        {
            put(&lower, name, name);
        }
        for (name, text) in [("same", "same"), ("changed", "new"), ("merged/c", ""), ("opaque/z", ""), ("file", "")] {
            put(&upper, name, text);
        }
        symlink("kept", upper.join("link")).unwrap();
        rustix::fs::setxattr(upper.join("opaque"), OPAQUE, b"y", rustix::fs::XattrFlags::empty()).unwrap();
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            upper.join("gone"),
            rustix::fs::FileType::CharacterDevice,
            rustix::fs::Mode::from_raw_mode(0),
            0,
        );
        let pack = Pack::create(dir.path()).unwrap();
        let most = Most::default();
        let before = Snapshot::take(&lower, None, Some(&pack), most).unwrap();
        let after = before.under(&upper, None, Some(&pack), most).unwrap();
        let mut want = vec![
            "changed", "file", "kept", "link", "merged", "merged/a", "merged/b", "merged/c", "opaque", "opaque/z",
            "same", "x", "x/y",
        ];
        if made.is_err() {
            want.insert(2, "gone");
        }
        let seen: Vec<_> = after.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(seen, want);
        assert_eq!(after.len(), want.len());
        let changed: Vec<_> =
            changes(&before, &after).into_iter().map(|c| c.path).filter(|p| !p.ends_with("gone")).collect();
        let want = ["changed", "file", "file/a", "link", "merged/c", "opaque/a", "opaque/d/b", "opaque/z"];
        assert_eq!(changed, want.map(PathBuf::from));
        let fewer = Most { entries: 12, ..most };
        assert!(matches!(before.under(&upper, None, None, fewer), Err(SnapshotError::TooMany { .. })));
    }
}
