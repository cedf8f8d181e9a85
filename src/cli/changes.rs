//! `--commits` and `--staged`: which files git says were changed, and the ebuilds that this touches.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::escape::escape_path;
use crate::gentoo::repository::EbuildFile;
use crate::report::printable;

/// What `--commits` compares where it names nothing: as with pkgcheck, what was not pushed yet.
pub const UNPUSHED: &str = "origin..HEAD";

/// The changed files of a repository, relative to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    ebuilds: BTreeSet<PathBuf>,
    /// Packages of which a file below `files/` or the Manifest was changed.
    packages: BTreeSet<PathBuf>,
    eclasses: BTreeSet<String>,
    /// Whether a file was changed that can show in any ebuild.
    beyond: bool,
    /// Staged ebuilds that the working tree lacks.
    absent: Vec<PathBuf>,
    /// Whether nothing was there to compare, as in a clone of the newest commit alone.
    nothing: bool,
}

impl Changes {
    /// The files that the commits of `range` touch: `A..B` those of B that A lacks, `A` alone `A..HEAD`.
    pub fn of_commits(repository: &Path, range: &str) -> Result<Changes> {
        within_git(repository)?;
        let (from, to) = match range.split_once("..") {
            Some((from, to)) => (from, to.strip_prefix('.').unwrap_or(to)),
            None => (range, ""),
        };
        let from = known(repository, from, range)?;
        let to = known(repository, to, range)?;
        // B from where it left A: what A got since then is none of its changes
        let apart = git(repository, &["merge-base", &from, &to])?;
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
        within_git(repository)?;
        let mut changes = Changes::listed(repository, &["diff", "--cached"])?;
        // what is deleted in the index is gone on purpose
        let there = Changes::listed(repository, &["diff", "--cached", "--diff-filter=d"])?;
        changes.absent = there.ebuilds.into_iter().filter(|path| !repository.join(path).exists()).collect();
        Ok(changes)
    }

    fn listed(repository: &Path, words: &[&str]) -> Result<Changes> {
        let options = ["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", "--"];
        let done = git(repository, &[words, &options].concat())?;
        if !done.status.success() {
            bail!("git {}: {}", words.join(" "), said(&done));
        }
        let names = done.stdout.split(|b| *b == 0).filter(|name| !name.is_empty());
        Ok(Changes::from_paths(names.map(|name| Path::new(OsStr::from_bytes(name)))))
    }

    fn from_paths<'a>(paths: impl Iterator<Item = &'a Path>) -> Changes {
        let mut changes = Changes::default();
        for path in paths {
            let names: Vec<&OsStr> = path
                .components()
                .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
                .collect();
            let suffix = path.extension().unwrap_or_default();
            match names[..] {
                [first, ..] if first == "profiles" => changes.beyond = true,
                [first, file] if first == "metadata" => {
                    changes.beyond |= file == "layout.conf" || file == "ebaudit.toml";
                }
                [first, _] if first == "eclass" && suffix == "eclass" => {
                    changes.eclasses.extend(path.file_stem().and_then(OsStr::to_str).map(str::to_owned));
                }
                [_, _, _] if suffix == "ebuild" => drop(changes.ebuilds.insert(path.to_owned())),
                [category, package, file] if file == "Manifest" => {
                    changes.packages.insert(Path::new(category).join(package));
                }
                [category, package, folder, _, ..] if folder == "files" => {
                    changes.packages.insert(Path::new(category).join(package));
                }
                _ => {}
            }
        }
        changes
    }

    /// Whether an ebuild is touched. `inherited` gives its eclasses, none where it can't be sourced; it is asked only where
    /// that matters.
    pub fn touch(&self, ebuild: &EbuildFile, inherited: impl FnOnce() -> Option<Vec<String>>) -> bool {
        let path = ebuild.relative();
        self.ebuilds.contains(&path)
            || path.parent().is_some_and(|dir| self.packages.contains(dir))
            || (!self.eclasses.is_empty()
                && inherited().is_none_or(|names| names.iter().any(|name| self.eclasses.contains(name))))
    }

    /// What the choice leaves out that it may not.
    pub fn remarks(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.beyond {
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

fn within_git(repository: &Path) -> Result<()> {
    let done = git(repository, &["rev-parse", "--show-toplevel"])?;
    if !done.status.success() {
        bail!("git can't be asked what was changed in {}: {}", repository.display(), said(&done));
    }
    Ok(())
}

/// A revision's object; an empty one is HEAD.
fn known(repository: &Path, revision: &str, range: &str) -> Result<String> {
    let revision = if revision.is_empty() { "HEAD" } else { revision };
    // clones of CI have no origin/HEAD, which `origin` alone means
    let others = ["@{upstream}", "origin/main", "origin/master"];
    let tried = std::iter::once(revision).chain(others.into_iter().filter(|_| revision == "origin"));
    let mut failed = String::new();
    for revision in tried {
        let done = git(
            repository,
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")],
        )?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        failed = said(&done);
    }
    let why = if failed.is_empty() { String::new() } else { format!(" ({failed})") };
    bail!(
        "--commits {range}: git knows no commit {revision} here{why}; name one that it has (--commits=REV..REV), and in CI clone deep enough to have it"
    )
}

fn git(repository: &Path, words: &[&str]) -> Result<Output> {
    let mut command = Command::new("git");
    // a hook's variables speak of the repository that runs it; the index alone may be one made for the commit
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"] {
        command.env_remove(name);
    }
    if let Some(index) = std::env::var_os("GIT_INDEX_FILE") {
        match std::path::absolute(index).ok().filter(|index| is_index_of(repository, index)) {
            Some(index) => command.env("GIT_INDEX_FILE", index),
            None => command.env_remove("GIT_INDEX_FILE"),
        };
    }
    command
        .args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .arg("-C")
        .arg(repository)
        .args(words)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .context("can't run git, which --commits and --staged ask for what was changed")
}

/// Whether an index lies where git keeps those of the repository.
fn is_index_of(repository: &Path, index: &Path) -> bool {
    let mut asked = Command::new("git");
    asked.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_COMMON_DIR");
    asked.arg("-C").arg(repository).args(["rev-parse", "--absolute-git-dir"]).stdin(Stdio::null());
    let Ok(done) = asked.output() else { return false };
    let dir = PathBuf::from(OsStr::from_bytes(done.stdout.trim_ascii_end()));
    let parent = index.parent().and_then(|parent| parent.canonicalize().ok());
    done.status.success() && parent.is_some() && parent == dir.canonicalize().ok()
}

fn said(done: &Output) -> String {
    let text = String::from_utf8_lossy(&done.stderr);
    printable(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gentoo::cpv::Cpv;

    #[test]
    fn what_is_touched() {
        let names = [
            "app-misc/a/a-1.ebuild",
            "app-misc/b/files/x/y.patch",
            "app-misc/c/Manifest",
            "app-misc/d/metadata.xml",
            "eclass/one.eclass",
            "eclass/tests/two.sh",
            "README.md",
            "metadata/md5-cache/app-misc/e-1",
        ];
        let changes = Changes::from_paths(names.into_iter().map(Path::new));
        let ebuild = |name: &str| EbuildFile {
            cpv: Cpv::from_ebuild("app-misc", name, OsStr::new(&format!("{name}-1.ebuild"))).unwrap(),
            path: format!("/repo/app-misc/{name}/{name}-1.ebuild").into(),
            repository: "x".to_owned(),
        };
        let touched = |name: &str, inherited: &[&str]| {
            let names = inherited.iter().map(|name| (*name).to_owned()).collect();
            changes.touch(&ebuild(name), || Some(names))
        };
        assert!(touched("a", &[]) && touched("b", &[]) && touched("c", &[]));
        assert!(!touched("d", &[]) && !touched("e", &["two"]) && touched("f", &["two", "one"]));
        assert!(changes.touch(&ebuild("g"), || None), "what can't be sourced may have inherited it");
        assert!(changes.remarks().is_empty());
        assert!(Changes::from_paths([Path::new("profiles/arch/make.defaults")].into_iter()).remarks().len() == 1);
    }
}
