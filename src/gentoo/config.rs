//! What a machine's Portage is configured to: make.conf, make.globals, repos.conf and the environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::repos_conf::{ReposConf, ReposConfError};
use super::varfile::{self, VarFileError, Variables};
use super::within::Within;

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Variables(#[from] VarFileError),
    #[error(transparent)]
    Repositories(#[from] ReposConfError),
}

/// A process's environment.
pub type Environment = BTreeMap<OsString, OsString>;

const DEFAULTS: [(&str, &str); 2] =
    [("DISTDIR", "/var/cache/distfiles"), ("GENTOO_MIRRORS", "https://distfiles.gentoo.org")];

/// Portage's configuration. A machine that has none of its files gets Portage's defaults.
#[derive(Clone, Debug, Default)]
pub struct PortageConfig {
    globals: Variables,
    conf: Variables,
    environment: Environment,
    repositories: ReposConf,
}

impl PortageConfig {
    /// Reads `usr/share/portage/config/{make.globals,repos.conf}` and `etc/portage/{make.conf,repos.conf}`
    /// (each a file or a directory) and `etc/make.conf` below `root`, which is `/` or `PORTAGE_CONFIGROOT`.
    /// Variables of `environment` win over those of the files, as in Portage.
    pub fn load(root: &Path, environment: Environment) -> Result<PortageConfig, ConfigError> {
        let shared = root.join("usr/share/portage/config");
        let etc = root.join("etc/portage");
        let mut known: Variables = ["EPREFIX", "BROOT", "SYSROOT"].map(|name| (name.to_owned(), String::new())).into();
        for name in ["ROOT", "EROOT", "ESYSROOT"] {
            known.insert(name.to_owned(), "/".to_owned());
        }
        known.insert("PORTAGE_CONFIGROOT".to_owned(), root.to_string_lossy().into_owned());
        let paths = known.clone();

        let anywhere = Within::anywhere();
        let mut globals: Variables = DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        known.extend(globals.clone());
        globals.extend(varfile::read(&shared.join("make.globals"), &mut known, false, &anywhere)?.unwrap_or_default());

        let mut conf = Variables::new();
        for file in [root.join("etc/make.conf"), etc.join("make.conf")] {
            conf.extend(varfile::read(&file, &mut known, true, &anywhere)?.unwrap_or_default());
        }
        conf.retain(|name, _| !name.starts_with("__"));

        let repositories = match environment.get(OsStr::new("PORTAGE_REPOSITORIES")) {
            Some(text) => ReposConf::parse(&text.to_string_lossy(), Path::new("PORTAGE_REPOSITORIES"), &paths)?,
            None => ReposConf::read(&[shared.join("repos.conf"), etc.join("repos.conf")], &paths)?,
        };
        Ok(PortageConfig { globals, conf, environment, repositories })
    }

    /// A configuration that says where repositories are and nothing else.
    pub fn of_repositories(repositories: ReposConf) -> PortageConfig {
        PortageConfig { repositories, ..PortageConfig::default() }
    }

    /// A variable: of the environment, else of make.conf, else of make.globals. For incremental ones
    /// (USE, ACCEPT_KEYWORDS) ask [`PortageConfig::conf`] and [`PortageConfig::environment`] one by one.
    pub fn get(&self, name: &str) -> Option<String> {
        self.environment(name)
            .or_else(|| self.conf(name).or_else(|| self.globals.get(name).map(String::as_str)).map(str::to_owned))
    }

    /// A variable of make.conf alone.
    pub fn conf(&self, name: &str) -> Option<&str> {
        self.conf.get(name).map(String::as_str)
    }

    /// All variables of make.globals, or the defaults in its place.
    pub fn globals(&self) -> &Variables {
        &self.globals
    }

    /// All variables of make.conf.
    pub fn conf_variables(&self) -> &Variables {
        &self.conf
    }

    /// A variable of the environment alone.
    pub fn environment(&self, name: &str) -> Option<String> {
        Some(self.environment.get(OsStr::new(name))?.to_string_lossy().into_owned())
    }

    /// `DISTDIR`: where distfiles are kept.
    pub fn distdir(&self) -> PathBuf {
        match self.environment.get(OsStr::new("DISTDIR")) {
            Some(path) if !path.is_empty() => PathBuf::from(path),
            _ => PathBuf::from(self.get("DISTDIR").unwrap_or_default()),
        }
    }

    /// `PORTAGE_RO_DISTDIRS`: directories to look for distfiles in as well, never to write to.
    pub fn ro_distdirs(&self) -> Vec<PathBuf> {
        let text = self.get("PORTAGE_RO_DISTDIRS").unwrap_or_default();
        split_quoted(&text).into_iter().map(PathBuf::from).collect()
    }

    /// `GENTOO_MIRRORS`: base URIs or directories that hold a `distfiles/`, in order of preference.
    pub fn gentoo_mirrors(&self) -> Vec<String> {
        let text = self.get("GENTOO_MIRRORS").unwrap_or_default();
        text.split_whitespace().map(|uri| uri.trim_end_matches('/').to_owned()).collect()
    }

    /// The repositories of repos.conf.
    pub fn repositories(&self) -> &ReposConf {
        &self.repositories
    }

    /// The name of the main repository; `gentoo`, as in Portage's own repos.conf, where nothing says.
    pub fn main_repository(&self) -> &str {
        self.repositories.main_repo.as_deref().unwrap_or("gentoo")
    }
}

/// Words with shell quotes, as Python's shlex.split; an open quotation mark reaches to the end.
fn split_quoted(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut within) = (None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                if !within {
                    words.push(String::new());
                }
                within = true;
            }
            (None, c) if c.is_whitespace() => within = false,
            (_, c) => {
                if !within {
                    words.push(String::new());
                }
                within = true;
                words.last_mut().into_iter().for_each(|word| word.push(c));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn nothing_there_gives_defaults() {
        let dir = tempfile::tempdir().unwrap();
        let config = PortageConfig::load(dir.path(), Environment::new()).unwrap();
        assert_eq!(config.distdir(), Path::new("/var/cache/distfiles"));
        assert_eq!(config.gentoo_mirrors(), ["https://distfiles.gentoo.org"]);
        assert!(config.ro_distdirs().is_empty());
        assert_eq!(config.main_repository(), "gentoo");
    }

    #[test]
    fn the_environment_wins() {
        let dir = tempfile::tempdir().unwrap();
        let etc = dir.path().join("etc/portage");
        fs::create_dir_all(&etc).unwrap();
        fs::write(
            etc.join("make.conf"),
            "DISTDIR=\"${EPREFIX}/a\"\nUSE=\"x\"\nGENTOO_MIRRORS=\"http://m/ file:///n/\"\n__x=1\nPORTAGE_RO_DISTDIRS=\"/a '/b c'\"\n",
        )
        .unwrap();
        let config = PortageConfig::load(dir.path(), environment(&[("USE", "y"), ("DISTDIR", "/b")])).unwrap();
        assert_eq!(config.distdir(), Path::new("/b"));
        assert_eq!((config.conf("USE"), config.environment("USE").as_deref()), (Some("x"), Some("y")));
        assert_eq!(config.get("USE").as_deref(), Some("y"));
        assert_eq!(config.gentoo_mirrors(), ["http://m", "file:///n"]);
        assert_eq!(config.ro_distdirs(), [Path::new("/a"), Path::new("/b c")]);
        assert_eq!(config.conf("__x"), None);
        let config = PortageConfig::load(dir.path(), Environment::new()).unwrap();
        assert_eq!(config.distdir(), Path::new("/a"));
    }

    #[test]
    fn repositories_come_from_files_or_the_environment() {
        let dir = tempfile::tempdir().unwrap();
        let conf = dir.path().join("etc/portage/repos.conf");
        fs::create_dir_all(&conf).unwrap();
        fs::write(conf.join("a.conf"), "[DEFAULT]\nmain-repo = m\n[m]\nlocation = /m\n").unwrap();
        let config = PortageConfig::load(dir.path(), Environment::new()).unwrap();
        assert_eq!(config.main_repository(), "m");
        let other = environment(&[("PORTAGE_REPOSITORIES", "[n]\nlocation = /n\n")]);
        let config = PortageConfig::load(dir.path(), other).unwrap();
        assert_eq!(config.repositories().section("n").unwrap().location, Some("/n".into()));
        assert!(config.repositories().section("m").is_none());
    }
}
