//! The tracer: this program under the name of a traced tool, first on the phase's PATH.
//!
//! It looks at the tool's files, runs the real tool once with the same words, streams and environment, looks again,
//! adds a record to the trace and ends as the tool ended. Whatever goes wrong in looking, the tool runs.

mod ancestry;
mod look;
mod script;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::sandbox::INSIDE;
use super::trace::{Bytes, Ended, Record, Tool, TraceDir, now};
use crate::edit::sed::argv::{Invocation, PieceKind};
use crate::edit::{patch, perl};

/// The environment by which the runner speaks to the tracer.
pub mod env {
    /// The trace's folder.
    pub const TRACE: &str = "EB_TRACE";
    /// The folder with the tools' real programs, as links by their names.
    pub const REAL: &str = "EB_REAL";
    /// `device:inode` of the phase's output.
    pub const OUTPUT: &str = "EB_OUTPUT";
    /// The stack of the phase's shell.
    pub const AT: &str = "EB_AT";
    /// The process of the phase's shell.
    pub const SHELL: &str = "EB_SHELL";
    /// The phase function.
    pub const PHASE: &str = "EB_PHASE";
    /// The patch that eapply applies.
    pub const PATCH: &str = "EB_PATCH";
}

/// The tool that this process was started as, if it was started as one below a phase.
pub fn started_as() -> Option<Tool> {
    let name = std::env::args_os().next()?;
    let name = Path::new(&name).file_name()?;
    let tool = Tool::ALL.into_iter().find(|t| name == t.name())?;
    real(tool).map(|_| tool)
}

/// The real program. Without our environment (`env -i /usr/bin/sed`) it is where the sandbox has it.
fn real(tool: Tool) -> Option<PathBuf> {
    let named = std::env::var_os(env::REAL).map(|dir| PathBuf::from(dir).join(tool.name()));
    named.or_else(|| Some(Path::new(INSIDE).join("real").join(tool.name())).filter(|path| path.exists()))
}

fn trace_dir() -> Option<PathBuf> {
    let named = std::env::var_os(env::TRACE).map(PathBuf::from);
    named.or_else(|| Some(Path::new(INSIDE).join("trace")).filter(|path| path.exists()))
}

/// Runs the real tool and records what it did; never returns.
pub fn main(tool: Tool) -> ! {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let real = real(tool).unwrap_or_default();
    let mut command = Command::new(&real);
    command.arg0(&argv[0]).args(&argv[1..]);
    let trace = trace_dir().map(|dir| TraceDir::open(&dir));
    let Some((trace, plan)) = trace.and_then(|t| Some((t, plan(tool, &argv)?))) else { fail(&real, command.exec()) };
    let watch = look::Watch::begin(&trace, plan, tool);
    let stdin = script::read_ahead(&trace, &watch.plan, &mut command);
    let mut record = begun(tool, argv, &watch, stdin);
    // a signal or the end of the phase may take us before the tool is done
    add(&trace, &record);
    // SAFETY: the call between fork and exec is one system call, and async-signal-safe
    unsafe { command.pre_exec(end_with_the_tracer) };
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => fail(&real, error),
    };
    record.end = now();
    record.exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    record.ended = if status.signal().is_some() { Ended::Signal } else { Ended::Itself };
    (record.targets, record.stdout) = watch.end(&trace);
    add(&trace, &record);
    leave(status)
}

/// Which files a call reads and writes, as far as its words tell.
pub struct Plan {
    /// Words of argv that name files to edit.
    pub files: Vec<(usize, Vec<u8>)>,
    /// Words of argv that name script files.
    pub scripts: Vec<(usize, Vec<u8>)>,
}

/// None where there is nothing to trace: the tool then just runs.
fn plan(tool: Tool, argv: &[OsString]) -> Option<Plan> {
    let words: Vec<Vec<u8>> = argv.iter().map(|a| a.as_bytes().to_vec()).collect();
    match tool {
        Tool::Sed => {
            let posix = std::env::var_os("POSIXLY_CORRECT").is_some();
            // sed will say itself what is wrong with its words
            let Ok(call) = Invocation::parse(&words, posix) else {
                return Some(Plan { files: Vec::new(), scripts: Vec::new() });
            };
            let scripts = call.pieces.into_iter().filter(|p| p.kind == PieceKind::File).map(|p| (p.index, p.text));
            let scripts = scripts.collect();
            let files = call.files.into_iter().map(|f| (f.index, f.name)).filter(|(_, name)| name != b"-").collect();
            Some(Plan { files, scripts })
        }
        Tool::Perl => {
            let call = perl::argv::Invocation::parse(&words);
            // one that only reads is let be
            call.in_place.then_some(Plan { files: call.files, scripts: Vec::new() })
        }
        Tool::Patch => Some(Plan { files: patched(&words), scripts: Vec::new() }),
    }
}

/// The files that a patch may change, by the names in it.
fn patched(words: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
    let text = match patch::input(words) {
        Some(name) => std::fs::read(Path::new(std::ffi::OsStr::from_bytes(&name))).ok(),
        None => look::stdin(),
    };
    let (strip, dir) = patch::options(words);
    let dir = dir.unwrap_or_default();
    let text = text.unwrap_or_default();
    let named = patch::files(&text, strip);
    let there = |path: &PathBuf| dir.join(path).is_file() || named.contains(path);
    let files = patch::candidates(&text).into_iter().filter(there);
    files.map(|path| (0, dir.join(path).into_os_string().into_vec())).collect()
}

/// What is known before the tool is started.
fn begun(tool: Tool, argv: Vec<OsString>, watch: &look::Watch, read_ahead: Vec<(usize, String)>) -> Record {
    let start = now();
    Record {
        tool,
        pid: std::process::id(),
        ended: Ended::Unseen,
        start,
        end: start,
        argv: argv.into_iter().map(|a| Bytes(a.into_vec())).collect(),
        cwd: Bytes(std::env::current_dir().map(|d| d.into_os_string().into_vec()).unwrap_or_default()),
        exit: 0,
        at: variable(env::AT),
        phase: String::from_utf8_lossy(&variable(env::PHASE).0).into_owned(),
        starter: ancestry::starter(std::env::var(env::SHELL).ok().and_then(|p| p.parse().ok())),
        scripts: watch.scripts.iter().cloned().chain(read_ahead).collect(),
        targets: watch.targets.clone(),
        stdin: watch.stdin.clone(),
        stdout: watch.stdout(),
        locale: ["LC_ALL", "LC_CTYPE", "LANG"].map(variable).into_iter().find(|v| !v.0.is_empty()).unwrap_or_default(),
        posixly_correct: std::env::var_os("POSIXLY_CORRECT").is_some(),
        patch: std::env::var_os(env::PATCH).map(|p| Bytes(p.into_vec())),
    }
}

fn add(trace: &TraceDir, record: &Record) {
    if let Err(error) = trace.add(record) {
        eprintln!("ebaudit: the trace of {} is lost: {error}", record.tool.name());
    }
}

/// The tool must not go on alone where a signal meant it and met the tracer.
fn end_with_the_tracer() -> std::io::Result<()> {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    Ok(())
}

fn variable(name: &str) -> Bytes {
    Bytes(std::env::var_os(name).map(OsStringExt::into_vec).unwrap_or_default())
}

/// Ends as the tool ended, by the same signal where one ended it.
fn leave(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal().and_then(rustix::process::Signal::from_named_raw) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    std::process::exit(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

fn fail(real: &Path, error: std::io::Error) -> ! {
    eprintln!("ebaudit: can't run {}: {error}", real.display());
    std::process::exit(127)
}

/// The phase's output as [`env::OUTPUT`] names it.
fn is_output(stream: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::env::var(env::OUTPUT).is_ok_and(|o| o == format!("{}:{}", stream.dev(), stream.ino()))
}
