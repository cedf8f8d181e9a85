//! Perl calls that changed nothing: whether they matched all the same, and why they did not.

use super::edits::{Judged, Scene};
use super::shelves::{Shelves, own};
use crate::edit::budget::OVER;
use crate::edit::cause::Explained;
use crate::edit::cause::perl::{self, Bench, Dead};
use crate::edit::outcome::union;
use crate::edit::perl::argv::Invocation;
use crate::phase::job::find_program;
use crate::phase::trace::Record;
use crate::report::model::{Cause, EditKind, Verdict};

/// Refines the verdicts of dead perl calls, and says why those that stay dead are.
pub fn judge(edits: &mut [Judged], scene: &Scene, shelves: &Shelves) {
    let mut bench = None;
    for judged in edits.iter_mut().filter(|j| j.edit.kind == EditKind::Perl && j.edit.verdict == Verdict::Dead) {
        // what perl refused says nothing of its files
        let ran = !judged.edit.targets.is_empty() && judged.edit.exit == Some(0);
        let Some(place) = judged.place.as_ref().filter(|_| ran) else { continue };
        let made = bench
            .get_or_insert_with(|| find_program("perl").and_then(|p| Bench::new(&p, "C.UTF-8", scene.budget).ok()));
        let Some(bench) = made else { continue };
        let calls: Vec<(&Record, Invocation)> = place.records.iter().map(|r| (r, invocation(r))).collect();
        for (record, call) in calls.iter().take_while(|_| !scene.budget.is_over()) {
            let own = own(record, scene);
            let contents: Vec<&[u8]> = own.iter().map(|o| o.content.as_slice()).collect();
            let verdicts = perl::verdicts(call, &contents, bench).unwrap_or_default();
            for (own, verdict) in own.iter().zip(verdicts) {
                let known = judged.edit.targets.iter_mut().find(|t| t.path == own.shown);
                known.into_iter().for_each(|t| t.verdict = union([t.verdict, verdict]));
            }
        }
        judged.edit.verdict = union(judged.edit.targets.iter().map(|t| t.verdict));
        if scene.budget.is_over() && judged.edit.verdict == Verdict::Dead {
            // what matched and gave the same text can't be told from what did not match
            (judged.edit.verdict, judged.edit.reason) = (Verdict::Unknown, Some(OVER.to_owned()));
        }
        if judged.edit.verdict == Verdict::Dead {
            judged.explained = explained(&calls, scene, shelves, bench);
        }
    }
}

pub(super) fn invocation(record: &Record) -> Invocation {
    Invocation::parse(&record.argv.iter().map(|w| w.0.clone()).collect::<Vec<_>>())
}

/// The causes of the first call that has one, else why there are none; one a statement.
fn explained(calls: &[(&Record, Invocation)], scene: &Scene, shelves: &Shelves, bench: &Bench) -> Vec<Explained> {
    let Some(shelf) = shelves.get() else { return Vec::new() };
    let mut first = Vec::new();
    for (record, call) in calls.iter().take_while(|_| !scene.budget.is_over()) {
        let own = own(record, scene);
        if own.is_empty() {
            continue;
        }
        let found = perl::explain(&Dead { call, own: &own, moment: record.start }, shelf, bench);
        if found.iter().any(|e| e.cause != Cause::Unknown) {
            return found;
        }
        if first.is_empty() {
            first = found;
        }
    }
    first
}
