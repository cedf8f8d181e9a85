//! Which profile is used, and the directories it is made of.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::super::config::PortageConfig;
use super::super::masters::RepositorySet;
use super::super::repository::{Repository, clean};
use super::super::text::{Line, ReadError};
use super::super::varfile::{self, VarFileError};
use super::super::within::Within;
use super::node::Node;

/// Why a profile can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("{}: is no directory, so no profile", .0.display())]
    NoDirectory(PathBuf),
    #[error("{}: names no parent; remove the file or write one into it", .0.display())]
    EmptyParent(PathBuf),
    #[error("{}:{line}: the parent profile `{parent}` is not there", path.display())]
    NoParent { path: PathBuf, line: usize, parent: String },
    #[error(
        "{}:{line}: `{parent}` lies in a repository that is not known; say where it is with --repository NAME=PATH",
        path.display()
    )]
    NoRepository { path: PathBuf, line: usize, parent: String },
    #[error("{}: leads by a link out of its repository, where nothing is read; put a copy in its place", .0.display())]
    LeadsOut(PathBuf),
    #[error(
        "{}:{line}: `{parent}` leads out of its repository into none that is known; say where that one is with \
         --repository NAME=PATH",
        path.display()
    )]
    ParentOutside { path: PathBuf, line: usize, parent: String },
    #[error("{}: is a parent of itself", .0.display())]
    Loop(PathBuf),
    #[error("{}: the profile is made of more than {MAX_NODES} directories", .0.display())]
    TooMany(PathBuf),
    #[error(transparent)]
    Variables(#[from] VarFileError),
}

impl From<ReadError> for ProfileError {
    fn from(error: ReadError) -> ProfileError {
        ProfileError::Variables(error.into())
    }
}

const MAX_NODES: usize = 4096;

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// `--profile`
    Given(PathBuf),
    /// The machine's `/etc/portage/make.profile`.
    Machine(PathBuf),
    /// The usual profile of a master or of the repository itself.
    Repository(PathBuf),
    /// None was found: built-in values for amd64.
    BuiltIn,
}

impl ProfileSource {
    /// Its folder; none of the built-in values.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ProfileSource::Given(path) | ProfileSource::Machine(path) | ProfileSource::Repository(path) => Some(path),
            ProfileSource::BuiltIn => None,
        }
    }
}

impl fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileSource::Given(path) | ProfileSource::Machine(path) | ProfileSource::Repository(path) => {
                write!(f, "{}", crate::escape::escape_path(path))
            }
            ProfileSource::BuiltIn => f.write_str("built-in amd64 values"),
        }
    }
}

/// The profile taken where nothing else is said, below a repository's `profiles`.
const USUAL: &str = "default/linux/amd64/23.0";

/// The make.defaults taken where there is no profile at all.
pub const BUILT_IN: &str = include_str!("builtin.make.defaults");

/// A profile: its directories, parents first, and those of the repositories in question.
#[derive(Clone, Debug)]
pub struct Profile {
    pub source: ProfileSource,
    pub(super) nodes: Vec<Node>,
    /// The `profiles` directories of the masters and the repository, which hold for their packages (Portage).
    pub(super) repositories: Vec<Node>,
}

impl Profile {
    /// Takes the profile that `--profile` gives, else `etc/portage/make.profile` below `root`, else
    /// default/linux/amd64/23.0 of a master or of the repository, else built-in values.
    pub fn choose(
        given: Option<&Path>,
        root: &Path,
        set: &RepositorySet,
        config: &PortageConfig,
    ) -> Result<Profile, ProfileError> {
        let source = match given {
            Some(path) => ProfileSource::Given(path.to_owned()),
            None => {
                let machine = ["etc/portage/make.profile", "etc/make.profile"].map(|path| root.join(path));
                let usual = set.all().map(|repository| repository.location.join("profiles").join(USUAL));
                let machine = machine.into_iter().find(|path| path.is_dir()).map(ProfileSource::Machine);
                let usual = usual.into_iter().find(|path| path.is_dir()).map(ProfileSource::Repository);
                machine.or(usual).unwrap_or(ProfileSource::BuiltIn)
            }
        };
        Profile::load(source, root, set, config)
    }

    /// The folder that `--profile` means: a path, or else a name below the `profiles` of the repository or of a master, as
    /// eselect lists them.
    pub fn named(given: &Path, cwd: &Path, set: &RepositorySet) -> PathBuf {
        let path = clean(&cwd.join(given));
        let below = |repository: &Repository| repository.location.join("profiles").join(given);
        let is_name = given.components().all(|part| matches!(part, Component::Normal(_)));
        let named = set.all().map(below).filter(|path| is_name && path.is_dir()).last();
        named.filter(|_| !path.is_dir()).unwrap_or(path)
    }

    fn load(
        source: ProfileSource,
        root: &Path,
        set: &RepositorySet,
        config: &PortageConfig,
    ) -> Result<Profile, ProfileError> {
        let mut known = config.globals().clone();
        let mut profile = Profile { source, nodes: Vec::new(), repositories: Vec::new() };
        match &profile.source {
            ProfileSource::BuiltIn => profile.nodes.push(Node {
                make_defaults: varfile::parse(BUILT_IN, Path::new("builtin.make.defaults"), &mut known)?,
                ..Node::default()
            }),
            ProfileSource::Given(path) | ProfileSource::Machine(path) | ProfileSource::Repository(path) => {
                for (dir, eapi) in directories(path, set)? {
                    let within = set.repository.within.of(&dir);
                    profile.nodes.push(Node::read(&dir, &eapi, &mut known, &within)?);
                }
            }
        }
        if matches!(profile.source, ProfileSource::Machine(_)) {
            let local = root.join("etc/portage/profile");
            if local.is_dir() {
                // files of the user may use all that any EAPI has
                profile.nodes.push(Node::read(&local, "user", &mut known, &Within::anywhere())?);
            }
        }
        for repository in set.all() {
            let dir = repository.location.join("profiles");
            let mut known = config.globals().clone();
            profile.repositories.push(Node::read(&dir, &repository.eapi, &mut known, &repository.within)?);
        }
        Ok(profile)
    }

    /// The user's own additions, `etc/portage/profile`, where they count.
    pub fn local(&self) -> Option<&Path> {
        let last = self.nodes.last().map(|node| node.dir.as_path());
        last.filter(|dir| matches!(self.source, ProfileSource::Machine(_)) && dir.ends_with("etc/portage/profile"))
    }

    /// The directories of the profile, parents first.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.nodes.iter().map(|node| node.dir.as_path())
    }
}

/// The directories of a profile in the order in which they stack, with the EAPI of those that name none. A
/// directory that several others have as a parent comes up again each time.
fn directories(path: &Path, set: &RepositorySet) -> Result<Vec<(PathBuf, String)>, ProfileError> {
    struct Open {
        dir: PathBuf,
        home: Option<Repository>,
        parents: std::vec::IntoIter<Line>,
    }
    let open = |dir: PathBuf| -> Result<Open, ProfileError> {
        let file = dir.join("parent");
        let parents = set.repository.within.of(&dir).lines(&file)?;
        if parents.is_empty() && file.exists() {
            return Err(ProfileError::EmptyParent(file));
        }
        Ok(Open { home: home(&dir, set), dir, parents: parents.into_iter() })
    };
    let first = path.canonicalize().ok().filter(|dir| dir.is_dir());
    let first = first.ok_or_else(|| ProfileError::NoDirectory(path.to_owned()))?;
    if path.starts_with(&set.repository.location) && !set.repository.within.holds(&first) {
        return Err(ProfileError::LeadsOut(path.to_owned()));
    }
    let mut stack = vec![open(first)?];
    let mut out = Vec::new();
    let mut opened = 1;
    while let Some(top) = stack.last_mut() {
        let Some(line) = top.parents.next() else {
            let eapi = top.home.as_ref().and_then(|home| home.layout.profile_eapi.clone());
            out.push((top.dir.clone(), eapi.unwrap_or_else(|| "0".to_owned())));
            stack.pop();
            continue;
        };
        let parent = parent_of(&top.dir, top.home.as_ref(), &line, set)?;
        if stack.iter().any(|open| open.dir == parent) {
            return Err(ProfileError::Loop(parent));
        }
        opened += 1;
        if opened > MAX_NODES {
            return Err(ProfileError::TooMany(path.to_owned()));
        }
        stack.push(open(parent)?);
    }
    Ok(out)
}

/// The directory that a line of `parent` means: a path, or `repository:path` and `:path` below a repository's `profiles`.
fn parent_of(dir: &Path, home: Option<&Repository>, line: &Line, set: &RepositorySet) -> Result<PathBuf, ProfileError> {
    let path = match line.text.split_once(':') {
        None => dir.join(&line.text),
        Some((name, rest)) => {
            let own = home.filter(|home| name.is_empty() || home.name == name).map(|home| home.location.as_path());
            let location = own.or_else(|| set.location(name)).ok_or_else(|| ProfileError::NoRepository {
                path: line.path.clone(),
                line: line.number,
                parent: line.text.clone(),
            })?;
            location.join("profiles").join(rest)
        }
    };
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    let found = found.ok_or_else(|| ProfileError::NoParent {
        path: line.path.clone(),
        line: line.number,
        parent: line.text.clone(),
    })?;
    // a profile of strangers chooses among what the user knows
    if set.repository.within.is_bounded_at(dir) && !set.holds(&found) {
        return Err(ProfileError::ParentOutside {
            path: line.path.clone(),
            line: line.number,
            parent: line.text.clone(),
        });
    }
    Ok(found)
}

/// The repository that a profile directory lies in.
fn home(dir: &Path, set: &RepositorySet) -> Option<Repository> {
    let profiles = dir.ancestors().find(|at| at.ends_with("profiles"))?;
    let location = profiles.parent()?;
    set.repository.open_other(location, None).ok()
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
