//! What the prelude tells in files: why it died, and what a trace of processes can't show.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::stack::{self, Frame};
use super::trace;
use crate::tree::untrusted;

/// Bytes; what is longer was not written by the prelude.
const LIMIT: u64 = 64 << 20;

/// Bytes of one text; a report says no more of it.
const TEXT_LIMIT: usize = 4096;

/// Notes of one job.
const MOST_NOTES: usize = 10_000;

/// A note of the prelude (`eb_note`).
#[derive(Clone, Debug)]
pub struct Note {
    pub kind: String,
    pub text: Vec<u8>,
    pub frames: Vec<Frame>,
    pub cwd: PathBuf,
    /// Nanoseconds of the trace's clock; none where the shell could not tell.
    pub moment: Option<u64>,
}

/// `die` was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    pub message: String,
    /// The file of the innermost caller, with the line of its call.
    pub file: String,
    pub line: Option<u32>,
    /// Functions, innermost first.
    pub functions: Vec<String>,
}

pub fn notes(ctl: &Path) -> Vec<Note> {
    let data = untrusted::read(&ctl.join("notes"), LIMIT).unwrap_or_default();
    let fields: Vec<&[u8]> = data.split(|b| *b == 0).collect();
    fields
        .chunks_exact(5)
        .take(MOST_NOTES)
        .map(|f| Note {
            kind: String::from_utf8_lossy(f[0]).into_owned(),
            text: head(f[1]).to_vec(),
            frames: stack::parse(f[2]),
            cwd: OsString::from_vec(f[3].to_vec()).into(),
            moment: moment(f[4]),
        })
        .collect()
}

/// The shell knows the time of day only, and that by microseconds.
fn moment(text: &[u8]) -> Option<u64> {
    let then: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos();
    let ago = u64::try_from(now).ok()?.checked_sub(then.checked_mul(1000)?)?;
    trace::now().checked_sub(ago)
}

fn head(text: &[u8]) -> &[u8] {
    &text[..text.len().min(TEXT_LIMIT)]
}

pub fn death(ctl: &Path) -> Option<Death> {
    let data = untrusted::read(&ctl.join("died"), LIMIT).ok()?;
    let mut fields = data.split(|b| *b == 0).map(|f| String::from_utf8_lossy(head(f)).into_owned());
    let message = fields.next()?;
    let at = fields.next().unwrap_or_default();
    let mut at = at.splitn(3, '|');
    let file = at.next().unwrap_or_default().to_owned();
    let line = at.next().and_then(|l| l.split(' ').next()?.parse().ok());
    let functions = at.next().unwrap_or_default().split(' ').skip(1).map(str::to_owned).collect();
    Some(Death { message, file, line, functions })
}
