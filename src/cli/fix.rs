//! `--fix`: writes what the suggestions say into the ebuilds, or shows it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::args::AuditArgs;
use crate::audit::context::Context;
use crate::audit::suggest::{FixKind, Fixes, Trial};
use crate::audit::{audit_text, verify};
use crate::escape::escape_path;
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::text;
use crate::phase::runner;
use crate::report::model::{EbuildReport, Level};
use crate::report::printable;
use crate::tree::unified;

/// What fixing came to, of one ebuild or of all.
#[derive(Debug, Default)]
pub struct Fixed {
    pub fixed: usize,
    /// Unified diffs of the ebuilds.
    pub diffs: Vec<String>,
}

/// Audits one ebuild, and does what the arguments ask about suggestions. After a fix the report is that of the new
/// text.
pub fn audit(args: &AuditArgs, context: &Context, ebuild: &EbuildFile) -> (EbuildReport, Fixed) {
    let (mut report, fixes) = audit_text(context, ebuild, &ebuild.path);
    let mut fixed = Fixed::default();
    let Some(mut fixes) = fixes.filter(|_| args.fix || args.suggest) else { return (report, fixed) };
    verify::verify(context, ebuild, &mut report, &mut fixes);
    let chosen = chosen(args, &fixes);
    // what could not be tried for an interruption is not written
    if !args.fix || chosen.is_empty() || runner::interrupted() {
        return (report, fixed);
    }
    let shown = escape_path(&ebuild.relative());
    match write(args, ebuild, &fixes, &chosen) {
        Err(problem) => eprintln!("ebaudit: {}: {problem}", printable(&shown)),
        Ok((diff, number)) => {
            fixed.fixed = number;
            fixed.diffs.extend(diff);
            if !args.output.diff {
                report = audit_text(context, ebuild, &ebuild.path).0;
            }
        }
    }
    (report, fixed)
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

/// Writes the ebuild anew, or makes the diff; and how many findings that answers.
fn write(
    args: &AuditArgs,
    ebuild: &EbuildFile,
    fixes: &Fixes,
    chosen: &[usize],
) -> Result<(Option<String>, usize), String> {
    let old = text::read_bytes(&ebuild.path).map_err(|e| format!("can't read it again: {}", e.reason()))?;
    let old = old.ok_or("it is there no more")?;
    if String::from_utf8_lossy(&old) != fixes.plans.layout.text {
        return Err("it was changed on the disk meanwhile, so it is left as it is".to_owned());
    }
    let Some((new, done)) = fixes.plans.apply(&old, chosen) else { return Ok((None, 0)) };
    if args.output.diff {
        return Ok((unified(&escape_path(&ebuild.relative()), &old, &new), done.len()));
    }
    replace(&ebuild.path, &new).map_err(|e| format!("can't write it: {e}"))?;
    Ok((None, done.len()))
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

/// The diffs and the last line.
pub fn summary(out: &mut dyn Write, fixed: &[Fixed], reports: &[EbuildReport], shown_only: bool) -> io::Result<()> {
    for diff in fixed.iter().flat_map(|f| &f.diffs) {
        write!(out, "{}", printable(diff))?;
    }
    let number: usize = fixed.iter().map(|f| f.fixed).sum();
    let findings =
        reports.iter().flat_map(|r| &r.findings).filter(|f| f.level >= Level::Warning || f.suggestion.is_some());
    let left = findings.count();
    match shown_only {
        true => writeln!(out, "{number} would be fixed, {} left", left.saturating_sub(number)),
        false => writeln!(out, "{number} fixed, {left} left"),
    }
}
