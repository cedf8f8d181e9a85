//! `metadata/md5-cache`: metadata that need not be computed again (PMS chapter 14, Portage's md5-dict format).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::masters::RepositorySet;
use super::metadata::{self, Metadata};
use super::repository::EbuildFile;
use super::text;

/// The metadata caches of a repository; remembers the checksums of eclasses.
pub struct Md5Cache<'a> {
    set: &'a RepositorySet,
    digests: Mutex<HashMap<PathBuf, Option<String>>>,
}

impl<'a> Md5Cache<'a> {
    /// The cache of the set's own repository.
    pub fn new(set: &'a RepositorySet) -> Md5Cache<'a> {
        Md5Cache { set, digests: Mutex::default() }
    }

    /// The cached metadata of an ebuild, if an entry is there and holds: its `_md5_` is that of the ebuild, each
    /// checksum of `_eclasses_` is that of the eclass which `inherit` would now take. Anything else, a file that
    /// can't be read included, means that the ebuild has to be sourced.
    pub fn load(&self, ebuild: &EbuildFile) -> Option<Metadata> {
        let directory = self.set.repository.location.join("metadata/md5-cache");
        let path = directory.join(&ebuild.cpv.category).join(ebuild.cpv.pf());
        let map = parse(&text::read(&path).ok()??);
        let ours = digest(&ebuild.path)?;
        if !map.get("_md5_")?.eq_ignore_ascii_case(&ours) {
            return None;
        }
        let eclasses = metadata::eclasses(map.get("_eclasses_").map_or("", String::as_str));
        let holds = |(name, expected): &(String, String)| {
            let found = self.set.find_eclass(name).and_then(|(_, path)| self.eclass_digest(path));
            found.as_ref() == Some(expected)
        };
        eclasses.iter().all(holds).then(|| Metadata::from_map(&map))
    }

    fn eclass_digest(&self, path: PathBuf) -> Option<String> {
        let mut digests = self.digests.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        digests.entry(path).or_insert_with_key(|path| digest(path)).clone()
    }
}

fn digest(path: &Path) -> Option<String> {
    Some(format!("{:x}", md5::compute(text::read_bytes(path).ok()??)))
}

fn parse(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
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
        let ebuild = repository.ebuilds("a-b", "c").unwrap().items.remove(0);
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
