//! What can be done about a package that stands in the way: each way is named only if a plan exists with it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::gentoo::dependency::Dep;

use super::answer::{Blocker, BlockerKind};
use super::fault::Fault;
use super::goal::Goal;
use super::impossible::possible;
use super::optimum;
use super::problem::{Problem, Terms};
use super::scope::Scope;
use super::universe::Universe;

/// The fault as it is reported, with the ways out that lead to a plan.
pub fn blocker(
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
    let mut because = fault.because.clone();
    if rest.keep.contains(&**name) {
        because = format!("it is to stay as it is (--keep), and {because}");
        let mut trial = rest.clone();
        trial.keep.remove(&**name);
        if possible(universe, scope, goals, &trial) {
            ways.push(format!("give up --keep {name}"));
        }
    }
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
            let mut more = flags_and_unmerging(universe, scope, goals, &rest, name, cpv);
            if more.is_empty() {
                more.extend(with_what_wants_it(universe, scope, goals, &rest, name));
            }
            ways.extend(more);
        }
    }
    if fault.kind == BlockerKind::HardBlock || fault.kind == BlockerKind::Use {
        ways.extend(flags_off(universe, scope, goals, &rest, name));
    }
    if matches!(fault.kind, BlockerKind::RequiredUse | BlockerKind::Use | BlockerKind::HardBlock) {
        ways.extend(flags_given_up(universe, scope, goals, family, &rest, name));
    }
    if matches!(fault.kind, BlockerKind::NoVersion | BlockerKind::NoEbuild) {
        let what = fault.needs.clone().unwrap_or_else(|| name.to_string());
        ways.push(format!("add an ebuild, or a repository that has one: {what}"));
    }
    Blocker { kind: fault.kind, package: name.to_string(), installed, needs: fault.needs, because, ways }
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

fn guarded<'d>(dep: &'d Dep, name: &str, blockers: bool, flags: &mut Vec<&'d str>, found: &mut dyn FnMut(&[&'d str])) {
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

/// To unmerge a package with all that needs it, as long as these are few.
fn with_what_wants_it(
    universe: &Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    rest: &Terms,
    name: &str,
) -> Option<String> {
    const MOST: usize = 12;
    let mut all: BTreeSet<Rc<str>> = BTreeSet::from([Rc::from(name)]);
    let mut queue: Vec<Rc<str>> = vec![Rc::from(name)];
    while let Some(name) = queue.pop() {
        for &holder in universe.holders(&name) {
            let wants =
                universe.instances[holder].atoms().iter().any(|atom| !atom.is_blocker() && *atom.name() == *name);
            let holder = universe.instances[holder].name.clone();
            if wants && all.insert(holder.clone()) {
                queue.push(holder);
            }
        }
        if all.len() > MOST {
            return None;
        }
    }
    if goals.iter().any(|goal| all.contains(goal.atom.name())) {
        return None;
    }
    let mut trial = rest.clone();
    trial.unmerged.extend(all.iter().map(ToString::to_string));
    let cpvs: Vec<String> =
        all.iter().flat_map(|name| universe.installed(name)).map(|&id| universe.instances[id].cpv()).collect();
    possible(universe, scope, goals, &trial).then(|| format!("unmerge {}", cpvs.join(" ")))
}
