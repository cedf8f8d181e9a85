//! Looking at the files of a call before and after it.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::Plan;
use crate::phase::trace::{BLOB_LIMIT, Bytes, State, Stream, TargetRecord, Tool, TraceDir};
use crate::tree::{hex, md5_of_file};

/// A call being watched.
pub struct Watch {
    pub plan: Plan,
    pub targets: Vec<TargetRecord>,
    pub scripts: Vec<(usize, String)>,
    pub stdin: Stream,
    output: Output,
}

enum Output {
    Known(Stream),
    /// A regular file: its contents are looked at after the call, from this offset.
    File(PathBuf, u64),
}

impl Watch {
    /// Looks at everything that `plan` names.
    pub fn begin(trace: &TraceDir, plan: Plan, tool: Tool) -> Watch {
        let targets = plan
            .files
            .iter()
            .map(|(arg, name)| {
                let path = absolute(Path::new(std::ffi::OsStr::from_bytes(name)));
                let link = fs::symlink_metadata(&path).is_ok_and(|m| m.is_symlink());
                let before = state(&path, trace);
                TargetRecord {
                    arg: *arg,
                    path: Bytes(path.into_os_string().into_vec()),
                    link,
                    after: before.clone(),
                    before,
                }
            })
            .collect();
        let scripts = plan
            .scripts
            .iter()
            .filter(|(_, name)| !is_stream(name))
            .filter_map(|(arg, name)| match state(Path::new(std::ffi::OsStr::from_bytes(name)), trace) {
                State::File { md5, .. } => Some((*arg, md5)),
                _ => None,
            })
            .collect();
        let stdin = match tool {
            Tool::Sed if plan.files.is_empty() => input(trace),
            _ => Stream::Other,
        };
        Watch { plan, targets, scripts, stdin, output: output() }
    }

    /// Where the output goes; the contents of a file are not known yet.
    pub fn stdout(&self) -> Stream {
        match &self.output {
            Output::Known(stream) => stream.clone(),
            Output::File(path, _) => {
                Stream::File { path: Bytes(path.clone().into_os_string().into_vec()), contents: State::Unreadable }
            }
        }
    }

    /// Looks again; gives targets and standard output.
    pub fn end(mut self, trace: &TraceDir) -> (Vec<TargetRecord>, Stream) {
        for target in &mut self.targets {
            target.after = state(Path::new(std::ffi::OsStr::from_bytes(&target.path.0)), trace);
        }
        let stdout = match self.output {
            Output::Known(stream) => stream,
            Output::File(path, from) => {
                let contents = written(&path, from, trace);
                Stream::File { path: Bytes(path.into_os_string().into_vec()), contents }
            }
        };
        (self.targets, stdout)
    }
}

/// Whether a script file's name stands for an open stream, which can be read only once.
pub fn is_stream(name: &[u8]) -> bool {
    name == b"-" || name == b"/dev/stdin" || name.starts_with(b"/dev/fd/") || name.starts_with(b"/proc/self/fd/")
}

/// The path with the links in its directory resolved; the last name stays as it is.
fn absolute(path: &Path) -> PathBuf {
    let full = std::env::current_dir().unwrap_or_default().join(path);
    match (full.parent().and_then(|p| fs::canonicalize(p).ok()), full.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => full,
    }
}

/// Whether a path, links followed, leads out of the job to where a sandbox may hide what is there.
fn is_out_of_sight(path: &Path) -> bool {
    let Some(job) = std::env::var_os("WORKDIR").and_then(|w| Some(Path::new(&w).parent()?.to_owned())) else {
        return false;
    };
    let mut at = absolute(path);
    for _ in 0..40 {
        match fs::read_link(&at) {
            Ok(to) => at = absolute(&at.parent().unwrap_or(Path::new("/")).join(to)),
            Err(_) => break,
        }
    }
    !at.starts_with(job) && !at.starts_with("/usr")
}

fn state(path: &Path, trace: &TraceDir) -> State {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return State::Unreadable,
        Err(_) if is_out_of_sight(path) => return State::Unreadable,
        Err(_) => return State::Missing,
    };
    let kind = meta.file_type();
    if kind.is_dir() {
        return State::Directory;
    }
    if kind.is_fifo() || kind.is_socket() || !kind.is_file() {
        return State::Other;
    }
    if meta.len() > BLOB_LIMIT {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        return match md5_of_file(&real) {
            Ok(md5) => State::File { md5: hex(&md5), size: meta.len() },
            Err(_) => State::Unreadable,
        };
    }
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut data = Vec::with_capacity(meta.len() as usize + 1);
    let read = File::options().read(true).custom_flags(nonblocking).open(path);
    match read.and_then(|f| f.take(BLOB_LIMIT + 1).read_to_end(&mut data)) {
        Ok(_) => kept(&data, trace),
        Err(_) => State::Unreadable,
    }
}

fn kept(data: &[u8], trace: &TraceDir) -> State {
    match trace.keep(data) {
        Ok(md5) => State::File { md5, size: data.len() as u64 },
        Err(_) => State::Unreadable,
    }
}

fn described(fd: BorrowedFd<'_>) -> Option<(File, fs::Metadata)> {
    let file = File::from(fd.try_clone_to_owned().ok()?);
    let meta = file.metadata().ok()?;
    Some((file, meta))
}

/// Standard input, without moving in it.
fn input(trace: &TraceDir) -> Stream {
    let stdin = std::io::stdin();
    let Some((file, meta)) = described(stdin.as_fd()) else { return Stream::Other };
    if meta.file_type().is_fifo() {
        return Stream::Pipe;
    }
    if !meta.is_file() {
        return Stream::Nowhere;
    }
    let from = rustix::fs::tell(&file).unwrap_or(0);
    let contents = read_from(&file, from, &meta).map_or(State::Unreadable, |data| kept(&data, trace));
    Stream::File { path: Bytes(link_of(0).into_os_string().into_vec()), contents }
}

/// What standard input holds, where it is a file, without moving in it.
pub fn stdin() -> Option<Vec<u8>> {
    let stdin = std::io::stdin();
    let (file, meta) = described(stdin.as_fd()).filter(|(_, meta)| meta.is_file())?;
    read_from(&file, rustix::fs::tell(&file).unwrap_or(0), &meta)
}

fn output() -> Output {
    let stdout = std::io::stdout();
    let Some((file, meta)) = described(stdout.as_fd()) else { return Output::Known(Stream::Other) };
    if super::is_output(&meta) {
        return Output::Known(Stream::Nowhere);
    }
    if meta.is_file() {
        let appends = rustix::fs::fcntl_getfl(&file).is_ok_and(|f| f.contains(rustix::fs::OFlags::APPEND));
        let from = if appends { meta.len() } else { rustix::fs::tell(&file).unwrap_or(0) };
        return Output::File(link_of(1), from);
    }
    let null =
        fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == meta.rdev() && meta.file_type().is_char_device());
    Output::Known(match () {
        () if meta.file_type().is_fifo() => Stream::Pipe,
        () if null => Stream::Null,
        () => Stream::Other,
    })
}

fn link_of(fd: u8) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default()
}

fn written(path: &Path, from: u64, trace: &TraceDir) -> State {
    let Ok(file) = File::open(path) else { return State::Missing };
    let Ok(meta) = file.metadata() else { return State::Missing };
    read_from(&file, from, &meta).map_or(State::Unreadable, |data| kept(&data, trace))
}

fn read_from(file: &File, from: u64, meta: &fs::Metadata) -> Option<Vec<u8>> {
    let size = meta.len().saturating_sub(from);
    if size > BLOB_LIMIT {
        return None;
    }
    let mut data = vec![0; size as usize];
    let mut done = 0;
    while done < data.len() {
        match file.read_at(&mut data[done..], from + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(_) => return None,
        }
    }
    data.truncate(done);
    Some(data)
}
