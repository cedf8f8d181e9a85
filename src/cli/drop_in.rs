//! The configuration of a plan as files that can be copied to etc/portage.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::plan::{Answer, Status};
use crate::report::printable;

/// The name of the files in the package.* folders.
const NAME: &str = "ebaudit-plan";

/// How each file begins.
const HEAD: &str = "# ebaudit plan ";

const FOLDERS: [&str; 5] =
    ["package.accept_keywords", "package.env", "package.license", "package.unmask", "package.use"];

/// Writes `DIR/package.use/ebaudit-plan` and its like, each line under its reason, and `DIR/env/…` as they are named. The
/// files of an earlier plan go first; but where DIR is a machine's etc/portage their lines are in force, this plan counts
/// on them, and they stay. Without lines nothing is made, and that is said; without a plan all stays as it is.
pub fn write(dir: &Path, answer: &Answer) -> Result<()> {
    let say = |what: &str| eprintln!("ebaudit: --write {}: {what}", printable(&dir.display().to_string()));
    if answer.status == Status::Impossible {
        say("there is no plan; nothing is written");
        return Ok(());
    }
    let place = |file: &str| if file.starts_with("env/") { dir.join(file) } else { dir.join(file).join(NAME) };
    for file in answer.config.keys() {
        check(dir, &place(file))?;
    }
    if answer.config.is_empty() {
        say("the plan needs no lines of configuration; there is nothing to write");
    } else {
        fs::create_dir_all(dir).with_context(|| format!("can't make {}", dir.display()))?;
    }
    let in_force = ["make.conf", "make.profile"].iter().any(|name| dir.join(name).symlink_metadata().is_ok());
    if !in_force {
        for path in written(dir) {
            fs::remove_file(&path).with_context(|| format!("can't remove {}", path.display()))?;
            if !answer.config.keys().any(|file| place(file) == path) {
                say(&format!("removed {}, which an earlier plan wrote", path.display()));
            }
        }
    }
    for (file, lines) in &answer.config {
        let path = place(file);
        let mut text = match file.starts_with("env/") {
            true => String::new(),
            false => fs::read_to_string(&path).unwrap_or_default(),
        };
        text.push_str(&format!("{HEAD}{}\n", answer.goal.join(" ")));
        for line in lines {
            if let Some(why) = answer.config_reasons.get(&format!("{file}: {line}")) {
                text.push_str(&format!("# {}\n", why.replace('\n', " ")));
            }
            text.push_str(line);
            text.push('\n');
        }
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}

/// Whether a file can be written, before any is.
fn check(dir: &Path, path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(dir);
    for folder in [dir, folder] {
        if folder.symlink_metadata().is_ok() && !folder.is_dir() {
            let (old, own) = (folder.display(), folder.join("own"));
            bail!(
                "--write: {old} is no folder, and the plan's lines go to a file of their own in one of that name: make \
                 it a folder (mv {old} {old}.own; mkdir {old}; mv {old}.own {}), or name another folder; nothing was written",
                own.display()
            );
        }
    }
    if path.symlink_metadata().is_ok() && !is_own(path) {
        bail!(
            "--write: {} is there and is not this program's: move it away, or name another folder; nothing was written",
            path.display()
        );
    }
    Ok(())
}

/// The files of earlier plans.
fn written(dir: &Path) -> Vec<PathBuf> {
    let envs = fs::read_dir(dir.join("env")).into_iter().flatten().flatten().map(|entry| entry.path());
    let packages = FOLDERS.iter().map(|folder| dir.join(folder).join(NAME));
    packages.chain(envs).filter(|path| is_own(path)).collect()
}

fn is_own(path: &Path) -> bool {
    path.is_file() && fs::read(path).is_ok_and(|bytes| bytes.starts_with(HEAD.as_bytes()))
}
