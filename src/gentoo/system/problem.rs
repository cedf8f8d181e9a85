//! What is wrong with a machine's files and does not stop the work.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Serialize, Serializer};

use super::super::repos_conf::ReposConfError;
use super::super::text::{Line, ReadError};
use super::super::varfile::VarFileError;

/// Something that was passed over, where it stands and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Counted from 1, if it is one line that is wrong.
    pub line: Option<usize>,
    pub message: String,
}

/// A path as text, a byte that is no UTF-8 as `\xNN`.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&crate::escape::escape_path(path))
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = crate::escape::escape_path(&self.path);
        match self.line {
            Some(line) => write!(f, "{path}:{line}: {}", self.message),
            None => write!(f, "{path}: {}", self.message),
        }
    }
}

/// The problems found so far; any thread may add to them.
#[derive(Debug, Default)]
pub(super) struct Problems(Mutex<BTreeSet<Problem>>);

impl Problems {
    pub fn add(&self, path: &Path, line: Option<usize>, message: impl Into<String>) {
        let problem = Problem { path: path.to_owned(), line, message: message.into() };
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(problem);
    }

    /// A line that can't be used and is passed over.
    pub fn line(&self, line: &Line, message: impl Into<String>) {
        self.add(&line.path, Some(line.number), message);
    }

    pub fn unreadable(&self, error: &ReadError) {
        let reason = error.reason();
        let advice = match error.source.kind() {
            io::ErrorKind::PermissionDenied => "make it readable for you",
            _ => "mend or remove it",
        };
        self.add(&error.path, None, format!("can't be read: {reason}; {advice}"));
    }

    /// A file of variables that can't be read to its end.
    pub fn variables(&self, error: &VarFileError) {
        let (path, line) = error.place();
        let message = without_place(&error.to_string(), path, line);
        self.add(path, line, format!("{message}; mend it, what stands below is not read"));
    }

    /// A repos.conf that can't be read to its end.
    pub fn repos_conf(&self, error: &ReposConfError) {
        let (path, line) = error.place();
        self.add(path, line, format!("{}; mend or remove it", without_place(&error.to_string(), path, line)));
    }

    /// The result, or nothing and a problem.
    pub fn read<T: Default>(&self, result: Result<T, ReadError>) -> T {
        result.unwrap_or_else(|error| {
            self.unreadable(&error);
            T::default()
        })
    }

    pub fn all(&self) -> Vec<Problem> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).iter().cloned().collect()
    }
}

/// An error's text without the place that it begins with.
fn without_place(text: &str, path: &Path, line: Option<usize>) -> String {
    let place = match line {
        Some(line) => format!("{}:{line}: ", path.display()),
        None => format!("{}: ", path.display()),
    };
    text.strip_prefix(&place).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn problems_as_json() {
        let problems = Problems::default();
        problems.add(Path::new(OsStr::from_bytes(b"/a\xff")), Some(3), "is odd");
        problems.add(Path::new("/b"), None, "is \"odd\"");
        let text = serde_json::to_string(&problems.all()).unwrap();
        let expected =
            r#"[{"path":"/a\\xff","line":3,"message":"is odd"},{"path":"/b","line":null,"message":"is \"odd\""}]"#;
        assert_eq!(text, expected);
    }
}
