//! The single commands of each sed edit: their verdicts over all calls of the place, and why the dead ones are dead.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::edits::{Judged, Scene};
use super::shelves::{Input, Shelves, inputs, own};
use crate::edit::budget::OVER;
use crate::edit::cause::{self, Bench, Dead, Explained, Shelf};
use crate::edit::outcome::{self, union};
use crate::edit::sed;
use crate::edit::sed::argv::{Invocation, PieceKind};
use crate::edit::sed::call::{Call, Content, Environment};
use crate::edit::sed::run::{Limits, Sed};
use crate::edit::sed::script::{Detail, Script, ScriptCommand};
use crate::edit::suggest::Ran;
use crate::escape::show;
use crate::phase::trace::{BLOB_LIMIT, Ended, Record, State};
use crate::report::model::{Cause, Command, CommandTarget, EditKind, Verdict};
use crate::tree::untrusted;

/// Dead commands of one place that are explained; a loop may have as many as it has turns.
const MOST_EXPLAINED: usize = 100;

/// A call of a place with its script cut.
struct Cut<'a> {
    record: &'a Record,
    invocation: Invocation,
    script: Script,
    /// What `-f` read.
    files: ScriptFiles,
}

/// The contents of files by their names as given.
type ScriptFiles = HashMap<Vec<u8>, Vec<u8>>;

/// Fills `commands` of every sed edit, and refines the verdicts of its files and of the whole.
pub fn judge(edits: &mut [Judged], scene: &Scene, shelf: &Shelves) {
    // asked once a run: it takes a process to tell that it is GNU's
    static SED: OnceLock<Result<Sed, String>> = OnceLock::new();
    let locate = || Sed::locate(&std::env::var_os("PATH").unwrap_or_default()).map_err(|e| e.to_string());
    let sed = SED.get_or_init(locate);
    let ready = sed.as_ref().map_err(String::clone);
    let ready =
        ready.and_then(|sed| Ok((Bench::new(sed.path(), "C.UTF-8", scene.budget).map_err(|e| e.to_string())?, sed)));
    let (bench, sed) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            for judged in edits.iter_mut().filter(|j| j.edit.kind == EditKind::Sed && !j.calls.is_empty()) {
                judged.edit.reason = Some(format!("the single commands were not judged: {reason}"));
            }
            return;
        }
    };
    for judged in edits.iter_mut().filter(|j| j.edit.kind == EditKind::Sed && !j.calls.is_empty()) {
        if matches!(judged.edit.verdict, Verdict::Filter | Verdict::NoOutput | Verdict::NotRun) {
            continue;
        }
        let Some(place) = &judged.place else { continue };
        // of a call that was cut off its files say nothing
        let records: Vec<&Record> = place.records.iter().filter(|r| r.ended == Ended::Itself).collect();
        let cuts: Vec<Cut> = records.iter().filter_map(|r| cut(r, scene)).collect();
        let mut merged = Merged::default();
        if cuts.len() < records.len() {
            merged.reason = Some("a script could not be cut into its commands".to_owned());
        }
        let refused = records.iter().find(|r| r.exit == 1 && !scene.budget.is_over());
        let refusal = refused.and_then(|r| sed.refusal(&outcome::invocation(r)?));
        let (groups, left) = groups(&cuts);
        if left > 0 {
            merged.reason = Some(format!("only {MOST_GROUPS} scripts of a place are judged"));
        }
        for group in groups {
            if scene.budget.is_over() {
                (merged.over, merged.reason) = (true, Some(OVER.to_owned()));
                break;
            }
            merged.add(&group, scene, sed);
        }
        let mut commands = merged.commands();
        let gone = judged.edit.verdict == Verdict::PathGone;
        let dead = commands.iter_mut().filter(|c| c.verdict == Verdict::Dead && !gone);
        for (number, command) in dead.enumerate() {
            if number >= MOST_EXPLAINED {
                command.cause = Some(Cause::Unknown);
                command.reason = Some(format!("only {MOST_EXPLAINED} dead commands of a place are explained"));
            } else if let Some(shelf) = shelf.get() {
                explain(command, &cuts, shelf, &bench, scene);
            }
        }
        if judged.edit.targets.iter().any(|t| t.verdict == Verdict::PathGone)
            && let Some(shelf) = shelf.get()
        {
            judged.moved = moved(&cuts, shelf, &bench, scene);
        }
        merged
            .unclosed
            .retain(|(index, file)| !scene.budget.is_over() && !can_end(*index, file, &commands, &cuts, &bench, scene));
        merged.refine(judged);
        judged.refusal = refusal;
        judged.edit.commands = commands;
        if judged.edit.reason.is_none() {
            judged.edit.reason = merged.reason;
        }
    }
}

fn cut<'a>(record: &'a Record, scene: &Scene) -> Option<Cut<'a>> {
    let (invocation, files) = words(record, scene)?;
    let script = Script::cut(&invocation, &files, environment(record).locale()).ok()?;
    Some(Cut { record, invocation, script, files })
}

/// A record's words with its script.
pub fn script(record: &Record, scene: &Scene) -> Option<(Invocation, Script)> {
    let cut = cut(record, scene)?;
    Some((cut.invocation, cut.script))
}

/// A record's words, and what its `-f` files held.
fn words(record: &Record, scene: &Scene) -> Option<(Invocation, ScriptFiles)> {
    let invocation = outcome::invocation(record)?;
    let mut files = HashMap::new();
    for piece in invocation.pieces.iter().filter(|p| p.kind == PieceKind::File) {
        let md5 = record.scripts.iter().find(|(index, _)| *index == piece.index).map(|(_, md5)| md5)?;
        files.insert(piece.text.clone(), scene.trace.blob(md5)?);
    }
    Some((invocation, files))
}

fn environment(record: &Record) -> Environment {
    let locale = Some(record.locale.0.clone()).filter(|l| !l.is_empty());
    Environment {
        lc_all: locale.map(std::ffi::OsString::from_vec),
        posixly_correct: record.posixly_correct,
        ..Environment::default()
    }
}

/// Scripts of one place; no loop of an honest ebuild makes as many.
const MOST_GROUPS: usize = 2000;

/// Calls of the same script that treat each file by itself are judged as one. Also gives how many calls are in no group.
fn groups<'a>(cuts: &'a [Cut<'a>]) -> (Vec<Vec<&'a Cut<'a>>>, usize) {
    let mut found: Vec<Vec<&Cut>> = Vec::new();
    let mut left = 0;
    for cut in cuts {
        let room = found.len() < MOST_GROUPS;
        let separate = cut.invocation.separate || cut.invocation.in_place.is_some();
        let twin = found.iter_mut().find(|g| {
            let first = g[0];
            separate
                && first.script.text == cut.script.text
                && first.script.pieces == cut.script.pieces
                && first.invocation.flags == cut.invocation.flags
                && first.invocation.quiet == cut.invocation.quiet
                && first.record.locale == cut.record.locale
        });
        match twin {
            Some(group) => group.push(cut),
            None if room => found.push(vec![cut]),
            None => left += 1,
        }
    }
    (found, left)
}

/// Commands and files over all calls of a place.
#[derive(Default)]
struct Merged {
    commands: Vec<(Command, BTreeMap<String, Verdict>)>,
    files: BTreeMap<String, Verdict>,
    unclosed: Vec<(usize, String)>,
    never: Vec<usize>,
    /// The statuses with which the scripts end their calls by themselves.
    statuses: Vec<u64>,
    /// Whether the time was over before all was judged.
    over: bool,
    /// Why some commands are not judged.
    reason: Option<String>,
}

impl Merged {
    /// Judges one group of calls and takes it in. Commands of equal text are one.
    fn add(&mut self, group: &[&Cut], scene: &Scene, sed: &Sed) {
        let first = group[0];
        self.statuses.extend(first.script.commands.iter().filter_map(ScriptCommand::status));
        let targets: Vec<Input> = group.iter().flat_map(|c| inputs(c.record)).collect();
        let blobs: Vec<Option<PathBuf>> = targets.iter().map(|t| scene.trace.blob_file(t.before.md5()?)).collect();
        let call = Call {
            invocation: &first.invocation,
            script_files: first.files.clone(),
            read_files: read_files(first, scene),
            environment: environment(first.record),
            exit: group.iter().map(|c| c.record.exit).find(|e| *e != 0).or(Some(0)),
            targets: targets
                .iter()
                .zip(&blobs)
                .map(|(target, blob)| sed::call::Target {
                    before: blob.as_ref().map_or(Content::Missing, |b| Content::File(b)),
                    changed: match (target.before.md5(), target.after.and_then(State::md5)) {
                        (Some(a), Some(b)) => Some(a != b),
                        _ => None,
                    },
                })
                .collect(),
        };
        let default = Limits::default();
        let limits = Limits { time: default.time.min(scene.budget.left()), ..default };
        let mut judgement = sed::judge::judge_within(&call, sed, limits);
        if scene.budget.is_over() && judgement.reason.is_some() {
            // what was cut short is not the script's fault
            judgement.reason = Some(OVER.to_owned());
            judgement.commands.iter_mut().for_each(|c| c.reason = Some(OVER.to_owned()));
            self.over = true;
        }
        if judgement.reason.is_some() {
            self.reason.clone_from(&judgement.reason);
        }
        let names: Vec<String> = targets.iter().map(|t| scene.names.show(outcome::path(t.path))).collect();
        for (name, verdict) in names.iter().zip(&judgement.targets) {
            let known = self.files.entry(name.clone()).or_insert(*verdict);
            *known = union([*known, *verdict]);
        }
        // two commands of one script may have the same text
        let mut taken = HashSet::new();
        for judged in judgement.commands {
            let text = show(&judged.text);
            let twin = |(at, (c, _)): &(usize, &(Command, _))| c.text == text && !taken.contains(at);
            let place = self.commands.iter().enumerate().find(twin).map(|(at, _)| at);
            let place = place.unwrap_or_else(|| {
                let index = if self.commands.iter().any(|(c, _)| c.index == judged.index) {
                    self.commands.len()
                } else {
                    judged.index
                };
                let command = Command {
                    index,
                    text,
                    verdict: judged.verdict,
                    cause: judged.option_order.then_some(Cause::OptionOrder),
                    evidence: Vec::new(),
                    targets: Vec::new(),
                    reason: judged.reason.clone(),
                };
                self.commands.push((command, BTreeMap::new()));
                self.commands.len() - 1
            });
            taken.insert(place);
            let (command, files) = &mut self.commands[place];
            command.verdict = union([command.verdict, judged.verdict]);
            for (name, verdict) in names.iter().zip(&judged.targets) {
                let known = files.entry(name.clone()).or_insert(*verdict);
                *known = union([*known, *verdict]);
            }
            if judged.never {
                self.never.push(command.index);
            }
            for file in judged.unclosed {
                self.unclosed.extend(names.get(file).map(|n| (command.index, n.clone())));
            }
        }
    }

    fn commands(&self) -> Vec<Command> {
        let with_targets = |(command, files): &(Command, BTreeMap<String, Verdict>)| {
            let targets = files.iter().map(|(path, verdict)| CommandTarget { path: path.clone(), verdict: *verdict });
            Command { targets: targets.collect(), ..command.clone() }
        };
        let mut found: Vec<Command> = self.commands.iter().map(with_targets).collect();
        found.sort_by_key(|c| c.index);
        found
    }

    /// What looked dead by its bytes may be an identity, undone by itself, or a guard; and what left its files as they
    /// were may have done something else.
    fn refine(&self, judged: &mut Judged) {
        judged.unclosed.clone_from(&self.unclosed);
        judged.never.clone_from(&self.never);
        judged.statuses.clone_from(&self.statuses);
        // of `sed in > out` the edit names the output
        let only = self.files.values().next().filter(|_| self.files.len() == 1 && judged.edit.targets.len() == 1);
        for target in judged.edit.targets.iter_mut().filter(|t| t.verdict == Verdict::Dead) {
            if let Some(verdict @ (Verdict::Identity | Verdict::NetZero | Verdict::Guard)) =
                self.files.get(&target.path).or(only)
            {
                target.verdict = *verdict;
            }
        }
        if self.over && judged.edit.verdict == Verdict::Dead {
            // what matched and gave the same text can't be told from what did not match
            judged
                .edit
                .targets
                .iter_mut()
                .filter(|t| t.verdict == Verdict::Dead)
                .for_each(|t| t.verdict = Verdict::Unknown);
            judged.edit.verdict = Verdict::Unknown;
        } else if judged.edit.verdict == Verdict::Dead && !judged.edit.targets.is_empty() {
            judged.edit.verdict = union(judged.edit.targets.iter().map(|t| t.verdict));
        }
        let first = |verdict: Verdict| self.commands.iter().map(|c| &c.0).find(|c| c.verdict == verdict);
        let raised = match judged.edit.verdict {
            Verdict::Dead | Verdict::Identity => first(Verdict::Live).or_else(|| first(Verdict::Unknown)),
            Verdict::NetZero => first(Verdict::Live),
            _ => None,
        };
        if let Some(command) = raised {
            judged.edit.verdict = command.verdict;
            judged.edit.reason = command.reason.clone().filter(|_| command.verdict == Verdict::Unknown);
        }
    }
}

/// Whether the range of command `index` could have ended in `file`.
fn can_end(index: usize, file: &str, commands: &[Command], cuts: &[Cut], bench: &Bench, scene: &Scene) -> bool {
    let Some(text) = commands.iter().find(|c| c.index == index).map(|c| &c.text) else { return true };
    let found = cuts.iter().find_map(|cut| {
        let target = cut.record.targets.iter().find(|t| scene.names.show(outcome::path(&t.path)) == file)?;
        let at = cut.script.commands.iter().position(|c| show(cut.script.source(&c.span)) == *text)?;
        let content = scene.contents(target.before.md5()?)?;
        Some(cause::range_can_end(&cut.script, at, &content, bench))
    });
    found.unwrap_or(true)
}

/// What `r` and `R` would have read, as far as it lies where the phase may read.
fn read_files(cut: &Cut, scene: &Scene) -> HashMap<Vec<u8>, Option<Vec<u8>>> {
    let names = cut.script.commands.iter().filter_map(read_name);
    names.filter_map(|name| Some((name.clone(), read_file(name, cut, scene)?))).collect()
}

/// The file that a command reads.
fn read_name(command: &ScriptCommand) -> Option<&Vec<u8>> {
    match &command.detail {
        Detail::File(name) if matches!(command.name, b'r' | b'R') => Some(name),
        _ => None,
    }
}

/// What a file to be read holds, in which none is one that is not there; none where that is not known.
fn read_file(name: &[u8], cut: &Cut, scene: &Scene) -> Option<Option<Vec<u8>>> {
    let path = outcome::path(&cut.record.cwd).join(std::ffi::OsStr::from_bytes(name));
    let path = scene.names.normal(&path);
    let content = match path.strip_prefix(&scene.filesdir) {
        // the folder may be reached through links, what lies in it must not lead out
        Ok(rest) => {
            std::fs::canonicalize(&scene.filesdir).ok().map(|dir| untrusted::read(&dir.join(rest), BLOB_LIMIT).ok())
        }
        Err(_) => scene.names.below_work(&path).and_then(|path| scene.read(path)),
    };
    // a fragment may be removed once it is put in
    let changed = || cut.record.targets.iter().any(|t| t.before != t.after);
    content.filter(|content| content.is_some() || !changed())
}

/// Whether a command reads a file that is not there.
fn reads_nothing(command: &ScriptCommand, cut: &Cut, scene: &Scene) -> bool {
    read_name(command).is_some_and(|name| read_file(name, cut, scene) == Some(None))
}

/// Where the text went that a place's files had, when the files themselves are gone.
fn moved(cuts: &[Cut], shelf: &Shelf, bench: &Bench, scene: &Scene) -> Option<Explained> {
    let (cut, gone) = cuts.iter().find_map(|cut| {
        let missing = cut.record.targets.iter().filter(|t| matches!(t.before, State::Missing));
        let gone: Vec<PathBuf> =
            missing.filter_map(|t| Some(scene.names.below_work(outcome::path(&t.path))?.to_path_buf())).collect();
        (!gone.is_empty()).then_some((cut, gone))
    })?;
    let dead = Dead {
        invocation: &cut.invocation,
        script: &cut.script,
        command: 0,
        own: &[],
        moment: cut.record.start,
        unread: false,
    };
    Some(cause::moved(&dead, &gone, shelf, bench))
}

/// Says why `command` is dead, by the first call that has it.
fn explain(command: &mut Command, cuts: &[Cut], shelf: &Shelf, bench: &Bench, scene: &Scene) {
    for cut in cuts {
        if scene.budget.is_over() {
            (command.cause, command.reason) = (Some(Cause::Unknown), Some(OVER.to_owned()));
            return;
        }
        let Some(index) = cut.script.commands.iter().position(|c| show(cut.script.source(&c.span)) == command.text)
        else {
            continue;
        };
        let own = own(cut.record, scene);
        if own.is_empty() {
            let unread = cause::unknown("what its files held was not kept");
            (command.cause, command.reason) = (Some(unread.cause), command.reason.take().or(unread.reason));
            continue;
        }
        let dead = Dead {
            invocation: &cut.invocation,
            script: &cut.script,
            command: index,
            own: &own,
            moment: cut.record.start,
            unread: reads_nothing(&cut.script.commands[index], cut, scene),
        };
        let explained = cause::explain(&dead, shelf, bench);
        command.cause = Some(explained.cause);
        command.evidence = explained.evidence;
        command.reason = explained.reason.or(command.reason.take());
        return;
    }
}

/// What a record ran with, its commands laid against those of the edit.
pub fn ran(record: &Record, commands: &[Command], scene: &Scene) -> Option<Ran> {
    let cut = cut(record, scene)?;
    let mut taken = HashSet::new();
    let mut id = |text: String| {
        let twin = commands.iter().find(|c| c.text == text && !taken.contains(&c.index))?;
        taken.insert(twin.index);
        Some(twin.index)
    };
    let ids: Option<Vec<usize>> = cut.script.commands.iter().map(|c| id(show(cut.script.source(&c.span)))).collect();
    Some(Ran {
        argv: record.argv.iter().map(|a| a.0.clone()).collect(),
        ids: ids?,
        locale: environment(record).locale(),
        invocation: cut.invocation,
        script: cut.script,
        files: cut.files,
    })
}
