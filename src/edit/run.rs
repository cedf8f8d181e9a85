//! Running a real tool within bounds.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::phase::sandbox;

/// What one run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Bytes on its standard output.
    pub output: u64,
    /// Bytes of address space.
    pub memory: u64,
    /// Bytes of a file that it writes.
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_secs(5), output: 1 << 30, memory: 1 << 31, file: 1 << 30 }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal,
    OutOfTime,
    TooMuchOutput,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    pub end: End,
    pub errors: Vec<u8>,
}

/// Runs `program` in `dir` with nothing but `variables` in its environment; `sink` is given its output as it comes.
pub fn run(
    program: &Path,
    dir: &Path,
    arguments: &[OsString],
    variables: &[(&str, OsString)],
    limits: Limits,
    mut sink: impl FnMut(&[u8]),
) -> io::Result<Finished> {
    let mut command = Command::new(program);
    sandbox::guard(&mut command);
    let mut child = command
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = Pid::from_child(&child);
    for (resource, bound) in [(Resource::As, limits.memory), (Resource::Fsize, limits.file)] {
        // best effort: without the bound the time still ends a run
        let _ = prlimit(Some(pid), resource, Rlimit { current: Some(bound), maximum: Some(bound) });
    }
    let mut errors = Vec::new();
    let cut_short = pump(&mut child, limits, &mut sink, &mut errors);
    if !matches!(cut_short, Ok(None)) {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let end = match cut_short? {
        Some(end) => end,
        None => status.code().map_or(End::Signal, End::Exit),
    };
    Ok(Finished { end, errors })
}

/// Reads both pipes until the tool has closed them. Some: a bound was reached first.
fn pump(
    child: &mut Child,
    limits: Limits,
    sink: &mut impl FnMut(&[u8]),
    errors: &mut Vec<u8>,
) -> io::Result<Option<End>> {
    let deadline = Instant::now() + limits.time;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let mut buffer = vec![0; 1 << 16];
    let mut written = 0u64;
    while stdout.is_some() || stderr.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Some(End::OutOfTime));
        }
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = Vec::with_capacity(2);
        fds.extend(stdout.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        fds.extend(stderr.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = fds.iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        let out_ready = stdout.is_some() && ready.next().unwrap_or(false);
        let err_ready = stderr.is_some() && ready.next().unwrap_or(false);
        if let Some(pipe) = stdout.as_mut().filter(|_| out_ready) {
            match read(pipe, &mut buffer)? {
                0 => stdout = None,
                length => {
                    written += length as u64;
                    if written > limits.output {
                        return Ok(Some(End::TooMuchOutput));
                    }
                    sink(&buffer[..length]);
                }
            }
        }
        if let Some(pipe) = stderr.as_mut().filter(|_| err_ready) {
            match read(pipe, &mut buffer)? {
                0 => stderr = None,
                length => {
                    let room = (1 << 16) - errors.len().min(1 << 16);
                    errors.extend_from_slice(&buffer[..length.min(room)]);
                }
            }
        }
    }
    Ok(None)
}

fn read(pipe: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match pipe.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
