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
    let loads = loads(&ebuilds, within);
    let mut sum = md5::Context::new();
    for load in &loads {
        sum.consume(format!("{}\0{:?}\0", load.name, load.files));
    }
    let info = ShardInfo { index, of, work: format!("{:x}", sum.finalize()), ebuilds: ebuilds.len() };
    let shares = share_out(&loads, of);
    let ours = ebuilds.into_iter().zip(shares).filter(|(_, share)| *share == index - 1).map(|(ebuild, _)| ebuild);
    Ok((ours.collect(), info))
}

/// More shards than anybody has machines for.
pub const MOST: usize = 10_000;

/// Where a system that runs several machines says which one this is.
struct Place {
    index: &'static str,
    /// Whether it counts from 0.
    from_zero: bool,
    /// Whether it starts processes within a job of another.
    inner: bool,
    of: Option<&'static str>,
}

const PLACES: &[Place] = &[
    Place { index: "PARALLEL_SEQ", from_zero: false, inner: true, of: None },
    Place { index: "SLURM_PROCID", from_zero: true, inner: true, of: Some("SLURM_STEP_NUM_TASKS") },
    Place { index: "CI_NODE_INDEX", from_zero: false, inner: false, of: Some("CI_NODE_TOTAL") },
    Place { index: "CIRCLE_NODE_INDEX", from_zero: true, inner: false, of: Some("CIRCLE_NODE_TOTAL") },
    Place { index: "BUILDKITE_PARALLEL_JOB", from_zero: true, inner: false, of: Some("BUILDKITE_PARALLEL_JOB_COUNT") },
    Place { index: "JOB_COMPLETION_INDEX", from_zero: true, inner: false, of: None },
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
    if of > MOST {
        bail!("--shard {choice}: {of} shards are too many; {MOST} is the most");
    }
    if of == 0 || index == 0 || index > of {
        bail!("--shard {choice}: K counts from 1 to N, and there is no shard {index} of {of}");
    }
    Ok((index, of))
}

/// The task of a job array of Slurm: its indices may begin anywhere, and go by steps.
fn array(choice: &str, number: &dyn Fn(&str) -> Option<usize>) -> Result<Option<(&'static str, usize, usize)>> {
    const NAME: &str = "SLURM_ARRAY_TASK_ID";
    let (Some(id), Some(of)) = (number(NAME), number("SLURM_ARRAY_TASK_COUNT")) else { return Ok(None) };
    let least = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
    let most = number("SLURM_ARRAY_TASK_MAX").unwrap_or(usize::MAX);
    let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
    // a list of indices (--array=1,4,7) does not say which place one has
    let regular = most == usize::MAX || most.saturating_sub(least) / step + 1 == of;
    if !regular || id < least || !(id - least).is_multiple_of(step) {
        bail!("--shard {choice}: the indices of this job array are no plain range (--array=1-{of}); write --shard K/N");
    }
    Ok(Some((NAME, (id - least) / step + 1, of)))
}

fn found(choice: &str, of: Option<usize>, env: &dyn Fn(&str) -> Option<String>) -> Result<(usize, usize)> {
    let number = |name: &str| env(name).and_then(|text| text.trim().parse::<usize>().ok());
    // the innermost that starts several at a time is the one that is meant
    let places = PLACES.iter().filter(|place| of.is_some() || place.of.is_some());
    let (inner, outer): (Vec<&Place>, Vec<&Place>) = places.partition(|place| place.inner);
    let at = |place: &&Place| {
        let index = number(place.index)?.saturating_add(usize::from(place.from_zero));
        let all = match place.of {
            Some(name) => number(name)?,
            None => of?,
        };
        // one of one is what a job has that was started alone
        (place.of.is_none() || all > 1 || of == Some(1)).then_some((place.index, index, all))
    };
    let (inner, array) =
        (inner.iter().find_map(at), array(choice, &number)?.filter(|(_, _, all)| *all > 1 || of.is_some()));
    if let (Some((inner, ..)), Some((outer, ..))) = (inner, array) {
        bail!("--shard {choice}: both {inner} and {outer} say which one this is; write --shard K/N");
    }
    if let Some((name, index, all)) = inner.or(array).or_else(|| outer.iter().find_map(at)) {
        return match of {
            Some(of) if of != all => bail!("--shard {choice}: {name} is one of {all}, not of {of}"),
            _ => Ok((index, all)),
        };
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
        let digest = u64::from_le_bytes(md5::compute(&load.name).0[..8].try_into().unwrap_or_default());
        let adds = |shard: &(u64, BTreeSet<&String>)| {
            let missing = load.files.iter().filter(|(name, _)| !shard.1.contains(name));
            EBUILD + missing.map(|(_, size)| size).sum::<u64>()
        };
        let best = (0..of).min_by_key(|shard| {
            let (added, lot) = (adds(&shards[*shard]), mixed(digest ^ *shard as u64));
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

/// The finishing step of splitmix64.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
#[path = "shard_tests.rs"]
mod tests;
