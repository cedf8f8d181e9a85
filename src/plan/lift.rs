//! What the user's own configuration and options exclude. He alone can give that up, so it is named before anything that
//! would have to go: the fewest of it with which there is a plan.

use std::collections::BTreeMap;

use super::Asked;
use super::optimum::{self, Solution};
use super::problem::Problem;
use super::solver::Lit;
use super::terms::Terms;
use super::universe::{Id, Obstacle, Universe};

/// One thing that he could give up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lift {
    /// The ebuilds that one line of his excludes.
    Line(Vec<Id>),
    /// `--keep`.
    Keep(String),
    /// What an atom of world or a set says besides the package and its slot: an index into [`Universe::wanted`].
    Wanted(usize),
}

impl Lift {
    /// All that there is in scope.
    pub fn all(universe: &Universe<'_>, asked: Asked<'_>, terms: &Terms) -> Vec<Lift> {
        let mut lines: BTreeMap<Vec<String>, Vec<Id>> = BTreeMap::new();
        for &id in asked.scope.open.iter().flat_map(|name| universe.offered(name)) {
            let instance = &universe.instances[id];
            if instance.invalid.is_none() && !terms.allow(universe, id) {
                lines.entry(excluded(&instance.obstacles)).or_default().push(id);
            }
        }
        let wanted = universe.wanted.iter().enumerate().filter(|(_, wanted)| {
            let atom = &wanted.atom;
            let says_more = atom.as_str() != bare(atom);
            // @system and @profile are not his
            says_more && !wanted.origin.starts_with('@') && asked.scope.open.contains(atom.name())
        });
        let wanted = wanted.map(|(at, _)| Lift::Wanted(at));
        let keep = terms.keep.iter().filter(|name| asked.scope.open.contains(name.as_str())).cloned();
        lines.into_values().map(Lift::Line).chain(keep.map(Lift::Keep)).chain(wanted).collect()
    }

    /// Takes it for given up.
    pub fn apply(&self, terms: &mut Terms) {
        match self {
            Lift::Line(ids) => terms.unmasked.extend(ids),
            Lift::Keep(name) => {
                terms.keep.remove(name);
            }
            Lift::Wanted(at) => {
                terms.loose.insert(*at);
            }
        }
    }

    /// The literal for "a solution makes use of it".
    fn used(&self, problem: &mut Problem<'_, '_>) -> Lit {
        let universe = problem.universe;
        match self {
            Lift::Line(ids) => {
                let lits: Vec<Lit> = ids.iter().map(|&id| problem.lit(id)).collect();
                problem.solver.or(&lits)
            }
            Lift::Keep(name) => {
                let records = universe.installed(name).iter().filter(|&&id| universe.instances[id].installed);
                let lits: Vec<Lit> = records.map(|&id| !problem.lit(id)).collect();
                problem.solver.or(&lits)
            }
            Lift::Wanted(at) => {
                let met = universe.matching(&universe.wanted[*at].atom);
                let lits: Vec<Lit> = met.iter().map(|&id| problem.lit(id)).collect();
                !problem.solver.or(&lits)
            }
        }
    }

    /// What of it a solution makes use of.
    fn of(&self, solution: &Solution) -> Lift {
        match self {
            Lift::Line(ids) => Lift::Line(solution.merged().filter(|id| ids.contains(id)).collect()),
            other => other.clone(),
        }
    }

    /// What of `lifts` is left without it.
    pub fn out_of(&self, lifts: &[Lift]) -> Vec<Lift> {
        let left = lifts.iter().filter(|lift| *lift != self).map(|lift| match (self, lift) {
            (Lift::Line(own), Lift::Line(ids)) => {
                Lift::Line(ids.iter().copied().filter(|id| !own.contains(id)).collect())
            }
            _ => lift.clone(),
        });
        left.filter(|lift| !matches!(lift, Lift::Line(ids) if ids.is_empty())).collect()
    }

    /// What he would do.
    pub fn way(&self, universe: &Universe<'_>) -> String {
        match self {
            Lift::Line(ids) => {
                let lines = ids.iter().flat_map(|&id| {
                    let instance = &universe.instances[id];
                    let rival = |&&other: &&Id| other != id && universe.instances[other].cpv == instance.cpv;
                    let atom = match universe.offered(&instance.name).iter().find(rival) {
                        Some(_) => format!("={}::{}", instance.cpv(), instance.repository),
                        None => format!("={}", instance.cpv()),
                    };
                    instance.obstacles.iter().filter_map(move |obstacle| line(&atom, obstacle))
                });
                lines.collect::<Vec<_>>().join(", ")
            }
            Lift::Keep(name) => format!("give up --keep {name}"),
            Lift::Wanted(at) => {
                let wanted = &universe.wanted[*at];
                format!("{}: {} in the place of {}", wanted.origin, bare(&wanted.atom), wanted.atom)
            }
        }
    }
}

/// Which of `lifts`, as few as can be, make a plan, and that plan; none if not even all of them do. The terms learn what
/// can't be merged in one run.
pub fn fewest(
    universe: &mut Universe<'_>,
    asked: Asked<'_>,
    terms: &mut Terms,
    lifts: &[Lift],
) -> Option<(Vec<Lift>, Solution)> {
    let mut all = terms.clone();
    lifts.iter().for_each(|lift| lift.apply(&mut all));
    loop {
        let mut problem = asked.problem(universe, &all);
        let costs: Vec<Lit> = lifts.iter().map(|lift| lift.used(&mut problem)).collect();
        if !problem.solver.minimise(&costs) {
            return None;
        }
        let solution = optimum::solve(&mut problem, asked.family)?;
        let used = lifts.iter().zip(&costs).filter(|(_, cost)| problem.solver.holds(**cost));
        let used: Vec<Lift> = used.map(|(lift, _)| lift.of(&solution)).collect();
        drop(problem);
        let mut trial = terms.clone();
        used.iter().for_each(|lift| lift.apply(&mut trial));
        if let Some(solution) = asked.best(universe, &mut trial) {
            return Some((used, solution));
        }
        // what emerge refuses was seen on the way
        if trial.cycles.len() == terms.cycles.len() {
            return None;
        }
        terms.cycles.clone_from(&trial.cycles);
        all.cycles = trial.cycles;
    }
}

/// Why an ebuild that is there is not taken: what the user has to decide on.
pub fn excluded(obstacles: &[Obstacle]) -> Vec<String> {
    let words = obstacles.iter().filter_map(|obstacle| match obstacle {
        Obstacle::UserMask { origin } => Some(format!("is masked by you in {origin}")),
        Obstacle::Other { variable, words } => {
            Some(format!("has {variable} {}, which ACCEPT_{variable} does not accept", words.join(" ")))
        }
        Obstacle::Mask { .. } | Obstacle::Keyword(_) | Obstacle::License(_) => None,
    });
    words.collect()
}

fn line(atom: &str, obstacle: &Obstacle) -> Option<String> {
    match obstacle {
        Obstacle::UserMask { .. } => Some(format!("package.unmask: {atom}")),
        Obstacle::Other { variable, words } => {
            let file = if variable == "PROPERTIES" { "package.properties" } else { "package.accept_restrict" };
            Some(format!("{file}: {atom} {}", words.join(" ")))
        }
        Obstacle::Mask { .. } | Obstacle::Keyword(_) | Obstacle::License(_) => None,
    }
}

/// The package of an atom, and its slot where it names one.
fn bare(atom: &crate::gentoo::dependency::Atom) -> String {
    match atom.slot() {
        Some(slot) => format!("{}:{slot}", atom.name()),
        None => atom.name().to_owned(),
    }
}

#[cfg(test)]
mod tests;
