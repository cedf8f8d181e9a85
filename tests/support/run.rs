//! The program, run within bounds.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::overlay::Place;

/// Longest that a run may take.
pub const BOUND: Duration = Duration::from_secs(60);

/// How a run ended.
pub struct Done {
    /// None: by a signal, or not within [`BOUND`].
    pub code: Option<i32>,
    pub timed_out: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    pub fn how(&self) -> String {
        match self.code {
            Some(code) => format!("exit {code}"),
            None if self.timed_out => format!("no end within {} s", BOUND.as_secs()),
            None => "ended by a signal".to_owned(),
        }
    }
}

/// The program with the environment that keeps a test to its own folders, and the folder as the current one.
pub fn ebaudit(place: &Place) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebaudit"));
    command
        .current_dir(place.path())
        .env("TMPDIR", place.tmp())
        .env("XDG_CACHE_HOME", place.path().join("cache"))
        .env("XDG_CONFIG_HOME", place.path().join("config"));
    command
}

/// `ebaudit audit REPO --distdir DIST --offline WORDS…`.
pub fn audit(place: &Place, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = ebaudit(place);
    command.arg("audit").arg(place.repo()).arg("--distdir").arg(place.dist()).arg("--offline").args(words);
    command
}

/// Runs a command to its end, or to the bound; its output goes through files, so that it can never block on us.
pub fn run(place: &Place, command: &mut Command) -> Done {
    let (out, err) = (place.path().join("out"), place.path().join("err"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .process_group(0)
        .spawn()
        .expect("the program starts");
    let end = Instant::now() + BOUND;
    let mut nap = Duration::from_millis(1);
    let mut timed_out = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            timed_out = true;
            if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            break child.wait().unwrap();
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(20));
    };
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    Done { code: if timed_out { None } else { status.code() }, timed_out, stdout: text(&out), stderr: text(&err) }
}

/// `ebaudit cache`.
#[allow(dead_code)] // the tests of layers use it
pub fn cache(place: &Place, words: &[&str]) -> Done {
    let mut command = ebaudit(place);
    run(place, command.arg("cache").args(words))
}

/// Starts a command that is killed after a time.
#[allow(dead_code)] // the tests of layers use it
pub fn killed(command: &mut Command, after: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}
