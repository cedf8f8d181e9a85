//! The report as data: the shape of `ebaudit.audit/1`, field by field as `docs/contract.md` promises it.
//!
//! Every stage after the phase fills these values; every output format reads them. Paths are text already
//! escaped by [`crate::escape`], relative to WORKDIR unless said otherwise.

use serde::{Deserialize, Serialize};

use crate::gentoo::metadata::Metadata;
use crate::gentoo::repository::Repository;
use crate::phase::sandbox::Tier;

/// The name of the schema that [`Report`] follows.
pub const SCHEMA: &str = "ebaudit.audit/1";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub tool: Tool,
    pub repository: RepositoryInfo,
    /// What the phases were isolated by.
    pub sandbox: Tier,
    pub ebuilds: Vec<EbuildReport>,
    /// What of the repository was left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    pub summary: Summary,
    /// Which share of the work this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardInfo>,
    /// Whether somebody ended the run before it came to all ebuilds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl Report {
    pub fn of(repository: &Repository, sandbox: Tier, ebuilds: Vec<EbuildReport>, remarks: Vec<String>) -> Report {
        Report {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "ebaudit".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
            repository: RepositoryInfo {
                name: repository.name.clone(),
                location: crate::escape::escape_path(&repository.location),
            },
            sandbox,
            summary: Summary::of(&ebuilds),
            ebuilds,
            remarks,
            shard: None,
            interrupted: false,
        }
    }
}

/// A share of the work of several machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// Counted from 1.
    pub index: usize,
    pub of: usize,
    /// A digest of what was shared out, with the distfiles that decide how: the same in all shards of a run.
    pub work: String,
    /// How many ebuilds that were.
    pub ebuilds: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RepositoryInfo {
    pub name: String,
    pub location: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub ebuilds: usize,
    pub audited: usize,
    pub not_audited: usize,
    pub edits: usize,
    pub findings: LevelCounts,
}

impl Summary {
    pub fn of(ebuilds: &[EbuildReport]) -> Summary {
        let mut summary = Summary { ebuilds: ebuilds.len(), ..Summary::default() };
        for ebuild in ebuilds {
            match ebuild.status {
                Status::Audited => summary.audited += 1,
                Status::Skipped => {}
                _ => summary.not_audited += 1,
            }
            summary.edits += ebuild.edits.len();
            for finding in &ebuild.findings {
                match finding.level {
                    Level::Error => summary.findings.error += 1,
                    Level::Warning => summary.findings.warning += 1,
                    Level::Note => summary.findings.note += 1,
                }
            }
        }
        summary
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCounts {
    pub error: usize,
    pub warning: usize,
    pub note: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Audited,
    Invalid,
    Unsupported,
    FetchFailed,
    UnpackFailed,
    PrepareFailed,
    TimedOut,
    TooLarge,
    Skipped,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EbuildReport {
    pub cpv: String,
    pub repository: String,
    /// Relative to the repository.
    pub path: String,
    pub eapi: String,
    pub status: Status,
    pub reason: Option<String>,
    pub variants: Vec<Variant>,
    pub tree: TreeInfo,
    pub changed: Vec<ChangedFile>,
    pub edits: Vec<Edit>,
    pub findings: Vec<Finding>,
    /// Things worth knowing that are no findings: a failed pkg_setup, stubbed tools, skipped big files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The text of the ebuild (and of any eclass a finding stands in), for reports that show lines; never serialised.
    #[serde(skip)]
    pub source: String,
    /// Whether an earlier run found all this, and nothing that it depends on has changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What the ebuild said of itself, where it was sourced; never serialised.
    #[serde(skip)]
    pub metadata: Option<Box<Metadata>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variant {
    /// Enabled flags by name, disabled ones of IUSE with `-` before them.
    #[serde(rename = "use")]
    pub use_flags: Vec<String>,
    pub status: Status,
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TreeInfo {
    pub files: u64,
    pub bytes: u64,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    Modified,
    Added,
    Removed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    pub change: ChangeKind,
    pub before: Option<String>,
    pub after: Option<String>,
    /// Ids of the edits that wrote it.
    pub edits: Vec<usize>,
    /// Unified diff; none for binary, huge, added or removed files.
    pub diff: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditKind {
    Sed,
    Perl,
    Patch,
    Helper,
    Option,
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    Ebuild,
    Eclass,
    Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Live,
    Dead,
    Identity,
    NetZero,
    Overwritten,
    PathGone,
    NoOutput,
    Filter,
    Guard,
    Control,
    NotRun,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    // in the contract's order of precedence: where several hold, the first is said
    OptionOrder,
    Never,
    BadScript,
    NoFiles,
    Superseded,
    Upstreamed,
    WrongFile,
    Drifted,
    Moved,
    Removed,
    Unknown,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Edit {
    pub id: usize,
    pub kind: EditKind,
    pub phase: String,
    pub origin: Origin,
    pub by: By,
    pub argv: Vec<String>,
    pub cwd: String,
    pub exit: Option<i32>,
    pub verdict: Verdict,
    pub targets: Vec<Target>,
    pub commands: Vec<Command>,
    /// `use test`: the condition under which the text runs, where it can be read from the text.
    pub condition: Option<String>,
    pub variants: Vec<usize>,
    /// Why the verdict is `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// Relative to its repository.
    pub file: String,
    pub line: u32,
    pub end_line: u32,
    pub function: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub path: String,
    pub verdict: Verdict,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    pub index: usize,
    pub text: String,
    pub verdict: Verdict,
    pub cause: Option<Cause>,
    pub evidence: Vec<Evidence>,
    pub targets: Vec<CommandTarget>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTarget {
    pub path: String,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Note,
    Warning,
    Error,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub rule: Rule,
    pub level: Level,
    pub edit: Option<usize>,
    pub command: Option<usize>,
    pub target: Option<String>,
    /// The ebuild's path in its repository (or the eclass's, with `--eclass-edits`).
    pub path: String,
    pub line: Option<u32>,
    pub end_line: Option<u32>,
    pub column: Option<u32>,
    /// One sentence.
    pub message: String,
    pub cause: Option<Cause>,
    pub evidence: Vec<Evidence>,
    /// What the cause could not take into account, or why it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub suggestion: Option<Suggestion>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub path: String,
    pub line: Option<u32>,
    pub text: Option<String>,
    pub note: Option<String>,
}

impl Evidence {
    /// Bytes of a line; some files are one line.
    const LONGEST: usize = 1000;

    /// Keeps the beginning of a line that nobody would read to its end.
    pub fn shorten(&mut self) {
        if let Some(text) = self.text.as_mut().filter(|text| text.len() > Self::LONGEST) {
            text.truncate(text.floor_char_boundary(Self::LONGEST));
            text.push_str(" …");
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suggestion {
    pub text: String,
    /// The lines that `replacement` takes the place of, where they are others than the finding's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Whole lines with their newlines; empty: the lines go.
    pub replacement: Option<String>,
    pub verified: bool,
    pub applicability: Applicability,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Applicability {
    Safe,
    Unsafe,
}

pub use crate::audit::rules::Rule;
