//! Why an installed package can't stay as it is in a plan, in words.

use super::fault::is_bound_by_version;
use super::optimum::Solution;
use super::scope::Scope;
use super::state::{State, active};
use super::universe::{Id, Universe};

/// What it holds that goes, else who needs it otherwise.
pub fn why_it_moves(universe: &mut Universe<'_>, scope: &Scope, solution: &Solution, name: &str) -> Option<String> {
    let before = State::before(universe, solution);
    let state = State::after(universe, &scope.open, solution);
    let why = holds(universe, &state, name).or_else(|| needed(universe, solution, name));
    State::undo(universe, before);
    why
}

fn holds(universe: &Universe<'_>, state: &State, name: &str) -> Option<String> {
    let is_there = |id: Id| state.present(universe, &universe.instances[id].name).contains(&id);
    let mut records = universe.installed(name).iter().filter(|&&id| universe.instances[id].installed);
    records.find_map(|&id| {
        let broken = state.broken(universe, id).into_iter().next()?;
        let (cpv, kind, atom) = (universe.instances[id].cpv(), broken.kind.name(), broken.atom);
        Some(match atom.is_blocker() {
            true => format!("{cpv} blocks {} ({kind} {atom})", atom.name()),
            false if atom.is_built() && !is_bound_by_version(universe, &atom, is_there) => {
                format!("{cpv} is bound to the sub-slot that it was built against ({kind} {atom})")
            }
            false => format!("{cpv} needs {atom} ({kind}), which can't stay"),
        })
    })
}

fn needed(universe: &Universe<'_>, solution: &Solution, name: &str) -> Option<String> {
    let today = State::today();
    for holder in solution.merged() {
        for (kind, dep) in universe.instances[holder].dependencies() {
            let mut atoms = Vec::new();
            active(universe, holder, dep, &mut atoms);
            for atom in
                atoms.into_iter().filter(|atom| atom.name() == name && *universe.instances[holder].name != *name)
            {
                let (cpv, kind) = (universe.instances[holder].cpv(), kind.name());
                match (atom.is_blocker(), today.satisfiers(universe, holder, atom).is_empty()) {
                    (false, true) => return Some(format!("{cpv} needs {atom} ({kind})")),
                    (true, false) => return Some(format!("{cpv} blocks it ({kind} {atom})")),
                    _ => {}
                }
            }
        }
    }
    None
}
