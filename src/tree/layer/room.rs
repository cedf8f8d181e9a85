//! The room that layers take: counted, and given back by removing those that were not used for the longest time.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use super::lock::Share;
use super::record;
use super::store::{LayerStore, UNFINISHED};
use crate::tree::remove;

/// The room of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    pub key: String,
    /// On the disk.
    pub bytes: u64,
    pub used: SystemTime,
}

impl LayerStore {
    /// The layers that are complete, by name.
    pub fn keys(&self) -> io::Result<Vec<String>> {
        let mut keys = Vec::new();
        for item in fs::read_dir(&self.dir)? {
            let (item, name) = item.map(|i| (i.file_type(), i.file_name().to_string_lossy().into_owned()))?;
            if item?.is_dir() && !name.starts_with(UNFINISHED) {
                keys.push(name);
            }
        }
        keys.sort();
        Ok(keys)
    }

    /// What each layer takes; the one that was used last comes last.
    pub fn room(&self) -> io::Result<Vec<Room>> {
        let room = |key: String| {
            let lock = fs::metadata(self.dir.join(format!("{key}.lock")));
            let used = lock.and_then(|lock| lock.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            Room { bytes: self.bytes(&key), key, used }
        };
        let mut all: Vec<Room> = self.keys()?.into_iter().map(room).collect();
        all.sort_by_key(|room| room.used);
        Ok(all)
    }

    /// Removes layers, the one unused for the longest time first, until all take no more than `most` bytes. Those in use
    /// stay. Gives how many went, and their bytes.
    pub fn shrink(&self, most: u64) -> io::Result<(usize, u64)> {
        self.let_go();
        let all = self.room()?;
        let mut left: u64 = all.iter().map(|room| room.bytes).sum();
        let mut gone = (0, 0);
        for room in all {
            if left <= most {
                break;
            }
            if let Some(bytes) = self.remove(&room.key)? {
                left = left.saturating_sub(room.bytes);
                gone = (gone.0 + 1, gone.1 + bytes);
            }
        }
        Ok(gone)
    }

    fn bytes(&self, key: &str) -> u64 {
        let dir = self.dir.join(key);
        let own = fs::read_dir(&dir).into_iter().flatten().flatten().filter_map(|item| item.metadata().ok());
        let own: u64 = own.filter(fs::Metadata::is_file).map(|meta| meta.blocks() * 512).sum();
        own + record::head(&dir.join("record")).map_or(0, |head| head.disk)
    }

    /// Removes a layer that nobody uses; gives the bytes that it took.
    pub fn remove(&self, key: &str) -> io::Result<Option<u64>> {
        let Some(_held) = self.lock(key, Share::Alone)? else { return Ok(None) };
        let (dir, going) = (self.dir.join(key), self.unfinished(key));
        let bytes = self.bytes(key);
        remove(&going)?;
        match fs::rename(&dir, &going) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        remove(&going)?;
        fs::remove_file(self.dir.join(format!("{key}.lock")))?;
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tree::Most;
    use crate::tree::layer::Made;

    #[test]
    fn what_was_not_used_for_long_goes_first_and_what_is_used_stays() {
        let dir = tempfile::tempdir().unwrap();
        let store = LayerStore::open(dir.path()).unwrap();
        let make = |tree: &Path| -> io::Result<Made> {
            fs::write(tree.join("f"), vec![7; 100_000])?;
            Ok(Made::default())
        };
        let get = |key: &str| store.obtain(key, Most::default(), &|| true, make).unwrap();
        for (age, key) in ["old", "older", "oldest"].iter().enumerate() {
            get(key);
            let time = SystemTime::now() - std::time::Duration::from_secs(100 + age as u64);
            fs::File::open(dir.path().join(format!("{key}.lock"))).unwrap().set_modified(time).unwrap();
        }
        let each = store.room().unwrap()[0].bytes;
        assert!((100_000..150_000).contains(&each), "{each}");
        let held = get("oldest");
        assert_eq!(store.shrink(each * 2).unwrap(), (1, each));
        assert_eq!(store.keys().unwrap(), ["old", "oldest"]);
        assert_eq!(store.shrink(0).unwrap(), (1, each));
        assert!(held.tree().join("f").exists());
        drop(held);
        assert_eq!(store.shrink(0).unwrap(), (1, each));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
