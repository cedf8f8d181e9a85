//! `--fix`: writes what the suggestions say into the ebuilds, or shows it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::args::AuditArgs;
use crate::audit::context::Context;
use crate::audit::suggest::{FixKind, Fixes, Trial};
use crate::audit::{audit_text, verify};
use crate::edit::suggest::Plans;
use crate::escape::{escape_path, show};
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::text;
use crate::phase::runner;
use crate::report::model::{Applicability, EbuildReport, Finding, Level};
use crate::report::printable;
use crate::tree::unified_bytes;

/// What fixing came to, of one ebuild.
#[derive(Debug, Default)]
pub struct Fixed {
    number: usize,
    /// The unified diff, where nothing is to be written.
    diff: Option<Vec<u8>>,
    /// The lines that have comments now which stood by what went.
    comments: BTreeSet<u32>,
    /// What is found in the new text, where the report is that of the old one.
    left: Option<Vec<Finding>>,
}

/// What a fix uncovers is fixed in turn, up to so many times.
const MOST_ROUNDS: usize = 8;

/// Audits one ebuild, and does what the arguments ask about suggestions. After a fix the report is that of the new
/// text.
pub fn audit(args: &AuditArgs, context: &Context, ebuild: &EbuildFile) -> (EbuildReport, Fixed) {
    let (mut report, fixes) = audit_text(context, ebuild, &ebuild.path);
    let mut fixed = Fixed::default();
    let Some(mut fixes) = fixes.filter(|_| args.fix || args.suggest) else { return (report, fixed) };
    let shown = escape_path(&ebuild.relative());
    let old = match read(ebuild, &fixes) {
        Ok(old) => old,
        Err(problem) => {
            eprintln!("ebaudit: {}: {problem}", printable(&shown));
            return (report, fixed);
        }
    };
    verify::verify(context, ebuild, &old, &mut report, &mut fixes);
    if !args.fix {
        return (report, fixed);
    }
    let (mut new, mut number, mut last, mut comments) = (old.clone(), 0, None, Vec::new());
    for _ in 0..MOST_ROUNDS {
        let chosen = chosen(args, &fixes);
        // what could not be tried for an interruption is not written
        let next = Some(&chosen).filter(|c| !c.is_empty() && !runner::interrupted());
        let Some((text, done)) = next.and_then(|chosen| fixes.plans.apply(&new, chosen)) else { break };
        // what can't be looked at is not written: the report is always that of the text
        let Ok(script) = verify::lay_out(context, ebuild, "fixed", &text) else { break };
        let (mut report, more) = audit_text(context, ebuild, &script);
        if runner::interrupted() {
            break;
        }
        comments = moved(&comments, &fixes.plans, &chosen);
        (new, number) = (text, number + done.len());
        let more = more.map(|mut more| {
            verify::verify(context, ebuild, &new, &mut report, &mut more);
            more
        });
        last = Some(report);
        let Some(more) = more else { break };
        fixes = more;
    }
    if new == old {
        return (report, fixed);
    }
    let text = String::from_utf8_lossy(&new);
    let line = |(at, comment): &(usize, String)| {
        let is_there = text.get(*at..).is_some_and(|rest| rest.lines().next() == Some(comment));
        is_there.then(|| text[..*at].matches('\n').count() as u32 + 1)
    };
    let comments: BTreeSet<u32> = comments.iter().filter_map(line).collect();
    fixed = Fixed { number, comments, ..fixed };
    if args.output.diff {
        let left = last.map(|last| last.findings);
        return (report, Fixed { diff: unified_bytes(&shown, &old, &new), left, ..fixed });
    }
    match write(ebuild, &old, &new) {
        Err(problem) => {
            eprintln!("ebaudit: {}: {problem}", printable(&shown));
            return (report, Fixed::default());
        }
        Ok(()) => report = last.unwrap_or_else(|| audit_text(context, ebuild, &ebuild.path).0),
    }
    (report, fixed)
}

/// The comments that stood by what went, those of earlier rounds and of this one, with their places in the new text.
fn moved(earlier: &[(usize, String)], plans: &Plans, chosen: &[usize]) -> Vec<(usize, String)> {
    let comment = |at: usize| (at, plans.layout.text[at..].lines().next().unwrap_or_default().to_owned());
    let all = earlier.iter().cloned().chain(plans.comments(chosen).into_iter().map(comment));
    all.filter_map(|(at, comment)| Some((plans.place_after(chosen, at)?, comment))).collect()
}

/// The fixes that are to be written.
fn chosen(args: &AuditArgs, fixes: &Fixes) -> Vec<usize> {
    let wanted = |i: &usize| match (&fixes.fixes[*i].kind, fixes.fixes[*i].state) {
        (_, Trial::Wrong | Trial::Apart) => false,
        (FixKind::Removal, Trial::Right) => args.unsafe_fixes || fixes.fixes[*i].doubt.is_none(),
        _ => args.unsafe_fixes,
    };
    (0..fixes.fixes.len()).filter(wanted).collect()
}

/// The bytes of the text that was audited.
fn read(ebuild: &EbuildFile, fixes: &Fixes) -> Result<Vec<u8>, String> {
    let old = text::read_bytes(&ebuild.path).map_err(|e| format!("can't read it again: {}", e.reason()))?;
    let old = old.ok_or("it is there no more")?;
    match String::from_utf8_lossy(&old) == fixes.plans.layout.text {
        true => Ok(old),
        false => Err("it was changed on the disk meanwhile, so it is left as it is".to_owned()),
    }
}

/// Writes the ebuild anew, where it still has its old text.
fn write(ebuild: &EbuildFile, old: &[u8], new: &[u8]) -> Result<(), String> {
    let is = text::read_bytes(&ebuild.path).map_err(|e| format!("can't read it again: {}", e.reason()))?;
    if is.ok_or("it is there no more")? != old {
        return Err("it was changed on the disk meanwhile, so it is left as it is".to_owned());
    }
    let repository = ebuild.dir().ancestors().nth(2).unwrap_or(Path::new("."));
    let within = |path: &Path| Ok::<_, io::Error>(path.canonicalize()?.starts_with(repository.canonicalize()?));
    match within(&ebuild.path) {
        Ok(true) => replace(&ebuild.path, new).map_err(|e| format!("can't write it: {e}")),
        Ok(false) => Err("it is a link out of the repository, so it is left as it is".to_owned()),
        Err(error) => Err(format!("can't write it: {error}")),
    }
}

/// Puts a new file in the place of the old one at once, with its mode. A link stays a link.
fn replace(path: &Path, data: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let mode = fs::metadata(&path)?.permissions();
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(data)?;
    file.as_file().set_permissions(mode)?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

/// A line for each ebuild with its diff, why findings are left, and the last line. `raw`: the diffs' bytes stay as they are.
pub fn summary(
    out: &mut dyn Write,
    args: &AuditArgs,
    fixed: &[Fixed],
    reports: &[EbuildReport],
    raw: bool,
) -> io::Result<()> {
    let would = if args.output.diff { "would be fixed" } else { "fixed" };
    for (fixed, report) in fixed.iter().zip(reports).filter(|(fixed, _)| fixed.number > 0) {
        write!(out, "{}: {} {would}", printable(&report.path), fixed.number)?;
        for line in &fixed.comments {
            write!(out, "; the comment on line {line} stood by what went, and stays")?;
        }
        writeln!(out)?;
        match fixed.diff.as_deref().unwrap_or_default() {
            diff if raw => out.write_all(diff)?,
            diff => write!(out, "{}", printable(&show(diff)))?,
        }
    }
    let findings =
        fixed.iter().zip(reports).flat_map(|(fixed, report)| fixed.left.as_ref().unwrap_or(&report.findings));
    let left: Vec<&Finding> = findings.filter(|f| f.level >= Level::Warning || f.suggestion.is_some()).collect();
    for why in [Left::Unsafe, Left::ByHand, Left::Nothing, Left::Unwritten] {
        let number = left.iter().filter(|finding| Left::of(finding, args.unsafe_fixes) == why).count();
        if number > 0 {
            writeln!(out, "left: {number} {}", why.words())?;
        }
    }
    let number: usize = fixed.iter().map(|f| f.number).sum();
    writeln!(out, "{number} {would}, {} left", left.len())
}

/// Why a finding is still there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Unsafe,
    ByHand,
    Nothing,
    Unwritten,
}

impl Left {
    fn of(finding: &Finding, unsafe_fixes: bool) -> Left {
        match &finding.suggestion {
            None => Left::Nothing,
            Some(suggestion) if suggestion.replacement.is_none() => Left::ByHand,
            Some(suggestion) if suggestion.applicability == Applicability::Unsafe && !unsafe_fixes => Left::Unsafe,
            Some(_) => Left::Unwritten,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Left::Unsafe => {
                "for --unsafe-fixes: to be put right rather than removed, in reach of flags or of the machine, or not tried"
            }
            Left::ByHand => "to be changed by hand, as the suggestion says",
            Left::Nothing => "without a change that is known to be right",
            Left::Unwritten => "that do not go with the others, or that the run did not come to",
        }
    }
}
