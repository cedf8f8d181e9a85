//! The arguments, as clap reads them.

use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;

use super::bounds::BoundArgs;
use super::output::OutputArgs;
use clap::{Parser, Subcommand, ValueEnum};

/// Finds the dead edits in Gentoo ebuilds: sed calls and patches that change nothing any more.
#[derive(Debug, Parser)]
#[command(name = "ebaudit", version, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Unpack and prepare ebuilds, and say which of their edits are dead
    Audit(Box<AuditArgs>),
    /// Make one report of those of all shards
    Merge(MergeArgs),
    /// Plan a subslot migration that emerge accepts at its first try, or say why there is none
    Plan(Box<PlanArgs>),
    /// Say what the cache takes, make room in it, or look whether it is sound
    Cache(super::cache::CacheArgs),
}

#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// Reports of `ebaudit audit --shard K/N`, as --format json or jsonl writes them
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,

    /// The repository whose ebuilds text reports quote [default: the one around the current directory, if it is that of the reports]
    #[arg(long, value_name = "PATH")]
    pub repository: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    Text,
    Json,
}

#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// What to reach: an atom (=dev-util/hip-10.0.0), a package and its new sub-slot (dev-util/hip@10.0), or a package
    /// alone, for the newest sub-slot that is visible
    #[arg(value_name = "GOAL", required_unless_present_any = ["list", "check"], conflicts_with_all = ["list", "check"])]
    pub goals: Vec<String>,

    /// Show the installed packages for which another sub-slot is visible
    #[arg(long, conflicts_with = "check")]
    pub list: bool,

    /// After a migration: show what is still bound to a sub-slot that is not there
    #[arg(long)]
    pub check: bool,

    /// The system to plan for: / or a copy of etc/portage, var/db/pkg, var/lib/portage and the repositories
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,

    /// A package that may be unmerged though world names it; may be repeated
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["list", "check"])]
    pub without: Vec<String>,

    /// A package that must not change; may be repeated
    #[arg(long, value_name = "PACKAGE", conflicts_with_all = ["list", "check"])]
    pub keep: Vec<String>,

    /// Hold the plan against real Portage: emerge --pretend on a scratch copy of the system
    #[arg(long, conflicts_with_all = ["list", "check"])]
    pub verify: bool,

    /// The virtual environment whose Portage --verify asks [default: emerge on PATH]
    #[arg(long, value_name = "VENV", requires = "verify")]
    pub portage: Option<PathBuf>,

    /// Audit the ebuilds of the plan as well
    #[arg(long, conflicts_with_all = ["list", "check"])]
    pub audit: bool,

    /// Give the command that updates the rest of world afterwards, too
    #[arg(long, conflicts_with_all = ["list", "check"])]
    pub world: bool,

    /// Write the lines of configuration as files that can be copied to etc/portage
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "check"])]
    pub write: Option<PathBuf>,

    /// Draw the plan: an .svg, .dot or .html file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "check"])]
    pub graph: Option<PathBuf>,

    /// How to print the plan
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,

    /// Write the plan to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// When to colour the text
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,

    /// Give all reasons of each step, and the way back
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub sandbox: super::bounds::SandboxArgs,

    /// Say nothing of what is wrong with the system's files
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// Bash with ebaudit's own functions
    Own,
    /// Portage's ebuild(1)
    Portage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    /// What to audit: an overlay, a category, a package directory, an .ebuild file, or an atom (dev-libs/foo,
    /// =dev-libs/foo-1.2, cat/*); without any, the overlay around the current directory
    #[arg(value_name = "TARGET")]
    pub targets: Vec<OsString>,

    /// Where a repository lies (a master whose eclasses and profiles are needed); may be repeated
    #[arg(long, value_name = "NAME=PATH", value_parser = name_and_path)]
    pub repository: Vec<(String, PathBuf)>,

    /// Where distfiles are and fetched ones go [default: DISTDIR of make.conf, else /var/cache/distfiles]
    #[arg(long, value_name = "DIR")]
    pub distdir: Option<PathBuf>,

    /// Where what can be used again is kept [default: XDG_CACHE_HOME/ebaudit, else ~/.cache/ebaudit]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Never connect; take distfiles from the disk only
    #[arg(long)]
    pub offline: bool,

    /// Take distfiles for which the Manifest has no line
    #[arg(long)]
    pub allow_unverified: bool,

    /// What runs the ebuilds' phases
    #[arg(long, value_enum, default_value_t = Backend::Own)]
    pub backend: Backend,

    /// The virtual environment whose Portage --backend portage runs [default: ebuild on PATH]
    #[arg(long, value_name = "VENV")]
    pub portage: Option<PathBuf>,

    /// USE flags to set and unset, over what the profile and IUSE say
    #[arg(long = "use", value_name = "FLAGS", allow_hyphen_values = true)]
    pub use_flags: Vec<String>,

    /// The profile to take USE, ARCH and their like from: a folder, or a name as eselect lists it [default: that of this
    /// machine, else default/linux/amd64/23.0 of a master or of the repository itself, else built-in amd64 values]
    #[arg(long, value_name = "PATH")]
    pub profile: Option<PathBuf>,

    /// Only the highest version of each slot
    #[arg(long)]
    pub latest: bool,

    /// Only ebuilds with keywords
    #[arg(long)]
    pub keyworded: bool,

    /// Only live ebuilds (with their sources given by --source)
    #[arg(long, conflicts_with = "keyworded")]
    pub live: bool,

    /// Only ebuilds that commits touch: themselves, their files/, their Manifest, or an eclass that they inherit; those of
    /// REV2 that REV1 lacks [default: origin..HEAD]
    #[arg(long, value_name = "REV1..REV2", num_args = 0..=1, default_missing_value = super::changes::UNPUSHED)]
    pub commits: Option<String>,

    /// Only ebuilds that the staged changes touch
    #[arg(long, conflicts_with = "commits")]
    pub staged: bool,

    /// The unpacked source of a live ebuild; may be repeated
    #[arg(long, value_name = "CPV=DIR", value_parser = name_and_path)]
    pub source: Vec<(String, PathBuf)>,

    /// Report the edits of eclasses, too
    #[arg(long)]
    pub eclass_edits: bool,

    /// Run the ebuilds again with what is suggested, to say which suggestions are right
    #[arg(long)]
    pub suggest: bool,

    /// Take dead edits out of the ebuilds, where the prepared source is the same without them, no flag can change that, and
    /// there is nothing to put right instead
    #[arg(long)]
    pub fix: bool,

    /// With --fix, write also what changes the prepared source or could not be tried
    #[arg(long, requires = "fix")]
    pub unsafe_fixes: bool,

    /// Neither take results of earlier runs from the cache nor keep those of this one
    #[arg(long)]
    pub no_cache: bool,

    /// Run every ebuild anew, and keep the results in the place of earlier ones
    #[arg(long, conflicts_with = "no_cache")]
    pub refresh: bool,

    /// Go on where a run with the same options was interrupted or killed: as always, what it finished comes from the cache; but say
    /// so if that can't be
    #[arg(long, conflicts_with_all = ["fix", "no_cache", "refresh"])]
    pub resume: bool,

    /// Ebuilds audited side by side [default: the number of cores]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,

    /// Only the share K of N of the ebuilds, for N machines with one each; `auto` takes K and N from the environment (GitLab,
    /// CircleCI, Buildkite, Slurm), `auto/N` the K of a Kubernetes Indexed Job or of GNU parallel as well
    #[arg(long, value_name = "K/N", conflicts_with = "fix")]
    pub shard: Option<String>,

    #[command(flatten)]
    pub layers: super::layers::LayerArgs,

    #[command(flatten)]
    pub bounds: BoundArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// Say at the end, on standard error, where the time of the jobs went
    #[arg(long)]
    pub stats: bool,

    /// Where the work directories are made [default: the system's folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
}

fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.trim_start_matches('=').split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("NAME=PATH is wanted".to_owned()),
    }
}

pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("a number of bytes is wanted, perhaps with K, M or G behind it".to_owned()),
    };
    let number = whole(digits, "a number of bytes is wanted")?;
    number.checked_mul(1 << shift).ok_or_else(|| "the number is too large".to_owned())
}

/// A bound, in bytes. None is switched off by 0.
pub fn some_bytes(text: &str) -> Result<u64, String> {
    bytes(text).and_then(at_least_one)
}

/// A bound that is a plain number.
pub fn some<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = whole(text, "a whole number is wanted").and_then(at_least_one)?;
    T::try_from(number).map_err(|_| "the number is too large".to_owned())
}

fn whole(digits: &str, wanted: &str) -> Result<u64, String> {
    digits.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large".to_owned(),
        _ => wanted.to_owned(),
    })
}

fn at_least_one(number: u64) -> Result<u64, String> {
    match number {
        0 => Err("0 is no bound; name a larger number".to_owned()),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_sound() {
        Args::command().debug_assert();
        assert_eq!(bytes("20G"), Ok(20 << 30));
        assert_eq!(bytes("8000000"), Ok(8_000_000));
        assert!(bytes("x").is_err() && bytes("1T").is_err() && bytes("99999999999999999999G").is_err());
        let too_large = Err("the number is too large".to_owned());
        assert_eq!((some("18446744073709551616"), bytes("18446744073709551616")), (too_large.clone(), too_large));
        assert_eq!(some::<u64>("-1"), Err("a whole number is wanted".to_owned()));
        assert_eq!(name_and_path("=dev-libs/foo-9999=/src").unwrap().0, "dev-libs/foo-9999");
        let words = ["ebaudit", "audit", "--use", "-doc test", "x"];
        let Command::Audit(args) = Args::try_parse_from(words).unwrap().command else { unreachable!() };
        assert_eq!((args.use_flags, args.targets), (vec!["-doc test".to_owned()], vec!["x".into()]));
    }
}
