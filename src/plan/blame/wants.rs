//! What an instance needs and can't have.

use super::*;

impl Court<'_, '_> {
    /// Why an instance can't be, if it can't: the goal before all else.
    pub(super) fn lacks(&self, id: Id) -> Option<Death> {
        let universe = self.universe;
        let instance = &universe.instances[id];
        let mut first = None;
        for (kind, dep) in instance.dependencies() {
            let bindings = || {
                let mut atoms = Vec::new();
                dep.atoms(&mut atoms);
                let bound =
                    atoms.into_iter().filter(|atom| atom.is_built()).map(|atom| Dep::Atom(Box::new(atom.clone())));
                let mut held = bound.filter(|dep| satisfied_today(universe, id, dep));
                held.find_map(|dep| self.fails(id, kind, &dep))
            };
            let death = match instance.installed {
                false => self.fails(id, kind, dep),
                true if kind.is_for_building() || !satisfied_today(universe, id, dep) => bindings(),
                true => self.fails(id, kind, dep).or_else(bindings),
            };
            match death {
                Some(death) if matches!(death.cause, Cause::Goal) => return Some(death),
                Some(death) => first = first.or(Some(death)),
                None => {}
            }
        }
        first
    }

    fn fails(&self, id: Id, kind: Kind, dep: &Dep) -> Option<Death> {
        match dep {
            Dep::Atom(atom) if atom.is_blocker() => {
                let name = self.is_bound_to_be(atom, id)?;
                let holder = self.universe.instances[id].cpv();
                let cause = match self.is_goal(&name) || self.is_out(&name) {
                    true => Cause::Goal,
                    false => Cause::Fault(Fault {
                        name,
                        kind: BlockerKind::HardBlock,
                        needs: Some(atom.to_string()),
                        because: format!("{holder} blocks it ({} {atom}), and it has to stay", kind.name()),
                        lifts: Vec::new(),
                    }),
                };
                Some(Death { cause, want: Some((kind, (**atom).clone())) })
            }
            Dep::Atom(atom) => self.misses(id, kind, atom),
            Dep::All(inner) => inner.iter().find_map(|dep| self.fails(id, kind, dep)),
            Dep::Use { flag, enabled, then } => {
                let open = self.adjustable.get(&id).is_some_and(|flags| flags.contains(flag));
                let off = self.terms.flags_off.contains(&(self.universe.instances[id].name.to_string(), flag.clone()));
                let on = self.universe.instances[id].flags.enabled.contains(flag) && !off;
                (!open && on == *enabled).then(|| then.iter().find_map(|dep| self.fails(id, kind, dep))).flatten()
            }
            Dep::AnyOf(inner) => {
                let deaths: Vec<Option<Death>> = inner.iter().map(|dep| self.fails(id, kind, dep)).collect();
                let conditional = inner.iter().any(|dep| matches!(dep, Dep::Use { .. }));
                if inner.is_empty() || conditional || deaths.iter().any(Option::is_none) {
                    return None;
                }
                let mut deaths: Vec<Death> = deaths.into_iter().flatten().collect();
                let at = deaths.iter().position(|death| matches!(death.cause, Cause::Goal)).unwrap_or(0);
                Some(deaths.swap_remove(at))
            }
        }
    }

    fn misses(&self, id: Id, kind: Kind, atom: &Atom) -> Option<Death> {
        if self.is_out(atom.name()) {
            return None;
        }
        let universe = self.universe;
        let matching = universe.matching(atom);
        let uses = |other: Id| {
            let loose = |flag: &str, id: Id| self.adjustable.get(&id).is_some_and(|flags| flags.contains(flag));
            atom.use_deps.iter().any(|dep| loose(&dep.flag, other) || loose(&dep.flag, id))
                || use_holds(universe, id, other, atom)
        };
        if matching.iter().any(|&other| self.is_alive(other) && uses(other)) {
            return None;
        }
        let holder = universe.instances[id].cpv();
        let want = Some((kind, atom.clone()));
        let fitting: Vec<Id> = matching.iter().copied().filter(|&other| uses(other)).collect();
        let known: Vec<Id> = fitting.iter().copied().filter(|id| self.dead.contains_key(id)).collect();
        if known.is_empty() {
            let (kind_of, why) = match matching.is_empty() {
                true => (BlockerKind::NoVersion, "no repository has such a version"),
                false => (BlockerKind::Use, "no version has these flags, nor may they be changed"),
            };
            let fault = Fault {
                name: Rc::from(atom.name()),
                kind: kind_of,
                needs: Some(atom.to_string()),
                because: format!("{holder} needs {atom} ({}), and {why}", kind.name()),
                lifts: Vec::new(),
            };
            return Some(Death { cause: Cause::Fault(fault), want });
        }
        let cause = known.iter().find_map(|id| match &self.dead[id].cause {
            Cause::Fault(fault) => Some(Cause::Fault(fault.clone())),
            Cause::Goal => None,
        });
        let cause = cause.unwrap_or(Cause::Goal);
        Some(Death { cause, want })
    }
}
