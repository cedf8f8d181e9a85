//! The tree's contents at any moment of the phase, for searching.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::tree::{Entry, Kind, Pack, PackMap, Slot, Snapshot, changes, hex};

/// A file's contents from a moment on (nanoseconds of the trace's clock).
#[derive(Clone, Debug)]
struct Version {
    since: u64,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    Slot(Slot),
    Bytes(Vec<u8>),
}

/// All files whose contents were kept.
#[derive(Debug)]
pub struct Shelf {
    map: PackMap,
    pristine: Snapshot,
    /// What became of the pristine files, and those that are new, by path.
    changed: BTreeMap<OsString, Vec<Version>>,
    /// Files that are too large to be searched.
    pub skipped: usize,
}

/// A change of a file that the trace saw.
#[derive(Debug)]
pub struct Event {
    pub path: PathBuf,
    pub start: u64,
    pub end: u64,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Shelf {
    /// The pristine tree, its changes by `events` (in order of time), and the tree at the end for what changed unseen.
    pub fn new(
        before: &Snapshot,
        after: Option<&Snapshot>,
        pack: &Pack,
        events: &[Event],
        contents: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Shelf {
        let unkept = |(_, entry): &(&Path, &Entry)| matches!(entry.kind, Kind::File { pack: None, .. });
        let skipped = before.iter().filter(unkept).count();
        let map = pack.map().unwrap_or_default();
        let mut shelf = Shelf { map, pristine: before.clone(), changed: BTreeMap::new(), skipped };
        let pristine = |path: &Path| before.md5(path).map(|m| hex(&m));
        let mut last: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        for event in events {
            let known = last.entry(event.path.clone()).or_insert_with(|| pristine(&event.path));
            // an unseen step (a patch, a script) changed it since: we only know that it was before this call
            if *known != event.before {
                shelf.put(&event.path, 0, event.before.as_deref(), contents);
            }
            if event.before != event.after {
                shelf.put(&event.path, event.end, event.after.as_deref(), contents);
            }
            known.clone_from(&event.after);
        }
        let unseen = after.map_or(Vec::new(), |after| changes(before, after));
        for change in unseen.iter().filter(|change| !last.contains_key(&change.path)) {
            if let Some(slot) = change.after.and_then(Entry::slot) {
                let version = Version { since: 0, data: Data::Slot(slot) };
                shelf.changed.insert(change.path.clone().into(), vec![version]);
            }
        }
        shelf
    }

    fn put(&mut self, path: &Path, since: u64, md5: Option<&str>, contents: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let Some(data) = md5.and_then(contents) else { return };
        let kept = self.pristine.get(path).and_then(Entry::slot);
        let first = || kept.map(|slot| Version { since: 0, data: Data::Slot(slot) }).into_iter().collect();
        let versions: &mut Vec<Version> = self.changed.entry(path.into()).or_insert_with(first);
        versions.retain(|v| v.since < since || since == 0 && v.since > 0);
        versions.push(Version { since, data: Data::Bytes(data) });
        versions.sort_by_key(|v| v.since);
    }

    /// The files and their contents at a moment.
    pub fn at(&self, moment: u64) -> impl Iterator<Item = (&Path, &[u8])> {
        let pristine = self.pristine.iter().filter(|(path, _)| !self.changed.contains_key(path.as_os_str()));
        let pristine = pristine.filter_map(|(path, entry)| Some((path, self.map.get(entry.slot()?)?)));
        pristine.chain(self.changed.iter().filter_map(move |(path, versions)| {
            let version = versions.iter().rev().find(|v| v.since <= moment)?;
            Some((Path::new(path), self.bytes(&version.data)?))
        }))
    }

    /// Whether a file has this text at a moment.
    pub fn holds(&self, moment: u64, text: &[u8], ignore_case: bool) -> bool {
        let finder = memchr::memmem::Finder::new(text);
        let lower = text.to_ascii_lowercase();
        self.at(moment).any(|(_, data)| match ignore_case {
            true => memchr::memmem::find(&data.to_ascii_lowercase(), &lower).is_some(),
            false => finder.find(data).is_some(),
        })
    }

    fn bytes<'a>(&'a self, data: &'a Data) -> Option<&'a [u8]> {
        match data {
            Data::Bytes(bytes) => Some(bytes),
            Data::Slot(slot) => self.map.get(*slot),
        }
    }
}
