//! What bash itself says of an ebuild's syntax.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use super::failure::Failure;
use crate::edit::run::{Finished, Limits, run as run_tool};
use crate::gentoo::text;
use crate::phase::job::{RunDir, find_program};

/// Fails where bash can't read the ebuild. Nothing of it is executed, yet its text is a stranger's: bash reads a copy, within
/// the bounds and behind the walls of a replay. An answer that does not come is none.
pub fn syntax(run: &RunDir, script: &Path) -> Result<(), Failure> {
    let Ok(Some(finished)) = asked(run, script) else { return Ok(()) };
    if finished.end == crate::edit::run::End::Exit(0) || finished.errors.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&finished.errors).into_owned();
    let first = text.lines().next().unwrap_or_default();
    let said = first.split_once(": line ").map_or(first, |(_, rest)| rest);
    let (line, what) = said.split_once(": ").unwrap_or(("", said));
    let line = line.parse().ok();
    let place = line.map_or(String::new(), |l: u32| format!("line {l}: "));
    Err(Failure::invalid(format!("bash can't read the ebuild: {place}{what}")).at(line))
}

fn asked(run: &RunDir, script: &Path) -> io::Result<Option<Finished>> {
    let Some(bash) = find_program("bash") else { return Ok(None) };
    let Some(bytes) = text::read_bytes(script).map_err(io::Error::other)? else { return Ok(None) };
    let dir = run.path();
    let mut copy = tempfile::Builder::new().suffix(".ebuild").tempfile_in(&dir)?;
    copy.write_all(&bytes)?;
    let words = [OsString::from("-n"), copy.path().into()];
    let limits = Limits { output: 1 << 20, memory: 1 << 30, file: 1 << 20, ..Limits::default() };
    run_tool(&bash, &dir, &words, &[("LC_ALL", "C.UTF-8".into())], limits, |_| {}).map(Some)
}
