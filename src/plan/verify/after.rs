//! What is installed after what Portage does, and what of it does not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::emerge::{Merge, Said};
use crate::plan::state::State;
use crate::plan::universe::{Id, Source, Universe};

/// The dependencies that held before and hold no more, as `app-misc/a-1 RDEPEND dev-libs/foo:0/1=`; those of what is merged
/// have to hold in any case. `unmerged`: what was taken away before Portage ran.
pub fn broken(source: &dyn Source, said: &Said, unmerged: &[&str]) -> Vec<String> {
    let mut universe = Universe::new(source);
    let merged: Vec<Id> = said.merges.iter().filter_map(|merge| find(&mut universe, merge)).collect();
    let gone = |cpv: &str| unmerged.contains(&cpv) || said.uninstalls.iter().any(|other| other == cpv);
    let replaced = |id: Id| {
        let record = &universe.instances[id];
        merged
            .iter()
            .map(|&id| &universe.instances[id])
            .any(|new| new.name == record.name && (new.slot == record.slot || new.cpv.version == record.cpv.version))
    };
    let stays: Vec<Id> = universe
        .all_installed()
        .filter(|&id| universe.instances[id].provided || !(gone(&universe.instances[id].cpv()) || replaced(id)))
        .collect();
    let names = universe.all_installed().chain(merged.iter().copied());
    let mut present: BTreeMap<Rc<str>, Vec<Id>> =
        names.map(|id| (universe.instances[id].name.clone(), Vec::new())).collect();
    for &id in stays.iter().chain(&merged) {
        present.entry(universe.instances[id].name.clone()).or_default().push(id);
    }
    let (today, state) = (State::today(), State::of(present));
    let mut out = BTreeSet::new();
    for &holder in stays.iter().chain(&merged) {
        let instance = &universe.instances[holder];
        let is_new = merged.contains(&holder);
        let before = if is_new { Vec::new() } else { today.broken(&universe, holder) };
        let broken = state.broken(&universe, holder).into_iter();
        // what a merge needs to be built was there when it was built
        for one in broken.filter(|one| !(before.contains(one) || is_new && one.kind.is_for_building())) {
            out.insert(format!("{} {} {}", instance.cpv(), one.kind.name(), one.atom));
        }
    }
    out.into_iter().collect()
}

/// The ebuild of a merge, with the flags that Portage gives it.
fn find(universe: &mut Universe<'_>, merge: &Merge) -> Option<Id> {
    let name = crate::gentoo::cpv::Cpv::parse(&merge.cpv).ok()?.cp();
    let offered = universe.offer(&name).to_vec();
    let id = offered.into_iter().find(|&id| {
        let one = &universe.instances[id];
        one.cpv() == merge.cpv && merge.repository.as_ref().is_none_or(|repository| *repository == one.repository)
    })?;
    let flags = &mut universe.instances[id].flags;
    for (flag, on) in &merge.flags {
        if !on {
            flags.enabled.remove(flag);
        } else if flags.iuse.contains(flag) {
            flags.enabled.insert(flag.clone());
        }
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Action;
    use crate::plan::testing::World;

    fn said(merges: &[&str], uninstalls: &[&str]) -> Said {
        let merge = |cpv: &&str| Merge {
            cpv: (*cpv).to_owned(),
            action: Action::Upgrade,
            repository: None,
            flags: vec![("x".to_owned(), true)],
        };
        Said {
            merges: merges.iter().map(merge).collect(),
            uninstalls: uninstalls.iter().map(|cpv| (*cpv).to_owned()).collect(),
            ..Said::default()
        }
    }

    const WORLD: &str = "
        installed dev-libs/foo-1 SLOT=0/1
        installed app-misc/a-1 LINK=dev-libs/foo:0/1=
        installed app-misc/any-1 RDEPEND=\"|| ( dev-libs/foo dev-libs/bar )\"
        installed app-misc/before-1 RDEPEND=dev-libs/nowhere:0/1=
        ebuild dev-libs/foo-2 SLOT=0/2
        ebuild app-misc/a-1 LINK=dev-libs/foo:=
        ebuild app-misc/flag-1 IUSE=x RDEPEND=\"x? ( dev-libs/more )\"
    ";

    #[test]
    fn a_binding_that_portage_leaves_behind() {
        let world = World::read(WORLD);
        let both = ["app-misc/a-1 DEPEND dev-libs/foo:0/1=", "app-misc/a-1 RDEPEND dev-libs/foo:0/1="];
        assert_eq!(broken(&world, &said(&["dev-libs/foo-2"], &[]), &[]), both);
        assert!(broken(&world, &said(&["dev-libs/foo-2", "app-misc/a-1"], &[]), &[]).is_empty());
        // whoever takes it away
        assert!(broken(&world, &said(&["dev-libs/foo-2"], &["app-misc/a-1"]), &[]).is_empty());
        assert!(broken(&world, &said(&["dev-libs/foo-2"], &[]), &["app-misc/a-1"]).is_empty());
    }

    #[test]
    fn needs_of_what_stays_and_of_what_comes() {
        let world = World::read(WORLD);
        let found = broken(&world, &said(&["app-misc/flag-1"], &["dev-libs/foo-1"]), &["app-misc/a-1"]);
        let any = ["app-misc/any-1 RDEPEND dev-libs/bar", "app-misc/any-1 RDEPEND dev-libs/foo"];
        assert_eq!(found, [&any[..], &["app-misc/flag-1 RDEPEND dev-libs/more"]].concat());
    }
}
