//! The packages that a plan chooses from: what is installed, as its records say, and what the repositories offer.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::gentoo::cpv::Cpv;
use crate::gentoo::dependency::{Atom, Dep, Package, UseDep};
use crate::gentoo::depstring::DepString;

/// The five variables that hold dependencies on packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Depend,
    Bdepend,
    Rdepend,
    Pdepend,
    Idepend,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Depend, Kind::Bdepend, Kind::Rdepend, Kind::Pdepend, Kind::Idepend];

    /// The variable's name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Depend => "DEPEND",
            Kind::Bdepend => "BDEPEND",
            Kind::Rdepend => "RDEPEND",
            Kind::Pdepend => "PDEPEND",
            Kind::Idepend => "IDEPEND",
        }
    }

    /// Whether it matters only while the package is built.
    pub fn is_for_building(self) -> bool {
        matches!(self, Kind::Depend | Kind::Bdepend)
    }
}

/// What keeps Portage from taking an ebuild without a line of configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A mask of a repository or profile; the user's own is [`Obstacle::UserMask`].
    Mask {
        origin: String,
        comment: String,
    },
    UserMask {
        origin: String,
    },
    /// `~amd64`, `**`
    Keyword(String),
    License(Vec<String>),
    /// Words of PROPERTIES or RESTRICT that are not accepted: that is the user's to decide.
    Other {
        variable: String,
        words: Vec<String>,
    },
}

impl Obstacle {
    /// Whether a plan may write the line that takes it away.
    pub fn may_be_lifted(&self) -> bool {
        !matches!(self, Obstacle::UserMask { .. } | Obstacle::Other { .. })
    }
}

/// USE of an instance.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// IUSE without `+` and `-`.
    pub iuse: BTreeSet<String>,
    pub enabled: BTreeSet<String>,
    /// What the profile forces or masks: no line changes it.
    pub fixed: BTreeSet<String>,
    /// What the user's package.use sets: a plan leaves it alone.
    pub user: BTreeSet<String>,
    /// What is on for IUSE's `+` alone.
    pub by_default: BTreeSet<String>,
}

/// An index into [`Universe::instances`].
pub type Id = usize;

/// A package in one version: an installed one as its record says, or an ebuild.
#[derive(Debug)]
pub struct Instance {
    pub name: Rc<str>,
    pub cpv: Cpv,
    pub slot: String,
    pub subslot: String,
    pub repository: String,
    /// Of its repository.
    pub priority: i64,
    pub installed: bool,
    /// package.provided: there, without a record, and not to be moved.
    pub provided: bool,
    pub flags: Flags,
    /// In the order of [`Kind::ALL`]; those of a record have no conditionals.
    pub deps: [Vec<Dep>; 5],
    pub required_use: DepString,
    pub obstacles: Vec<Obstacle>,
    /// Why Portage does not take the ebuild, whatever the configuration; of a record, what of it can't be read.
    pub invalid: Option<String>,
}

impl Instance {
    /// Whether an atom matches it, USE dependencies not looked at. Of what package.provided names no slot is known: any will do.
    pub fn is_matched_by(&self, atom: &Atom) -> bool {
        match self.provided {
            true => *self.name == *atom.name() && atom.version_test().matches(&self.cpv.version),
            false => atom.matches(self.package()),
        }
    }

    /// As atoms look at it.
    fn package(&self) -> Package<'_> {
        Package {
            name: &self.name,
            version: &self.cpv.version,
            slot: &self.slot,
            subslot: &self.subslot,
            repository: &self.repository,
        }
    }

    /// `category/package-version`.
    pub fn cpv(&self) -> String {
        format!("{}-{}", self.name, self.cpv.version.as_str())
    }

    /// The dependencies with the variables that they stand in.
    pub fn dependencies(&self) -> impl Iterator<Item = (Kind, &Dep)> {
        Kind::ALL.iter().zip(&self.deps).flat_map(|(&kind, deps)| deps.iter().map(move |dep| (kind, dep)))
    }

    /// The atoms of all its dependencies, whatever the flags.
    pub fn atoms(&self) -> Vec<&Atom> {
        let mut atoms = Vec::new();
        self.dependencies().for_each(|(_, dep)| dep.atoms(&mut atoms));
        atoms
    }

    /// Whether it may be chosen at all.
    pub fn is_possible(&self) -> bool {
        self.invalid.is_none() && self.obstacles.iter().all(Obstacle::may_be_lifted)
    }
}

/// An atom of world or of a set.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub atom: Atom,
    pub origin: String,
}

/// Where instances come from.
pub trait Source {
    /// The records and package.provided.
    fn installed(&self) -> Vec<Instance>;
    /// All ebuilds of a package, `category/package`.
    fn candidates(&self, name: &str) -> Vec<Instance>;
    /// Says which packages will be asked for soon, so that they can be read side by side.
    fn prepare(&self, _names: &[Rc<str>]) {}
    fn wanted(&self) -> Vec<Wanted>;
    /// Whether all packages have a flag by the profile, in IUSE or not.
    fn is_implicit_flag(&self, flag: &str) -> bool;
    /// All `category/package` of the repositories.
    fn names(&self) -> Vec<String>;
    /// The name that a package has today, after moves.
    fn current_name(&self, name: &str) -> String;
    fn arch(&self) -> &str;
}

/// All instances that were looked at so far.
pub struct Universe<'a> {
    source: &'a dyn Source,
    pub instances: Vec<Instance>,
    by_name: HashMap<Rc<str>, Vec<Id>>,
    offered: HashMap<Rc<str>, Vec<Id>>,
    /// For a name the records that have an atom with it.
    holders: HashMap<Rc<str>, Vec<Id>>,
    pub wanted: Vec<Wanted>,
    matches: RefCell<HashMap<String, Rc<[Id]>>>,
}

impl<'a> Universe<'a> {
    /// Reads what is installed; ebuilds are read as they are asked for.
    pub fn new(source: &'a dyn Source) -> Universe<'a> {
        let instances = source.installed();
        let mut by_name: HashMap<Rc<str>, Vec<Id>> = HashMap::new();
        let mut holders: HashMap<Rc<str>, Vec<Id>> = HashMap::new();
        for (id, instance) in instances.iter().enumerate() {
            by_name.entry(instance.name.clone()).or_default().push(id);
            let names: BTreeSet<&str> = instance.atoms().into_iter().map(Atom::name).collect();
            for name in names {
                holders.entry(Rc::from(name)).or_default().push(id);
            }
        }
        let wanted = source.wanted();
        Universe { source, instances, by_name, offered: HashMap::new(), holders, wanted, matches: RefCell::default() }
    }

    /// What is installed of a package.
    pub fn installed(&self, name: &str) -> &[Id] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// All that is installed.
    pub fn all_installed(&self) -> impl Iterator<Item = Id> + '_ {
        (0..self.instances.len()).filter(|&id| self.instances[id].installed || self.instances[id].provided)
    }

    /// The ebuilds of a package, newest first; reads them the first time.
    pub fn offer(&mut self, name: &str) -> &[Id] {
        if !self.offered.contains_key(name) {
            let first = self.instances.len();
            self.instances.extend(self.source.candidates(name));
            let mut ids: Vec<Id> = (first..self.instances.len()).collect();
            ids.sort_by(|&a, &b| {
                let (a, b) = (&self.instances[a], &self.instances[b]);
                b.cpv.version.cmp(&a.cpv.version).then(b.priority.cmp(&a.priority))
            });
            self.offered.insert(Rc::from(name), ids);
            self.matches.borrow_mut().clear();
        }
        self.offered(name)
    }

    /// Whether the ebuilds of a package were read.
    pub fn is_read(&self, name: &str) -> bool {
        self.offered.contains_key(name)
    }

    /// The ebuilds of a package that were read.
    pub fn offered(&self, name: &str) -> &[Id] {
        self.offered.get(name).map_or(&[], Vec::as_slice)
    }

    /// The records that have an atom with this name.
    pub fn holders(&self, name: &str) -> &[Id] {
        self.holders.get(name).map_or(&[], Vec::as_slice)
    }

    /// All instances known that an atom matches but for USE.
    pub fn matching(&self, atom: &Atom) -> Rc<[Id]> {
        let key = atom.as_str().trim_start_matches('!');
        let key = key.split('[').next().unwrap_or(key);
        if let Some(found) = self.matches.borrow().get(key) {
            return found.clone();
        }
        let of = self.installed(atom.name()).iter().chain(self.offered(atom.name()));
        let found: Rc<[Id]> = of.copied().filter(|&id| self.instances[id].is_matched_by(atom)).collect();
        self.matches.borrow_mut().insert(key.to_owned(), found.clone());
        found
    }

    /// All instances known of an atom's package, in its slot where it names one, whatever else it says.
    pub fn in_slot(&self, atom: &Atom) -> Vec<Id> {
        let all = self.installed(atom.name()).iter().chain(self.offered(atom.name())).copied();
        all.filter(|&id| atom.slot().is_none_or(|slot| slot == self.instances[id].slot)).collect()
    }

    /// Whether an instance has a flag that USE dependencies may ask for; else their default counts.
    pub fn has_flag(&self, id: Id, flag: &str) -> bool {
        self.instances[id].flags.iuse.contains(flag) || self.source.is_implicit_flag(flag)
    }

    /// What a USE dependency finds for its flag: on, off, or none where neither the flag nor a default is there.
    pub fn flag_of(&self, id: Id, dep: &UseDep) -> Option<bool> {
        match self.has_flag(id, &dep.flag) {
            true => Some(self.instances[id].flags.enabled.contains(&dep.flag)),
            false => dep.default,
        }
    }

    pub fn source(&self) -> &dyn Source {
        self.source
    }
}
