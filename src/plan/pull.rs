//! What Portage takes for a dependency that nothing installed satisfies.

use crate::gentoo::dependency::{Atom, Dep};

use super::optimum::Solution;
use super::scope::use_holds;
use super::state::State;
use super::universe::{Id, Universe};

/// A merge of the plan that makes Portage merge a package in a slot of which the plan knows nothing: an atom that several
/// slots match is satisfied by the newest visible version, also where an older slot is asked for beside. Gives the merge,
/// and what the plan may take of that slot.
pub fn missing(universe: &Universe<'_>, state: &State, solution: &Solution) -> Option<(Id, Vec<Id>)> {
    let merged: Vec<Id> = solution.merged().collect();
    for &holder in &merged {
        for (_, dep) in universe.instances[holder].dependencies() {
            let mut atoms = Vec::new();
            outright(universe, holder, dep, &mut atoms);
            for atom in atoms {
                if let Some(newest) = newest(universe, state, holder, atom) {
                    let pick = &universe.instances[newest];
                    let slot = universe.offered(atom.name()).iter().copied().filter(|&id| {
                        let one = &universe.instances[id];
                        one.slot == pick.slot && one.is_possible() && one.is_matched_by(atom)
                    });
                    return Some((holder, slot.collect()));
                }
            }
        }
    }
    None
}

/// What Portage would take for an atom, if the plan has nothing in its slot.
fn newest(universe: &Universe<'_>, state: &State, holder: Id, atom: &Atom) -> Option<Id> {
    if !State::today().satisfiers(universe, holder, atom).is_empty() {
        return None;
    }
    let present = state.present(universe, atom.name());
    let visible = |id: &Id| {
        let one = &universe.instances[*id];
        let chosen = present.contains(id);
        one.invalid.is_none() && (one.obstacles.is_empty() || chosen) && one.is_matched_by(atom)
    };
    let fitting = universe.offered(atom.name()).iter().copied().filter(visible);
    let newest = fitting.into_iter().find(|&id| use_holds(universe, holder, id, atom))?;
    let slot = &universe.instances[newest].slot;
    let taken = present.iter().any(|&id| universe.instances[id].slot == *slot);
    (!taken).then_some(newest)
}

/// The atoms that have to be satisfied with the flags of the instance, outside of any-of groups.
fn outright<'d>(universe: &Universe<'_>, holder: Id, dep: &'d Dep, into: &mut Vec<&'d Atom>) {
    match dep {
        Dep::Atom(atom) if !atom.is_blocker() => into.push(atom),
        Dep::Atom(_) | Dep::AnyOf(_) => {}
        Dep::All(inner) => inner.iter().for_each(|dep| outright(universe, holder, dep, into)),
        Dep::Use { flag, enabled, then } => {
            if universe.instances[holder].flags.enabled.contains(flag) == *enabled {
                then.iter().for_each(|dep| outright(universe, holder, dep, into));
            }
        }
    }
}
