//! What all jobs of a run share: the repository with its masters, the profile, the options, the run's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::layers::Layers;
use super::slots::Slots;
use super::stats::Stats;
use crate::gentoo::config::PortageConfig;
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::mirrors::Mirrors;
use crate::gentoo::profile::{Profile, UseChange};
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::shown::{Shown, ShownError};
use crate::phase::job::RunDir;
use crate::phase::portage::Portage;
use crate::phase::runner::Bounds;
use crate::source::unpack::Limits;
use crate::source::{DistfileStore, Progress};
use crate::tree::Most;

/// What the command line asks of every job.
#[derive(Debug)]
pub struct Options {
    pub use_changes: Vec<UseChange>,
    pub bounds: Bounds,
    pub limits: Limits,
    /// What unpacking the archives of an ebuild may take.
    pub unpack_time: Duration,
    pub allow_unverified: bool,
    /// The sources of live ebuilds, by CPV.
    pub sources: BTreeMap<String, PathBuf>,
    pub eclass_edits: bool,
    /// Runs the phases where it is to be Portage.
    pub portage: Option<Portage>,
    /// How large a job's tree may be.
    pub most: Most,
}

pub struct Context {
    pub set: RepositorySet,
    pub config: PortageConfig,
    pub profile: Profile,
    pub mirrors: Mirrors,
    pub store: DistfileStore,
    /// Unpacked trees that are shared; none to unpack each anew.
    pub layers: Option<Layers>,
    /// Hears how far the fetching is.
    pub progress: Box<dyn Progress + Send>,
    pub run: RunDir,
    pub options: Options,
    pub slots: Slots,
    pub stats: Stats,
    /// What all ebuilds may read, looked for once.
    pub shown: OnceLock<Result<Shown, ShownError>>,
}

impl Context {
    /// What reading a tree once may cost: it has as much time as the phases.
    pub fn most(&self) -> Most {
        Most { until: Some(Instant::now() + self.options.bounds.time), ..self.options.most }
    }

    /// What the phases of an ebuild may read of the repositories.
    pub fn shown(&self, ebuild: &EbuildFile) -> Result<Shown, ShownError> {
        let all = self.shown.get_or_init(|| Shown::of_all(&self.set, self.options.portage.is_some()));
        all.as_ref().map_err(Clone::clone)?.with_package(&self.set, ebuild)
    }
}
