//! What a job came to know, as the report has it.

use std::path::Path;

use super::changed::changed;
use super::context::Context;
use super::edits::{self, Scene};
use super::failure::Failure;
use super::findings::findings;
use super::holes;
use super::job::Facts;
use super::stats::Part;
use super::suggest::{self, Fixes};
use crate::edit::budget::Budget;
use crate::edit::place::places;
use crate::edit::site::Sources;
use crate::escape::escape_path;
use crate::gentoo::repository::EbuildFile;
use crate::phase::job::JobDir;
use crate::phase::names::Names;
use crate::report::model::{EbuildReport, Evidence, Status, TreeInfo, Variant, Verdict};

pub fn build(
    context: &Context,
    ebuild: &EbuildFile,
    mut facts: Facts,
    job: Option<&JobDir>,
    failure: Option<Failure>,
) -> (EbuildReport, Option<Fixes>) {
    let path = escape_path(&ebuild.relative());
    let failure = failure.map(|failure| failure.in_view_of(other_machines(&facts)));
    let status = failure.as_ref().map_or(Status::Audited, |f| f.status);
    let reason = failure.as_ref().map(|f| f.reason.clone());
    let use_flags = facts.flags.as_ref().map_or_else(Vec::new, |flags| {
        flags.iuse().iter().map(|(flag, on)| if *on { flag.clone() } else { format!("-{flag}") }).collect()
    });
    let mut report = EbuildReport {
        cpv: ebuild.cpv.to_string(),
        repository: ebuild.repository.clone(),
        path: path.clone(),
        eapi: facts.eapi.clone(),
        status,
        reason: reason.clone(),
        variants: vec![Variant { use_flags, status, reason }],
        tree: TreeInfo::default(),
        changed: Vec::new(),
        edits: Vec::new(),
        findings: Vec::new(),
        remarks: Vec::new(),
        source: facts.text.clone(),
        cached: false,
        metadata: facts.sourced.clone().map(Box::new),
    };
    let names = job.map(Names::of);
    let (judged, fixes) = match job {
        Some(job) => run_of_phases(context, ebuild, &mut facts, job, failure.as_ref(), &mut report),
        None => (Vec::new(), None),
    };
    if job.is_none() {
        report.findings = findings(context, &path, &[], failure.as_ref(), None);
    }
    report.edits = judged.into_iter().map(|j| j.edit).collect();
    report.remarks = facts.remarks;
    if let Some(names) = &names {
        make_portable(&mut report, names);
    }
    evidence(&mut report).for_each(Evidence::shorten);
    (report, fixes)
}

/// What is to be known of an ebuild that is not keyworded for the profile's ARCH: it may have no sources there.
fn other_machines(facts: &Facts) -> Option<String> {
    let arch = facts.flags.as_ref()?.variables().get("ARCH")?;
    let keywords = &facts.metadata.as_ref()?.keywords;
    let for_all: Vec<&str> = keywords.iter().map(|keyword| keyword.trim_start_matches('~')).collect();
    let others: Vec<&str> = for_all.iter().copied().filter(|keyword| !keyword.starts_with('-')).collect();
    let is_known = others.is_empty() || others.iter().any(|keyword| keyword.contains('*') || keyword == arch);
    (!is_known).then(|| {
        let others = others.join(", ");
        format!("the ebuild is keyworded for {others}, not for {arch}: take a profile of such a machine with --profile")
    })
}

fn evidence(report: &mut EbuildReport) -> impl Iterator<Item = &mut Evidence> {
    let commands = report.edits.iter_mut().flat_map(|edit| &mut edit.commands);
    let of_commands = commands.flat_map(|command| &mut command.evidence);
    of_commands.chain(report.findings.iter_mut().flat_map(|finding| &mut finding.evidence))
}

/// Nothing in a report depends on where the job's folders were.
fn make_portable(report: &mut EbuildReport, names: &Names) {
    let fix = |text: &mut String| *text = names.portable(text);
    report.reason.iter_mut().for_each(fix);
    report.remarks.iter_mut().for_each(fix);
    report.variants.iter_mut().filter_map(|v| v.reason.as_mut()).for_each(fix);
    report.changed.iter_mut().filter_map(|c| c.diff.as_mut()).for_each(fix);
    for edit in &mut report.edits {
        edit.argv.iter_mut().for_each(fix);
        for command in &mut edit.commands {
            fix(&mut command.text);
        }
    }
    for finding in &mut report.findings {
        fix(&mut finding.message);
        if let Some(suggestion) = &mut finding.suggestion {
            fix(&mut suggestion.text);
        }
    }
    evidence(report).filter_map(|one| one.text.as_mut()).for_each(fix);
}

fn run_of_phases(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &mut Facts,
    job: &JobDir,
    failure: Option<&Failure>,
    report: &mut EbuildReport,
) -> (Vec<edits::Judged>, Option<Fixes>) {
    let _at = context.stats.enter(Part::Judging);
    let names = Names::of(job);
    let trace = facts.source.trace(job);
    let (records, bad) = trace.records().unwrap_or_else(|error| {
        facts.remarks.push(format!("the trace could not be read: {error}"));
        Default::default()
    });
    if bad > 0 {
        facts.remarks.push(format!("{bad} lines of the trace could not be read"));
    }
    let mut sources =
        Sources::new(&facts.script, &report.path, &facts.text, context.set.eclass_dirs(), context.run.prelude());
    let (places, lost) = places(records, &mut sources);
    if !lost.is_empty() {
        facts.remarks.push(format!("traced calls that came from no known place: {}", lost.len()));
    }
    let notes = facts.outcome.as_ref().map_or(&[][..], |o| &o.notes);
    let holes = holes::holes(notes, facts.outcome.as_ref().map_or(&[][..], |o| &o.tail));
    for remark in holes.iter().map(holes::Hole::remark) {
        if !facts.remarks.contains(&remark) {
            facts.remarks.push(remark);
        }
    }
    let scene = Scene::new(
        &names,
        &trace,
        (facts.before.as_ref(), facts.after.as_ref()),
        facts.pack.as_ref(),
        ebuild.dir().join("files"),
        failure.is_none(),
        Budget::of(context.options.bounds.time),
    );
    let mut judged = edits::edits(places, &lost, notes, &mut sources, &scene);
    holes::mark(&mut judged, &holes, &scene, &facts.text.lines().collect::<Vec<_>>());
    report.findings = findings(context, &report.path, &judged, failure, Some(&scene));
    let inherited = facts.metadata.as_ref().map_or(&[][..], |m| &m.inherited);
    let own_prepare = !suggest::exports_prepare(inherited, &context.set.eclass_dirs());
    let fixes = suggest::suggest(&facts.text, &judged, &mut report.findings, &scene, own_prepare, holes::doubt(&holes));
    report.tree = tree(facts, &job.workdir());
    let (changed, undiffed) = changed(facts, &facts.source.written(job));
    report.changed = changed;
    if undiffed > 0 {
        facts.remarks.push(format!("changed files whose diff would have been too much: {undiffed}"));
    }
    for file in &mut report.changed {
        let wrote = |e: &&edits::Judged| {
            e.edit.targets.iter().any(|t| {
                t.path == file.path
                    && !matches!(t.verdict, Verdict::Dead | Verdict::PathGone | Verdict::NotRun | Verdict::Identity)
            })
        };
        file.edits = judged.iter().filter(wrote).map(|e| e.edit.id).collect();
    }
    (judged, fixes)
}

fn tree(facts: &Facts, workdir: &Path) -> TreeInfo {
    let md5 = |s: &Option<crate::tree::Snapshot>| s.as_ref().map(|s| s.tree_md5(workdir));
    TreeInfo {
        files: facts.before.as_ref().map_or(0, |s| s.files()),
        bytes: facts.before.as_ref().map_or(0, |s| s.bytes()),
        before: md5(&facts.before),
        after: md5(&facts.after),
    }
}
