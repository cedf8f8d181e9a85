//! What `ebaudit plan` answers: the model of its report, as docs/contract.md has it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::verify::Verification;

/// The version of the JSON document.
pub const SCHEMA: &str = "ebaudit.plan/1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Planned,
    NothingToDo,
    Impossible,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub schema: &'static str,
    pub tool: Tool,
    pub goal: Vec<String>,
    pub status: Status,
    pub family: Vec<Member>,
    pub consumers: Vec<Consumer>,
    pub steps: Vec<Step>,
    pub atoms: Vec<String>,
    pub command: Vec<String>,
    /// What to unmerge before the command, if anything.
    pub unmerge: Vec<String>,
    /// The lines of each file below etc/portage.
    pub config: BTreeMap<String, Vec<String>>,
    /// For each line of `config`, as `file: line`, why it is there.
    pub config_reasons: BTreeMap<String, String>,
    pub blockers: Vec<Blocker>,
    pub keeps_old: Vec<Remark>,
    /// What is wrong with the machine's files and was passed over.
    pub problems: Vec<crate::gentoo::system::Problem>,
    pub warnings: Vec<Remark>,
    pub stages: Vec<Vec<String>>,
    /// Who holds whom among the packages of the steps.
    pub edges: Vec<Edge>,
    pub size: Size,
    /// What to hand to emerge to get back to where it was.
    pub rollback: Vec<String>,
    /// What was there and has no ebuild any more, `category/package-version`.
    pub rollback_lost: Vec<String>,
    /// What to run afterwards to update the rest of world, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub world_command: Vec<String>,
    /// The reports of the audits of what the plan merges, one a repository, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audits: Vec<serde_json::Value>,
    /// What real Portage says of it, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// To a version or a sub-slot.
    Pin,
    /// By its record.
    Binding,
    Need,
}

/// A dependency of one package of the plan on another; `from` needs `to`. Both are `category/package`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub kind: EdgeKind,
    pub variable: &'static str,
    pub atom: String,
}

/// A package that moves because the goal does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    pub package: String,
    pub slot: String,
    pub from: Option<Point>,
    pub to: Option<Point>,
    /// What it pins of the family, as `RDEPEND dev-util/hip:0/7.2`.
    pub pins: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    pub version: String,
    pub subslot: String,
    pub repository: String,
}

/// An installed package whose record is bound to a member that moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consumer {
    pub package: String,
    pub bound_to: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Uninstall,
    Upgrade,
    Rebuild,
    Install,
    Downgrade,
}

impl Action {
    /// As people say it.
    pub fn verb(self) -> &'static str {
        match self {
            Action::Uninstall => "unmerge",
            Action::Upgrade => "upgrade",
            Action::Rebuild => "rebuild",
            Action::Install => "install",
            Action::Downgrade => "downgrade",
        }
    }
}

/// `category/package-version` of an `=` atom.
pub fn cpv_of(atom: &str) -> &str {
    atom.trim_start_matches('=').split("::").next().unwrap_or(atom)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub action: Action,
    pub atom: String,
    pub repository: String,
    pub requested: bool,
    pub because: Vec<String>,
    pub from: Option<String>,
    /// A package that is known to build for long.
    pub heavy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockerKind {
    NoVersion,
    UpperBound,
    LowerBound,
    Pinned,
    Masked,
    Keyword,
    License,
    Use,
    RequiredUse,
    HardBlock,
    NoEbuild,
    Repository,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocker {
    pub kind: BlockerKind,
    pub package: String,
    pub installed: Option<String>,
    pub needs: Option<String>,
    pub because: String,
    pub ways: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Remark {
    pub package: String,
    pub because: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    pub merges: usize,
    pub upgrades: usize,
    pub rebuilds: usize,
    pub installs: usize,
    pub downgrades: usize,
    pub uninstalls: usize,
    pub config_lines: usize,
    pub heavy: Vec<String>,
}
