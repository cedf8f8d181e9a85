//! `ebaudit plan`: from the installed packages and the repositories to a subslot migration, or to the proof that there is none.
//!
//! The way of the data: [`universe`] (what is installed and offered) → [`goal`] → [`scope`] (what may change) → [`problem`]
//! (clauses) → [`optimum`] (the smallest solution) → [`assemble`] (steps, atoms, configuration), or [`impossible`] (who can't
//! follow).

mod answer;
mod around;
mod assemble;
mod bindings;
mod blame;
mod circle;
mod family;
mod fault;
pub mod gates;
mod goal;
mod impossible;
mod intake;
mod known;
mod lift;
mod moves;
mod optimum;
mod order;
mod problem;
mod pull;
mod reasons;
mod required_use;
mod scope;
mod solver;
mod state;
mod terms;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod universe;
pub mod verify;
mod ways;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use answer::{
    Action, Answer, Blocker, BlockerKind, Consumer, Edge, EdgeKind, Member, Point, Remark, SCHEMA, Size, Status, Step,
    Tool, cpv_of,
};
pub use bindings::{BrokenBinding, Movable, broken_bindings, movable};
pub use goal::GoalError;
pub use universe::{Flags, Instance, Kind, Obstacle, Source, Wanted};

use crate::gentoo::near;
use goal::Goal;
use optimum::Solution;
use problem::Problem;
use scope::{Reach, Scope};
use state::State;
use terms::Terms;
use universe::Universe;

/// What the user says besides the goals.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Packages that may be unmerged though world names them.
    pub without: Vec<String>,
    /// Packages that must not change.
    pub keep: Vec<String>,
    /// The command that updates the rest of world afterwards is wanted, too.
    pub world: bool,
}

/// Plans a migration.
pub fn plan(source: &dyn Source, goals: &[String], options: &Options) -> Result<Answer, GoalError> {
    let mut universe = Universe::new(source);
    let goals = goals.iter().map(|text| Goal::read(text, &mut universe)).collect::<Result<Vec<_>, _>>()?;
    for (option, packages) in [("without", &options.without), ("keep", &options.keep)] {
        if let Some(name) = packages.iter().find(|name| universe.installed(name).is_empty()) {
            let installed = universe.all_installed().map(|id| universe.instances[id].name.to_string()).collect();
            let near = near::Near(near::nearest(name, installed));
            return Err(GoalError::NotInstalled(option, name.clone(), near.to_string()));
        }
    }
    let names: Vec<Rc<str>> = goals.iter().map(|goal| Rc::from(goal.atom.name())).collect();
    let mut terms = Terms {
        without: options.without.iter().cloned().collect(),
        keep: options.keep.iter().cloned().collect(),
        ..Terms::default()
    };
    let mut answer = empty(&goals);
    answer.warnings = universe
        .all_installed()
        .map(|id| &universe.instances[id])
        .filter_map(|record| Some(Remark { package: record.cpv(), because: record.invalid.clone()? }))
        .collect();
    // bindings that are broken today are mended where that can be; and what only an absence would break is looked at only
    // if there is no way without
    for (leave_broken, absence) in [(false, false), (false, true), (true, false), (true, true)] {
        terms.leave_broken = leave_broken;
        let scope = Scope::around(&mut universe, &names, Reach { absence, excluded: false });
        let family = family::family(&universe, &scope, &names);
        let asked = Asked { scope: &scope, goals: &goals, family: &family };
        if let Some(solution) = asked.best(&mut universe, &mut terms) {
            let changes = solution.fates.iter().any(|fate| !matches!(fate, optimum::Fate::Stays(_)));
            answer.status = if changes { Status::Planned } else { Status::NothingToDo };
            assemble::assemble(&mut answer, &mut universe, &scope, &goals, &family, &solution);
            if options.world {
                let words =
                    ["emerge", "--ask", "--verbose", "--update", "--deep", "--newuse", "--with-bdeps=y", "@world"];
                answer.world_command = words.map(str::to_owned).to_vec();
            }
            if !changes {
                answer.warnings.extend(goals.iter().filter_map(|goal| hidden(&universe, goal)));
            }
            return Ok(answer);
        }
    }
    answer.status = Status::Impossible;
    // what is excluded today is there all the same, and may be a way out with all that it needs
    let scope = Scope::around(&mut universe, &names, Reach { absence: true, excluded: true });
    let family = family::family(&universe, &scope, &names);
    let asked = Asked { scope: &scope, goals: &goals, family: &family };
    answer.blockers = impossible::reasons(&mut universe, asked, &terms);
    Ok(answer)
}

/// A newer version that a goal without a version does not mean, since it is not visible.
fn hidden(universe: &Universe<'_>, goal: &Goal) -> Option<Remark> {
    let installed = universe
        .installed(goal.atom.name())
        .iter()
        .map(|&id| &universe.instances[id])
        .max_by(|a, b| a.cpv.version.cmp(&b.cpv.version))?;
    let mut offered = universe.offered(goal.atom.name()).iter().map(|&id| &universe.instances[id]);
    let newer = offered.find(|one| {
        one.slot == installed.slot
            && one.subslot != installed.subslot
            && one.cpv.version > installed.cpv.version
            && one.invalid.is_none()
    });
    let newer = newer.filter(|one| goal.newest && !one.obstacles.is_empty())?;
    Some(Remark {
        package: newer.cpv(),
        because: format!(
            "it would be sub-slot {}, but is not visible (mask, keywords or licence); name it to plan for it",
            newer.subslot
        ),
    })
}

/// What is asked, whatever the terms.
#[derive(Clone, Copy)]
struct Asked<'q> {
    scope: &'q Scope,
    goals: &'q [Goal],
    family: &'q BTreeSet<Rc<str>>,
}

impl Asked<'_> {
    /// Whether there is a solution at all.
    fn is_possible(self, universe: &Universe<'_>, terms: &Terms) -> bool {
        self.problem(universe, terms).solver.solve(&[])
    }

    fn problem<'p, 'a>(&'p self, universe: &'p Universe<'a>, terms: &'p Terms) -> Problem<'p, 'a> {
        Problem::new(universe, self.scope, self.goals, terms)
    }

    fn is_goal(self, name: &str) -> bool {
        self.goals.iter().any(|goal| goal.atom.name() == name)
    }

    /// Whether there is a plan, and not a solution only.
    fn has_plan(self, universe: &mut Universe<'_>, terms: &Terms) -> bool {
        self.is_possible(universe, terms) && self.best(universe, &mut terms.clone()).is_some()
    }

    /// The smallest solution that is also what emerge does: ebuilds that wait for each other are kept apart, and what
    /// Portage takes of its own choice is taken, one after the other.
    fn best(self, universe: &mut Universe<'_>, terms: &mut Terms) -> Option<Solution> {
        let mut last = None;
        loop {
            let solution = optimum::solve(&mut self.problem(universe, terms), self.family);
            let Some(solution) = solution else {
                // without the slot that Portage would take there may still be a way round its choice
                terms.pulls.pop()?;
                return last;
            };
            let before = State::before(universe, &solution);
            let state = State::after(universe, &self.scope.open, &solution);
            let circle = circle::circle(universe, &state, &solution);
            let pulled = pull::missing(universe, &state, &solution).filter(|pull| !terms.pulls.contains(pull));
            State::undo(universe, before);
            match (circle, pulled) {
                (Some(circle), _) => terms.cycles.push(circle),
                (None, Some(pulled)) => {
                    terms.pulls.push(pulled);
                    last = Some(solution);
                }
                (None, None) => return Some(solution),
            }
        }
    }
}

fn empty(goals: &[Goal]) -> Answer {
    Answer {
        schema: SCHEMA,
        tool: Tool { name: "ebaudit", version: env!("CARGO_PKG_VERSION") },
        goal: goals.iter().map(|goal| goal.text.clone()).collect(),
        status: Status::NothingToDo,
        family: Vec::new(),
        consumers: Vec::new(),
        steps: Vec::new(),
        atoms: Vec::new(),
        command: Vec::new(),
        unmerge: Vec::new(),
        config: BTreeMap::new(),
        config_reasons: BTreeMap::new(),
        blockers: Vec::new(),
        keeps_old: Vec::new(),
        problems: Vec::new(),
        warnings: Vec::new(),
        stages: Vec::new(),
        edges: Vec::new(),
        size: Size::default(),
        rollback: Vec::new(),
        rollback_lost: Vec::new(),
        world_command: Vec::new(),
        audits: Vec::new(),
        verification: None,
    }
}
