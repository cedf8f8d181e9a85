//! One fault that several versions of a package share is told once.

use super::model::{EbuildReport, Finding};

/// A finding, and the other ebuilds that have the same.
pub struct Group<'a> {
    pub ebuild: &'a EbuildReport,
    pub finding: &'a Finding,
    pub others: Vec<&'a EbuildReport>,
}

/// The findings of `ebuilds` in their order, equal ones of one package under the first that has them.
///
/// Equal: the same rule, message and cause, and the same text in the ebuild.
pub fn groups(ebuilds: &[EbuildReport]) -> Vec<Group<'_>> {
    let mut found: Vec<Group> = Vec::new();
    for ebuild in ebuilds {
        for finding in &ebuild.findings {
            let twin = found.iter_mut().find(|g| {
                package(g.ebuild) == package(ebuild) && g.ebuild.cpv != ebuild.cpv && same(g, ebuild, finding)
            });
            match twin {
                Some(group) if !group.others.iter().any(|o| o.cpv == ebuild.cpv) => group.others.push(ebuild),
                _ => found.push(Group { ebuild, finding, others: Vec::new() }),
            }
        }
    }
    found
}

fn same(group: &Group, ebuild: &EbuildReport, finding: &Finding) -> bool {
    let f = group.finding;
    f.rule == finding.rule
        && f.message == finding.message
        && f.cause == finding.cause
        && lines(group.ebuild, f).is_some()
        && lines(group.ebuild, f) == lines(ebuild, finding)
}

/// The ebuild's lines that a finding stands on.
pub fn lines<'a>(ebuild: &'a EbuildReport, finding: &Finding) -> Option<Vec<&'a str>> {
    let (first, last) = (finding.line? as usize, finding.end_line.or(finding.line)? as usize);
    Some(ebuild.source.lines().skip(first.saturating_sub(1)).take(last + 1 - first.min(last)).collect())
}

fn package(ebuild: &EbuildReport) -> &str {
    ebuild.path.rsplit_once('/').map_or(ebuild.path.as_str(), |(dir, _)| dir)
}
