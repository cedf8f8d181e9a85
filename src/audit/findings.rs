//! The rules, applied to one ebuild's edits.

use super::command_findings;
use super::context::Context;
use super::edits::{Judged, Scene};
use super::failure::Failure;
use super::misread;
use super::rules::Rule;
use crate::edit::inventory::{asks_in_place, unquoted};
use crate::edit::sed::argv::Invocation;
use crate::edit::{lines, outcome};
use crate::phase::trace::{Record, State, Tool};
use crate::report::model::{By, Cause, Edit, EditKind, Evidence, Finding, Verdict};
use crate::tree::Kind;

/// All findings of the edits, in order of line, and the one of the failure.
pub fn findings(
    context: &Context,
    path: &str,
    edits: &[Judged],
    failure: Option<&Failure>,
    scene: Option<&Scene>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for judged in edits {
        let counts = match judged.edit.by {
            By::Ebuild => true,
            By::Eclass | By::Source => context.options.eclass_edits,
        };
        if let Some(scene) = scene.filter(|_| counts) {
            edit(judged, failure, scene, &mut found);
        }
    }
    found.sort_by_key(|f: &Finding| (f.path.clone(), f.line, f.command));
    if let Some(failure) = failure
        && let Some(rule) = failure.rule
    {
        let mut finding = blank(rule, path, failure.reason.clone());
        finding.line = failure.line;
        finding.end_line = failure.line;
        found.push(finding);
    }
    found
}

fn blank(rule: Rule, path: &str, message: String) -> Finding {
    Finding {
        rule,
        level: rule.level(),
        edit: None,
        command: None,
        target: None,
        path: path.to_owned(),
        line: None,
        end_line: None,
        column: None,
        message,
        cause: None,
        evidence: Vec::new(),
        reason: None,
        suggestion: None,
    }
}

pub fn of_edit(rule: Rule, edit: &Edit, message: String) -> Finding {
    Finding {
        edit: Some(edit.id),
        line: Some(edit.origin.line),
        end_line: Some(edit.origin.end_line),
        ..blank(rule, &edit.origin.file, message)
    }
}

fn edit(judged: &Judged, failure: Option<&Failure>, scene: &Scene, found: &mut Vec<Finding>) {
    let edit = &judged.edit;
    if let Some(help) = misread::expression(judged).filter(|_| failure.is_none()) {
        let mut finding = of_edit(Rule::DeadSed, edit, format!("sed refused this edit: {help}"));
        finding.cause = Some(Cause::BadScript);
        found.push(finding);
        return;
    }
    // a loop that was cut off may have gone on to a file where its edit lives
    let cut_off = failure.is_some_and(|f| matches!(f.rule, Some(Rule::TimedOut | Rule::TooLarge)));
    match edit.verdict {
        Verdict::Dead if edit.kind == EditKind::Patch || cut_off => {}
        // its dead commands are told one by one
        Verdict::Dead if judged.stands_guard() => {}
        Verdict::Dead => found.extend(dead(judged, failure)),
        Verdict::NoOutput => {
            let message = "sed without -i edits nothing, and nobody reads what it prints".to_owned();
            found.push(of_edit(Rule::NoInPlace, edit, message));
        }
        Verdict::Overwritten => {
            let files = files_with(edit, Verdict::Overwritten);
            let message = format!("a later step of the phase undoes all that this edit did to {files}");
            found.push(of_edit(Rule::OverwrittenEdit, edit, message));
        }
        Verdict::NotRun if !asks_in_place(edit.argv.iter().skip(1).map(String::as_str)) => {}
        Verdict::NotRun => {
            let why = match &edit.condition {
                Some(condition) => format!("it stands under `{condition}`"),
                None => "nothing called it, or its list of files was empty".to_owned(),
            };
            let mut finding = of_edit(Rule::UnrunEdit, edit, format!("this edit was not run: {why}"));
            finding.cause = None;
            found.push(finding);
        }
        _ => {}
    }
    for target in edit.targets.iter().filter(|t| t.verdict == Verdict::PathGone) {
        let mut finding = of_edit(Rule::PathGone, edit, format!("{} is not there", target.path));
        let misread = misread::operand(judged, &target.path, scene);
        finding.target = Some(target.path.clone());
        if let Some((line, end_line)) = given(judged, &target.path, scene) {
            (finding.line, finding.end_line) = (Some(line), Some(end_line));
        }
        if let Some(help) = misread {
            finding.message = help;
        } else if let Some(moved) = &judged.moved {
            finding.cause = Some(moved.cause);
            finding.evidence.clone_from(&moved.evidence);
            finding.reason.clone_from(&moved.reason);
        }
        found.push(finding);
    }
    if edit.verdict == Verdict::Live {
        found.extend(dead_targets(judged));
    }
    if !cut_off {
        found.extend(command_findings::findings(judged, scene));
    }
    if edit.kind != EditKind::Patch {
        found.extend(backups(judged, scene));
        found.extend(emptied(judged, scene));
    }
}

/// The lines on which a function's caller names a file that the function edits.
pub fn given(judged: &Judged, file: &str, scene: &Scene) -> Option<(u32, u32)> {
    let place = judged.place.as_ref()?;
    place.records.iter().find_map(|record| {
        let target = record.targets.iter().find(|t| scene.names.show(outcome::path(&t.path)) == file)?;
        lines::given(place, std::str::from_utf8(&record.argv.get(target.arg)?.0).ok()?)
    })
}

fn files_with(edit: &Edit, verdict: Verdict) -> String {
    let names: Vec<&str> = edit.targets.iter().filter(|t| t.verdict == verdict).map(|t| t.path.as_str()).collect();
    listed(&names)
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "its file".to_owned(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [one, rest @ ..] => format!("{one} and {} more files", rest.len()),
    }
}

fn dead(judged: &Judged, failure: Option<&Failure>) -> Option<Finding> {
    let edit = &judged.edit;
    let rule = if edit.kind == EditKind::Perl { Rule::DeadPerl } else { Rule::DeadSed };
    // where sed refused its words and the phase died of it, that is told already
    if edit.exit != Some(0) && failure.is_some_and(|f| f.rule == Some(Rule::PrepareFailed)) {
        return None;
    }
    let no_files = edit.targets.is_empty();
    let refused = edit.exit.is_some_and(|e| e != 0) && !no_files;
    let tool = if edit.kind == EditKind::Perl { "perl" } else { "sed" };
    let (message, cause) = if no_files {
        (format!("this {tool} was given no file"), Cause::NoFiles)
    } else if refused && edit.targets.iter().all(|t| t.verdict == Verdict::Dead) {
        let words = judged.refusal.as_ref().map_or(String::new(), |words| format!(": {words}"));
        (format!("{tool} refused this edit (exit status {}){words}", edit.exit.unwrap_or_default()), Cause::BadScript)
    } else {
        let cause = judged.explained().map_or_else(|| whole_cause(edit), |e| e.cause);
        let why = command_findings::because(Some(cause));
        let files = files_with(edit, Verdict::Dead);
        let what = if makes_a_file(judged) { "nothing of what it writes to" } else { "nothing in" };
        (format!("this {tool} changed {what} {files}{why}"), cause)
    };
    let mut finding = of_edit(rule, edit, message);
    if let Some(command) = edit.commands.iter().find(|c| c.cause == Some(cause)) {
        finding.evidence.clone_from(&command.evidence);
        finding.reason.clone_from(&command.reason);
    }
    if let Some(explained) = judged.explained().filter(|e| e.cause == cause) {
        finding.evidence.clone_from(&explained.evidence);
        finding.reason.clone_from(&explained.reason);
    }
    if cause == Cause::Unknown && finding.reason.is_none() && !edit.commands.iter().any(|c| c.verdict == Verdict::Dead)
    {
        finding.reason = edit.reason.clone().or(Some("its commands only steer, and nothing came of it".to_owned()));
    }
    finding.cause = Some(cause);
    Some(finding)
}

/// Whether a sed prints into a file, which may have more than that.
fn makes_a_file(judged: &Judged) -> bool {
    let prints = |record| outcome::invocation(record).is_some_and(|call| call.in_place.is_none());
    judged.edit.kind == EditKind::Sed && records(judged).all(prints)
}

/// The cause that all dead commands share, else that of the first.
fn whole_cause(edit: &Edit) -> Cause {
    // commands that merely steer have no cause of their own
    edit.commands.iter().find(|c| c.verdict == Verdict::Dead).and_then(|c| c.cause).unwrap_or(Cause::Unknown)
}

/// Files that the text names literally and that the call did not change.
fn dead_targets(judged: &Judged) -> Vec<Finding> {
    let Some(call) = judged.place.as_ref().and_then(|p| p.site.call()) else { return Vec::new() };
    let words: Vec<String> = call.words.iter().flat_map(|w| braces(&unquoted(&w.text))).collect();
    let literal = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        words.iter().any(|w| w.rsplit('/').next() == Some(name) && !w.contains(['*', '?', '[']))
    };
    let dead = judged.edit.targets.iter().filter(|t| t.verdict == Verdict::Dead && literal(&t.path));
    // a call that changed none of its files lives by what else it does
    let edits = judged.edit.targets.iter().any(|t| t.verdict == Verdict::Live);
    dead.filter(|_| edits)
        .map(|target| {
            let mut finding =
                of_edit(Rule::DeadTarget, &judged.edit, format!("none of the commands changed {}", target.path));
            finding.target = Some(target.path.clone());
            finding
        })
        .collect()
}

/// `a{b,c}d` as `abd` and `acd`; anything deeper stays as it is.
fn braces(word: &str) -> Vec<String> {
    let open = word.find('{').filter(|at| *at == 0 || word.as_bytes()[at - 1] != b'$');
    let close = open.and_then(|o| word[o..].find('}').map(|c| o + c));
    match (open, close) {
        (Some(open), Some(close)) => word[open + 1..close]
            .split(',')
            .map(|part| format!("{}{part}{}", &word[..open], &word[close + 1..]))
            .collect(),
        _ => vec![word.to_owned()],
    }
}

fn records(judged: &Judged) -> impl Iterator<Item = &Record> {
    judged.place.iter().flat_map(|p| p.records.iter())
}

/// A call as far as it makes copies; the suffix of perl's `-i` is that of sed's.
fn copier(record: &Record) -> Option<Invocation> {
    match record.tool {
        Tool::Sed => outcome::invocation(record),
        Tool::Perl => {
            let call = super::perl::invocation(record);
            let in_place = Some(call.suffix).filter(|_| call.in_place);
            Some(Invocation { in_place, ..Invocation::default() })
        }
        Tool::Patch => None,
    }
}

/// Copies that an in-place suffix left in the tree.
fn backups(judged: &Judged, scene: &Scene) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for record in records(judged) {
        let Some(call) = copier(record).filter(|c| c.in_place.as_ref().is_some_and(|s| !s.is_empty())) else {
            continue;
        };
        for target in record.targets.iter().filter(|t| t.before.md5().is_some()) {
            let Some(word) = record.argv.get(target.arg) else { continue };
            let Some(copy) = call.backup_path(&word.0) else { continue };
            let copy = scene.names.normal(&outcome::path(&record.cwd).join(copy));
            let Some(relative) = scene.names.below_work(&copy) else { continue };
            let is_file = |s: Option<&crate::tree::Snapshot>| {
                s.is_some_and(|s| s.get(relative).is_some_and(|e| matches!(e.kind, Kind::File { .. })))
            };
            if is_file(scene.before) || !is_file(scene.after) {
                continue;
            }
            let shown = scene.names.show(&copy);
            if found.iter().any(|f| f.target.as_ref() == Some(&shown)) {
                continue;
            }
            let help = misread::suffix(&call).map_or(String::new(), |help| format!("; {help}"));
            let message = format!("the suffix of -i leaves the copy {shown} in the tree{help}");
            let mut finding = of_edit(Rule::LeftoverBackup, &judged.edit, message);
            finding.evidence =
                vec![Evidence { path: shown.clone(), line: None, text: None, note: Some("the copy".into()) }];
            finding.target = Some(shown);
            found.push(finding);
        }
    }
    found
}

/// Files that had text and have none any more, to the end of the phase.
fn emptied(judged: &Judged, scene: &Scene) -> Vec<Finding> {
    let empty = |state: &State| matches!(state, State::File { size: 0, .. });
    let mut found: Vec<Finding> = Vec::new();
    for target in records(judged).flat_map(|r| &r.targets) {
        // a file of one line that its own pattern names is not emptied by accident
        let lines = target.before.md5().and_then(|m| scene.contents(m)).map_or(0, |d| d.split(|b| *b == b'\n').count());
        if empty(&target.before) || lines <= 2 || !empty(&target.after) {
            continue;
        }
        let path = outcome::path(&target.path);
        let still = scene.after.and_then(|s| s.get(scene.names.below_work(path)?)).is_some_and(|e| e.size == 0);
        let shown = scene.names.show(path);
        if still && !found.iter().any(|f| f.target.as_ref() == Some(&shown)) {
            let mut finding = of_edit(Rule::EmptiedFile, &judged.edit, format!("the edit leaves {shown} empty"));
            finding.target = Some(shown);
            found.push(finding);
        }
    }
    found
}
