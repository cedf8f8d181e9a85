//! The proof that there is no plan: the smallest set of packages which, gone together, make one possible, and what can be
//! done about each.

use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Blocker};

use super::Asked;
use super::answer::{self, BlockerKind};
use super::blame;
use super::fault::{Fault, own_fault};
use super::goal::Goal;
use super::lift::{Lift, fewest};
use super::optimum;
use super::state::{State, active};
use super::terms::Terms;
use super::universe::{Id, Universe};
use super::ways::{blocker, of_user};

/// How many packages are tried one by one where reasoning alone finds no culprit.
const MOST_TRIALS: usize = 400;

/// The reasons why a problem without a solution has none.
pub fn reasons(universe: &mut Universe<'_>, asked: Asked<'_>, terms: &Terms) -> Vec<answer::Blocker> {
    if let Some(blocker) = rival_goals(universe, asked.goals) {
        return vec![blocker];
    }
    let lifts = Lift::all(universe, asked, terms);
    let mut base = terms.clone();
    loop {
        // what the user excludes is taken for given up first: what is in the way then is so whatever he does
        let mut with = base.clone();
        lifts.iter().for_each(|lift| lift.apply(&mut with));
        let faults = in_the_way(universe, asked, &mut with);
        let mut rest = Terms { gone: with.gone, lifted: with.lifted, ..base.clone() };
        let mut used = None;
        if !asked.is_possible(universe, &rest) {
            used = fewest(universe, asked, &mut rest, &lifts);
            if used.is_none() && rest.cycles.len() > base.cycles.len() {
                base.cycles = rest.cycles;
                continue;
            }
        }
        let (used, solution) = used.unwrap_or_default();
        let given_up = |but: Option<usize>| {
            let mut terms = rest.clone();
            let others = used.iter().enumerate().filter(|(at, _)| Some(*at) != but);
            others.for_each(|(_, lift)| lift.apply(&mut terms));
            terms
        };
        let all = given_up(None);
        let mut out: Vec<answer::Blocker> = Vec::new();
        for (at, lift) in used.iter().enumerate() {
            out.push(of_user(universe, asked, &given_up(Some(at)), lift, &lifts, &solution));
        }
        out.extend(faults.into_iter().map(|fault| blocker(universe, asked, &all, fault)));
        return out;
    }
}

/// What stands in the way with these terms; they are left as if it did not.
fn in_the_way(universe: &mut Universe<'_>, asked: Asked<'_>, with: &mut Terms) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    // each fault is taken for mended, and the next one is looked for
    while !asked.is_possible(universe, with) && faults.len() < 100 {
        let found = blame::next(universe, asked.scope, asked.goals, with).filter(|fault| is_new(fault, with));
        let found = found.or_else(|| of_a_cycle(universe, asked, with));
        let Some(fault) = found.or_else(|| by_trial(universe, asked, with)) else { break };
        let is_goal = asked.is_goal(&fault.name);
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
    smallest(universe, asked, &mut faults, with);
    faults
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

/// Packages that need each other to be built, if that alone is in the way.
fn of_a_cycle(universe: &Universe<'_>, asked: Asked<'_>, with: &Terms) -> Option<Fault> {
    let loose = Terms { cycles: Vec::new(), ..with.clone() };
    if with.cycles.is_empty() || !asked.is_possible(universe, &loose) {
        return None;
    }
    let is_goal = |id: &&Id| asked.is_goal(&universe.instances[**id].name);
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
fn smallest(universe: &Universe<'_>, asked: Asked<'_>, faults: &mut Vec<Fault>, with: &mut Terms) {
    if !asked.is_possible(universe, with) {
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
        if asked.is_possible(universe, &less) {
            faults.remove(at);
            *with = less;
        } else {
            at += 1;
        }
    }
}

/// One package without which there would be a plan; where no single one is enough, one of a smallest set.
fn by_trial(universe: &mut Universe<'_>, asked: Asked<'_>, with: &Terms) -> Option<Fault> {
    let mut names: Vec<Rc<str>> =
        asked.scope.open.iter().filter(|name| !asked.is_goal(name) && !with.gone.contains(&***name)).cloned().collect();
    // consumers first: they hold, members are held
    names.sort_by_key(|name| (asked.family.contains(name), universe.installed(name).is_empty()));
    for name in names.iter().take(MOST_TRIALS) {
        let mut trial = with.clone();
        trial.gone.insert(name.to_string());
        if asked.is_possible(universe, &trial) {
            return Some(explain(universe, asked, &trial, name));
        }
    }
    let mut gone = with.clone();
    gone.gone.extend(names.iter().map(ToString::to_string));
    if !asked.is_possible(universe, &gone) {
        return goals_own(universe, asked.goals);
    }
    for name in &names {
        let mut less = gone.clone();
        less.gone.remove(&**name);
        if asked.is_possible(universe, &less) {
            gone = less;
        }
    }
    let name = names.iter().find(|name| gone.gone.contains(&***name))?;
    Some(explain(universe, asked, &gone, name))
}

/// What the package holds against the state that would be reached without it.
fn explain(universe: &mut Universe<'_>, asked: Asked<'_>, terms: &Terms, name: &Rc<str>) -> Fault {
    let solution = optimum::solve(&mut asked.problem(universe, terms), asked.family).unwrap_or_default();
    let before = State::before(universe, &solution);
    let state = State::after(universe, &asked.scope.open, &solution);
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
