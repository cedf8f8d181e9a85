//! From findings to suggestions: which plan answers which finding.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::answer::{self, Answer};
use super::commands;
use super::edits::{Judged, Scene};
use super::rules::Rule;
use crate::edit::suggest::layout::Layout;
use crate::edit::suggest::range::Change;
use crate::edit::suggest::{CallPlan, Plan, Plans, steady};
use crate::escape::escape_path;
use crate::gentoo::within::Within;
use crate::report::model::{Applicability, By, Command, EditKind, Finding, Suggestion, Verdict};

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
    /// Why this run is no proof for all others.
    pub doubt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FixKind {
    /// Of what nobody wants any more.
    Removal,
    /// Of the edit that stands on this line, in this file; of these commands, where others stay as dead as they are.
    Correction { line: u32, target: Option<String>, commands: Option<Vec<usize>> },
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

/// Fills the suggestions of `findings`, and gives what they rest on. `lack`: why what was shown here may be otherwise elsewhere.
pub fn suggest(
    text: &str,
    judged: &[Judged],
    findings: &mut [Finding],
    scene: &Scene,
    drop_prepare: bool,
    lack: Option<String>,
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
        let (plan, kind, words) = match answer::answer(finding, judged, call, &fixes.plans, scene) {
            Some(Answer::Plan(Plan::Correction(changes), ..)) if is_the_same(text, &changes) => continue,
            Some(Answer::Plan(plan, kind, words)) => (plan, kind, words),
            Some(Answer::ByHand(words)) => {
                finding.suggestion = Some(by_hand(named(&words, scene)));
                continue;
            }
            None => continue,
        };
        let lack = lack.clone().filter(|_| kind == FixKind::Removal);
        let doubt = doubt(judged, &plan, &kind, &fixes.plans.calls[call]).or(lack);
        let text = doubt.as_ref().map_or_else(|| words.clone(), |why| format!("{words}; unsafe, since {why}"));
        fixes.plans.plans.push(plan);
        let lines = (finding.line.unwrap_or(1), finding.end_line.or(finding.line).unwrap_or(1));
        let replacement = fixes.plans.replacement(fixes.fixes.len(), lines);
        let apart = replacement.as_ref().filter(|r| (r.line, r.end_line) != lines);
        let kept = finding.command.filter(|_| replacement.is_none()).and_then(|c| fixes.plans.calls[call].kept_by(c));
        finding.suggestion = Some(Suggestion {
            text: kept.map_or(text, |why| format!("{words} by hand: {}", named(&why, scene))),
            line: apart.map(|r| r.line),
            end_line: apart.map(|r| r.end_line),
            replacement: replacement.map(|r| r.text),
            verified: false,
            applicability: Applicability::Unsafe,
        });
        fixes.fixes.push(Fix { finding: index, kind, state: Trial::Untried, doubt });
    }
    Some(fixes)
}

fn is_the_same(text: &str, changes: &[Change]) -> bool {
    changes.iter().all(|c| text.get(c.span.clone()) == Some(c.text.as_str()))
}

/// Why what is dead here may live with other flags or on another machine.
fn doubt(judged: &Judged, plan: &Plan, kind: &FixKind, call: &CallPlan) -> Option<String> {
    let site = &judged.place.as_ref().filter(|_| *kind == FixKind::Removal)?.site;
    let kept = match plan {
        Plan::Commands(_, gone) => call.of_others(gone),
        Plan::Call(_) | Plan::Correction(_) => Vec::new(),
    };
    steady::doubt(&site.source.inventory, site.call()?, &kept)
}

/// What a reader may do, and no program.
fn by_hand(text: String) -> Suggestion {
    Suggestion {
        text,
        line: None,
        end_line: None,
        replacement: None,
        verified: false,
        applicability: Applicability::Unsafe,
    }
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
    for record in place.records.iter().filter(|_| judged.edit.kind == EditKind::Sed) {
        // what goes for one run goes for all: none is to be unknown
        let Some(ran) = commands::ran(record, &judged.edit.commands, scene) else {
            runs.clear();
            break;
        };
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
    let lone = match &place.records[..] {
        [one] => Some(one.argv.iter().map(|a| a.0.clone()).collect()),
        _ => None,
    };
    Some(CallPlan::new(call, &place.site.source.inventory, runs, removable, lone))
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
