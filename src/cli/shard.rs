//! `--shard`: the work of one of several machines.
//!
//! Every machine shares out all ebuilds by the same rule from what the repository alone says, so that no machine has to know of the others.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::load::{EBUILD, Load, loads};
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::within::Within;
use crate::report::model::ShardInfo;

/// The ebuilds of the shard that `choice` (`K/N`, `auto`, `auto/N`) names.
pub fn take(choice: &str, ebuilds: Vec<EbuildFile>, within: &Within) -> Result<(Vec<EbuildFile>, ShardInfo)> {
    let (index, of) = parse(choice, &|name| std::env::var(name).ok())?;
    let mut sum = md5::Context::new();
    for ebuild in &ebuilds {
        sum.consume(ebuild.relative().as_os_str().as_encoded_bytes());
        sum.consume(b"\0");
    }
    let info = ShardInfo { index, of, work: format!("{:x}", sum.finalize()) };
    let shares = share_out(&loads(&ebuilds, within), of);
    let ours = ebuilds.into_iter().zip(shares).filter(|(_, share)| *share == index - 1).map(|(ebuild, _)| ebuild);
    Ok((ours.collect(), info))
}

/// Where a system that runs several machines says which one this is.
struct Place {
    index: &'static str,
    /// Whether it counts from 0.
    from_zero: bool,
    of: Option<&'static str>,
}

const PLACES: &[Place] = &[
    Place { index: "CI_NODE_INDEX", from_zero: false, of: Some("CI_NODE_TOTAL") },
    Place { index: "CIRCLE_NODE_INDEX", from_zero: true, of: Some("CIRCLE_NODE_TOTAL") },
    Place { index: "BUILDKITE_PARALLEL_JOB", from_zero: true, of: Some("BUILDKITE_PARALLEL_JOB_COUNT") },
    Place { index: "SLURM_PROCID", from_zero: true, of: Some("SLURM_NTASKS") },
    Place { index: "JOB_COMPLETION_INDEX", from_zero: true, of: None },
    Place { index: "PARALLEL_SEQ", from_zero: false, of: None },
];

/// The shard, counted from 1, and their number.
fn parse(choice: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<(usize, usize)> {
    let (index, of) = match choice.split_once('/') {
        Some(("auto", of)) => (None, Some(of)),
        Some((index, of)) => (Some(index), Some(of)),
        None if choice == "auto" => (None, None),
        None => bail!("--shard {choice}: K/N is wanted (2/8), or auto, or auto/N"),
    };
    let number = |what: &str, text: &str| match text.parse::<usize>() {
        Ok(number) => Ok(number),
        Err(_) => bail!("--shard {choice}: {what} is no number: `{text}`"),
    };
    let of = of.map(|of| number("N", of)).transpose()?;
    let (index, of) = match index {
        Some(index) => (number("K", index)?, of.unwrap_or(1)),
        None => found(choice, of, env)?,
    };
    if of == 0 || index == 0 || index > of {
        bail!("--shard {choice}: K counts from 1 to N, and there is no shard {index} of {of}");
    }
    Ok((index, of))
}

fn found(choice: &str, of: Option<usize>, env: &dyn Fn(&str) -> Option<String>) -> Result<(usize, usize)> {
    let number = |name: &str| env(name).and_then(|text| text.trim().parse::<usize>().ok());
    // an array's indices may begin anywhere; its tasks are whole jobs, whose own SLURM_PROCID is 0
    if let Some(id) = number("SLURM_ARRAY_TASK_ID") {
        let least = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
        let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
        if let Some(of) = of.or_else(|| number("SLURM_ARRAY_TASK_COUNT")) {
            return Ok((id.saturating_sub(least) / step + 1, of));
        }
    }
    for place in PLACES {
        let (Some(index), Some(of)) = (number(place.index), of.or_else(|| number(place.of?))) else { continue };
        return Ok((index + usize::from(place.from_zero), of));
    }
    let lack = "nothing in the environment says which shard this is; write --shard K/N";
    match of {
        Some(_) => bail!("--shard {choice}: {lack}"),
        None => bail!("--shard {choice}: {lack}, or auto/N where only the number of shards is missing"),
    }
}

/// The shard of each load, counted from 0: the heaviest first, to where its distfiles are wanted already if there is room, so that a tarball that
/// many share is fetched and unpacked once. Among equals a digest decides, so that a new ebuild moves few of the others.
fn share_out(loads: &[Load], of: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(loads[*at].whole()), &loads[*at].name));
    let distinct: BTreeMap<&String, &u64> = loads.iter().flat_map(|load| &load.files).collect();
    let total = distinct.values().copied().sum::<u64>() + EBUILD * loads.len() as u64;
    let room = total.div_ceil(of as u64) + EBUILD;
    let mut shards: Vec<(u64, BTreeSet<&String>)> = vec![Default::default(); of];
    let mut shares = vec![0; loads.len()];
    for at in order {
        let load = &loads[at];
        let adds = |shard: &(u64, BTreeSet<&String>)| {
            let missing = load.files.iter().filter(|(name, _)| !shard.1.contains(name));
            EBUILD + missing.map(|(_, size)| size).sum::<u64>()
        };
        let best = (0..of).min_by_key(|shard| {
            let (added, lot) = (adds(&shards[*shard]), md5::compute(format!("{shard} {}", load.name)).0);
            let after = shards[*shard].0 + added;
            match after <= room {
                true => (false, added, lot, *shard),
                false => (true, after, lot, *shard),
            }
        });
        let best = best.unwrap_or_default();
        shards[best].0 += adds(&shards[best]);
        shards[best].1.extend(load.files.keys());
        shares[at] = best;
    }
    shares
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
