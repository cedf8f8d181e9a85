//! git, asked for what was changed. What a stranger committed must not make it run a program: settings hold that come
//! from the checkout's own `.git`, and from no other folder that looks like one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::report::printable;

/// A hook's variables speak of the repository that runs it.
const OF_A_HOOK: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// A commit can hold the files of a bare repository, whose settings would name programs; whatever repository it is,
/// nothing is fetched and no program started.
const SETTINGS: &[&str] = &[
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "core.sshCommand=false",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=false",
    "credential.helper=",
];

/// Asks git about the checkout that `repository` lies in.
pub fn ask(repository: &Path, words: &[&str]) -> Result<Output> {
    let mut command = asking(repository, words);
    // the index alone may be one made for the commit
    if let Some(index) = std::env::var_os("GIT_INDEX_FILE") {
        match std::path::absolute(index).ok().filter(|index| is_index_of(repository, index)) {
            Some(index) => command.env("GIT_INDEX_FILE", index),
            None => command.env_remove("GIT_INDEX_FILE"),
        };
    }
    command.output().context("can't run git, which --commits and --staged ask for what was changed")
}

fn asking(repository: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    for name in OF_A_HOOK {
        command.env_remove(name);
    }
    command.arg("--no-pager").args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    command.arg("-C").arg(repository).args(words);
    command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command
}

/// An error unless the repository lies in a checkout, and what git takes for its folder is none of the files in it.
pub fn must_hold(repository: &Path) -> Result<()> {
    let asked = |word| -> Result<PathBuf> {
        let done = ask(repository, &["rev-parse", word])?;
        if !done.status.success() {
            bail!("git can't be asked what was changed in {}: {}", repository.display(), said(&done));
        }
        Ok(PathBuf::from(OsStr::from_bytes(done.stdout.trim_ascii_end())))
    };
    let (top, git) = (asked("--show-toplevel")?, asked("--absolute-git-dir")?);
    let real = repository.canonicalize()?;
    // git before 2.38 knows no safe.bareRepository
    if !real.starts_with(top.canonicalize()?) || real.starts_with(git.canonicalize()?) {
        bail!(
            "git takes {} for the repository of {}, which is no checkout of it: --commits and --staged ask no such one",
            printable(&git.to_string_lossy()),
            repository.display()
        );
    }
    Ok(())
}

/// Whether an index lies where git keeps those of the repository.
fn is_index_of(repository: &Path, index: &Path) -> bool {
    let Ok(done) = asking(repository, &["rev-parse", "--absolute-git-dir"]).env_remove("GIT_INDEX_FILE").output()
    else {
        return false;
    };
    let dir = PathBuf::from(OsStr::from_bytes(done.stdout.trim_ascii_end()));
    let parent = index.parent().and_then(|parent| parent.canonicalize().ok());
    done.status.success() && parent.is_some() && parent == dir.canonicalize().ok()
}

/// The first line of what git said of a failure.
pub fn said(done: &Output) -> String {
    let text = String::from_utf8_lossy(&done.stderr);
    printable(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}
