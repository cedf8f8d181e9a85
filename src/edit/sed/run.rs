//! Running the real sed within bounds.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::phase::sandbox;

/// GNU sed, found once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sed {
    path: PathBuf,
}

/// What one run of sed may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Bytes on its standard output.
    pub output: u64,
    /// Bytes of address space.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_secs(5), output: 1 << 30, memory: 1 << 31 }
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

#[derive(Debug, thiserror::Error)]
#[error("no GNU sed on PATH")]
pub struct NoSed;

impl Sed {
    /// Looks for GNU sed (`sed` or `gsed`) in the directories of `path`, a PATH.
    pub fn locate(path: &OsStr) -> Result<Sed, NoSed> {
        for name in ["sed", "gsed"] {
            for dir in std::env::split_paths(path).filter(|dir| dir.is_absolute()) {
                let file = dir.join(name);
                let version = Command::new(&file).arg("--version").stdin(Stdio::null()).output();
                if version.is_ok_and(|out| out.stdout.windows(7).take(64).any(|word| word == b"GNU sed")) {
                    return Ok(Sed { path: file });
                }
            }
        }
        Err(NoSed)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs sed in `dir` with nothing but `variables` in its environment; `sink` is given its output as it comes.
    pub fn run(
        &self,
        dir: &Path,
        arguments: &[OsString],
        variables: &[(&str, OsString)],
        limits: Limits,
        mut sink: impl FnMut(&[u8]),
    ) -> io::Result<Finished> {
        let mut command = Command::new(&self.path);
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
        let memory = Rlimit { current: Some(limits.memory), maximum: Some(limits.memory) };
        // best effort: without the bound the time still ends a run
        let _ = prlimit(Pid::from_raw(child.id() as i32), Resource::As, memory);
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
}

/// Reads both pipes until sed has closed them. Some: a bound was reached first.
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

impl Finished {
    /// sed's own words about a script that it refused, without the place.
    pub fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.errors);
        let line = text.lines().next().unwrap_or_default();
        let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
        let placed = line.starts_with("file ") || line.starts_with("-e ");
        match line.split_once(": ").filter(|_| placed) {
            Some((_, rest)) => rest.to_string(),
            None => line.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sed() -> Option<Sed> {
        Sed::locate(&std::env::var_os("PATH")?).ok()
    }

    #[test]
    fn bounds() {
        let Some(sed) = sed() else { return };
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("f"), "x\n").expect("written");
        let run = |script: &str, limits: Limits| {
            let arguments = [script, "f"].map(OsString::from);
            let mut out = Vec::new();
            let end = sed.run(dir.path(), &arguments, &[], limits, |chunk| out.extend_from_slice(chunk));
            (end.expect("sed starts"), out)
        };
        let short = Limits { time: Duration::from_millis(200), ..Limits::default() };
        assert_eq!(run("s/x/y/", short).1, b"y\n");
        assert_eq!(run(":a;ba", short).0.end, End::OutOfTime);
        assert_eq!(run(":a;p;ba", Limits { output: 1000, ..short }).0.end, End::TooMuchOutput);
        assert_ne!(run(":a;s/.*/&&/;ta", Limits { memory: 1 << 26, ..Limits::default() }).0.end, End::Exit(0));
        assert_eq!(run("s/(/", short).0.complaint(), "unterminated `s' command");
    }
}
