//! What a plan is looked for under besides the goals.

use std::collections::BTreeSet;

use super::universe::{Id, Universe};

/// What a user allows or forbids besides, and what a trial takes for given.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Packages that world does not hold.
    pub without: BTreeSet<String>,
    /// Packages that stay as they are.
    pub keep: BTreeSet<String>,
    /// Packages that are taken for away, and all needs of them for met: "if it were not for these".
    pub gone: BTreeSet<String>,
    /// Packages that are taken for unmerged.
    pub unmerged: BTreeSet<String>,
    /// Flags that are off in the user's package.use, as `(package, flag)`.
    pub flags_off: BTreeSet<(String, String)>,
    /// Packages all of whose flags may change, whatever the user and the profile say of them.
    pub freed: BTreeSet<String>,
    /// Ebuilds that are taken for sound and accepted, and their REQUIRED_USE for met.
    pub lifted: BTreeSet<Id>,
    /// Ebuilds that the user's configuration no longer excludes.
    pub unmasked: BTreeSet<Id>,
    /// What of [`Universe::wanted`] any version will do for.
    pub loose: BTreeSet<usize>,
    /// What Portage merges besides as soon as an ebuild is merged: one of some others.
    pub pulls: Vec<(Id, Vec<Id>)>,
    /// Ebuilds that can't be merged in one run, since each has to be there before another can be built.
    /// For each place of the circle the ebuilds that wait alike.
    pub cycles: Vec<Vec<Vec<Id>>>,
    /// Whether bindings to the goal that are broken already may stay so.
    pub leave_broken: bool,
}

impl Terms {
    /// Whether an ebuild may be chosen.
    pub fn allow(&self, universe: &Universe<'_>, id: Id) -> bool {
        let instance = &universe.instances[id];
        let unmasked = instance.invalid.is_none() && self.unmasked.contains(&id);
        instance.is_possible() || unmasked || self.lifted.contains(&id)
    }
}
