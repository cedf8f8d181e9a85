//! Which ebuilds a change of files touches: those that a phase would see it in.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::gentoo::repository::EbuildFile;

/// Changed files, relative to the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    paths: BTreeSet<PathBuf>,
}

impl<P: Into<PathBuf>> FromIterator<P> for Touched {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Touched {
        Touched { paths: paths.into_iter().map(Into::into).collect() }
    }
}

impl Touched {
    /// Those of the files that are ebuilds.
    pub fn ebuilds(&self) -> impl Iterator<Item = &Path> {
        let paths = self.paths.iter().map(PathBuf::as_path);
        paths.filter(|path| path.extension() == Some(OsStr::new("ebuild")) && path.components().count() == 3)
    }

    /// Whether a file was changed that can show in any ebuild.
    pub fn is_beyond(&self) -> bool {
        self.below(Path::new("profiles"))
            || ["layout.conf", "ebaudit.toml"].iter().any(|name| self.has(&Path::new("metadata").join(name)))
    }

    /// The change as the repository at `location` sees it; none where that is not there.
    pub fn of(&self, location: &Path) -> Option<Look<'_>> {
        let root = location.canonicalize().ok()?;
        let mut look = Look { paths: self, root, eclasses: Some(BTreeSet::new()) };
        look.eclasses = look.changed_eclasses();
        Some(look)
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    /// Whether a file below a folder was changed.
    fn below(&self, dir: &Path) -> bool {
        self.paths.range(dir.to_owned()..).next().is_some_and(|path| path.starts_with(dir))
    }
}

/// Changed files, and where links of the repository lead.
#[derive(Debug)]
pub struct Look<'a> {
    paths: &'a Touched,
    root: PathBuf,
    /// The names of the changed eclasses; none where all of them may be others.
    eclasses: Option<BTreeSet<String>>,
}

impl Look<'_> {
    /// Whether an ebuild is touched: by itself, its `files/`, its Manifest or its folder, wherever links lead, or by an
    /// eclass. `inherited` gives the names of its eclasses, none where they can't be told; it is asked only where that matters.
    pub fn touch(&self, ebuild: &EbuildFile, inherited: impl FnOnce() -> Option<Vec<String>>) -> bool {
        let path = ebuild.relative();
        let package = path.parent().unwrap_or(Path::new(""));
        // a folder in the list of changed files is a link that was changed
        let links = package.parent().is_some_and(|category| self.paths.has(category)) || self.paths.has(package);
        let own = [path.as_path(), &package.join("Manifest")].into_iter().any(|file| self.shows(file));
        let by_eclass = || match &self.eclasses {
            None => true,
            Some(changed) if changed.is_empty() => false,
            Some(changed) => inherited().is_none_or(|names| names.iter().any(|name| changed.contains(name))),
        };
        links || own || self.shows_in(&package.join("files")) || by_eclass()
    }

    /// Those that are in the list, there or not any more, and those that lead to a file of the list.
    fn changed_eclasses(&self) -> Option<BTreeSet<String>> {
        let eclass = Path::new("eclass");
        if self.paths.has(eclass) {
            return None;
        }
        let there = std::fs::read_dir(self.root.join(eclass)).into_iter().flatten().flatten();
        let there = there.map(|item| eclass.join(item.file_name())).filter(|path| self.shows(path));
        let listed = self.paths.paths.iter().filter(|path| path.parent() == Some(eclass)).cloned();
        let eclasses = there.chain(listed).filter(|path| path.extension() == Some(OsStr::new("eclass")));
        Some(eclasses.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
    }

    /// Whether a file, or what it leads to, was changed.
    fn shows(&self, path: &Path) -> bool {
        self.paths.has(path) || self.real(path).is_some_and(|real| self.paths.has(&real))
    }

    /// Whether anything in a folder was changed, wherever the folder and links in it lead.
    fn shows_in(&self, dir: &Path) -> bool {
        let links =
            || walkdir::WalkDir::new(self.root.join(dir)).into_iter().flatten().filter(|item| item.path_is_symlink());
        let below = |path: &Path| self.real(path).is_some_and(|real| self.paths.below(&real));
        self.paths.below(dir) || below(dir) || links().any(|link| below(link.path()))
    }

    /// Where a path of the repository really lies in it.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let real = self.root.join(path).canonicalize().ok()?;
        real.strip_prefix(&self.root).ok().map(Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gentoo::repository::Repository;

    #[test]
    fn what_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x\n").unwrap();
        };
        put("profiles/repo_name");
        for name in ["a", "b", "c", "d", "e", "f"] {
            put(&format!("app-misc/{name}/{name}-1.ebuild"));
        }
        put("x/g/g-1.ebuild");
        put("app-misc/b/files/x/y.patch");
        put("lib/h.txt");
        put("eclass/one.eclass");
        put("lib/two.eclass");
        let link = |to: &str, from: &str| std::os::unix::fs::symlink(to, dir.path().join(from)).unwrap();
        link("../x/g", "app-misc/g");
        std::fs::create_dir_all(dir.path().join("app-misc/h/files")).unwrap();
        put("app-misc/h/h-1.ebuild");
        link("../../../lib/h.txt", "app-misc/h/files/h.txt");
        link("../lib/two.eclass", "eclass/two.eclass");
        let repository = Repository::open_untrusted(dir.path()).unwrap();
        let touched = |changed: &[&str], name: &str, inherited: Option<&[&str]>| {
            let ebuild = repository.ebuilds("app-misc", name).items.remove(0);
            let names = inherited.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
            changed.iter().collect::<Touched>().of(dir.path()).unwrap().touch(&ebuild, || names)
        };
        let none = Some(&[][..]);
        assert!(touched(&["app-misc/a/a-1.ebuild"], "a", none) && !touched(&["app-misc/a/a-1.ebuild"], "b", none));
        assert!(touched(&["app-misc/b/files/x/y.patch"], "b", none) && touched(&["app-misc/c/Manifest"], "c", none));
        assert!(!touched(&["app-misc/d/metadata.xml", "README.md", "metadata/md5-cache/app-misc/d-1"], "d", none));
        assert!(
            !touched(&["eclass/one.eclass"], "e", Some(&["two"]))
                && touched(&["eclass/one.eclass"], "e", Some(&["two", "one"]))
        );
        assert!(touched(&["eclass/one.eclass"], "f", None), "what can't be sourced may have inherited it");
        assert!(touched(&["eclass/gone.eclass"], "f", Some(&["gone"])));
        assert!(!touched(&["eclass/tests/one.sh"], "f", Some(&["one"])));
        // by links
        assert!(touched(&["x/g/g-1.ebuild"], "g", none) && touched(&["app-misc/g"], "g", none));
        assert!(touched(&["lib/h.txt"], "h", none) && !touched(&["lib/h.txt"], "a", none));
        assert!(
            touched(&["lib/two.eclass"], "a", Some(&["two"])) && !touched(&["lib/two.eclass"], "a", Some(&["one"]))
        );
        assert!(["profiles/arch/make.defaults"].iter().collect::<Touched>().is_beyond());
    }
}
