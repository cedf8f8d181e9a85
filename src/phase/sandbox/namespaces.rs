//! The namespaces, and who the caller is within them.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

/// Moves this process into namespaces of its own; its next child is the first process of the one for processes.
///
/// Users keep their numbers. Root gets all numbers, so that it can build its walls from trees that belong to others;
/// what runs within the walls has no capabilities, so the other numbers are of no use to it.
pub fn enter() -> io::Result<()> {
    let (uid, gid) = (geteuid(), getegid());
    let root = uid.is_root() && rustix::thread::set_thread_groups(&[]).is_ok();
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    // SAFETY: the flags share nothing that memory safety rests on (no file descriptor table)
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(|e| told("unshare", e.into()))?;
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    let all = format!("0 0 {}\n", u32::MAX);
    let write = |file: &str, text: &str| fs::write(format!("/proc/self/{file}"), text);
    if !(root && write("uid_map", &all).is_ok() && write("gid_map", &all).is_ok()) {
        // a map of one's own number alone needs no privilege
        write("uid_map", &format!("{uid} {uid} 1\n")).map_err(|e| told("uid_map", e))?;
        write("setgroups", "deny").map_err(|e| told("setgroups", e))?;
        write("gid_map", &format!("{gid} {gid} 1\n")).map_err(|e| told("gid_map", e))?;
    }
    let _ = rustix::system::sethostname(b"localhost");
    Ok(())
}

fn told(what: &str, error: io::Error) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}
