//! What prepare changed: the files, their md5s, their diffs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::job::Facts;
use crate::edit::budget::Budget;
use crate::escape::escape_path;
use crate::report::model::{ChangeKind, ChangedFile};
use crate::tree::{self, Entry, Kind, Pack, changes, hex, unified};

/// For all diffs of an ebuild.
const TIME: Duration = Duration::from_secs(20);
/// Bytes of all diffs of an ebuild.
const MOST: usize = 32 << 20;

/// The changed files, whose new contents lie below `written`, and of how many the diff is left out since those before took
/// too much time or room; `edits` is filled by the caller.
pub fn changed(facts: &Facts, written: &Path) -> (Vec<ChangedFile>, usize) {
    let (Some(before), Some(after)) = (&facts.before, &facts.after) else { return Default::default() };
    let mut found = Vec::new();
    let (budget, mut bytes, mut left_out) = (Budget::of(TIME), 0, 0);
    for change in changes(before, after) {
        let path = escape_path(&change.path);
        let diff = match (change.kind, change.before, change.after) {
            (tree::ChangeKind::Modified, Some(_), Some(_)) if budget.is_over() || bytes > MOST => {
                left_out += 1;
                None
            }
            (tree::ChangeKind::Modified, Some(old), Some(_)) => {
                diff(&change.path, old, &written.join(&change.path), facts.pack.as_ref())
            }
            _ => None,
        };
        bytes += diff.as_ref().map_or(0, String::len);
        found.push(ChangedFile {
            path,
            change: match change.kind {
                tree::ChangeKind::Modified => ChangeKind::Modified,
                tree::ChangeKind::Added => ChangeKind::Added,
                tree::ChangeKind::Removed => ChangeKind::Removed,
            },
            before: change.before.and_then(md5),
            after: change.after.and_then(md5),
            edits: Vec::new(),
            diff,
        });
    }
    (found, left_out)
}

fn md5(entry: &Entry) -> Option<String> {
    match &entry.kind {
        Kind::File { md5, .. } => Some(hex(md5)),
        _ => None,
    }
}

fn diff(path: &Path, old: &Entry, new: &Path, pack: Option<&Pack>) -> Option<String> {
    let slot = old.slot()?;
    let meta = fs::symlink_metadata(new).ok()?;
    if !meta.is_file() || meta.len() as usize > tree::DIFF_LIMIT {
        return None;
    }
    let old = pack?.get(path, slot).ok()?;
    unified(&escape_path(path), &old, &tree::untrusted::read(new, tree::DIFF_LIMIT as u64).ok()?)
}
