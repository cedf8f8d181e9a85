//! Why each step of a plan is there, in words.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::gentoo::dependency::{Atom, Blocker};

use super::family::pins;
use super::goal::Goal;
use super::optimum::{Fate, Solution};
use super::state::{State, active};
use super::universe::{Id, Kind, Universe};

/// Reasons, in words.
pub struct Words<'w, 'a> {
    pub universe: &'w Universe<'a>,
    pub state: &'w State,
    pub goals: &'w [Goal],
    pub solution: &'w Solution,
    pub needed: HashMap<Id, Vec<(Id, Kind, Atom)>>,
}

impl Words<'_, '_> {
    pub fn why_merged(&self, id: Id, over: Option<Id>) -> Vec<String> {
        let universe = self.universe;
        let mut out = Vec::new();
        if self.goals.iter().any(|goal| goal.is_met_by(universe, id)) {
            out.push("goal".to_owned());
        }
        if let Some(record) = over {
            let cpv = universe.instances[record].cpv();
            let mut broken: Vec<(Atom, Vec<&str>)> = Vec::new();
            for one in self.state.broken(universe, record) {
                match broken.iter_mut().find(|(atom, _)| *atom == one.atom) {
                    Some((_, kinds)) => kinds.push(one.kind.name()),
                    None => broken.push((one.atom, vec![one.kind.name()])),
                }
            }
            for (atom, kinds) in broken {
                let what = if atom.is_built() {
                    "bound"
                } else if pins(&atom) {
                    "pinned"
                } else {
                    "held"
                };
                let kinds = kinds.join(", ");
                out.push(match atom.is_blocker() {
                    true => format!("{cpv} blocks {} ({kinds})", atom.as_str().trim_start_matches('!')),
                    false => format!("{what} to {} by {cpv} {kinds} {atom}", self.was(&atom)),
                });
            }
            for fate in &self.solution.fates {
                let Fate::Merged { id: blocker, .. } = fate else { continue };
                for (kind, dep) in universe.instances[*blocker].dependencies() {
                    let mut atoms = Vec::new();
                    active(universe, *blocker, dep, &mut atoms);
                    let record = &universe.instances[record];
                    let hit = |atom: &&Atom| atom.is_blocker() && record.is_matched_by(atom) && *blocker != id;
                    for atom in atoms.into_iter().filter(hit) {
                        out.push(format!("blocked by {} {} {atom}", universe.instances[*blocker].cpv(), kind.name()));
                    }
                }
            }
        }
        let today = State::today();
        let replaced = |before: &Id| {
            let over = |fate: &Fate| matches!(fate, Fate::Merged { over: Some(over), .. } if over == before);
            self.solution.fates.iter().any(over)
        };
        let mut needs: Vec<(Id, &Atom, Vec<&str>)> = Vec::new();
        for (holder, kind, atom) in self.needed.get(&id).into_iter().flatten() {
            let before = today.satisfiers(universe, *holder, atom);
            if *holder == id || !(before.is_empty() || out.is_empty() && before.iter().any(replaced)) {
                continue;
            }
            match needs.iter_mut().find(|(other, known, _)| other == holder && *known == atom) {
                Some((.., kinds)) => kinds.push(kind.name()),
                None => needs.push((*holder, atom, vec![kind.name()])),
            }
        }
        for (holder, atom, kinds) in needs {
            out.push(format!("needed by {} {} {atom}", universe.instances[holder].cpv(), kinds.join(", ")));
        }
        if let Some(Fate::Merged { flags, .. }) =
            self.solution.fates.iter().find(|fate| matches!(fate, Fate::Merged { id: own, .. } if *own == id))
            && !flags.is_empty()
        {
            out.push(format!("USE changes: {}", flag_words(flags)));
        }
        if out.is_empty() {
            out.push("the smallest plan needs it".to_owned());
        }
        let mut seen = BTreeSet::new();
        out.retain(|reason| seen.insert(reason.clone()));
        out
    }

    /// What is installed of an atom's package, with its slot.
    fn was(&self, atom: &Atom) -> String {
        let found = self.universe.installed(atom.name()).iter().map(|&id| &self.universe.instances[id]);
        let found = found.into_iter().find(|one| atom.slot().is_none_or(|slot| slot == one.slot));
        match (atom.slot(), atom.subslot(), found) {
            (Some(slot), Some(subslot), _) => format!("{}:{slot}/{subslot}", atom.name()),
            (_, _, Some(one)) => format!("{}:{}/{}", one.name, one.slot, one.subslot),
            _ => atom.name().to_owned(),
        }
    }

    fn blockers_of(&self, id: Id) -> Vec<(Id, Kind, Atom)> {
        let universe = self.universe;
        let mut out = Vec::new();
        for holder in self.solution.merged() {
            for (kind, dep) in universe.instances[holder].dependencies() {
                let mut atoms = Vec::new();
                active(universe, holder, dep, &mut atoms);
                let hits =
                    atoms.into_iter().filter(|atom| atom.is_blocker() && universe.instances[id].is_matched_by(atom));
                out.extend(hits.map(|atom| (holder, kind, atom.clone())));
            }
        }
        out
    }

    /// Whether Portage unmerges it by itself.
    pub fn is_blocked_softly(&self, id: Id) -> bool {
        let blockers = self.blockers_of(id);
        !blockers.is_empty() && blockers.iter().all(|(_, _, atom)| atom.blocker != Blocker::Strong)
    }

    pub fn why_removed(&self, id: Id) -> Vec<String> {
        let universe = self.universe;
        let cpv = universe.instances[id].cpv();
        let mut out: Vec<String> = self
            .blockers_of(id)
            .into_iter()
            .map(|(holder, kind, atom)| {
                format!("blocked by {} {} {atom}", universe.instances[holder].cpv(), kind.name())
            })
            .collect();
        for broken in self.state.broken(universe, id) {
            out.push(format!(
                "{cpv} has {} {}, which holds no more, and no ebuild follows",
                broken.kind.name(),
                broken.atom
            ));
        }
        if out.is_empty() {
            out.push("the smallest plan has no place for it".to_owned());
        }
        out.push("neither world nor an installed package wants it".to_owned());
        out
    }
}

/// Flags as package.use has them.
pub fn flag_words(flags: &BTreeMap<String, bool>) -> String {
    let words: Vec<String> =
        flags.iter().map(|(flag, on)| if *on { flag.clone() } else { format!("-{flag}") }).collect();
    words.join(" ")
}
