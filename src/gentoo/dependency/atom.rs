//! Dependency atoms.

use std::fmt;

use super::super::atom::{TargetAtom, VersionTest};
use super::super::names;
use super::super::version::Version;

/// Why a text is no dependency atom.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AtomError {
    #[error(transparent)]
    Target(#[from] super::super::atom::AtomError),
    #[error("`{0}` names no category; write category/package")]
    NoCategory(String),
    #[error("`{0}`: a name in a dependency holds no `*`")]
    Pattern(String),
    #[error("`{0}`: the USE dependencies are never closed; add a `]`")]
    Unclosed(String),
    #[error("`{0}`: `{1}` is no USE dependency (PMS 8.3.4)")]
    UseDep(String, String),
    #[error("`{0}`: `{1}` is no slot dependency (PMS 8.3.3)")]
    Slot(String, String),
    #[error("`{0}` is bound to a sub-slot (`:slot/sub-slot=`), which only records of installed packages may be")]
    Built(String),
}

/// Whether an atom forbids what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocker {
    /// It asks for it.
    No,
    /// `!`: not to be installed at the same time.
    Weak,
    /// `!!`: not even while the package is being built.
    Strong,
}

/// What stands at the end of a slot dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotOperator {
    None,
    /// `=`: what it matched is recorded, and a change of its sub-slot breaks the package.
    Equal,
    /// `*`: any slot will do, and a change breaks nothing.
    Star,
}

/// What a USE dependency asks of its flag; conditional kinds depend on the flag of the package that has the dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UseDepKind {
    /// `flag`
    On,
    /// `-flag`
    Off,
    /// `flag=`
    Same,
    /// `!flag=`
    Opposite,
    /// `flag?`
    OnIfOn,
    /// `!flag?`
    OffIfOff,
}

/// One USE dependency.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UseDep {
    pub flag: String,
    pub kind: UseDepKind,
    /// What counts where the package has no such flag: `(+)` and `(-)`.
    pub default: Option<bool>,
}

/// A package, as far as an atom looks at it. USE dependencies are looked at apart.
#[derive(Clone, Copy, Debug)]
pub struct Package<'a> {
    /// `category/package`
    pub name: &'a str,
    pub version: &'a Version,
    pub slot: &'a str,
    pub subslot: &'a str,
    pub repository: &'a str,
}

/// An atom of a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    text: String,
    /// `category/package`
    name: String,
    version: VersionTest,
    slot: Option<String>,
    subslot: Option<String>,
    repository: Option<String>,
    pub blocker: Blocker,
    pub slot_operator: SlotOperator,
    pub use_deps: Vec<UseDep>,
}

impl Atom {
    /// Reads an atom of an installed package's record, which may be bound to a sub-slot.
    pub fn parse(text: &str) -> Result<Atom, AtomError> {
        let whole = || text.to_owned();
        let (blocker, rest) = match text.strip_prefix("!!") {
            Some(rest) => (Blocker::Strong, rest),
            None => text.strip_prefix('!').map_or((Blocker::No, text), |rest| (Blocker::Weak, rest)),
        };
        let (rest, use_deps) = match rest.split_once('[') {
            Some((rest, deps)) => {
                let deps = deps.strip_suffix(']').ok_or_else(|| AtomError::Unclosed(whole()))?;
                (rest, deps.split(',').map(|dep| use_dep(text, dep)).collect::<Result<Vec<_>, _>>()?)
            }
            None => (rest, Vec::new()),
        };
        // a repository may follow the slot (a Portage extension)
        let (rest, repository) = match rest.split_once("::") {
            Some((rest, repository)) => (rest, Some(repository.to_owned())),
            None => (rest, None),
        };
        let (rest, slot) = rest.split_once(':').map_or((rest, None), |(rest, slot)| (rest, Some(slot)));
        let (slot, slot_operator) = match slot {
            Some("*") => (None, SlotOperator::Star),
            Some("=") => (None, SlotOperator::Equal),
            Some(slot) => match slot.strip_suffix('=') {
                Some(slot) => (Some(slot), SlotOperator::Equal),
                None => (Some(slot), SlotOperator::None),
            },
            None => (None, SlotOperator::None),
        };
        let (slot, subslot) = match slot.map(|slot| slot.split_once('/').map_or((slot, None), |(a, b)| (a, Some(b)))) {
            Some((slot, subslot)) => {
                if let Some(bad) = [Some(slot), subslot].into_iter().flatten().find(|name| !names::is_slot(name)) {
                    return Err(AtomError::Slot(whole(), bad.to_owned()));
                }
                (Some(slot.to_owned()), subslot.map(str::to_owned))
            }
            None => (None, None),
        };
        let target = TargetAtom::parse(rest)?;
        if !rest.contains('/') {
            return Err(AtomError::NoCategory(whole()));
        }
        let name = target.exact_name().ok_or_else(|| AtomError::Pattern(whole()))?;
        let version = target.into_version_test();
        Ok(Atom { text: whole(), name, version, slot, subslot, repository, blocker, slot_operator, use_deps })
    }

    /// Reads an atom of an ebuild: one bound to a sub-slot is an error there, as Portage has it.
    pub fn parse_in_ebuild(text: &str) -> Result<Atom, AtomError> {
        let atom = Atom::parse(text)?;
        if atom.is_built() {
            return Err(AtomError::Built(text.to_owned()));
        }
        Ok(atom)
    }

    /// `category/package`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The atom as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What the operator and the version ask.
    pub(crate) fn version_test(&self) -> &VersionTest {
        &self.version
    }

    pub fn slot(&self) -> Option<&str> {
        self.slot.as_deref()
    }

    pub fn subslot(&self) -> Option<&str> {
        self.subslot.as_deref()
    }

    pub fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    /// Whether it is bound to the sub-slot that it was built against (`:0/7.2=`).
    pub fn is_built(&self) -> bool {
        self.slot_operator == SlotOperator::Equal && self.subslot.is_some()
    }

    pub fn is_blocker(&self) -> bool {
        self.blocker != Blocker::No
    }

    /// Whether name, version, slot and repository match; USE dependencies are not looked at.
    pub fn matches(&self, package: Package<'_>) -> bool {
        self.name == package.name
            && self.slot.as_deref().is_none_or(|slot| slot == package.slot)
            && self.subslot.as_deref().is_none_or(|subslot| subslot == package.subslot)
            && self.repository.as_deref().is_none_or(|name| name == package.repository)
            && self.version.matches(package.version)
    }
}

fn use_dep(atom: &str, text: &str) -> Result<UseDep, AtomError> {
    let error = || AtomError::UseDep(atom.to_owned(), text.to_owned());
    let (bang, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (minus, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
    let (rest, condition) = match rest.strip_suffix('?') {
        Some(rest) => (rest, Some('?')),
        None => rest.strip_suffix('=').map_or((rest, None), |rest| (rest, Some('='))),
    };
    let (flag, default) = match rest.strip_suffix("(+)") {
        Some(flag) => (flag, Some(true)),
        None => rest.strip_suffix("(-)").map_or((rest, None), |flag| (flag, Some(false))),
    };
    let kind = match (bang, minus, condition) {
        (false, false, None) => UseDepKind::On,
        (false, true, None) => UseDepKind::Off,
        (false, false, Some('=')) => UseDepKind::Same,
        (true, false, Some('=')) => UseDepKind::Opposite,
        (false, false, Some('?')) => UseDepKind::OnIfOn,
        (true, false, Some('?')) => UseDepKind::OffIfOff,
        _ => return Err(error()),
    };
    if !names::is_use_flag(flag) {
        return Err(error());
    }
    Ok(UseDep { flag: flag.to_owned(), kind, default })
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(atom: &str, version: &str, slot: &str, subslot: &str) -> bool {
        let version = Version::parse(version).unwrap();
        let package = Package { name: "a/foo", version: &version, slot, subslot, repository: "own" };
        Atom::parse(atom).unwrap().matches(package)
    }

    #[test]
    fn slots_and_sub_slots() {
        for atom in
            ["a/foo", "a/foo:0", "a/foo:0/7.2", "a/foo:0/7.2=", "a/foo:=", "a/foo:*", "a/foo:0=", "~a/foo-7.2.4:0"]
        {
            assert!(matches(atom, "7.2.4", "0", "7.2"), "{atom}");
        }
        for atom in ["a/foo:0/10.0", "a/foo:0/10.0=", "a/foo:1", "a/foo:1=", "<a/foo-7:=", "a/foo:0/7", "a/foo::other"]
        {
            assert!(!matches(atom, "7.2.4", "0", "7.2"), "{atom}");
        }
    }

    #[test]
    fn what_stands_in_brackets() {
        let atom = Atom::parse("!!>=a/foo-2-r1:3/4=::own[b,-c,d?,!e?,f=,!g=,h(+),-i(-),j(-)?]").unwrap();
        assert_eq!(atom.blocker, Blocker::Strong);
        assert!(atom.is_built() && atom.slot() == Some("3") && atom.subslot() == Some("4"));
        assert_eq!((atom.name(), atom.repository()), ("a/foo", Some("own")));
        let kinds: Vec<_> = atom.use_deps.iter().map(|dep| (dep.flag.as_str(), dep.kind, dep.default)).collect();
        use UseDepKind::*;
        assert_eq!(
            kinds,
            [
                ("b", On, None),
                ("c", Off, None),
                ("d", OnIfOn, None),
                ("e", OffIfOff, None),
                ("f", Same, None),
                ("g", Opposite, None),
                ("h", On, Some(true)),
                ("i", Off, Some(false)),
                ("j", OnIfOn, Some(false)),
            ]
        );
    }

    #[test]
    fn errors() {
        let error = |text: &str| Atom::parse(text).unwrap_err();
        assert!(matches!(error("foo"), AtomError::NoCategory(_)));
        assert!(matches!(error("a/*"), AtomError::Pattern(_)));
        assert!(matches!(error("a/foo[b"), AtomError::Unclosed(_)));
        assert!(matches!(error("a/foo[!-b]"), AtomError::UseDep(..)));
        assert!(matches!(error("a/foo[]"), AtomError::UseDep(..)));
        assert!(matches!(error("a/foo:"), AtomError::Slot(..)));
        assert!(matches!(error("a/foo-1"), AtomError::Target(_)));
        assert!(matches!(Atom::parse_in_ebuild("a/foo:0/2="), Err(AtomError::Built(_))));
        assert!(Atom::parse_in_ebuild("a/foo:0/2").is_ok());
    }

    proptest! {
        #[test]
        fn never_panics(text in r"!{0,2}[<>=~]{0,2}[a-z/*-]{0,6}[0-9.*-]{0,4}(:[0-9/=*]{0,4})?(\[[a-z?=!(),+-]{0,8}\]?)?|\PC*") {
            let _ = Atom::parse(&text);
        }
    }
}
