//! `--resume`: goes on where a run was interrupted, with what that one had found already.
//!
//! A run writes each finished report to a journal in the cache; when it comes to its end it takes the journal away. The
//! journal's name holds what reports depend on beside the ebuild (the program, the options, the repositories), each line
//! what the ebuild was made of.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::args::AuditArgs;
use crate::audit::context::Context;
use crate::gentoo::repository::EbuildFile;
use crate::phase::runner;
use crate::report::model::{EbuildReport, Status};

/// What earlier runs found, and the journal of this one.
pub struct Journal {
    path: PathBuf,
    known: HashMap<String, Line>,
    file: Mutex<File>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    state: String,
    report: EbuildReport,
}

impl Journal {
    /// Opens the journal in `cache`. None where the cache can't be written to, or another run of the same kind is at work.
    pub fn open(args: &AuditArgs, context: &Context, cache: &Path) -> Option<Journal> {
        let dir = cache.join("resume");
        fs::create_dir_all(&dir).ok()?;
        let path = dir.join(format!("{}.jsonl", key(args, context)));
        let file = File::options().read(true).append(true).create(true).open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mut known = HashMap::new();
        if args.resume {
            // the last line of a run that was killed may be a part of one
            let lines = BufReader::new(&file).lines().map_while(Result::ok);
            let lines = lines.filter_map(|line| serde_json::from_str::<Line>(&line).ok());
            known.extend(lines.map(|line| (line.report.path.clone(), line)));
        } else {
            file.set_len(0).ok()?;
        }
        Some(Journal { path, known, file: Mutex::new(file) })
    }

    /// What is known of an ebuild that is as it was.
    pub fn known(&self, ebuild: &EbuildFile) -> Option<EbuildReport> {
        let line = self.known.get(&crate::escape::escape_path(&ebuild.relative()))?;
        let source = String::from_utf8_lossy(&fs::read(&ebuild.path).ok()?).into_owned();
        (line.state == state(ebuild)).then(|| EbuildReport { source, ..line.report.clone() })
    }

    /// Keeps a finished report. What another try may change is not kept.
    pub fn keep(&self, ebuild: &EbuildFile, report: &EbuildReport) {
        if report.status == Status::FetchFailed || (runner::interrupted() && report.status != Status::Audited) {
            return;
        }
        let line = Line { state: state(ebuild), report: report.clone() };
        let Ok(mut text) = serde_json::to_vec(&line) else { return };
        // a line of its own, also behind half of one
        text.insert(0, b'\n');
        text.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(|e| e.into_inner());
        // a full disk costs the journal, not the report
        let _ = file.write_all(&text);
    }

    /// The run came to its end: there is nothing to resume.
    pub fn close(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What all reports of a run depend on.
fn key(args: &AuditArgs, context: &Context) -> String {
    let mut sum = md5::Context::new();
    let backend = (args.backend, &args.portage);
    let options = (backend, &args.use_flags, &args.profile, &args.source, args.eclass_edits, args.allow_unverified);
    sum.consume(format!("{} {options:?} {:?} {}", env!("CARGO_PKG_VERSION"), args.bounds, args.suggest));
    sum.consume(context.run.sandbox.tier().name());
    for location in context.set.locations() {
        sum.consume(location.as_os_str().as_encoded_bytes());
    }
    for dir in context.set.eclass_dirs() {
        listing(&dir, &mut sum);
    }
    format!("{:x}", sum.finalize())
}

/// What the report of an ebuild depends on beside that: its text, its Manifest, its files.
fn state(ebuild: &EbuildFile) -> String {
    let mut sum = md5::Context::new();
    for path in [ebuild.path.clone(), ebuild.dir().join("Manifest")] {
        sum.consume(fs::read(path).unwrap_or_default());
        sum.consume(b"\0");
    }
    listing(&ebuild.dir().join("files"), &mut sum);
    format!("{:x}", sum.finalize())
}

/// Names, sizes and times.
fn listing(dir: &Path, sum: &mut md5::Context) {
    for item in walkdir::WalkDir::new(dir).sort_by_file_name().into_iter().flatten() {
        let Ok(meta) = item.metadata() else { continue };
        sum.consume(item.path().as_os_str().as_encoded_bytes());
        sum.consume(format!("\0{} {} {}\0", meta.size(), meta.mtime(), meta.mtime_nsec()));
    }
}
