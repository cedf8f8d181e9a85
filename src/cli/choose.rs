//! Which of the ebuilds that the targets name are audited.

use std::path::Path;

use anyhow::{Context as _, Result};
use rayon::prelude::*;

use super::args::AuditArgs;
use super::changes::Changes;
use super::shard;
use crate::audit;
use crate::audit::context::Context;
use crate::gentoo::filters::{self, Candidate};
use crate::gentoo::inherits;
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::md5_cache::Md5Cache;
use crate::gentoo::repository::EbuildFile;
use crate::phase::runner;
use crate::report::model::ShardInfo;

/// What a run has to do.
pub struct Work {
    pub ebuilds: Vec<EbuildFile>,
    pub shard: Option<ShardInfo>,
    pub remarks: Vec<String>,
}

/// The ebuilds that the changes touch, that the filters leave, and that fall to this shard.
pub fn choose(
    args: &AuditArgs,
    context: &Context,
    changes: Option<&Changes>,
    ebuilds: Vec<EbuildFile>,
) -> Result<Work> {
    let ebuilds = filtered(args, context, touched(context, changes, ebuilds));
    let remarks = changes.map_or(Vec::new(), Changes::remarks);
    let Some(choice) = &args.shard else { return Ok(Work { ebuilds, shard: None, remarks }) };
    let (ebuilds, shard) = shard::take(choice, ebuilds, &context.set.repository.within)?;
    Ok(Work { ebuilds, shard: Some(shard), remarks })
}

/// What git says was changed, where the arguments ask.
pub fn changes(args: &AuditArgs, repository: &Path) -> Result<Option<Changes>> {
    match &args.commits {
        Some(range) => Changes::of_commits(repository, range).map(Some),
        None if args.staged => Changes::staged(repository).context("--staged").map(Some),
        None => Ok(None),
    }
}

/// The ebuilds that the changes touch, or all.
fn touched(context: &Context, changes: Option<&Changes>, ebuilds: Vec<EbuildFile>) -> Vec<EbuildFile> {
    let Some(look) = changes.and_then(|changes| changes.touched.of(&context.set.repository.location)) else {
        return ebuilds;
    };
    let inherited = |ebuild: &EbuildFile| {
        // the repository's own cache may have come with the change
        let mut names = audit::metadata(context, ebuild)?.inherited;
        let text = context.set.repository.within.read(&ebuild.path).ok()??;
        names.extend(inherits::named(&text, |name| inherits::of_eclass(&context.set, name)));
        Some(names)
    };
    ebuilds.into_par_iter().filter(|ebuild| look.touch(ebuild, || inherited(ebuild))).collect()
}

/// The ebuilds that the filters leave; without a metadata cache they are sourced for it.
fn filtered(args: &AuditArgs, context: &Context, ebuilds: Vec<EbuildFile>) -> Vec<EbuildFile> {
    if !(args.latest || args.keyworded || args.live) {
        return ebuilds;
    }
    let cache = Md5Cache::new(&context.set);
    let candidate = |ebuild: EbuildFile| {
        let metadata = cache.load(&ebuild).or_else(|| audit::metadata(context, &ebuild)).unwrap_or_default();
        let live = ebuild.cpv.version.looks_live() && metadata.src_uri.is_empty();
        let candidate = Candidate::new(ebuild, &metadata);
        Candidate { live: candidate.live || live, ..candidate }
    };
    let candidates: Vec<Candidate> = ebuilds
        .par_iter()
        .cloned()
        .map(candidate)
        .filter(|c| (!args.keyworded || c.keyworded) && (args.live == c.live || !(args.live || args.latest)))
        .collect();
    // what was not asked for an interruption is no reason to drop an ebuild
    if runner::interrupted() {
        return ebuilds;
    }
    let candidates = if args.latest { filters::latest(candidates) } else { candidates };
    candidates.into_iter().map(|c| c.ebuild).collect()
}

/// The slot of an ebuild, from the cache; without one it is not known yet, and any slot is taken for right.
pub fn slot(set: &RepositorySet, ebuild: &EbuildFile) -> Option<String> {
    let metadata = Md5Cache::new(set).load(ebuild)?;
    Some(format!("{}/{}", metadata.slot, metadata.subslot))
}
