//! `--commits` and `--staged`: which files git says were changed, and the ebuilds that this touches.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::git;
use super::touch::Touched;
use crate::escape::escape_path;

/// What `--commits` compares where it names nothing: as with pkgcheck, what was not pushed yet.
pub const UNPUSHED: &str = "origin..HEAD";

/// The changed files of a repository, relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub touched: Touched,
    /// Staged ebuilds that the working tree lacks.
    absent: Vec<PathBuf>,
    /// Whether nothing was there to compare, as in a clone of the newest commit alone.
    nothing: bool,
}

impl Changes {
    /// The files that the commits of `range` touch: `A..B` those of B that A lacks, `A` alone `A..HEAD`.
    pub fn of_commits(repository: &Path, range: &str) -> Result<Changes> {
        git::must_hold(repository)?;
        let (from, to) = match range.split_once("..") {
            Some((from, to)) => (from, to.strip_prefix('.').unwrap_or(to)),
            None => (range, ""),
        };
        let from = known(repository, from, range)?;
        let to = known(repository, to, range)?;
        // B from where it left A: what A got since then is none of its changes
        let apart = git::ask(repository, &["merge-base", &from, &to])?;
        let base = String::from_utf8_lossy(&apart.stdout).trim().to_owned();
        let mut changes = Changes::default();
        if from == to && range == UNPUSHED {
            changes.nothing = true;
            return Ok(changes);
        }
        let base = if apart.status.success() && !base.is_empty() { base } else { from };
        Changes::listed(repository, &["diff", &base, &to])
    }

    /// The files that the next commit would change.
    pub fn staged(repository: &Path) -> Result<Changes> {
        git::must_hold(repository)?;
        let mut changes = Changes::listed(repository, &["diff", "--cached"])?;
        // what is deleted in the index is gone on purpose
        let there = Changes::listed(repository, &["diff", "--cached", "--diff-filter=d"])?;
        changes.absent =
            there.touched.ebuilds().filter(|path| !repository.join(path).exists()).map(Path::to_owned).collect();
        Ok(changes)
    }

    fn listed(repository: &Path, words: &[&str]) -> Result<Changes> {
        let options = ["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", "--"];
        let done = git::ask(repository, &[words, &options].concat())?;
        if !done.status.success() {
            bail!("git {}: {}", words.join(" "), git::said(&done));
        }
        let names = done.stdout.split(|b| *b == 0).filter(|name| !name.is_empty());
        let touched = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
        Ok(Changes { touched, ..Changes::default() })
    }

    /// What the choice leaves out that it may not.
    pub fn remarks(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.touched.is_beyond() {
            out.push("profiles/ or the repository's settings were changed as well, which any ebuild may show: only ebuilds that were touched themselves were audited".to_owned());
        }
        if self.nothing {
            out.push(format!("HEAD is what origin has ({UNPUSHED}): no commit is there to be looked at; name others with --commits=REV1..REV2"));
        }
        for path in &self.absent {
            out.push(format!("{} is staged and not in the working tree: it was not audited", escape_path(path)));
        }
        out
    }
}

/// A revision's object; an empty one is HEAD.
fn known(repository: &Path, revision: &str, range: &str) -> Result<String> {
    let revision = if revision.is_empty() { "HEAD" } else { revision };
    // clones of CI have no origin/HEAD, which `origin` alone means
    let others = ["@{upstream}", "origin/main", "origin/master"];
    let tried = std::iter::once(revision).chain(others.into_iter().filter(|_| revision == "origin"));
    let mut failed = String::new();
    for revision in tried {
        let done = git::ask(
            repository,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")],
        )?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        failed = git::said(&done);
    }
    let why = if failed.is_empty() { String::new() } else { format!(" ({failed})") };
    bail!(
        "--commits {range}: git knows no commit {revision} here{why}; name one that it has (--commits=REV..REV), and in CI clone deep enough to have it"
    )
}
