//! What stands around the steps of a plan: who stays, what a reader should know, who holds whom.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::gentoo::dependency::{Atom, SlotOperator};

use super::answer::{Answer, Edge, EdgeKind, Remark};
use super::assemble::moved;
use super::family::pins;
use super::goal::Goal;
use super::optimum::{Fate, Solution};
use super::state::{State, active};
use super::universe::{Id, Universe};

/// Installed packages of the old series that stay, and why that is sound; and what the reader should know besides.
pub fn kept(
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
                    let binds = atom.slot_operator == SlotOperator::Equal && names.contains(atom.name());
                    binds && !has_binding(instance, atom.name())
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
    answer.warnings.extend(disagreements(universe, &names, solution));
    answer.keeps_old.sort();
    answer.warnings.sort();
}

fn has_binding(record: &super::universe::Instance, name: &str) -> bool {
    record.atoms().iter().any(|atom| atom.name() == name && atom.is_built())
}

/// Where the ebuild that is merged says otherwise than the record of the same version.
fn disagreements(universe: &Universe<'_>, moved: &BTreeSet<&str>, solution: &Solution) -> Vec<Remark> {
    let mut out = Vec::new();
    for fate in &solution.fates {
        let Fate::Merged { id, over: Some(record), .. } = fate else { continue };
        let (ebuild, record) = (&universe.instances[*id], &universe.instances[*record]);
        if ebuild.cpv.version != record.cpv.version {
            continue;
        }
        if ebuild.subslot != record.subslot {
            out.push(Remark {
                package: ebuild.cpv(),
                because: format!(
                    "its SLOT was changed without a new version: :{}/{} is installed, the ebuild has :{}/{}",
                    record.slot, record.subslot, ebuild.slot, ebuild.subslot
                ),
            });
        }
        let binds = |instance: &super::universe::Instance, name: &str| {
            instance.atoms().iter().any(|atom| atom.name() == name && atom.slot_operator == SlotOperator::Equal)
        };
        for name in moved.iter().filter(|name| binds(record, name) && !binds(ebuild, name)) {
            out.push(Remark {
                package: ebuild.cpv(),
                because: format!("its record is bound to {name}, its ebuild is not any more: it is rebuilt this once"),
            });
        }
    }
    out
}

/// The strongest tie between each two packages of the plan.
pub fn edges(universe: &Universe<'_>, solution: &Solution) -> Vec<Edge> {
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
