//! What can be done about a package that stands in the way: each way is named only if a plan exists with it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::gentoo::dependency::Dep;

use super::Asked;
use super::answer::{Blocker, BlockerKind};
use super::fault::Fault;
use super::lift::{Lift, excluded, fewest};
use super::moves::why_it_moves;
use super::optimum::{self, Solution};
use super::reasons::flag_words;
use super::scope::Scope;
use super::terms::Terms;
use super::universe::{Id, Universe};

/// How many ways of giving up one thing are named.
const MOST_LIFTS: usize = 3;

/// The fault as it is reported, with the ways out that lead to a plan. The other faults are taken for mended.
pub fn blocker(universe: &mut Universe<'_>, asked: Asked<'_>, with: &Terms, fault: Fault) -> Blocker {
    let name = &fault.name;
    let mut rest = with.clone();
    rest.gone.remove(&**name);
    fault.lifts.iter().for_each(|id| {
        rest.lifted.remove(id);
    });
    let mut ways = Vec::new();
    if fault.kind == BlockerKind::HardBlock || fault.kind == BlockerKind::Use {
        ways.extend(flags_off(universe, asked, &rest, name));
    }
    ways.extend(flags_given_up(universe, asked, &rest, name, fault.kind));
    ways.extend(unmerging(universe, asked, &rest, name));
    if matches!(fault.kind, BlockerKind::NoVersion | BlockerKind::NoEbuild) {
        let what = fault.needs.clone().unwrap_or_else(|| name.to_string());
        ways.push(format!("add an ebuild, or a repository that has one: {what}"));
    }
    Blocker {
        kind: fault.kind,
        package: name.to_string(),
        installed: record(universe, name),
        needs: fault.needs,
        because: fault.because,
        ways,
    }
}

/// What the user excludes and would have to give up, with what else would do instead. `rest`: all the rest is mended;
/// `solution`: what the plan would be.
pub fn of_user(
    universe: &mut Universe<'_>,
    asked: Asked<'_>,
    rest: &Terms,
    lift: &Lift,
    lifts: &[Lift],
    solution: &Solution,
) -> Blocker {
    let mut ways = vec![lift.way(universe)];
    let mut others = lift.out_of(lifts);
    while ways.len() < MOST_LIFTS {
        let Some((used, _)) = fewest(universe, asked, &mut rest.clone(), &others) else { break };
        let [one] = &used[..] else { break };
        ways.push(one.way(universe));
        others = one.out_of(&others);
    }
    let cpv = |id: Id| universe.instances[id].cpv();
    let (kind, name, mut because) = match lift {
        Lift::Line(ids) => {
            let goal = ids.iter().position(|&id| asked.is_goal(&universe.instances[id].name)).unwrap_or(0);
            let first = &universe.instances[ids[goal]];
            let mut text = format!("{} {}", first.cpv(), excluded(&first.obstacles).join(", and "));
            let more: Vec<String> = ids.iter().filter(|id| **id != ids[goal]).map(|&id| cpv(id)).collect();
            if !more.is_empty() {
                text += &format!("; likewise {}", more.join(", "));
            }
            (BlockerKind::Masked, first.name.clone(), text)
        }
        Lift::Keep(name) => {
            (BlockerKind::Pinned, Rc::from(name.as_str()), "it is to stay as it is (--keep)".to_owned())
        }
        Lift::Wanted(at) => {
            let wanted = &universe.wanted[*at];
            (BlockerKind::Pinned, Rc::from(wanted.atom.name()), format!("{} wants {}", wanted.origin, wanted.atom))
        }
    };
    if !asked.is_goal(&name)
        && let Some(why) = why_it_moves(universe, asked.scope, solution, &name)
    {
        because += &format!(", and {why}");
    }
    if matches!(lift, Lift::Line(_)) {
        ways.extend(unmerging(universe, asked, rest, &name));
    }
    Blocker { kind, package: name.to_string(), installed: record(universe, &name), needs: None, because, ways }
}

/// What is installed of a package, `category/package-version`.
fn record(universe: &Universe<'_>, name: &str) -> Option<String> {
    let installed = universe.installed(name).iter().map(|&id| &universe.instances[id]);
    installed.into_iter().find(|one| one.installed).map(|one| one.cpv())
}

/// To unmerge a package that is no goal: alone, with flags off by which others depend on it, or with what needs it.
fn unmerging(universe: &mut Universe<'_>, asked: Asked<'_>, rest: &Terms, name: &str) -> Option<String> {
    let cpv = record(universe, name).filter(|_| !asked.is_goal(name) && !rest.keep.contains(name))?;
    let mut trial = rest.clone();
    trial.unmerged.insert(name.to_owned());
    if asked.has_plan(universe, &trial) {
        return Some(format!("unmerge {cpv}"));
    }
    let with_flags = flags_and_unmerging(universe, asked, &trial, name, &cpv);
    with_flags.or_else(|| with_what_wants_it(universe, asked, rest, name))
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
    universe: &mut Universe<'_>,
    asked: Asked<'_>,
    unmerged: &Terms,
    name: &str,
    cpv: &str,
) -> Option<String> {
    let guards = guards(universe, asked.scope, name, false);
    let mut trial = unmerged.clone();
    trial.flags_off.extend(guards.iter().cloned());
    if guards.is_empty() || !asked.has_plan(universe, &trial) {
        return None;
    }
    for guard in &guards {
        let mut less = trial.clone();
        less.flags_off.remove(guard);
        if asked.has_plan(universe, &less) {
            trial = less;
        }
    }
    let lines: Vec<String> =
        trial.flags_off.iter().map(|(name, flag)| format!("package.use: {name} -{flag}")).collect();
    Some(format!("{}, and unmerge {cpv}", lines.join(", ")))
}

fn flags_off(universe: &mut Universe<'_>, asked: Asked<'_>, rest: &Terms, name: &str) -> Vec<String> {
    let guards = guards(universe, asked.scope, name, true);
    guards
        .into_iter()
        .filter(|guard| {
            let mut trial = rest.clone();
            trial.flags_off.insert(guard.clone());
            asked.has_plan(universe, &trial)
        })
        .map(|(name, flag)| format!("package.use: {name} -{flag}"))
        .collect()
}

/// The lines that make a plan possible if what the user's package.use and the profile say of flags is given up: of the
/// package's and the goals' where they are what is in the way, else of whatever package.
fn flags_given_up(
    universe: &mut Universe<'_>,
    asked: Asked<'_>,
    rest: &Terms,
    name: &str,
    kind: BlockerKind,
) -> Option<String> {
    let near: BTreeSet<String> =
        asked.goals.iter().map(|goal| goal.atom.name().to_owned()).chain([name.to_owned()]).collect();
    let is_of_flags = matches!(kind, BlockerKind::RequiredUse | BlockerKind::Use | BlockerKind::HardBlock);
    let of_near = is_of_flags.then(|| lines_of_flags(universe, asked, rest, near)).flatten();
    of_near.or_else(|| {
        let all = asked.scope.open.iter().map(ToString::to_string).filter(|name| !rest.gone.contains(name));
        lines_of_flags(universe, asked, rest, all.collect())
    })
}

fn lines_of_flags(
    universe: &mut Universe<'_>,
    asked: Asked<'_>,
    rest: &Terms,
    freed: BTreeSet<String>,
) -> Option<String> {
    let mut trial = Terms { freed, ..rest.clone() };
    let is_possible = asked.is_possible(universe, &trial);
    let solution = if is_possible { asked.best(universe, &mut trial)? } else { return None };
    let mut lines = Vec::new();
    for fate in &solution.fates {
        let optimum::Fate::Merged { id, flags, .. } = fate else { continue };
        let instance = &universe.instances[*id];
        let own = asked.scope.adjustable(universe, *id);
        // what a plan changes unasked is in its own lines
        if !trial.freed.contains(&*instance.name) || flags.keys().all(|flag| own.contains(flag)) {
            continue;
        }
        for (flag, on) in flags.iter().filter(|(flag, _)| instance.flags.fixed.contains(*flag)) {
            let list = if *on { "mask" } else { "force" };
            lines.push(format!("profile/package.use.{list}: {} -{flag}", instance.name));
        }
        lines.push(format!("package.use: {} {}", instance.name, flag_words(flags)));
    }
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// To unmerge a package with all that needs it, as long as these are few.
fn with_what_wants_it(universe: &mut Universe<'_>, asked: Asked<'_>, rest: &Terms, name: &str) -> Option<String> {
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
    if all.iter().any(|name| asked.is_goal(name) || rest.keep.contains(&**name)) {
        return None;
    }
    let mut trial = rest.clone();
    trial.unmerged.extend(all.iter().map(ToString::to_string));
    let cpvs: Vec<String> =
        all.iter().flat_map(|name| universe.installed(name)).map(|&id| universe.instances[id].cpv()).collect();
    asked.has_plan(universe, &trial).then(|| format!("unmerge {}", cpvs.join(" ")))
}
