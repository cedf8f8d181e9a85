//! Licences, PROPERTIES and RESTRICT: which are accepted (portage's LicenseManager, GLEP 23).

use std::collections::{BTreeMap, BTreeSet};

use super::super::depstring::{DepString, DepStringError, GroupKind, Node};
use super::atom::Subject;
use super::table::AtomTable;

/// The licence groups of profiles/license_groups by name.
pub(super) type Groups = BTreeMap<String, Vec<String>>;

/// What is accepted of one variable, for all and for single packages.
#[derive(Debug, Default)]
pub(super) struct Acceptance {
    /// `*`, `-*`, `word`, `-word`, groups resolved; the last word on something counts.
    pub global: Vec<String>,
    pub of_profile: Vec<AtomTable<Vec<String>>>,
    pub of_user: AtomTable<Vec<String>>,
}

/// Replaces `@GROUP` and `-@GROUP` by what is in the group. An unknown group stands for nothing.
pub(super) fn expand<'a>(words: impl IntoIterator<Item = &'a String>, groups: &Groups) -> Vec<String> {
    let mut out = Vec::new();
    for word in words {
        let (sign, name) = word.strip_prefix('-').map_or(("", word.as_str()), |name| ("-", name));
        let Some(group) = name.strip_prefix('@') else {
            out.push(word.clone());
            continue;
        };
        let mut known = BTreeSet::from([group]);
        let mut left = vec![group];
        while let Some(group) = left.pop() {
            for member in groups.get(group).into_iter().flatten() {
                match member.strip_prefix('@') {
                    Some(inner) if known.insert(inner) => left.push(inner),
                    Some(_) => {}
                    None if member.starts_with('-') => {}
                    None => out.push(format!("{sign}{member}")),
                }
            }
        }
    }
    out
}

impl Acceptance {
    /// The words of `text` that are not accepted, with these flags. Of alternatives (`||`) it is none if one is
    /// accepted, else all.
    pub fn missing(
        &self,
        subject: Subject<'_>,
        text: &str,
        enabled: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<String>, DepStringError> {
        let parsed = DepString::parse(text)?;
        let all: BTreeSet<&str> = parsed.all_words().into_iter().collect();
        let mut accepted: BTreeSet<&str> = BTreeSet::new();
        let tables = self.of_profile.iter().chain([&self.of_user]);
        let own = tables.flat_map(|table| table.matching(subject)).flatten();
        for word in self.global.iter().chain(own) {
            match word.as_str() {
                "*" => accepted.extend(&all),
                "-*" => accepted.clear(),
                word => match word.strip_prefix('-') {
                    Some(word) => {
                        accepted.remove(word);
                    }
                    None => {
                        accepted.insert(word);
                    }
                },
            }
        }
        let mut missing = Vec::new();
        for word in not_accepted(&parsed.nodes, false, &accepted, enabled) {
            if !missing.iter().any(|known| known == word) {
                missing.push(word.to_owned());
            }
        }
        Ok(missing)
    }
}

// recursion is bounded by depstring's MAX_DEPTH
fn not_accepted<'a>(
    nodes: &'a [Node],
    any_of: bool,
    accepted: &BTreeSet<&str>,
    enabled: &dyn Fn(&str) -> bool,
) -> Vec<&'a str> {
    let mut missing = Vec::new();
    for node in nodes {
        let own = match node {
            Node::Word(word) if accepted.contains(word.as_str()) => Vec::new(),
            Node::Word(word) => vec![word.as_str()],
            Node::Group(GroupKind::Use { flag, enabled: wanted }, _) if enabled(flag) != *wanted => continue,
            Node::Group(kind, inner) => not_accepted(inner, *kind == GroupKind::AnyOf, accepted, enabled),
        };
        if any_of && own.is_empty() {
            return own;
        }
        missing.extend(own);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::super::super::version::Version;
    use super::super::atom::{Allowed, ConfigAtom};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn missing(global: &str, user: &str, text: &str, flags: &[&str]) -> Vec<String> {
        let groups = Groups::from([
            ("FREE".to_owned(), words("@GPL MIT")),
            ("GPL".to_owned(), words("GPL-2 GPL-3 @FREE")),
            ("EULA".to_owned(), words("evil")),
        ]);
        let mut all = Acceptance { global: expand(&words(global), &groups), ..Acceptance::default() };
        *all.of_user.entry(ConfigAtom::parse("a/b", Allowed::USER).unwrap()) = expand(&words(user), &groups);
        let version = Version::parse("1").unwrap();
        let subject = Subject { name: "a/b", version: &version, slot: "0", subslot: "0", repository: "r" };
        all.missing(subject, text, &|flag| flags.contains(&flag)).unwrap()
    }

    #[test]
    fn groups_and_signs() {
        assert_eq!(missing("-* @FREE", "", "GPL-2 MIT odd", &[]), ["odd"]);
        assert_eq!(missing("* -@EULA", "", "evil odd", &[]), ["evil"]);
        assert!(missing("* -@EULA", "@EULA", "evil", &[]).is_empty());
        assert_eq!(missing("*", "-MIT", "MIT", &[]), ["MIT"]);
        assert_eq!(missing("* @UNKNOWN -* GPL-2", "", "MIT", &[]), ["MIT"]);
    }

    #[test]
    fn alternatives_and_conditionals() {
        let text = "MIT x? ( odd ) || ( evil ( GPL-2 odd ) ) || ( y? ( evil ) )";
        assert_eq!(missing("-* @FREE", "", text, &["x"]), ["odd", "evil"]);
        assert!(missing("-* @FREE odd", "", text, &["x"]).is_empty());
        assert_eq!(missing("-* @FREE odd", "", text, &["y"]), ["evil"]);
        assert!(missing("-*", "", "", &[]).is_empty());
    }
}
