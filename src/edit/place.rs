//! Traced calls gathered by the place in the text that made them.

use std::collections::BTreeMap;

use super::asked::asked;
use super::site::{Site, Sources};
use crate::phase::stack;
use crate::phase::trace::{Record, Starter, Tool};
use crate::report::model::{By, EditKind};

/// A place in the text with all its traced calls, in order of time.
#[derive(Debug)]
pub struct Place {
    pub kind: EditKind,
    pub by: By,
    pub site: Site,
    /// Whether the exit status of any of its calls is taken for an answer.
    pub asked: bool,
    pub records: Vec<Record>,
}

impl From<Tool> for EditKind {
    fn from(tool: Tool) -> EditKind {
        match tool {
            Tool::Sed => EditKind::Sed,
            Tool::Perl => EditKind::Perl,
            Tool::Patch => EditKind::Patch,
        }
    }
}

/// The places of `records`, in order of their first call, and the tools of the calls whose stack can't be read, which are
/// left out.
pub fn places(records: Vec<Record>, sources: &mut Sources) -> (Vec<Place>, Vec<EditKind>) {
    let mut found: Vec<Place> = Vec::new();
    let mut index = BTreeMap::new();
    let mut lost = Vec::new();
    for record in records {
        let kind = EditKind::from(record.tool);
        let frames = stack::parse(&record.at.0);
        let called = sources.site(&frames, kind, &record.argv);
        let explicit = called.as_ref().is_some_and(|s| s.call().is_some_and(|c| c.tool == Some(kind)));
        let listed = record.patch.as_ref().filter(|_| !explicit).and_then(|p| {
            // applied by `default`: the entry of PATCHES is what the ebuild says of it
            sources.patches_site(&String::from_utf8_lossy(&p.0))
        });
        let Some(site) = listed.or(called) else {
            lost.push(kind);
            continue;
        };
        let by = match record.starter {
            Starter::Source(_) => By::Source,
            Starter::Phase(_) => site.source.by,
        };
        let asked = asked(&site, &frames, sources);
        let key = (site.key(), kind as u8, by as u8);
        let at = *index.entry(key).or_insert_with(|| {
            found.push(Place { kind, by, site, asked: false, records: Vec::new() });
            found.len() - 1
        });
        found[at].asked |= asked;
        found[at].records.push(record);
    }
    (found, lost)
}
