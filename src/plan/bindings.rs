//! What is bound to what, today: broken bindings, and the packages that could move.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use super::family::components;
use super::state::State;
use super::universe::{Id, Source, Universe};

/// An installed package with a binding that holds no more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BrokenBinding {
    /// `category/package-version`
    pub package: String,
    pub variable: &'static str,
    /// As recorded, `dev-util/hip:0/7.2=`.
    pub atom: String,
    /// What is installed of the atom's package, as `10.0.0 (:0/10.0)`.
    pub installed: Vec<String>,
}

/// The bindings of all records to sub-slots that are not installed.
pub fn broken_bindings(source: &dyn Source) -> Vec<BrokenBinding> {
    let universe = Universe::new(source);
    let today = State::today();
    let mut out = BTreeSet::new();
    for id in universe.all_installed() {
        for (kind, dep) in universe.instances[id].dependencies() {
            let mut atoms = Vec::new();
            dep.atoms(&mut atoms);
            for atom in atoms.into_iter().filter(|atom| atom.is_built()) {
                if today.satisfiers(&universe, id, atom).is_empty() {
                    let there = universe.installed(atom.name()).iter().map(|&id| &universe.instances[id]);
                    out.insert(BrokenBinding {
                        package: universe.instances[id].cpv(),
                        variable: kind.name(),
                        atom: atom.to_string(),
                        installed: there
                            .map(|one| format!("{} (:{}/{})", one.cpv.version.as_str(), one.slot, one.subslot))
                            .collect(),
                    });
                }
            }
        }
    }
    out.into_iter().collect()
}

/// An installed package for which another sub-slot is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Movable {
    pub package: String,
    pub slot: String,
    pub version: String,
    pub subslot: String,
    /// The newest visible version of the slot, and its sub-slot.
    pub to_version: String,
    pub to_subslot: String,
    /// How many packages pin each other with it, itself included; of these a plan leaves those that need not move.
    pub family: usize,
    /// How many records are bound to one of these.
    pub consumers: usize,
}

/// The installed packages whose newest visible version has another sub-slot.
pub fn movable(source: &dyn Source) -> Vec<Movable> {
    let mut universe = Universe::new(source);
    let all: Vec<_> = universe.all_installed().collect();
    let family_of = components(&universe);
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    family_of.values().for_each(|&family| *sizes.entry(family).or_default() += 1);
    let mut consumers: HashMap<usize, BTreeSet<Id>> = HashMap::new();
    for &holder in &all {
        let own = family_of[&universe.instances[holder].name];
        for atom in universe.instances[holder].atoms().into_iter().filter(|atom| atom.is_built()) {
            if let Some(&family) = family_of.get(atom.name()).filter(|family| **family != own) {
                consumers.entry(family).or_default().insert(holder);
            }
        }
    }
    let mut out = Vec::new();
    for id in all {
        let name = universe.instances[id].name.clone();
        universe.offer(&name);
        let own = &universe.instances[id];
        let offered = universe.offered(&name).iter().map(|&id| &universe.instances[id]);
        let visible =
            |one: &&super::Instance| one.slot == own.slot && one.invalid.is_none() && one.obstacles.is_empty();
        let Some(newest) = offered.into_iter().find(visible) else { continue };
        if newest.subslot == own.subslot || newest.cpv.version < own.cpv.version {
            continue;
        }
        let family = family_of[&name];
        out.push(Movable {
            package: name.to_string(),
            slot: own.slot.clone(),
            version: own.cpv.version.as_str().to_owned(),
            subslot: own.subslot.clone(),
            to_version: newest.cpv.version.as_str().to_owned(),
            to_subslot: newest.subslot.clone(),
            family: sizes[&family],
            consumers: consumers.get(&family).map_or(0, BTreeSet::len),
        });
    }
    out.sort_by(|a, b| (&a.package, &a.slot).cmp(&(&b.package, &b.slot)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::World;

    #[test]
    fn a_long_chain_of_pins_is_one_family() {
        const LENGTH: usize = 1500;
        let mut text = "installed app-misc/user-1 LINK=app-misc/p0:0/1= \n".to_owned();
        for at in 0..LENGTH {
            let next = (at + 1).min(LENGTH - 1);
            text.push_str(&format!("installed app-misc/p{at}-1 SLOT=0/1 RDEPEND=~app-misc/p{next}-1\n"));
        }
        text.push_str("ebuild app-misc/p7-2 SLOT=0/2\ninstalled app-misc/other-1\n");
        let found = movable(&World::read(&text));
        let found: Vec<_> = found.iter().map(|one| (one.package.as_str(), one.family, one.consumers)).collect();
        assert_eq!(found, [("app-misc/p7", LENGTH, 1)]);
    }
}
