//! Script files that are streams (`-f -`, `-f <(…)`, a here-document): read once, kept, and handed on.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Command, Stdio};

use super::Plan;
use super::look::is_stream;
use crate::phase::trace::TraceDir;

/// Bytes; a longer script is no script.
const LIMIT: u64 = 4 << 20;

/// Reads each stream that `plan` names as a script, keeps it in the trace, and gives the tool the same bytes anew.
pub fn read_ahead(trace: &TraceDir, plan: &Plan, command: &mut Command) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (arg, name) in plan.scripts.iter().filter(|(_, name)| is_stream(name)) {
        let Some(fd) = number(name) else { continue };
        let Some((data, copy)) = copy(fd) else { continue };
        if let Ok(md5) = trace.keep(&data) {
            found.push((*arg, md5));
        }
        if fd == 0 {
            command.stdin(Stdio::from(copy));
        } else {
            replace(fd, copy);
        }
    }
    found
}

fn number(name: &[u8]) -> Option<RawFd> {
    if name == b"-" || name == b"/dev/stdin" {
        return Some(0);
    }
    let digits = name.rsplit(|b| *b == b'/').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// All that `fd` still holds, and a file in memory with it.
fn copy(fd: RawFd) -> Option<(Vec<u8>, File)> {
    // read through /proc, so that our own descriptor table stays as it is
    let mut source = if fd == 0 {
        File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?)
    } else {
        File::open(format!("/proc/self/fd/{fd}")).ok()?
    };
    let mut data = Vec::new();
    Read::by_ref(&mut source).take(LIMIT).read_to_end(&mut data).ok()?;
    let mut file = File::from(rustix::fs::memfd_create("script", rustix::fs::MemfdFlags::empty()).ok()?);
    file.write_all(&data).ok()?;
    file.rewind().ok()?;
    Some((data, file))
}

/// Puts `file` in the place of descriptor `fd`, which the tool inherits.
fn replace(fd: RawFd, file: File) {
    // SAFETY: the number names a descriptor that this process inherited and that nothing else here owns
    let mut place = unsafe { OwnedFd::from_raw_fd(fd) };
    let _ = rustix::io::dup2(file.as_fd(), &mut place);
    std::mem::forget(place);
}
