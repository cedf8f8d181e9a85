//! From findings to suggestions: which plan answers which finding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::commands;
use super::edits::{Judged, Scene};
use super::rules::Rule;
use crate::edit::outcome;
use crate::edit::suggest::correct::Move;
use crate::edit::suggest::layout::Layout;
use crate::edit::suggest::pattern::Drift;
use crate::edit::suggest::range::Change;
use crate::edit::suggest::{CallPlan, Plan, Plans};
use crate::escape::escape_path;
use crate::gentoo::within::Within;
use crate::report::model::{Applicability, By, Cause, Command, Edit, Finding, Suggestion, Verdict};

/// A place that ran with more scripts than this is not suggested about command by command.
const MOST_RUNS: usize = 64;

/// The fixes of one ebuild. `fixes[i]` is carried out by `plans.plans[i]`.
#[derive(Debug)]
pub struct Fixes {
    pub plans: Plans,
    pub fixes: Vec<Fix>,
}

/// What a finding's suggestion rests on.
#[derive(Clone, Debug)]
pub struct Fix {
    /// An index into the report's findings.
    pub finding: usize,
    pub kind: FixKind,
    pub state: Trial,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// `pointless`: nobody wants what is removed any more.
    Removal { pointless: bool },
    /// Of the edit that stands on this line, in this file.
    Correction { line: u32, target: Option<String> },
    /// A command of the edit on this line gets a call of its own, on this file.
    Split { line: u32, target: String, command: String },
}

/// What running the ebuild with a fix has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    Untried,
    Right,
    /// Right by itself, but not together with the others.
    Apart,
    Wrong,
}

/// Fills the suggestions of `findings`, and gives what they rest on.
pub fn suggest(
    text: &str,
    judged: &[Judged],
    findings: &mut [Finding],
    scene: &Scene,
    drop_prepare: bool,
) -> Option<Fixes> {
    let plans = Plans { layout: Layout::read(text)?, calls: Vec::new(), plans: Vec::new(), drop_prepare };
    let mut fixes = Fixes { plans, fixes: Vec::new() };
    let mut known: Vec<(usize, usize)> = Vec::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        let Some(judged) = finding.edit.and_then(|id| judged.get(id)).filter(|j| j.edit.by == By::Ebuild) else {
            continue;
        };
        if !answered(finding.rule) {
            continue;
        }
        let call = match known.iter().find(|(id, _)| *id == judged.edit.id) {
            Some((_, call)) => *call,
            None => {
                let Some(call) = call(judged, scene) else { continue };
                fixes.plans.calls.push(call);
                known.push((judged.edit.id, fixes.plans.calls.len() - 1));
                fixes.plans.calls.len() - 1
            }
        };
        let Some((plan, kind, words)) = answer(finding, judged, call, &fixes.plans, scene) else { continue };
        fixes.plans.plans.push(plan);
        let lines = (finding.line.unwrap_or(1), finding.end_line.or(finding.line).unwrap_or(1));
        let replacement = fixes.plans.replacement(fixes.fixes.len(), lines);
        let apart = replacement.as_ref().filter(|r| (r.line, r.end_line) != lines);
        let kept = finding.command.filter(|_| replacement.is_none()).and_then(|c| fixes.plans.calls[call].kept_by(c));
        finding.suggestion = Some(Suggestion {
            text: kept.map_or(words.clone(), |why| format!("{words} by hand: {}", named(&why, scene))),
            line: apart.map(|r| r.line),
            end_line: apart.map(|r| r.end_line),
            replacement: replacement.map(|r| r.text),
            verified: false,
            applicability: Applicability::Unsafe,
        });
        fixes.fixes.push(Fix { finding: index, kind, state: Trial::Untried });
    }
    Some(fixes)
}

/// A script file by the name that reports give it.
fn named(why: &str, scene: &Scene) -> String {
    why.replace(&format!("{}/", escape_path(&scene.filesdir)), "files/")
}

fn answered(rule: Rule) -> bool {
    use Rule::{DeadExpression, DeadPerl, DeadSed, IdentityEdit, NoInPlace, PathGone};
    matches!(rule, DeadSed | DeadPerl | DeadExpression | IdentityEdit | NoInPlace | PathGone)
}

/// The call of an edit with all that it ran with.
fn call(judged: &Judged, scene: &Scene) -> Option<CallPlan> {
    let place = judged.place.as_ref()?;
    let call = place.site.call()?;
    let mut runs: Vec<crate::edit::suggest::Ran> = Vec::new();
    for record in &place.records {
        let Some(ran) = commands::ran(record, &judged.edit.commands, scene) else { continue };
        let same = |known: &crate::edit::suggest::Ran| {
            known.script.text == ran.script.text && known.invocation.pieces == ran.invocation.pieces
        };
        if !runs.iter().any(same) {
            runs.push(ran);
        }
        if runs.len() > MOST_RUNS {
            runs.clear();
            break;
        }
    }
    let dead = |c: &&Command| c.verdict == Verdict::Dead || judged.never.contains(&c.index);
    let removable: BTreeSet<usize> = judged.edit.commands.iter().filter(dead).map(|c| c.index).collect();
    Some(CallPlan::new(call, &place.site.source.inventory, runs, removable))
}

fn answer(
    finding: &Finding,
    judged: &Judged,
    call: usize,
    plans: &Plans,
    scene: &Scene,
) -> Option<(Plan, FixKind, String)> {
    let edit = &judged.edit;
    let plan = &plans.calls[call];
    let correction = |changes: Vec<Change>, target: Option<String>, text: String| {
        (Plan::Correction(changes), FixKind::Correction { line: edit.origin.line, target }, text)
    };
    let pointless = matches!(
        finding.cause,
        None | Some(Cause::Never | Cause::Superseded | Cause::Upstreamed | Cause::Removed | Cause::NoFiles)
    );
    let command = finding.command.and_then(|index| edit.commands.iter().find(|c| c.index == index));
    match finding.rule {
        Rule::NoInPlace => {
            return Some(correction(vec![plan.in_place()?], None, "let sed edit in place: -i is missing".to_owned()));
        }
        Rule::PathGone => {
            if finding.cause == Some(Cause::Moved)
                && let Some(to) = namesake(finding.target.as_deref()?, &finding.evidence)
                && let Some(change) = repath(judged, plan, finding.target.as_deref()?, &to, scene)
            {
                return Some(correction(vec![change], Some(to.clone()), format!("edit {to}, where the file is now")));
            }
            let all = edit.verdict == Verdict::PathGone;
            let text = "remove the call: its file is not there".to_owned();
            return all.then_some((Plan::Call(call), FixKind::Removal { pointless }, text));
        }
        Rule::DeadSed if finding.cause == Some(Cause::WrongFile) => {
            if let Some((change, to)) = wrong_file(judged, plan, scene) {
                return Some(correction(vec![change], Some(to.clone()), format!("edit {to} instead")));
            }
        }
        Rule::DeadExpression if finding.cause == Some(Cause::WrongFile) => {
            if let Some(command) = command
                && let Some((changes, to)) = split(judged, command, plan, &plans.layout, scene)
            {
                let text = format!("edit {to} in a call of its own");
                let kind = FixKind::Split { line: edit.origin.line, target: to, command: command.text.clone() };
                return Some((Plan::Correction(changes), kind, text));
            }
        }
        Rule::DeadSed | Rule::DeadExpression if finding.cause == Some(Cause::OptionOrder) => {
            if let Some(changes) = plan.option_order(&plans.layout.text) {
                return Some(correction(changes, None, "put the option before the expression".to_owned()));
            }
        }
        Rule::DeadSed | Rule::DeadExpression if finding.cause == Some(Cause::Drifted) => {
            let dead = edit.commands.iter().filter(|c| c.verdict == Verdict::Dead);
            let meant: Vec<&Command> = dead.filter(|c| command.is_none_or(|one| one.index == c.index)).collect();
            let changes: Option<Vec<(Vec<Change>, Drift)>> = meant.iter().map(|c| drifted(c, plan)).collect();
            let changes = changes.filter(|c| !c.is_empty()).unwrap_or_default();
            if let Some((_, drift)) = changes.first() {
                let text = drift.advice().to_owned();
                let changes = changes.iter().flat_map(|c| c.0.clone()).collect();
                return Some(correction(changes, None, text));
            }
        }
        _ => {}
    }
    // what writes another file is wanted for that file
    let edits_in_place = |record| outcome::invocation(record).is_none_or(|call| call.in_place.is_some());
    if finding.rule == Rule::DeadSed && !judged.place.as_ref()?.records.iter().all(edits_in_place) {
        return None;
    }
    Some(match command {
        Some(command) => {
            let text = format!("remove `{}`", super::command_findings::short(command));
            (Plan::Commands(call, [command.index].into()), FixKind::Removal { pointless }, text)
        }
        None => (Plan::Call(call), FixKind::Removal { pointless }, "remove the call".to_owned()),
    })
}

/// The one file of the evidence that has the name of `target`, where it is the best.
fn namesake(target: &str, evidence: &[crate::report::model::Evidence]) -> Option<String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let same: BTreeSet<&str> = evidence.iter().map(|e| e.path.as_str()).filter(|p| name(p) == name(target)).collect();
    let best = evidence.first()?.path.as_str();
    (same.len() == 1 && same.contains(best)).then(|| best.to_owned())
}

fn wrong_file(judged: &Judged, plan: &CallPlan, scene: &Scene) -> Option<(Change, String)> {
    let edit: &Edit = &judged.edit;
    let [target] = &edit.targets[..] else { return None };
    let mut to: Option<String> = None;
    for command in edit.commands.iter().filter(|c| c.verdict == Verdict::Dead) {
        let own = namesake(&target.path, &command.evidence).filter(|_| command.cause == Some(Cause::WrongFile))?;
        if to.as_ref().is_some_and(|known| *known != own) {
            return None;
        }
        to = Some(own);
    }
    let to = to?;
    Some((repath(judged, plan, &target.path, &to, scene)?, to))
}

/// The changes that give a command a call of its own on the one file that its evidence means, and that file.
fn split(
    judged: &Judged,
    command: &Command,
    plan: &CallPlan,
    layout: &Layout,
    scene: &Scene,
) -> Option<(Vec<Change>, String)> {
    let paths: BTreeSet<&str> = command.evidence.iter().map(|e| e.path.as_str()).collect();
    let lone = paths.first().filter(|_| paths.len() == 1).map(|p| (*p).to_owned());
    let to = lone.or_else(|| judged.edit.targets.iter().find_map(|t| namesake(&t.path, &command.evidence)))?;
    let [record] = &judged.place.as_ref()?.records[..] else { return None };
    let cwd = outcome::path(&record.cwd);
    let changes = plan.split(layout, command.index, &Move { cwd, to: &below_work(cwd, &to, scene)? })?;
    Some((changes, to))
}

/// The file `to`, which is relative to WORKDIR, as an absolute path; `cwd` is a folder below WORKDIR.
fn below_work(cwd: &Path, to: &str, scene: &Scene) -> Option<PathBuf> {
    let depth = scene.names.below_work(cwd)?.components().count();
    Some(cwd.ancestors().nth(depth)?.join(to))
}

/// The word that names the file `from` made to name `to`; both relative to WORKDIR.
fn repath(judged: &Judged, plan: &CallPlan, from: &str, to: &str, scene: &Scene) -> Option<Change> {
    plan.only()?;
    let [record] = &judged.place.as_ref()?.records[..] else { return None };
    let target = record.targets.iter().find(|t| scene.names.show(outcome::path(&t.path)) == from)?;
    let cwd = outcome::path(&record.cwd);
    plan.path(target.arg, &Move { cwd, to: &below_work(cwd, to, scene)? })
}

fn drifted(command: &Command, plan: &CallPlan) -> Option<(Vec<Change>, Drift)> {
    let evidence = command.evidence.first().filter(|_| command.cause == Some(Cause::Drifted))?;
    let drift = Drift::of(evidence.note.as_deref()?)?;
    Some((plan.pattern(command.index, evidence.text.as_deref()?, drift)?, drift))
}

/// Whether one of these eclasses puts a src_prepare of its own in the place of one that goes.
pub fn exports_prepare(inherited: &[String], eclass_dirs: &[PathBuf]) -> bool {
    inherited.iter().any(|name| {
        let file = eclass_dirs.iter().map(|d| d.join(format!("{name}.eclass"))).find(|p| p.is_file());
        let data = file.and_then(|f| Within::root(f.parent()?).read_bytes(&f).ok()?);
        let Some(data) = data else { return true };
        let text = String::from_utf8_lossy(&data).replace("\\\n", " ");
        text.split("EXPORT_FUNCTIONS")
            .skip(1)
            .any(|rest| rest.lines().next().is_some_and(|l| l.contains("src_prepare")))
    })
}
