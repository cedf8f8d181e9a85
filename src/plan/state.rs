//! The state after a plan.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Dep};

use super::optimum::{Fate, Solution};
use super::scope::{self, satisfied};
use super::universe::{Id, Kind, Universe};

/// The flags that instances had before a state gave them others.
pub type Before = Vec<(Id, BTreeSet<String>)>;

/// What is installed afterwards.
pub struct State {
    /// What was in scope.
    decided: BTreeMap<Rc<str>, Vec<Id>>,
}

/// A dependency of a package that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub holder: Id,
    pub kind: Kind,
    pub atom: Atom,
}

impl State {
    /// Gives the merged instances their flags. `open`: the packages that were in scope.
    pub fn after(universe: &mut Universe<'_>, open: &BTreeSet<Rc<str>>, solution: &Solution) -> State {
        let mut decided: BTreeMap<Rc<str>, Vec<Id>> = open.iter().map(|name| (name.clone(), Vec::new())).collect();
        for fate in &solution.fates {
            let id = match fate {
                Fate::Stays(id) => *id,
                Fate::Merged { id, flags, .. } => {
                    let enabled = &mut universe.instances[*id].flags.enabled;
                    for (flag, on) in flags {
                        if *on {
                            enabled.insert(flag.clone());
                        } else {
                            enabled.remove(flag);
                        }
                    }
                    *id
                }
                Fate::Removed(_) => continue,
            };
            decided.entry(universe.instances[id].name.clone()).or_default().push(id);
        }
        for name in open {
            let provided = universe.installed(name).iter().copied().filter(|&id| universe.instances[id].provided);
            decided.entry(name.clone()).or_default().extend(provided);
        }
        State { decided }
    }

    /// What [`State::after`] is going to change of the universe.
    pub fn before(universe: &Universe<'_>, solution: &Solution) -> Before {
        solution.merged().map(|id| (id, universe.instances[id].flags.enabled.clone())).collect()
    }

    /// Takes the flags of a state back.
    pub fn undo(universe: &mut Universe<'_>, before: Before) {
        for (id, enabled) in before {
            universe.instances[id].flags.enabled = enabled;
        }
    }

    /// Today's.
    pub fn today() -> State {
        State { decided: BTreeMap::new() }
    }

    /// The one with these instances of some packages; all others are as they are today.
    pub fn of(decided: BTreeMap<Rc<str>, Vec<Id>>) -> State {
        State { decided }
    }

    /// The instances of a package.
    pub fn present(&self, universe: &Universe<'_>, name: &str) -> Vec<Id> {
        match self.decided.get(name) {
            Some(ids) => ids.clone(),
            None => universe.installed(name).to_vec(),
        }
    }

    /// Whether a dependency of an instance holds.
    pub fn satisfies(&self, universe: &Universe<'_>, holder: Id, dep: &Dep) -> bool {
        satisfied(universe, holder, dep, &|atom| self.present(universe, atom.name()))
    }

    /// What of an installed package's record, or of an ebuild, does not hold: of what a record says of its building the
    /// bindings only, which count within any-of groups, too.
    pub fn broken(&self, universe: &Universe<'_>, holder: Id) -> Vec<Broken> {
        let instance = &universe.instances[holder];
        let mut out = Vec::new();
        for (kind, dep) in instance.dependencies() {
            if instance.installed && (kind.is_for_building() || self.satisfies(universe, holder, dep)) {
                let mut atoms = Vec::new();
                dep.atoms(&mut atoms);
                for atom in atoms.into_iter().filter(|atom| atom.is_built()) {
                    let holds = !self.satisfiers(universe, holder, atom).is_empty();
                    let held = !State::today().satisfiers(universe, holder, atom).is_empty();
                    if !holds && (held || kind.is_for_building()) {
                        out.push(Broken { holder, kind, atom: atom.clone() });
                    }
                }
            } else if !self.satisfies(universe, holder, dep) {
                let mut atoms = Vec::new();
                self.failing(universe, holder, dep, &mut atoms);
                out.extend(atoms.into_iter().map(|atom| Broken { holder, kind, atom: atom.clone() }));
            }
        }
        out
    }

    fn failing<'d>(&self, universe: &Universe<'_>, holder: Id, dep: &'d Dep, into: &mut Vec<&'d Atom>) {
        if self.satisfies(universe, holder, dep) {
            return;
        }
        match dep {
            Dep::Atom(atom) => into.push(atom),
            Dep::All(inner) | Dep::AnyOf(inner) => {
                inner.iter().for_each(|dep| self.failing(universe, holder, dep, into));
            }
            Dep::Use { flag, enabled, then } => {
                if universe.instances[holder].flags.enabled.contains(flag) == *enabled {
                    then.iter().for_each(|dep| self.failing(universe, holder, dep, into));
                }
            }
        }
    }

    /// The instances that satisfy an atom, USE dependencies of `holder` included.
    pub fn satisfiers(&self, universe: &Universe<'_>, holder: Id, atom: &Atom) -> Vec<Id> {
        let present = self.present(universe, atom.name()).into_iter();
        present
            .filter(|&id| universe.instances[id].is_matched_by(atom) && scope::use_holds(universe, holder, id, atom))
            .collect()
    }
}

/// All packages that some instance needs in a state, with who needs them and why.
pub fn needed_by(universe: &Universe<'_>, state: &State, holders: &[Id]) -> HashMap<Id, Vec<(Id, Kind, Atom)>> {
    let mut out: HashMap<Id, Vec<(Id, Kind, Atom)>> = HashMap::new();
    for &holder in holders {
        for (kind, dep) in universe.instances[holder].dependencies() {
            let mut atoms = Vec::new();
            active(universe, holder, dep, &mut atoms);
            for atom in atoms.into_iter().filter(|atom| !atom.is_blocker()) {
                for id in state.satisfiers(universe, holder, atom) {
                    out.entry(id).or_default().push((holder, kind, atom.clone()));
                }
            }
        }
    }
    out
}

/// The atoms of a dependency that count with the flags of the instance.
pub fn active<'d>(universe: &Universe<'_>, holder: Id, dep: &'d Dep, into: &mut Vec<&'d Atom>) {
    match dep {
        Dep::Atom(atom) => into.push(atom),
        Dep::All(inner) | Dep::AnyOf(inner) => inner.iter().for_each(|dep| active(universe, holder, dep, into)),
        Dep::Use { flag, enabled, then } => {
            if universe.instances[holder].flags.enabled.contains(flag) == *enabled {
                then.iter().for_each(|dep| active(universe, holder, dep, into));
            }
        }
    }
}
