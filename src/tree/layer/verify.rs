//! Whether a layer still is what its record says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use walkdir::WalkDir;

use super::lock::Share;
use super::record::{self, Record};
use super::store::LayerStore;
use crate::tree::hash::md5_of_file;
use crate::tree::snapshot::{Entry, Kind, Stamp, below};

/// What came of a look at a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub key: String,
    /// What is wrong, and whether the layer was removed; it is not where a run uses it.
    pub broken: Option<(String, bool)>,
}

impl LayerStore {
    /// Reads all layers, and removes those that are broken.
    pub fn verify(&self) -> io::Result<Vec<Verified>> {
        let mut found = Vec::new();
        for key in self.keys()? {
            // one that is being made or removed is none
            let Some(held) = self.lock(&key, Share::WithOthers)? else { continue };
            let dir = self.dir.join(&key);
            let wrong = record::read(&dir.join("record")).and_then(|record| whole(&dir, &record)).err();
            drop(held);
            let broken = wrong.map(|why| (why.to_string(), self.remove(&key).is_ok_and(|gone| gone.is_some())));
            found.push(Verified { key, broken });
        }
        Ok(found)
    }
}

/// Compares everything, contents too.
fn whole(dir: &Path, record: &Record) -> io::Result<()> {
    record::left(dir, &record.head)?;
    compare(dir, record, |path, entry| match entry.kind {
        Kind::File { md5, .. } if md5_of_file(path)? != md5 => Err(wrong(path, "has other contents")),
        _ => Ok(()),
    })
}

/// After a crash of the machine files may be there without what was written to them. So a layer that was made before the
/// last start is looked over once, which reads no contents.
pub fn after_boot(dir: &Path, record: &Record) -> io::Result<()> {
    let noted = fs::read_to_string(dir.join("boot")).unwrap_or_default();
    if Some(noted) == boot() {
        return Ok(());
    }
    compare(dir, record, |_, _| Ok(()))?;
    // where it can't be noted the next one looks again
    let _ = note_boot(dir);
    Ok(())
}

/// Notes that the files are what the record says as long as this machine is not started anew.
pub fn note_boot(dir: &Path) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    io::Write::write_all(&mut file, boot().unwrap_or_default().as_bytes())?;
    file.persist(dir.join("boot"))?;
    Ok(())
}

fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

fn compare(dir: &Path, record: &Record, more: impl Fn(&Path, &Entry) -> io::Result<()> + Sync) -> io::Result<()> {
    let Record { head, entries, .. } = record;
    let tree = dir.join("tree");
    let mut count = 0;
    let mut found: Vec<(PathBuf, fs::Metadata)> = Vec::with_capacity(entries.len());
    for item in WalkDir::new(&tree).min_depth(1) {
        let item = item?;
        count += 1;
        if count > head.entries {
            return Err(wrong(&tree, "has more files"));
        }
        found.push((below(&tree, item.path()), item.metadata()?));
    }
    if count < head.entries {
        return Err(wrong(&tree, "has fewer files"));
    }
    let one = |(path, meta): &(PathBuf, fs::Metadata)| {
        let full = tree.join(path);
        let known = entries.get(path).ok_or_else(|| wrong(&full, "is not of the layer"))?;
        // the contents are compared by whoever wants to
        let file = || match known.kind {
            Kind::File { .. } => Ok(known.kind.clone()),
            _ => Err(wrong(&full, "is of another kind or mode")),
        };
        let kind = Kind::of(&full, meta, file)?;
        let now = Entry::new(kind, meta);
        let times = |stamp: &Stamp| (stamp.size, stamp.mtime);
        let dir = now.kind == Kind::Directory;
        if now.kind != known.kind || now.mode != known.mode {
            return Err(wrong(&full, "is of another kind or mode"));
        }
        if !dir && times(&now.stamp) != times(&known.stamp) {
            return Err(wrong(&full, "has another size or time"));
        }
        more(&full, known)
    };
    found.par_iter().try_for_each(one)
}

fn wrong(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Most;
    use crate::tree::layer::Made;

    #[test]
    fn what_was_tampered_with_is_found_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(dir.path()).unwrap();
        let make = |tree: &Path| -> io::Result<Made> {
            fs::write(tree.join("f"), "text")?;
            fs::write(tree.join("g"), "text")?;
            Ok(Made::default())
        };
        let ways: [&dyn Fn(&Path); 6] = [
            &|tree| fs::write(tree.join("f"), "longer text").unwrap(),
            &|tree| fs::remove_file(tree.join("f")).unwrap(),
            &|tree| fs::write(tree.join("h"), "").unwrap(),
            &|tree| filetime::set_file_mtime(tree.join("f"), filetime::FileTime::zero()).unwrap(),
            &|tree| {
                let time = fs::metadata(tree.join("f")).unwrap().modified().unwrap();
                fs::write(tree.join("f"), "TEXT").unwrap();
                fs::File::open(tree.join("f")).unwrap().set_modified(time).unwrap();
            },
            &|tree| {
                fs::rename(tree.join("f"), tree.join("g")).unwrap();
                std::os::unix::fs::symlink("g", tree.join("f")).unwrap();
            },
        ];
        for (number, tamper) in ways.iter().enumerate() {
            let layer = store.obtain("k", Most::default(), &|| true, make).unwrap();
            assert_eq!(store.verify().unwrap()[0].broken, None);
            tamper(&layer.tree());
            let used = store.verify().unwrap();
            assert!(!used[0].broken.as_ref().unwrap().1, "{number}: removed though in use");
            drop(layer);
            store.let_go();
            let seen = store.verify().unwrap();
            assert!(seen[0].broken.as_ref().unwrap().1, "{number}");
            assert_eq!(store.keys().unwrap(), [""; 0]);
        }
    }

    #[test]
    fn a_layer_of_before_the_last_start_is_looked_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(dir.path()).unwrap();
        let make = |tree: &Path| -> io::Result<Made> {
            fs::write(tree.join("f"), "text")?;
            Ok(Made::default())
        };
        let again = || {
            store.let_go();
            store.obtain("k", Most::default(), &|| true, make).unwrap()
        };
        let tree = again().tree();
        fs::write(dir.path().join("k/boot"), "earlier").unwrap();
        again();
        assert_eq!(Some(fs::read_to_string(dir.path().join("k/boot")).unwrap()), boot());
        // as a crash leaves it
        fs::write(tree.join("f"), "").unwrap();
        fs::write(dir.path().join("k/boot"), "earlier").unwrap();
        again();
        assert_eq!(fs::read(tree.join("f")).unwrap(), b"text");
    }
}
