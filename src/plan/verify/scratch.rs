//! A copy of a system that emerge may look at, with the plan's configuration in place.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::copier::Copier;
use crate::gentoo::system::System;
use crate::phase::stale::{self, Folder};
use crate::plan::Answer;

/// The copy; removed with the value, or by the next run.
pub struct Scratch(Folder);

impl Scratch {
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Copies what a plan depends on; the repositories stay where they are. `share`: Portage's own configuration.
pub fn copy(system: &System, answer: &Answer, share: &Path) -> Result<Scratch, String> {
    let parent = std::env::temp_dir();
    stale::sweep(&parent);
    let scratch = Scratch(stale::make(&parent).map_err(|error| told(&parent, &error))?);
    let (from, to) = (system.root(), scratch.path());
    for dir in [
        "var/tmp",
        "var/log",
        "var/cache/distfiles",
        "var/cache/edb",
        "var/cache/binpkgs",
        "usr/bin",
        "share",
        "usr/share",
    ] {
        fs::create_dir_all(to.join(dir)).map_err(|error| told(&to.join(dir), &error))?;
    }
    for link in ["share/portage", "usr/share/portage"] {
        symlink(share, to.join(link)).map_err(|error| told(&to.join(link), &error))?;
    }
    let mut copier = Copier::default();
    for dir in ["etc/portage", "var/db/pkg", "var/lib/portage"] {
        copier.tree(&from.join(dir), &to.join(dir))?;
    }
    let conf = to.join("etc/portage");
    repositories(system, &conf)?;
    profile(system, &conf)?;
    let globals = conf.join("make.conf");
    let own = format!(
        "\nFEATURES=\"-sandbox -usersandbox -userpriv -userfetch -ipc-sandbox -mount-sandbox -network-sandbox -pid-sandbox -merge-sync -news -distlocks\"\n\
         PORTAGE_TMPDIR=\"{0}/var/tmp\"\nDISTDIR=\"{0}/var/cache/distfiles\"\nPKGDIR=\"{0}/var/cache/binpkgs\"\nEMERGE_DEFAULT_OPTS=\"\"\nCLEAN_DELAY=\"0\"\n",
        to.display()
    );
    append(&if globals.is_dir() { globals.join("zz-ebaudit") } else { globals }, &own)?;
    for (file, lines) in &answer.config {
        let path = conf.join(file);
        let path = if path.is_dir() { path.join("zz-ebaudit-plan") } else { path };
        append(&path, &format!("{}\n", lines.join("\n")))?;
    }
    for atom in &answer.unmerge {
        let record = to.join("var/db/pkg").join(atom.trim_start_matches('='));
        fs::remove_dir_all(&record).map_err(|error| told(&record, &error))?;
    }
    Ok(scratch)
}

pub(super) fn told(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn append(path: &Path, text: &str) -> Result<(), String> {
    let mut old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(told(path, &error)),
    };
    if !old.is_empty() && !old.ends_with('\n') {
        old.push('\n');
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| told(folder, &error))?;
    }
    fs::write(path, old + text).map_err(|error| told(path, &error))
}

/// repos.conf with the places as they were found.
fn repositories(system: &System, conf: &Path) -> Result<(), String> {
    let path = conf.join("repos.conf");
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    let mut text = String::new();
    if let Some(main) = system.main_repository() {
        text.push_str(&format!("[DEFAULT]\nmain-repo = {main}\n"));
    }
    for (name, location, priority) in system.repositories() {
        let location = location.canonicalize().map_err(|error| told(location, &error))?;
        text.push_str(&format!("\n[{name}]\nlocation = {}\npriority = {priority}\n", location.display()));
    }
    fs::write(&path, text).map_err(|error| told(&path, &error))
}

fn profile(system: &System, conf: &Path) -> Result<(), String> {
    let link = conf.join("make.profile");
    let _ = fs::remove_file(&link);
    // a profile that is a folder of etc/portage itself was copied with the rest
    if link.exists() {
        return Ok(());
    }
    symlink(system.profile(), &link).map_err(|error| told(&link, &error))
}
