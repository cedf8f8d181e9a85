//! Every case of `tests/cases`, run from end to end: repository and distfiles are laid out, the program audits them,
//! the report is compared with what the case expects.
//!
//! `tests/cases/pending.txt` lists the cases that wait for a feature. It must stay true: a case on the list that
//! passes is a failure as much as one off the list that does not.
//!
//! `EBAUDIT_CASES=part-of-a-name` runs some of them only, `EBAUDIT_CASES_KEEP=1` leaves the folders of failed ones.
//! The cases write many small files: on a slow or busy disk, `TMPDIR=/dev/shm` makes it a matter of seconds.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[path = "support/archive.rs"]
mod archive;
#[path = "support/case.rs"]
mod case;
#[path = "support/compare.rs"]
mod compare;
mod support;

use case::Case;
use support::overlay::Place;
use support::run::{audit, run};

struct Outcome {
    name: String,
    time: Duration,
    result: Result<(), String>,
}

#[test]
fn the_program_says_what_the_cases_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let needle = std::env::var("EBAUDIT_CASES").unwrap_or_default();
    let mut files: Vec<PathBuf> = fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let names: BTreeSet<String> = files.iter().map(|f| name_of(f)).collect();
    files.retain(|p| name_of(p).contains(&needle));
    assert!(!files.is_empty(), "no case is named {needle:?}");
    let pending = pending(&dir.join("pending.txt"));
    let mut wrong: Vec<String> = pending
        .difference(&names)
        .map(|name| format!("{name}: stands in pending.txt, but there is no case of that name"))
        .collect();
    let outcomes = all(&files);
    let passed = outcomes.iter().filter(|o| o.result.is_ok()).count();
    for outcome in &outcomes {
        match (&outcome.result, pending.contains(&outcome.name)) {
            (Ok(()), true) => {
                wrong.push(format!("{}: passes now; take it off tests/cases/pending.txt", outcome.name));
            }
            (Err(why), false) => wrong.push(format!("{}: {why}", outcome.name)),
            (Err(why), true) if !needle.is_empty() => println!("{}: pending: {why}", outcome.name),
            _ => {}
        }
    }
    println!("{} cases: {passed} pass, {} are pending", outcomes.len(), pending.len());
    let mut slow: Vec<&Outcome> = outcomes.iter().collect();
    slow.sort_by_key(|o| std::cmp::Reverse(o.time));
    for outcome in slow.iter().take(5) {
        println!("{:6.2} s {}", outcome.time.as_secs_f64(), outcome.name);
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}\n", wrong.len(), outcomes.len(), wrong.join("\n"));
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// The names on the list; a line that begins with `#` is a remark.
fn pending(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned).collect()
}

/// Runs the cases side by side. They wait for processes more than they compute, so there are more threads than cores.
fn all(files: &[PathBuf]) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() * 2).clamp(4, 16);
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let result = catch_unwind(AssertUnwindSafe(|| one(file)));
                    let result = result.unwrap_or_else(|_| Err("the harness panicked, see above".to_owned()));
                    let outcome = Outcome { name: name_of(file), time: start.elapsed(), result };
                    outcomes.lock().unwrap().push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    outcomes
}

fn one(file: &Path) -> Result<(), String> {
    let case = Case::read(file)?;
    let mut place = Place::new();
    case.lay(&place);
    for stale in &case.expect.must_not_exist {
        // what an earlier, broken program left there
        if stale.rsplit('/').next().is_some_and(|name| name.starts_with("ebaudit-canary-")) {
            let _ = fs::remove_file(stale);
        }
    }
    let mut command = audit(&place, ["--format", "json", "--fail-on", "error"]);
    let done = run(&place, command.args(&case.args));
    let result = compare::compare(&case, &done, place.path());
    place.keep = result.is_err() && std::env::var_os("EBAUDIT_CASES_KEEP").is_some();
    result
}
