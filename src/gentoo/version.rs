//! Versions and their order (PMS 3.2 and 3.3).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A text that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version (PMS 3.2: numbers with dots, a letter, suffixes such as _rc1, -rN)")]
pub struct VersionError(pub String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Suffix {
    Alpha,
    Beta,
    Pre,
    Rc,
    /// The end of the suffixes: below `_p`, above all others (PMS 3.3, algorithm 3.5).
    None,
    P,
}

const SUFFIXES: [(&str, Suffix); 5] =
    [("alpha", Suffix::Alpha), ("beta", Suffix::Beta), ("pre", Suffix::Pre), ("rc", Suffix::Rc), ("p", Suffix::P)];

/// A version with its revision, as `1.2b_rc3-r4`.
///
/// Order and equality are those of PMS 3.3: `1.0` equals `1.0-r0` and `1.00`. [`Version::as_str`]
/// gives the text as it was written.
#[derive(Clone, Debug)]
pub struct Version {
    text: String,
    numbers: Vec<String>,
    letter: Option<char>,
    suffixes: Vec<(Suffix, String)>,
    revision: String,
    /// Where the revision's `-r` begins in `text`, or its length.
    revision_at: usize,
}

impl Version {
    /// Reads a version with or without a revision.
    pub fn parse(text: &str) -> Result<Version, VersionError> {
        parse(text).ok_or_else(|| VersionError(text.to_owned()))
    }

    /// The version as it was written (`PVR` but for a written `-r0`).
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The version without its revision: `PV`.
    pub fn without_revision(&self) -> &str {
        &self.text[..self.revision_at]
    }

    /// The revision as written, `r0` where there is none: `PR`.
    pub fn revision(&self) -> &str {
        match self.text.get(self.revision_at + 1..) {
            Some(revision) if !revision.is_empty() => revision,
            _ => "r0",
        }
    }

    /// Whether it is written like the version of a live ebuild: a number of four or more nines and nothing else (`9999`, `1.2.9999`).
    pub fn looks_live(&self) -> bool {
        self.numbers.iter().any(|number| number.len() >= 4 && number.bytes().all(|digit| digit == b'9'))
    }

    /// Compares all but the revision: what the operator `~` asks.
    pub fn cmp_without_revision(&self, other: &Version) -> Ordering {
        compare_numbers(&self.numbers, &other.numbers)
            .then_with(|| self.letter.cmp(&other.letter))
            .then_with(|| compare_suffixes(&self.suffixes, &other.suffixes))
    }

    /// Whether the operator `=prefix*` holds: the components of `prefix` begin this version (PMS 8.3.1).
    pub fn starts_with(&self, prefix: &str) -> bool {
        let Some(rest) = strip_zeros(&self.text).strip_prefix(strip_zeros(prefix)) else {
            return false;
        };
        // 1* matches 1.2 and 1b but not 12, 1_p* matches 1_p2 but not 1_pre
        match (prefix.chars().next_back(), rest.chars().next()) {
            (Some(last), Some(next)) => "._-".contains(next) || last.is_ascii_digit() != next.is_ascii_digit(),
            _ => true,
        }
    }
}

/// Portage compares `=…*` with the leading zeros of the first number taken away.
fn strip_zeros(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let zeros = text.bytes().take_while(|&byte| byte == b'0').count();
    &text[zeros.min(digits.saturating_sub(1))..]
}

fn parse(text: &str) -> Option<Version> {
    let mut rest = text;
    let mut numbers = vec![digits(&mut rest)?];
    while let Some(after) = rest.strip_prefix('.') {
        rest = after;
        numbers.push(digits(&mut rest)?);
    }
    let mut letter = None;
    if let Some(c) = rest.chars().next().filter(char::is_ascii_lowercase) {
        letter = Some(c);
        rest = &rest[1..];
    }
    let mut suffixes = Vec::new();
    while let Some(after) = rest.strip_prefix('_') {
        let (name, suffix) = SUFFIXES.iter().find(|(name, _)| after.starts_with(name))?;
        rest = &after[name.len()..];
        suffixes.push((*suffix, digits(&mut rest).unwrap_or_default()));
    }
    let revision_at = text.len() - rest.len();
    let mut revision = String::new();
    if let Some(after) = rest.strip_prefix("-r") {
        rest = after;
        revision = digits(&mut rest)?;
    }
    rest.is_empty().then(|| Version { text: text.to_owned(), numbers, letter, suffixes, revision, revision_at })
}

fn digits(rest: &mut &str) -> Option<String> {
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (taken, left) = rest.split_at(length);
    *rest = left;
    (length > 0).then(|| taken.to_owned())
}

/// Numbers of any length; no digits are 0.
fn compare_integers(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Algorithms 3.2 and 3.3: after the first, a number with a leading zero is read as a fraction.
fn compare_numbers(a: &[String], b: &[String]) -> Ordering {
    let first = compare_integers(&a[0], &b[0]);
    let rest = a.iter().zip(b).skip(1).map(|(a, b)| {
        if a.starts_with('0') || b.starts_with('0') {
            a.trim_end_matches('0').cmp(b.trim_end_matches('0'))
        } else {
            compare_integers(a, b)
        }
    });
    std::iter::once(first).chain(rest).find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Algorithms 3.5 and 3.6.
fn compare_suffixes(a: &[(Suffix, String)], b: &[(Suffix, String)]) -> Ordering {
    let none = (Suffix::None, String::new());
    (0..a.len().max(b.len()))
        .map(|index| {
            let (a, b) = (a.get(index).unwrap_or(&none), b.get(index).unwrap_or(&none));
            a.0.cmp(&b.0).then_with(|| compare_integers(&a.1, &b.1))
        })
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.cmp_without_revision(other).then_with(|| compare_integers(&self.revision, &other.revision))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        fn integer(text: &str) -> &str {
            text.trim_start_matches('0')
        }
        integer(&self.numbers[0]).hash(state);
        for number in &self.numbers[1..] {
            match number.starts_with('0') {
                true => number.trim_end_matches('0').hash(state),
                false => number.hash(state),
            }
        }
        self.letter.hash(state);
        for (suffix, number) in &self.suffixes {
            (suffix, integer(number)).hash(state);
        }
        integer(&self.revision).hash(state);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
#[path = "version_tests.rs"]
mod tests;
