//! `metadata/md5-cache`: metadata that need not be computed again (PMS chapter 14, Portage's md5-dict format).

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::masters::RepositorySet;
use super::metadata::{self, Metadata};
use super::repository::EbuildFile;
use super::within::Within;

/// Why an entry does not serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheMiss {
    #[error("there is no cache entry")]
    Absent,
    /// A line of the entry is no `KEY=value`, counted from 1.
    #[error("line {0} of the cache entry is no KEY=value")]
    Corrupt(usize),
    #[error("the ebuild can't be read")]
    NoEbuild,
    #[error("the cache entry was made from another text of the ebuild")]
    Ebuild,
    #[error("the cache entry was made with another text of the eclass {0}")]
    Eclass(String),
}

/// The metadata caches of a repository; remembers the checksums of eclasses.
pub struct Md5Cache<S> {
    set: S,
    digests: Mutex<HashMap<String, Option<String>>>,
}

impl<S: Borrow<RepositorySet>> Md5Cache<S> {
    /// The cache of the set's own repository.
    pub fn new(set: S) -> Md5Cache<S> {
        Md5Cache { set, digests: Mutex::default() }
    }

    /// The repository and its masters.
    pub fn set(&self) -> &RepositorySet {
        self.set.borrow()
    }

    /// Where the entry of an ebuild is or would be.
    pub fn path(&self, ebuild: &EbuildFile) -> PathBuf {
        let directory = self.set().repository.location.join("metadata/md5-cache");
        directory.join(&ebuild.cpv.category).join(ebuild.cpv.pf())
    }

    /// The cached metadata of an ebuild, if an entry is there and holds: its `_md5_` is that of the ebuild, each
    /// checksum of `_eclasses_` is that of the eclass which `inherit` would now take. Anything else, a file that
    /// can't be read included, means that the ebuild has to be sourced.
    pub fn load(&self, ebuild: &EbuildFile) -> Option<Metadata> {
        self.look(ebuild).ok()
    }

    /// [`Md5Cache::load`], or why the entry does not serve.
    pub fn look(&self, ebuild: &EbuildFile) -> Result<Metadata, CacheMiss> {
        let text = self.set().repository.within.read(&self.path(ebuild)).ok().flatten().ok_or(CacheMiss::Absent)?;
        let map = parse(&text)?;
        let ours = digest(&ebuild.path, &self.set().repository.within).ok_or(CacheMiss::NoEbuild)?;
        if !map.get("_md5_").is_some_and(|theirs| theirs.eq_ignore_ascii_case(&ours)) {
            return Err(CacheMiss::Ebuild);
        }
        for (name, expected) in metadata::eclasses(map.get("_eclasses_").map_or("", String::as_str)) {
            if self.eclass_digest(&name).as_ref() != Some(&expected) {
                return Err(CacheMiss::Eclass(name));
            }
        }
        Ok(Metadata::from_map(&map))
    }

    fn eclass_digest(&self, name: &str) -> Option<String> {
        let mut digests = self.digests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(known) = digests.get(name) {
            return known.clone();
        }
        let found = self.set().find_eclass(name).and_then(|(_, path)| digest(&path, &self.set().within_of(&path)));
        digests.insert(name.to_owned(), found.clone());
        found
    }
}

fn digest(path: &Path, within: &Within) -> Option<String> {
    Some(format!("{:x}", md5::compute(within.read_bytes(path).ok()??)))
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, CacheMiss> {
    let pair = |(index, line): (usize, &str)| {
        let (key, value) = line.split_once('=').ok_or(CacheMiss::Corrupt(index + 1))?;
        Ok((key.to_owned(), value.to_owned()))
    };
    text.lines().enumerate().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::super::config::PortageConfig;
    use super::super::repository::Repository;
    use super::*;
    use std::fs;

    #[test]
    fn holds_only_with_all_checksums() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("profiles/repo_name", "one");
        write("metadata/layout.conf", "masters =");
        write("eclass/e.eclass", "eclass");
        write("a-b/c/c-1.ebuild", "ebuild");
        let md5 = |text: &str| format!("{:x}", md5::compute(text));
        let entry = format!("SLOT=0/1\n_eclasses_=e\t{}\n_md5_={}\n", md5("eclass"), md5("ebuild"));
        write("metadata/md5-cache/a-b/c-1", &entry);
        let repository = Repository::open(dir.path()).unwrap();
        let ebuild = repository.ebuilds("a-b", "c").items.remove(0);
        let set = RepositorySet::resolve(repository, &[], &PortageConfig::default()).unwrap();
        let load = || Md5Cache::new(&set).load(&ebuild);
        let metadata = load().unwrap();
        assert_eq!((metadata.subslot.as_str(), metadata.inherited), ("1", vec!["e".to_owned()]));
        write("eclass/e.eclass", "changed");
        assert!(load().is_none());
        write("eclass/e.eclass", "eclass");
        assert!(load().is_some());
        write("a-b/c/c-1.ebuild", "changed");
        assert!(load().is_none());
        fs::remove_file(dir.path().join("metadata/md5-cache/a-b/c-1")).unwrap();
        assert!(load().is_none());
    }
}
