//! A package that stands in the way of a plan, and how.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::gentoo::atom::VersionTest;
use crate::gentoo::dependency::Atom;

use super::answer::BlockerKind;
use super::family::pins;
use super::goal::Goal;
use super::required_use::required;
use super::solver::{Lit, Solver};
use super::universe::{Id, Kind, Universe};

/// A package that stands in the way, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub name: Rc<str>,
    pub kind: BlockerKind,
    /// What is needed of it, or what it needs.
    pub needs: Option<String>,
    pub because: String,
    /// Ebuilds to take for allowed when looking further: the goal's own.
    pub lifts: Vec<Id>,
}

/// Whether the version that an atom asks for, and not its binding alone, leaves nothing that could be.
pub fn is_bound_by_version(universe: &Universe<'_>, atom: &Atom, is_alive: impl Fn(Id) -> bool) -> bool {
    let mut all = universe.installed(atom.name()).iter().chain(universe.offered(atom.name()));
    !all.any(|&id| is_alive(id) && atom.version_test().matches(&universe.instances[id].cpv.version))
}

/// The fault of the instance's package: what its atom holds fast, where only what `is_alive` can be.
pub fn own_fault(universe: &Universe<'_>, id: Id, want: Option<(Kind, Atom)>, is_alive: impl Fn(Id) -> bool) -> Fault {
    let instance = &universe.instances[id];
    let (name, cpv) = (instance.name.clone(), instance.cpv());
    let none = universe.offered(&name).is_empty();
    let Some((kind, atom)) = want else {
        return Fault {
            name,
            kind: if none { BlockerKind::NoEbuild } else { BlockerKind::NoVersion },
            needs: None,
            because: format!("no version of {cpv}'s package goes with the goal"),
            lifts: Vec::new(),
        };
    };
    let is_there = || universe.matching(&atom).iter().any(|&id| is_alive(id));
    let by_binding = atom.is_built() && !is_bound_by_version(universe, &atom, &is_alive);
    use VersionTest::*;
    let what = match atom.version_test() {
        _ if instance.installed && none => BlockerKind::NoEbuild,
        _ if atom.is_blocker() => BlockerKind::HardBlock,
        _ if !atom.use_deps.is_empty() && is_there() => BlockerKind::Use,
        _ if by_binding => BlockerKind::Pinned,
        Less(_) | LessOrEqual(_) | StartsWith(_) => BlockerKind::UpperBound,
        Greater(_) | GreaterOrEqual(_) if atom.subslot().is_none() || atom.is_built() => BlockerKind::LowerBound,
        _ => BlockerKind::Pinned,
    };
    let because = match what {
        BlockerKind::NoEbuild => {
            format!("{cpv} has {} {atom} in its record, and no repository has an ebuild of it any more", kind.name())
        }
        BlockerKind::HardBlock => format!("{cpv} blocks {} ({} {atom})", atom.name(), kind.name()),
        BlockerKind::Use => format!("{cpv} needs {} with other flags ({} {atom})", atom.name(), kind.name()),
        BlockerKind::UpperBound => format!(
            "{cpv} goes with older versions only ({} {atom}), and no other version of it takes the new one",
            kind.name()
        ),
        BlockerKind::LowerBound => format!("{cpv} goes with newer versions only ({} {atom})", kind.name()),
        _ if by_binding => {
            format!("{cpv} is bound to the sub-slot that it was built against ({} {atom})", kind.name())
        }
        _ if !(pins(&atom) || atom.is_built() || atom.slot().is_some()) => {
            format!("{cpv} needs {atom} ({}), which can't stay beside the goal", kind.name())
        }
        _ => format!("{cpv} is pinned ({} {atom}), and no other version of it follows", kind.name()),
    };
    Fault { name, kind: what, needs: Some(atom.to_string()), because, lifts: Vec::new() }
}

/// How many versions or sub-slots are named where the one asked for is not there.
const MOST_NAMED: usize = 5;

pub fn no_version(universe: &Universe<'_>, goal: &Goal) -> Fault {
    let name: Rc<str> = Rc::from(goal.atom.name());
    let offered = || universe.offered(&name).iter().map(|&id| &universe.instances[id]);
    let mut subslots: Vec<&str> = Vec::new();
    for one in offered().filter(|one| goal.subslot.is_some() && one.is_matched_by(&goal.atom)) {
        if !subslots.contains(&&*one.subslot) {
            subslots.push(&one.subslot);
        }
    }
    let mut versions: Vec<&str> = offered().map(|one| one.cpv.version.as_str()).collect();
    // repositories may have the same
    versions.dedup();
    let (kind, there) = match (offered().next(), subslots.len()) {
        (None, _) => (BlockerKind::NoEbuild, "no repository has an ebuild of it".to_owned()),
        (_, 0) => (BlockerKind::NoVersion, format!("the repositories have {}", first(&versions))),
        (_, number) => {
            let what = if number == 1 { "sub-slot" } else { "sub-slots" };
            (BlockerKind::NoVersion, format!("the repositories have the {what} {}", first(&subslots)))
        }
    };
    Fault {
        name,
        kind,
        needs: Some(goal.text.clone()),
        because: format!("nothing is {}: {there}", goal.text),
        lifts: Vec::new(),
    }
}

/// The first of them, and how many more there are.
fn first(all: &[&str]) -> String {
    let named = all[..all.len().min(MOST_NAMED)].join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Whether some setting of the flags that may change makes REQUIRED_USE hold.
pub fn required_use_can_hold(universe: &Universe<'_>, id: Id, adjustable: &BTreeSet<String>) -> bool {
    let flags = &universe.instances[id].flags;
    let required_use = &universe.instances[id].required_use;
    if required_use.is_satisfied(&|flag| flags.enabled.contains(flag)) {
        return true;
    }
    let mut solver = Solver::new();
    let lits: BTreeMap<&str, Lit> = adjustable.iter().map(|flag| (flag.as_str(), solver.fresh())).collect();
    let (yes, no) = (solver.yes(), solver.no());
    let lookup = |flag: &str| match lits.get(flag) {
        Some(&lit) => lit,
        None if flags.enabled.contains(flag) => yes,
        None => no,
    };
    for node in &required_use.nodes {
        let lit = required(&mut solver, node, &lookup);
        solver.add(&[lit]);
    }
    solver.solve(&[])
}
