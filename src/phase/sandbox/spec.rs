//! What the sandbox's process is told, and what it tells back: lines of JSON over a socket that is its standard input.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{APPLET, Lay, Limits, Over, Seen, Tier};
use crate::escape::{escape, unescape};

/// Words and paths that need not be UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word(pub OsString);

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escape(self.0.as_bytes()))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        Ok(Word(OsString::from_vec(unescape(&String::deserialize(deserializer)?))))
    }
}

/// A list of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Paths(Vec<Word>);

impl Paths {
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|word| Path::new(&word.0))
    }

    pub fn push(&mut self, path: impl Into<PathBuf>) {
        self.0.push(Word(path.into().into_os_string()));
    }
}

impl<P: Into<PathBuf>> FromIterator<P> for Paths {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> Paths {
        let mut list = Paths::default();
        paths.into_iter().for_each(|path| list.push(path));
        list
    }
}

/// One run within the walls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Spec {
    pub tier: Tier,
    /// The process that asks; without it there is nothing to do.
    pub parent: i32,
    /// An empty folder, which becomes the root of the namespace.
    pub root: Word,
    /// Trees and files that may be read.
    pub read: Paths,
    /// Folders that may be written.
    pub write: Paths,
    /// What stays out of sight although it lies in a tree that may be read.
    pub hide: Paths,
    /// Programs that the tracer takes the place of, where the tier can do that.
    pub cover: Paths,
    /// This program's own file.
    pub program: Word,
    /// A folder with links to the tools' real programs.
    pub real: Word,
    /// The folder of the trace.
    pub trace: Word,
    pub limits: Limits,
    /// The current directory, one of `write` or below.
    pub cwd: Word,
    /// The program and its arguments; none to try the walls only.
    pub command: Vec<Word>,
    /// What WORKDIR can be laid over, where the tier can do that.
    pub over: Option<Over>,
}

/// What is asked of the keeper while the job runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// To lay a layer below WORKDIR.
    Lay(Lay),
    /// What is seen of the job from without.
    Look,
}

/// A bound of the whole job that was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overrun {
    Cpu,
    Processes,
    Memory,
    TreeFiles,
    TreeBytes,
}

/// What the sandbox has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The walls could not be built; the command did not run.
    Failed(String),
    /// A bound was passed; everything was ended.
    Over(Overrun),
    /// The command ended with this status.
    Exit(i32),
    /// The command was ended by this signal.
    Signal(i32),
    /// The layer lies below WORKDIR, or why it does not.
    Laid(Result<(), String>),
    /// What was seen of the job, or why it was not.
    Seen(Result<Seen, String>),
}

/// A running sandbox.
#[derive(Debug)]
pub struct Process {
    pub child: Child,
    control: BufReader<UnixStream>,
    /// What it said while something else was waited for.
    heard: Vec<Message>,
}

/// Starts the sandbox by `command`, whose program, words and streams but standard input are set here or by the caller.
pub fn spawn(mut command: Command, spec: &Spec) -> io::Result<Process> {
    let (ours, theirs) = UnixStream::pair()?;
    command.arg0(APPLET).stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
    let child = command.spawn()?;
    drop(command);
    let mut line = serde_json::to_vec(spec)?;
    line.push(b'\n');
    let mut process = Process { child, control: BufReader::new(ours), heard: Vec::new() };
    if !LIVE.add(&process) {
        process.kill();
        return Err(io::Error::other("the run is being ended"));
    }
    if let Err(error) = process.control.get_mut().write_all(&line) {
        process.kill();
        return Err(error);
    }
    Ok(process)
}

impl Process {
    /// Asks the sandbox to end everything within it and itself, waits for that, and gives what it said.
    pub fn end(&mut self) -> Vec<Message> {
        self.stop();
        // it needs milliseconds; a machine that is stuck must not hold us for ever
        self.give_up_after(std::time::Duration::from_secs(60));
        let words = self.last_words();
        self.kill();
        words
    }

    /// Bounds the wait for its [`last_words`](Process::last_words).
    pub fn give_up_after(&self, time: std::time::Duration) {
        let _ = self.control.get_ref().set_read_timeout(Some(time));
    }

    /// Asks for a layer below WORKDIR.
    pub fn lay(&mut self, lay: &Lay) -> io::Result<()> {
        self.ask(&Ask::Lay(lay.clone()), |message| match message {
            Message::Laid(done) => Ok(done),
            other => Err(other),
        })
    }

    /// Asks what is seen of the job.
    pub fn look(&mut self) -> io::Result<Seen> {
        self.ask(&Ask::Look, |message| match message {
            Message::Seen(seen) => Ok(seen),
            other => Err(other),
        })
    }

    /// Asks, and waits for the message that `is_answer`.
    fn ask<T>(
        &mut self,
        ask: &Ask,
        is_answer: impl Fn(Message) -> Result<Result<T, String>, Message>,
    ) -> io::Result<T> {
        let mut line = serde_json::to_vec(ask)?;
        line.push(b'\n');
        self.control.get_mut().write_all(&line)?;
        self.give_up_after(std::time::Duration::from_secs(60));
        let mut line = String::new();
        while self.control.read_line(&mut line)? > 0 {
            match is_answer(serde_json::from_str(&line)?) {
                Ok(answer) => return answer.map_err(io::Error::other),
                Err(other) => self.heard.push(other),
            }
            line.clear();
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn stop(&self) {
        let _ = self.control.get_ref().shutdown(std::net::Shutdown::Write);
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it said, once it is over.
    pub fn last_words(&mut self) -> Vec<Message> {
        let mut words = std::mem::take(&mut self.heard);
        let mut line = String::new();
        while matches!(self.control.read_line(&mut line), Ok(1..)) {
            words.extend(serde_json::from_str::<Message>(&line));
            line.clear();
        }
        words
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        LIVE.drop(self);
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

/// The sandboxes that are running, by which a run is ended at once.
struct Live(Mutex<Option<Vec<(u32, UnixStream)>>>);

static LIVE: Live = Live(Mutex::new(Some(Vec::new())));

impl Live {
    fn all(&self) -> MutexGuard<'_, Option<Vec<(u32, UnixStream)>>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether there may still be one more.
    fn add(&self, process: &Process) -> bool {
        let Ok(control) = process.control.get_ref().try_clone() else { return false };
        self.all().as_mut().map(|all| all.push((process.child.id(), control))).is_some()
    }

    fn drop(&self, process: &Process) {
        if let Some(all) = self.all().as_mut() {
            all.retain(|(id, _)| *id != process.child.id());
        }
    }
}

/// Ends all sandboxes and waits for that; none is begun any more.
pub fn end_all() {
    let all = LIVE.all().take().unwrap_or_default();
    for (_, control) in &all {
        let _ = control.shutdown(std::net::Shutdown::Write);
    }
    for (_, mut control) in all {
        let _ = control.set_read_timeout(Some(std::time::Duration::from_secs(5)));
        // it says what happened, and its end closes when nothing is left within
        let _ = io::copy(&mut control, &mut io::sink());
    }
}

/// The sandbox's own end of the socket.
#[derive(Debug)]
pub struct Control(pub UnixStream);

impl Control {
    pub fn read_spec(&self) -> io::Result<Spec> {
        let mut line = Vec::new();
        BufReader::new(&self.0).read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line)?)
    }

    /// What is wanted; none when nobody wants anything any more.
    pub fn read_ask(&self) -> Option<Ask> {
        let mut line = Vec::new();
        // as long as a line is not answered there is no other one
        BufReader::new(&self.0).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }

    pub fn say(&self, message: &Message) {
        let Ok(mut line) = serde_json::to_vec(message) else { return };
        line.push(b'\n');
        // whoever asked may be gone; then nobody wants to know
        let _ = (&self.0).write_all(&line);
    }
}
