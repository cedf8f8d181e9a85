//! The folder of all layers: one that is there is given, one that is missing is made, by one of those who want it.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::lock::{self, Share};
use super::record::{self, Record};
use super::{Layer, Made, make, verify};
use crate::tree::remove;
use crate::tree::snapshot::{Most, Snapshot, SnapshotError};

/// How the name of a layer begins while it is made or removed.
pub(super) const UNFINISHED: &str = ".tmp-";

/// Layers that are kept in memory though nobody uses them at the moment.
const AT_HAND: usize = 4;

#[derive(Debug, thiserror::Error)]
pub enum LayerError<E> {
    /// The maker's own.
    #[error("{0}")]
    Made(E),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("the layer can't be kept: {0}")]
    Store(#[from] io::Error),
    #[error("nobody wants it any more")]
    Stopped,
}

/// The layers below one folder.
#[derive(Debug)]
pub struct LayerStore {
    pub(super) dir: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    used: HashMap<String, Weak<Layer>>,
    last: VecDeque<Arc<Layer>>,
}

impl LayerStore {
    /// The layers in `dir`, which is made where it is missing. What killed runs left there is removed.
    pub fn open(dir: &Path) -> io::Result<LayerStore> {
        // the sources of private overlays are nobody else's business
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // free of links, so that its files can be opened without following any
        let store = LayerStore { dir: fs::canonicalize(dir)?, open: Mutex::default() };
        store.sweep()?;
        Ok(store)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn lock(&self, key: &str, share: Share) -> io::Result<Option<fs::File>> {
        lock::take(&self.dir.join(format!("{key}.lock")), share)
    }

    pub(super) fn unfinished(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{UNFINISHED}{key}"))
    }

    fn sweep(&self) -> io::Result<()> {
        for item in fs::read_dir(&self.dir)?.flatten() {
            let name = item.file_name().to_string_lossy().into_owned();
            let Some(key) = name.strip_prefix(UNFINISHED) else { continue };
            if let Ok(Some(_held)) = self.lock(key, Share::Alone) {
                let _ = remove(&item.path());
            }
        }
        Ok(())
    }

    /// The layer `key`. Where it is not there, `make` fills the folder that it is given, while others who want it wait.
    ///
    /// `wait` is called as long as somebody else is at work on it, and says whether to go on.
    pub fn obtain<E>(
        &self,
        key: &str,
        most: Most,
        wait: &dyn Fn() -> bool,
        mut make: impl FnMut(&Path) -> Result<Made, E>,
    ) -> Result<Arc<Layer>, LayerError<E>> {
        let mut tries = 0;
        loop {
            if let Some(layer) = self.at_hand(key) {
                return Ok(layer);
            }
            let held = self.lock(key, Share::WithOthers)?;
            if let Some(layer) = held.and_then(|held| self.load(key, held).ok()) {
                return Ok(self.keep(key, layer));
            }
            if let Some(_held) = self.lock(key, Share::Alone)? {
                if self.is_sound(key) {
                    continue;
                }
                tries += 1;
                if tries > 3 {
                    return Err(io::Error::other("what was written is not what is read").into());
                }
                self.make(key, most, &mut make)?;
                continue;
            }
            if !wait() {
                return Err(LayerError::Stopped);
            }
        }
    }

    /// The layer `key`, where it is there already.
    pub fn find(&self, key: &str) -> Option<Arc<Layer>> {
        if let Some(layer) = self.at_hand(key) {
            return Some(layer);
        }
        // a lock is made for a layer that is there, or is to be
        let there = self.dir.join(key).is_dir();
        let held = there.then(|| self.lock(key, Share::WithOthers).ok().flatten()).flatten()?;
        Some(self.keep(key, self.load(key, held).ok()?))
    }

    /// Removes a layer that turned out not to be what it should, unless somebody else uses it.
    pub fn discard(&self, key: &str, layer: Arc<Layer>) {
        self.opened().last.retain(|other| !Arc::ptr_eq(other, &layer));
        drop(layer);
        let _ = self.remove(key);
    }

    /// Lets go of the layers that nobody uses.
    pub fn let_go(&self) {
        self.opened().last.clear();
    }

    fn opened(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn at_hand(&self, key: &str) -> Option<Arc<Layer>> {
        let layer = self.opened().used.get(key)?.upgrade()?;
        lock::touch(&layer.lock);
        Some(layer)
    }

    fn keep(&self, key: &str, layer: Layer) -> Arc<Layer> {
        let layer = Arc::new(layer);
        let mut open = self.opened();
        open.used.retain(|_, layer| layer.strong_count() > 0);
        open.used.insert(key.to_owned(), Arc::downgrade(&layer));
        open.last.push_back(layer.clone());
        if open.last.len() > AT_HAND {
            open.last.pop_front();
        }
        layer
    }

    fn is_sound(&self, key: &str) -> bool {
        self.read(key).is_ok()
    }

    /// The record and what unpacking left, of a layer that is whole as far as that can be told without reading it all.
    fn read(&self, key: &str) -> io::Result<(Record, Option<Vec<u8>>)> {
        let dir = self.dir.join(key);
        let record = record::read(&dir.join("record"))?;
        verify::after_boot(&dir, &record)?;
        let left = record::left(&dir, &record.head)?;
        Ok((record, left))
    }

    fn load(&self, key: &str, held: fs::File) -> io::Result<Layer> {
        let (Record { head, entries, packed }, left) = self.read(key)?;
        let dir = self.dir.join(key);
        lock::touch(&held);
        Ok(Layer { dir, head, snapshot: Snapshot::of(entries), left, packed, pack: Mutex::default(), lock: held })
    }

    fn make<E>(
        &self,
        key: &str,
        most: Most,
        make: &mut impl FnMut(&Path) -> Result<Made, E>,
    ) -> Result<(), LayerError<E>> {
        let (dir, fresh) = (self.dir.join(key), self.unfinished(key));
        // a broken one, and what a killed run left
        remove(&dir)?;
        remove(&fresh)?;
        let done = self.fill(&fresh, most, make).and_then(|()| Ok(fs::rename(&fresh, &dir)?));
        if done.is_err() {
            let _ = remove(&fresh);
        }
        done
    }

    fn fill<E>(
        &self,
        fresh: &Path,
        most: Most,
        make: &mut impl FnMut(&Path) -> Result<Made, E>,
    ) -> Result<(), LayerError<E>> {
        let tree = fresh.join("tree");
        fs::create_dir(fresh)?;
        fs::DirBuilder::new().mode(0o755).create(&tree)?;
        let made = make(&tree).map_err(LayerError::Made)?;
        if let Some(left) = &made.left {
            fs::write(fresh.join("left"), left)?;
        }
        let (head, entries) = make::look(&tree, made, most)?;
        record::write(&fresh.join("record"), &head, &entries)?;
        verify::note_boot(fresh)?;
        Ok(())
    }
}

/// The files of `entries` that are in the pack, in their order there.
pub(super) fn packed(entries: &Snapshot) -> impl Iterator<Item = (&Path, crate::tree::Slot)> {
    entries.iter().filter_map(|(path, entry)| Some((path, entry.slot()?)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn fill(tree: &Path) -> Result<Made, io::Error> {
        fs::create_dir(tree.join("d"))?;
        fs::write(tree.join("d/f"), "text")?;
        Ok(Made { remarks: vec!["a remark".into()], ..Made::default() })
    }

    fn a_bit() -> bool {
        std::thread::sleep(Duration::from_millis(5));
        true
    }

    #[test]
    fn made_once_however_many_want_it() {
        let dir = tempfile::tempdir().unwrap();
        let count = AtomicUsize::new(0);
        let stores = [(); 2].map(|()| LayerStore::open(dir.path()).unwrap());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (stores, count) = (&stores, &count);
                scope.spawn(move || {
                    let make = |tree: &Path| {
                        count.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(50));
                        fill(tree)
                    };
                    let layer = stores[number % 2].obtain("k", Most::default(), &a_bit, make).unwrap();
                    let snapshot = Snapshot::take(&layer.tree(), None, None, Most::default()).unwrap();
                    assert_eq!(layer.snapshot().tree_md5(Path::new("/")), snapshot.tree_md5(Path::new("/")));
                    assert_eq!(layer.remarks(), ["a remark"]);
                });
            }
        });
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn what_fails_leaves_nothing_and_what_is_broken_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(dir.path()).unwrap();
        let fails = |tree: &Path| {
            fs::write(tree.join("half"), "")?;
            Err(io::Error::other("no"))
        };
        let error = store.obtain("k", Most::default(), &a_bit, fails).unwrap_err();
        assert!(matches!(error, LayerError::Made(_)), "{error}");
        let error = store.obtain("k", Most { entries: 1, ..Most::default() }, &a_bit, fill).unwrap_err();
        assert!(matches!(error, LayerError::Snapshot(_)), "{error}");
        assert!(!store.unfinished("k").exists() && !dir.path().join("k").exists());
        drop(store.obtain("k", Most::default(), &a_bit, fill).unwrap());
        store.let_go();
        fs::write(dir.path().join("k/record"), "rubbish").unwrap();
        let layer = store.obtain("k", Most::default(), &a_bit, fill).unwrap();
        assert_eq!(layer.snapshot().files(), 1);
    }

    #[test]
    fn what_a_killed_run_left_is_swept_unless_it_is_in_the_making() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(dir.path()).unwrap();
        for key in ["a", "b"] {
            fs::create_dir_all(store.unfinished(key).join("tree/x")).unwrap();
        }
        let _held = store.lock("a", Share::Alone).unwrap().unwrap();
        LayerStore::open(dir.path()).unwrap();
        assert!(store.unfinished("a").exists() && !store.unfinished("b").exists());
    }
}
