//! The atoms of configuration files: package.use and its kin, profiles' lists, world.
//!
//! They are those of PMS 8.3 with what Portage allows its users besides (`portage.dep.Atom` with `allow_wildcard` and
//! `allow_repo`): `*` in names, `=cat/pkg-*9999*`, `::repository`.

use super::super::cpv;
use super::super::names;
use super::super::version::Version;

/// What an atom is held against: a package at a version in a repository.
#[derive(Clone, Copy, Debug)]
pub(in crate::gentoo) struct Subject<'a> {
    /// `category/package`.
    pub name: &'a str,
    pub version: &'a Version,
    pub slot: &'a str,
    pub subslot: &'a str,
    pub repository: &'a str,
}

/// What a file lets its atoms have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gentoo) struct Allowed {
    pub wildcards: bool,
    pub repository: bool,
    pub slot: bool,
    pub slot_operator: bool,
    pub use_flags: bool,
}

impl Allowed {
    /// The user's own files, which no EAPI binds.
    pub const USER: Allowed =
        Allowed { wildcards: true, repository: true, slot: true, slot_operator: true, use_flags: true };

    /// A file of a profile or a repository with this EAPI (PMS 5.2: its atoms have the syntax of the directory's EAPI).
    pub fn of_eapi(eapi: &str, repository: bool) -> Allowed {
        let since = |first: u32| eapi.parse::<u32>().map_or(true, |eapi| eapi >= first);
        Allowed { wildcards: false, repository, slot: since(1), slot_operator: since(5), use_flags: since(2) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Exact(String),
    /// With `*` in the category or the package.
    Pattern(String, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Any,
    Less(Version),
    LessOrEqual(Version),
    Equal(Version),
    /// `=…*`: the text before the star.
    StartsWith(String),
    /// `=…-*text*`, only with patterns.
    Contains(String),
    Same(Version),
    GreaterOrEqual(Version),
    Greater(Version),
}

/// An atom of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::gentoo) struct ConfigAtom {
    text: String,
    name: Name,
    test: Test,
    slot: Option<String>,
    subslot: Option<String>,
    repository: Option<String>,
}

impl ConfigAtom {
    /// Reads an atom; none where Portage would call it invalid in such a file.
    pub fn parse(text: &str, allowed: Allowed) -> Option<ConfigAtom> {
        let rest = match text.split_once('[') {
            Some((before, _)) if allowed.use_flags && text.ends_with(']') => before,
            Some(_) => return None,
            None => text,
        };
        let (rest, repository) = match rest.split_once("::") {
            Some((rest, name)) if allowed.repository && is_repository(name) => (rest, Some(name.to_owned())),
            Some(_) => return None,
            None => (rest, None),
        };
        let (rest, slot) = match rest.split_once(':') {
            Some((rest, slot)) if allowed.slot => (rest, Some(parse_slot(slot, allowed)?)),
            Some(_) => return None,
            None => (rest, None),
        };
        let (slot, subslot) = slot.unwrap_or_default();
        let (operator, rest) = operator(rest);
        let (category, package) = rest.split_once('/')?;
        let (name, test) = match named(operator, category, package) {
            Some(found) => found,
            None if allowed.wildcards => extended(operator, category, package)?,
            None => return None,
        };
        Some(ConfigAtom { text: text.to_owned(), name, test, slot, subslot, repository })
    }

    /// The atom as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The atom without `::repository`, as a line that takes another away names it.
    pub fn without_repository(&self) -> String {
        match &self.repository {
            Some(name) => self.text.replacen(&format!("::{name}"), "", 1),
            None => self.text.clone(),
        }
    }

    /// Whether it names a repository.
    pub fn has_repository(&self) -> bool {
        self.repository.is_some()
    }

    /// The same atom for one repository, unless it names one already.
    pub fn in_repository(mut self, name: &str) -> ConfigAtom {
        if self.repository.is_none() {
            self.repository = Some(name.to_owned());
            let at = self.text.find('[').unwrap_or(self.text.len());
            self.text.insert_str(at, &format!("::{name}"));
        }
        self
    }

    /// `category/package`; none where either is a pattern.
    pub fn exact_name(&self) -> Option<&str> {
        match &self.name {
            Name::Exact(name) => Some(name),
            Name::Pattern(..) => None,
        }
    }

    /// `category/package` as it stands, stars included.
    pub fn written_name(&self) -> String {
        match &self.name {
            Name::Exact(name) => name.clone(),
            Name::Pattern(category, package) => format!("{category}/{package}"),
        }
    }

    /// Whether it has neither operator nor slot, USE or repository.
    pub fn is_plain(&self) -> bool {
        self.exact_name() == Some(&self.text)
    }

    /// Whether it has a version.
    pub fn has_version(&self) -> bool {
        self.test != Test::Any
    }

    /// Whether it matches (portage.dep.match_from_list; USE is not looked at, as there for plain names).
    pub fn matches(&self, subject: Subject<'_>) -> bool {
        let named = match &self.name {
            Name::Exact(name) => name == subject.name,
            Name::Pattern(category, package) => {
                subject.name.split_once('/').is_some_and(|(own, name)| glob(category, own) && glob(package, name))
            }
        };
        named
            && self.test.holds(subject.version)
            && self.slot.as_deref().is_none_or(|slot| slot == subject.slot)
            && self.subslot.as_deref().is_none_or(|subslot| subslot == subject.subslot)
            && self.repository.as_deref().is_none_or(|name| name == subject.repository)
    }

    /// How specific it is (portage.dep.best_match_to_list): lines with more specific atoms override others.
    fn rank(&self) -> i8 {
        if matches!(self.name, Name::Pattern(..)) {
            return match (&self.test, &self.slot) {
                (Test::Contains(_), _) => 0,
                (_, Some(_)) => -1,
                _ => -2,
            };
        }
        let version = match self.test {
            Test::Equal(_) => 6,
            Test::Same(_) => 5,
            Test::StartsWith(_) => 4,
            Test::Any | Test::Contains(_) => 1,
            _ => 2,
        };
        if self.slot.is_some() { version.max(3) } else { version }
    }

    fn bound(&self) -> Option<&Version> {
        match &self.test {
            Test::Any | Test::StartsWith(_) | Test::Contains(_) => None,
            Test::Less(version)
            | Test::LessOrEqual(version)
            | Test::Equal(version)
            | Test::Same(version)
            | Test::GreaterOrEqual(version)
            | Test::Greater(version) => Some(version),
        }
    }

    /// Whether it goes before `held`, the most specific one so far, for a package of this version.
    fn overrides(&self, held: &ConfigAtom, own: &Version) -> bool {
        let (rank, other) = (self.rank(), held.rank());
        rank > other || (rank == 2 && other == 2 && self.is_closer(held, own))
    }

    /// Of two bounds (`<`, `>=`, …) on the same side, whether the first is nearer to the package's version.
    fn is_closer(&self, held: &ConfigAtom, own: &Version) -> bool {
        let (Some(bound), Some(held)) = (self.bound(), held.bound()) else {
            return false;
        };
        if held == own || held == bound {
            return false;
        }
        bound == own || (own < bound && bound < held) || (own > bound && bound > held)
    }
}

/// The atoms of `entries` that match, the most specific last: portage's ordered_by_atom_specificity.
pub(in crate::gentoo) fn by_specificity<'a, T>(
    entries: impl Iterator<Item = &'a (ConfigAtom, T)>,
    subject: Subject<'_>,
) -> Vec<&'a (ConfigAtom, T)> {
    let mut left: Vec<_> = entries.filter(|(atom, _)| atom.matches(subject)).collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let mut best = 0;
        for index in 1..left.len() {
            if left[index].0.overrides(&left[best].0, subject.version) {
                best = index;
            }
        }
        ordered.push(left.remove(best));
    }
    ordered.reverse();
    ordered
}

impl Test {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Test::Any => true,
            Test::Less(than) => version < than,
            Test::LessOrEqual(than) => version <= than,
            Test::Equal(to) => version == to,
            Test::StartsWith(prefix) => version.starts_with(prefix),
            Test::Contains(text) => version.as_str().contains(text.as_str()),
            // Portage compares the texts here: ~1.0 is not 1.00
            Test::Same(to) => version.without_revision() == to.without_revision(),
            Test::GreaterOrEqual(than) => version >= than,
            Test::Greater(than) => version > than,
        }
    }
}

/// `_repo_name` of portage.dep, which is laxer than PMS.
fn is_repository(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(plain) && text.chars().all(|c| plain(c) || c == '-')
}

fn parse_slot(text: &str, allowed: Allowed) -> Option<(Option<String>, Option<String>)> {
    let (rest, operator) = match text.strip_suffix(['=', '*']) {
        Some(rest) => (rest, text.chars().next_back()),
        None => (text, None),
    };
    if (operator.is_some() || rest.contains('/')) && !allowed.slot_operator {
        return None;
    }
    if rest.is_empty() {
        return operator.is_some().then_some((None, None));
    }
    let (slot, subslot) = rest.split_once('/').map_or((rest, None), |(slot, subslot)| (slot, Some(subslot)));
    let sound = names::is_slot(slot) && subslot.is_none_or(names::is_slot) && operator != Some('*');
    sound.then(|| (Some(slot.to_owned()), subslot.map(str::to_owned)))
}

fn operator(text: &str) -> (Option<&'static str>, &str) {
    for operator in ["<=", ">=", "<", ">", "=", "~"] {
        if let Some(rest) = text.strip_prefix(operator) {
            return (Some(operator), rest);
        }
    }
    (None, text)
}

fn named(operator: Option<&str>, category: &str, package: &str) -> Option<(Name, Test)> {
    if !names::is_category(category) {
        return None;
    }
    let Some(operator) = operator else {
        return names::is_package(package).then(|| (Name::Exact(format!("{category}/{package}")), Test::Any));
    };
    let (pf, star) = package.strip_suffix('*').map_or((package, false), |pf| (pf, true));
    if star && operator != "=" {
        return None;
    }
    let (package, version) = cpv::split_pf(pf)?;
    if !names::is_package(package) {
        return None;
    }
    let test = match operator {
        "=" if star => Test::StartsWith(version.as_str().to_owned()),
        "=" => Test::Equal(version),
        "~" => Test::Same(version),
        "<" => Test::Less(version),
        "<=" => Test::LessOrEqual(version),
        ">" => Test::Greater(version),
        _ => Test::GreaterOrEqual(version),
    };
    Some((Name::Exact(format!("{category}/{package}")), test))
}

/// The atoms with `*` in names, which Portage calls extended.
fn extended(operator: Option<&str>, category: &str, package: &str) -> Option<(Name, Test)> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_+*".contains(c);
    let is_category = category.starts_with(plain) && category.chars().all(|c| plain(c) || c == '.' || c == '-');
    let is_package = |text: &str| text.starts_with(plain) && text.chars().all(|c| plain(c) || c == '-');
    let (package, test) = match operator {
        None => (package, Test::Any),
        Some("=") => {
            let (name, version) = package.rsplit_once("-*")?;
            let word = version.strip_suffix('*')?;
            let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            (name, is_word.then(|| Test::Contains(word.to_owned()))?)
        }
        Some(_) => return None,
    };
    let sound = is_category && is_package(package) && !category.contains("**") && !package.contains("**");
    let versioned = operator.is_none() && cpv::split_pf(package).is_some();
    (sound && !versioned).then(|| (Name::Pattern(category.to_owned(), package.to_owned()), test))
}

/// Whether a pattern, in which `*` stands for any text, is the whole of another.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, mut pattern)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    while let Some((part, after)) = pattern.split_once('*') {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
        pattern = after;
    }
    rest.ends_with(pattern)
}

#[cfg(test)]
#[path = "atom_tests.rs"]
mod tests;
