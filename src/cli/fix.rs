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
    let (mut new, mut number, mut last) = (old.clone(), 0, None);
    for _ in 0..MOST_ROUNDS {
        let chosen = chosen(args, &fixes);
        // what could not be tried for an interruption is not written
        let next = Some(&chosen).filter(|c| !c.is_empty() && !runner::interrupted());
        let Some((text, done)) = next.and_then(|chosen| fixes.plans.apply(&new, chosen)) else { break };
        (new, number) = (text, number + done.len());
        let Ok(script) = verify::lay_out(context, ebuild, "fixed", &new) else { break };
        let (mut report, more) = audit_text(context, ebuild, &script);
        let Some(more) = more else { break };
        fixes = more;
        verify::verify(context, ebuild, &new, &mut report, &mut fixes);
        last = Some(report);
    }
    if new == old {
        return (report, fixed);
    }
    if args.output.diff {
        fixed.number(number, unified(&shown, &old, &new));
        return (report, fixed);
    }
    match write(ebuild, &old, &new) {
        Err(problem) => eprintln!("ebaudit: {}: {problem}", printable(&shown)),
        Ok(()) => {
            fixed.number(number, None);
            report = last.unwrap_or_else(|| audit_text(context, ebuild, &ebuild.path).0);
        }
    }
    (report, fixed)
}

impl Fixed {
    fn number(&mut self, number: usize, diff: Option<String>) {
        self.fixed = number;
        self.diffs.extend(diff);
    }
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
    replace(&ebuild.path, new).map_err(|e| format!("can't write it: {e}"))
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
