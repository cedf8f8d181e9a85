//! What can't be merged in one run since it waits for itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::gentoo::dependency::{Blocker, Dep, SlotOperator};

use super::optimum::{Fate, Solution};
use super::order::components;
use super::state::{State, active};
use super::universe::{Id, Kind, Universe};

/// Ebuilds that wait for each other, so that emerge refuses the lot.
///
/// Portage merges, again and again, a group of packages that need each other to run and none of which waits for a package
/// outside to be built. It waits where nothing that is installed before helps: for what building needs, for a binding of
/// what running needs to a slot or sub-slot that is not there yet, and for the successor of what a strong blocker hits.
///
/// For each of them also the other ebuilds of its slot that wait for the same packages: any of these would do no better.
pub fn circle(universe: &Universe<'_>, state: &State, solution: &Solution) -> Option<Vec<Vec<Id>>> {
    let waits = Waits::of(universe, state, solution);
    let mut left: BTreeSet<Id> = waits.hard.keys().copied().collect();
    loop {
        let free: BTreeSet<Id> =
            left.iter().copied().filter(|id| waits.hard[id].iter().all(|other| !left.contains(other))).collect();
        let done: Vec<Id> = free.iter().copied().filter(|&id| waits.group(id, &left, &free)).collect();
        if done.is_empty() {
            break;
        }
        done.iter().for_each(|id| {
            left.remove(id);
        });
    }
    let nodes: Vec<Id> = left.iter().copied().collect();
    let edges: BTreeMap<Id, BTreeSet<Id>> =
        nodes.iter().map(|id| (*id, waits.hard[id].union(&waits.running[id]).copied().collect())).collect();
    let circle = components(&nodes, &edges).into_iter().find(|component| component.len() > 1)?;
    Some(circle.iter().map(|&id| alike(universe, &waits, &circle, id)).collect())
}

/// The ebuilds of the slot of `id` that wait to be built for all packages of the circle that it waits for, whatever the
/// flags; itself alone if it waits for another reason.
fn alike(universe: &Universe<'_>, waits: &Waits, circle: &[Id], id: Id) -> Vec<Id> {
    let names: BTreeSet<&str> = waits.hard[&id]
        .union(&waits.running[&id])
        .filter(|other| circle.contains(other))
        .map(|&other| &*universe.instances[other].name)
        .collect();
    let own = &universe.instances[id];
    let outright = |other: Id| {
        let mut found = BTreeSet::new();
        for (_, dep) in universe.instances[other].dependencies().filter(|(kind, _)| kind.is_for_building()) {
            if let Dep::Atom(atom) = dep
                && !atom.is_blocker()
                && State::today().satisfiers(universe, other, atom).is_empty()
            {
                found.insert(atom.name());
            }
        }
        names.iter().all(|name| found.contains(name))
    };
    if !outright(id) {
        return vec![id];
    }
    let slot = universe.offered(&own.name).iter().copied().filter(|&other| universe.instances[other].slot == own.slot);
    slot.filter(|&other| other == id || outright(other)).collect()
}

/// What merges wait for.
struct Waits {
    hard: BTreeMap<Id, BTreeSet<Id>>,
    /// For what running needs, which may come with them.
    running: BTreeMap<Id, BTreeSet<Id>>,
}

impl Waits {
    fn of(universe: &Universe<'_>, state: &State, solution: &Solution) -> Waits {
        let merged: Vec<Id> = solution.merged().collect();
        let over: Vec<(Id, Id)> = solution
            .fates
            .iter()
            .filter_map(|fate| match fate {
                Fate::Merged { id, over: Some(over), .. } => Some((*over, *id)),
                _ => None,
            })
            .collect();
        let mut waits = Waits { hard: BTreeMap::new(), running: BTreeMap::new() };
        for &id in &merged {
            let first = First { universe, state, holder: id, merged: &merged };
            let (mut hard, mut running) = (BTreeSet::new(), BTreeSet::new());
            for (kind, dep) in universe.instances[id].dependencies() {
                if kind != Kind::Pdepend {
                    first.needs(kind, dep, &mut hard, &mut running);
                }
                let mut atoms = Vec::new();
                active(universe, id, dep, &mut atoms);
                for atom in atoms.into_iter().filter(|atom| atom.blocker == Blocker::Strong) {
                    let replaced = over.iter().filter(|(old, _)| universe.instances[*old].is_matched_by(atom));
                    hard.extend(replaced.map(|(_, new)| *new));
                }
            }
            hard.remove(&id);
            running.remove(&id);
            waits.hard.insert(id, hard);
            waits.running.insert(id, running);
        }
        waits
    }

    /// Whether all that `id` needs to run, and what that needs, can be merged together with it.
    fn group(&self, id: Id, left: &BTreeSet<Id>, free: &BTreeSet<Id>) -> bool {
        let mut seen = BTreeSet::from([id]);
        let mut queue = vec![id];
        while let Some(id) = queue.pop() {
            if !free.contains(&id) {
                return false;
            }
            queue.extend(self.running[&id].iter().copied().filter(|other| left.contains(other) && seen.insert(*other)));
        }
        true
    }
}

struct First<'f, 'a> {
    universe: &'f Universe<'a>,
    state: &'f State,
    holder: Id,
    merged: &'f [Id],
}

impl First<'_, '_> {
    /// The merges without which `holder` can't begin, and those without which it can't run.
    fn needs(&self, kind: Kind, dep: &Dep, hard: &mut BTreeSet<Id>, running: &mut BTreeSet<Id>) {
        match dep {
            Dep::Atom(atom) if atom.is_blocker() => {}
            Dep::Atom(atom) => {
                let bound = atom.slot_operator == SlotOperator::Equal;
                let chosen = self.state.satisfiers(self.universe, self.holder, atom);
                let same = |old: Id| {
                    let old = &self.universe.instances[old];
                    chosen.iter().any(|&new| {
                        let new = &self.universe.instances[new];
                        old.slot == new.slot && old.subslot == new.subslot
                    })
                };
                let today = State::today().satisfiers(self.universe, self.holder, atom);
                if !today.into_iter().any(|old| !bound || same(old)) {
                    let first = chosen.into_iter().filter(|id| self.merged.contains(id));
                    match kind.is_for_building() || kind == Kind::Rdepend && bound {
                        true => hard.extend(first),
                        false => running.extend(first),
                    }
                }
            }
            Dep::All(inner) => inner.iter().for_each(|dep| self.needs(kind, dep, hard, running)),
            Dep::AnyOf(inner) => {
                // one way with the least wait is enough
                let mut ways = Vec::new();
                for dep in inner.iter().filter(|dep| self.state.satisfies(self.universe, self.holder, dep)) {
                    let (mut first, mut beside) = (BTreeSet::new(), BTreeSet::new());
                    self.needs(kind, dep, &mut first, &mut beside);
                    ways.push((first, beside));
                }
                if let Some((first, beside)) =
                    ways.into_iter().min_by_key(|(first, beside)| (first.len(), beside.len()))
                {
                    hard.extend(first);
                    running.extend(beside);
                }
            }
            Dep::Use { flag, enabled, then } => {
                if self.universe.instances[self.holder].flags.enabled.contains(flag) == *enabled {
                    then.iter().for_each(|dep| self.needs(kind, dep, hard, running));
                }
            }
        }
    }
}
