//! What of the repositories the programs of an ebuild may read: its package's folder and the eclasses. Whoever writes the
//! ebuild may write links, too: one that leads out of all repositories of the set opens nothing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::masters::RepositorySet;
use super::repository::EbuildFile;

/// Trees and files of repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub read: Vec<PathBuf>,
    /// What is not to be read although it lies in one of these, or in a tree of the toolchain: credentials of a checkout,
    /// and the repositories themselves.
    pub hide: Vec<PathBuf>,
}

/// Why an ebuild's files can't be shown to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShownError {
    #[error(
        "{} leads by a link out of its repository or to the whole of it, where nothing may be read; put a copy in its place, or list the \
         repository that it leads to among the masters",
        .0.display()
    )]
    LeadsOut(PathBuf),
    #[error("{} has more than {MAX_ENTRIES} entries, which are too many to be looked through", .0.display())]
    TooMany(PathBuf),
}

/// Real ones stay below a hundredth of it.
const MAX_ENTRIES: usize = 100_000;

/// Folders and files that hold what a checkout was made with; `files/` may have other hidden ones that an ebuild installs.
pub const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".bzr", "_darcs", ".jj"];

/// What Portage itself reads of a repository beside the package and the eclasses.
const OF_PORTAGE: [&str; 4] = ["profiles", "licenses", "metadata/layout.conf", "metadata/md5-cache"];

impl Shown {
    /// For the phases of an ebuild of the set's own repository; `portage` where Portage runs them.
    pub fn of(set: &RepositorySet, ebuild: &EbuildFile, portage: bool) -> Result<Shown, ShownError> {
        Shown::of_all(set, portage)?.with_package(set, ebuild)
    }

    /// What all ebuilds of the set's own repository may read.
    pub fn of_all(set: &RepositorySet, portage: bool) -> Result<Shown, ShownError> {
        let own = &set.repository.location;
        let mut look = Look::new(set, Shown { read: Vec::new(), hide: set.all_locations() });
        look.own(&own.join("eclass"))?;
        let locations = set.locations();
        let home = own.canonicalize().ok();
        for location in &locations {
            let dir = location.join("eclass");
            let other = !location.canonicalize().is_ok_and(|real| home.as_ref().is_some_and(|h| real.starts_with(h)));
            // the user chose the masters, and where their eclasses lie
            if other && dir.is_dir() {
                look.tree(&dir)?;
            }
        }
        let parts = locations.iter().flat_map(|location| OF_PORTAGE.map(|part| location.join(part)));
        for part in parts.filter(|_| portage) {
            if look.is_inside(&part) == Some(true) {
                look.tree(&part)?;
            }
        }
        Ok(look.shown)
    }

    /// The same with an ebuild's own package.
    pub fn with_package(&self, set: &RepositorySet, ebuild: &EbuildFile) -> Result<Shown, ShownError> {
        let mut look = Look::new(set, self.clone());
        look.own(ebuild.dir())?;
        Ok(look.shown)
    }
}

/// Whether a file that is there may be shown to the ebuilds of the set's repository.
pub fn is_showable(set: &RepositorySet, path: &Path) -> bool {
    Look::new(set, Shown::default()).is_inside(path) == Some(true)
}

struct Look {
    /// The repositories of the set, without links.
    roots: Vec<PathBuf>,
    shown: Shown,
    left: usize,
}

impl Look {
    fn new(set: &RepositorySet, shown: Shown) -> Look {
        let roots = set.locations().iter().filter_map(|l| l.canonicalize().ok()).collect();
        Look { roots, shown, left: MAX_ENTRIES }
    }

    /// Whether what is there lies in one of the repositories, and in none of their hidden folders.
    fn is_inside(&self, path: &Path) -> Option<bool> {
        let real = path.canonicalize().ok()?;
        let open = |below: &Path| !below.components().any(|c| matches!(c, Component::Normal(name) if is_secret(name)));
        let first_hidden = |below: &Path| below.as_os_str().as_encoded_bytes().starts_with(b".");
        let below = self.roots.iter().filter_map(|root| real.strip_prefix(root).ok());
        // the whole of a repository is not asked for by anybody honest
        Some(below.filter(|b| *b != Path::new("")).any(|b| open(b) && !first_hidden(b)))
    }

    /// Shows a folder of the ebuild's own repository, where there is one.
    fn own(&mut self, dir: &Path) -> Result<(), ShownError> {
        match self.is_inside(dir) {
            Some(true) => self.tree(dir),
            Some(false) => Err(ShownError::LeadsOut(dir.to_owned())),
            None => Ok(()),
        }
    }

    /// Shows `path` with all that links within it lead to, as long as that is inside.
    fn tree(&mut self, path: &Path) -> Result<(), ShownError> {
        let mut trees = vec![path.to_owned()];
        let mut seen: Vec<PathBuf> = Vec::new();
        while let Some(tree) = trees.pop() {
            let Ok(real) = tree.canonicalize() else { continue };
            if seen.iter().any(|s| real.starts_with(s)) {
                continue;
            }
            seen.push(real);
            let mut todo = vec![tree.clone()];
            self.shown.read.push(tree);
            while let Some(dir) = todo.pop() {
                for item in fs::read_dir(&dir).into_iter().flatten().flatten() {
                    self.left = self.left.checked_sub(1).ok_or_else(|| ShownError::TooMany(path.to_owned()))?;
                    let Ok(kind) = item.file_type() else { continue };
                    if is_secret(&item.file_name()) {
                        self.shown.hide.push(item.path());
                    } else if kind.is_symlink() && self.is_inside(&item.path()) == Some(true) {
                        trees.push(item.path());
                    } else if kind.is_dir() {
                        todo.push(item.path());
                    }
                }
            }
        }
        Ok(())
    }
}

fn is_secret(name: &std::ffi::OsStr) -> bool {
    VERSION_CONTROL.iter().any(|secret| name == *secret)
}

#[cfg(test)]
mod tests {
    use super::super::config::PortageConfig;
    use super::super::repository::Repository;
    use super::*;
    use std::os::unix::fs::symlink;

    fn lay(dir: &Path) {
        let write = |path: &str| {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for path in [
            "r/a-b/c/c-1.ebuild",
            "r/a-b/c/files/x/.git/config",
            "r/a-b/d/files/shared",
            "r/.git/config",
            "r/sub/.git/config",
            "out/secret",
            "m/eclass/e.eclass",
        ] {
            write(path);
        }
        for (name, masters) in [("r", "m"), ("m", "")] {
            write(&format!("{name}/profiles/repo_name"));
            write(&format!("{name}/metadata/layout.conf"));
            fs::write(dir.join(name).join("profiles/repo_name"), name).unwrap();
            fs::write(dir.join(name).join("metadata/layout.conf"), format!("masters = {masters}\n")).unwrap();
        }
    }

    fn shown(dir: &Path) -> Result<(Vec<String>, Vec<String>), ShownError> {
        let set = RepositorySet::resolve(Repository::open(&dir.join("r")).unwrap(), &[], &PortageConfig::default());
        let set = set.unwrap();
        let ebuild = set.repository.ebuilds("a-b", "c").items.remove(0);
        let shown = Shown::of(&set, &ebuild, false)?;
        let names = |paths: Vec<PathBuf>| {
            let mut names: Vec<String> =
                paths.iter().map(|p| p.strip_prefix(dir).unwrap().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        Ok((names(shown.read), names(shown.hide)))
    }

    #[test]
    fn the_package_the_eclasses_and_what_links_within_lead_to() {
        let dir = tempfile::tempdir().unwrap();
        lay(dir.path());
        let files = dir.path().join("r/a-b/c/files");
        for (name, to) in [
            ("inside", "../../d/files/shared"),
            ("loop", ".."),
            ("master", "../../../../m/eclass/e.eclass"),
            ("out", "../../../../out/secret"),
            ("top", "../../.."),
            ("token", "../../../.git/config"),
            ("token-below", "../../../sub/.git/config"),
        ] {
            symlink(to, files.join(name)).unwrap();
        }
        let (read, hide) = shown(dir.path()).unwrap();
        assert_eq!(read, ["m/eclass", "r/a-b/c", "r/a-b/c/files/inside", "r/a-b/c/files/master"]);
        assert_eq!(hide, ["m", "r", "r/a-b/c/files/x/.git"]);
    }

    #[test]
    fn eclasses_by_a_link() {
        let dir = tempfile::tempdir().unwrap();
        lay(dir.path());
        let eclass = dir.path().join("r/eclass");
        for to in ["../out", "..", ".", "/", "../out/..", "../r/sub/.git"] {
            symlink(to, &eclass).unwrap();
            assert_eq!(shown(dir.path()).unwrap_err(), ShownError::LeadsOut(eclass.clone()), "{to}");
            fs::remove_file(&eclass).unwrap();
        }
        // of a master, or within
        for to in ["../m/eclass", "sub"] {
            symlink(to, &eclass).unwrap();
            assert_eq!(shown(dir.path()).unwrap().0, ["m/eclass", "r/a-b/c", "r/eclass"], "{to}");
            fs::remove_file(&eclass).unwrap();
        }
    }
}
