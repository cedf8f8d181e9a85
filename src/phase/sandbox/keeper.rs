//! Watches over a job from without its walls: its bounds, what it asks, its end, and that nothing of it is left.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use super::census::{self, Usage, usage};
use super::limits::Limits;
use super::notify::Guard;
use super::seen::Seen;
use super::spec::{Ask, Control, Message, Overrun, Spec};
use crate::tree::Walk;

/// Between two looks at what the job uses.
const TICK: Duration = Duration::from_millis(100);

/// Keeps the job whose shell is `shell` until it ends, or nobody wants it any more; tells how it went.
///
/// `lifeline` comes to its end with the process above, `control` with whoever asked.
pub fn keep(spec: &Spec, control: &Control, lifeline: BorrowedFd<'_>, listener: Option<OwnedFd>, shell: Pid) {
    let message = match watch(spec, control, lifeline, listener.as_ref(), shell) {
        Ok(message) => message,
        Err(error) => Some(Message::Failed(format!("watching the job: {error}"))),
    };
    census::end_all();
    if let Some(message) = message {
        control.say(&message);
    }
}

fn watch(
    spec: &Spec,
    control: &Control,
    lifeline: BorrowedFd<'_>,
    listener: Option<&OwnedFd>,
    shell: Pid,
) -> io::Result<Option<Message>> {
    let pidfd = pidfd_open(shell, PidfdFlags::empty())?;
    let guard = Guard::new(spec.write.iter());
    let mut tree = Tree::new(spec);
    let mut next = Instant::now() + TICK;
    let mut asking = listener;
    loop {
        let left = next.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = vec![
            PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(control.0.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(lifeline, PollFlags::IN),
        ];
        fds.extend(asking.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        if let (Some(fd), Some(asked)) = (asking, ready.get(3)) {
            if asked.contains(PollFlags::IN) {
                guard.serve(fd.as_fd());
            } else if asked.contains(PollFlags::HUP) {
                asking = None;
            }
        }
        if let Some(status) = reap(shell) {
            return Ok(Some(status));
        }
        if !ready[2].is_empty() {
            return Ok(None);
        }
        if !ready[1].is_empty() {
            match (control.read_ask(), &spec.over) {
                (Some(Ask::Lay(lay)), Some(over)) => {
                    let done = over.lay(&lay).map_err(|error| error.to_string());
                    if done.is_ok() {
                        tree.set_alarm(lay.files, lay.bytes);
                    }
                    control.say(&Message::Laid(done));
                }
                (Some(Ask::Look), _) => {
                    control.say(&Message::Seen(Seen::of(shell, spec.tier).map_err(|error| error.to_string())));
                }
                _ => return Ok(None),
            }
        }
        if Instant::now() >= next {
            let usage = usage(spec.limits.processes);
            if let Some(overrun) = passed(&spec.limits, &usage).or_else(|| tree.passed(usage.nameless)) {
                return Ok(Some(Message::Over(overrun)));
            }
            next = Instant::now() + TICK;
        }
    }
}

/// Takes the status of whatever ended; gives the shell's.
fn reap(shell: Pid) -> Option<Message> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == shell => return Some(told(status)),
            Ok(Some(_)) => {}
            _ => return None,
        }
    }
}

fn told(status: WaitStatus) -> Message {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Message::Exit(code),
        (None, Some(signal)) => Message::Signal(signal),
        (None, None) => Message::Exit(-1),
    }
}

fn passed(limits: &Limits, usage: &Usage) -> Option<Overrun> {
    if usage.processes > limits.processes {
        return Some(Overrun::Processes);
    }
    if usage.memory > limits.memory {
        return Some(Overrun::Memory);
    }
    (usage.ticks / rustix::param::clock_ticks_per_second() > limits.cpu).then_some(Overrun::Cpu)
}

/// What the job's folders hold. Walking them costs, so it is done only when the file system has lost as much room as
/// the job would need to pass its bounds.
struct Tree {
    folders: Vec<std::path::PathBuf>,
    limits: Limits,
    /// Free bytes and free inodes below which there is something to count.
    alarm: Option<(u64, u64)>,
    /// For file systems that do not count inodes.
    next: Instant,
}

impl Tree {
    fn new(spec: &Spec) -> Tree {
        let limits = spec.limits;
        let folders = spec.write.iter().map(Into::into).collect();
        let mut tree = Tree { folders, limits, alarm: None, next: Instant::now() };
        tree.set_alarm(0, 0);
        tree
    }

    fn free(&self) -> Option<(u64, u64, bool)> {
        let room = rustix::fs::statvfs(self.folders.first()?).ok()?;
        Some((room.f_bfree.saturating_mul(room.f_frsize), room.f_ffree, room.f_files > 0))
    }

    fn set_alarm(&mut self, files: u64, bytes: u64) {
        self.next = Instant::now() + Duration::from_secs(5);
        self.alarm = self.free().map(|(room, inodes, _)| {
            let more = self.limits.tree_bytes.saturating_sub(bytes);
            (room.saturating_sub(more), inodes.saturating_sub(self.limits.tree_files.saturating_sub(files)))
        });
    }

    /// `nameless`: bytes of open files that no folder shows.
    fn passed(&mut self, nameless: u64) -> Option<Overrun> {
        let ((room, inodes, counted), (low, few)) = (self.free()?, self.alarm?);
        let blind = !counted && Instant::now() >= self.next;
        if room > low && (inodes > few || !counted) && !blind {
            return None;
        }
        let (files, bytes) = self.count();
        let bytes = bytes.saturating_add(nameless);
        if files > self.limits.tree_files {
            return Some(Overrun::TreeFiles);
        }
        if bytes > self.limits.tree_bytes {
            return Some(Overrun::TreeBytes);
        }
        self.set_alarm(files, bytes);
        None
    }

    fn count(&self) -> (u64, u64) {
        let (mut files, mut bytes) = (0, 0u64);
        for item in self.folders.iter().filter_map(|folder| Walk::new(folder).ok()).flatten() {
            match item {
                Ok(item) => {
                    files += 1;
                    bytes += item.stat().map_or(0, |stat| (stat.st_blocks as u64).saturating_mul(512));
                }
                // too deep to be looked into, thus past every bound
                Err((_, error)) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                    return (u64::MAX, bytes);
                }
                Err(_) => {}
            }
            if files > self.limits.tree_files {
                break;
            }
        }
        (files, bytes)
    }
}
