//! Who moves together: the packages that pin each other to a version or a sub-slot.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::gentoo::atom::VersionTest;
use crate::gentoo::dependency::Atom;

use super::scope::Scope;
use super::universe::Universe;

/// Whether an atom holds its package to one version or sub-slot, or below one; a binding is rebuilt away and holds nothing.
pub fn pins(atom: &Atom) -> bool {
    use VersionTest::*;
    let below = matches!(atom.version_test(), Equal(_) | SameVersion(_) | StartsWith(_) | Less(_) | LessOrEqual(_));
    !atom.is_blocker() && !atom.is_built() && (atom.subslot().is_some() || below)
}

/// The goals' packages and, again and again, the installed packages in scope that pin a member or that a member pins.
pub fn family(universe: &Universe<'_>, scope: &Scope, goals: &[Rc<str>]) -> BTreeSet<Rc<str>> {
    let mut family: BTreeSet<Rc<str>> = goals.iter().cloned().collect();
    let mut queue: Vec<Rc<str>> = goals.to_vec();
    while let Some(member) = queue.pop() {
        let mut found: BTreeSet<Rc<str>> = BTreeSet::new();
        for &holder in universe.holders(&member) {
            let holder = &universe.instances[holder];
            if holder.atoms().iter().any(|atom| atom.name() == &*member && pins(atom)) {
                found.insert(holder.name.clone());
            }
        }
        for &own in universe.installed(&member) {
            let pinned = universe.instances[own].atoms().into_iter().filter(|atom| pins(atom));
            found.extend(pinned.map(|atom| Rc::from(atom.name())));
        }
        for name in found {
            if scope.open.contains(&name) && !universe.installed(&name).is_empty() && family.insert(name.clone()) {
                queue.push(name);
            }
        }
    }
    family
}

/// For each installed package a number, the same for all that pin each other: the families without bounds.
pub fn components(universe: &Universe<'_>) -> HashMap<Rc<str>, usize> {
    let mut of: HashMap<Rc<str>, usize> = HashMap::new();
    for id in universe.all_installed() {
        let next = of.len();
        of.entry(universe.instances[id].name.clone()).or_insert(next);
    }
    let mut parents: Vec<usize> = (0..of.len()).collect();
    for id in universe.all_installed() {
        let holder = &universe.instances[id];
        for atom in holder.atoms().into_iter().filter(|atom| pins(atom)) {
            if let Some(&pinned) = of.get(atom.name()) {
                let (a, b) = (root(&mut parents, of[&holder.name]), root(&mut parents, pinned));
                parents[a] = b;
            }
        }
    }
    of.values_mut().for_each(|at| *at = root(&mut parents, *at));
    of
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}
