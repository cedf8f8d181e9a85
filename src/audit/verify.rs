//! Suggestions tried: the ebuild with the new text run again, and what came of it compared.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::command_findings::because;
use super::context::Context;
use super::job::audit_text;
use super::rules::Rule;
use super::suggest::{Fix, FixKind, Fixes, Trial};
use crate::gentoo::repository::EbuildFile;
use crate::phase::runner;
use crate::report::model::{Applicability, EbuildReport, Finding, Status, Verdict};

/// Tries all fixes, and says in the report's suggestions which are right. One that proved wrong is suggested no more.
/// `bytes` are those of the text that was audited.
pub fn verify(context: &Context, ebuild: &EbuildFile, bytes: &[u8], report: &mut EbuildReport, fixes: &mut Fixes) {
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
    bytes: &'a [u8],
    number: usize,
}

impl Trier<'_> {
    /// The report of the ebuild with these fixes, and which of them it has.
    fn run(&mut self, fixes: &Fixes, chosen: &[usize]) -> Option<(EbuildReport, Vec<usize>)> {
        let (text, done) = fixes.plans.apply(self.bytes, chosen)?;
        self.number += 1;
        let script = lay_out(self.context, self.ebuild, &self.number.to_string(), &text).ok()?;
        let (report, _) = audit_text(self.context, self.ebuild, &script);
        let _ = fs::remove_file(&script);
        // a run that was ended from outside says nothing of the text
        (!runner::interrupted()).then_some((report, done))
    }
}

/// A file of the ebuild's name with this text, for one run; `number` tells it from others.
pub fn lay_out(context: &Context, ebuild: &EbuildFile, number: &str, text: &[u8]) -> io::Result<PathBuf> {
    let cpv = &ebuild.cpv;
    let dir = context.run.path().join("trials").join(&cpv.category).join(number);
    fs::create_dir_all(&dir)?;
    let script = dir.join(format!("{}.ebuild", cpv.pf()));
    fs::write(&script, text)?;
    Ok(script)
}

/// The removals without a doubt, which may be written without the others; then those on top of them.
fn removals(trier: &mut Trier, report: &EbuildReport, fixes: &mut Fixes) {
    let mut right = Vec::new();
    for doubtful in [false, true] {
        let own = |f: &Fix| f.kind == FixKind::Removal && f.doubt.is_some() == doubtful;
        let all: Vec<usize> = (0..fixes.fixes.len()).filter(|i| own(&fixes.fixes[*i])).collect();
        if !all.is_empty() {
            removed(trier, report, fixes, &mut right, &all);
        }
    }
}

/// All of them together, and one by one where that is not the same tree. `right`: those that are known to be.
fn removed(trier: &mut Trier, report: &EbuildReport, fixes: &mut Fixes, right: &mut Vec<usize>, all: &[usize]) {
    let same = |new: &EbuildReport| new.status == Status::Audited && new.tree.after == report.tree.after;
    let Some((new, done)) = trier.run(fixes, &[&right[..], all].concat()) else { return };
    let done: Vec<usize> = done.into_iter().filter(|i| all.contains(i)).collect();
    if same(&new) {
        done.iter().for_each(|i| fixes.fixes[*i].state = Trial::Right);
        right.extend(done);
        return;
    }
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

/// All corrections together with the removals, as they are written, and one by one where that is not what it must be.
fn corrections(trier: &mut Trier, report: &EbuildReport, fixes: &mut Fixes) {
    let is_removal = |fix: &Fix| matches!(fix.kind, FixKind::Removal);
    let all: Vec<usize> = (0..fixes.fixes.len()).filter(|i| !is_removal(&fixes.fixes[*i])).collect();
    let mut right: Vec<usize> = (0..fixes.fixes.len())
        .filter(|i| is_removal(&fixes.fixes[*i]) && fixes.fixes[*i].state == Trial::Right)
        .collect();
    if all.len() > 1 && is_right(trier, report, fixes, &[&right[..], &all].concat()) == Some(true) {
        all.iter().for_each(|i| fixes.fixes[*i].state = Trial::Right);
        return;
    }
    for one in all {
        let mut with = is_right(trier, report, fixes, &[&right[..], &[one]].concat());
        if with == Some(true) {
            right.push(one);
            fixes.fixes[one].state = Trial::Right;
            continue;
        }
        if !right.is_empty() {
            with = is_right(trier, report, fixes, &[one]);
        }
        fixes.fixes[one].state = match with {
            Some(true) => Trial::Apart,
            Some(false) => Trial::Wrong,
            None => Trial::Untried,
        };
    }
}

/// Whether the ebuild with these fixes does all that they are for and nothing else. None where they can't be carried out
/// together.
fn is_right(trier: &mut Trier, report: &EbuildReport, fixes: &Fixes, chosen: &[usize]) -> Option<bool> {
    let (new, done) = trier.run(fixes, chosen)?;
    chosen.iter().all(|i| done.contains(i)).then_some(())?;
    let (mut lines, mut targets, mut partly) = (Vec::new(), Vec::new(), Vec::new());
    for one in chosen {
        let finding = &report.findings[fixes.fixes[*one].finding];
        // what goes from a call before the command moves it to the front
        let goes = |i: &&usize| {
            let other = &report.findings[fixes.fixes[**i].finding];
            let takes = matches!(fixes.fixes[**i].kind, FixKind::Removal | FixKind::Split { .. });
            takes && other.edit == finding.edit && other.command < finding.command
        };
        let command = finding.command.map(|c| c - chosen.iter().filter(goes).count().min(c));
        let does = match &fixes.fixes[*one].kind {
            FixKind::Removal => true,
            FixKind::Correction { line, target, commands } => {
                let line = fixes.plans.line_after(chosen, *line);
                lines.push(line);
                targets.extend(target.clone());
                match commands {
                    Some(commands) => {
                        partly.push(line);
                        commands.iter().all(|c| lives(&new, line, Some(*c)))
                    }
                    None => lives(&new, line, command),
                }
            }
            FixKind::Split { line, target, command } => {
                lines.push(fixes.plans.line_after(chosen, *line));
                targets.push(target.clone());
                lives_in(&new, target, command)
            }
        };
        if !does {
            return Some(false);
        }
    }
    // of a dead call that was put right in part the rest is told command by command
    let rest = |f: &Finding| {
        let edit = f.edit.and_then(|id| new.edits.iter().find(|e| e.id == id));
        f.rule == Rule::DeadExpression && edit.is_some_and(|e| partly.contains(&e.origin.line))
    };
    Some(nothing_else(report, &new, &rest, &lines, &targets))
}

/// Whether the edit on `line` (its command) does something now.
fn lives(new: &EbuildReport, line: u32, command: Option<usize>) -> bool {
    new.edits.iter().filter(|e| e.origin.line == line).any(|edit| match command {
        Some(index) => edit.commands.iter().any(|c| c.index == index && c.verdict == Verdict::Live),
        None => edit.verdict == Verdict::Live && !edit.commands.iter().any(|c| c.verdict == Verdict::Dead),
    })
}

/// Whether a command does something to a file now.
fn lives_in(new: &EbuildReport, target: &str, command: &str) -> bool {
    new.edits.iter().any(|edit| {
        edit.targets.iter().any(|t| t.path == target && t.verdict == Verdict::Live)
            && edit.commands.iter().any(|c| c.text == command && c.verdict == Verdict::Live)
    })
}

/// Whether no other file and no other edit fares otherwise than before, but for the findings that are `expected`.
fn nothing_else(
    old: &EbuildReport,
    new: &EbuildReport,
    expected: &dyn Fn(&Finding) -> bool,
    lines: &[u32],
    targets: &[String],
) -> bool {
    if old.status != Status::Audited {
        // what came behind the failure could not be seen before
        return true;
    }
    let own = new.edits.iter().filter(|e| lines.contains(&e.origin.line)).flat_map(|e| &e.targets);
    let own: Vec<&str> = own.map(|t| t.path.as_str()).chain(targets.iter().map(String::as_str)).collect();
    let state = |report: &EbuildReport| -> Vec<(String, Option<String>)> {
        let others = report.changed.iter().filter(|c| !own.contains(&c.path.as_str()));
        others.map(|c| (c.path.clone(), c.after.clone())).collect()
    };
    // by its text, as a command's number may be another now, and without the cause: what one edit lives on may have
    // explained another
    let key = |f: &Finding| {
        let what = f.message.strip_suffix(because(f.cause)).unwrap_or(&f.message);
        (f.rule, f.target.clone(), what.to_owned())
    };
    let known: Vec<_> = old.findings.iter().map(key).collect();
    new.status == Status::Audited
        && state(old) == state(new)
        && new.findings.iter().all(|f| known.contains(&key(f)) || expected(f))
}

/// Puts the trial's outcome into the finding's suggestion.
fn tell(fix: &Fix, findings: &mut [Finding]) {
    let Some(finding) = findings.get_mut(fix.finding) else { return };
    match fix.state {
        Trial::Untried => {}
        Trial::Wrong => finding.suggestion = None,
        Trial::Right | Trial::Apart => {
            if let Some(suggestion) = &mut finding.suggestion {
                suggestion.verified = true;
                if fix.kind == FixKind::Removal && fix.doubt.is_none() {
                    suggestion.applicability = Applicability::Safe;
                }
            }
        }
    }
}
