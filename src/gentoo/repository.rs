//! A repository on disk: its name, categories, packages and ebuilds (PMS chapters 4 and 5).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::cpv::Cpv;
use super::layout::Layout;
use super::names;
use super::text::ReadError;
use super::within::Within;
use crate::escape;

/// Why a directory is no repository that can be used.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("{}: is no directory", .0.display())]
    NoDirectory(PathBuf),
    #[error(
        "{}: the repository has no name; write one into profiles/repo_name or as `repo-name = …` into metadata/layout.conf",
        .0.display()
    )]
    NoName(PathBuf),
    #[error("{}: there is no repository: no profiles, no eclass and no metadata/layout.conf", .0.display())]
    NotOne(PathBuf),
    #[error("{}: `{name}` is no repository name (PMS 3.1.5)", path.display())]
    BadName { path: PathBuf, name: String },
    #[error(
        "{}: neither this directory nor one above it is a repository (one that has profiles/repo_name or metadata/layout.conf)",
        .0.display()
    )]
    NoneAround(PathBuf),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Something in a repository that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub path: PathBuf,
    pub message: String,
    /// Whether ebuilds may lie there that nobody looked at.
    pub unread: bool,
}

/// What was found, and what was left out.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    pub items: Vec<T>,
    pub problems: Vec<Problem>,
}

impl<T> Default for Listing<T> {
    fn default() -> Listing<T> {
        Listing { items: Vec::new(), problems: Vec::new() }
    }
}

/// An ebuild file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EbuildFile {
    pub cpv: Cpv,
    pub path: PathBuf,
    /// The name of the repository that holds it.
    pub repository: String,
}

impl EbuildFile {
    /// The package's directory, where Manifest and files/ are.
    pub fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The path within the repository: `category/package/package-version.ebuild`.
    pub fn relative(&self) -> PathBuf {
        let components: Vec<_> = self.path.components().rev().take(3).collect();
        components.into_iter().rev().collect()
    }
}

/// A repository.
#[derive(Clone, Debug)]
pub struct Repository {
    pub name: String,
    pub location: PathBuf,
    pub layout: Layout,
    /// What `profiles/eapi` says; `0` without one (PMS 4.4).
    pub eapi: String,
    /// Where its links may lead.
    pub within: Within,
}

impl Repository {
    /// Opens the repository at `location`. Its name is `repo-name` of layout.conf, which in Portage
    /// overrides `profiles/repo_name`, else that file's first line.
    pub fn open(location: &Path) -> Result<Repository, RepositoryError> {
        Repository::open_as(location, None)
    }

    /// [`Repository::open`] under another name than its own, for `--repository NAME=PATH`.
    pub fn open_as(location: &Path, name: Option<&str>) -> Result<Repository, RepositoryError> {
        Repository::open_within(location, name, Within::anywhere())
    }

    /// [`Repository::open`] of one that strangers may have written: its links must not lead out of it.
    pub fn open_untrusted(location: &Path) -> Result<Repository, RepositoryError> {
        Repository::open_within(location, None, Within::root(location))
    }

    /// Another one that this one names or lies beside: where it lies within this one, its links must not lead out either.
    pub(super) fn open_other(&self, location: &Path, name: Option<&str>) -> Result<Repository, RepositoryError> {
        Repository::open_within(location, name, self.within.of(location))
    }

    fn open_within(location: &Path, name: Option<&str>, within: Within) -> Result<Repository, RepositoryError> {
        let location = clean(&std::path::absolute(location).unwrap_or_else(|_| location.to_owned()));
        if !location.is_dir() {
            return Err(RepositoryError::NoDirectory(location));
        }
        let layout = Layout::read(&location, &within)?;
        let own = match &layout.repo_name {
            Some(name) => Some(name.clone()),
            None => within.first_line(&location.join("profiles/repo_name"))?.filter(|name| !name.is_empty()),
        };
        let name = match name.map(str::to_owned).or(own) {
            Some(name) => name,
            None => return Err(RepositoryError::NoName(location)),
        };
        if !names::is_repository(&name) {
            return Err(RepositoryError::BadName { path: location, name });
        }
        let eapi = within
            .first_line(&location.join("profiles/eapi"))?
            .or_else(|| layout.profile_eapi.clone())
            .unwrap_or_else(|| "0".to_owned());
        Ok(Repository { name, location, layout, eapi, within })
    }

    /// Opens the repository that `dir` lies in: the nearest directory upwards that has
    /// `profiles/repo_name` or a layout.conf, as pkgcheck finds it, as one that strangers may have written.
    pub fn around(dir: &Path) -> Result<Repository, RepositoryError> {
        let dir = clean(&std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned()));
        match dir.ancestors().find(|at| is_repository(at)) {
            Some(at) => Repository::open_untrusted(at),
            None => Err(RepositoryError::NoneAround(dir)),
        }
    }

    /// The categories: those that `profiles/categories` of the repository and its masters list and that
    /// are there, and directories that look like one (a valid name with a hyphen, ebuilds two levels
    /// below). The latter are a problem to report where the lists are known in full.
    pub fn categories(&self, masters: &[Repository], all_masters_known: bool) -> Result<Listing<String>, ReadError> {
        let mut listed = BTreeSet::new();
        for repository in masters.iter().chain([self]) {
            for line in repository.within.lines(&repository.location.join("profiles/categories"))? {
                listed.insert(line.text);
            }
        }
        let mut out = Listing::default();
        for name in self.within.sorted_names(&self.location)? {
            let path = self.location.join(&name);
            let Some(name) = name.to_str().filter(|name| names::is_category(name)) else {
                continue;
            };
            if !path.is_dir() {
                continue;
            }
            if listed.contains(name) {
                out.items.push(name.to_owned());
            } else if (name.contains('-') || name == "virtual") && holds_packages(&path) {
                out.items.push(name.to_owned());
                if all_masters_known && !listed.is_empty() {
                    let message = format!("the category `{name}` stands in no profiles/categories; add it there");
                    out.problems.push(Problem { path, message, unread: false });
                }
            }
        }
        Ok(out)
    }

    /// The packages of a category, sorted. A directory with ebuilds whose name is no package name is a problem.
    pub fn packages(&self, category: &str) -> Listing<String> {
        let mut out = Listing::default();
        let dir = self.location.join(category);
        for name in self.names(&dir, &mut out.problems) {
            let path = dir.join(&name);
            if is_hidden(&name) || !path.is_dir() {
                continue;
            }
            match name.to_str().filter(|name| names::is_package(name)) {
                Some(name) => out.items.push(name.to_owned()),
                None if holds_ebuilds(&path) => {
                    let message = format!("`{}` is no package name (PMS 3.1.2)", escape::escape_os(&name));
                    out.problems.push(Problem { path, message, unread: false });
                }
                None => {}
            }
        }
        out
    }

    /// The ebuilds of a package, lowest version first. A file with an impossible name is a problem.
    pub fn ebuilds(&self, category: &str, package: &str) -> Listing<EbuildFile> {
        let mut out = Listing::default();
        let dir = self.location.join(category).join(package);
        for name in self.names(&dir, &mut out.problems) {
            let path = dir.join(&name);
            // what is no file (a FIFO, a device, a link to nothing) is found wanting later, and not passed over
            if is_hidden(&name) || !is_ebuild_name(&name) || path.is_dir() {
                continue;
            }
            match Cpv::from_ebuild(category, package, &name) {
                Ok(cpv) => out.items.push(EbuildFile { cpv, path, repository: self.name.clone() }),
                Err(error) => out.problems.push(Problem { path, message: error.to_string(), unread: false }),
            }
        }
        out.items.sort_by(|a, b| a.cpv.cmp(&b.cpv).then_with(|| a.path.cmp(&b.path)));
        out
    }

    /// The names in a directory; one that can't be read costs what lies in it, and no more.
    fn names(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<OsString> {
        self.within.sorted_names(dir).unwrap_or_else(|error| {
            let message = format!("can't be read: {}", error.reason());
            problems.push(Problem { path: dir.to_owned(), message, unread: true });
            Vec::new()
        })
    }
}

/// Whether a directory has what makes it a repository.
pub(crate) fn is_repository(dir: &Path) -> bool {
    dir.join("profiles/repo_name").is_file() || dir.join("metadata/layout.conf").is_file()
}

/// The path without `.` and `..`; links stay as they are unless a `..` follows one.
pub fn clean(path: &Path) -> PathBuf {
    use std::path::Component;
    let dots = path.components().any(|part| part == Component::ParentDir);
    match dots.then(|| fs::canonicalize(path)) {
        Some(Ok(real)) => real,
        _ => path.components().filter(|part| *part != Component::CurDir).collect(),
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "CVS"
}

fn is_ebuild_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".ebuild")
}

fn entries(dir: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(dir).into_iter().flatten().flatten()
}

fn holds_ebuilds(dir: &Path) -> bool {
    entries(dir).any(|entry| !is_hidden(&entry.file_name()) && is_ebuild_name(&entry.file_name()))
}

fn holds_packages(dir: &Path) -> bool {
    entries(dir).any(|entry| !is_hidden(&entry.file_name()) && holds_ebuilds(&entry.path()))
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
