//! Which packages a plan may touch: those that the goal reaches by dependencies that today's state does not satisfy, or
//! that a change would break. All others stay as they are in every smallest plan, and need no variables.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, Dep, UseDep, UseDepKind};

use super::universe::{Id, Instance, Kind, Universe};

/// What may change.
#[derive(Debug, Default)]
pub struct Scope {
    /// `category/package`
    pub open: BTreeSet<Rc<str>>,
    /// For the flags of a package the values that USE dependencies ask for: off, on.
    asked: HashMap<Rc<str>, BTreeMap<String, [bool; 2]>>,
}

/// How far a scope reaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// Also to what only the removal of a package would break.
    pub absence: bool,
    /// Also by ebuilds that can't be taken as things are.
    pub excluded: bool,
}

impl Scope {
    /// All that `goals` reach.
    pub fn around(universe: &mut Universe<'_>, goals: &[Rc<str>], reach: Reach) -> Scope {
        let mut search =
            Search { universe, scope: Scope::default(), queue: VecDeque::new(), pending: Vec::new(), reach };
        for goal in goals {
            search.open(goal);
        }
        search.run();
        search.scope
    }

    /// The flags of an ebuild that a line of package.use may change: those that a USE dependency asks for otherwise, those
    /// that its own USE dependencies hand on (`[flag?]`), a new default, and with any of these, or where REQUIRED_USE does
    /// not hold, those of REQUIRED_USE.
    pub fn adjustable(&self, universe: &Universe<'_>, id: Id) -> BTreeSet<String> {
        let instance = &universe.instances[id];
        if instance.installed || instance.provided {
            return BTreeSet::new();
        }
        let flags = &instance.flags;
        let free = |flag: &str| flags.iuse.contains(flag) && !flags.fixed.contains(flag) && !flags.user.contains(flag);
        let asked = self.asked.get(&instance.name);
        let record = universe.installed(&instance.name).iter().map(|&id| &universe.instances[id]);
        let records: Vec<_> = record.filter(|record| record.slot == instance.slot && record.installed).collect();
        let mut out: BTreeSet<String> = handed_on(instance).filter(|flag| free(flag)).map(str::to_owned).collect();
        for flag in flags.iuse.iter().filter(|flag| free(flag)) {
            let on = flags.enabled.contains(flag);
            let otherwise = asked.and_then(|asked| asked.get(flag)).is_some_and(|asked| asked[usize::from(!on)]);
            let new_default = on
                && flags.by_default.contains(flag)
                && records.iter().all(|record| !record.flags.enabled.contains(flag));
            if otherwise || new_default {
                out.insert(flag.clone());
            }
        }
        let required = &instance.required_use;
        if !out.is_empty() || !required.is_satisfied(&|flag| flags.enabled.contains(flag)) {
            let words = required.all_words().into_iter().map(|word| word.trim_start_matches('!'));
            let named = words.chain(required.flags());
            out.extend(named.filter(|flag| free(flag)).map(str::to_owned));
        }
        out
    }
}

/// The flags that an ebuild's USE dependencies pass to others.
fn handed_on(instance: &Instance) -> impl Iterator<Item = &str> {
    let conditional = |dep: &&UseDep| !matches!(dep.kind, UseDepKind::On | UseDepKind::Off);
    instance
        .atoms()
        .into_iter()
        .flat_map(move |atom| atom.use_deps.iter().filter(conditional))
        .map(|dep| dep.flag.as_str())
}

/// Whether the USE dependencies of an atom hang on flags that may change.
fn hangs_on(atom: &Atom, adjustable: &BTreeSet<String>) -> bool {
    let conditional = |dep: &UseDep| !matches!(dep.kind, UseDepKind::On | UseDepKind::Off);
    atom.use_deps.iter().any(|dep| conditional(dep) && adjustable.contains(&dep.flag))
}

struct Search<'u, 'a> {
    universe: &'u mut Universe<'a>,
    scope: Scope,
    queue: VecDeque<Rc<str>>,
    /// Any-of groups that only a package in scope satisfies today.
    pending: Vec<(Id, Dep)>,
    reach: Reach,
}

impl Search<'_, '_> {
    fn open(&mut self, name: &str) {
        if self.scope.open.contains(name) {
            return;
        }
        let name: Rc<str> = Rc::from(name);
        self.scope.open.insert(name.clone());
        self.queue.push_back(name);
    }

    fn run(&mut self) {
        loop {
            while let Some(name) = self.queue.pop_front() {
                let soon: Vec<Rc<str>> = std::iter::once(&name)
                    .chain(&self.queue)
                    .filter(|name| !self.universe.is_read(name))
                    .cloned()
                    .collect();
                if soon.len() > 1 {
                    self.universe.source().prepare(&soon);
                }
                self.universe.offer(&name);
                self.scan(&name);
            }
            let pending = std::mem::take(&mut self.pending);
            for (holder, dep) in pending {
                self.any_of(holder, &dep);
            }
            if self.queue.is_empty() {
                return;
            }
        }
    }

    fn scan(&mut self, name: &Rc<str>) {
        for id in self.universe.offered(name).to_vec() {
            if self.counts(id) {
                let deps: Vec<Dep> = self.universe.instances[id].dependencies().map(|(_, dep)| dep.clone()).collect();
                let adjustable = self.scope.adjustable(self.universe, id);
                deps.iter().for_each(|dep| self.need(id, dep, &adjustable));
            }
        }
        for id in self.universe.installed(name).to_vec() {
            let deps = self.universe.instances[id].deps.clone();
            for (kind, deps) in Kind::ALL.into_iter().zip(deps) {
                if !kind.is_for_building() {
                    deps.iter().for_each(|dep| self.need(id, dep, &BTreeSet::new()));
                }
            }
        }
        for holder in self.universe.holders(name).to_vec() {
            if !self.scope.open.contains(&self.universe.instances[holder].name) && self.may_break(holder, name) {
                let holder = self.universe.instances[holder].name.clone();
                self.open(&holder);
            }
        }
    }

    /// What a choice of `holder` would need.
    fn need(&mut self, holder: Id, dep: &Dep, adjustable: &BTreeSet<String>) {
        match dep {
            Dep::Atom(atom) if atom.is_blocker() => {
                let (name, slot) = (&self.universe.instances[holder].name, &self.universe.instances[holder].slot);
                let blocked = self.universe.installed(atom.name()).iter().any(|&id| {
                    let other = &self.universe.instances[id];
                    other.is_matched_by(atom) && (other.name != *name || other.slot != *slot)
                });
                if blocked {
                    self.open(atom.name());
                }
            }
            Dep::Atom(atom) => {
                self.ask(holder, atom, adjustable);
                if hangs_on(atom, adjustable) || !self.is_satisfied_today(holder, dep) {
                    self.open(atom.name());
                }
            }
            Dep::All(inner) => inner.iter().for_each(|dep| self.need(holder, dep, adjustable)),
            Dep::Use { flag, enabled, then } => {
                let on = self.universe.instances[holder].flags.enabled.contains(flag);
                if on == *enabled || adjustable.contains(flag) {
                    then.iter().for_each(|dep| self.need(holder, dep, adjustable));
                }
            }
            Dep::AnyOf(_) => self.any_of(holder, dep),
        }
    }

    fn any_of(&mut self, holder: Id, dep: &Dep) {
        let Dep::AnyOf(inner) = dep else { return };
        let satisfied: Vec<&Dep> = inner.iter().filter(|dep| self.is_satisfied_today(holder, dep)).collect();
        let adjustable = self.scope.adjustable(self.universe, holder);
        let steady = satisfied.iter().any(|dep| {
            let mut atoms = Vec::new();
            dep.atoms(&mut atoms);
            let conditional = matches!(dep, Dep::Use { flag, .. } if adjustable.contains(flag));
            let still = |atom: &&Atom| !self.scope.open.contains(atom.name()) && !hangs_on(atom, &adjustable);
            !conditional && atoms.iter().all(still)
        });
        if steady {
            // what it rests on may be opened later; then the group is looked at again
            self.pending.push((holder, dep.clone()));
            return;
        }
        inner.iter().for_each(|dep| self.need(holder, dep, &adjustable));
    }

    /// Notes which values the USE dependencies of an atom ask for.
    fn ask(&mut self, holder: Id, atom: &Atom, adjustable: &BTreeSet<String>) {
        for dep in &atom.use_deps {
            let own = &self.universe.instances[holder].flags.enabled;
            let free = adjustable.contains(&dep.flag);
            let (off, on) = (free || !own.contains(&dep.flag), free || own.contains(&dep.flag));
            let asked = match dep.kind {
                UseDepKind::On => [false, true],
                UseDepKind::Off => [true, false],
                UseDepKind::Same => [off, on],
                UseDepKind::Opposite => [on, off],
                UseDepKind::OnIfOn => [false, on],
                UseDepKind::OffIfOff => [off, false],
            };
            let name: Rc<str> = Rc::from(atom.name());
            let known = self.scope.asked.entry(name.clone()).or_default().entry(dep.flag.clone()).or_default();
            let before = *known;
            *known = [before[0] || asked[0], before[1] || asked[1]];
            if *known != before && self.scope.open.contains(&name) && !self.queue.contains(&name) {
                self.queue.push_back(name);
            }
        }
    }

    /// Whether it matters what an ebuild needs and breaks.
    fn counts(&self, id: Id) -> bool {
        self.reach.excluded || self.universe.instances[id].is_possible()
    }

    /// Whether what is installed satisfies it, with today's flags.
    fn is_satisfied_today(&self, holder: Id, dep: &Dep) -> bool {
        satisfied_today(self.universe, holder, dep)
    }

    /// Whether a change of `name` may break the record of `holder`.
    fn may_break(&mut self, holder: Id, name: &str) -> bool {
        let deps = self.universe.instances[holder].deps.clone();
        let mut breaks = false;
        for (kind, deps) in Kind::ALL.into_iter().zip(&deps) {
            let mut atoms = Vec::new();
            deps.iter().for_each(|dep| dep.atoms(&mut atoms));
            for atom in atoms.into_iter().filter(|atom| atom.name() == name) {
                if kind.is_for_building() && !atom.is_built() {
                    continue;
                }
                self.ask(holder, atom, &BTreeSet::new());
                breaks |= self.atom_may_break(holder, atom);
            }
        }
        breaks
    }

    fn atom_may_break(&self, holder: Id, atom: &Atom) -> bool {
        let universe = &self.universe;
        let own = &universe.instances[holder];
        let possible: Vec<Id> = universe.offered(atom.name()).iter().copied().filter(|&id| self.counts(id)).collect();
        if atom.is_blocker() {
            return possible.iter().any(|&id| {
                let other = &universe.instances[id];
                other.is_matched_by(atom) && (other.name != own.name || other.slot != own.slot)
            });
        }
        let met: Vec<Id> = universe
            .installed(atom.name())
            .iter()
            .copied()
            .filter(|&id| universe.instances[id].is_matched_by(atom))
            .collect();
        if met.is_empty() {
            return atom.is_built();
        }
        self.reach.absence
            || possible.iter().any(|&id| {
                let other = &universe.instances[id];
                let replaces = met.iter().any(|&met| universe.instances[met].slot == other.slot);
                let flags_hold = || {
                    let adjustable = self.scope.adjustable(universe, id);
                    use_holds(universe, holder, id, atom)
                        && !atom.use_deps.iter().any(|dep| adjustable.contains(&dep.flag))
                };
                replaces && (!other.is_matched_by(atom) || !flags_hold())
            })
    }
}

/// Whether the USE dependencies of `holder`'s atom hold for an instance, with both as they are configured or recorded.
pub fn use_holds(universe: &Universe<'_>, holder: Id, id: Id, atom: &Atom) -> bool {
    let own = |flag: &str| universe.instances[holder].flags.enabled.contains(flag);
    universe.instances[id].provided
        || atom.use_deps.iter().all(|dep| {
            let Some(on) = universe.flag_of(id, dep) else { return false };
            match dep.kind {
                UseDepKind::On => on,
                UseDepKind::Off => !on,
                UseDepKind::Same => on == own(&dep.flag),
                UseDepKind::Opposite => on != own(&dep.flag),
                UseDepKind::OnIfOn => on || !own(&dep.flag),
                UseDepKind::OffIfOff => !on || own(&dep.flag),
            }
        })
}

/// Whether today's state satisfies a dependency of an instance, with its flags as they are.
pub fn satisfied_today(universe: &Universe<'_>, holder: Id, dep: &Dep) -> bool {
    let installed = |id: &&Id| universe.instances[**id].installed || universe.instances[**id].provided;
    satisfied(universe, holder, dep, &|atom| {
        universe.installed(atom.name()).iter().filter(installed).copied().collect()
    })
}

/// Whether a state satisfies a dependency of an instance. `present` gives the instances of an atom's package in the state.
pub fn satisfied(universe: &Universe<'_>, holder: Id, dep: &Dep, present: &dyn Fn(&Atom) -> Vec<Id>) -> bool {
    let on = |flag: &str| universe.instances[holder].flags.enabled.contains(flag);
    match dep {
        Dep::Atom(atom) => {
            let own = &universe.instances[holder];
            let found = present(atom).into_iter().any(|id| {
                let other = &universe.instances[id];
                let itself = atom.is_blocker() && other.name == own.name && other.slot == own.slot;
                !itself && other.is_matched_by(atom) && use_holds(universe, holder, id, atom)
            });
            found != atom.is_blocker()
        }
        Dep::All(inner) => inner.iter().all(|dep| satisfied(universe, holder, dep, present)),
        Dep::Use { flag, enabled, then } => {
            on(flag) != *enabled || then.iter().all(|dep| satisfied(universe, holder, dep, present))
        }
        Dep::AnyOf(inner) => {
            let mut live =
                inner.iter().filter(|dep| !matches!(dep, Dep::Use { flag, enabled, .. } if on(flag) != *enabled));
            inner.is_empty()
                || live.clone().next().is_none()
                || live.any(|dep| satisfied(universe, holder, dep, present))
        }
    }
}
