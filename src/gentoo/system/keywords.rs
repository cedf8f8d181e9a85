//! Keywords: which are accepted, and what a package would need (portage's KeywordsManager).

use std::collections::BTreeSet;

use super::atom::Subject;
use super::table::AtomTable;

/// The keywords that are accepted, for all and for single packages.
#[derive(Debug, Default)]
pub(super) struct Keywords {
    /// ACCEPT_KEYWORDS over all layers, sorted.
    pub global: Vec<String>,
    /// ACCEPT_KEYWORDS of the environment alone, which counts again after package.accept_keywords.
    pub environment: Vec<String>,
    pub arch: String,
    /// package.keywords of the profile's directories: changes to KEYWORDS themselves.
    pub changes: Vec<AtomTable<Vec<String>>>,
    /// package.accept_keywords of the profile's directories.
    pub of_profile: Vec<AtomTable<Vec<String>>>,
    /// The user's package.keywords and package.accept_keywords.
    pub of_user: AtomTable<Vec<String>>,
}

impl Keywords {
    /// The package's keywords as the profile changes them.
    fn of(&self, subject: Subject<'_>, keywords: &[String]) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        let changes = self.changes.iter().flat_map(|table| table.matching(subject)).flatten();
        // -* says that no other architecture will do, which nobody asks here
        for word in keywords.iter().filter(|word| *word != "-*").chain(changes) {
            match word.strip_prefix('-') {
                Some("*") => out.clear(),
                Some(word) => out.retain(|known| known != word),
                None if out.contains(word) => {}
                None => out.push(word.clone()),
            }
        }
        out
    }

    /// What is accepted for a package.
    fn accepted(&self, subject: Subject<'_>) -> BTreeSet<String> {
        let mut words = self.global.clone();
        let mut more = false;
        for (table, own) in self.of_profile.iter().map(|table| (table, false)).chain([(&self.of_user, true)]) {
            for said in table.matching(subject) {
                // the user's empty lines were filled in when all his files were read
                let empty = said.is_empty() && !own;
                let said = if empty { unstable(self.global.iter().map(String::as_str)) } else { said.clone() };
                more |= !said.is_empty();
                words.extend(said);
            }
        }
        if !more && self.environment.is_empty() {
            return words.into_iter().collect();
        }
        let mut accepted = BTreeSet::new();
        for word in words.iter().chain(&self.environment) {
            match word.strip_prefix('-') {
                Some("*") => accepted.clear(),
                Some(word) => {
                    accepted.remove(word);
                }
                None => {
                    accepted.insert(word.clone());
                }
            }
        }
        accepted
    }

    /// Whether a package counts as stable (PMS 5.2.11): accepted, and not if all its keywords were unstable.
    pub fn is_stable(&self, subject: Subject<'_>, keywords: &[String]) -> bool {
        let (keywords, accepted) = (self.of(subject, keywords), self.accepted(subject));
        if !is_accepted(&keywords, &accepted) {
            return false;
        }
        let unstable = |word: &String| if word.starts_with('~') { word.clone() } else { format!("~{word}") };
        !is_accepted(&keywords.iter().map(unstable).collect::<Vec<_>>(), &accepted)
    }

    /// What package.accept_keywords would have to say for a package; none where it is accepted. `~arch` where that is
    /// enough, as Portage's autounmask would propose, else `**`.
    pub fn missing(&self, subject: Subject<'_>, keywords: &[String]) -> Option<String> {
        let (changed, accepted) = (self.of(subject, keywords), self.accepted(subject));
        if is_accepted(&changed, &accepted) {
            return None;
        }
        let arch = match self.global.first() {
            Some(first) if !self.global.contains(&self.arch) => first.trim_start_matches('~'),
            _ => self.arch.as_str(),
        };
        let unstable = format!("~{arch}");
        let enough = arch != "*" && accepted.contains(arch) && changed.contains(&unstable);
        Some(if enough { unstable } else { "**".to_owned() })
    }
}

/// What lines without keywords stand for: `~` before each stable one that is accepted.
pub(super) fn unstable<'a>(accepted: impl Iterator<Item = &'a str>) -> Vec<String> {
    accepted.filter(|word| !word.starts_with(['~', '-'])).map(|word| format!("~{word}")).collect()
}

/// KeywordsManager._getMissingKeywords: nothing is missing.
fn is_accepted(keywords: &[String], accepted: &BTreeSet<String>) -> bool {
    let has = |word: &str| accepted.contains(word);
    let (mut stable, mut testing) = (false, false);
    for keyword in keywords {
        match keyword.as_str() {
            "*" => return true,
            "~*" => {
                testing = true;
                if accepted.iter().any(|word| word.starts_with('~')) {
                    return true;
                }
            }
            word if has(word) => return true,
            word if word.starts_with('~') => testing = true,
            word if !word.starts_with('-') => stable = true,
            _ => {}
        }
    }
    (testing && has("~*")) || (stable && has("*")) || has("**")
}

#[cfg(test)]
mod tests {
    use super::super::super::version::Version;
    use super::super::atom::{Allowed, ConfigAtom};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn missing(global: &str, user: Option<&str>, keywords: &str) -> Option<String> {
        let mut all = Keywords { global: words(global), arch: "amd64".to_owned(), ..Keywords::default() };
        if let Some(said) = user {
            let said = if said.is_empty() { unstable(global.split(' ')) } else { words(said) };
            *all.of_user.entry(ConfigAtom::parse("a/b", Allowed::USER).unwrap()) = said;
        }
        let version = Version::parse("1").unwrap();
        let subject = Subject { name: "a/b", version: &version, slot: "0", subslot: "0", repository: "r" };
        all.missing(subject, &words(keywords))
    }

    #[test]
    fn what_is_missing() {
        for (global, user, keywords, expected) in [
            ("amd64", None, "amd64 x86", None),
            ("amd64", None, "~amd64", Some("~amd64")),
            ("amd64 ~amd64", None, "~amd64", None),
            ("amd64", None, "~x86", Some("**")),
            ("amd64", None, "", Some("**")),
            ("amd64", None, "-*", Some("**")),
            ("amd64", None, "-* ~amd64", Some("~amd64")),
            ("amd64", None, "amd64 -amd64", Some("**")),
            ("amd64", Some(""), "~amd64", None),
            ("amd64", Some("**"), "", None),
            ("amd64", Some("*"), "x86", None),
            ("amd64", Some("~*"), "~x86", None),
            ("amd64", Some("~*"), "x86", Some("**")),
            ("amd64 ~amd64", Some("-~amd64"), "~amd64", Some("~amd64")),
            ("~amd64", None, "~x86", Some("**")),
        ] {
            assert_eq!(missing(global, user, keywords).as_deref(), expected, "{global:?} {user:?} {keywords:?}");
        }
    }
}
