//! The updates of profiles/updates applied to records and world, as Portage does when it is next run as root
//! (portage's _do_global_updates).

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::super::cpv::Cpv;
use super::atom::{Allowed, ConfigAtom, Subject};
use super::model::{Installed, WorldAtom};
use super::updates::{List, Update, Updates};

/// Gives records, their dependencies and world the names and slots of today; sorts the records.
pub(super) fn apply(updates: &Updates, installed: &mut [Installed], world: &mut [WorldAtom]) {
    let mut taken: BTreeSet<Cpv> = installed.iter().map(|package| package.cpv.clone()).collect();
    // one repository after the other, since what an atom of world matches depends on what has been moved before
    for (index, list) in updates.lists().enumerate() {
        let holds = |package: &Installed| updates.of(&package.repository) == Some(index);
        for wanted in world.iter_mut() {
            follow(wanted, list, installed, &holds);
        }
        for package in installed.iter_mut().filter(|package| holds(package)) {
            update(package, list, &mut taken);
        }
    }
    installed.par_iter_mut().for_each(|package| {
        let name = package.cpv.cp();
        let Installed { dependencies, cpv, repository, slot, subslot, .. } = package;
        let parent = Subject { name: &name, version: &cpv.version, slot, subslot, repository };
        for text in [
            &mut dependencies.depend,
            &mut dependencies.bdepend,
            &mut dependencies.rdepend,
            &mut dependencies.pdepend,
            &mut dependencies.idepend,
        ] {
            *text = updates.dependencies(text, repository, Some(parent));
        }
    });
    installed.sort_by(|a, b| a.cpv.cmp(&b.cpv));
}

/// Changes an atom of world, if the best installed package that it matches before or after the change is one for
/// which these updates hold.
fn follow(wanted: &mut WorldAtom, list: &List, installed: &[Installed], holds: &dyn Fn(&Installed) -> bool) {
    let mut time = 0;
    while let Some((when, new)) = list.step(&wanted.atom, time, None) {
        time = when;
        let Some(new) = new.filter(|new| *new != wanted.atom) else { continue };
        let found = best(&wanted.atom, installed).or_else(|| best(&new, installed));
        if found.is_some_and(holds) {
            wanted.atom = new;
        }
    }
}

fn best<'a>(atom: &str, installed: &'a [Installed]) -> Option<&'a Installed> {
    let atom = ConfigAtom::parse(atom, Allowed::USER)?;
    let matching = installed.iter().filter(|package| {
        let name = package.cpv.cp();
        atom.matches(subject(package, &name))
    });
    matching.max_by(|a, b| a.cpv.version.cmp(&b.cpv.version))
}

fn subject<'a>(package: &'a Installed, name: &'a str) -> Subject<'a> {
    Subject {
        name,
        version: &package.cpv.version,
        slot: &package.slot,
        subslot: &package.subslot,
        repository: &package.repository,
    }
}

/// Name and slot of a record. It keeps its name where a record of the new one is there already.
fn update(package: &mut Installed, list: &List, taken: &mut BTreeSet<Cpv>) {
    let (mut name, mut time) = (package.cpv.cp(), 0);
    while let Some((when, update)) = list.next(&name, time) {
        time = *when;
        match update {
            Update::Move(new) => {
                let Some((category, package_name)) = new.split_once('/') else { continue };
                let version = package.cpv.version.clone();
                let cpv = Cpv { category: category.to_owned(), package: package_name.to_owned(), version };
                if taken.insert(cpv.clone()) {
                    taken.remove(&package.cpv);
                    package.recorded_name.get_or_insert(name);
                    package.cpv = cpv;
                }
                name = package.cpv.cp();
            }
            Update::Slot { atom, from, to } => {
                if *from == package.slot && atom.matches(subject(package, &name)) {
                    if package.subslot == package.slot {
                        package.subslot.clone_from(to);
                    }
                    package.slot.clone_from(to);
                }
            }
        }
    }
    if package.recorded_name.as_ref() == Some(&package.cpv.cp()) {
        package.recorded_name = None;
    }
}
