//! What the prelude tells in files: why it died, and what a trace of processes can't show.

use std::path::Path;

use super::stack::{self, Frame};
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
        .chunks_exact(3)
        .take(MOST_NOTES)
        .map(|f| Note {
            kind: String::from_utf8_lossy(f[0]).into_owned(),
            text: head(f[1]).to_vec(),
            frames: stack::parse(f[2]),
        })
        .collect()
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
