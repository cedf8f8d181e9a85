//! Which tier a run has: found by trying, since what a kernel, a container or a security module allows can't be read anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::overlay::{self, Over};
use super::spec::{Message, Paths, Spec, Word, spawn};
use super::toolchain::{histories, toolchain, without};
use super::{Limits, Tier, replay};
use crate::gentoo::shown::Shown;
use crate::phase::job::{RunDir, find_program};
use crate::tree::{Most, Snapshot};

/// What the command line wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The strongest that can be had.
    #[default]
    Auto,
    Only(Tier),
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[error(
    "no sandbox can be made here ({reasons}); --sandbox=landlock asks for the weaker one alone, --no-sandbox runs the \
     ebuilds with all your rights"
)]
pub struct NoSandbox {
    reasons: String,
}

/// The sandbox of a run.
#[derive(Clone, Debug)]
pub struct Sandbox {
    tier: Tier,
    tools: Vec<PathBuf>,
    /// What no job sees: the caller's home, and what ebaudit itself works with.
    hidden: Vec<PathBuf>,
    /// Whether layers can be laid below WORKDIR; else why not.
    overlay: Result<(), String>,
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        let overlay = Err("nobody tried".to_owned());
        Sandbox { tier: Tier::default(), tools: Vec::new(), hidden: Vec::new(), overlay }
    }
}

impl Sandbox {
    /// Tries the tiers that `choice` leaves, the strongest first.
    ///
    /// With `overlay` the first one is tried with a layer below its folder, too. `private` is what no job sees, wherever
    /// it lies, beside repositories: distfiles and the cache.
    pub fn choose(choice: Choice, run: &RunDir, overlay: bool, private: &[PathBuf]) -> Result<Sandbox, NoSandbox> {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|h| h.is_absolute());
        let path: Vec<PathBuf> =
            std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
        let mut hidden: Vec<PathBuf> =
            home.iter().filter_map(|h| std::fs::canonicalize(h).ok()).chain(home.clone()).collect();
        let tools = toolchain(&path, home.as_deref());
        hidden.extend(histories(&tools));
        hidden.extend(private.iter().cloned().chain([run.path()]));
        hidden.retain(|h| h.parent().is_some());
        let sandbox = |tier| Sandbox {
            tier,
            tools: tools.clone(),
            hidden: hidden.clone(),
            overlay: Err(format!("{tier} can't mount")),
        };
        let tiers = match choice {
            Choice::Auto => vec![Tier::Namespaces, Tier::Landlock],
            Choice::Only(tier) => vec![tier],
        };
        let mut reasons = Vec::new();
        for tier in tiers {
            let mut sandbox = sandbox(tier);
            if overlay && tier == Tier::Namespaces {
                sandbox.overlay = sandbox.attempt_overlay(run);
            }
            let attempt = sandbox.overlay.clone().or_else(|_| sandbox.attempt(run, None));
            match attempt {
                Ok(()) => return Ok(sandbox),
                Err(reason) => reasons.push(format!("{tier}: {reason}")),
            }
        }
        Err(NoSandbox { reasons: reasons.join("; ") })
    }

    /// Makes the walls of all replays of a run, before the first of them; they may read the contents in `lent`, too.
    pub fn guard_replays(&self, run: &RunDir, lent: Option<&Path>) {
        if self.tier != Tier::None {
            let mut read = without(&self.tools, &self.hidden);
            read.extend(lent.map(Path::to_owned).into_iter().chain([run.path()]));
            replay::prepare(&read, &run.scratch());
        }
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Whether jobs may have layers below their WORKDIR; else why not.
    pub fn overlay(&self) -> &Result<(), String> {
        &self.overlay
    }

    fn attempt_overlay(&self, run: &RunDir) -> Result<(), String> {
        let dir = run.path().join("attempt-over");
        let over = overlay::prepare_attempt(&dir, &run.path().join("attempt")).map_err(|e| e.to_string())?;
        self.attempt(run, Some(over))?;
        let seen = overlay_as_wanted(&dir);
        let _ = crate::tree::remove(&dir);
        seen
    }

    /// Builds the walls and does nothing within, but for trying the overlay.
    fn attempt(&self, run: &RunDir, over: Option<Over>) -> Result<(), String> {
        let dir = run.path().join("attempt");
        std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
        let (write, cwd) = (Paths::from_iter([&dir]), Word(dir.into()));
        let spec = Spec { write, cwd, over, ..self.spec(run, &Shown::default(), Vec::new()) };
        let mut process = spawn(Command::new(run.program()), &spec).map_err(|e| e.to_string())?;
        process.give_up_after(Duration::from_secs(20));
        let words = process.last_words();
        drop(process);
        match words.last() {
            Some(Message::Exit(0)) => Ok(()),
            Some(Message::Failed(reason)) => Err(reason.clone()),
            other => Err(format!("it did not come up ({other:?})")),
        }
    }

    /// What a job of `run` is told, but for its own folders. `shown` is what it sees of repositories; `files` are shown as
    /// they are.
    pub fn spec(&self, run: &RunDir, shown: &Shown, files: Vec<PathBuf>) -> Spec {
        let hidden: Vec<PathBuf> = self.hidden.iter().chain(&shown.hide).cloned().collect();
        let own = [run.prelude(), run.bin(), run.real(), run.program().to_owned()];
        let trees: Vec<PathBuf> = self.tools.iter().chain(&shown.read).chain(&own).cloned().chain(files).collect();
        let sed = find_program("sed").filter(|sed| sed.file_name().is_some_and(|name| name == "sed"));
        let mut spec = Spec {
            tier: self.tier,
            parent: rustix::process::getpid().as_raw_pid(),
            root: Word(run.root().into()),
            program: Word(run.program().into()),
            real: Word(run.real().into()),
            limits: Limits::default(),
            cover: sed.into_iter().collect(),
            ..Spec::default()
        };
        if self.tier == Tier::Namespaces {
            (spec.read, spec.hide) = (trees.into_iter().collect(), hidden.into_iter().collect());
        } else {
            spec.read = without(&trees, &hidden).into_iter().collect();
        }
        spec
    }

    /// Where the real programs of traced tools are within the walls.
    pub fn real(&self, run: &RunDir) -> PathBuf {
        match self.tier {
            Tier::Namespaces => Path::new(super::INSIDE).join("real"),
            _ => run.real(),
        }
    }
}

/// Whether what the attempt wrote is found as it should be.
fn overlay_as_wanted(dir: &Path) -> Result<(), String> {
    let (upper, lower) = (dir.join("own/upper"), dir.join("layers/try/tree"));
    let most = Most::default();
    // read by this thread alone: how many others there are to be is not settled yet
    let lower_tree = Snapshot::default().under(&lower, None, None, most).map_err(|e| e.to_string())?;
    let before = Snapshot::of(lower_tree.iter().map(|(path, entry)| (path.to_owned(), entry.clone())).collect());
    let after = before.under(&upper, None, None, most).map_err(|e| e.to_string())?;
    let paths: Vec<_> = after.iter().map(|(path, _)| path).collect();
    let changed = std::fs::read(upper.join("changed")).unwrap_or_default();
    let same = std::fs::read(lower.join("changed")).unwrap_or_default();
    if paths == [Path::new("changed"), Path::new("dir")] && changed == b"textmore" && same == b"text" {
        return Ok(());
    }
    Err("an overlay does not keep what was written as it should".to_owned())
}
