//! Starts bash with the prelude, holds it to its bounds, and says how it ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::checkpoint::Checkpoint;
pub use super::interrupt::{interrupted, interruptible};
use super::job::{JobDir, RunDir, find_program};
use super::notes::{self, Death, Note};
use super::output::{Printed, Pump};
use super::portage::Portage;
use super::prelude;
use super::sandbox::{self, Lay, Message, Over, Overrun, Seen, Spec, Word};
use super::state;
use super::tracer::env;
use crate::gentoo::shown::Shown;
use crate::tree::layer::Layer;
use crate::tree::untrusted;

/// Where the prelude stops and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The ebuild is sourced, its metadata is in `metadata`; `variables` is wanted.
    Sourced,
    /// The ebuild's own src_unpack is about to begin, and the shell has said what it is, since it was asked to.
    Unpack,
    /// src_unpack is over.
    Unpacked,
}

#[derive(Clone, Debug)]
pub struct Bounds {
    /// Wall time of all phases of a job together.
    pub time: Duration,
    /// Bytes of output.
    pub output: u64,
    /// What its processes may use up.
    pub limits: sandbox::Limits,
}

/// What to run.
#[derive(Debug)]
pub struct Task<'a> {
    pub run: &'a RunDir,
    pub job: &'a JobDir,
    pub ebuild: &'a Path,
    /// Folders with `.eclass` files, the first one wins.
    pub eclass_dirs: &'a [PathBuf],
    /// What the phase may read of repositories.
    pub shown: &'a Shown,
    /// PMS's variables (P, PN, …) and the profile's.
    pub variables: &'a BTreeMap<String, OsString>,
    /// By which src_unpack and src_prepare are run; bash with the prelude otherwise.
    pub portage: Option<&'a Portage>,
    /// The folder of the layers that can be laid below WORKDIR.
    pub layers: Option<&'a Path>,
    pub bounds: &'a Bounds,
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// src_prepare is done.
    Done,
    /// The caller said so at a step.
    Stopped,
    /// `die`, or a phase function that left the shell.
    Failed(String),
    TimedOut,
    TooMuchOutput,
    /// A bound of what the processes may use up.
    Over(Overrun),
    /// The ebuild's own programs said that a step was reached, in the place of the prelude.
    Forged(&'static str),
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// The sandbox did not come up, or was ended from without.
    Broken(String),
}

#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub death: Option<Death>,
    pub notes: Vec<Note>,
    /// The phase function that was running last.
    pub phase: String,
    pub tail: Vec<u8>,
}

/// The walls around the job that is at a [`Step`].
#[derive(Debug)]
pub struct Walls<'a> {
    process: &'a mut sandbox::Process,
    pump: &'a Pump,
}

impl Walls<'_> {
    /// Lays a layer below WORKDIR; what the phases write goes to the job's folder above it.
    pub fn lay(&mut self, layer: &Layer) -> io::Result<()> {
        let (bytes, files) = layer.size();
        self.process.lay(&Lay { layer: Word(layer.key().into()), files, bytes })
    }
}

impl Walls<'_> {
    /// What is seen of the job from without.
    pub fn look(&mut self) -> io::Result<Seen> {
        self.process.look()
    }

    /// What the job printed until now.
    pub fn printed(&self) -> io::Result<Printed> {
        self.pump.printed()
    }

    /// Takes something for printed by the job.
    pub fn print(&self, printed: &Printed) {
        self.pump.add(printed);
    }
}

/// Which steps were taken: each comes once, and in order, whatever an ebuild that writes to the FIFO would like.
#[derive(Default)]
struct Steps(usize);

impl Steps {
    fn next(&mut self, said: &str) -> Result<Step, &'static str> {
        let (step, next) = match (self.0, said) {
            (0, "sourced") => (Step::Sourced, 1),
            (1, "unpack") => (Step::Unpack, 2),
            (1 | 2, "unpacked") => (Step::Unpacked, 3),
            (_, "sourced" | "unpack" | "unpacked") => {
                return Err("a program of the ebuild claimed once more, or too early, that a phase is over");
            }
            _ => return Err("a program of the ebuild wrote to where the phases say how far they are"),
        };
        self.0 = next;
        Ok(step)
    }
}

/// We look at a job twice a second; when that much lies between two looks, we were stopped.
const STOPPED: Duration = Duration::from_secs(5);

/// What the prelude and [`run`] write for each other; nothing of an earlier run is to be there.
const OF_A_RUN: [&str; 13] = [
    "died",
    "notes",
    "phase",
    "tell",
    state::ANSWER,
    "prepared",
    "sourced",
    "metadata",
    "setup-done",
    state::KEEP,
    state::KNOWN,
    state::BEFORE,
    state::AFTER,
];

/// Runs `task`. `step` is called at each [`Step`] and says whether to go on; its time does not count.
pub fn run(task: &Task, mut step: impl FnMut(Step, &mut Walls) -> bool) -> io::Result<Outcome> {
    let ctl = task.job.ctl();
    for name in OF_A_RUN {
        let _ = std::fs::remove_file(ctl.join(name));
    }
    let mut checkpoint = Checkpoint::create(&ctl)?;
    let (reader, writer) = io::pipe()?;
    let output = std::fs::File::from(std::os::fd::OwnedFd::from(writer.try_clone()?)).metadata()?;
    let mut command = Command::new(task.run.program());
    command
        .env_clear()
        .envs(environment(task))
        .env(env::OUTPUT, format!("{}:{}", output.dev(), output.ino()))
        .current_dir(task.job.workdir())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut process = sandbox::spawn(command, &spec(task)?)?;
    let pump = Pump::start(reader)?;
    let pid = Pid::from_child(&process.child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let mut deadline = Instant::now() + task.bounds.time;
    let mut stopped = false;
    let mut steps = Steps::default();
    let mut looked = Instant::now();
    let end = loop {
        let now = Instant::now();
        if now >= deadline {
            break Some(End::TimedOut);
        }
        if interrupted() {
            break Some(End::Interrupted);
        }
        if pump.seen() > task.bounds.output {
            break Some(End::TooMuchOutput);
        }
        let wait = (deadline - now).min(Duration::from_millis(500));
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&checkpoint.tell, PollFlags::IN)];
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // a stopped terminal, or a machine that slept: that time is not the ebuild's
        let gap = looked.elapsed();
        if gap > STOPPED {
            deadline += gap;
        }
        looked = Instant::now();
        let (over, told) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if over {
            break None;
        }
        if told {
            let reached = match checkpoint.hear().map_or(Ok(None), |said| steps.next(&said).map(Some)) {
                Ok(Some(step)) => step,
                Ok(None) => continue,
                Err(why) => break Some(End::Forged(why)),
            };
            let began = Instant::now();
            let go_on = step(reached, &mut Walls { process: &mut process, pump: &pump });
            deadline += began.elapsed();
            looked = Instant::now();
            stopped |= !go_on;
            checkpoint.answer(go_on)?;
        }
    };
    // whatever the phase left running ends with it
    let words = process.end();
    let tail = pump.finish();
    let death = notes::death(&ctl);
    let end = end.unwrap_or_else(|| match (words.last(), &death) {
        (Some(Message::Over(overrun)), _) => End::Over(*overrun),
        (Some(Message::Failed(reason)), _) => End::Broken(reason.clone()),
        (_, Some(death)) => End::Failed(death.message.clone()),
        _ if stopped => End::Stopped,
        (Some(Message::Exit(0)), _) if untrusted::open(&ctl.join("prepared")).is_ok() => End::Done,
        (Some(Message::Signal(signal)), _) => End::Failed(format!("the shell was ended by signal {signal}")),
        (Some(Message::Exit(code)), _) => End::Failed(format!("the shell ended with status {code} before its end")),
        (Some(Message::Laid(_) | Message::Seen(_)) | None, _) => {
            End::Broken("the sandbox ended without a word".to_owned())
        }
    });
    let phase = untrusted::read_text(&ctl.join("phase"), 4096).unwrap_or_default().trim().to_owned();
    Ok(Outcome { end, death, notes: notes::notes(&ctl), phase, tail })
}

/// The walls around this task.
fn spec(task: &Task) -> io::Result<Spec> {
    let bash = find_program("bash").ok_or_else(|| io::Error::other("bash is not on PATH"))?;
    let main = task.run.prelude().join(prelude::MAIN);
    let words = ["--norc".into(), "--noprofile".into(), main.into_os_string()];
    let mut files = vec![task.job.distdir()];
    // a trial's text lies in a folder of its own
    files.extend(task.ebuild.parent().filter(|dir| dir.starts_with(task.run.path())).map(Path::to_owned));
    if let Some(portage) = task.portage {
        files.push(task.job.config());
        files.extend(portage.read.iter().cloned());
    }
    let over = |layers: &Path| -> io::Result<Over> {
        let own = task.job.make_over()?;
        Ok(Over { layers: Word(layers.into()), own: Word(own.into()), workdir: Word(task.job.workdir().into()) })
    };
    Ok(Spec {
        over: task.layers.map(over).transpose()?,
        write: task.job.writable().into_iter().collect(),
        trace: Word(task.job.trace().path().into()),
        limits: task.bounds.limits,
        cwd: Word(task.job.workdir().into()),
        command: [bash.into_os_string()].into_iter().chain(words).map(Word).collect(),
        ..task.run.sandbox.spec(task.run, task.shown, files)
    })
}

/// The clean environment: PATH, the locale, the job's folders, and our own words.
fn environment(task: &Task) -> BTreeMap<String, OsString> {
    let (run, job) = (task.run, task.job);
    let mut path = run.bin().into_os_string();
    if let Some(system) = std::env::var_os("PATH") {
        path.push(":");
        path.push(system);
    }
    let eclass_dirs = task.eclass_dirs.iter().map(|d| d.as_os_str()).collect::<Vec<_>>();
    let mut env: BTreeMap<String, OsString> = task.variables.clone();
    let mut set = |name: &str, value: OsString| {
        env.insert(name.to_owned(), value);
    };
    set("PATH", path);
    set("LC_ALL", "C.UTF-8".into());
    set("TERM", "dumb".into());
    set("HOME", job.home().into());
    set("T", job.temp().into());
    set("TMPDIR", job.temp().into());
    set("WORKDIR", job.workdir().into());
    set("DISTDIR", job.distdir().into());
    set("D", job.image().into());
    set("ED", job.image().into());
    for name in ["ROOT", "EROOT", "SYSROOT", "ESYSROOT", "BROOT", "EPREFIX"] {
        set(name, "".into());
    }
    set("EB_EBUILD", task.ebuild.into());
    set("EB_ECLASS_DIRS", eclass_dirs.join(std::ffi::OsStr::new("\n")));
    set("EB_PRELUDE", run.prelude().into());
    set("EB_BIN", run.bin().into());
    set("EB_CTL", job.ctl().into());
    if let Some(portage) = task.portage {
        let words = portage.words.iter().map(|word| word.as_os_str()).collect::<Vec<_>>();
        set("EB_PORTAGE", words.join(std::ffi::OsStr::new("\n")));
        set("EB_PORTAGE_CONFIG", job.config().into());
        set("EB_PORTAGE_BUILD", job.build().into());
        set("EB_PORTAGE_PATH", std::env::var_os("PATH").unwrap_or_default());
    }
    set(env::REAL, run.sandbox.real(run).into());
    set(env::TRACE, job.trace().path().into());
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_comes_once_and_in_order() {
        let mut steps = Steps::default();
        assert_eq!(steps.next("sourced"), Ok(Step::Sourced));
        assert!(steps.next("sourced").is_err() && steps.next("sourced\nunpacked").is_err());
        assert_eq!(steps.next("unpacked"), Ok(Step::Unpacked));
        assert!(["unpacked", "unpack", "sourced"].iter().all(|said| steps.next(said).is_err()));
        let mut steps = Steps::default();
        let all = ["sourced", "unpack", "unpacked"].map(|said| steps.next(said));
        assert_eq!(all, [Ok(Step::Sourced), Ok(Step::Unpack), Ok(Step::Unpacked)]);
        assert!(Steps::default().next("unpacked").is_err());
    }
}
