//! The repositories of a machine: where they are, in which order, and on whom they build (repos.conf, portage(5)).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::config::PortageConfig;
use super::super::masters::RepositorySet;
use super::super::md5_cache::Md5Cache;
use super::super::repos_conf::{RepoSection, ReposConf};
use super::super::repository::{self, Repository, RepositoryError};
use super::error::SystemError;
use super::problem::Problems;

/// What `profile-formats` of layout.conf allows (Portage's own format).
#[derive(Clone, Debug, Default)]
pub(super) struct Formats {
    /// Directories in the place of files, whatever the EAPI.
    pub directories: bool,
    /// `profile-set`
    pub profile_set: bool,
    /// `profile-license`
    pub license: bool,
    /// `profile-repo-deps`
    pub repository_atoms: bool,
}

impl Formats {
    fn of(names: &[String]) -> Formats {
        let has = |format: &str| names.iter().any(|name| name == format);
        Formats {
            // without the key Portage takes portage-1-compat
            directories: names.is_empty() || has("portage-1-compat") || has("portage-1") || has("portage-2"),
            profile_set: has("profile-set"),
            license: has("profile-license"),
            repository_atoms: has("profile-repo-deps"),
        }
    }

    /// Those of a directory that lies in no repository.
    pub fn of_no_repository() -> Formats {
        Formats { directories: true, ..Formats::default() }
    }

    pub fn allow_directories(&self, eapi: &str) -> bool {
        self.directories || eapi.parse::<u32>().map_or(true, |eapi| eapi >= 7)
    }
}

/// One repository.
pub(super) struct Repo {
    pub repository: Repository,
    /// The location without links.
    pub real: PathBuf,
    pub priority: i64,
    /// Indices of the masters, in the order of layout.conf.
    pub masters: Vec<usize>,
    pub aliases: Vec<String>,
    pub formats: Formats,
    /// The EAPI of profile directories that name none (PMS 5.2.2; `profile_eapi_when_unspecified`).
    pub profile_eapi: String,
    pub cache: Md5Cache<Arc<RepositorySet>>,
}

/// All repositories, by rising priority, then by name.
pub(super) struct Repositories {
    pub all: Vec<Repo>,
    pub main: Option<usize>,
}

impl Repositories {
    /// Opens the repositories of repos.conf below `root`.
    pub fn open(root: &Path, problems: &Problems, conf: Conf) -> Result<Repositories, SystemError> {
        let Conf { mut repositories, own } = conf;
        let mut opened: Vec<(Repository, RepoSection)> = Vec::new();
        for section in &mut repositories.sections {
            let Some(written) = section.location.clone() else {
                if own.section(&section.name).is_some() {
                    let message =
                        format!("the section [{}] has no `location`; add one or remove the section", section.name);
                    problems.add(&root.join("etc/portage/repos.conf"), None, message);
                }
                continue;
            };
            let location = place(root, &written);
            section.location = Some(location.clone());
            match open(&location, section) {
                Ok(repository) => {
                    if !repository::is_repository(&repository.location) {
                        let message = format!(
                            "has no profiles/repo_name; is that a repository? [{}] of repos.conf names it",
                            section.name
                        );
                        problems.add(&repository.location, None, message);
                    }
                    opened.push((repository, section.clone()));
                }
                // what Portage's own default names need not be there
                Err(message) => {
                    if own.section(&section.name).is_some() {
                        let message = format!("[{}] is left out: {message}", section.name);
                        problems.add(&root.join("etc/portage/repos.conf"), None, message);
                    }
                }
            }
        }
        if opened.is_empty() {
            return Err(SystemError::NoRepositories(root.to_owned()));
        }
        let main_name = repositories.main_repo.clone();
        let config = PortageConfig::of_repositories(repositories);
        let mut all = Vec::new();
        for (repository, section) in opened {
            let set = RepositorySet::resolve(repository.clone(), &[], &config)
                .map_err(|error| SystemError::Repository(error.to_string()))?;
            let formats = Formats::of(&repository.layout.profile_formats);
            // from EAPI 9 on profiles/eapi speaks for all directories below
            let speaks_for_all = repository.eapi.parse::<u32>().is_ok_and(|eapi| eapi >= 9);
            let profile_eapi = match speaks_for_all {
                true => repository.eapi.clone(),
                false => repository.layout.profile_eapi.clone().unwrap_or_else(|| "0".to_owned()),
            };
            let main = main_name.as_ref() == Some(&repository.name);
            let mut aliases = repository.layout.aliases.clone();
            aliases.extend(section.aliases);
            all.push(Repo {
                real: repository.location.canonicalize().unwrap_or_else(|_| repository.location.clone()),
                priority: section.priority.unwrap_or(if main { -1000 } else { 0 }),
                masters: Vec::new(),
                aliases,
                formats,
                profile_eapi,
                cache: Md5Cache::new(Arc::new(set)),
                repository,
            });
        }
        all.sort_by(|a, b| (a.priority, &a.repository.name).cmp(&(b.priority, &b.repository.name)));
        let mut repositories = Repositories { all, main: None };
        repositories.main = main_name.and_then(|name| repositories.index(&name));
        repositories.link(problems);
        Ok(repositories)
    }

    /// The index of a repository by its name or else by an alias.
    pub fn index(&self, name: &str) -> Option<usize> {
        let by_name = self.all.iter().position(|repo| repo.repository.name == name);
        by_name.or_else(|| self.all.iter().position(|repo| repo.aliases.iter().any(|alias| alias == name)))
    }

    /// Fills in the masters. One that is not configured is none, as in Portage.
    fn link(&mut self, problems: &Problems) {
        for index in 0..self.all.len() {
            let set = self.all[index].cache.set();
            let mut masters = Vec::new();
            for master in &set.masters {
                let found = self.all.iter().position(|repo| repo.repository.location == master.location);
                masters.extend(found);
            }
            for name in &set.missing {
                let path = self.all[index].repository.location.join("metadata/layout.conf");
                let message = format!("the master {name} stands in no repos.conf; add it there");
                problems.add(&path, None, message);
            }
            self.all[index].masters = masters;
        }
    }

    /// The masters of a repository and itself, in the order in which their files stack.
    pub fn with_masters(&self, index: usize) -> impl Iterator<Item = usize> {
        self.all[index].masters.iter().copied().chain([index])
    }

    /// The repository that a path lies in.
    pub fn around(&self, path: &Path) -> Option<&Repo> {
        let within = self.all.iter().filter(|repo| path.starts_with(&repo.real));
        within.max_by_key(|repo| repo.real.as_os_str().len())
    }
}

/// repos.conf: all that counts, and what stands in the user's own files.
pub(super) struct Conf {
    pub repositories: ReposConf,
    pub own: ReposConf,
}

/// Where an absolute path of the machine is: below `root` if it is there, else as it is written, which is how a
/// configuration for tests or for another place on this machine names it.
pub(super) fn place(root: &Path, written: &Path) -> PathBuf {
    let below = written.strip_prefix("/").map(|rest| root.join(rest));
    match below {
        Ok(below) if root != Path::new("/") && (below.exists() || !written.exists()) => below,
        _ => written.to_owned(),
    }
}

/// Opens a repository, whose own name must be that of the section or have it as an alias.
fn open(location: &Path, section: &RepoSection) -> Result<Repository, String> {
    let repository = match Repository::open(location) {
        // a repository without a name has the section's
        Err(RepositoryError::NoName(_)) => Repository::open_as(location, Some(&section.name)),
        opened => opened,
    };
    let repository = repository.map_err(|error| error.to_string())?;
    let aliases = repository.layout.aliases.iter().chain(&section.aliases);
    if repository.name != section.name && !aliases.into_iter().any(|alias| *alias == section.name) {
        return Err(format!(
            "the repository in {} calls itself {}; name the section so",
            crate::escape::escape_path(location),
            repository.name
        ));
    }
    Ok(repository)
}
