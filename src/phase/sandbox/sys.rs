//! System calls that no crate wraps.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::Pid;

fn result(value: libc::c_long) -> io::Result<libc::c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Forks; none in the child. Only for a process with one thread.
pub fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the process has one thread, so the child may do whatever the parent may
    let pid = result(unsafe { libc::fork() }.into())?;
    Ok(Pid::from_raw(pid as i32))
}

/// Sends SIGKILL to all processes but this one, at once. Only for the first process of a namespace.
pub fn kill_all_others() {
    // SAFETY: no memory is involved
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// `MOUNT_ATTR_*`.
pub const RDONLY: u64 = 0x1;
pub const NOSUID: u64 = 0x2;
pub const NODEV: u64 = 0x4;

/// Sets attributes (`MOUNT_ATTR_*`) of the mount at `path` and, if `deep`, of all below it.
pub fn set_mount_attributes(path: &Path, attributes: u64, deep: bool) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = if deep { libc::AT_RECURSIVE } else { 0 };
    // the kernel's struct mount_attr: attr_set, attr_clr, propagation, userns_fd
    let attr: [u64; 4] = [attributes, 0, 0, 0];
    // SAFETY: the path is a C string and the structure has the size that is said
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            attr.as_ptr(),
            std::mem::size_of_val(&attr),
        )
    };
    result(done).map(drop)
}

/// The version of Landlock that the kernel speaks; 0 for none.
pub fn landlock_version() -> i64 {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no memory
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) };
    version.max(0)
}

/// Loads a seccomp filter whose notifications come by the descriptor given back.
pub fn load_listening_filter(program: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel copies the program, whose layout both crates take from the kernel
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    // SAFETY: the kernel just made this descriptor
    Ok(unsafe { OwnedFd::from_raw_fd(result(fd)? as i32) })
}

/// Waits for a notification; none where its sender is gone already.
pub fn next_notification(listener: BorrowedFd<'_>) -> io::Result<Option<libc::seccomp_notif>> {
    // SAFETY: all zeroes is what the kernel wants to be given
    let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the ioctl fills the structure that it is defined with
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    match result(done.into()) {
        Ok(_) => Ok(Some(call)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the sender of a notification still waits, so that its number still means that process.
pub fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the ioctl reads a u64
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Answers a notification: the system call gives 0, fails with `error`, or goes on.
pub fn answer(listener: BorrowedFd<'_>, id: u64, answer: Answer) {
    let mut reply = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
    match answer {
        Answer::Done => {}
        Answer::Error(errno) => reply.error = -errno,
        Answer::GoOn => reply.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
    }
    // SAFETY: the ioctl reads the structure that it is defined with; the sender may be gone, which is no matter
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut reply) };
}

/// What becomes of a system call that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Error(i32),
    GoOn,
}
