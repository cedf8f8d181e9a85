//! What differs between two snapshots.

use std::path::PathBuf;

use super::snapshot::{Entry, Kind, Snapshot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Modified,
    Added,
    Removed,
}

#[derive(Clone, Debug)]
pub struct Change<'a> {
    pub path: PathBuf,
    pub kind: ChangeKind,
    pub before: Option<&'a Entry>,
    pub after: Option<&'a Entry>,
}

/// The files and links whose contents differ, in order of path. A change of permission bits alone is none, nor is
/// a directory that came or went.
pub fn changes<'a>(before: &'a Snapshot, after: &'a Snapshot) -> Vec<Change<'a>> {
    let mut found: Vec<Change<'a>> = Vec::new();
    for (path, old) in &before.entries {
        let new = after.entries.get(path);
        let kind = match new {
            Some(new) if same(old, new) => continue,
            Some(new) if counts(old) && counts(new) => ChangeKind::Modified,
            Some(new) if counts(new) => ChangeKind::Added,
            _ if counts(old) => ChangeKind::Removed,
            _ => continue,
        };
        found.push(Change { path: path.clone(), kind, before: Some(old), after: new });
    }
    for (path, new) in &after.entries {
        if counts(new) && !before.entries.contains_key(path) {
            found.push(Change { path: path.clone(), kind: ChangeKind::Added, before: None, after: Some(new) });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn counts(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::File { .. } | Kind::Link(_))
}

fn same(a: &Entry, b: &Entry) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::File { md5: a, .. }, Kind::File { md5: b, .. }) => a == b,
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Most;
    use std::fs;

    #[test]
    fn sees_modified_added_and_removed_but_no_touch() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["changed", "kept", "removed"] {
            fs::write(at(name), name).unwrap();
        }
        let before = Snapshot::take(dir.path(), None, None, Most::default()).unwrap();
        fs::write(at("changed"), "other").unwrap();
        fs::remove_file(at("removed")).unwrap();
        fs::write(at("kept.new"), "kept").unwrap();
        fs::rename(at("kept.new"), at("kept")).unwrap();
        fs::create_dir(at("dir")).unwrap();
        fs::write(at("dir/added"), "").unwrap();
        let after = Snapshot::take(dir.path(), Some(&before), None, Most::default()).unwrap();
        let seen: Vec<_> =
            changes(&before, &after).iter().map(|c| (c.path.to_str().unwrap().to_owned(), c.kind)).collect();
        let want =
            [("changed", ChangeKind::Modified), ("dir/added", ChangeKind::Added), ("removed", ChangeKind::Removed)];
        assert_eq!(seen, want.map(|(p, k)| (p.to_owned(), k)));
    }
}
