//! What differs between two snapshots.

use std::path::{Path, PathBuf};

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
    let change = |path: &'a Path, old: Option<&'a Entry>, new: Option<&'a Entry>| {
        let kind = match (old, new) {
            (Some(old), Some(new)) if same(old, new) => return None,
            (Some(old), Some(new)) if counts(old) && counts(new) => ChangeKind::Modified,
            (_, Some(new)) if counts(new) => ChangeKind::Added,
            (Some(old), _) if counts(old) => ChangeKind::Removed,
            _ => return None,
        };
        Some(Change { path: path.to_owned(), kind, before: old, after: new })
    };
    if let Some(paths) = before.apart(after) {
        return paths.into_iter().filter_map(|path| change(path, before.get(path), after.get(path))).collect();
    }
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    let mut found = Vec::new();
    while let Some(path) = old.peek().map(|o| o.0).into_iter().chain(new.peek().map(|n| n.0)).min() {
        let old = old.next_if(|o| o.0 == path).map(|o| o.1);
        let new = new.next_if(|n| n.0 == path).map(|n| n.1);
        found.extend(change(path, old, new));
    }
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

    #[test]
    fn what_lies_over_a_shared_tree_is_all_that_is_compared() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["changed", "kept", "removed"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let before = Snapshot::take(dir.path(), None, None, Most::default()).unwrap();
        let other = before.get(Path::new("kept")).cloned();
        let over =
            [("changed", other.clone()), ("kept", other.clone()), ("new", other), ("removed", None), ("x", None)];
        let after = before.with(over.map(|(path, entry)| (PathBuf::from(path), entry)).into());
        let paths: Vec<_> = after.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["changed", "kept", "new"]);
        let own = Snapshot::of(after.iter().map(|(path, entry)| (path.to_owned(), entry.clone())).collect());
        let seen =
            |after: &Snapshot| changes(&before, after).iter().map(|c| (c.path.clone(), c.kind)).collect::<Vec<_>>();
        let want = [("changed", ChangeKind::Modified), ("new", ChangeKind::Added), ("removed", ChangeKind::Removed)];
        assert_eq!(seen(&after), want.map(|(p, k)| (p.into(), k)));
        assert_eq!(seen(&own), seen(&after));
    }
}
