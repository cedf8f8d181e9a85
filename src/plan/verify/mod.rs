//! A plan held against real Portage: `emerge --pretend` on a scratch copy of the system with the proposed configuration.

mod after;
mod copier;
mod emerge;
mod scratch;

use std::path::{Path, PathBuf};

use serde::Serialize;

use self::emerge::{Merge, Said};
use super::answer::{Action, Answer, Status, cpv_of};
use crate::gentoo::system::System;

/// What Portage said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Portage's version.
    pub portage: String,
    /// Whether it takes the command at its first try and does what the steps say, with nothing broken.
    pub agrees: bool,
    pub exit: i32,
    /// The tries after the first; none where Portage did not say.
    pub backtracks: Option<u32>,
    /// What only one of them does, and why it is no first try.
    pub differences: Vec<String>,
    /// What Portage's merges would leave behind that held before, as `app-misc/a-1 RDEPEND dev-libs/foo:0/1=`.
    pub broken: Vec<String>,
    /// The end of what Portage printed where they do not agree.
    pub output: Vec<String>,
}

/// Why a plan can't be held against Portage.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("there is no emerge on PATH; name a virtual environment with Portage by --portage (pip install portage)")]
    NoEmerge,
    #[error("--portage {0}: there is no bin/emerge in it")]
    NoVenv(PathBuf),
    #[error("can't copy the system for a trial: {0}")]
    Scratch(String),
    #[error("emerge can't be run: {0}")]
    Run(std::io::Error),
    #[error("emerge did not end within {0} seconds")]
    Timeout(u64),
}

/// Runs the plan's command through Portage. Nothing of the system is written.
pub fn verify(system: &System, answer: &Answer, portage: Option<&Path>) -> Result<Verification, VerifyError> {
    let program = emerge::Program::find(portage)?;
    let scratch = scratch::copy(system, answer, program.share()).map_err(VerifyError::Scratch)?;
    let said = program.pretend(scratch.path(), &answer.command)?;
    let differences = differences(answer, &said);
    let unmerged: Vec<&str> = answer.unmerge.iter().map(|atom| cpv_of(atom)).collect();
    // where Portage gives up its list is not whole
    let broken = if said.exit == 0 { after::broken(system, &said, &unmerged) } else { Vec::new() };
    let agrees = differences.is_empty() && broken.is_empty() && answer.status == Status::Planned;
    Ok(Verification {
        portage: said.version,
        agrees,
        exit: said.exit,
        backtracks: said.backtracks,
        output: if agrees { Vec::new() } else { said.tail },
        differences,
        broken,
    })
}

fn differences(answer: &Answer, said: &Said) -> Vec<String> {
    let mut out = Vec::new();
    if said.exit != 0 {
        out.push(format!("Portage ended with exit status {}", said.exit));
    }
    if let Some(tries) = said.backtracks.filter(|&tries| tries > 0) {
        out.push(format!("Portage needed {tries} more {}", if tries == 1 { "try" } else { "tries" }));
    }
    for step in answer.steps.iter().filter(|step| step.action != Action::Uninstall) {
        let cpv = cpv_of(&step.atom);
        let Some(merge) = said.merges.iter().find(|merge| merge.cpv == cpv) else {
            out.push(format!("planned, not done by Portage: {cpv}"));
            continue;
        };
        if merge.action != step.action {
            out.push(format!("{cpv}: planned as {:?}, done by Portage as {:?}", step.action, merge.action));
        }
        if let Some(repository) = merge.repository.as_ref().filter(|name| **name != step.repository) {
            out.push(format!("{cpv}: planned from {}, taken by Portage from {repository}", step.repository));
        }
    }
    for Merge { cpv, action, .. } in &said.merges {
        if !answer.steps.iter().any(|step| cpv_of(&step.atom) == cpv) {
            out.push(format!("done by Portage, not planned: {action:?} {cpv}"));
        }
    }
    for cpv in &said.uninstalls {
        if !answer.steps.iter().any(|step| step.action == Action::Uninstall && cpv_of(&step.atom) == cpv) {
            out.push(format!("unmerged by Portage, not planned: {cpv}"));
        }
    }
    out
}
