//! The atoms that name targets on the command line.
//!
//! They are those of PMS 8.3 without USE dependencies and blockers, with what Portage allows its users besides: a
//! missing category, `*` in names, `::repository`.

use std::fmt;

use super::cpv::{self, Cpv};
use super::names;
use super::version::Version;

/// Why a text is no atom.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AtomError {
    #[error("`{0}`: `{1}` is no category name (PMS 3.1.1)")]
    Category(String, String),
    #[error("`{0}`: `{1}` is no package name (PMS 3.1.2)")]
    Package(String, String),
    #[error("`{0}`: `{1}` is no slot name (PMS 3.1.3)")]
    Slot(String, String),
    #[error("`{0}`: `{1}` is no repository name (PMS 3.1.5)")]
    Repository(String, String),
    #[error("`{0}` has an operator and no version; write {0}-VERSION or leave the operator out")]
    NoVersion(String),
    #[error("`{0}` has a version and no operator; write ={0}")]
    NoOperator(String),
    #[error("`{0}`: a `*` after the version goes with `=` only")]
    Glob(String),
    #[error("`{0}`: `~` takes a version without a revision")]
    Revision(String),
    #[error("`{0}`: USE dependencies and blockers name no target; leave them out")]
    NoTarget(String),
}

/// What an operator asks of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VersionTest {
    Any,
    Less(Version),
    LessOrEqual(Version),
    Equal(Version),
    /// `=…*`: the text before the star.
    StartsWith(String),
    SameVersion(Version),
    GreaterOrEqual(Version),
    Greater(Version),
}

/// An atom that picks ebuilds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetAtom {
    text: String,
    /// May hold `*`; none for any category.
    category: Option<String>,
    /// May hold `*`.
    package: String,
    version: VersionTest,
    slot: Option<String>,
    subslot: Option<String>,
    repository: Option<String>,
}

impl TargetAtom {
    /// Reads `pkg`, `cat/pkg`, `cat/*`, `*/pkg`, `=cat/pkg-1.2`, `=cat/pkg-1*`, `>=`, `<=`, `<`, `>`, `~`, each with an
    /// optional `:slot[/subslot]` and `::repository`.
    pub fn parse(text: &str) -> Result<TargetAtom, AtomError> {
        let whole = || text.to_owned();
        if text.starts_with('!') || text.contains('[') {
            return Err(AtomError::NoTarget(whole()));
        }
        let (rest, repository) = match text.split_once("::") {
            Some((rest, name)) if names::is_repository(name) => (rest, Some(name.to_owned())),
            Some((_, name)) => return Err(AtomError::Repository(whole(), name.to_owned())),
            None => (text, None),
        };
        let (rest, slot) = match rest.split_once(':') {
            Some((rest, slot)) => (rest, Some(slot)),
            None => (rest, None),
        };
        let (slot, subslot) =
            match slot.map(|slot| slot.split_once('/').map_or((slot, None), |(s, sub)| (s, Some(sub)))) {
                Some((slot, subslot)) => {
                    if let Some(bad) = [Some(slot), subslot].into_iter().flatten().find(|name| !names::is_slot(name)) {
                        return Err(AtomError::Slot(whole(), bad.to_owned()));
                    }
                    (Some(slot.to_owned()), subslot.map(str::to_owned))
                }
                None => (None, None),
            };
        let (operator, rest) = operator(rest);
        let (category, pf) = match rest.split_once('/') {
            Some((category, pf)) => (Some(category), pf),
            None => (None, rest),
        };
        if let Some(category) = category.filter(|category| !is_pattern(category, names::is_category)) {
            return Err(AtomError::Category(whole(), category.to_owned()));
        }
        let (package, version) = match operator {
            None => (pf, VersionTest::Any),
            Some(operator) => versioned(text, operator, pf)?,
        };
        if !is_pattern(package, names::is_package) {
            return Err(match operator.is_none() && cpv::split_pf(package).is_some() {
                true => AtomError::NoOperator(whole()),
                false => AtomError::Package(whole(), package.to_owned()),
            });
        }
        Ok(TargetAtom {
            text: whole(),
            category: category.filter(|category| *category != "*").map(str::to_owned),
            package: package.to_owned(),
            version,
            slot,
            subslot,
            repository,
        })
    }

    /// Whether the atom asks for a slot, so that metadata are needed to match it.
    pub fn has_slot(&self) -> bool {
        self.slot.is_some()
    }

    /// The repository that the atom asks for.
    pub fn repository(&self) -> Option<&str> {
        self.repository.as_deref()
    }

    /// `category/package`, or the package alone where any category will do.
    pub fn name(&self) -> String {
        match &self.category {
            Some(category) => format!("{category}/{}", self.package),
            None => self.package.clone(),
        }
    }

    /// Whether category and package match.
    pub fn matches_name(&self, category: &str, package: &str) -> bool {
        self.category.as_deref().is_none_or(|pattern| glob(pattern, category)) && glob(&self.package, package)
    }

    /// Whether the atom matches a package. `slot` is `slot` or `slot/subslot`; an unknown one matches no atom that asks for it.
    pub fn matches(&self, cpv: &Cpv, slot: Option<&str>, repository: &str) -> bool {
        self.matches_name(&cpv.category, &cpv.package)
            && self.version.matches(&cpv.version)
            && self.repository.as_deref().is_none_or(|name| name == repository)
            && self.matches_slot(slot)
    }

    fn matches_slot(&self, slot: Option<&str>) -> bool {
        let Some(wanted) = &self.slot else {
            return true;
        };
        let Some(slot) = slot else { return false };
        // without a sub-slot it is the slot's own name (PMS 7.2)
        let (slot, subslot) = slot.split_once('/').unwrap_or((slot, slot));
        wanted == slot && self.subslot.as_deref().is_none_or(|wanted| wanted == subslot)
    }

    /// `category/package`, if neither is a pattern.
    pub(super) fn exact_name(&self) -> Option<String> {
        let category = self.category.as_ref()?;
        let name = format!("{category}/{}", self.package);
        (!name.contains('*')).then_some(name)
    }

    /// The version that the operator compares with; none without an operator and for `=…*`.
    pub(super) fn version(&self) -> Option<&Version> {
        match &self.version {
            VersionTest::Any | VersionTest::StartsWith(_) => None,
            VersionTest::Less(version)
            | VersionTest::LessOrEqual(version)
            | VersionTest::Equal(version)
            | VersionTest::SameVersion(version)
            | VersionTest::GreaterOrEqual(version)
            | VersionTest::Greater(version) => Some(version),
        }
    }

    pub(super) fn into_version_test(self) -> VersionTest {
        self.version
    }

    /// How specific the atom is, as Portage ranks the lines of package.* files: later overrides earlier.
    pub(super) fn specificity(&self) -> u8 {
        let version = match self.version {
            VersionTest::Equal(_) => 6,
            VersionTest::SameVersion(_) => 5,
            VersionTest::StartsWith(_) => 4,
            VersionTest::Any => 1,
            _ => 2,
        };
        if self.slot.is_some() { version.max(3) } else { version }
    }
}

impl VersionTest {
    pub(crate) fn matches(&self, version: &Version) -> bool {
        match self {
            VersionTest::Any => true,
            VersionTest::Less(than) => version < than,
            VersionTest::LessOrEqual(than) => version <= than,
            VersionTest::Equal(to) => version == to,
            VersionTest::StartsWith(prefix) => version.starts_with(prefix),
            VersionTest::SameVersion(to) => version.cmp_without_revision(to).is_eq(),
            VersionTest::GreaterOrEqual(than) => version >= than,
            VersionTest::Greater(than) => version > than,
        }
    }
}

fn operator(text: &str) -> (Option<&'static str>, &str) {
    for operator in ["<=", ">=", "<", ">", "=", "~"] {
        if let Some(rest) = text.strip_prefix(operator) {
            return (Some(operator), rest);
        }
    }
    (None, text)
}

fn versioned<'a>(text: &str, operator: &str, pf: &'a str) -> Result<(&'a str, VersionTest), AtomError> {
    let whole = || text.to_owned();
    let (pf, star) = pf.strip_suffix('*').map_or((pf, false), |pf| (pf, true));
    if star && operator != "=" {
        return Err(AtomError::Glob(whole()));
    }
    let (package, version) = cpv::split_pf(pf).ok_or_else(|| AtomError::NoVersion(whole()))?;
    let test = match operator {
        "=" if star => VersionTest::StartsWith(version.as_str().to_owned()),
        "=" => VersionTest::Equal(version),
        "~" if version.without_revision() != version.as_str() => {
            return Err(AtomError::Revision(whole()));
        }
        "~" => VersionTest::SameVersion(version),
        "<" => VersionTest::Less(version),
        "<=" => VersionTest::LessOrEqual(version),
        ">" => VersionTest::Greater(version),
        _ => VersionTest::GreaterOrEqual(version),
    };
    Ok((package, test))
}

/// A name, or one in which `*` stands for any text.
fn is_pattern(text: &str, is_name: impl Fn(&str) -> bool) -> bool {
    // with something in the place of each star it must be a name
    !text.is_empty() && !text.contains("**") && is_name(&text.replace('*', "a"))
}

fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

impl fmt::Display for TargetAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(atom: &str, cpv: &str) -> bool {
        TargetAtom::parse(atom).unwrap().matches(&Cpv::parse(cpv).unwrap(), Some("0/5"), "own")
    }

    #[test]
    fn names_and_stars() {
        for atom in ["a-b/foo", "foo", "a-b/*", "*/foo", "*/*", "*", "a-*/f*o", "foo::own", "foo:0", "foo:0/5::own"] {
            assert!(matches(atom, "a-b/foo-1"), "{atom}");
        }
        for atom in ["a-c/foo", "bar", "foo::other", "foo:1", "foo:0/6", "*/fo", "f*oo*x"] {
            assert!(!matches(atom, "a-b/foo-1"), "{atom}");
        }
        assert!(!TargetAtom::parse("foo:0").unwrap().matches(&Cpv::parse("a/foo-1").unwrap(), None, "own"));
    }

    #[test]
    fn versions() {
        for atom in
            ["=a/foo-1.2", "=a/foo-1*", "=foo-1.2-r0", ">=a/foo-1", "<=a/foo-1.2", "<foo-2", ">a/foo-1.1", "~a/foo-1.2"]
        {
            assert!(matches(atom, "a/foo-1.2"), "{atom}");
        }
        for atom in ["=a/foo-1.2", "<a/foo-1.2", "=a/foo-1.2.3*", "~a/foo-1.3"] {
            assert!(!matches(atom, "a/foo-1.2-r1"), "{atom}");
        }
        assert!(matches("~a/foo-1.2", "a/foo-1.2-r7") && matches("=a/foo-1.2*", "a/foo-1.2-r1"));
        assert!(matches("=a/foo-bar-1", "a/foo-bar-1"));
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str| TargetAtom::parse(text).unwrap_err();
        assert_eq!(error("a/foo-1").to_string(), "`a/foo-1` has a version and no operator; write =a/foo-1");
        assert!(matches!(error("=a/foo"), AtomError::NoVersion(_)));
        assert!(matches!(error(">=a/foo-1*"), AtomError::Glob(_)));
        assert!(matches!(error("~a/foo-1-r1"), AtomError::Revision(_)));
        assert!(matches!(error("a b/foo"), AtomError::Category(..)));
        assert!(matches!(error("a/b/c"), AtomError::Package(..)));
        assert!(matches!(error(""), AtomError::Package(..)));
        assert!(matches!(error("foo:"), AtomError::Slot(..)));
        assert!(matches!(error("foo:0="), AtomError::Slot(..)));
        assert!(matches!(error("foo::"), AtomError::Repository(..)));
        assert!(matches!(error("foo[x]"), AtomError::NoTarget(_)) && matches!(error("!foo"), AtomError::NoTarget(_)));
    }

    proptest! {
        #[test]
        fn never_panics(text in r"[=<>~]{0,2}[a*/-]{0,6}[1.*:0-]{0,5}|\PC*") {
            if let Ok(atom) = TargetAtom::parse(&text) {
                atom.matches(&Cpv::parse("a/a-1").unwrap(), Some("0"), "r");
            }
        }
    }
}
