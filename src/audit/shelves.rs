//! What the search for causes needs of the tree: the contents at each moment, made when first asked for, and the files
//! of a call.

use std::cell::OnceCell;
use std::path::Path;

use super::edits::Scene;
use crate::edit::cause::{Event, Own, Shelf};
use crate::edit::outcome;
use crate::phase::trace::{Bytes, Record, State, Stream};

/// Bytes of a call's files that are looked at for the cause of a dead command.
const OWN_LIMIT: usize = 64 << 20;

/// The tree's contents at any moment, made once.
pub struct Shelves<'a> {
    scene: &'a Scene<'a>,
    records: &'a [Record],
    made: OnceCell<Option<Shelf>>,
}

impl<'a> Shelves<'a> {
    pub fn new(scene: &'a Scene<'a>, records: &'a [Record]) -> Shelves<'a> {
        Shelves { scene, records, made: OnceCell::new() }
    }

    /// None where the phases did not come as far as a tree.
    pub fn get(&self) -> Option<&Shelf> {
        self.made.get_or_init(|| shelf(self.scene, self.records)).as_ref()
    }
}

fn shelf(scene: &Scene, records: &[Record]) -> Option<Shelf> {
    let md5 = |state: &State| state.md5().map(str::to_owned);
    let mut events = Vec::new();
    for record in records {
        for target in &record.targets {
            let Some(path) = scene.names.below_work(outcome::path(&target.path)) else { continue };
            events.push(Event {
                path: path.to_path_buf(),
                start: record.start,
                end: record.end,
                before: md5(&target.before),
                after: md5(&target.after),
            });
        }
    }
    Some(Shelf::new(scene.before?, scene.after, scene.pack?, &events, &|m| scene.contents(m)))
}

/// A file that a call read, and what the call made of it, where that is known.
pub struct Input<'a> {
    pub path: &'a Bytes,
    pub before: &'a State,
    pub after: Option<&'a State>,
}

/// The files that a call names, or the one that was its standard input.
pub fn inputs(record: &Record) -> Vec<Input<'_>> {
    if let (Stream::File { path, contents }, true) = (&record.stdin, record.targets.is_empty()) {
        let after = match &record.stdout {
            Stream::File { contents, .. } => Some(contents),
            _ => None,
        };
        return vec![Input { path, before: contents, after }];
    }
    record.targets.iter().map(|t| Input { path: &t.path, before: &t.before, after: Some(&t.after) }).collect()
}

/// The files of a call with their contents.
pub fn own(record: &Record, scene: &Scene) -> Vec<Own> {
    let one = |input: Input| {
        let path = outcome::path(input.path);
        let content = scene.contents(input.before.md5()?)?;
        let relative = scene.names.below_work(path).map_or_else(|| path.to_path_buf(), Path::to_path_buf);
        let pristine = pristine(&relative, scene).filter(|p| *p != content);
        Some(Own { shown: scene.names.show(path), path: relative, content, pristine })
    };
    let mut bytes = 0;
    let bounded = inputs(record).into_iter().filter_map(one).take_while(|own| {
        bytes += own.content.len();
        bytes < OWN_LIMIT
    });
    bounded.collect()
}

fn pristine(path: &Path, scene: &Scene) -> Option<Vec<u8>> {
    scene.pack?.get(path, scene.before?.get(path)?.slot()?).ok()
}
