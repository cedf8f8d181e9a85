//! How reports name the files of a job.

use std::path::{Component, Path, PathBuf};

use super::job::JobDir;
use crate::escape::escape_path;

/// The folders that have names of their own.
#[derive(Clone, Debug)]
pub struct Names {
    work: PathBuf,
    temp: PathBuf,
    home: PathBuf,
    dist: PathBuf,
}

impl Names {
    pub fn of(job: &JobDir) -> Names {
        Names { work: job.workdir(), temp: job.temp(), home: job.home(), dist: job.distdir() }
    }

    /// The path below WORKDIR; none outside of it.
    pub fn below_work<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.work).ok()
    }

    /// Whether a path is, by its words, one of the job's own folders.
    pub fn holds(&self, path: &Path) -> bool {
        [&self.work, &self.temp, &self.home, &self.dist].iter().any(|folder| path.starts_with(folder))
    }

    /// `text` with the job's folders named instead of spelled out, so that it is the same in every run.
    pub fn portable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (root, name) in [(&self.work, "${WORKDIR}"), (&self.temp, "${T}"), (&self.home, "${HOME}")] {
            let root = escape_path(root);
            if text.contains(&root) {
                text = text.replace(&root, name);
            }
        }
        text
    }

    /// The path without `.` and `..`, by its words alone.
    pub fn normal(&self, path: &Path) -> PathBuf {
        let mut out = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                part => out.push(part),
            }
        }
        out
    }

    /// Relative to WORKDIR; outside of it with `${T}`, `${HOME}` or `/` at its head.
    pub fn show(&self, path: &Path) -> String {
        if let Ok(rest) = path.strip_prefix(&self.work) {
            let text = escape_path(rest);
            return if text.is_empty() { ".".to_owned() } else { text };
        }
        for (root, name) in [(&self.temp, "${T}"), (&self.home, "${HOME}")] {
            if let Ok(rest) = path.strip_prefix(root) {
                return format!("{name}/{}", escape_path(rest));
            }
        }
        escape_path(path)
    }
}
