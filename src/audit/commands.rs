//! The single commands of each sed edit: their verdicts over all calls of the place, and why the dead ones are dead.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::edits::{Judged, Scene};
use crate::edit::cause::{self, Bench, Dead, Event, Own, Shelf};
use crate::edit::outcome;
use crate::edit::sed::argv::{Invocation, PieceKind};
use crate::edit::sed::script::{Locale, Script};
use crate::escape::show;
use crate::phase::trace::{Record, State, Tool};
use crate::report::model::{Command, CommandTarget, EditKind, Verdict};
use crate::tree::Kind;

/// A call of a place with its script cut.
struct Cut<'a> {
    record: &'a Record,
    invocation: Invocation,
    script: Script,
}

/// Fills `commands` of every sed edit.
pub fn judge(edits: &mut [Judged], scene: &Scene, records: &[Record]) {
    let Some(sed) = crate::phase::job::find_program("sed") else { return };
    let locale = "C.UTF-8";
    let Ok(bench) = Bench::new(&sed, scene.trace.path(), locale) else { return };
    let mut shelf = None;
    for judged in edits.iter_mut().filter(|j| j.edit.kind == EditKind::Sed && !j.calls.is_empty()) {
        if matches!(judged.edit.verdict, Verdict::Filter | Verdict::NoOutput | Verdict::NotRun) {
            continue;
        }
        let Some(place) = &judged.place else { continue };
        let cuts: Vec<Cut> = place.records.iter().filter_map(|r| cut(r, scene)).collect();
        let mut commands = merged(&cuts, judged.edit.verdict);
        for command in commands.iter_mut().filter(|c| c.verdict == Verdict::Dead) {
            let shelf = shelf.get_or_insert_with(|| self::shelf(scene, records));
            if let Some(shelf) = shelf {
                explain(command, &cuts, shelf, &bench, scene);
            }
        }
        judged.edit.commands = commands;
    }
}

fn cut<'a>(record: &'a Record, scene: &Scene) -> Option<Cut<'a>> {
    let invocation = outcome::invocation(record)?;
    let mut files = HashMap::new();
    for piece in invocation.pieces.iter().filter(|p| p.kind == PieceKind::File) {
        let md5 = record.scripts.iter().find(|(index, _)| *index == piece.index).map(|(_, md5)| md5)?;
        files.insert(piece.text.clone(), scene.trace.blob(md5)?);
    }
    let utf8 = !matches!(record.locale.0.as_slice(), b"C" | b"POSIX" | b"");
    let locale = Locale { posixly_correct: record.posixly_correct, utf8 };
    let script = Script::cut(&invocation, &files, locale).ok()?;
    Some(Cut { record, invocation, script })
}

/// The commands of all calls: those of equal text and place in the script are one.
fn merged(cuts: &[Cut], call: Verdict) -> Vec<Command> {
    let mut found: Vec<Command> = Vec::new();
    for cut in cuts {
        for command in &cut.script.commands {
            let text = show(cut.script.source(&command.span));
            if found.iter().any(|c| c.text == text) {
                continue;
            }
            let verdict = if call == Verdict::Dead { Verdict::Dead } else { Verdict::Unknown };
            found.push(Command {
                index: if cuts.len() == 1 { command.index } else { found.len() },
                text,
                verdict,
                cause: None,
                evidence: Vec::new(),
                targets: Vec::<CommandTarget>::new(),
                reason: None,
            });
        }
    }
    found
}

/// Says why `command` is dead, by the first call that has it.
fn explain(command: &mut Command, cuts: &[Cut], shelf: &Shelf, bench: &Bench, scene: &Scene) {
    for cut in cuts {
        let Some(index) = cut.script.commands.iter().position(|c| show(cut.script.source(&c.span)) == command.text)
        else {
            continue;
        };
        let own = own(cut.record, scene);
        if own.is_empty() {
            continue;
        }
        let dead = Dead {
            invocation: &cut.invocation,
            script: &cut.script,
            command: index,
            own: &own,
            moment: cut.record.start,
        };
        let explained = cause::explain(&dead, shelf, bench);
        command.cause = Some(explained.cause);
        command.evidence = explained.evidence;
        return;
    }
}

/// The files of a call with their contents.
fn own(record: &Record, scene: &Scene) -> Vec<Own> {
    let one = |target: &crate::phase::trace::TargetRecord| {
        let path = outcome::path(&target.path);
        let content = scene.contents(target.before.md5()?)?;
        let relative = scene.names.below_work(path).map_or_else(|| path.to_path_buf(), Path::to_path_buf);
        let pristine = pristine(&relative, scene).filter(|p| *p != content);
        Some(Own { shown: scene.names.show(path), path: relative, content, pristine })
    };
    record.targets.iter().filter_map(one).take(64).collect()
}

fn pristine(path: &PathBuf, scene: &Scene) -> Option<Vec<u8>> {
    match scene.before?.entries.get(path)?.kind {
        Kind::File { pack: Some(slot), .. } => scene.pack?.get(slot).ok(),
        _ => None,
    }
}

fn shelf(scene: &Scene, records: &[Record]) -> Option<Shelf> {
    let md5 = |state: &State| state.md5().map(str::to_owned);
    let mut events = Vec::new();
    for record in records.iter().filter(|r| r.tool != Tool::Patch) {
        for target in &record.targets {
            let Some(path) = scene.names.below_work(outcome::path(&target.path)) else { continue };
            events.push(Event {
                path: path.to_path_buf(),
                start: record.start,
                end: record.end,
                before: md5(&target.before),
                after: md5(&target.after),
            });
        }
    }
    Some(Shelf::new(scene.before?, scene.after, scene.pack?, &events, &|m| scene.contents(m)))
}
