//! The proof that there is no plan: the smallest set of packages which, gone together, make one possible, and what can be
//! done about each.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Blocker};

use super::answer::{self, BlockerKind};
use super::blame;
use super::fault::{Fault, own_fault};
use super::goal::Goal;
use super::optimum;
use super::problem::{Problem, Terms};
use super::scope::Scope;
use super::state::{State, active};
use super::universe::{Id, Universe};
use super::ways::blocker;

/// How many packages are tried one by one where reasoning alone finds no culprit.
const MOST_TRIALS: usize = 400;

/// The reasons why a problem without a solution has none.
pub fn reasons(
    universe: &mut Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    terms: &Terms,
) -> Vec<answer::Blocker> {
    if let Some(blocker) = rival_goals(universe, goals) {
        return vec![blocker];
    }
    let mut faults: Vec<Fault> = Vec::new();
    let mut with = terms.clone();
    // each fault is taken for mended, and the next one is looked for
    while !possible(universe, scope, goals, &with) && faults.len() < 100 {
        let found = blame::next(universe, scope, goals, &with).filter(|fault| is_new(fault, &with));
        let found = found.or_else(|| of_a_cycle(universe, scope, goals, &with));
        let Some(fault) = found.or_else(|| by_trial(universe, scope, goals, family, &with)) else { break };
        let is_goal = goals.iter().any(|goal| goal.atom.name() == &*fault.name);
        if is_goal {
            with.lifted.extend(&fault.lifts);
        } else {
            with.gone.insert(fault.name.to_string());
        }
        let hopeless = is_goal && fault.lifts.is_empty();
        faults.push(fault);
        if hopeless {
            break;
        }
    }
    smallest(universe, scope, goals, &mut faults, &mut with);
    faults.into_iter().map(|fault| blocker(universe, scope, goals, family, &with, fault)).collect()
}

/// Two goals that are versions of one slot.
fn rival_goals(universe: &Universe<'_>, goals: &[Goal]) -> Option<answer::Blocker> {
    let met: Vec<Vec<Id>> = goals.iter().map(|goal| goal.met_by(universe)).collect();
    for (at, one) in met.iter().enumerate() {
        for (other_at, other) in met.iter().enumerate().skip(at + 1) {
            let same_slot = |a: Id, b: Id| {
                let (a, b) = (&universe.instances[a], &universe.instances[b]);
                a.name == b.name && a.slot == b.slot
            };
            let rival = |&a: &Id| other.iter().all(|&b| a != b && same_slot(a, b));
            if !one.is_empty() && !other.is_empty() && one.iter().all(rival) {
                let (one, other) = (&goals[at].text, &goals[other_at].text);
                return Some(answer::Blocker {
                    kind: BlockerKind::Pinned,
                    package: goals[at].atom.name().to_owned(),
                    installed: None,
                    needs: Some(other.clone()),
                    because: format!(
                        "the goals {one} and {other} contradict each other: both are versions of one slot"
                    ),
                    ways: vec![format!("leave out {one}"), format!("leave out {other}")],
                });
            }
        }
    }
    None
}

fn is_new(fault: &Fault, with: &Terms) -> bool {
    match fault.lifts.is_empty() {
        true => !with.gone.contains(&*fault.name),
        false => !with.gone.contains(&*fault.name) && fault.lifts.iter().any(|id| !with.lifted.contains(id)),
    }
}

/// Whether there is a plan.
pub fn possible(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], terms: &Terms) -> bool {
    Problem::new(universe, scope, goals, terms).solver.solve(&[])
}

/// Packages that need each other to be built, if that alone is in the way.
fn of_a_cycle(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], with: &Terms) -> Option<Fault> {
    let loose = Terms { cycles: Vec::new(), ..with.clone() };
    if with.cycles.is_empty() || !possible(universe, scope, goals, &loose) {
        return None;
    }
    let is_goal = |id: &&Id| goals.iter().any(|goal| goal.atom.name() == &*universe.instances[**id].name);
    // one ebuild speaks for those that wait alike
    let cycles: Vec<Vec<Id>> =
        with.cycles.iter().map(|cycle| cycle.iter().filter_map(|alike| alike.first().copied()).collect()).collect();
    let cycle =
        cycles.iter().find(|cycle| cycle.iter().any(|id| !with.gone.contains(&*universe.instances[*id].name)))?;
    let culprit = cycle.iter().find(|id| !is_goal(id)).or(cycle.first())?;
    let names: Vec<String> = cycle.iter().map(|&id| universe.instances[id].cpv()).collect();
    let strong = cycle.iter().flat_map(|&id| universe.instances[id].dependencies()).any(|(_, dep)| {
        let mut atoms = Vec::new();
        dep.atoms(&mut atoms);
        let hit = |atom: &Atom| cycle.iter().any(|&id| atom.name() == &*universe.instances[id].name);
        atoms.into_iter().any(|atom| atom.blocker == Blocker::Strong && hit(atom))
    });
    Some(Fault {
        name: universe.instances[*culprit].name.clone(),
        kind: if strong { BlockerKind::HardBlock } else { BlockerKind::NoVersion },
        needs: None,
        because: format!(
            "{} each need another of them to be built first, and no other version does without",
            names.join(", ")
        ),
        lifts: Vec::new(),
    })
}

/// Leaves out what need not be gone.
fn smallest(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], faults: &mut Vec<Fault>, with: &mut Terms) {
    if !possible(universe, scope, goals, with) {
        return;
    }
    let mut at = 0;
    while faults.len() > 1 && at < faults.len() {
        let mut less = with.clone();
        let fault = &faults[at];
        less.gone.remove(&*fault.name);
        fault.lifts.iter().for_each(|id| {
            less.lifted.remove(id);
        });
        if possible(universe, scope, goals, &less) {
            faults.remove(at);
            *with = less;
        } else {
            at += 1;
        }
    }
}

/// One package without which there would be a plan; where no single one is enough, one of a smallest set.
fn by_trial(
    universe: &mut Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    with: &Terms,
) -> Option<Fault> {
    let is_goal = |name: &str| goals.iter().any(|goal| goal.atom.name() == name);
    let mut names: Vec<Rc<str>> =
        scope.open.iter().filter(|name| !is_goal(name) && !with.gone.contains(&***name)).cloned().collect();
    // consumers first: they hold, members are held
    names.sort_by_key(|name| (family.contains(name), universe.installed(name).is_empty()));
    for name in names.iter().take(MOST_TRIALS) {
        let mut trial = with.clone();
        trial.gone.insert(name.to_string());
        if possible(universe, scope, goals, &trial) {
            return Some(explain(universe, scope, goals, family, &trial, name));
        }
    }
    let mut gone = with.clone();
    gone.gone.extend(names.iter().map(ToString::to_string));
    if !possible(universe, scope, goals, &gone) {
        return goals_own(universe, goals);
    }
    for name in &names {
        let mut less = gone.clone();
        less.gone.remove(&**name);
        if possible(universe, scope, goals, &less) {
            gone = less;
        }
    }
    let name = names.iter().find(|name| gone.gone.contains(&***name))?;
    Some(explain(universe, scope, goals, family, &gone, name))
}

/// What the package holds against the state that would be reached without it.
fn explain(
    universe: &mut Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    terms: &Terms,
    name: &Rc<str>,
) -> Fault {
    let mut problem = Problem::new(universe, scope, goals, terms);
    let solution = optimum::solve(&mut problem, family).unwrap_or_default();
    drop(problem);
    let before = State::before(universe, &solution);
    let state = State::after(universe, &scope.open, &solution);
    let mut own: Vec<Id> = universe.installed(name).to_vec();
    let version = own.first().map(|&id| universe.instances[id].cpv.version.clone());
    let mut offered: Vec<Id> = universe.offered(name).to_vec();
    offered.sort_by_key(|&id| Some(&universe.instances[id].cpv.version) != version.as_ref());
    own.splice(0..0, offered);
    let fault = own
        .iter()
        .find_map(|&id| {
            let broken = state.broken(universe, id).into_iter().next()?;
            let is_there = |id: Id| state.present(universe, &universe.instances[id].name).contains(&id);
            Some(own_fault(universe, id, Some((broken.kind, broken.atom)), is_there))
        })
        .or_else(|| needed_of(universe, &state, &solution, name))
        .unwrap_or_else(|| Fault {
            name: name.clone(),
            kind: BlockerKind::NoVersion,
            needs: None,
            because: format!("no version of {name} goes with the goal"),
            lifts: Vec::new(),
        });
    State::undo(universe, before);
    fault
}

/// What the rest of the plan wants of a package, or has against it.
fn needed_of(universe: &Universe<'_>, state: &State, solution: &optimum::Solution, name: &Rc<str>) -> Option<Fault> {
    for holder in solution.merged() {
        for (kind, dep) in universe.instances[holder].dependencies() {
            let mut atoms = Vec::new();
            active(universe, holder, dep, &mut atoms);
            for atom in atoms.into_iter().filter(|atom| atom.name() == &**name) {
                let cpv = universe.instances[holder].cpv();
                let (what, because) = match atom.is_blocker() {
                    true => (BlockerKind::HardBlock, format!("{cpv} blocks it ({} {atom})", kind.name())),
                    false if universe.matching(atom).is_empty() => (
                        BlockerKind::NoVersion,
                        format!("{cpv} needs {atom} ({}), and no repository has it", kind.name()),
                    ),
                    false if !atom.use_deps.is_empty() => {
                        (BlockerKind::Use, format!("{cpv} needs {atom} ({}), others need it otherwise", kind.name()))
                    }
                    false => continue,
                };
                if state.present(universe, name).is_empty() {
                    return Some(Fault {
                        name: name.clone(),
                        kind: what,
                        needs: Some(atom.to_string()),
                        because,
                        lifts: Vec::new(),
                    });
                }
            }
        }
    }
    None
}

/// Not even alone can a goal be had.
fn goals_own(universe: &Universe<'_>, goals: &[Goal]) -> Option<Fault> {
    let goal = goals.first()?;
    let ids = goal.met_by(universe);
    let cpv = ids.first().map_or(goal.text.clone(), |&id| universe.instances[id].cpv());
    Some(Fault {
        name: Rc::from(goal.atom.name()),
        kind: BlockerKind::Use,
        needs: Some(goal.text.clone()),
        because: format!("{cpv} can't be installed with the flags that the profile and package.use leave"),
        lifts: Vec::new(),
    })
}
