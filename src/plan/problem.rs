//! The question as clauses: which instance of each package in scope is installed afterwards, with which flags.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Dep, UseDep, UseDepKind};

use super::goal::Goal;
use super::required_use::required;
use super::scope::{Scope, satisfied_today};
use super::solver::{Lit, Solver};
use super::terms::Terms;
use super::universe::{Id, Kind, Universe};

/// The instances that share a slot of a package: at most one of them is installed.
#[derive(Debug)]
pub struct Group {
    pub name: Rc<str>,
    pub installed: Option<Id>,
    /// The ebuilds that may be chosen, newest first.
    pub offered: Vec<Id>,
}

/// The clauses, and what their variables stand for.
pub struct Problem<'p, 'a> {
    pub universe: &'p Universe<'a>,
    pub scope: &'p Scope,
    terms: &'p Terms,
    pub solver: Solver,
    pub groups: Vec<Group>,
    chosen: HashMap<Id, Lit>,
    flags: HashMap<(Id, String), Lit>,
    adjustable: BTreeMap<Id, BTreeSet<String>>,
    goal_names: BTreeSet<Rc<str>>,
}

impl<'p, 'a> Problem<'p, 'a> {
    pub fn new(universe: &'p Universe<'a>, scope: &'p Scope, goals: &[Goal], terms: &'p Terms) -> Problem<'p, 'a> {
        let mut problem = Problem {
            universe,
            scope,
            terms,
            solver: Solver::new(),
            groups: Vec::new(),
            chosen: HashMap::new(),
            flags: HashMap::new(),
            adjustable: BTreeMap::new(),
            goal_names: goals.iter().map(|goal| Rc::from(goal.atom.name())).collect(),
        };
        problem.choices();
        for goal in goals {
            let met: Vec<Lit> = goal.met_by(universe).into_iter().map(|id| problem.lit(id)).collect();
            problem.solver.add(&met);
        }
        for id in problem.chosen.keys().copied().collect::<BTreeSet<_>>() {
            match universe.instances[id].installed {
                true => problem.record(id),
                false => problem.ebuild(id),
            }
        }
        for (holder, pulled) in &terms.pulls {
            let mut clause: Vec<Lit> = pulled.iter().map(|&id| problem.lit(id)).collect();
            clause.push(!problem.lit(*holder));
            problem.solver.add(&clause);
        }
        for cycle in &terms.cycles {
            let places = cycle.iter().map(|alike| {
                let lits: Vec<Lit> = alike.iter().map(|&id| problem.lit(id)).collect();
                !problem.solver.or(&lits)
            });
            let apart: Vec<Lit> = places.collect();
            problem.solver.add(&apart);
        }
        problem.records_outside();
        problem.world();
        problem
    }

    /// A variable for each instance in scope, and at most one a slot.
    fn choices(&mut self) {
        let universe = self.universe;
        for name in &self.scope.open {
            if self.terms.gone.contains(&**name) {
                continue;
            }
            let mut slots: BTreeMap<&str, (Option<Id>, Vec<Id>)> = BTreeMap::new();
            for &id in universe.installed(name) {
                let gone = self.terms.unmerged.contains(&**name);
                if universe.instances[id].installed && !gone {
                    slots.entry(&universe.instances[id].slot).or_default().0 = Some(id);
                }
            }
            for &id in universe.offered(name) {
                if self.terms.allow(universe, id) {
                    slots.entry(&universe.instances[id].slot).or_default().1.push(id);
                }
            }
            for (installed, offered) in slots.into_values() {
                let mut lits = Vec::new();
                for id in installed.iter().chain(&offered) {
                    let lit = self.solver.fresh();
                    self.chosen.insert(*id, lit);
                    lits.push(lit);
                }
                self.solver.at_most_one(&lits);
                if let Some(id) = installed
                    && self.terms.keep.contains(&**name)
                {
                    self.solver.add(&[self.chosen[&id]]);
                }
                self.groups.push(Group { name: name.clone(), installed, offered });
            }
        }
        for (&id, _) in self.chosen.iter().filter(|(id, _)| !universe.instances[**id].installed) {
            let flags = match self.terms.freed.contains(&*universe.instances[id].name) {
                true => universe.instances[id].flags.iuse.clone(),
                false => self.scope.adjustable(universe, id),
            };
            self.adjustable.insert(id, flags);
        }
        for (&id, flags) in &self.adjustable {
            for flag in flags {
                let lit = self.solver.fresh();
                self.flags.insert((id, flag.clone()), lit);
            }
        }
    }

    /// The literal for "this instance is installed afterwards".
    pub fn lit(&self, id: Id) -> Lit {
        if let Some(&lit) = self.chosen.get(&id) {
            return lit;
        }
        let instance = &self.universe.instances[id];
        let stays = instance.provided
            || instance.installed
                && !self.scope.open.contains(&instance.name)
                && !self.terms.unmerged.contains(&*instance.name);
        if stays { self.solver.yes() } else { self.solver.no() }
    }

    /// The literal for "this flag of the instance is on".
    fn flag(&self, id: Id, flag: &str) -> Lit {
        if let Some(&lit) = self.flags.get(&(id, flag.to_owned())) {
            return lit;
        }
        match self.is_configured_on(id, flag) {
            true => self.solver.yes(),
            false => self.solver.no(),
        }
    }

    fn is_configured_on(&self, id: Id, flag: &str) -> bool {
        let instance = &self.universe.instances[id];
        let off = !instance.installed
            && !self.terms.flags_off.is_empty()
            && self.terms.flags_off.contains(&(instance.name.to_string(), flag.to_owned()));
        instance.flags.enabled.contains(flag) && !off
    }

    /// The literal for "the USE dependencies of `holder` hold for `id`".
    fn uses(&mut self, holder: Id, id: Id, deps: &[UseDep]) -> Lit {
        let mut all = Vec::new();
        if self.universe.instances[id].provided {
            return self.solver.yes();
        }
        for dep in deps {
            let theirs = match self.universe.has_flag(id, &dep.flag) {
                true => self.flag(id, &dep.flag),
                false => match dep.default {
                    Some(true) => self.solver.yes(),
                    Some(false) => self.solver.no(),
                    None => return self.solver.no(),
                },
            };
            let own = self.flag(holder, &dep.flag);
            all.push(match dep.kind {
                UseDepKind::On => theirs,
                UseDepKind::Off => !theirs,
                UseDepKind::OnIfOn => self.solver.or(&[!own, theirs]),
                UseDepKind::OffIfOff => self.solver.or(&[own, !theirs]),
                UseDepKind::Same | UseDepKind::Opposite => {
                    let theirs = if dep.kind == UseDepKind::Same { theirs } else { !theirs };
                    let both = self.solver.and(&[own, theirs]);
                    let none = self.solver.and(&[!own, !theirs]);
                    self.solver.or(&[both, none])
                }
            });
        }
        self.solver.and(&all)
    }

    /// The literals of which one has to hold so that an atom is satisfied; none if it is for certain.
    fn satisfiers(&mut self, holder: Id, atom: &Atom) -> Option<Vec<Lit>> {
        if self.terms.gone.contains(atom.name()) {
            return None;
        }
        let mut out = Vec::new();
        for &id in self.universe.matching(atom).iter() {
            let there = self.lit(id);
            if there == self.solver.no() {
                continue;
            }
            let fits = self.uses(holder, id, &atom.use_deps);
            let lit = self.solver.and(&[there, fits]);
            if lit == self.solver.yes() {
                return None;
            }
            if lit != self.solver.no() {
                out.push(lit);
            }
        }
        Some(out)
    }

    /// What a blocker of `holder` forbids.
    fn blocked(&mut self, holder: Id, atom: &Atom) -> Vec<Lit> {
        let own = &self.universe.instances[holder];
        let mut out = Vec::new();
        for &id in self.universe.matching(atom).iter() {
            let other = &self.universe.instances[id];
            if other.name == own.name && other.slot == own.slot || self.terms.gone.contains(&*other.name) {
                continue;
            }
            let there = self.lit(id);
            if there != self.solver.no() {
                let fits = self.uses(holder, id, &atom.use_deps);
                out.push(self.solver.and(&[there, fits]));
            }
        }
        out
    }

    /// A dependency has to hold unless one of `unless` does.
    fn need(&mut self, holder: Id, dep: &Dep, unless: &[Lit]) {
        match dep {
            Dep::Atom(atom) if atom.is_blocker() => {
                for lit in self.blocked(holder, atom) {
                    let mut clause = unless.to_vec();
                    clause.push(!lit);
                    self.solver.add(&clause);
                }
            }
            Dep::Atom(atom) => {
                if let Some(mut clause) = self.satisfiers(holder, atom) {
                    clause.extend(unless);
                    self.solver.add(&clause);
                }
            }
            Dep::All(inner) => inner.iter().for_each(|dep| self.need(holder, dep, unless)),
            Dep::Use { flag, enabled, then } => {
                let on = self.flag(holder, flag);
                let off = if *enabled { !on } else { on };
                if off != self.solver.yes() {
                    let mut unless = unless.to_vec();
                    unless.push(off);
                    then.iter().for_each(|dep| self.need(holder, dep, &unless));
                }
            }
            Dep::AnyOf(_) => {
                let lit = self.truth(holder, dep);
                let mut clause = unless.to_vec();
                clause.push(lit);
                self.solver.add(&clause);
            }
        }
    }

    /// A literal for a dependency inside an any-of group.
    fn truth(&mut self, holder: Id, dep: &Dep) -> Lit {
        match dep {
            Dep::Atom(atom) if atom.is_blocker() => {
                let blocked: Vec<Lit> = self.blocked(holder, atom).into_iter().map(|lit| !lit).collect();
                self.solver.and(&blocked)
            }
            Dep::Atom(atom) => match self.satisfiers(holder, atom) {
                None => self.solver.yes(),
                Some(lits) => self.solver.or(&lits),
            },
            Dep::All(inner) => {
                let lits: Vec<Lit> = inner.iter().map(|dep| self.truth(holder, dep)).collect();
                self.solver.and(&lits)
            }
            Dep::Use { flag, enabled, then } => {
                let on = self.flag(holder, flag);
                let lits: Vec<Lit> = then.iter().map(|dep| self.truth(holder, dep)).collect();
                let all = self.solver.and(&lits);
                let off = if *enabled { !on } else { on };
                self.solver.or(&[off, all])
            }
            Dep::AnyOf(inner) => {
                let mut lits = Vec::new();
                let mut empty = vec![];
                for dep in inner {
                    // a conditional that does not hold is as if it were not written (PMS 8.2.3)
                    let active = match dep {
                        Dep::Use { flag, enabled, .. } => {
                            let on = self.flag(holder, flag);
                            if *enabled { on } else { !on }
                        }
                        _ => self.solver.yes(),
                    };
                    let truth = self.truth(holder, dep);
                    lits.push(self.solver.and(&[active, truth]));
                    empty.push(!active);
                }
                lits.push(self.solver.and(&empty));
                self.solver.or(&lits)
            }
        }
    }

    fn ebuild(&mut self, id: Id) {
        let universe = self.universe;
        let chosen = self.lit(id);
        for (_, dep) in universe.instances[id].dependencies() {
            self.need(id, dep, &[!chosen]);
        }
        if !self.terms.lifted.contains(&id) {
            let required_use = &universe.instances[id].required_use;
            let words = required_use.all_words().into_iter().map(|word| word.trim_start_matches('!'));
            let flags: BTreeSet<&str> = words.chain(required_use.flags()).collect();
            let lits: HashMap<&str, Lit> = flags.iter().map(|&flag| (flag, self.flag(id, flag))).collect();
            for node in &required_use.nodes {
                let holds = required(&mut self.solver, node, &|flag| lits[flag]);
                self.solver.add(&[!chosen, holds]);
            }
        }
        self.keeps_the_family(id, chosen);
    }

    /// No change of flags may take away the last dependency on a package that the installed version depends on.
    fn keeps_the_family(&mut self, id: Id, chosen: Lit) {
        if self.adjustable.get(&id).is_none_or(BTreeSet::is_empty) {
            return;
        }
        let universe = self.universe;
        let instance = &universe.instances[id];
        let mut before = BTreeSet::new();
        for &record in universe.installed(&instance.name) {
            before.extend(
                universe.instances[record].atoms().into_iter().filter(|atom| !atom.is_blocker()).map(Atom::name),
            );
        }
        let mut uses: BTreeMap<&str, (bool, Vec<Lit>)> = BTreeMap::new();
        for (_, dep) in instance.dependencies() {
            let yes = self.solver.yes();
            self.conditions(id, dep, yes, true, &mut uses);
        }
        for (name, (configured, conditions)) in uses {
            if configured && before.contains(name) && self.scope.open.contains(name) {
                let mut clause = conditions;
                clause.push(!chosen);
                self.solver.add(&clause);
            }
        }
    }

    /// For each package the conditions under which it is depended on, and whether one of them is configured.
    fn conditions<'d>(
        &mut self,
        id: Id,
        dep: &'d Dep,
        when: Lit,
        configured: bool,
        uses: &mut BTreeMap<&'d str, (bool, Vec<Lit>)>,
    ) {
        match dep {
            Dep::Atom(atom) if !atom.is_blocker() => {
                let entry = uses.entry(atom.name()).or_default();
                entry.0 |= configured;
                entry.1.push(when);
            }
            Dep::Atom(_) => {}
            Dep::All(inner) | Dep::AnyOf(inner) => {
                inner.iter().for_each(|dep| self.conditions(id, dep, when, configured, uses));
            }
            Dep::Use { flag, enabled, then } => {
                let on = self.flag(id, flag);
                let when = self.solver.and(&[when, if *enabled { on } else { !on }]);
                let configured = configured && self.is_configured_on(id, flag) == *enabled;
                then.iter().for_each(|dep| self.conditions(id, dep, when, configured, uses));
            }
        }
    }

    /// What an installed package recorded has to hold as long as it stays, but for what is broken today.
    fn record(&mut self, id: Id) {
        let universe = self.universe;
        let stays = self.lit(id);
        if stays == self.solver.no() {
            return;
        }
        for (kind, deps) in Kind::ALL.into_iter().zip(&universe.instances[id].deps) {
            if !kind.is_for_building() {
                for dep in deps {
                    if satisfied_today(universe, id, dep) || self.is_to_be_mended(dep) {
                        self.need(id, dep, &[!stays]);
                    }
                }
            }
            // a binding counts wherever it stands, also where another branch of an any-of group would do; of what it was
            // built with nothing else matters
            let mut atoms = Vec::new();
            deps.iter().for_each(|dep| dep.atoms(&mut atoms));
            for atom in atoms.into_iter().filter(|atom| atom.is_built()) {
                let dep = Dep::Atom(Box::new(atom.clone()));
                if satisfied_today(universe, id, &dep) || kind.is_for_building() && self.is_to_be_mended(&dep) {
                    self.need(id, &dep, &[!stays]);
                }
            }
        }
    }

    /// Whether it is a binding to the goal.
    fn is_to_be_mended(&self, dep: &Dep) -> bool {
        let mut atoms = Vec::new();
        dep.atoms(&mut atoms);
        !self.terms.leave_broken && atoms.iter().any(|atom| atom.is_built() && self.goal_names.contains(atom.name()))
    }

    /// The records of packages that are not in scope, as far as they speak of one that is.
    fn records_outside(&mut self) {
        let universe = self.universe;
        let mut holders: BTreeSet<Id> = BTreeSet::new();
        let gone = self.terms.unmerged.iter().map(|name| Rc::from(name.as_str())).collect::<Vec<Rc<str>>>();
        for name in self.scope.open.iter().chain(&gone) {
            holders.extend(universe.holders(name).iter().copied());
        }
        for holder in holders {
            let instance = &universe.instances[holder];
            let out = self.scope.open.contains(&instance.name) || self.terms.gone.contains(&*instance.name);
            if instance.installed && !out {
                self.record(holder);
            }
        }
    }

    /// What world and the sets want and have today, they keep.
    fn world(&mut self) {
        let universe = self.universe;
        for (at, wanted) in universe.wanted.iter().enumerate() {
            let name = wanted.atom.name();
            let free = self.terms.without.contains(name) || self.terms.unmerged.contains(name);
            if free || self.terms.gone.contains(name) || !self.scope.open.contains(name) {
                continue;
            }
            let met = match self.terms.loose.contains(&at) {
                true => universe.in_slot(&wanted.atom),
                false => universe.matching(&wanted.atom).to_vec(),
            };
            if !met.iter().any(|&id| universe.instances[id].installed || universe.instances[id].provided) {
                continue;
            }
            let lits: Vec<Lit> = met.iter().map(|&id| self.lit(id)).collect();
            if !lits.contains(&self.solver.yes()) {
                self.solver.add(&lits);
            }
        }
    }

    /// The flags of an ebuild that may change.
    pub fn adjustable(&self, id: Id) -> impl Iterator<Item = (&str, Lit, bool)> {
        let flags = self.adjustable.get(&id).into_iter().flatten();
        flags.map(move |flag| {
            (flag.as_str(), self.flags[&(id, flag.clone())], self.universe.instances[id].flags.enabled.contains(flag))
        })
    }
}
