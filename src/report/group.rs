//! One fault that several versions of a package share is told once.

use super::model::{EbuildReport, Finding};

/// A finding, and the other ebuilds that have the same, each with its own.
pub struct Group<'a> {
    pub ebuild: &'a EbuildReport,
    pub finding: &'a Finding,
    pub others: Vec<(&'a EbuildReport, &'a Finding)>,
}

/// The findings of `ebuilds` in their order, equal ones of one package under the first that has them.
///
/// Equal: the same rule and cause, and the same text in the ebuild, as it stands or whatever the versions in it and the
/// folders of the source.
pub fn groups(ebuilds: &[EbuildReport]) -> Vec<Group<'_>> {
    let mut found: Vec<(Group, Option<Key>)> = Vec::new();
    for ebuild in ebuilds {
        for finding in &ebuild.findings {
            let key = Key::of(ebuild, finding);
            let twin = found.iter_mut().find(|(group, other)| {
                let has = group.ebuild.cpv == ebuild.cpv || group.others.iter().any(|(o, _)| o.cpv == ebuild.cpv);
                key.as_ref().zip(other.as_ref()).is_some_and(|(a, b)| a.equals(b)) && !has
            });
            match twin {
                Some((group, _)) => group.others.push((ebuild, finding)),
                None => found.push((Group { ebuild, finding, others: Vec::new() }, key)),
            }
        }
    }
    found.into_iter().map(|(group, _)| group).collect()
}

struct Key<'a> {
    package: &'a str,
    rule: super::model::Rule,
    cause: Option<super::model::Cause>,
    raw: Text,
    unversioned: Text,
}

#[derive(PartialEq)]
struct Text {
    command: Option<String>,
    file: Option<String>,
    lines: Vec<String>,
}

impl Key<'_> {
    fn equals(&self, other: &Key) -> bool {
        let same = self.package == other.package && self.rule == other.rule && self.cause == other.cause;
        // a number of the text may be the one ebuild's version by chance
        same && (self.raw == other.raw || self.unversioned == other.unversioned)
    }

    /// None where no text in the ebuild is the finding's.
    fn of<'a>(ebuild: &'a EbuildReport, finding: &Finding) -> Option<Key<'a>> {
        let version = version(ebuild);
        let lines = lines(ebuild, finding)?;
        let name = finding.target.as_ref().and_then(|t| t.rsplit('/').next());
        let edit = finding.edit.and_then(|id| ebuild.edits.iter().find(|e| e.id == id));
        let command = edit.and_then(|e| e.commands.iter().find(|c| Some(c.index) == finding.command));
        let text = |seen: &dyn Fn(&str) -> String| Text {
            command: command.map(|c| seen(&c.text)),
            file: name.map(seen),
            lines: lines.iter().map(|line| seen(line.trim())).collect(),
        };
        Some(Key {
            package: package(ebuild),
            rule: finding.rule,
            cause: finding.cause,
            raw: text(&str::to_owned),
            unversioned: text(&|text| unversioned(text, version)),
        })
    }
}

/// A text with the same sign for every version in it: the ebuild's own, and numbers parted by dots.
fn unversioned(text: &str, own: &str) -> String {
    let text = with_own(text, own);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // `\.` in a pattern parts them as well
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '\\').unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches(['.', '\\']);
        out.push_str(if number.contains('.') { "0.0" } else { number });
        rest = &rest[number.len()..];
    }
    out + rest
}

/// A text with the sign in the place of the ebuild's own version, where that is no part of a longer number.
fn with_own(text: &str, own: &str) -> String {
    let mut out = String::new();
    let mut done = 0;
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    for (at, _) in text.match_indices(own).filter(|_| !own.is_empty()) {
        let (before, after) = (&text[..at], &text[at + own.len()..]);
        let begins = !digit(before.chars().next_back()) && !before.ends_with('.');
        let goes_on = digit(after.strip_prefix('.').unwrap_or(after).chars().next());
        if begins && !goes_on {
            out.push_str(&text[done..at]);
            out.push_str("0.0");
            done = at + own.len();
        }
    }
    out + &text[done..]
}

/// The ebuild's version, as its name has it.
fn version(ebuild: &EbuildReport) -> &str {
    let name = package(ebuild).rsplit('/').next().unwrap_or_default();
    let pf = ebuild.cpv.rsplit('/').next().unwrap_or_default();
    pf.strip_prefix(name).and_then(|v| v.strip_prefix('-')).unwrap_or_default()
}

/// The ebuild's lines that a finding stands on.
pub fn lines<'a>(ebuild: &'a EbuildReport, finding: &Finding) -> Option<Vec<&'a str>> {
    let (first, last) = (finding.line? as usize, finding.end_line.or(finding.line)? as usize);
    Some(ebuild.source.lines().skip(first.saturating_sub(1)).take(last + 1 - first.min(last)).collect())
}

fn package(ebuild: &EbuildReport) -> &str {
    ebuild.path.rsplit_once('/').map_or(ebuild.path.as_str(), |(dir, _)| dir)
}

#[cfg(test)]
mod tests {
    use super::unversioned;

    #[test]
    fn versions_do_not_tell_texts_apart() {
        let same = |a: &str, b: &str| unversioned(a, "1.2-r1") == unversioned(b, "1.10_rc1");
        assert!(same("in foo-1.2-r1/src/a.c", "in foo-1.10_rc1/src/a.c"));
        assert!(same("s/1\\.0\\.7/${PV}/", "s/1\\.0\\.12/${PV}/"));
        assert!(!same("s/lib32/lib/", "s/lib64/lib/"));
        assert!(!same("s/a.b/c/", "s/a.d/c/"));
        assert_eq!(unversioned("1. 2.", ""), "1. 2.");
        assert_eq!(unversioned("s/lib32x/lib2/", "2"), "s/lib32x/lib0.0/");
        assert_eq!(unversioned("3.1 3.1.4 13.1", "3.1"), "0.0 0.0 0.0");
        assert_eq!(unversioned("so.2 2.x", "2"), "so.2 0.0.x");
    }
}
