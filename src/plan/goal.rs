//! What is to be reached.

use std::collections::BTreeSet;

use crate::gentoo::dependency::Atom;
use crate::gentoo::near;

use super::universe::{Id, Universe};

/// Why a goal can't be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoalError {
    #[error("`{0}` is no goal: {1}; write =category/package-version, category/package@subslot or category/package")]
    Syntax(String, String),
    #[error("`{0}`: the category is missing; did you mean {1}?")]
    NoCategory(String, String),
    #[error("--{0} {1}: no such package is installed{2}")]
    NotInstalled(&'static str, String, String),
    #[error("`{0}`: neither a repository nor the installed packages have {1}{2}")]
    Unknown(String, String, String),
}

/// A goal: an atom, or a package and the sub-slot that it is to have.
#[derive(Clone, Debug)]
pub struct Goal {
    /// As it was typed.
    pub text: String,
    pub atom: Atom,
    pub subslot: Option<String>,
    /// Whether the sub-slot was not asked for but is that of the newest version that is visible.
    pub newest: bool,
}

impl Goal {
    /// Reads `=dev-util/hip-10.0.0`, `dev-util/hip@10.0`, `dev-libs/icu`. The last means the sub-slot of the newest
    /// version that is visible, or if none is, of the newest that a line of configuration makes so.
    pub fn read(text: &str, universe: &mut Universe<'_>) -> Result<Goal, GoalError> {
        if text.starts_with('@') {
            return Err(GoalError::Syntax(text.to_owned(), "a set is none".to_owned()));
        }
        let (atom, subslot) = match text.split_once('@') {
            Some((atom, subslot)) => (atom, Some(subslot.to_owned())),
            None => (text, None),
        };
        let syntax = |why: String| GoalError::Syntax(text.to_owned(), why);
        if atom.is_empty() {
            return Err(syntax("no package is named".to_owned()));
        }
        if atom.starts_with('!') {
            return Err(syntax("a blocker can't be reached".to_owned()));
        }
        if atom.contains('[') {
            return Err(syntax("USE is changed in package.use, not by a goal".to_owned()));
        }
        if subslot.as_ref().is_some_and(|name| !crate::gentoo::names::is_slot(name)) {
            return Err(syntax("what follows the @ is no sub-slot (PMS 3.1.3)".to_owned()));
        }
        if !atom.contains('/') {
            return Err(no_category(text, atom, universe));
        }
        let parsed = Atom::parse_in_ebuild(atom).map_err(|error| syntax(error.to_string()))?;
        let parsed = match universe.source().current_name(parsed.name()) {
            name if name == parsed.name() => parsed,
            name => Atom::parse(&atom.replacen(parsed.name(), &name, 1)).map_err(|error| syntax(error.to_string()))?,
        };
        let name = parsed.name().to_owned();
        if universe.offer(&name).is_empty() && universe.installed(&name).is_empty() {
            let names = universe.source().names();
            let near = near::Near(near::nearest(&name, names));
            return Err(GoalError::Unknown(text.to_owned(), name, near.to_string()));
        }
        let mut goal = Goal { text: text.to_owned(), atom: parsed, subslot, newest: false };
        let bare = goal.atom.as_str() == name || goal.atom.slot().is_some() && goal.atom.subslot().is_none();
        if goal.subslot.is_none() && bare {
            goal.subslot = newest_subslot(&goal.atom, universe);
            goal.newest = true;
        }
        Ok(goal)
    }

    /// Whether an instance is what the goal asks for.
    pub fn is_met_by(&self, universe: &Universe<'_>, id: Id) -> bool {
        let instance = &universe.instances[id];
        instance.is_matched_by(&self.atom) && self.subslot.as_ref().is_none_or(|subslot| *subslot == instance.subslot)
    }

    /// All instances that meet it.
    pub fn met_by(&self, universe: &Universe<'_>) -> Vec<Id> {
        universe.matching(&self.atom).iter().copied().filter(|&id| self.is_met_by(universe, id)).collect()
    }
}

/// In the slot that is installed where one is.
fn newest_subslot(atom: &Atom, universe: &Universe<'_>) -> Option<String> {
    let slots: BTreeSet<&str> =
        universe.installed(atom.name()).iter().map(|&id| universe.instances[id].slot.as_str()).collect();
    let offered: Vec<_> = universe.offered(atom.name()).iter().map(|&id| &universe.instances[id]).collect();
    let fits = |strict: bool| {
        offered
            .iter()
            .filter(|one| one.is_possible() && one.is_matched_by(atom))
            .filter(|one| !strict || one.obstacles.is_empty())
            .find(|one| slots.is_empty() || slots.contains(one.slot.as_str()))
    };
    fits(true).or_else(|| fits(false)).map(|one| one.subslot.clone())
}

fn no_category(text: &str, atom: &str, universe: &Universe<'_>) -> GoalError {
    let bare = atom.trim_start_matches(['<', '>', '=', '~']);
    let bare = bare.split(':').next().unwrap_or(bare);
    let bare = crate::gentoo::cpv::split_pf(bare).map_or(bare, |(name, _)| name);
    let names = universe.source().names();
    let found: Vec<&String> =
        names.iter().filter(|name| name.split_once('/').is_some_and(|(_, package)| package == bare)).take(3).collect();
    match found[..] {
        [] => GoalError::Unknown(text.to_owned(), bare.to_owned(), String::new()),
        _ => {
            let found: Vec<&str> = found.into_iter().map(String::as_str).collect();
            GoalError::NoCategory(text.to_owned(), found.join(" or "))
        }
    }
}
