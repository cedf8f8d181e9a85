//! A solution in the user's terms: steps with their reasons, atoms, configuration, stages.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::gentoo::dependency::Atom;

use super::answer::{Action, Answer, Consumer, Edge, EdgeKind, Member, Point, Remark, Size, Status, Step};
use super::family::pins;
use super::goal::Goal;
use super::optimum::{Fate, Solution};
use super::scope::Scope;
use super::state::{State, active, needed_by};
use super::universe::{Id, Kind, Obstacle, Universe};
use super::{known, order};

/// Fills `answer` with what a solution means.
pub fn assemble(
    answer: &mut Answer,
    universe: &mut Universe<'_>,
    scope: &Scope,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    solution: &Solution,
) {
    let state = State::after(universe, &scope.open, solution);
    let universe = &*universe;
    let merged: Vec<Id> = solution.merged().collect();
    let mut words = Words { universe, state: &state, goals, solution, needed: HashMap::new() };
    words.needed = needed_by(universe, &state, &merged);
    let stages = order::stages(universe, &merged);
    let over: HashMap<Id, Option<Id>> = solution
        .fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Merged { id, over, .. } => Some((*id, *over)),
            _ => None,
        })
        .collect();

    for fate in &solution.fates {
        if let Fate::Removed(id) = fate {
            let instance = &universe.instances[*id];
            answer.steps.push(Step {
                action: Action::Uninstall,
                atom: format!("={}", instance.cpv()),
                repository: instance.repository.clone(),
                requested: !words.is_blocked_softly(*id),
                because: words.why_removed(*id),
                from: Some(instance.cpv.version.as_str().to_owned()),
                heavy: false,
            });
        }
    }
    answer.unmerge = answer.steps.iter().filter(|step| step.requested).map(|step| step.atom.clone()).collect();
    for stage in &stages {
        let mut atoms = Vec::new();
        for &id in stage {
            let atom = atom_for(universe, id);
            let instance = &universe.instances[id];
            let record = over[&id].map(|record| &universe.instances[record]);
            let action = match record.map(|record| instance.cpv.version.cmp(&record.cpv.version)) {
                None => Action::Install,
                Some(std::cmp::Ordering::Greater) => Action::Upgrade,
                Some(std::cmp::Ordering::Less) => Action::Downgrade,
                Some(std::cmp::Ordering::Equal) => Action::Rebuild,
            };
            answer.steps.push(Step {
                action,
                atom: atom.clone(),
                repository: instance.repository.clone(),
                requested: true,
                because: words.why_merged(id, over[&id]),
                from: record.map(|record| record.cpv.version.as_str().to_owned()),
                heavy: known::is_heavy(&instance.name),
            });
            answer.atoms.push(atom.clone());
            atoms.push(atom);
        }
        answer.stages.push(atoms);
    }
    config(answer, universe, solution, &words);
    members(answer, universe, family, solution);
    consumers(answer, universe, family, solution);
    kept(answer, universe, goals, family, solution, &state);
    answer.edges = edges(universe, solution);
    answer.size = size(answer);
    if answer.status == Status::Planned {
        answer.command = ["emerge", "--ask", "--verbose", "--oneshot"].map(str::to_owned).to_vec();
        answer.command.extend(answer.atoms.iter().cloned());
        answer.rollback = rollback(universe, solution);
    }
}

/// The atom that names one ebuild; with its repository where Portage would take the same version from another.
pub fn atom_for(universe: &Universe<'_>, id: Id) -> String {
    let instance = &universe.instances[id];
    let rivals = universe.offered(&instance.name).iter().map(|&other| &universe.instances[other]);
    let rival = rivals.into_iter().any(|other| {
        other.cpv.version == instance.cpv.version
            && other.repository != instance.repository
            && other.priority >= instance.priority
    });
    match rival {
        true => format!("={}::{}", instance.cpv(), instance.repository),
        false => format!("={}", instance.cpv()),
    }
}

/// Reasons, in words.
struct Words<'w, 'a> {
    universe: &'w Universe<'a>,
    state: &'w State,
    goals: &'w [Goal],
    solution: &'w Solution,
    needed: HashMap<Id, Vec<(Id, Kind, Atom)>>,
}

impl Words<'_, '_> {
    fn why_merged(&self, id: Id, over: Option<Id>) -> Vec<String> {
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
                    let hit = |atom: &&Atom| atom.is_blocker() && atom.matches(record.package()) && *blocker != id;
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
                let hits = atoms
                    .into_iter()
                    .filter(|atom| atom.is_blocker() && atom.matches(universe.instances[id].package()));
                out.extend(hits.map(|atom| (holder, kind, atom.clone())));
            }
        }
        out
    }

    /// Whether Portage unmerges it by itself.
    fn is_blocked_softly(&self, id: Id) -> bool {
        let blockers = self.blockers_of(id);
        !blockers.is_empty()
            && blockers.iter().all(|(_, _, atom)| atom.blocker != crate::gentoo::dependency::Blocker::Strong)
    }

    fn why_removed(&self, id: Id) -> Vec<String> {
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

fn flag_words(flags: &BTreeMap<String, bool>) -> String {
    let words: Vec<String> =
        flags.iter().map(|(flag, on)| if *on { flag.clone() } else { format!("-{flag}") }).collect();
    words.join(" ")
}

fn config(answer: &mut Answer, universe: &Universe<'_>, solution: &Solution, words: &Words<'_, '_>) {
    let mut line = |file: &str, text: String, why: String| {
        answer.config_reasons.insert(format!("{file}: {text}"), why);
        answer.config.entry(file.to_owned()).or_default().push(text);
    };
    for fate in &solution.fates {
        let Fate::Merged { id, flags, .. } = fate else { continue };
        let instance = &universe.instances[*id];
        let atom = format!("={}", instance.cpv());
        for obstacle in &instance.obstacles {
            match obstacle {
                Obstacle::Keyword(accept) => {
                    line(
                        "package.accept_keywords",
                        format!("{atom} {accept}"),
                        format!("it is not keyworded for {} as accepted", universe.source().arch()),
                    );
                }
                Obstacle::Mask { origin, comment } => {
                    let comment =
                        if comment.is_empty() { String::new() } else { format!(": {}", comment.replace('\n', " ")) };
                    line("package.unmask", atom.clone(), format!("masked in {origin}{comment}"));
                }
                Obstacle::License(licenses) => {
                    line(
                        "package.license",
                        format!("{atom} {}", licenses.join(" ")),
                        "its licence is not accepted yet".to_owned(),
                    );
                }
                Obstacle::UserMask { .. } | Obstacle::Other(_) => {}
            }
        }
        if !flags.is_empty() {
            line("package.use", format!("{atom} {}", flag_words(flags)), why_flags(universe, words, *id, flags));
        }
        if let Some((name, file, lines)) = known::environment(instance) {
            line("package.env", format!("{atom} {name}"), file.to_owned());
            for text in lines {
                line(&format!("env/{name}"), (*text).to_owned(), file.to_owned());
            }
        }
    }
}

/// Why flags of an ebuild have to change: who asks for them, else its REQUIRED_USE.
fn why_flags(universe: &Universe<'_>, words: &Words<'_, '_>, id: Id, flags: &BTreeMap<String, bool>) -> String {
    let asked: BTreeSet<String> = words
        .needed
        .get(&id)
        .into_iter()
        .flatten()
        .filter(|(_, _, atom)| atom.use_deps.iter().any(|dep| flags.contains_key(&dep.flag)))
        .map(|(holder, _, atom)| format!("{} needs {atom}", universe.instances[*holder].cpv()))
        .collect();
    let required = &universe.instances[id].required_use;
    let named = required.all_words().into_iter().map(|word| word.trim_start_matches('!'));
    let named: BTreeSet<&str> = named.chain(required.flags()).collect();
    match asked.is_empty() {
        false => asked.into_iter().collect::<Vec<_>>().join("; "),
        true if flags.keys().any(|flag| named.contains(flag.as_str())) => "REQUIRED_USE wants it".to_owned(),
        true => "a new default that is in the way".to_owned(),
    }
}

fn point(universe: &Universe<'_>, id: Id) -> Point {
    let instance = &universe.instances[id];
    Point {
        version: instance.cpv.version.as_str().to_owned(),
        subslot: instance.subslot.clone(),
        repository: instance.repository.clone(),
    }
}

fn members(answer: &mut Answer, universe: &Universe<'_>, family: &BTreeSet<Rc<str>>, solution: &Solution) {
    for fate in &solution.fates {
        let (id, from, to) = match fate {
            Fate::Merged { id, over, .. } => (*id, over.map(|id| point(universe, id)), Some(point(universe, *id))),
            Fate::Removed(id) => (*id, Some(point(universe, *id)), None),
            Fate::Stays(_) => continue,
        };
        let instance = &universe.instances[id];
        if !family.contains(&instance.name) || from.as_ref().zip(to.as_ref()).is_some_and(|(from, to)| from == to) {
            continue;
        }
        let mut held = BTreeSet::new();
        for (kind, dep) in instance.dependencies() {
            let mut atoms = Vec::new();
            active(universe, id, dep, &mut atoms);
            let pinned =
                atoms.into_iter().filter(|atom| pins(atom) && family.iter().any(|name| **name == *atom.name()));
            held.extend(pinned.map(|atom| format!("{} {atom}", kind.name())));
        }
        answer.family.push(Member {
            package: instance.name.to_string(),
            slot: instance.slot.clone(),
            from,
            to,
            pins: held.into_iter().collect(),
        });
    }
    answer.family.sort_by(|a, b| (&a.package, &a.slot).cmp(&(&b.package, &b.slot)));
}

/// The members of the family that change, as their records have them.
fn moved<'s>(
    universe: &'s Universe<'_>,
    family: &'s BTreeSet<Rc<str>>,
    solution: &'s Solution,
) -> impl Iterator<Item = Id> + 's {
    solution.fates.iter().filter_map(move |fate| match fate {
        Fate::Merged { over: Some(id), .. } | Fate::Removed(id) if family.contains(&universe.instances[*id].name) => {
            Some(*id)
        }
        _ => None,
    })
}

fn consumers(answer: &mut Answer, universe: &Universe<'_>, family: &BTreeSet<Rc<str>>, solution: &Solution) {
    let mut found: BTreeMap<Id, BTreeSet<String>> = BTreeMap::new();
    for member in moved(universe, family, solution) {
        let name = &universe.instances[member].name;
        for &holder in universe.holders(name) {
            if family.contains(&universe.instances[holder].name) {
                continue;
            }
            for (kind, dep) in universe.instances[holder].dependencies() {
                let mut atoms = Vec::new();
                dep.atoms(&mut atoms);
                let bound = atoms.into_iter().filter(|atom| atom.is_built() && *atom.name() == **name);
                found.entry(holder).or_default().extend(bound.map(|atom| format!("{} {atom}", kind.name())));
            }
        }
    }
    answer.consumers = found
        .into_iter()
        .filter(|(_, bound)| !bound.is_empty())
        .map(|(id, bound)| Consumer { package: universe.instances[id].cpv(), bound_to: bound.into_iter().collect() })
        .collect();
}

/// Installed packages of the old series that stay, and why that is sound; and what the reader should know besides.
fn kept(
    answer: &mut Answer,
    universe: &Universe<'_>,
    goals: &[Goal],
    family: &BTreeSet<Rc<str>>,
    solution: &Solution,
    state: &State,
) {
    let before: Vec<Id> = moved(universe, family, solution).collect();
    let old: BTreeSet<&str> = before.iter().map(|&id| universe.instances[id].subslot.as_str()).collect();
    let names: BTreeSet<&str> = before.iter().map(|&id| &*universe.instances[id].name).collect();
    let mut near: BTreeSet<Id> = BTreeSet::new();
    for &id in &before {
        near.extend(universe.holders(&universe.instances[id].name).iter().copied());
        for (_, dep) in universe.instances[id].dependencies() {
            let mut atoms = Vec::new();
            dep.atoms(&mut atoms);
            near.extend(atoms.into_iter().flat_map(|atom| universe.installed(atom.name()).iter().copied()));
        }
    }
    for goal in goals {
        near.extend(universe.installed(goal.atom.name()).iter().copied());
    }
    for id in near {
        let instance = &universe.instances[id];
        if !state.present(universe, &instance.name).contains(&id) || !instance.installed {
            continue;
        }
        let of_goal = goals.iter().any(|goal| goal.atom.name() == &*instance.name && !goal.is_met_by(universe, id));
        if of_goal || old.contains(instance.subslot.as_str()) && instance.subslot != instance.slot {
            let because = match of_goal {
                true => format!("it is in slot {}, beside the goal", instance.slot),
                false => "it holds nothing that moves to the old sub-slot, and nothing that moves holds it".to_owned(),
            };
            answer.keeps_old.push(Remark { package: instance.cpv(), because });
        }
        // the tree binds what the record does not
        let ebuild = universe.offered(&instance.name).iter().map(|&other| (other, &universe.instances[other]));
        let ebuild = ebuild.into_iter().find(|(_, other)| other.cpv.version == instance.cpv.version);
        if let Some((other, ebuild)) = ebuild {
            for (kind, dep) in ebuild.dependencies() {
                let mut atoms = Vec::new();
                active(universe, other, dep, &mut atoms);
                let gained = |atom: &&Atom| {
                    atom.slot_operator == crate::gentoo::dependency::SlotOperator::Equal && names.contains(atom.name())
                };
                if let Some(atom) = atoms.into_iter().find(gained) {
                    answer.warnings.push(Remark {
                        package: instance.cpv(),
                        because: format!(
                            "its ebuild has {} {atom} now, its record has no such binding: it is not rebuilt; rebuild it by hand if it links to {}",
                            kind.name(),
                            atom.name()
                        ),
                    });
                    break;
                }
            }
        }
    }
    answer.keeps_old.sort();
    answer.warnings.sort();
}

/// The strongest tie between each two packages of the plan.
fn edges(universe: &Universe<'_>, solution: &Solution) -> Vec<Edge> {
    let mut found: BTreeMap<(Rc<str>, Rc<str>), Edge> = BTreeMap::new();
    let names: BTreeSet<Rc<str>> = solution.merged().map(|id| universe.instances[id].name.clone()).collect();
    for fate in &solution.fates {
        let (id, over) = match fate {
            Fate::Merged { id, over, .. } => (*id, *over),
            Fate::Removed(id) => (*id, Some(*id)),
            Fate::Stays(_) => continue,
        };
        for holder in [Some(id), over].into_iter().flatten() {
            for (kind, dep) in universe.instances[holder].dependencies() {
                let mut atoms = Vec::new();
                active(universe, holder, dep, &mut atoms);
                for atom in atoms.into_iter().filter(|atom| !atom.is_blocker()) {
                    let (from, to) = (universe.instances[holder].name.clone(), Rc::from(atom.name()));
                    if from == to || !names.contains(&to) {
                        continue;
                    }
                    let tie = if pins(atom) {
                        EdgeKind::Pin
                    } else if atom.is_built() {
                        EdgeKind::Binding
                    } else {
                        EdgeKind::Need
                    };
                    let edge = Edge {
                        from: from.to_string(),
                        to: to.to_string(),
                        kind: tie,
                        variable: kind.name(),
                        atom: atom.to_string(),
                    };
                    let known = found.entry((from, to)).or_insert_with(|| edge.clone());
                    if edge.kind < known.kind {
                        *known = edge;
                    }
                }
            }
        }
    }
    found.into_values().collect()
}

fn size(answer: &Answer) -> Size {
    let count = |action: Action| answer.steps.iter().filter(|step| step.action == action).count();
    let uninstalls = count(Action::Uninstall);
    Size {
        merges: answer.steps.len() - uninstalls,
        upgrades: count(Action::Upgrade),
        rebuilds: count(Action::Rebuild),
        installs: count(Action::Install),
        downgrades: count(Action::Downgrade),
        uninstalls,
        config_lines: answer.config.values().map(Vec::len).sum(),
        heavy: answer.steps.iter().filter(|step| step.heavy).map(|step| step.atom.clone()).collect(),
    }
}

/// The atoms of what was there before, as far as an ebuild of it is left.
fn rollback(universe: &Universe<'_>, solution: &Solution) -> Vec<String> {
    let mut out: Vec<String> = solution
        .fates
        .iter()
        .filter_map(|fate| match fate {
            Fate::Merged { over: Some(id), .. } | Fate::Removed(id) => Some(*id),
            _ => None,
        })
        .map(|id| format!("={}", universe.instances[id].cpv()))
        .collect();
    out.sort();
    out
}
