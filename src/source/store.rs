//! Where distfiles lie, and how one becomes there: looked for, verified, fetched if need be.

use std::fmt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::distfile::Distfile;
use super::fetch::{Fetcher, Progress};
use super::verified::Verified;
use super::verify::VerifyError;
use crate::gentoo::within::Within;

/// Why a distfile is not to be had. The texts are one line and name the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistfileError {
    /// It is there and is not what the Manifest means, or the Manifest does not know it (rule `BadDigest`).
    BadDigest { name: String, why: String },
    /// It is not there and could not be fetched (rule `FetchFailed`).
    FetchFailed {
        name: String,
        why: String,
        /// One line for each URI tried, `URI: why`.
        attempts: Vec<String>,
    },
}

impl DistfileError {
    pub fn name(&self) -> &str {
        match self {
            Self::BadDigest { name, .. } | Self::FetchFailed { name, .. } => name,
        }
    }
}

impl fmt::Display for DistfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadDigest { name, why } => write!(f, "{name}: {why}"),
            Self::FetchFailed { name, why, .. } => write!(f, "{name} {why}"),
        }
    }
}

impl std::error::Error for DistfileError {}

/// The directories of distfiles.
pub struct DistfileStore {
    /// DISTDIR: read, and written to where something must be fetched and it can be written to.
    pub distdir: PathBuf,
    /// PORTAGE_RO_DISTDIRS: read only.
    pub ro_distdirs: Vec<PathBuf>,
    /// Those of them that the audited repository brings along: links must not lead out of these.
    pub of_repository: Vec<PathBuf>,
    /// Takes what is fetched where DISTDIR is not there or cannot be written to; made when needed.
    pub fallback_dir: PathBuf,
    /// Takes files that the Manifest has no DIST line for.
    pub allow_unverified: bool,
    /// `None`: offline, nothing is ever fetched.
    pub fetcher: Option<Fetcher>,
    /// What need not be read again.
    pub verified: Verified,
}

impl DistfileStore {
    pub fn new(distdir: PathBuf, fallback_dir: PathBuf, fetcher: Option<Fetcher>) -> Self {
        DistfileStore {
            distdir,
            ro_distdirs: Vec::new(),
            of_repository: Vec::new(),
            fallback_dir,
            allow_unverified: false,
            fetcher,
            verified: Verified::default(),
        }
    }

    /// The folders that the user keeps distfiles in.
    pub fn folders(&self) -> Vec<PathBuf> {
        let own = self.ro_distdirs.iter().filter(|dir| !self.of_repository.contains(dir));
        own.chain([&self.distdir, &self.fallback_dir]).cloned().collect()
    }

    /// The path of a good copy of each file, fetched where there is none; the answers stand in the order of the files.
    pub fn obtain_all(&self, files: &[Distfile], progress: &dyn Progress) -> Vec<Result<PathBuf, DistfileError>> {
        let jobs = self.fetcher.as_ref().map_or(1, Fetcher::jobs);
        let answers: Vec<_> = files.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < files.len()) {
                let answer = self.obtain(&files[at], progress);
                if let Ok(mut slot) = answers[at].lock() {
                    *slot = Some(answer);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..jobs.min(files.len()) {
                // Where no thread is to be had, this one does it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        answers
            .into_iter()
            .zip(files)
            .map(|(slot, file)| slot.into_inner().ok().flatten().unwrap_or_else(|| self.obtain(file, progress)))
            .collect()
    }

    /// The path of a good copy of a file, fetched where there is none.
    ///
    /// A file of the wrong digest is never deleted, and replaced only by a fresh one that is right.
    pub fn obtain(&self, file: &Distfile, progress: &dyn Progress) -> Result<PathBuf, DistfileError> {
        let bad_digest = |why: String| DistfileError::BadDigest { name: file.name.clone(), why };
        if matches!(&file.name[..], "" | "." | "..") || file.name.contains(['/', '\0']) {
            return Err(self.fetch_failed(file, "is no name for a file".into(), Vec::new()));
        }
        if !file.in_manifest() && !self.allow_unverified {
            return Err(bad_digest(
                "the Manifest has no DIST line for it (--allow-unverified takes it as it is)".into(),
            ));
        }
        let found = self.find(file);
        let bad = match &found {
            Found::Good(path) => return Ok(path.clone()),
            Found::Bad(path, error) => Some(format!("{}: {error}", path.display())),
            Found::Unread(..) | Found::Nowhere => None,
        };
        let unread = match found {
            Found::Unread(path, error) => Some(format!("{}: {error}", path.display())),
            _ => None,
        };
        let attempts = match &self.fetcher {
            Some(fetcher) if !file.restrict_fetch && !file.uris.is_empty() => {
                match self.writable_dir().and_then(|dir| fetcher.fetch(file, &dir, progress)) {
                    Ok(path) => {
                        self.verified.remember(&path, file);
                        return Ok(path);
                    }
                    Err(attempts) => attempts,
                }
            }
            _ => Vec::new(),
        };
        match bad {
            Some(why) => Err(bad_digest(match attempts.last() {
                Some(last) => format!("{why}; fetching it anew failed ({last})"),
                None => why,
            })),
            None => Err(self.missing(file, unread, attempts)),
        }
    }

    /// Whether a file of that name and size is here; a look at nothing but names.
    pub fn has(&self, file: &Distfile) -> bool {
        self.dirs().any(|dir| std::fs::metadata(dir.join(&file.name)).is_ok_and(|m| m.len() == file.size))
    }

    pub(super) fn dirs(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.distdir).chain(&self.ro_distdirs).chain(std::iter::once(&self.fallback_dir))
    }

    fn find(&self, file: &Distfile) -> Found {
        let mut found = Found::Nowhere;
        for dir in self.dirs() {
            let path = dir.join(&file.name);
            if self.of_repository.contains(dir) && !Within::root(dir).holds(&path) {
                continue;
            }
            match std::fs::metadata(&path) {
                Ok(meta) if meta.is_file() => {}
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    if let Found::Nowhere = found {
                        found = Found::Unread(path, error);
                    }
                    continue;
                }
                _ => continue,
            }
            match (self.verified.check(&path, file), &found) {
                (Ok(()), _) => return Found::Good(path),
                (Err(VerifyError::Io(error)), Found::Nowhere) => found = Found::Unread(path, error),
                (Err(VerifyError::Io(_)), _) => {}
                (Err(error), Found::Nowhere | Found::Unread(..)) => found = Found::Bad(path, error),
                (Err(_), _) => {}
            }
        }
        found
    }

    fn writable_dir(&self) -> Result<PathBuf, Vec<String>> {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        if self.distdir.is_dir() && rustix::fs::access(&self.distdir, access).is_ok() {
            return Ok(self.distdir.clone());
        }
        match std::fs::create_dir_all(&self.fallback_dir) {
            Ok(()) => Ok(self.fallback_dir.clone()),
            Err(error) => Err(vec![format!("{}: {error}", self.fallback_dir.display())]),
        }
    }

    fn missing(&self, file: &Distfile, unread: Option<String>, attempts: Vec<String>) -> DistfileError {
        let because = match (attempts.last(), &self.fetcher) {
            (Some(last), _) if attempts.len() > 1 => {
                format!(" and none of {} URIs gave it (the last, {last})", attempts.len())
            }
            (Some(last), _) => format!(" and could not be fetched ({last})"),
            (None, _) if file.restrict_fetch => " and must be fetched by hand".to_owned(),
            (None, None) => " and nothing is fetched offline".to_owned(),
            (None, Some(_)) => " and has no URI to fetch it from".to_owned(),
        };
        let place = self.distdir.join(&file.name);
        let why = match unread {
            Some(unread) => format!("can't be read{because}; let it be read: {unread}"),
            None => format!("is not in DISTDIR{because}; put it there: {}", place.display()),
        };
        self.fetch_failed(file, why, attempts)
    }

    fn fetch_failed(&self, file: &Distfile, why: String, attempts: Vec<String>) -> DistfileError {
        DistfileError::FetchFailed { name: file.name.clone(), why: why.replace(['\n', '\r'], " "), attempts }
    }
}

enum Found {
    Good(PathBuf),
    Bad(PathBuf, VerifyError),
    /// It is there, or may be.
    Unread(PathBuf, std::io::Error),
    Nowhere,
}

#[cfg(test)]
mod tests;
