//! What all jobs of a run share: the repository with its masters, the profile, the options, the run's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::gentoo::config::PortageConfig;
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::mirrors::Mirrors;
use crate::gentoo::profile::{Profile, UseChange};
use crate::phase::job::RunDir;
use crate::phase::runner::Bounds;
use crate::source::unpack::Limits;
use crate::source::{DistfileStore, Progress};

/// What the command line asks of every job.
#[derive(Debug)]
pub struct Options {
    pub use_changes: Vec<UseChange>,
    pub bounds: Bounds,
    pub limits: Limits,
    pub allow_unverified: bool,
    /// The sources of live ebuilds, by CPV.
    pub sources: BTreeMap<String, PathBuf>,
    pub eclass_edits: bool,
    /// Entries that a job's tree may have.
    pub max_entries: usize,
}

impl Options {
    /// Seconds that the phases of one ebuild may take unless said otherwise.
    pub const TIME: Duration = Duration::from_secs(600);
    /// Bytes that they may print.
    pub const OUTPUT: u64 = 1 << 30;
    /// Entries of a tree.
    pub const ENTRIES: usize = 4_000_000;
}

pub struct Context {
    pub set: RepositorySet,
    pub config: PortageConfig,
    pub profile: Profile,
    pub mirrors: Mirrors,
    pub store: DistfileStore,
    /// Hears how far the fetching is.
    pub progress: Box<dyn Progress + Send>,
    pub run: RunDir,
    pub options: Options,
}
