//! What is bound to what, today: broken bindings, and the packages that could move.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde::Serialize;

use super::family::family_of;
use super::state::State;
use super::universe::{Source, Universe};

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
    /// How many packages pin each other with it, itself included.
    pub family: usize,
    /// How many records are bound to one of these.
    pub consumers: usize,
}

/// The installed packages whose newest visible version has another sub-slot.
pub fn movable(source: &dyn Source) -> Vec<Movable> {
    let mut universe = Universe::new(source);
    let all: Vec<_> = universe.all_installed().collect();
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
        let family = family_of(&universe, std::slice::from_ref(&name), &|_| true);
        let consumers: BTreeSet<_> = family
            .iter()
            .flat_map(|member| {
                let universe = &universe;
                let family = &family;
                universe.holders(member).iter().filter(move |&&holder| {
                    let holder = &universe.instances[holder];
                    let bound = |name: &Rc<str>| {
                        let mut atoms = Vec::new();
                        holder.dependencies().for_each(|(_, dep)| dep.atoms(&mut atoms));
                        atoms.iter().any(|atom| atom.is_built() && *atom.name() == **name)
                    };
                    !family.contains(&holder.name) && bound(member)
                })
            })
            .collect();
        out.push(Movable {
            package: name.to_string(),
            slot: own.slot.clone(),
            version: own.cpv.version.as_str().to_owned(),
            subslot: own.subslot.clone(),
            to_version: newest.cpv.version.as_str().to_owned(),
            to_subslot: newest.subslot.clone(),
            family: family.len(),
            consumers: consumers.len(),
        });
    }
    out.sort_by(|a, b| (&a.package, &a.slot).cmp(&(&b.package, &b.slot)));
    out
}
