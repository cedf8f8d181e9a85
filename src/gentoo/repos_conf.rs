//! Portage's repos.conf: which repositories a machine has (portage(5)).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::text::{self, ReadError};

/// Why a repos.conf can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ReposConfError {
    #[error("{}:{line}: `{text}` stands before the first [section]", path.display())]
    NoSection { path: PathBuf, line: usize, text: String },
    #[error("{}:{line}: `{text}` is neither [section] nor key = value", path.display())]
    BadLine { path: PathBuf, line: usize, text: String },
    #[error("{}:{line}: `{value}` names a key that is not there, or never ends", path.display())]
    BadReference { path: PathBuf, line: usize, value: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl ReposConfError {
    /// The file, and the line if it is one that is wrong.
    pub fn place(&self) -> (&Path, Option<usize>) {
        match self {
            ReposConfError::NoSection { path, line, .. }
            | ReposConfError::BadLine { path, line, .. }
            | ReposConfError::BadReference { path, line, .. } => (path, Some(*line)),
            ReposConfError::Read(error) => (&error.path, None),
        }
    }
}

/// A repository as repos.conf describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepoSection {
    pub name: String,
    pub location: Option<PathBuf>,
    /// Overrides the masters of layout.conf.
    pub masters: Option<Vec<String>>,
    pub aliases: Vec<String>,
    pub eclass_overrides: Vec<String>,
    pub priority: Option<i64>,
}

/// All sections of repos.conf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReposConf {
    /// `main-repo` of `[DEFAULT]`.
    pub main_repo: Option<String>,
    /// By rising priority, then by name, as Portage orders them.
    pub sections: Vec<RepoSection>,
}

struct Value {
    text: String,
    path: PathBuf,
    line: usize,
}

type Section = BTreeMap<String, Value>;

impl ReposConf {
    /// Reads files, or all files of directories, one after the other; later values win. `variables`
    /// (EPREFIX, EROOT, …) can be referred to as `%(NAME)s`.
    pub fn read(paths: &[PathBuf], variables: &BTreeMap<String, String>) -> Result<ReposConf, ReposConfError> {
        let mut sections = BTreeMap::new();
        for path in paths {
            for file in text::files(path)? {
                if let Some(text) = text::read(&file)? {
                    parse_into(&text, &file, &mut sections)?;
                }
            }
        }
        strict(|complain| finish(sections, variables, complain))
    }

    /// [`ReposConf::read`] that takes what can be read; the errors are handed to `complain`.
    pub fn read_sound(
        paths: &[PathBuf],
        variables: &BTreeMap<String, String>,
        complain: &mut dyn FnMut(ReposConfError),
    ) -> ReposConf {
        let mut sections = BTreeMap::new();
        for path in paths {
            for file in text::files(path).map_err(|error| complain(error.into())).unwrap_or_default() {
                let read = text::read(&file).map_err(ReposConfError::from);
                let parsed = read.and_then(|text| parse_into(&text.unwrap_or_default(), &file, &mut sections));
                parsed.unwrap_or_else(&mut *complain);
            }
        }
        finish(sections, variables, complain)
    }

    /// Reads a text such as `PORTAGE_REPOSITORIES`.
    pub fn parse(text: &str, path: &Path, variables: &BTreeMap<String, String>) -> Result<ReposConf, ReposConfError> {
        let mut sections = BTreeMap::new();
        parse_into(text, path, &mut sections)?;
        strict(|complain| finish(sections, variables, complain))
    }

    /// The section of a repository, by its name or else by an alias.
    pub fn section(&self, name: &str) -> Option<&RepoSection> {
        let by_name = self.sections.iter().find(|section| section.name == name);
        by_name.or_else(|| self.sections.iter().find(|section| section.aliases.iter().any(|alias| alias == name)))
    }
}

fn parse_into(text: &str, path: &Path, sections: &mut BTreeMap<String, Section>) -> Result<(), ReposConfError> {
    let mut name: Option<String> = None;
    let mut last: Option<String> = None;
    for (index, raw) in text.lines().enumerate() {
        let (line, said) = (index + 1, raw.trim());
        if said.is_empty() || said.starts_with(['#', ';']) {
            continue;
        }
        let indented = raw.starts_with([' ', '\t']);
        let section = name.as_ref().and_then(|name| sections.get_mut(name));
        if let (true, Some(section), Some(key)) = (indented, section, &last) {
            if let Some(value) = section.get_mut(key) {
                value.text = format!("{} {said}", value.text);
            }
            continue;
        }
        if let Some(title) = said.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            sections.entry(title.to_owned()).or_default();
            name = Some(title.to_owned());
            last = None;
            continue;
        }
        let owned = || (path.to_owned(), line, said.to_owned());
        let Some((key, value)) = said.split_once(['=', ':']) else {
            let (path, line, text) = owned();
            return Err(ReposConfError::BadLine { path, line, text });
        };
        let Some(section) = name.as_ref().and_then(|name| sections.get_mut(name)) else {
            let (path, line, text) = owned();
            return Err(ReposConfError::NoSection { path, line, text });
        };
        let key = key.trim().to_lowercase();
        let text = value.trim().to_owned();
        section.insert(key.clone(), Value { text, path: path.to_owned(), line });
        last = Some(key);
    }
    Ok(())
}

/// The result of reading that complains of nothing, else the first complaint.
fn strict<T>(read: impl FnOnce(&mut dyn FnMut(ReposConfError)) -> T) -> Result<T, ReposConfError> {
    let mut first = None;
    let found = read(&mut |error| first = first.take().or(Some(error)));
    first.map_or(Ok(found), Err)
}

/// The sections by their keys; a value that refers to what is not there counts as not said.
fn finish(
    mut sections: BTreeMap<String, Section>,
    variables: &BTreeMap<String, String>,
    complain: &mut dyn FnMut(ReposConfError),
) -> ReposConf {
    let defaults = sections.remove("DEFAULT").unwrap_or_default();
    let mut conf = ReposConf { main_repo: defaults.get("main-repo").map(|value| value.text.clone()), sections: vec![] };
    for (name, section) in &sections {
        let mut get = |key: &str| -> Option<String> {
            let value = section.get(key).or_else(|| defaults.get(key))?;
            let look_up = |key: &str| {
                let found = section.get(key).or_else(|| defaults.get(key)).map(|value| value.text.clone());
                found.or_else(|| variables.iter().find(|(name, _)| name.to_lowercase() == key).map(|(_, v)| v.clone()))
            };
            let found = interpolate(&value.text, look_up);
            if found.is_none() {
                let (path, value) = (value.path.clone(), value);
                complain(ReposConfError::BadReference { path, line: value.line, value: value.text.clone() });
            }
            found
        };
        let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        conf.sections.push(RepoSection {
            name: name.clone(),
            location: get("location").filter(|text| !text.is_empty()).map(PathBuf::from),
            masters: get("masters").map(words),
            aliases: get("aliases").map(words).unwrap_or_default(),
            eclass_overrides: get("eclass-overrides").map(words).unwrap_or_default(),
            priority: get("priority").and_then(|text| text.parse().ok()),
        });
    }
    let main = conf.main_repo.clone();
    conf.sections.sort_by_key(|section| {
        let unsaid = if Some(&section.name) == main.as_ref() { -1000 } else { 0 };
        (section.priority.unwrap_or(unsaid), section.name.clone())
    });
    conf
}

/// `%(key)s` and `%%` of Python's configparser.
fn interpolate(text: &str, look_up: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut text = text.to_owned();
    // each round replaces one level of references; configparser allows ten
    for _ in 0..10 {
        if !text.contains("%(") {
            return Some(text.replace("%%", "%"));
        }
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("%(") {
            let (key, after) = after.split_once(")s")?;
            out.push_str(before);
            out.push_str(&look_up(&key.to_lowercase())?);
            rest = after;
            if out.len() > 1 << 16 {
                return None;
            }
        }
        out.push_str(rest);
        text = out;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn conf(text: &str) -> Result<ReposConf, ReposConfError> {
        let variables = BTreeMap::from([("EPREFIX".to_owned(), "/pre".to_owned())]);
        ReposConf::parse(text, Path::new("repos.conf"), &variables)
    }

    #[test]
    fn reads_sections() {
        let conf = conf(
            "[DEFAULT]\nmain-repo = gentoo\nbase = /var/db\n\n[zoo]\nlocation: %(base)s/zoo\npriority = 5\naliases = a\n  b\n\
             # remark\n[gentoo]\nlocation = %(EPREFIX)s/gentoo\nmasters =\n[guru]\nlocation=/x%%y\npriority = odd\n",
        )
        .unwrap();
        assert_eq!(conf.main_repo.as_deref(), Some("gentoo"));
        let names: Vec<_> = conf.sections.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["gentoo", "guru", "zoo"]);
        assert_eq!(conf.section("b").unwrap().location, Some("/var/db/zoo".into()));
        assert_eq!(conf.section("gentoo").unwrap().location, Some("/pre/gentoo".into()));
        assert_eq!(conf.section("gentoo").unwrap().masters, Some(vec![]));
        assert_eq!(conf.section("guru").unwrap().location, Some("/x%y".into()));
    }

    #[test]
    fn errors_name_file_and_line() {
        assert!(conf("a = b\n").unwrap_err().to_string().starts_with("repos.conf:1: `a = b` stands before"));
        assert!(conf("[x]\nodd\n").unwrap_err().to_string().starts_with("repos.conf:2: `odd` is neither"));
        for bad in ["[x]\nlocation = %(no)s\n", "[x]\nlocation = %(location)s %(location)s\n", "[x]\nlocation = %(a\n"]
        {
            assert!(matches!(conf(bad), Err(ReposConfError::BadReference { line: 2, .. })), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text: String) {
            let _ = conf(&text);
            let _ = conf(&format!("[x]\nlocation = {text}"));
        }
    }
}
