//! From the words of the command line to ebuild files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::atom::{AtomError, TargetAtom};
use super::cpv::{Cpv, CpvError};
use super::masters::RepositorySet;
use super::near::{self, Near};
use super::repository::{EbuildFile, Problem, Repository, RepositoryError, clean};
use super::text::ReadError;
use crate::escape::escape_os;

/// Why the words name nothing that can be audited.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("`{word}`: {source}")]
    Repository {
        word: String,
        #[source]
        source: RepositoryError,
    },
    #[error("{0}; go into a repository, or name a path in one")]
    NoRepository(#[source] RepositoryError),
    #[error(
        "`{word}` lies in the repository {}, but {} is audited; audit one repository at a time",
        other.display(),
        first.display()
    )]
    TwoRepositories { word: String, first: PathBuf, other: PathBuf },
    #[error("`{word}` asks for the repository `{asked}`, but `{audited}` is audited; name a path in it")]
    OtherRepository { word: String, asked: String, audited: String },
    #[error("`{0}` is a file, but no ebuild; name an .ebuild file, a directory or an atom")]
    NoEbuild(String),
    #[error("`{word}`: {source}")]
    BadName {
        word: String,
        #[source]
        source: CpvError,
    },
    #[error("`{word}` lies in the repository {}, but is neither a category, a package nor an ebuild of it", location.display())]
    NoPlace { word: String, location: PathBuf },
    #[error("`{0}` is neither a path nor an atom: there is no such file or directory")]
    NoPath(String),
    #[error(transparent)]
    Atom(#[from] AtomError),
    #[error("`{word}` matches no ebuild of the repository `{repository}`{near}")]
    Nothing { word: String, repository: String, near: Near },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What a word of the command line says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// A path below the repository: of itself, a category, a package or an ebuild.
    Path(PathBuf),
    Atom(Box<TargetAtom>),
}

/// The words of a command line and the repository that they are about.
#[derive(Clone, Debug)]
pub struct Targets {
    pub repository: Repository,
    words: Vec<(String, Word)>,
}

/// The ebuilds that were named, by category, package and version, each once.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    pub ebuilds: Vec<EbuildFile>,
    /// What was left out on the way.
    pub problems: Vec<Problem>,
}

impl Targets {
    /// Sorts words into paths and atoms and finds their repository: that of `repo`, else that of
    /// the paths, else the one around `cwd`. A word is a path if it begins with `/` or `.`, ends in
    /// `.ebuild`, or names something that is there below `cwd`; else it is an atom.
    pub fn parse(words: &[OsString], cwd: &Path, repo: Option<&Path>) -> Result<Targets, TargetError> {
        let mut repository = match repo {
            Some(path) => Some(open(path, cwd)?),
            None => None,
        };
        let mut out = Vec::new();
        for word in words {
            let shown = escape_os(word);
            let path = cwd.join(word);
            if is_path(word, &path) {
                if !path.exists() {
                    return Err(TargetError::NoPath(shown));
                }
                // `..` and `.` go by what is really there, as the shell's user sees it
                let path = clean(&path);
                let around = Repository::around(&path)
                    .map_err(|source| TargetError::Repository { word: shown.clone(), source })?;
                let first = repository.get_or_insert_with(|| around.clone());
                let Some(below) = below(&path, &around, first) else {
                    return Err(TargetError::TwoRepositories {
                        word: shown,
                        first: first.location.clone(),
                        other: around.location,
                    });
                };
                out.push((shown, Word::Path(below)));
            } else {
                let text = word.to_str().ok_or_else(|| TargetError::NoPath(shown.clone()))?;
                out.push((shown, Word::Atom(Box::new(TargetAtom::parse(text)?))));
            }
        }
        let repository = match repository {
            Some(repository) => repository,
            None => Repository::around(cwd).map_err(TargetError::NoRepository)?,
        };
        for (word, parsed) in &out {
            let asked = if let Word::Atom(atom) = parsed { atom.repository() } else { None };
            if let Some(asked) = asked.filter(|name| *name != repository.name) {
                let (asked, audited) = (asked.to_owned(), repository.name);
                return Err(TargetError::OtherRepository { word: word.clone(), asked, audited });
            }
        }
        Ok(Targets { repository, words: out })
    }

    /// Finds the ebuilds; no words mean all of the repository. `set` is the set of this repository. `slot` gives an
    /// ebuild's `slot/subslot` and is asked only for atoms with a slot.
    pub fn resolve(
        &self,
        set: &RepositorySet,
        slot: &dyn Fn(&EbuildFile) -> Option<String>,
    ) -> Result<Resolved, TargetError> {
        let mut found = Found { set, ebuilds: BTreeMap::new(), problems: Vec::new(), categories: None };
        if self.words.is_empty() {
            found.everything(|_, _| true, |_| true)?;
        }
        for (word, parsed) in &self.words {
            let count = match parsed {
                Word::Path(path) => found.path(word, path)?,
                Word::Atom(atom) => found.everything(
                    |category, package| atom.matches_name(category, package),
                    |ebuild| {
                        let slot = if atom.has_slot() { slot(ebuild) } else { None };
                        atom.matches(&ebuild.cpv, slot.as_deref(), &ebuild.repository)
                    },
                )?,
            };
            if let (0, Word::Atom(atom)) = (count, parsed) {
                let near = found.near(atom)?;
                let repository = self.repository.name.clone();
                return Err(TargetError::Nothing { word: word.clone(), repository, near });
            }
        }
        found.problems.sort();
        found.problems.dedup();
        Ok(Resolved { ebuilds: found.ebuilds.into_values().collect(), problems: found.problems })
    }
}

fn open(path: &Path, cwd: &Path) -> Result<Repository, TargetError> {
    Repository::open_untrusted(&cwd.join(path))
        .map_err(|source| TargetError::Repository { word: escape_os(path.as_os_str()), source })
}

fn is_path(word: &OsStr, path: &Path) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.starts_with(b"/") || bytes.starts_with(b".") || bytes.ends_with(b".ebuild") || path.exists()
}

/// A path relative to the repository that was found around it, if that is the one meant; links may lead there.
fn below(path: &Path, around: &Repository, meant: &Repository) -> Option<PathBuf> {
    let real = |repository: &Repository| repository.location.canonicalize().ok();
    let same = around.location == meant.location || real(around) == real(meant);
    let path = path.strip_prefix(&around.location).ok().filter(|_| same)?;
    Some(path.to_owned())
}

struct Found<'a> {
    set: &'a RepositorySet,
    ebuilds: BTreeMap<(String, String, Cpv, PathBuf), EbuildFile>,
    problems: Vec<Problem>,
    categories: Option<Vec<String>>,
}

impl Found<'_> {
    fn categories(&mut self) -> Result<Vec<String>, TargetError> {
        if self.categories.is_none() {
            let listing = self.set.categories()?;
            self.problems.extend(listing.problems);
            self.categories = Some(listing.items);
        }
        Ok(self.categories.clone().unwrap_or_default())
    }

    /// Adds the ebuilds of the packages and then the ebuilds that are wanted; how many that were.
    fn everything(
        &mut self,
        name: impl Fn(&str, &str) -> bool,
        wanted: impl Fn(&EbuildFile) -> bool,
    ) -> Result<usize, TargetError> {
        let mut count = 0;
        for category in self.categories()? {
            let packages = self.set.repository.packages(&category);
            self.problems.extend(packages.problems);
            for package in packages.items.iter().filter(|package| name(&category, package)) {
                count += self.package(&category, package, &wanted);
            }
        }
        Ok(count)
    }

    fn package(&mut self, category: &str, package: &str, wanted: impl Fn(&EbuildFile) -> bool) -> usize {
        let ebuilds = self.set.repository.ebuilds(category, package);
        self.problems.extend(ebuilds.problems);
        let mut count = 0;
        for ebuild in ebuilds.items.into_iter().filter(wanted) {
            count += 1;
            self.add(ebuild);
        }
        count
    }

    fn add(&mut self, ebuild: EbuildFile) {
        let cpv = ebuild.cpv.clone();
        self.ebuilds.insert((cpv.category.clone(), cpv.package.clone(), cpv, ebuild.path.clone()), ebuild);
    }

    fn path(&mut self, word: &str, path: &Path) -> Result<usize, TargetError> {
        let names: Vec<&OsStr> = path.iter().collect();
        let names: Option<Vec<&str>> = names.into_iter().map(OsStr::to_str).collect();
        let repository = &self.set.repository;
        let no_place = || TargetError::NoPlace { word: word.to_owned(), location: repository.location.clone() };
        match names.as_deref().ok_or_else(no_place)? {
            [] => self.everything(|_, _| true, |_| true),
            [category] if self.categories()?.iter().any(|known| known == category) => {
                let packages = self.set.repository.packages(category);
                self.problems.extend(packages.problems);
                let mut count = 0;
                for package in packages.items {
                    count += self.package(category, &package, |_| true);
                }
                Ok(count)
            }
            [category, package] if repository.location.join(path).is_dir() => {
                let count = self.package(category, package, |_| true);
                let unread = self.problems.iter().any(|problem| problem.unread && problem.path.ends_with(path));
                if count == 0 && !unread { Err(no_place()) } else { Ok(count) }
            }
            [category, package, file] => {
                let full = repository.location.join(path);
                if full.is_dir() {
                    return Err(no_place());
                }
                if !file.ends_with(".ebuild") {
                    return Err(TargetError::NoEbuild(word.to_owned()));
                }
                let cpv = Cpv::from_ebuild(category, package, OsStr::new(file))
                    .map_err(|source| TargetError::BadName { word: word.to_owned(), source })?;
                let repository = repository.name.clone();
                self.add(EbuildFile { cpv, path: full, repository });
                Ok(1)
            }
            _ if repository.location.join(path).is_file() => Err(TargetError::NoEbuild(word.to_owned())),
            _ => Err(no_place()),
        }
    }

    /// Packages whose names are close to an atom's, or the versions that are there.
    fn near(&mut self, atom: &TargetAtom) -> Result<Near, TargetError> {
        let mut all = Vec::new();
        for category in self.categories()? {
            for package in self.set.repository.packages(&category).items {
                if atom.matches_name(&category, &package) {
                    let ebuilds = self.set.repository.ebuilds(&category, &package).items;
                    let versions: Vec<_> =
                        ebuilds.iter().rev().take(5).map(|ebuild| format!("={}", ebuild.cpv)).collect();
                    if !versions.is_empty() {
                        return Ok(Near(versions));
                    }
                }
                all.push(format!("{category}/{package}"));
            }
        }
        Ok(Near(near::nearest(&atom.name(), all)))
    }
}

#[cfg(test)]
#[path = "targets_tests.rs"]
mod tests;
