//! The result cache: an ebuild whose inputs are what they were is not run again.
//!
//! A report is kept under what all reports of a run depend on (`run`) and the ebuild's path. It holds as long as the
//! ebuild, its files, the eclasses that it inherits (`audit/inputs`), and what USE and SRC_URI come to (`settled`) are the same. What another try may
//! change (a failed download, a bound, an interruption) is not kept.

mod run;
mod settled;
mod store;

use std::path::Path;
use std::time::SystemTime;

use crate::audit::context::Context;
use crate::audit::inputs::{Digests, Inputs};
use crate::edit::budget;
use crate::gentoo::repository::EbuildFile;
use crate::phase::runner;
use crate::report::model::{EbuildReport, Status};
pub use run::RunKey;
use settled::settled;
use store::{Entry, Store};

/// The results that a run can take from the cache, and those that it adds.
#[derive(Debug)]
pub struct Results {
    store: Store,
    digests: Digests,
    began: SystemTime,
    /// Whether what is there is taken.
    taken: bool,
}

impl Results {
    /// The results in the folder `cache` for a run with this key; none where the folder can't be made. Without `taken` they are only added to.
    pub fn open(cache: &Path, key: &RunKey, taken: bool) -> Option<Results> {
        let store = Store::open(&cache.join("results"), key.text())?;
        Some(Results { store, digests: Digests::default(), began: SystemTime::now(), taken })
    }

    /// The ebuild as it is now; none where its result is not to be kept.
    pub fn ask<'a>(&'a self, context: &'a Context, ebuild: &'a EbuildFile) -> Option<Question<'a>> {
        // the source of a live ebuild is a tree of somebody's that may change at any time
        let sourced = context.options.sources.contains_key(&ebuild.cpv.to_string());
        if sourced || context.options.portage.is_some() {
            return None;
        }
        let inputs = Inputs::of(context, ebuild, &self.digests)?;
        Some(Question { results: self, context, ebuild, inputs })
    }

    /// Takes away what was not used for long, at most once a day.
    pub fn tidy(&self) {
        self.store.tidy();
    }
}

/// An ebuild at the moment when its result was asked for.
pub struct Question<'a> {
    results: &'a Results,
    context: &'a Context,
    ebuild: &'a EbuildFile,
    inputs: Inputs,
}

impl Question<'_> {
    /// The report of an earlier run, where it still holds.
    pub fn known(&self) -> Option<EbuildReport> {
        if !self.results.taken {
            return None;
        }
        let entry = self.results.store.read(&self.ebuild.relative())?;
        let same = entry.inputs == self.inputs.digest
            && entry.eclasses
                == self.results.digests.eclasses(self.context, &entry.metadata.inherited, &self.inputs.text)?
            && entry.settled == settled(self.context, self.ebuild, &entry.metadata)?;
        let source = self.inputs.text.clone();
        same.then_some(EbuildReport { source, cached: true, ..entry.report })
    }

    /// Keeps the report of this run, if it would be the same next time.
    pub fn keep(&self, report: &EbuildReport) {
        if self.lasts(report) {
            let _ = self.try_keep(report);
        }
    }

    fn try_keep(&self, report: &EbuildReport) -> Option<()> {
        let metadata = report.metadata.clone()?;
        let digests = &self.results.digests;
        let eclasses = digests.eclasses(self.context, &metadata.inherited, &self.inputs.text)?;
        // somebody may have edited them while the ebuild ran
        let now = Inputs::of(self.context, self.ebuild, &Digests::default())?;
        if now != self.inputs || !digests.eclasses_are_older(self.context, &eclasses, self.results.began) {
            return None;
        }
        let settled = settled(self.context, self.ebuild, &metadata)?;
        let entry = Entry { inputs: now.digest, eclasses, settled, metadata: *metadata, report: report.clone() };
        self.results.store.write(&self.ebuild.relative(), &entry)
    }

    fn lasts(&self, report: &EbuildReport) -> bool {
        let settled =
            matches!(report.status, Status::Audited | Status::Invalid | Status::Unsupported | Status::Skipped);
        let mut reasons = report.edits.iter().flat_map(|edit| {
            let commands = edit.commands.iter().filter_map(|command| command.reason.as_deref());
            edit.reason.as_deref().into_iter().chain(commands)
        });
        let hurried = reasons.any(budget::is_of_time)
            || report.findings.iter().filter_map(|f| f.reason.as_deref()).any(budget::is_of_time);
        settled && !hurried && !runner::interrupted()
    }
}
