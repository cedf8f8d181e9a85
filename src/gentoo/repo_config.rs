//! `metadata/ebaudit.toml`: what an audited repository itself says to ebaudit.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::text::ReadError;
use super::within::Within;

/// Why the file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RepoConfigError {
    #[error("{}: is no TOML: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{}: unknown key `{key}`; known is ro-distdirs", path.display())]
    UnknownKey { path: PathBuf, key: String },
    #[error("{}: `{key}` must be a list of texts", path.display())]
    BadType { path: PathBuf, key: String },
    #[error(
        "{}: ro-distdirs: `{value}` leads out of the repository; write a path relative to it, without `..`",
        path.display()
    )]
    Outside { path: PathBuf, value: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The settings of a repository for its own audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepoConfig {
    /// Directories of the repository that hold distfiles, below its location; never written to.
    pub ro_distdirs: Vec<PathBuf>,
}

impl RepoConfig {
    /// Reads `metadata/ebaudit.toml` of the repository at `location`; without one nothing is set.
    ///
    /// The file comes with the repository, from whoever wrote that: it can name nothing outside.
    pub fn read(location: &Path) -> Result<RepoConfig, RepoConfigError> {
        let path = location.join("metadata/ebaudit.toml");
        match Within::root(location).read(&path)? {
            Some(text) => parse(&text, &path, location),
            None => Ok(RepoConfig::default()),
        }
    }
}

fn parse(text: &str, path: &Path, location: &Path) -> Result<RepoConfig, RepoConfigError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| RepoConfigError::Syntax {
        path: path.to_owned(),
        message: error.message().to_owned() + &at_line(text, error.span()),
    })?;
    let mut config = RepoConfig::default();
    for (key, value) in table {
        if key != "ro-distdirs" {
            return Err(RepoConfigError::UnknownKey { path: path.to_owned(), key });
        }
        let bad = || RepoConfigError::BadType { path: path.to_owned(), key: key.clone() };
        for entry in value.as_array().ok_or_else(bad)? {
            let entry = entry.as_str().ok_or_else(bad)?;
            let within = is_within(location, Path::new(entry));
            let within =
                within.ok_or_else(|| RepoConfigError::Outside { path: path.to_owned(), value: entry.to_owned() })?;
            config.ro_distdirs.push(within);
        }
    }
    Ok(config)
}

fn at_line(text: &str, span: Option<std::ops::Range<usize>>) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    before.map_or(String::new(), |before| format!(" (line {})", before.matches('\n').count() + 1))
}

/// The path below the repository, unless it is absolute, climbs or passes through a link that leads out.
fn is_within(location: &Path, entry: &Path) -> Option<PathBuf> {
    let plain = entry.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain || entry.as_os_str() == OsStr::new("") {
        return None;
    }
    let path = location.join(entry);
    match (path.canonicalize(), location.canonicalize()) {
        (Ok(real), Ok(root)) if !real.starts_with(&root) => None,
        _ => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RepoConfig, RepoConfigError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("metadata")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("out")).unwrap();
        std::fs::write(dir.path().join("metadata/ebaudit.toml"), text).unwrap();
        let config = RepoConfig::read(dir.path())?;
        let relative = |path: &PathBuf| path.strip_prefix(dir.path()).unwrap().to_owned();
        Ok(RepoConfig { ro_distdirs: config.ro_distdirs.iter().map(relative).collect() })
    }

    #[test]
    fn directories_within() {
        let config = read("ro-distdirs = [\"distfiles\", \"./a/b\"]\n").unwrap();
        assert_eq!(config.ro_distdirs, [Path::new("distfiles"), Path::new("a/b")]);
        assert_eq!(RepoConfig::read(Path::new("/nonexistent")).unwrap(), RepoConfig::default());
    }

    #[test]
    fn nothing_outside() {
        for entry in ["/etc", "..", "a/../../b", "out", "out/etc", ""] {
            let error = read(&format!("ro-distdirs = [\"{entry}\"]")).unwrap_err();
            assert!(matches!(error, RepoConfigError::Outside { .. }), "{entry}: {error}");
            assert!(error.to_string().contains("metadata/ebaudit.toml: ro-distdirs"), "{error}");
        }
    }

    #[test]
    fn errors_name_the_file_and_key() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("distdirs = []").contains("ebaudit.toml: unknown key `distdirs`"));
        assert!(error("ro-distdirs = 1").contains("`ro-distdirs` must be a list"));
        assert!(error("ro-distdirs = [1]").contains("`ro-distdirs` must be a list"));
        assert!(error("\nro-distdirs = [").contains("ebaudit.toml: is no TOML"));
    }
}
