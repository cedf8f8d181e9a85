//! From places and their traced calls to the report's edits.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::shelves::Shelves;
use super::{commands, perl};
use crate::edit::budget::Budget;
use crate::edit::cause::{self, Explained, Switches};
use crate::edit::fate::{self, Known, Later};
use crate::edit::inventory::Call;
use crate::edit::outcome::{self, CallOutcome, union};
use crate::edit::place::Place;
use crate::edit::site::{Sources, named_as_tool};
use crate::edit::suggest::CallPlan;
use crate::escape::{escape_path, show};
use crate::phase::names::Names;
use crate::phase::notes::Note;
use crate::phase::trace::{BLOB_LIMIT, Bytes, Ended, Record, State, TargetRecord, Tool, TraceDir};
use crate::report::model::{By, Cause, Edit, EditKind, Origin, Target, Verdict};
use crate::tree::{Kind, Pack, Snapshot, hex, unhex, untrusted};

/// An edit with what it was made from.
#[derive(Debug)]
pub struct Judged {
    pub edit: Edit,
    /// The files in which a command's range ran to the end for want of its last line, by the command's index.
    pub unclosed: Vec<(usize, String)>,
    /// Indices of commands that can never change anything.
    pub never: Vec<usize>,
    /// The exit statuses that its script chooses by itself (`q1`): an answer, and no failure.
    pub statuses: Vec<u64>,
    /// What sed says of a script that it refused.
    pub refusal: Option<String>,
    /// Where the text of files that are gone went.
    pub moved: Option<Explained>,
    /// Why each statement of a dead perl call is dead.
    pub explained: Vec<Explained>,
    /// None for an edit that did not run.
    pub place: Option<Place>,
    pub calls: Vec<CallOutcome>,
    /// Its first calls with what they ran, where they were asked for.
    pub laid: OnceCell<Vec<CallPlan>>,
}

impl Judged {
    /// With nothing found out yet beside the edit itself.
    fn of(edit: Edit, place: Option<Place>, calls: Vec<CallOutcome>) -> Judged {
        Judged {
            edit,
            unclosed: Vec::new(),
            never: Vec::new(),
            statuses: Vec::new(),
            refusal: None,
            moved: None,
            explained: Vec::new(),
            place,
            calls,
            laid: OnceCell::new(),
        }
    }

    /// Whether the call is wanted though it changes nothing: it asks, or acts only on faulty input.
    pub fn stands_guard(&self) -> bool {
        !self.statuses.is_empty() || self.edit.commands.iter().any(|c| c.verdict == Verdict::Guard)
    }

    /// What is said of a dead perl call: the first of its statements of which something is known.
    pub fn explained(&self) -> Option<&Explained> {
        self.explained.iter().find(|e| e.cause != Cause::Unknown).or(self.explained.first())
    }
}

/// What the judging of edits needs beside the trace.
pub struct Scene<'a> {
    pub names: &'a Names,
    pub trace: &'a TraceDir,
    pub before: Option<&'a Snapshot>,
    pub after: Option<&'a Snapshot>,
    pub pack: Option<&'a Pack>,
    pub filesdir: PathBuf,
    /// Whether the phases came to their end, so that what has no trace did not run.
    pub complete: bool,
    /// The time for judging.
    pub budget: Budget,
}

impl<'a> Scene<'a> {
    pub fn new(
        names: &'a Names,
        trace: &'a TraceDir,
        (before, after): (Option<&'a Snapshot>, Option<&'a Snapshot>),
        pack: Option<&'a Pack>,
        filesdir: PathBuf,
        complete: bool,
        budget: Budget,
    ) -> Scene<'a> {
        Scene { names, trace, before, after, pack, filesdir, complete, budget }
    }

    /// Contents by md5: from the trace, the pristine tree, or the tree as the phase left it.
    pub fn contents(&self, md5: &str) -> Option<Vec<u8>> {
        let kept = || {
            let md5 = unhex(md5)?;
            let (path, slot) = [self.before, self.after].into_iter().flatten().find_map(|tree| tree.kept(&md5))?;
            self.pack?.get(path, slot).ok()
        };
        self.trace.blob(md5).or_else(kept)
    }

    /// What a file below WORKDIR held at the end of the phase, or before it, as the snapshots tell; the folder may be
    /// that of a layer, without the rest. `Some(None)`: there was no such file. None: it can't be told.
    pub fn read(&self, path: &Path) -> Option<Option<Vec<u8>>> {
        let (before, after) = (self.before?, self.after?);
        let kind = |path: &Path| after.get(path).or(before.get(path)).map(|entry| &entry.kind);
        match kind(path) {
            // what lies behind a link has another name
            None => path.ancestors().skip(1).all(|dir| !matches!(kind(dir), Some(Kind::Link(_)))).then_some(None),
            Some(Kind::File { md5, .. }) => self.contents(&hex(md5)).map(Some),
            Some(_) => None,
        }
    }

    /// The md5 of a file at the end of the phase.
    pub fn end(&self, path: &Path) -> Option<String> {
        Some(hex(&self.after?.md5(self.names.below_work(path)?)?))
    }

    /// The patch that a record names, if it lies where the phases may read: a record can be forged.
    fn patch(&self, path: &Path) -> Option<Vec<u8>> {
        let path = self.names.normal(path);
        if self.names.holds(&path) {
            return untrusted::read(&path, BLOB_LIMIT).ok();
        }
        path.strip_prefix(&self.filesdir).ok()?;
        // REPOSITORY/CATEGORY/PACKAGE/files; what lies there may be a link to somewhere in the repository
        let repository = self.filesdir.ancestors().nth(3)?.canonicalize().ok()?;
        let real = path.canonicalize().ok()?;
        let hidden = real.strip_prefix(&repository).ok()?.iter().any(|name| name.as_bytes().starts_with(b"."));
        if hidden { None } else { untrusted::read(&real, BLOB_LIMIT).ok() }
    }

    /// Whether another file of the tree or of FILESDIR has these contents.
    fn elsewhere(&self, md5: &str) -> bool {
        if unhex(md5).is_some_and(|m| self.before.is_some_and(|tree| tree.has(&m))) {
            return true;
        }
        let files = walkdir::WalkDir::new(&self.filesdir).into_iter().flatten().filter(|f| f.file_type().is_file());
        files.into_iter().any(|f| crate::tree::md5_of_file(f.path()).is_ok_and(|m| hex(&m) == md5))
    }
}

/// The edits of all places, then those that the ebuild's text has and nothing ran. `lost`: the tools of calls that came
/// from no known place.
pub fn edits(
    places: Vec<Place>,
    lost: &[EditKind],
    notes: &[Note],
    sources: &mut Sources,
    scene: &Scene,
) -> Vec<Judged> {
    let mut found = Vec::new();
    let mut all: Vec<Record> = places.iter().flat_map(|p| p.records.iter().cloned()).collect();
    all.sort_by_key(|r| (r.start, r.end));
    let paths = by_path(&all);
    for place in places {
        found.push(ran(place, &paths, scene));
    }
    let shelves = Shelves::new(scene, &all);
    commands::judge(&mut found, scene, &shelves);
    perl::judge(&mut found, scene, &shelves);
    for note in notes.iter().filter(|n| n.kind == "patch-gone") {
        found.extend(patch_gone(note, sources, scene));
    }
    if scene.complete {
        not_run(&mut found, lost, sources);
    }
    // ids follow the text: first the ebuild's own edits in order of line; the tools of a pipe start in any order
    found.sort_by_key(|j| {
        let (origin, call) = (&j.edit.origin, j.place.as_ref().and_then(|p| p.site.call));
        (j.edit.by as u8, origin.file.clone(), origin.line, origin.end_line, call.unwrap_or(usize::MAX))
    });
    for (id, judged) in found.iter_mut().enumerate() {
        judged.edit.id = id;
    }
    found
}

fn ran(place: Place, all: &ByPath, scene: &Scene) -> Judged {
    let patch = |path: &Path| scene.patch(path);
    let mut calls: Vec<CallOutcome> = place.records.iter().map(|r| outcome::call(r, place.asked, &patch)).collect();
    for (record, call) in place.records.iter().zip(&mut calls) {
        fates(record, call, all, scene);
    }
    let targets = targets(&calls, scene.names);
    let first = &place.records[0];
    let verdict = union(calls.iter().map(|c| c.verdict));
    let reason = calls.iter().filter(|c| c.verdict == verdict).find_map(|c| c.reason.clone());
    let seen: Vec<i32> = place.records.iter().filter(|r| r.ended != Ended::Unseen).map(|r| r.exit).collect();
    let exit = seen.iter().copied().find(|e| *e != 0).or(seen.first().copied());
    let cwd = Path::new(std::ffi::OsStr::from_bytes(&first.cwd.0));
    let edit = Edit {
        id: 0,
        kind: place.kind,
        phase: first.phase.clone(),
        origin: place.site.origin.clone(),
        by: place.by,
        argv: first.argv.iter().map(|a| show(&a.0)).collect(),
        cwd: scene.names.show(cwd),
        exit,
        verdict,
        targets,
        commands: Vec::new(),
        condition: place.site.call().and_then(|c| c.condition.clone()),
        variants: vec![0],
        reason: reason.filter(|_| verdict == Verdict::Unknown),
    };
    Judged::of(edit, Some(place), calls)
}

/// The calls that name a file, in order of time, by the file.
type ByPath<'a> = HashMap<&'a Bytes, Vec<(&'a Record, &'a TargetRecord)>>;

fn by_path(all: &[Record]) -> ByPath<'_> {
    let mut found: ByPath = HashMap::new();
    for record in all.iter().filter(|r| r.tool != Tool::Patch) {
        for target in &record.targets {
            found.entry(&target.path).or_default().push((record, target));
        }
    }
    found
}

/// Live files whose edit was undone or replaced later become `overwritten`, and the call with them.
fn fates(record: &Record, call: &mut CallOutcome, all: &ByPath, scene: &Scene) {
    for file in call.files.iter_mut().filter(|f| f.verdict == Verdict::Live) {
        let (Some(before), Some(after)) = (file.before.md5(), file.after.md5()) else { continue };
        let end = scene.end(outcome::path(&file.path));
        // the usual case first: nothing touched the file again
        if end.as_deref() == Some(after) || scene.budget.is_over() {
            continue;
        }
        let later = all.get(&file.path).map_or(&[][..], Vec::as_slice);
        let later = later.iter().filter(|(r, _)| r.start > record.start).map(|(record, target)| Later {
            record,
            target,
            edits: record.tool != Tool::Sed || outcome::invocation(record).is_some_and(|i| i.in_place.is_some()),
        });
        let known = Known {
            contents: &|md5| scene.contents(md5).filter(|_| !scene.budget.is_over()),
            elsewhere: &|md5| scene.elsewhere(md5),
            replay: &|later, input| replay(later.record, input, scene),
        };
        if fate::overwritten(before, after, &later.collect::<Vec<_>>(), end.as_deref(), &known) {
            file.verdict = Verdict::Overwritten;
        }
    }
    if call.verdict == Verdict::Live && !call.files.is_empty() {
        call.verdict = union(call.files.iter().map(|f| f.verdict));
    }
}

/// What a later sed call would have made of another input: of the file, or what it would have printed.
fn replay(record: &Record, input: &[u8], scene: &Scene) -> Option<Vec<u8>> {
    if record.tool != Tool::Sed || scene.budget.is_over() {
        return None;
    }
    let (invocation, script) = commands::script(record, scene)?;
    // several files are one stream to it
    (invocation.separate || record.targets.len() == 1).then_some(())?;
    let text = cause::whole(&script)?;
    let sed = crate::phase::job::find_program("sed")?;
    let bench = cause::Bench::new(&sed, "C.UTF-8", scene.budget).ok()?;
    let quiet = invocation.quiet || script.quiet;
    bench.run(&text, &Switches::of(invocation.flags, quiet), &[input])?.pop()
}

/// The files of all calls, each once: its first state, its last, and the best verdict.
fn targets(calls: &[CallOutcome], names: &Names) -> Vec<Target> {
    let mut order: Vec<String> = Vec::new();
    let mut by_path: BTreeMap<String, Target> = BTreeMap::new();
    let md5 = |state: &State| state.md5().map(str::to_owned);
    for file in calls.iter().flat_map(|c| &c.files) {
        let path = names.show(outcome::path(&file.path));
        match by_path.get_mut(&path) {
            Some(target) => {
                target.verdict = union([target.verdict, file.verdict]);
                target.after = md5(&file.after);
            }
            None => {
                let target = Target {
                    path: path.clone(),
                    verdict: file.verdict,
                    before: md5(&file.before),
                    after: md5(&file.after),
                };
                by_path.insert(path.clone(), target);
                order.push(path);
            }
        }
    }
    order.iter().filter_map(|p| by_path.remove(p)).collect()
}

/// A patch that eapply did not find.
fn patch_gone(note: &Note, sources: &mut Sources, scene: &Scene) -> Option<Judged> {
    let site = sources.site(&note.frames, EditKind::Patch, &[]);
    let path = Path::new(std::ffi::OsStr::from_bytes(&note.text));
    let shown = match path.strip_prefix(&scene.filesdir) {
        Ok(rest) => format!("files/{}", escape_path(rest)),
        Err(_) => scene.names.show(path),
    };
    let ebuild = sources.ebuild();
    let (origin, by) = match (sources.patches_entry(&shown), site) {
        (Some((line, end_line)), site) => {
            let function = site.map_or_else(|| "default_src_prepare".to_owned(), |s| s.origin.function);
            (Origin { file: ebuild.origin.clone(), line, end_line, function }, By::Ebuild)
        }
        (None, Some(site)) => (site.origin.clone(), site.source.by),
        (None, None) => return None,
    };
    let target = Target { path: shown, verdict: Verdict::PathGone, before: None, after: None };
    let edit = Edit {
        id: 0,
        kind: EditKind::Patch,
        phase: "src_prepare".into(),
        origin,
        by,
        argv: vec!["eapply".into(), show(&note.text)],
        cwd: ".".into(),
        exit: Some(1),
        verdict: Verdict::PathGone,
        targets: vec![target],
        commands: Vec::new(),
        condition: None,
        variants: vec![0],
        reason: None,
    };
    Some(Judged::of(edit, None, Vec::new()))
}

/// Edits of the ebuild's text, in functions that the phases may reach, that no call came from.
fn not_run(found: &mut Vec<Judged>, lost: &[EditKind], sources: &Sources) {
    let source = sources.ebuild();
    let reachable = source.inventory.reachable();
    let ran = |call: &Call| {
        found.iter().any(|j| {
            j.edit.by == By::Ebuild && j.edit.origin.line <= call.end_line && call.line <= j.edit.origin.end_line
        })
    };
    let missing: Vec<Call> = source
        .inventory
        .calls
        .iter()
        .filter(|c| {
            matches!(c.tool, Some(EditKind::Sed | EditKind::Perl))
                && c.function.as_ref().is_some_and(|f| reachable.contains(f))
        })
        .filter(|c| c.tool == Some(EditKind::Sed) || c.in_place())
        // a wrapper that stands for the tool: its calls are those of its callers
        .filter(|c| !c.tool.zip(c.function.as_deref()).is_some_and(|(tool, f)| named_as_tool(f, tool)))
        .filter(|c| !ran(c))
        .cloned()
        .collect();
    for call in missing {
        let origin = Origin {
            file: source.origin.clone(),
            line: call.line,
            end_line: call.end_line,
            function: call.function.clone().unwrap_or_default(),
        };
        let kind = call.tool.unwrap_or(EditKind::Sed);
        // one of those may be its own
        let may_have_run = lost.contains(&kind);
        let edit = Edit {
            id: 0,
            kind,
            phase: "src_prepare".into(),
            origin,
            by: By::Ebuild,
            argv: call.words[call.tool_word..].iter().map(|w| w.text.clone()).collect(),
            cwd: ".".into(),
            exit: None,
            verdict: if may_have_run { Verdict::Unknown } else { Verdict::NotRun },
            targets: Vec::new(),
            commands: Vec::new(),
            condition: call.condition.clone(),
            variants: Vec::new(),
            reason: may_have_run
                .then(|| "no call is known to be its own, but some came from no known place".to_owned()),
        };
        found.push(Judged::of(edit, None, Vec::new()));
    }
}

use std::os::unix::ffi::OsStrExt;
