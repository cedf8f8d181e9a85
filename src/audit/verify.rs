//! Suggestions tried: the ebuild with the new text run again, and what came of it compared.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::context::Context;
use super::job::audit_text;
use super::suggest::{Fix, FixKind, Fixes, Trial};
use crate::gentoo::repository::EbuildFile;
use crate::report::model::{Applicability, EbuildReport, Finding, Status, Verdict};

/// Tries all fixes, and says in the report's suggestions which are right. One that proved wrong is suggested no more.
pub fn verify(context: &Context, ebuild: &EbuildFile, report: &mut EbuildReport, fixes: &mut Fixes) {
    let Ok(bytes) = fs::read(&ebuild.path) else { return };
    let mut trier = Trier { context, ebuild, bytes, number: 0 };
    if report.status == Status::Audited {
        removals(&mut trier, report, fixes);
    }
    corrections(&mut trier, report, fixes);
    for fix in &fixes.fixes {
        tell(fix, &mut report.findings);
    }
}

struct Trier<'a> {
    context: &'a Context,
    ebuild: &'a EbuildFile,
    bytes: Vec<u8>,
    number: usize,
}

impl Trier<'_> {
    /// The report of the ebuild with these fixes, and which of them it has.
    fn run(&mut self, fixes: &Fixes, chosen: &[usize]) -> Option<(EbuildReport, Vec<usize>)> {
        let (text, done) = fixes.plans.apply(&self.bytes, chosen)?;
        let script = self.lay_out(&text).ok()?;
        let (report, _) = audit_text(self.context, self.ebuild, &script);
        let _ = fs::remove_file(&script);
        Some((report, done))
    }

    fn lay_out(&mut self, text: &[u8]) -> io::Result<PathBuf> {
        self.number += 1;
        let cpv = &self.ebuild.cpv;
        let dir = self.context.run.path().join("trials").join(&cpv.category).join(self.number.to_string());
        fs::create_dir_all(&dir)?;
        let script = dir.join(format!("{}.ebuild", cpv.pf()));
        fs::write(&script, text)?;
        Ok(script)
    }
}

/// All removals together, and one by one where that is not the same tree.
fn removals(trier: &mut Trier, report: &EbuildReport, fixes: &mut Fixes) {
    let is_removal = |i: &usize| matches!(fixes.fixes[*i].kind, FixKind::Removal { .. });
    let all: Vec<usize> = (0..fixes.fixes.len()).filter(is_removal).collect();
    if all.is_empty() {
        return;
    }
    let same = |new: &EbuildReport| new.status == Status::Audited && new.tree.after == report.tree.after;
    let Some((new, done)) = trier.run(fixes, &all) else { return };
    if same(&new) {
        done.iter().for_each(|i| fixes.fixes[*i].state = Trial::Right);
        return;
    }
    let mut right: Vec<usize> = Vec::new();
    for one in done {
        let chosen = [right.clone(), vec![one]].concat();
        let Some((new, done)) = trier.run(fixes, &chosen) else { continue };
        if same(&new) && done.contains(&one) {
            right.push(one);
            fixes.fixes[one].state = Trial::Right;
        } else if done.contains(&one) {
            fixes.fixes[one].state = Trial::Wrong;
        }
    }
}

/// Each correction by itself.
fn corrections(trier: &mut Trier, report: &EbuildReport, fixes: &mut Fixes) {
    for one in 0..fixes.fixes.len() {
        let FixKind::Correction { line, target } = fixes.fixes[one].kind.clone() else { continue };
        let Some((new, done)) = trier.run(fixes, &[one]) else { continue };
        if !done.contains(&one) {
            continue;
        }
        let command = report.findings[fixes.fixes[one].finding].command;
        let right = lives(&new, line, command) && nothing_else(report, &new, line, target.as_deref());
        fixes.fixes[one].state = if right { Trial::Right } else { Trial::Wrong };
    }
}

/// Whether the edit on `line` (its command) does something now.
fn lives(new: &EbuildReport, line: u32, command: Option<usize>) -> bool {
    new.edits.iter().filter(|e| e.origin.line == line).any(|edit| match command {
        Some(index) => edit.commands.iter().any(|c| c.index == index && c.verdict == Verdict::Live),
        None => edit.verdict == Verdict::Live && !edit.commands.iter().any(|c| c.verdict == Verdict::Dead),
    })
}

/// Whether no other file and no other edit fares otherwise than before.
fn nothing_else(old: &EbuildReport, new: &EbuildReport, line: u32, target: Option<&str>) -> bool {
    if old.status != Status::Audited {
        // what came behind the failure could not be seen before
        return true;
    }
    let own = new.edits.iter().filter(|e| e.origin.line == line).flat_map(|e| &e.targets);
    let own: Vec<&str> = own.map(|t| t.path.as_str()).chain(target).collect();
    let state = |report: &EbuildReport| -> Vec<(String, Option<String>)> {
        let others = report.changed.iter().filter(|c| !own.contains(&c.path.as_str()));
        others.map(|c| (c.path.clone(), c.after.clone())).collect()
    };
    let key = |f: &Finding| (f.rule, f.command, f.target.clone(), f.message.clone());
    let known: Vec<_> = old.findings.iter().map(key).collect();
    new.status == Status::Audited && state(old) == state(new) && new.findings.iter().all(|f| known.contains(&key(f)))
}

/// Puts the trial's outcome into the finding's suggestion.
fn tell(fix: &Fix, findings: &mut [Finding]) {
    let Some(finding) = findings.get_mut(fix.finding) else { return };
    match fix.state {
        Trial::Untried => {}
        Trial::Wrong => finding.suggestion = None,
        Trial::Right => {
            if let Some(suggestion) = &mut finding.suggestion {
                suggestion.verified = true;
                if fix.kind == (FixKind::Removal { pointless: true }) {
                    suggestion.applicability = Applicability::Safe;
                }
            }
        }
    }
}
