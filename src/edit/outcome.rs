//! What one traced call did, by the contents of its files alone.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::patch;
use super::question::Wanted;
use super::sed::argv::Invocation;
use crate::phase::trace::{Bytes, Ended, Record, State, Stream, Tool};
use crate::report::model::Verdict;

/// What a call did to one file.
#[derive(Clone, Debug)]
pub struct FileOutcome {
    /// Absolute.
    pub path: Bytes,
    pub verdict: Verdict,
    pub before: State,
    pub after: State,
    /// The record's target, where it is one.
    pub target: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct CallOutcome {
    pub verdict: Verdict,
    pub files: Vec<FileOutcome>,
    pub reason: Option<String>,
}

impl CallOutcome {
    fn of(verdict: Verdict) -> CallOutcome {
        CallOutcome { verdict, files: Vec::new(), reason: None }
    }

    fn unknown(reason: &str) -> CallOutcome {
        CallOutcome { reason: Some(reason.to_owned()), ..CallOutcome::of(Verdict::Unknown) }
    }
}

/// The words of a record's call, as sed reads them.
pub fn invocation(record: &Record) -> Option<Invocation> {
    let words: Vec<Vec<u8>> = record.argv.iter().map(|w| w.0.clone()).collect();
    Invocation::parse(&words, record.posixly_correct).ok()
}

/// `asked`: the text takes the exit status of the call for an answer. `text` reads a patch, as far as the record may name it.
pub fn call(record: &Record, asked: bool, text: &dyn Fn(&Path) -> Option<Vec<u8>>) -> CallOutcome {
    match record.ended {
        Ended::Itself => ended(record, asked, text),
        Ended::Signal => stopped(record, format!("{} was ended by a signal", record.tool.name())),
        Ended::Unseen => {
            let reason = format!("a signal or the end of the phase came before the end of {}", record.tool.name());
            stopped(record, reason)
        }
    }
}

/// A call that did not come to its own end: what it changed it did, of the rest nothing is known.
fn stopped(record: &Record, reason: String) -> CallOutcome {
    let mut outcome = CallOutcome { files: files(record), ..CallOutcome::unknown(&reason) };
    for file in &mut outcome.files {
        match (file.before.md5(), file.after.md5()) {
            (Some(a), Some(b)) if a != b && record.ended == Ended::Signal => file.verdict = Verdict::Live,
            _ => {}
        }
    }
    if outcome.files.iter().any(|f| f.verdict == Verdict::Live) {
        (outcome.verdict, outcome.reason) = (Verdict::Live, None);
    }
    outcome
}

fn ended(record: &Record, asked: bool, text: &dyn Fn(&Path) -> Option<Vec<u8>>) -> CallOutcome {
    match record.tool {
        Tool::Sed => sed(record, asked),
        Tool::Perl => in_place(record),
        // looked whether it applies, and changed nothing
        Tool::Patch if record.argv.iter().any(|word| word.0 == b"--dry-run") => CallOutcome::of(Verdict::Filter),
        Tool::Patch if record.exit == 0 => {
            CallOutcome { files: patched(record, text), ..CallOutcome::of(Verdict::Live) }
        }
        Tool::Patch => CallOutcome::unknown("patch failed"),
    }
}

/// The files that a patch changed; where none was looked at (it came through a pipe), those that it names.
fn patched(record: &Record, text: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Vec<FileOutcome> {
    if !record.targets.is_empty() {
        let changed = files(record).into_iter().filter(|f| f.before != f.after);
        return changed.map(|f| FileOutcome { verdict: Verdict::Live, ..f }).collect();
    }
    let text = record.patch.as_ref().and_then(|p| text(path(p))).unwrap_or_default();
    let words: Vec<Vec<u8>> = record.argv.iter().map(|w| w.0.clone()).collect();
    let (strip, dir) = patch::options(&words);
    let base = path(&record.cwd).join(dir.unwrap_or_default());
    let one = |name: std::path::PathBuf| FileOutcome {
        path: Bytes(base.join(name).into_os_string().into_vec()),
        verdict: Verdict::Live,
        before: State::Unreadable,
        after: State::Unreadable,
        target: None,
    };
    patch::files(&text, strip).into_iter().map(one).collect()
}

fn sed(record: &Record, asked: bool) -> CallOutcome {
    let Some(call) = invocation(record) else { return CallOutcome::unknown("sed refused its options") };
    if call.in_place.is_some() {
        return in_place(record);
    }
    let gone: Vec<FileOutcome> =
        files(record).into_iter().filter(|f| matches!(f.before, State::Missing)).map(path_gone).collect();
    let mut outcome = match &record.stdout {
        Stream::Nowhere if Wanted::of(&call).beside_a_log(asked) => CallOutcome::of(Verdict::Filter),
        Stream::Nowhere => {
            let read = record.targets.iter().any(|t| t.before.md5().is_some());
            let verdict = if read || record.targets.is_empty() { Verdict::NoOutput } else { Verdict::PathGone };
            CallOutcome::of(verdict)
        }
        Stream::File { path, contents } => {
            let mut written = written(record, path, contents);
            // whoever picks lines may get all of them
            if Wanted::of(&call).only_picks() {
                written.verdict = Verdict::Filter;
                written.files.iter_mut().for_each(|file| file.verdict = Verdict::Filter);
            }
            written
        }
        Stream::Null if !Wanted::of(&call).beside_nothing(asked) => CallOutcome::of(Verdict::NoOutput),
        Stream::Pipe | Stream::Null | Stream::Other => CallOutcome::of(Verdict::Filter),
    };
    if !gone.is_empty() && gone.len() == record.targets.len() {
        outcome.verdict = Verdict::PathGone;
    }
    outcome.files.extend(gone);
    outcome
}

/// `sed in > out`: an output equal to its only input is dead.
fn written(record: &Record, path: &Bytes, contents: &State) -> CallOutcome {
    let input = match (&record.targets[..], &record.stdin) {
        ([one], _) => one.before.md5(),
        ([], Stream::File { contents, .. }) => contents.md5(),
        _ => None,
    };
    let same = input.is_some() && input == contents.md5() && record.exit == 0;
    // a file made from an empty one says nothing
    let empty = matches!(contents, State::File { size: 0, .. });
    let verdict = if same && !empty { Verdict::Dead } else { Verdict::Filter };
    let before = record.targets.first().map_or(State::Missing, |t| t.before.clone());
    let file = FileOutcome { path: path.clone(), verdict, before, after: contents.clone(), target: None };
    CallOutcome { files: vec![file], ..CallOutcome::of(verdict) }
}

fn files(record: &Record) -> Vec<FileOutcome> {
    let outcome = |(i, t): (usize, &crate::phase::trace::TargetRecord)| FileOutcome {
        path: t.path.clone(),
        verdict: Verdict::Unknown,
        before: t.before.clone(),
        after: t.after.clone(),
        target: Some(i),
    };
    record.targets.iter().enumerate().map(outcome).collect()
}

fn path_gone(file: FileOutcome) -> FileOutcome {
    FileOutcome { verdict: Verdict::PathGone, ..file }
}

fn in_place(record: &Record) -> CallOutcome {
    let mut outcome = CallOutcome { files: files(record), ..CallOutcome::of(Verdict::Dead) };
    for file in &mut outcome.files {
        file.verdict = match (&file.before, &file.after) {
            (State::Missing, _) => Verdict::PathGone,
            (State::File { md5: a, .. }, State::File { md5: b, .. }) if a == b => Verdict::Dead,
            (State::File { .. }, State::File { .. } | State::Missing) => Verdict::Live,
            (State::Directory | State::Other, _) => Verdict::Dead,
            _ => Verdict::Unknown,
        };
    }
    outcome.verdict = union(outcome.files.iter().map(|f| f.verdict));
    if outcome.verdict == Verdict::Unknown {
        outcome.reason = Some("its files could not be read".to_owned());
    }
    outcome
}

/// A verdict over several: the first of the contract's order that any of them is; without any, dead.
pub fn union(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let rank = |v: &Verdict| match v {
        Verdict::Live => 0,
        Verdict::NetZero => 1,
        Verdict::Overwritten => 2,
        Verdict::Identity => 3,
        Verdict::Unknown => 4,
        Verdict::Guard => 5,
        Verdict::Filter => 6,
        Verdict::NoOutput => 7,
        Verdict::Dead => 8,
        Verdict::PathGone => 9,
        Verdict::Control => 10,
        Verdict::NotRun => 11,
    };
    verdicts.into_iter().min_by_key(rank).unwrap_or(Verdict::Dead)
}

/// The path of a file outcome.
pub fn path(bytes: &Bytes) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(&bytes.0))
}
