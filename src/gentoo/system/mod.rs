//! Everything that is known of a machine: its repositories, profile, configuration and installed packages, as Portage
//! would see them. Read-only; what can't be read is a [`Problem`] and not the end.

mod atom;
mod candidates;
mod error;
mod flags;
mod installed;
mod keywords;
mod layer;
mod licenses;
mod lines;
mod load;
mod masks;
mod model;
mod moves;
mod node;
mod package_use;
mod problem;
mod profile;
mod record;
mod repositories;
mod settings;
mod table;
mod updates;
mod use_config;
mod world;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use candidates::MetadataSource;
pub use error::SystemError;
pub use model::{Candidate, CandidateUse, Dependencies, Installed, Obstacle, Unreadable, WorldAtom};
pub use problem::Problem;

use super::config::Environment;
use super::cpv::Cpv;
use super::metadata::Metadata;
use candidates::Candidates;
use problem::Problems;
use updates::Updates;

/// A machine, or a copy of one's files.
pub struct System {
    root: PathBuf,
    arch: String,
    profile: PathBuf,
    problems: Problems,
    installed: Vec<Installed>,
    world: Vec<WorldAtom>,
    provided: Vec<Cpv>,
    updates: Updates,
    candidates: Candidates,
}

impl System {
    /// Reads the machine whose files are below `root`: `/`, or a copy of etc/portage, var/db/pkg, var/lib/portage and
    /// var/db/repos of another. `environment` are the environment variables that count, none for another machine.
    ///
    /// Ebuilds whose metadata no cache has are invalid here; [`System::load_with`] can have them sourced.
    pub fn load(root: &Path, environment: Environment) -> Result<System, SystemError> {
        load::load(root, &environment, None)
    }

    /// [`System::load`] with somebody to ask for metadata that no cache has.
    pub fn load_with(root: &Path, environment: Environment, source: MetadataSource) -> Result<System, SystemError> {
        load::load(root, &environment, Some(source))
    }

    /// Where the machine's files are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `ARCH`
    pub fn arch(&self) -> &str {
        &self.arch
    }

    /// The directory of the profile.
    pub fn profile(&self) -> &Path {
        &self.profile
    }

    /// The repositories with their places and priorities, by rising priority.
    pub fn repositories(&self) -> impl Iterator<Item = (&str, &Path, i64)> {
        let all = self.candidates.repositories.all.iter();
        all.map(|repo| (repo.repository.name.as_str(), repo.repository.location.as_path(), repo.priority))
    }

    /// The repository that repos.conf calls `main-repo`.
    pub fn main_repository(&self) -> Option<&str> {
        let repositories = &self.candidates.repositories;
        Some(&repositories.all[repositories.main?].repository.name)
    }

    /// What is wrong and was passed over, as far as it has been come across.
    pub fn problems(&self) -> Vec<Problem> {
        self.problems.all()
    }

    /// The installed packages by name and version.
    pub fn installed(&self) -> &[Installed] {
        &self.installed
    }

    /// The atoms of world, of the sets that it names, and of the profile's `packages`.
    pub fn world(&self) -> &[WorldAtom] {
        &self.world
    }

    /// All ebuilds of a package in all repositories, those that are not visible too: the newest version first, then
    /// by priority of the repository. Read once; another name that the package has today is not followed.
    pub fn candidates(&self, category_package: &str) -> Arc<[Candidate]> {
        self.candidates.of(category_package, &self.problems)
    }

    /// What an ebuild says of itself when it is sourced now, whatever the cache has; none if nobody can source it.
    pub fn source(&self, candidate: &Candidate) -> Option<Result<Metadata, String>> {
        self.candidates.source_anew(&candidate.ebuild)
    }

    /// The names of all packages of all repositories, sorted.
    pub fn package_names(&self) -> &[String] {
        self.candidates.names(&self.problems)
    }

    /// What package.provided says is there without a record.
    pub fn provided(&self) -> &[Cpv] {
        &self.provided
    }

    /// Whether a flag belongs to IUSE_EFFECTIVE of any package (PMS 11.1.1).
    pub fn is_implicit_flag(&self, flag: &str) -> bool {
        self.candidates.rules.flags.is_implicit(flag)
    }

    /// The name that a package has today by the moves of profiles/updates; its own while a repository has ebuilds of
    /// that name.
    pub fn current_name<'a>(&'a self, category_package: &'a str) -> &'a str {
        let names = self.package_names();
        match names.binary_search_by(|name| name.as_str().cmp(category_package)) {
            Ok(_) => category_package,
            Err(_) => self.updates.any_name(category_package),
        }
    }

    /// ACCEPT_KEYWORDS over all layers, sorted.
    pub fn accept_keywords(&self) -> &[String] {
        &self.candidates.rules.keywords.global
    }
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
