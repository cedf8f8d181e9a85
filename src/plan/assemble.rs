//! A solution in the user's terms: steps with their reasons, atoms, configuration, stages.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::answer::{Action, Answer, Consumer, Member, Point, Size, Status, Step};
use super::around::{edges, kept};
use super::family::pins;
use super::goal::Goal;
use super::optimum::{Fate, Solution};
use super::reasons::{Words, flag_words};
use super::scope::Scope;
use super::state::{State, active, needed_by};
use super::universe::{Id, Obstacle, Universe};
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
        (answer.rollback, answer.rollback_lost) = rollback(universe, solution);
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
                        format!("its keywords are not accepted for {} without this line", universe.source().arch()),
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
                Obstacle::UserMask { .. } | Obstacle::Other { .. } => {}
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
pub fn moved<'s>(
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

/// The atoms of what was there before as far as an ebuild of it is left, and what has none.
fn rollback(universe: &Universe<'_>, solution: &Solution) -> (Vec<String>, Vec<String>) {
    let (mut back, mut lost) = (Vec::new(), Vec::new());
    for fate in &solution.fates {
        let (Fate::Merged { over: Some(id), .. } | Fate::Removed(id)) = fate else { continue };
        let record = &universe.instances[*id];
        let mut ebuilds = universe.offered(&record.name).iter().map(|&id| &universe.instances[id]);
        match ebuilds.any(|one| one.cpv.version == record.cpv.version && one.invalid.is_none()) {
            true => back.push(format!("={}", record.cpv())),
            false => lost.push(record.cpv()),
        }
    }
    back.sort();
    lost.sort();
    (back, lost)
}
