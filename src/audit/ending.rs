//! What the end of the phases means.

use std::path::Path;

use rustix::fs::FileType;

use super::context::Context;
use super::failure::Failure;
use super::holes;
use super::source::Source;
use super::syntax::syntax;
use crate::phase::job::{JobDir, RunDir};
use crate::phase::notes::Death;
use crate::phase::runner::{End, Outcome};
use crate::phase::sandbox::Overrun;
use crate::tree::{Walk, untrusted};

/// The reason why sourcing did not come to its end.
pub fn unsourced(run: &RunDir, script: &Path, outcome: &Outcome) -> Failure {
    if let Err(failure) = syntax(run, script) {
        return failure;
    }
    match &outcome.end {
        End::Failed(reason) => {
            let line = outcome.death.as_ref().and_then(|d| line_in(d, script));
            Failure::invalid(format!("sourcing the ebuild failed: {reason}")).at(line)
        }
        End::TimedOut => Failure::timed_out("sourcing the ebuild took longer than --timeout allows"),
        End::TooMuchOutput => Failure::too_large("sourcing the ebuild printed more than allowed"),
        End::Over(overrun) => Failure::too_large(format!("sourcing the ebuild {}", over(*overrun))),
        End::Forged(why) => Failure::invalid(*why),
        End::Broken(reason) => Failure::prepare(format!("the sandbox failed: {reason}")),
        End::Interrupted => Failure::interrupted("sourcing the ebuild"),
        End::Done | End::Stopped => Failure::invalid("sourcing the ebuild ended the shell"),
    }
}

/// The failure that the end of the phases means.
pub fn judge(outcome: &Outcome, context: &Context, job: &JobDir, source: &Source) -> Result<(), Failure> {
    let phase = if outcome.phase.is_empty() { "the ebuild" } else { outcome.phase.as_str() };
    if let Some(note) = outcome.notes.iter().find(|n| n.kind == "no-source") {
        return Err(Failure::prepare(no_source(&String::from_utf8_lossy(&note.text), job, source)));
    }
    match &outcome.end {
        End::Done | End::Stopped => Ok(()),
        End::Failed(reason) => {
            let reason = match reason.as_str() {
                "" if context.options.portage.is_some() => format!(
                    "Portage gave up; where its last output names flags (REQUIRED_USE), --use sets them{}",
                    last_words(&outcome.tail)
                ),
                "" => format!("died without a message{}", last_words(&outcome.tail)),
                reason => reason.to_owned(),
            };
            let last = last_line(&outcome.tail).unwrap_or_default();
            let lack = holes::holes(&outcome.notes, &outcome.tail).iter().find_map(|h| h.of_death(&last));
            let text =
                format!("{phase} failed: {reason}{}", lack.map_or(String::new(), |l| format!("; before that, {l}")));
            let said_so = said_file_too_large(&outcome.tail, &reason);
            if said_so || has_file_of(context.options.bounds.limits.file_size, job, source) {
                return Err(Failure::too_large(format!("{phase} wrote a file up to its bound (--max-file-size)")));
            }
            if had_no_descriptors(&outcome.tail) {
                return Err(Failure::too_large(format!("{phase} opened more files than allowed (--max-open-files)")));
            }
            // `unpack` tells by itself that a bound was what it failed of
            if let Ok(what) = untrusted::read_text(&job.ctl().join("too-large"), 4096) {
                return Err(Failure::too_large(format!("{phase} failed: {what}")));
            }
            let failure = if phase == "src_unpack" { Failure::unpack(text) } else { Failure::prepare(text) };
            Err(failure.at(outcome.death.as_ref().and_then(|d| d.line).filter(|_| death_in_ebuild(outcome))))
        }
        End::Interrupted => Err(Failure::interrupted(phase)),
        End::TimedOut => Err(Failure::timed_out(format!(
            "{phase} took longer than {} s (--timeout)",
            context.options.bounds.time.as_secs()
        ))),
        End::Forged(why) => Err(Failure::invalid(*why)),
        End::Over(Overrun::Cpu) => Err(Failure::timed_out(format!("{phase} {}", over(Overrun::Cpu)))),
        End::Over(overrun) => Err(Failure::too_large(format!("{phase} {}", over(*overrun)))),
        End::Broken(reason) => Err(Failure::prepare(format!("the sandbox failed: {reason}"))),
        End::TooMuchOutput => Err(Failure::too_large(format!(
            "{phase} printed more than {} bytes (--max-output)",
            context.options.bounds.output
        ))),
    }
}

/// What a phase did that passed a bound, and the option that sets it.
fn over(overrun: Overrun) -> &'static str {
    match overrun {
        Overrun::Cpu => "used more time of the processors than allowed (--cpu-time)",
        Overrun::Processes => "started more processes than allowed (--max-processes)",
        Overrun::Memory => "took more memory than allowed (--max-memory)",
        Overrun::TreeFiles => "made more files than allowed (--max-tree-files)",
        Overrun::TreeBytes => "wrote more than allowed (--max-tree-size)",
    }
}

/// Whether a file of the job is as large as one may be: writing on failed, whatever the phase said of it.
fn has_file_of(size: u64, job: &JobDir, source: &Source) -> bool {
    let folders = [source.written(job), job.temp(), job.home()];
    let mut items = folders.iter().filter_map(|folder| Walk::new(folder).ok()).flatten().flatten();
    items.any(|i| i.kind == FileType::RegularFile && i.stat().is_ok_and(|stat| stat.st_size as u64 >= size))
}

/// Whether what failed said that a process may open no more files. It is over too soon to be counted from without, and the
/// locale is the C one for all programs.
fn had_no_descriptors(tail: &[u8]) -> bool {
    let text = String::from_utf8_lossy(tail);
    text.lines().any(|line| line.contains("Too many open files") && !line.contains("open files in system"))
}

/// Whether what failed said that a file may not become as large: one that was to grow at once has not grown.
fn said_file_too_large(tail: &[u8], reason: &str) -> bool {
    let text = String::from_utf8_lossy(tail);
    // of the shell for a program, of a program that ignores the signal, and of the shell itself
    let signal = format!("signal {}", libc::SIGXFSZ);
    text.contains("File size limit exceeded") || text.contains(": File too large") || reason.ends_with(&signal)
}

/// The last line of the phase's output that is not our own.
fn last_line(tail: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(tail);
    let line = text.lines().rev().map(str::trim).find(|l| !l.is_empty() && !l.starts_with("* died:"));
    line.map(str::to_owned)
}

fn last_words(tail: &[u8]) -> String {
    let line = last_line(tail);
    line.map_or(String::new(), |l| format!("; the last output was: {}", l.chars().take(200).collect::<String>()))
}

fn death_in_ebuild(outcome: &Outcome) -> bool {
    outcome.death.as_ref().is_some_and(|d| d.file.ends_with(".ebuild"))
}

fn line_in(death: &Death, script: &Path) -> Option<u32> {
    death.line.filter(|_| Path::new(&death.file) == script)
}

fn no_source(s: &str, job: &JobDir, source: &Source) -> String {
    let work = job.workdir();
    let shown = Path::new(s).strip_prefix(&work).map_or(s.to_owned(), |p| format!("${{WORKDIR}}/{}", p.display()));
    let there: Vec<String> = source.names(job).into_iter().collect();
    let there = match there.len() {
        0 => "WORKDIR is empty".to_owned(),
        n if n > 8 => format!("WORKDIR has {} and {} more", there[..8].join(", "), n - 8),
        _ => format!("WORKDIR has {}", there.join(", ")),
    };
    format!("the source directory S={shown} does not exist; {there}")
}
