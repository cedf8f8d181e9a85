//! Why there is no plan: who can't follow the goal.
//!
//! Instances die for want of what they need: first those that the goal replaces, then what needs exactly these, and so on.
//! A package that has to be there and has no instance left can't follow. What else stands in the way the solver finds.

mod wants;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Dep};

use super::answer::BlockerKind;
use super::fault::{Fault, is_bound_by_version, no_version, own_fault, required_use_can_hold};
use super::goal::Goal;
use super::lift::excluded;
use super::scope::{Scope, satisfied_today, use_holds};
use super::terms::Terms;
use super::universe::{Id, Kind, Universe};

#[derive(Clone, Debug)]
enum Cause {
    /// It does not go with the goal.
    Goal,
    Fault(Fault),
}

#[derive(Clone, Debug)]
struct Death {
    cause: Cause,
    /// What it needs and can't have.
    want: Option<(Kind, Atom)>,
}

/// Finds the next package that can't follow, if this way of looking finds any.
pub fn next(universe: &Universe<'_>, scope: &Scope, goals: &[Goal], terms: &Terms) -> Option<Fault> {
    let mut court = Court {
        universe,
        scope,
        goals,
        terms,
        dead: BTreeMap::new(),
        members: Vec::new(),
        adjustable: BTreeMap::new(),
    };
    if let Some(fault) = court.begin() {
        return Some(fault);
    }
    loop {
        let before = court.dead.len();
        if let Some(fault) = court.needs() {
            return Some(fault);
        }
        court.force();
        if court.dead.len() == before {
            return None;
        }
    }
}

struct Court<'c, 'a> {
    universe: &'c Universe<'a>,
    scope: &'c Scope,
    goals: &'c [Goal],
    terms: &'c Terms,
    dead: BTreeMap<Id, Death>,
    /// All instances in scope.
    members: Vec<Id>,
    adjustable: BTreeMap<Id, BTreeSet<String>>,
}

impl Court<'_, '_> {
    fn is_goal(&self, name: &str) -> bool {
        self.goals.iter().any(|goal| goal.atom.name() == name)
    }

    fn is_out(&self, name: &str) -> bool {
        self.terms.gone.contains(name)
    }

    fn is_alive(&self, id: Id) -> bool {
        let instance = &self.universe.instances[id];
        if instance.installed && self.terms.unmerged.contains(&*instance.name) {
            return false;
        }
        match self.scope.open.contains(&instance.name) {
            true => !self.dead.contains_key(&id),
            false => instance.installed || instance.provided,
        }
    }

    fn begin(&mut self) -> Option<Fault> {
        let universe = self.universe;
        let scope = self.scope;
        for name in scope.open.iter().filter(|name| !self.terms.gone.contains(&***name)) {
            self.members.extend(universe.installed(name).iter().chain(universe.offered(name)));
        }
        for &id in &self.members {
            let instance = &universe.instances[id];
            if instance.installed || instance.provided {
                continue;
            }
            self.adjustable.insert(id, self.scope.adjustable(universe, id));
            let cpv = instance.cpv();
            let fault = |kind, because| {
                Cause::Fault(Fault { name: instance.name.clone(), kind, needs: None, because, lifts: vec![id] })
            };
            let cause = if self.terms.lifted.contains(&id) {
                None
            } else if let Some(why) = &instance.invalid {
                Some(fault(BlockerKind::Masked, format!("Portage takes {cpv} for invalid: {why}")))
            } else if !self.terms.allow(universe, id) {
                let why = excluded(&instance.obstacles).join(", and ");
                Some(fault(BlockerKind::Masked, format!("{cpv} {why}")))
            } else if !required_use_can_hold(universe, id, &self.adjustable[&id]) {
                let text = "REQUIRED_USE can't hold with the flags that the profile and package.use leave";
                Some(fault(BlockerKind::RequiredUse, format!("{cpv}: {text}")))
            } else {
                None
            };
            if let Some(cause) = cause {
                self.dead.insert(id, Death { cause, want: None });
            }
        }
        for name in &self.terms.keep {
            for &id in universe.offered(name) {
                self.dead.entry(id).or_insert(Death { cause: Cause::Goal, want: None });
            }
        }
        for goal in self.goals {
            let met = goal.met_by(universe);
            if met.is_empty() {
                return Some(no_version(universe, goal));
            }
            let slots: BTreeSet<&str> = met.iter().map(|&id| universe.instances[id].slot.as_str()).collect();
            if slots.len() > 1 {
                continue;
            }
            for &id in &self.members {
                let instance = &universe.instances[id];
                let rival = &*instance.name == goal.atom.name() && slots.contains(instance.slot.as_str());
                if rival && !met.contains(&id) {
                    self.dead.entry(id).or_insert(Death { cause: Cause::Goal, want: None });
                }
            }
        }
        None
    }

    /// Kills what can't have what it needs; the fault of the first package that has to be there and is not.
    fn needs(&mut self) -> Option<Fault> {
        loop {
            let mut changed = false;
            for id in self.members.clone() {
                let is_open = match self.dead.get(&id) {
                    None => true,
                    // what died for another reason may turn out not to go with the goal either
                    Some(death) => death.want.is_some() && matches!(death.cause, Cause::Fault(_)),
                };
                if is_open && let Some(death) = self.lacks(id) {
                    let known = self.dead.get(&id).is_some_and(|_| matches!(death.cause, Cause::Fault(_)));
                    changed |= !known;
                    self.dead.insert(id, death);
                }
            }
            if !changed {
                break;
            }
        }
        for goal in self.goals {
            let met = goal.met_by(self.universe);
            if !met.iter().any(|&id| self.is_alive(id)) {
                return Some(self.blame(&met, goal.atom.name(), 0));
            }
        }
        for name in self.terms.keep.iter().filter(|name| !self.is_out(name)) {
            if let Some(&id) = self.universe.installed(name).iter().find(|&&id| self.dead.contains_key(&id)) {
                return Some(self.blame(&[id], name, 0));
            }
        }
        let held: Vec<(Atom, Vec<Id>)> = self.wanted().collect();
        for (atom, met) in held {
            if !met.iter().any(|&id| self.is_alive(id)) {
                return Some(self.blame(&met, atom.name(), 0));
            }
        }
        // what lives outside of the scope wants
        for &holder in self.universe.all_installed().collect::<Vec<_>>().iter() {
            let instance = &self.universe.instances[holder];
            if self.scope.open.contains(&instance.name) || !instance.installed || self.is_out(&instance.name) {
                continue;
            }
            if let Some(death) = self.lacks(holder) {
                return Some(match death.cause {
                    Cause::Fault(fault) => fault,
                    Cause::Goal => self.own_fault(holder, death.want),
                });
            }
        }
        None
    }

    /// The atoms of world in scope that hold today, with what matches them.
    fn wanted(&self) -> impl Iterator<Item = (Atom, Vec<Id>)> + '_ {
        self.universe.wanted.iter().enumerate().filter_map(|(at, wanted)| {
            let name = wanted.atom.name();
            let free = self.terms.without.contains(name) || self.terms.unmerged.contains(name) || self.is_out(name);
            if free || !self.scope.open.contains(name) {
                return None;
            }
            let met = match self.terms.loose.contains(&at) {
                true => self.universe.in_slot(&wanted.atom),
                false => self.universe.matching(&wanted.atom).to_vec(),
            };
            let today =
                met.iter().any(|&id| self.universe.instances[id].installed || self.universe.instances[id].provided);
            today.then(|| (wanted.atom.clone(), met))
        })
    }

    /// Whether all alive ways to have what world or the goal wants of a package match an atom.
    fn is_bound_to_be(&self, atom: &Atom, own: Id) -> Option<Rc<str>> {
        let universe = self.universe;
        let hit = |id: Id| {
            let instance = &universe.instances[id];
            let holder = &universe.instances[own];
            let itself = instance.name == holder.name && instance.slot == holder.slot;
            !itself && instance.is_matched_by(atom) && use_holds(universe, own, id, atom)
        };
        let all = |met: Vec<Id>| {
            let mut alive = met.into_iter().filter(|&id| self.is_alive(id)).peekable();
            alive.peek().is_some() && alive.all(hit)
        };
        let goal = self.goals.iter().filter(|goal| goal.atom.name() == atom.name());
        if goal.into_iter().any(|goal| all(goal.met_by(universe))) {
            return Some(Rc::from(atom.name()));
        }
        let wanted = self.wanted().filter(|(wanted, _)| wanted.name() == atom.name());
        for (_, met) in wanted {
            if all(met) {
                return Some(Rc::from(atom.name()));
            }
        }
        // not in scope: it stays
        let steady = universe.installed(atom.name()).iter().copied().filter(|&id| hit(id));
        let mut steady = steady.filter(|&id| !self.scope.open.contains(&universe.instances[id].name));
        steady.next().map(|id| universe.instances[id].name.clone())
    }

    /// What the goal needs in all its ways leaves no room for other instances of the same slot.
    fn force(&mut self) {
        let universe = self.universe;
        let mut driven: Vec<Rc<str>> = self.goals.iter().map(|goal| Rc::from(goal.atom.name())).collect();
        let mut seen: BTreeSet<Rc<str>> = driven.iter().cloned().collect();
        while let Some(name) = driven.pop() {
            let alive: Vec<Id> = self
                .members
                .iter()
                .copied()
                .filter(|&id| universe.instances[id].name == name && self.is_alive(id))
                .collect();
            let goal = self.goals.iter().find(|goal| goal.atom.name() == &*name);
            let alive: Vec<Id> =
                alive.into_iter().filter(|&id| goal.is_none_or(|goal| goal.is_met_by(universe, id))).collect();
            let mut all: Option<BTreeMap<&str, Vec<&Atom>>> = None;
            for &id in &alive {
                let mut own: BTreeMap<&str, Vec<&Atom>> = BTreeMap::new();
                for (kind, dep) in universe.instances[id].dependencies() {
                    if universe.instances[id].installed && kind.is_for_building() {
                        continue;
                    }
                    let mut atoms = Vec::new();
                    self.certain(id, dep, &mut atoms);
                    atoms
                        .into_iter()
                        .filter(|atom| !atom.is_blocker())
                        .for_each(|atom| own.entry(atom.name()).or_default().push(atom));
                }
                all = Some(match all {
                    None => own,
                    Some(mut all) => {
                        all.retain(|name, _| own.contains_key(name));
                        for (name, atoms) in &mut all {
                            atoms.extend(own.remove(name).unwrap_or_default());
                        }
                        all
                    }
                });
            }
            for (needed, atoms) in all.unwrap_or_default() {
                if !self.scope.open.contains(needed) || self.is_out(needed) {
                    continue;
                }
                let fitting: BTreeSet<Id> = match alive.len() {
                    // one way only: all its atoms hold together
                    1 => self
                        .members
                        .iter()
                        .copied()
                        .filter(|&id| {
                            &*universe.instances[id].name == needed
                                && self.is_alive(id)
                                && atoms.iter().all(|atom| universe.instances[id].is_matched_by(atom))
                        })
                        .collect(),
                    _ => atoms
                        .iter()
                        .flat_map(|atom| universe.matching(atom).to_vec())
                        .filter(|&id| self.is_alive(id))
                        .collect(),
                };
                let slots: BTreeSet<&str> = fitting.iter().map(|&id| universe.instances[id].slot.as_str()).collect();
                if slots.len() == 1 {
                    for &id in &self.members {
                        let instance = &universe.instances[id];
                        let rival = &*instance.name == needed
                            && slots.contains(instance.slot.as_str())
                            && !fitting.contains(&id);
                        if rival {
                            self.dead.entry(id).or_insert(Death { cause: Cause::Goal, want: None });
                        }
                    }
                }
                let needed: Rc<str> = Rc::from(needed);
                if seen.insert(needed.clone()) {
                    driven.push(needed);
                }
            }
        }
    }

    /// The atoms that hold whatever flags may change, and outside any-of groups.
    fn certain<'d>(&self, id: Id, dep: &'d Dep, into: &mut Vec<&'d Atom>) {
        match dep {
            Dep::Atom(atom) => into.push(atom),
            Dep::All(inner) => inner.iter().for_each(|dep| self.certain(id, dep, into)),
            Dep::AnyOf(_) => {}
            Dep::Use { flag, enabled, then } => {
                let open = self.adjustable.get(&id).is_some_and(|flags| flags.contains(flag));
                if !open && self.universe.instances[id].flags.enabled.contains(flag) == *enabled {
                    then.iter().for_each(|dep| self.certain(id, dep, into));
                }
            }
        }
    }

    /// Who is to blame that none of `ids` can be.
    fn blame(&self, ids: &[Id], name: &str, depth: usize) -> Fault {
        let universe = self.universe;
        let mut own: Vec<Id> = ids.to_vec();
        if own.is_empty() {
            own = universe.installed(name).iter().chain(universe.offered(name)).copied().collect();
        }
        // the newest ebuild first, the record last
        own.sort_by(|&a, &b| {
            let (a, b) = (&universe.instances[a], &universe.instances[b]);
            a.installed.cmp(&b.installed).then(b.cpv.version.cmp(&a.cpv.version))
        });
        let deaths: Vec<(Id, &Death)> = own.iter().filter_map(|id| Some((*id, self.dead.get(id)?))).collect();
        let fault = deaths.iter().find_map(|(_, death)| match &death.cause {
            Cause::Fault(fault) if fault.name.as_ref() != name || self.is_goal(name) => Some(fault.clone()),
            _ => None,
        });
        if let Some(fault) = fault {
            return fault;
        }
        for (_, death) in &deaths {
            let Some((_, atom)) = &death.want else { continue };
            let other = atom.name();
            let all: Vec<Id> = universe.installed(other).iter().chain(universe.offered(other)).copied().collect();
            let follows = all.iter().any(|&id| self.is_alive(id));
            if !atom.is_blocker() && other != name && !self.is_goal(other) && !follows && depth < 32 && !all.is_empty()
            {
                return self.blame(&[], other, depth + 1);
            }
        }
        let masked = deaths.iter().find_map(|(_, death)| match &death.cause {
            Cause::Fault(fault) if fault.name.as_ref() == name => Some(fault.clone()),
            _ => None,
        });
        let offered = deaths.iter().find(|(id, death)| !universe.instances[*id].installed && death.want.is_some());
        let record = deaths.iter().find(|(id, _)| universe.instances[*id].installed);
        // what the installed version says is nearest to the reader, but a binding alone does not hold it
        let telling = record.filter(|(_, death)| {
            let held = |(_, atom): &(Kind, Atom)| {
                !atom.is_built() || is_bound_by_version(self.universe, atom, |id| self.is_alive(id))
            };
            offered.is_some() && death.want.as_ref().is_some_and(held)
        });
        let offered = telling.or(offered);
        match (offered.or(record), masked) {
            (Some(&(id, _)), Some(fault)) if universe.instances[id].installed => fault,
            (Some(&(id, death)), _) => self.own_fault(id, death.want.clone()),
            (None, Some(fault)) => fault,
            (None, None) => Fault {
                name: Rc::from(name),
                kind: BlockerKind::NoVersion,
                needs: None,
                because: format!("no version of {name} goes with the goal"),
                lifts: Vec::new(),
            },
        }
    }

    /// The fault of a package that holds what the goal replaces.
    fn own_fault(&self, id: Id, want: Option<(Kind, Atom)>) -> Fault {
        own_fault(self.universe, id, want, |id| self.is_alive(id))
    }
}
