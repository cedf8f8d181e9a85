//! Which change of the text answers which finding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::commands;
use super::edits::{Judged, Scene};
use super::rules::Rule;
use super::suggest::FixKind;
use crate::edit::sed::script::{Detail, ScriptCommand};
use crate::edit::suggest::correct::Move;
use crate::edit::suggest::layout::Layout;
use crate::edit::suggest::pattern::Drift;
use crate::edit::suggest::range::Change;
use crate::edit::suggest::{CallPlan, Plan, Plans};
use crate::edit::{lines, outcome, perl};
use crate::report::model::{Cause, Command, EditKind, Finding, Verdict};

/// What a finding asks for.
pub enum Answer {
    /// A change, what it is for, and what it does in words.
    Plan(Plan, FixKind, String),
    /// A change that no program makes here, in words.
    ByHand(String),
}

/// Whether nobody wants an edit any more that is dead for this cause.
fn pointless(cause: Option<Cause>) -> bool {
    matches!(cause, Some(Cause::Never | Cause::Superseded | Cause::Upstreamed | Cause::Removed | Cause::NoFiles))
}

pub fn answer(finding: &Finding, judged: &Judged, call: usize, plans: &Plans, scene: &Scene) -> Option<Answer> {
    let plan = &plans.calls[call];
    match finding.rule {
        Rule::NoInPlace => {
            edits_all(judged, scene).then_some(())?;
            Some(correction(judged, vec![plan.in_place()?], None, "let sed edit in place: -i is missing".to_owned()))
        }
        Rule::PathGone => path_gone(finding, judged, call, plans, scene),
        _ => corrected(finding, judged, plan, plans, scene).or_else(|| removal(finding, judged, call)),
    }
}

/// Whether each call's script is one that edits a file. What is printed under `-n`, a second time, or up to a `q`, is meant
/// for a reader: in place it would be the file.
fn edits_all(judged: &Judged, scene: &Scene) -> bool {
    let edits = |record| {
        commands::script(record, scene).is_some_and(|(call, script)| {
            let reads = |c: &ScriptCommand| {
                let prints = matches!(&c.detail, Detail::Substitute(s) if s.print);
                prints || b"pP=lqQF".contains(&c.name)
            };
            !call.quiet && !script.quiet && !script.commands.iter().any(reads)
        })
    };
    judged.place.as_ref().is_some_and(|p| p.records.iter().all(edits))
}

fn correction(judged: &Judged, changes: Vec<Change>, target: Option<String>, text: String) -> Answer {
    let kind = FixKind::Correction { line: judged.edit.origin.line, target, commands: None };
    Answer::Plan(Plan::Correction(changes), kind, text)
}

fn path_gone(finding: &Finding, judged: &Judged, call: usize, plans: &Plans, scene: &Scene) -> Option<Answer> {
    let plan = &plans.calls[call];
    if finding.cause == Some(Cause::Moved) {
        let to = namesake(finding.target.as_deref()?, &finding.evidence)?;
        let change = repath(judged, plan, finding.target.as_deref()?, &to, scene)?;
        return Some(correction(judged, vec![change], Some(to.clone()), format!("edit {to}, where the file is now")));
    }
    let all = judged.edit.verdict == Verdict::PathGone && pointless(finding.cause);
    let text = "remove the call: its file is not there".to_owned();
    if all && super::findings::given(judged, finding.target.as_deref()?, scene).is_some() {
        return Some(Answer::ByHand(text));
    }
    all.then_some(Answer::Plan(Plan::Call(call), FixKind::Removal, text))
}

/// The dead commands that a finding speaks of.
fn meant<'a>(finding: &Finding, judged: &'a Judged) -> Vec<&'a Command> {
    let dead = judged.edit.commands.iter().filter(|c| c.verdict == Verdict::Dead);
    dead.filter(|c| finding.command.is_none_or(|one| one == c.index)).collect()
}

fn corrected(finding: &Finding, judged: &Judged, plan: &CallPlan, plans: &Plans, scene: &Scene) -> Option<Answer> {
    let meant = meant(finding, judged);
    match finding.cause? {
        Cause::WrongFile if finding.rule == Rule::DeadExpression => {
            let command = meant.first()?;
            if let Some((changes, to)) = split(judged, command, plan, &plans.layout, scene) {
                let text = format!("edit {to} in a call of its own");
                let command = command.text.clone();
                let kind = FixKind::Split { line: judged.edit.origin.line, target: to, command };
                return Some(Answer::Plan(Plan::Correction(changes), kind, text));
            }
        }
        Cause::WrongFile => {
            if let Some((change, to)) = wrong_file(finding, judged, plan, scene) {
                return Some(correction(judged, vec![change], Some(to.clone()), format!("edit {to} instead")));
            }
        }
        Cause::Drifted if judged.edit.kind == EditKind::Perl => {
            let (change, advice) = drifted_perl(judged, plan)?;
            return Some(correction(judged, vec![change], None, advice.to_owned()));
        }
        Cause::OptionOrder => {
            if let Some(changes) = plan.option_order(&plans.layout.text) {
                return Some(correction(judged, changes, None, "put the option before the expression".to_owned()));
            }
        }
        _ => {}
    }
    one_by_one(judged, plan, &plans.layout, &meant).or_else(|| by_hand(judged, plan, &meant))
}

/// The patterns of drifted commands put right; with them goes what nobody wants, where that leaves nothing dead.
fn one_by_one(judged: &Judged, plan: &CallPlan, layout: &Layout, meant: &[&Command]) -> Option<Answer> {
    let (mut changes, mut right, mut advice): (Vec<Change>, Vec<usize>, Vec<&str>) = Default::default();
    for command in meant {
        if let Some((own, drift)) = drifted(command, plan) {
            changes.extend(own);
            right.push(command.index);
            advice.push(drift.advice());
        }
    }
    advice.dedup();
    let text = advice.first().map(|_| advice.join("; "))?;
    let rest: Vec<&&Command> = meant.iter().filter(|c| !right.contains(&c.index)).collect();
    let kind = |commands| FixKind::Correction { line: judged.edit.origin.line, target: None, commands };
    if rest.is_empty() {
        return Some(Answer::Plan(Plan::Correction(changes), kind(None), text));
    }
    if rest.iter().all(|c| pointless(c.cause))
        && let Some(gone) = plan.without(&layout.text, &rest.iter().map(|c| c.index).collect())
    {
        changes.extend(gone);
        let text = format!("{text}; remove what matches nothing any more");
        return Some(Answer::Plan(Plan::Correction(changes), kind(None), text));
    }
    Some(Answer::Plan(Plan::Correction(changes), kind(Some(right)), text))
}

/// What is to be put right where the text that holds it can't be changed by a program, and why it can't.
fn by_hand(judged: &Judged, plan: &CallPlan, meant: &[&Command]) -> Option<Answer> {
    let (command, drift) = meant.iter().find_map(|c| Some((c, drift_of(c)?)))?;
    let why = from_a_caller(judged, command).or_else(|| plan.kept_by(command.index))?;
    // other words need not be a version
    let advice = if drift == Drift::Version { Drift::Blanks.advice() } else { drift.advice() };
    Some(Answer::ByHand(format!("{advice} by hand: {why}")))
}

fn from_a_caller(judged: &Judged, command: &Command) -> Option<String> {
    lines::given(judged.place.as_ref()?, &command.text)?;
    Some("a caller of the function gives it".to_owned())
}

fn removal(finding: &Finding, judged: &Judged, call: usize) -> Option<Answer> {
    let identity = finding.rule == Rule::IdentityEdit;
    // what is dead for want of a correction is wanted
    let unwanted = meant(finding, judged).iter().all(|c| pointless(c.cause))
        && judged.explained.iter().all(|e| pointless(Some(e.cause)));
    (identity || pointless(finding.cause) && unwanted).then_some(())?;
    // what writes another file is wanted for that file
    let edits_in_place = |record| outcome::invocation(record).is_none_or(|call| call.in_place.is_some());
    if finding.rule == Rule::DeadSed && !judged.place.as_ref()?.records.iter().all(edits_in_place) {
        return None;
    }
    let removal = FixKind::Removal;
    let command = finding.command.and_then(|index| judged.edit.commands.iter().find(|c| c.index == index));
    let Some(command) = command else {
        // the function's callers would be left with a function that does nothing
        if judged.place.as_ref()?.site.call().is_some_and(lines::takes) {
            let why = "a caller of the function gives its words";
            return Some(Answer::ByHand(format!("remove the call by hand: {why}")));
        }
        return Some(Answer::Plan(Plan::Call(call), removal, "remove the call".to_owned()));
    };
    let text = format!("remove `{}`", super::command_findings::short(command));
    match from_a_caller(judged, command) {
        Some(why) => Some(Answer::ByHand(format!("{text} by hand: {why}"))),
        None => Some(Answer::Plan(Plan::Commands(call, [command.index].into()), removal, text)),
    }
}

/// The one file of the evidence that has the name of `target`, where it is the best.
fn namesake(target: &str, evidence: &[crate::report::model::Evidence]) -> Option<String> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let same: BTreeSet<&str> = evidence.iter().map(|e| e.path.as_str()).filter(|p| name(p) == name(target)).collect();
    let best = evidence.first()?.path.as_str();
    (same.len() == 1 && same.contains(best)).then(|| best.to_owned())
}

/// The argument of the call's only file made to name the one that all dead commands belong to, and that file.
fn wrong_file(finding: &Finding, judged: &Judged, plan: &CallPlan, scene: &Scene) -> Option<(Change, String)> {
    let [target] = &judged.edit.targets[..] else { return None };
    let commands = judged.edit.commands.iter().filter(|c| c.verdict == Verdict::Dead).map(|c| (c.cause, &c.evidence));
    let statements = judged.explained.iter().map(|e| (Some(e.cause), &e.evidence));
    let mut to: Option<String> = None;
    for (cause, evidence) in commands.chain(statements) {
        let own = namesake(&target.path, evidence).filter(|_| cause == finding.cause)?;
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
    let [record] = &judged.place.as_ref()?.records[..] else { return None };
    let target = record.targets.iter().find(|t| scene.names.show(outcome::path(&t.path)) == from)?;
    let cwd = outcome::path(&record.cwd);
    plan.path(target.arg, &Move { cwd, to: &below_work(cwd, to, scene)? })
}

/// The pattern of a perl call that has but one statement.
fn drifted_perl(judged: &Judged, plan: &CallPlan) -> Option<(Change, &'static str)> {
    let [explained] = &judged.explained[..] else { return None };
    let evidence = explained.evidence.first()?;
    let drift = Drift::of(evidence.note.as_deref()?)?;
    let [record] = &judged.place.as_ref()?.records[..] else { return None };
    let call = super::perl::invocation(record);
    let script = perl::script::Script::cut(&call.pieces).ok()?;
    Some((plan.perl_pattern(&script, evidence.text.as_deref()?, drift)?, drift.advice()))
}

fn drift_of(command: &Command) -> Option<Drift> {
    let evidence = command.evidence.first().filter(|_| command.cause == Some(Cause::Drifted))?;
    Drift::of(evidence.note.as_deref()?)
}

fn drifted(command: &Command, plan: &CallPlan) -> Option<(Vec<Change>, Drift)> {
    let drift = drift_of(command)?;
    let line = command.evidence.first()?.text.as_deref()?;
    Some((plan.pattern(command.index, line, drift)?, drift))
}
