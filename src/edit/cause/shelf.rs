//! The tree's contents at any moment of the phase, for searching.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tree::{Kind, Pack, PackMap, Slot, Snapshot, hex};

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
    files: BTreeMap<PathBuf, Vec<Version>>,
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
        let mut shelf = Shelf { map: pack.map().unwrap_or_default(), files: BTreeMap::new(), skipped: 0 };
        for (path, entry) in before.iter() {
            match entry.kind {
                Kind::File { pack: Some(slot), .. } => {
                    shelf.files.insert(path.to_owned(), vec![Version { since: 0, data: Data::Slot(slot) }]);
                }
                Kind::File { pack: None, .. } => shelf.skipped += 1,
                _ => {}
            }
        }
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
        let changed =
            |path: &Path, md5: &Option<String>| last.get(path).cloned().unwrap_or_else(|| pristine(path)) != *md5;
        for (path, entry) in after.iter().flat_map(|a| a.iter()) {
            let Kind::File { md5, pack: Some(slot) } = entry.kind else { continue };
            if changed(path, &Some(hex(&md5))) && !last.contains_key(path) {
                shelf.files.insert(path.to_owned(), vec![Version { since: 0, data: Data::Slot(slot) }]);
            }
        }
        shelf
    }

    fn put(&mut self, path: &Path, since: u64, md5: Option<&str>, contents: &dyn Fn(&str) -> Option<Vec<u8>>) {
        let Some(data) = md5.and_then(contents) else { return };
        let versions = self.files.entry(path.to_owned()).or_default();
        versions.retain(|v| v.since < since || since == 0 && v.since > 0);
        versions.push(Version { since, data: Data::Bytes(data) });
        versions.sort_by_key(|v| v.since);
    }

    /// The files and their contents at a moment.
    pub fn at(&self, moment: u64) -> impl Iterator<Item = (&Path, &[u8])> {
        self.files.iter().filter_map(move |(path, versions)| {
            let version = versions.iter().rev().find(|v| v.since <= moment)?;
            Some((path.as_path(), self.bytes(&version.data)?))
        })
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
