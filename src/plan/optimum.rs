//! The smallest plan: fewest removals, then lines of configuration, then version changes outside the family, then rebuilds
//! and moves, then additions; among equals the versions that one would name oneself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::problem::Problem;
use super::solver::Lit;
use super::universe::Id;

/// What becomes of a slot of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Stays(Id),
    Removed(Id),
    /// The ebuild to merge, and what it replaces.
    Merged {
        id: Id,
        over: Option<Id>,
        flags: BTreeMap<String, bool>,
    },
}

/// A solution: the fates of all slots in scope that are installed before or afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Solution {
    pub fates: Vec<Fate>,
}

impl Solution {
    /// The ebuilds to merge.
    pub fn merged(&self) -> impl Iterator<Item = Id> + '_ {
        self.fates.iter().filter_map(|fate| match fate {
            Fate::Merged { id, .. } => Some(*id),
            _ => None,
        })
    }
}

/// Solves a problem, or finds that it has no solution.
pub fn solve(problem: &mut Problem<'_, '_>, family: &BTreeSet<Rc<str>>) -> Option<Solution> {
    if !problem.solver.solve(&[]) {
        return None;
    }
    let costs = costs(problem, family);
    for level in costs {
        if !problem.solver.minimise(&level) {
            return None;
        }
    }
    choose_versions(problem, family);
    settle_flags(problem);
    problem.solver.solve(&[]).then(|| read(problem))
}

fn costs(problem: &mut Problem<'_, '_>, family: &BTreeSet<Rc<str>>) -> [Vec<Lit>; 5] {
    let [mut removals, mut lines, mut changes, mut merges, mut additions] = [const { Vec::new() }; 5];
    for at in 0..problem.groups.len() {
        let group = &problem.groups[at];
        let (name, installed, offered) = (group.name.clone(), group.installed, group.offered.clone());
        let chosen: Vec<Lit> = offered.iter().map(|&id| problem.lit(id)).collect();
        let merged = problem.solver.or(&chosen);
        match installed {
            Some(record) => {
                let stays = problem.lit(record);
                let there = problem.solver.or(&[merged, stays]);
                removals.push(!there);
                merges.push(merged);
                let version = &problem.universe.instances[record].cpv.version;
                let other = offered.iter().filter(|&&id| problem.universe.instances[id].cpv.version != *version);
                let other: Vec<Lit> = other.map(|&id| problem.lit(id)).collect();
                if !family.contains(&name) {
                    changes.push(problem.solver.or(&other));
                }
            }
            None => additions.push(merged),
        }
        for (&id, &lit) in offered.iter().zip(&chosen) {
            for _ in &problem.universe.instances[id].obstacles {
                // each line has a literal of its own: a solver's sum counts a literal once
                let line = problem.solver.fresh();
                problem.solver.add(&[!lit, line]);
                lines.push(line);
            }
            let deviations = deviations(problem, id);
            if !deviations.is_empty() {
                let any = problem.solver.or(&deviations);
                lines.push(problem.solver.and(&[lit, any]));
            }
        }
    }
    [removals, lines, changes, merges, additions]
}

fn deviations(problem: &Problem<'_, '_>, id: Id) -> Vec<Lit> {
    problem.adjustable(id).map(|(_, lit, configured)| if configured { !lit } else { lit }).collect()
}

/// Newest members; for others the version that is installed, else the nearest; for new packages the newest; the first of
/// the repositories. Each wish is granted in turn if it makes the plan no bigger.
fn choose_versions(problem: &mut Problem<'_, '_>, family: &BTreeSet<Rc<str>>) {
    let mut order: Vec<usize> = (0..problem.groups.len()).collect();
    order.sort_by_key(|&at| {
        let group = &problem.groups[at];
        (Reverse(family.contains(&group.name)), group.installed.is_none(), at)
    });
    for at in order {
        let group = &problem.groups[at];
        if !group.offered.iter().any(|&id| problem.solver.holds(problem.lit(id))) {
            continue;
        }
        let mut wishes = group.offered.clone();
        let instances = &problem.universe.instances;
        if let (Some(record), false) = (group.installed, family.contains(&group.name)) {
            // nearest above first, then nearest below
            let installed = &instances[record].cpv.version;
            let home = &instances[record].repository;
            wishes.sort_by(|&a, &b| {
                let (a, b) = (&instances[a], &instances[b]);
                let below = |one: &super::universe::Instance| one.cpv.version < *installed;
                let nearer = match below(a) && below(b) {
                    true => b.cpv.version.cmp(&a.cpv.version),
                    false => a.cpv.version.cmp(&b.cpv.version),
                };
                below(a)
                    .cmp(&below(b))
                    .then(nearer)
                    .then(b.priority.cmp(&a.priority))
                    .then((b.repository == *home).cmp(&(a.repository == *home)))
            });
        }
        let wishes: Vec<Lit> = wishes.into_iter().map(|id| problem.lit(id)).collect();
        problem.solver.prefer(&wishes);
    }
}

/// As few flags changed as can be.
fn settle_flags(problem: &mut Problem<'_, '_>) {
    let mut changed = Vec::new();
    for at in 0..problem.groups.len() {
        for id in problem.groups[at].offered.clone() {
            if problem.solver.holds(problem.lit(id)) {
                changed.extend(deviations(problem, id));
            }
        }
    }
    problem.solver.minimise(&changed);
}

fn read(problem: &Problem<'_, '_>) -> Solution {
    let mut fates = Vec::new();
    for group in &problem.groups {
        let chosen = group.offered.iter().copied().find(|&id| problem.solver.holds(problem.lit(id)));
        match (chosen, group.installed) {
            (Some(id), over) => {
                let flags = problem
                    .adjustable(id)
                    .filter(|&(_, lit, configured)| problem.solver.holds(lit) != configured)
                    .map(|(flag, _, configured)| (flag.to_owned(), !configured))
                    .collect();
                fates.push(Fate::Merged { id, over, flags });
            }
            (None, Some(record)) if problem.solver.holds(problem.lit(record)) => fates.push(Fate::Stays(record)),
            (None, Some(record)) => fates.push(Fate::Removed(record)),
            (None, None) => {}
        }
    }
    Solution { fates }
}
