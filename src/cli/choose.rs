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
use crate::report::plural;

/// What a run has to do.
pub struct Work {
    pub ebuilds: Vec<EbuildFile>,
    pub shard: Option<ShardInfo>,
    pub remarks: Vec<String>,
    /// Why there are no ebuilds, where there are none.
    pub nothing: Option<String>,
}

/// The ebuilds that the changes touch, that the filters leave, and that fall to this shard. `unread`: there may be more
/// where something could not be read.
pub fn choose(
    args: &AuditArgs,
    context: &Context,
    changes: Option<&Changes>,
    ebuilds: Vec<EbuildFile>,
    unread: bool,
) -> Result<Work> {
    let named = ebuilds.len();
    let touched = touched(context, changes, ebuilds);
    let changed = touched.len();
    let ebuilds = filtered(args, context, touched);
    let left = ebuilds.len();
    let remarks = changes.map_or(Vec::new(), Changes::remarks);
    let (ebuilds, shard) = match &args.shard {
        Some(choice) => {
            let (ebuilds, shard) = shard::take(choice, ebuilds, &context.set.repository.within)?;
            (ebuilds, Some(shard))
        }
        None => (ebuilds, None),
    };
    let of_all = |number| plural(number, "ebuild");
    let nothing = match &shard {
        _ if !ebuilds.is_empty() => None,
        _ if named == 0 && unread => Some("there are no ebuilds in what could be read".to_owned()),
        _ if named == 0 => Some("there are no ebuilds in what was named".to_owned()),
        _ if changed == 0 => {
            let what = if args.staged { "what is staged touches" } else { "the commits touch" };
            Some(format!("{what} none of {}", of_all(named)))
        }
        _ if left == 0 => {
            let filters = [("--latest", args.latest), ("--keyworded", args.keyworded), ("--live", args.live)];
            let given: Vec<&str> = filters.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
            Some(format!("{} leaves none of {}", given.join(" with "), of_all(changed)))
        }
        Some(shard) => Some(format!("the share {}/{} has none of {}", shard.index, shard.of, of_all(left))),
        None => None,
    };
    Ok(Work { ebuilds, shard, remarks, nothing })
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
