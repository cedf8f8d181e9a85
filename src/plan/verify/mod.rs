//! A plan held against real Portage: `emerge --pretend` on a scratch copy of the system with the proposed configuration.

mod emerge;
mod scratch;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::answer::{Action, Answer, Status};
use crate::gentoo::system::System;

/// What Portage said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Portage's version.
    pub portage: String,
    /// Whether it takes the command at its first try and does what the steps say.
    pub agrees: bool,
    pub exit: i32,
    /// The tries after the first; none where Portage did not say.
    pub backtracks: Option<u32>,
    /// What only one of them does.
    pub differences: Vec<String>,
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
    let mut differences = Vec::new();
    let planned = |action: Action| action != Action::Uninstall;
    for step in answer.steps.iter().filter(|step| planned(step.action)) {
        let cpv = bare(&step.atom);
        match said.actions.iter().find(|(other, _)| other == cpv) {
            None => differences.push(format!("planned, not done by Portage: {cpv}")),
            Some((_, action)) if *action != step.action => {
                differences.push(format!("{cpv}: planned as {:?}, done by Portage as {action:?}", step.action));
            }
            Some(_) => {}
        }
    }
    for (cpv, action) in &said.actions {
        if !answer.steps.iter().any(|step| bare(&step.atom) == cpv) {
            differences.push(format!("done by Portage, not planned: {action:?} {cpv}"));
        }
    }
    for cpv in &said.uninstalls {
        if !answer.steps.iter().any(|step| step.action == Action::Uninstall && bare(&step.atom) == cpv) {
            differences.push(format!("unmerged by Portage, not planned: {cpv}"));
        }
    }
    let first_try = said.exit == 0 && said.backtracks.unwrap_or(0) == 0;
    let agrees = first_try && differences.is_empty() && answer.status == Status::Planned;
    Ok(Verification {
        portage: said.version,
        agrees,
        exit: said.exit,
        backtracks: said.backtracks,
        output: if agrees { Vec::new() } else { said.tail },
        differences,
    })
}

fn bare(atom: &str) -> &str {
    atom.trim_start_matches('=').split("::").next().unwrap_or(atom)
}
