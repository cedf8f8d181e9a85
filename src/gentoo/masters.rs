//! A repository with the ones it builds upon: masters, their eclasses, and where other repositories are.

use std::path::{Path, PathBuf};

use super::config::PortageConfig;
use super::names;
use super::repository::{Listing, Repository, RepositoryError};
use super::text::ReadError;
use super::within::Within;

/// Why the repositories that were named can't be used.
#[derive(Debug, thiserror::Error)]
pub enum MastersError {
    #[error("--repository {name}={}: {source}", path.display())]
    Override {
        name: String,
        path: PathBuf,
        #[source]
        source: RepositoryError,
    },
    #[error("--repository {name}={}: `{name}` is no repository name (PMS 3.1.5)", path.display())]
    Name { name: String, path: PathBuf },
}

/// The audited repository and its masters.
#[derive(Clone, Debug)]
pub struct RepositorySet {
    pub repository: Repository,
    /// In the order of layout.conf (or of repos.conf, whose `masters` overrides it): a later one's eclass wins.
    ///
    /// As in Portage masters of masters are no masters: a repository that needs them lists them.
    pub masters: Vec<Repository>,
    /// Masters that were listed and found nowhere.
    pub missing: Vec<String>,
    /// eclass-overrides of repos.conf; the last wins over all.
    eclass_overrides: Vec<Repository>,
    known: Vec<(String, PathBuf)>,
}

impl RepositorySet {
    /// Finds the masters of a repository: first among `overrides` (`--repository NAME=PATH`), then in
    /// repos.conf, then as the directory of that name beside the repository.
    ///
    /// A layout.conf without `masters` means the main repository, if there is one. A master that is not found
    /// is put into [`RepositorySet::missing`]; an override that is no repository is an error.
    pub fn resolve(
        repository: Repository,
        overrides: &[(String, PathBuf)],
        config: &PortageConfig,
    ) -> Result<RepositorySet, MastersError> {
        for (name, path) in overrides {
            if !names::is_repository(name) {
                return Err(MastersError::Name { name: name.clone(), path: path.clone() });
            }
            open_override(name, path, &repository)?;
        }
        let finder = Finder { repository: &repository, overrides, config };
        let section = config.repositories().section(&repository.name);
        let listed = section.and_then(|section| section.masters.clone()).or_else(|| repository.layout.masters.clone());
        let mut set = RepositorySet {
            masters: Vec::new(),
            missing: Vec::new(),
            eclass_overrides: Vec::new(),
            known: Vec::new(),
            repository: repository.clone(),
        };
        match listed {
            Some(names) => {
                for name in names {
                    match finder.find(&name)? {
                        Some(master) => set.masters.push(master),
                        None => set.missing.push(name),
                    }
                }
            }
            None => {
                let main = config.main_repository();
                if main != repository.name {
                    set.masters.extend(finder.find(main)?);
                }
            }
        }
        for name in section.into_iter().flat_map(|section| &section.eclass_overrides) {
            match finder.find(name)? {
                Some(other) => set.eclass_overrides.push(other),
                None => set.missing.push(name.clone()),
            }
        }
        set.known.extend(overrides.iter().cloned());
        for section in &config.repositories().sections {
            let Some(location) = section.location.as_ref().filter(|path| path.is_dir()) else {
                continue;
            };
            for name in std::iter::once(&section.name).chain(&section.aliases) {
                set.known.push((name.clone(), location.clone()));
            }
        }
        Ok(set)
    }

    /// The masters and then the repository itself: the order in which repository-wide profile files stack.
    pub fn all(&self) -> impl Iterator<Item = &Repository> {
        self.masters.iter().chain([&self.repository])
    }

    /// A repository that lies where a master that is missing would, under a name of its own.
    pub fn instead_of(&self, missing: &str) -> Option<Repository> {
        beside(&self.repository, missing).next()
    }

    /// Those of eclass-overrides; the last one wins.
    pub fn eclass_overrides(&self) -> &[Repository] {
        &self.eclass_overrides
    }

    /// Where all of them lie, those of eclass-overrides among them.
    pub fn locations(&self) -> Vec<PathBuf> {
        self.all().chain(&self.eclass_overrides).map(|repository| repository.location.clone()).collect()
    }

    /// Those of the set, and the others that the configuration or the command line knows.
    pub fn all_locations(&self) -> Vec<PathBuf> {
        let mut all = self.locations();
        all.extend(self.known.iter().map(|(_, location)| location.clone()));
        all.sort();
        all.dedup();
        // the root of the machine can't be hidden
        all.retain(|location| location.parent().is_some());
        all
    }

    /// The repositories whose eclasses this one sees, the one that wins first.
    fn eclass_order(&self) -> impl Iterator<Item = &Repository> {
        // a repository that lists itself among its masters keeps that place
        let own = (!self.masters.iter().any(|master| master.location == self.repository.location))
            .then_some(&self.repository);
        self.eclass_overrides.iter().rev().chain(own).chain(self.masters.iter().rev())
    }

    /// The eclass directories that are there, the one that wins first: what `inherit` searches.
    pub fn eclass_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for repository in self.eclass_order() {
            let dir = repository.location.join("eclass");
            if dir.is_dir() && !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        dirs
    }

    /// The eclass that `inherit NAME` takes: the name of its repository and the file.
    pub fn find_eclass(&self, name: &str) -> Option<(&str, PathBuf)> {
        if !names::is_eclass(name) {
            return None;
        }
        self.eclass_order().find_map(|repository| {
            let path = repository.location.join("eclass").join(format!("{name}.eclass"));
            path.is_file().then_some((repository.name.as_str(), path))
        })
    }

    /// Where the repository of a name is, if it is one of these or named by `--repository` or repos.conf.
    pub fn location(&self, name: &str) -> Option<&Path> {
        let ours = self.all().find(|repository| repository.name == name);
        let ours = ours.map(|repository| repository.location.as_path());
        ours.or_else(|| self.known.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_path()))
    }

    /// Where links at `path` may lead: what holds for the repository that it stands in.
    pub fn within_of(&self, path: &Path) -> Within {
        let around = self.all().chain(&self.eclass_overrides).filter(|r| path.starts_with(&r.location));
        let nearest = around.max_by_key(|r| r.location.components().count());
        nearest.map_or_else(Within::anywhere, |repository| repository.within.clone())
    }

    /// Whether a path without links lies in one of the repositories that are known.
    pub fn holds(&self, real: &Path) -> bool {
        let known = self.known.iter().map(|(_, path)| path.as_path());
        let all = self.all().map(|repository| repository.location.as_path()).chain(known);
        all.filter_map(|location| location.canonicalize().ok()).any(|location| real.starts_with(location))
    }

    /// [`Repository::categories`] of the repository with its masters.
    pub fn categories(&self) -> Result<Listing<String>, ReadError> {
        self.repository.categories(&self.masters, self.missing.is_empty())
    }
}

fn open_override(name: &str, path: &Path, audited: &Repository) -> Result<Repository, MastersError> {
    // a name for the audited repository, or a part of it, makes it no better
    let found = audited.open_other(path, Some(name)).and_then(|found| {
        let has = |part: &str| found.location.join(part).exists();
        match has("profiles") || has("eclass") || has("metadata/layout.conf") {
            true => Ok(found),
            false => Err(RepositoryError::NotOne(found.location)),
        }
    });
    found.map_err(|source| MastersError::Override { name: name.to_owned(), path: path.to_owned(), source })
}

/// `../NAME`, of the path as given and of where its links lead to, where there is a repository.
fn beside(repository: &Repository, name: &str) -> impl Iterator<Item = Repository> {
    let given = names::is_repository(name).then(|| repository.location.clone());
    let real = given.as_ref().and_then(|given| given.canonicalize().ok());
    given.into_iter().chain(real).filter_map(move |location| {
        let path = location.parent()?.join(name);
        repository.open_other(&path, None).ok()
    })
}

struct Finder<'a> {
    repository: &'a Repository,
    overrides: &'a [(String, PathBuf)],
    config: &'a PortageConfig,
}

impl Finder<'_> {
    fn find(&self, name: &str) -> Result<Option<Repository>, MastersError> {
        if name == self.repository.name {
            return Ok(Some(self.repository.clone()));
        }
        if let Some((name, path)) = self.overrides.iter().rev().find(|(given, _)| given == name) {
            return open_override(name, path, self.repository).map(Some);
        }
        // a section that points to no repository is passed over, as by Portage
        let section = self.config.repositories().section(name);
        let configured = section.and_then(|section| section.location.as_ref());
        if let Some(found) = configured.and_then(|path| self.repository.open_other(path, Some(name)).ok()) {
            return Ok(Some(found));
        }
        Ok(self.beside(name))
    }

    /// [`beside`], if that is a repository of this name.
    fn beside(&self, name: &str) -> Option<Repository> {
        beside(self.repository, name).find(|found| found.name == name)
    }
}

#[cfg(test)]
#[path = "masters_tests.rs"]
mod tests;
