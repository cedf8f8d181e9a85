//! The entries of a whole tree in order of path: made once, then only looked at, perhaps by many.

use std::cmp::Ordering;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::hash::Md5;
use super::snapshot::{Entry, Kind};

/// Entries by their path relative to the root, which itself is left out. No path is there twice.
#[derive(Debug, Default)]
pub struct Entries {
    all: Box<[(PathBuf, Entry)]>,
    /// Places of the regular files, in order of md5; made when first asked for.
    by_md5: OnceLock<Box<[u32]>>,
    sum: OnceLock<String>,
}

impl FromIterator<(PathBuf, Entry)> for Entries {
    fn from_iter<I: IntoIterator<Item = (PathBuf, Entry)>>(entries: I) -> Entries {
        let mut all: Vec<_> = entries.into_iter().collect();
        all.sort_by(|(a, _), (b, _)| order(a, b));
        Entries { all: all.into(), ..Entries::default() }
    }
}

impl Entries {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.place(path).ok().map(|at| &self.all[at].1)
    }

    /// Where a path stands, or would.
    pub fn place(&self, path: &Path) -> Result<usize, usize> {
        self.all.binary_search_by(|(known, _)| order(known, path))
    }

    /// Those from one place up to another.
    pub fn between(&self, from: usize, to: usize) -> &[(PathBuf, Entry)] {
        self.all.get(from..to).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.all.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// The paths that lie below another one.
    pub fn below(&self, path: &Path) -> impl Iterator<Item = &Path> {
        let from = self.place(path).map_or_else(|at| at, |at| at + 1);
        let dir = path.as_os_str().as_bytes().to_vec();
        // what lies in a folder stands right behind it
        self.all[from..].iter().map(|(path, _)| path.as_path()).take_while(move |path| {
            path.as_os_str().as_bytes().strip_prefix(&dir[..]).is_some_and(|rest| rest.first() == Some(&b'/'))
        })
    }

    /// The regular files with an md5, in order of path.
    pub fn with_md5(&self, md5: &Md5) -> impl Iterator<Item = (&Path, &Entry)> {
        let places = self.by_md5();
        let from = places.partition_point(|at| self.md5(*at).is_some_and(|known| known < md5));
        let here = places[from..].iter().take_while(|at| self.md5(**at) == Some(md5));
        here.map(|at| &self.all[*at as usize]).map(|(path, entry)| (path.as_path(), entry))
    }

    fn by_md5(&self) -> &[u32] {
        self.by_md5.get_or_init(|| {
            let mut places: Vec<u32> = (0..self.all.len() as u32).filter(|at| self.md5(*at).is_some()).collect();
            places.sort_by_key(|at| (self.md5(*at), *at));
            places.into()
        })
    }

    fn md5(&self, at: u32) -> Option<&Md5> {
        match &self.all[at as usize].1.kind {
            Kind::File { md5, .. } => Some(md5),
            _ => None,
        }
    }

    /// What `make` gives, which is the same each time, made once.
    pub fn sum(&self, make: impl FnOnce() -> String) -> &str {
        self.sum.get_or_init(make)
    }
}

/// The order of [`Path`], of paths that have no `.`, no `..` and one separator at a time: a separator comes before all other bytes.
pub fn order(a: &Path, b: &Path) -> Ordering {
    let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
    let apart = a.iter().zip(b).position(|(a, b)| a != b);
    match apart.map(|at| (a[at], b[at])) {
        None => a.len().cmp(&b.len()),
        Some((b'/', _)) => Ordering::Less,
        Some((_, b'/')) => Ordering::Greater,
        Some((a, b)) => a.cmp(&b),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_paths(a in "[ab.!/-]{1,6}", b in "[ab.!/-]{1,6}") {
            let clean = |text: &str| Path::new(text).components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect::<PathBuf>();
            let (a, b) = (clean(&a), clean(&b));
            prop_assert_eq!(order(&a, &b), a.cmp(&b));
        }
    }
}
