//! The proof that there is no plan: the smallest set of packages which, gone together, make one possible, and what can be
//! done about each.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::answer::{Blocker, BlockerKind};
use super::blame::{self, Fault};
use super::goal::Goal;
use super::optimum;
use super::problem::{Problem, Terms};
use super::scope::Scope;
use super::state::{State, active};
use super::universe::{Id, Universe};

/// How many packages are tried one by one where reasoning alone finds no culprit.
const MOST_TRIALS: usize = 400;

/// The reasons why a problem without a solution has none.
pub fn reasons(
    universe: &mut Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    terms: &Terms,
) -> Vec<Blocker> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut with = terms.clone();
    // each fault is taken for mended, and the next one is looked for
    while !possible(universe, scope, goals, &with) && faults.len() < 100 {
        let found = blame::next(universe, scope, goals, &with).filter(|fault| is_new(fault, &with));
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

fn is_new(fault: &Fault, with: &Terms) -> bool {
    match fault.lifts.is_empty() {
        true => !with.gone.contains(&*fault.name),
        false => !with.gone.contains(&*fault.name) && fault.lifts.iter().any(|id| !with.lifted.contains(id)),
    }
}

fn possible(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], terms: &Terms) -> bool {
    Problem::new(universe, scope, goals, terms).solver.solve(&[])
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
    let before: Vec<_> = solution.merged().map(|id| (id, universe.instances[id].flags.enabled.clone())).collect();
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
            let there = |atom: &crate::gentoo::dependency::Atom| {
                let present = state.present(universe, atom.name());
                present.iter().any(|&id| atom.matches(universe.instances[id].package()))
            };
            Some(blame::own_fault(universe, id, Some((broken.kind, broken.atom)), there))
        })
        .or_else(|| needed_of(universe, &state, &solution, name))
        .unwrap_or_else(|| Fault {
            name: name.clone(),
            kind: BlockerKind::NoVersion,
            needs: None,
            because: format!("no version of {name} goes with the goal"),
            lifts: Vec::new(),
        });
    for (id, flags) in before {
        universe.instances[id].flags.enabled = flags;
    }
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

/// The fault as it is reported, with the ways out that lead to a plan.
fn blocker(
    universe: &Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    with: &Terms,
    fault: Fault,
) -> Blocker {
    let name = &fault.name;
    let installed = universe.installed(name).iter().find(|&&id| universe.instances[id].installed);
    let installed = installed.map(|&id| universe.instances[id].cpv());
    // the other faults are taken for mended
    let mut rest = with.clone();
    rest.gone.remove(&**name);
    fault.lifts.iter().for_each(|id| {
        rest.lifted.remove(id);
    });
    let mut ways = Vec::new();
    let is_goal = goals.iter().any(|goal| goal.atom.name() == &**name);
    if fault.kind == BlockerKind::Masked {
        for &id in &fault.lifts {
            let mut trial = rest.clone();
            trial.lifted.insert(id);
            if universe.instances[id].invalid.is_none() && possible(universe, scope, goals, &trial) {
                ways.push(format!("package.unmask: ={}", universe.instances[id].cpv()));
            }
        }
    }
    if let (Some(cpv), false) = (&installed, is_goal) {
        let mut trial = rest.clone();
        trial.unmerged.insert(name.to_string());
        if possible(universe, scope, goals, &trial) {
            ways.push(format!("unmerge {cpv}"));
        } else {
            ways.extend(flags_and_unmerging(universe, scope, goals, &rest, name, cpv));
        }
    }
    if fault.kind == BlockerKind::HardBlock || fault.kind == BlockerKind::Use {
        ways.extend(flags_off(universe, scope, goals, &rest, name));
    }
    if matches!(fault.kind, BlockerKind::RequiredUse | BlockerKind::Use) {
        ways.extend(flags_given_up(universe, scope, goals, family, &rest, name));
    }
    if matches!(fault.kind, BlockerKind::NoVersion | BlockerKind::NoEbuild) {
        let what = fault.needs.clone().unwrap_or_else(|| name.to_string());
        ways.push(format!("add an ebuild, or a repository that has one: {what}"));
    }
    Blocker { kind: fault.kind, package: name.to_string(), installed, needs: fault.needs, because: fault.because, ways }
}

/// The flags by which chosen or installed packages depend on `name`, with the packages.
fn guards(universe: &Universe<'_>, scope: &Scope, name: &str, blockers: bool) -> BTreeSet<(String, String)> {
    let mut out = BTreeSet::new();
    for open in &scope.open {
        for &id in universe.offered(open) {
            let instance = &universe.instances[id];
            for (_, dep) in instance.dependencies() {
                guarded(dep, name, blockers, &mut Vec::new(), &mut |flags| {
                    let on: Vec<&str> =
                        flags.iter().copied().filter(|flag| instance.flags.enabled.contains(*flag)).collect();
                    if on.len() == flags.len() && !instance.flags.fixed.contains(on.last().copied().unwrap_or("")) {
                        out.extend(on.last().map(|flag| (instance.name.to_string(), (*flag).to_owned())));
                    }
                });
            }
        }
    }
    out
}

fn guarded<'d>(
    dep: &'d crate::gentoo::dependency::Dep,
    name: &str,
    blockers: bool,
    flags: &mut Vec<&'d str>,
    found: &mut dyn FnMut(&[&'d str]),
) {
    use crate::gentoo::dependency::Dep;
    match dep {
        Dep::Atom(atom) if atom.name() == name && atom.is_blocker() == blockers && !flags.is_empty() => found(flags),
        Dep::Atom(_) => {}
        Dep::All(inner) | Dep::AnyOf(inner) => {
            inner.iter().for_each(|dep| guarded(dep, name, blockers, flags, found));
        }
        Dep::Use { flag, enabled: true, then } => {
            flags.push(flag);
            then.iter().for_each(|dep| guarded(dep, name, blockers, flags, found));
            flags.pop();
        }
        Dep::Use { .. } => {}
    }
}

fn flags_and_unmerging(
    universe: &Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    rest: &Terms,
    name: &str,
    cpv: &str,
) -> Vec<String> {
    let guards = guards(universe, scope, name, false);
    let mut trial = rest.clone();
    trial.unmerged.insert(name.to_owned());
    trial.flags_off.extend(guards.iter().cloned());
    if guards.is_empty() || !possible(universe, scope, goals, &trial) {
        return Vec::new();
    }
    for guard in &guards {
        let mut less = trial.clone();
        less.flags_off.remove(guard);
        if possible(universe, scope, goals, &less) {
            trial = less;
        }
    }
    let lines: Vec<String> =
        trial.flags_off.iter().map(|(name, flag)| format!("package.use: {name} -{flag}")).collect();
    vec![format!("{}, and unmerge {cpv}", lines.join(", "))]
}

fn flags_off(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], rest: &Terms, name: &str) -> Vec<String> {
    let guards = guards(universe, scope, name, true);
    guards
        .into_iter()
        .filter(|guard| {
            let mut trial = rest.clone();
            trial.flags_off.insert(guard.clone());
            possible(universe, scope, goals, &trial)
        })
        .map(|(name, flag)| format!("package.use: {name} -{flag}"))
        .collect()
}

/// The lines that make a plan possible if what the user's package.use and the profile say of a package's flags is given up.
fn flags_given_up(
    universe: &Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    rest: &Terms,
    name: &str,
) -> Option<String> {
    let mut trial = rest.clone();
    trial.freed.insert(name.to_owned());
    trial.freed.extend(goals.iter().map(|goal| goal.atom.name().to_owned()));
    let solution = optimum::solve(&mut Problem::new(universe, scope, goals, &trial), family)?;
    let mut lines = Vec::new();
    for fate in &solution.fates {
        let optimum::Fate::Merged { id, flags, .. } = fate else { continue };
        let instance = &universe.instances[*id];
        if flags.is_empty() || !trial.freed.contains(&*instance.name) {
            continue;
        }
        for (flag, on) in flags.iter().filter(|(flag, _)| instance.flags.fixed.contains(*flag)) {
            let list = if *on { "mask" } else { "force" };
            lines.push(format!("profile/package.use.{list}: {} -{flag}", instance.name));
        }
        let words: Vec<String> =
            flags.iter().map(|(flag, on)| if *on { flag.clone() } else { format!("-{flag}") }).collect();
        lines.push(format!("package.use: {} {}", instance.name, words.join(" ")));
    }
    (!lines.is_empty()).then(|| lines.join(", "))
}
