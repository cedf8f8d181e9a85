//! The order in which a plan is built.

use std::collections::{BTreeMap, BTreeSet};

use crate::gentoo::dependency::{Atom, Dep, SlotOperator};

use super::universe::{Id, Kind, Universe};

/// Groups of merges, each of which needs only the ones before it. Packages that need each other to run share a stage
/// unless building one needs the other first.
pub fn stages(universe: &Universe<'_>, merged: &[Id]) -> Vec<Vec<Id>> {
    let mut building: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut all: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    for &id in merged {
        let (mut build, mut any) = (BTreeSet::new(), BTreeSet::new());
        for (kind, dep) in universe.instances[id].dependencies() {
            let mut found = BTreeSet::new();
            needs(universe, id, dep, merged, &mut found);
            found.remove(&id);
            if kind.is_for_building() {
                build.extend(found.iter().copied());
            }
            // what only follows need not wait, unless it binds: built first it would bind what is about to go
            if kind != Kind::Pdepend || binds(dep) {
                any.extend(found);
            }
        }
        building.insert(id, build);
        all.insert(id, any);
    }
    let mut stages: Vec<Vec<Id>> = Vec::new();
    let mut level: BTreeMap<Id, usize> = BTreeMap::new();
    for component in components(merged, &all) {
        let inside: BTreeSet<Id> = component.iter().copied().collect();
        let outside = component.iter().flat_map(|id| &all[id]).filter(|id| !inside.contains(id));
        let first = outside.filter_map(|id| level.get(id)).max().map_or(0, |level| level + 1);
        // within a cycle what building needs still comes first, as far as that is no cycle itself
        let within: BTreeMap<Id, BTreeSet<Id>> =
            component.iter().map(|id| (*id, building[id].intersection(&inside).copied().collect())).collect();
        for part in components(&component, &within) {
            let members: BTreeSet<Id> = part.iter().copied().collect();
            let needed = part.iter().flat_map(|id| &within[id]).filter(|id| !members.contains(id));
            let at = needed.filter_map(|id| level.get(id)).max().map_or(first, |level| level + 1).max(first);
            for &id in &part {
                level.insert(id, at);
                if stages.len() <= at {
                    stages.resize(at + 1, Vec::new());
                }
                stages[at].push(id);
            }
        }
    }
    for stage in &mut stages {
        stage.sort_by_key(|&id| universe.instances[id].cpv());
    }
    stages.retain(|stage| !stage.is_empty());
    stages
}

fn binds(dep: &Dep) -> bool {
    let mut atoms = Vec::new();
    dep.atoms(&mut atoms);
    atoms.iter().any(|atom| atom.slot_operator == SlotOperator::Equal)
}

/// Which of `merged` satisfy atoms of a dependency.
fn needs(universe: &Universe<'_>, holder: Id, dep: &Dep, merged: &[Id], into: &mut BTreeSet<Id>) {
    let on = |flag: &str| universe.instances[holder].flags.enabled.contains(flag);
    match dep {
        Dep::Atom(atom) if atom.is_blocker() => {}
        Dep::Atom(atom) => into.extend(matched(universe, atom, merged)),
        Dep::All(inner) | Dep::AnyOf(inner) => {
            inner.iter().for_each(|dep| needs(universe, holder, dep, merged, into));
        }
        Dep::Use { flag, enabled, then } => {
            if on(flag) == *enabled {
                then.iter().for_each(|dep| needs(universe, holder, dep, merged, into));
            }
        }
    }
}

fn matched<'m>(universe: &'m Universe<'_>, atom: &'m Atom, merged: &'m [Id]) -> impl Iterator<Item = Id> + 'm {
    merged.iter().copied().filter(|&id| {
        let instance = &universe.instances[id];
        *instance.name == *atom.name() && instance.is_matched_by(atom)
    })
}

/// Strongly connected components, those that are needed first (Tarjan's algorithm without recursion).
pub fn components(nodes: &[Id], edges: &BTreeMap<Id, BTreeSet<Id>>) -> Vec<Vec<Id>> {
    #[derive(Default)]
    struct Seen {
        index: usize,
        low: usize,
        on_stack: bool,
    }
    let mut seen: BTreeMap<Id, Seen> = BTreeMap::new();
    let (mut stack, mut out, mut next) = (Vec::new(), Vec::new(), 0);
    for &root in nodes {
        if seen.contains_key(&root) {
            continue;
        }
        let mut path: Vec<(Id, Vec<Id>)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                seen.insert(node, Seen { index: next, low: next, on_stack: true });
                next += 1;
                stack.push(node);
                path.push((node, edges.get(&node).into_iter().flatten().rev().copied().collect()));
            }
            let Some((node, rest)) = path.last_mut() else { break };
            let node = *node;
            if let Some(to) = rest.pop() {
                match seen.get(&to) {
                    None => enter = Some(to),
                    Some(other) if other.on_stack => {
                        let index = other.index;
                        let own = seen.entry(node).or_default();
                        own.low = own.low.min(index);
                    }
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let (index, low) = (seen[&node].index, seen[&node].low);
            if let Some((parent, _)) = path.last() {
                let parent = seen.entry(*parent).or_default();
                parent.low = parent.low.min(low);
            }
            if index == low {
                let mut component = Vec::new();
                while let Some(top) = stack.pop() {
                    seen.entry(top).or_default().on_stack = false;
                    component.push(top);
                    if top == node {
                        break;
                    }
                }
                component.sort_unstable();
                out.push(component);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_one_component_and_needs_come_first() {
        let edges: BTreeMap<Id, BTreeSet<Id>> = [(0, vec![1]), (1, vec![2]), (2, vec![1, 3]), (3, vec![])]
            .into_iter()
            .map(|(a, b)| (a, b.into_iter().collect()))
            .collect();
        assert_eq!(components(&[0, 1, 2, 3], &edges), [vec![3], vec![1, 2], vec![0]]);
    }
}
