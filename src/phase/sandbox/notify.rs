//! Calls that the keeper decides in the `landlock` tier: Landlock does not govern who may change modes, owners and times
//! of files, nor, before Linux 6.12, to whom signals go. It also lets new processes be made, as long as it answers.
//!
//! The keeper finds the file itself, looks where it lies, and changes it through its own descriptor: what is looked at is
//! what is changed, whatever the other threads of the caller do meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::census;
use super::sys::{Answer, answer, next_notification, still_waits};

/// Decides calls.
#[derive(Debug)]
pub struct Guard {
    write: Vec<PathBuf>,
}

/// A call as its notification tells it.
struct Call {
    pid: u32,
    number: libc::c_long,
    args: [u64; 6],
}

impl Guard {
    /// For a job that may change what lies in the folders `write`.
    pub fn new<'a>(write: impl Iterator<Item = &'a Path>) -> Guard {
        Guard { write: write.filter_map(|path| std::fs::canonicalize(path).ok()).collect() }
    }

    /// Answers one notification.
    pub fn serve(&self, listener: BorrowedFd<'_>) {
        let Ok(Some(note)) = next_notification(listener) else { return };
        let call = Call { pid: note.pid, number: note.data.nr.into(), args: note.data.args };
        let decided = self.decide(&call, &|| still_waits(listener, note.id));
        answer(listener, note.id, decided);
    }

    fn decide(&self, call: &Call, waits: &dyn Fn() -> bool) -> Answer {
        let done = match call.number {
            libc::SYS_fchmod => self.mode(call.file(0), call, 1, waits),
            libc::SYS_fchmodat => self.mode(call.named(Some(0), 1, 0), call, 2, waits),
            libc::SYS_fchmodat2 => self.mode(call.named(Some(0), 1, call.args[3]), call, 2, waits),
            libc::SYS_fchown => self.owner(call.file(0), call, 1, waits),
            libc::SYS_fchownat => self.owner(call.named(Some(0), 1, call.args[4]), call, 2, waits),
            libc::SYS_utimensat if call.args[1] == 0 => self.times(call.file(0), call, waits),
            libc::SYS_utimensat => self.times(call.named(Some(0), 1, call.args[3]), call, waits),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => self.mode(call.named(None, 0, 0), call, 1, waits),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown => self.owner(call.named(None, 0, 0), call, 1, waits),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown => self.owner(call.named(None, 0, libc::AT_SYMLINK_NOFOLLOW as u64), call, 1, waits),
            libc::SYS_clone => return Answer::GoOn,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_fork | libc::SYS_vfork => return Answer::GoOn,
            libc::SYS_kill => return signal(call.args[0] as i32),
            libc::SYS_rt_sigqueueinfo | libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo | libc::SYS_tkill => {
                return signal((call.args[0] as i32).max(1));
            }
            // utime and its kin: libraries have used utimensat for long
            _ => Err(Errno::NOSYS),
        };
        match done {
            Ok(()) => Answer::Done,
            Err(errno) => Answer::Error(errno.raw_os_error()),
        }
    }

    fn mode(
        &self,
        file: Result<OwnedFd, Errno>,
        call: &Call,
        at: usize,
        waits: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        let file = self.ours(file?, waits)?;
        let mode = Mode::from_raw_mode(call.args[at] as u32 & 0o1777);
        rustix::fs::chmodat(CWD, through(&file), mode, AtFlags::empty())
    }

    /// Owners never change; a call that changes nothing is fine.
    fn owner(
        &self,
        file: Result<OwnedFd, Errno>,
        call: &Call,
        at: usize,
        waits: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        let file = self.ours(file?, waits)?;
        let now = rustix::fs::fstat(&file)?;
        let same = |wanted: u64, now: u32| wanted as u32 == u32::MAX || wanted as u32 == now;
        match same(call.args[at], now.st_uid) && same(call.args[at + 1], now.st_gid) {
            true => Ok(()),
            false => Err(Errno::PERM),
        }
    }

    fn times(&self, file: Result<OwnedFd, Errno>, call: &Call, waits: &dyn Fn() -> bool) -> Result<(), Errno> {
        let times = match call.args[2] {
            0 => {
                let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
                Timestamps { last_access: now, last_modification: now }
            }
            address => {
                let mut raw = [0; 32];
                call.memory()?.read_exact_at(&mut raw, address).map_err(|_| Errno::FAULT)?;
                let number = |at: usize| i64::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
                let time = |at| Timespec { tv_sec: number(at), tv_nsec: number(at + 8) as _ };
                Timestamps { last_access: time(0), last_modification: time(16) }
            }
        };
        let file = self.ours(file?, waits)?;
        let link = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_symlink();
        match link {
            // only by the descriptor itself, as a path would lead on
            true => rustix::fs::utimensat(&file, "", &times, AtFlags::EMPTY_PATH),
            false => rustix::fs::utimensat(CWD, through(&file), &times, AtFlags::empty()),
        }
    }

    /// The file, if it lies in a folder of the job and the caller still waits.
    fn ours(&self, file: OwnedFd, waits: &dyn Fn() -> bool) -> Result<OwnedFd, Errno> {
        let path = std::fs::read_link(through(&file)).map_err(|_| Errno::PERM)?;
        match self.write.iter().any(|root| path.starts_with(root)) && waits() {
            true => Ok(file),
            false => Err(Errno::PERM),
        }
    }
}

impl Call {
    fn memory(&self) -> Result<File, Errno> {
        File::open(format!("/proc/{}/mem", self.pid)).map_err(|_| Errno::PERM)
    }

    /// The open file that an argument names.
    fn file(&self, at: usize) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.args[at] as i32);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).map_err(|_| Errno::BADF)
    }

    /// The file of a path argument, seen from a directory argument or the current directory.
    fn named(&self, dir: Option<usize>, at: usize, flags: u64) -> Result<OwnedFd, Errno> {
        let path = self.path(at)?;
        let dir = dir.map_or(libc::AT_FDCWD, |dir| self.args[dir] as i32);
        if path.as_os_str().is_empty() {
            let empty = flags & libc::AT_EMPTY_PATH as u64 != 0 && dir != libc::AT_FDCWD;
            return if empty { self.file_of(dir) } else { Err(Errno::NOENT) };
        }
        // a descriptor by its name in /proc, as libraries do it
        for prefix in ["/proc/self/fd".to_owned(), format!("/proc/{}/fd", self.pid), "/dev/fd".to_owned()] {
            if let Ok(number) = path.strip_prefix(&prefix)
                && let Some(number) = number.to_str().and_then(|n| n.parse().ok())
            {
                return self.file_of(number);
            }
        }
        let base = if dir == libc::AT_FDCWD {
            rustix::fs::open(format!("/proc/{}/cwd", self.pid), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?
        } else {
            self.file_of(dir)?
        };
        let mut how = OFlags::PATH | OFlags::CLOEXEC;
        if flags & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 {
            how |= OFlags::NOFOLLOW;
        }
        rustix::fs::openat2(&base, &path, how, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
    }

    fn file_of(&self, fd: i32) -> Result<OwnedFd, Errno> {
        let path = format!("/proc/{}/fd/{fd}", self.pid);
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|_| Errno::BADF)
    }

    /// The text that an argument points to.
    fn path(&self, at: usize) -> Result<PathBuf, Errno> {
        let memory = self.memory()?;
        let mut text = Vec::new();
        let mut address = self.args[at];
        while text.len() < 4096 {
            // never across the end of a page, behind which nothing need be
            let room = 4096 - (address % 4096) as usize;
            let mut part = vec![0; room.min(256)];
            let read = memory.read_at(&mut part, address).map_err(|_| Errno::FAULT)?;
            let part = &part[..read];
            if let Some(end) = part.iter().position(|b| *b == 0) {
                text.extend_from_slice(&part[..end]);
                return Ok(PathBuf::from(OsString::from_vec(text)));
            }
            if part.is_empty() {
                return Err(Errno::FAULT);
            }
            text.extend_from_slice(part);
            address += part.len() as u64;
        }
        Err(Errno::NAMETOOLONG)
    }
}

/// The path that leads to an open file, whatever became of its name.
fn through(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Signals go to the job's own processes.
fn signal(to: i32) -> Answer {
    let ours = census::descendants();
    let allowed = match to {
        // the caller's own group, which lies in the session that we made
        0 => true,
        1.. => ours.contains(&to) || tgid(to).is_some_and(|tgid| ours.contains(&tgid)),
        -1 => false,
        group => {
            let members = census::group(-group);
            !members.is_empty() && members.iter().all(|pid| ours.contains(pid))
        }
    };
    if allowed { Answer::GoOn } else { Answer::Error(libc::EPERM) }
}

fn tgid(tid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("Tgid:"))?.trim().parse().ok()
}
