//! The sandbox's own process: reads what is wanted, builds the walls, starts the shell within.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::process::{DumpableBehavior, Pid, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::spec::{Control, Message, Spec};
use super::{Tier, census, keeper, landlock, mounts, namespaces, seccomp, sys};

/// Does what the asker on standard input wants; gives the exit status.
pub fn main() -> i32 {
    let control = match take_control() {
        Ok(control) => control,
        Err(error) => {
            eprintln!("ebaudit-sandbox: this is a part of ebaudit and not to be started by hand: {error}");
            return 2;
        }
    };
    match control.read_spec().and_then(|spec| outer(&spec, &control)) {
        Ok(()) => 0,
        Err(error) => {
            control.say(&Message::Failed(error.to_string()));
            1
        }
    }
}

/// Moves the socket from standard input, which programs inherit, to a descriptor that they do not.
fn take_control() -> io::Result<Control> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 10)?;
    rustix::net::getsockname(&socket)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(Control(UnixStream::from(socket)))
}

/// The outer process: stays in the host's namespaces, waits for the inner one, and cleans up should that be killed.
fn outer(spec: &Spec, control: &Control) -> io::Result<()> {
    // whoever ends the group of the asker need not end us: we end by the socket
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    if spec.tier == Tier::Namespaces {
        namespaces::enter()?;
    }
    let (lifeline, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let Some(inner) = sys::fork()? else {
        drop(held);
        let code = match self::inner(spec, control, &lifeline) {
            Ok(()) => 0,
            Err(error) => {
                control.say(&Message::Failed(error.to_string()));
                1
            }
        };
        std::process::exit(code);
    };
    drop(lifeline);
    wait_for(inner, control)?;
    census::end_all();
    Ok(())
}

/// Until the inner process ends; it does so by itself when the asker is gone.
fn wait_for(inner: Pid, control: &Control) -> io::Result<()> {
    let status = loop {
        match rustix::process::waitpid(Some(inner), rustix::process::WaitOptions::empty()) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    };
    if let Some(signal) = status.terminating_signal() {
        control.say(&Message::Failed(format!("the sandbox was ended by signal {signal}")));
    }
    Ok(())
}

/// The inner process: the first of its namespace, or the second subreaper.
fn inner(spec: &Spec, control: &Control, lifeline: &OwnedFd) -> io::Result<()> {
    match spec.tier {
        Tier::Namespaces => {
            // the kernel ends a namespace with its first process
            set_parent_process_death_signal(Some(Signal::KILL))?;
            mounts::build(spec)?;
            if let Some(over) = spec.over.as_ref().filter(|_| spec.command.is_empty()) {
                over.try_out().map_err(|e| io::Error::other(format!("overlay: {e}")))?;
            }
        }
        Tier::Landlock | Tier::None => {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        }
    }
    let (ours, theirs) = UnixStream::pair()?;
    let filters = match spec.tier {
        Tier::None => None,
        tier => Some(seccomp::filters(tier)?),
    };
    let Some(shell) = sys::fork()? else {
        drop(ours);
        let error = match confine(spec, filters, theirs) {
            Ok(()) if spec.command.is_empty() => std::process::exit(0),
            Ok(()) => start(spec),
            Err(error) => error,
        };
        control.say(&Message::Failed(error.to_string()));
        std::process::exit(126);
    };
    drop(theirs);
    // after what needs our own /proc: from here on nobody may look into us
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let listener = if spec.tier == Tier::Landlock { receive(&ours)? } else { None };
    keeper::keep(spec, control, lifeline.as_fd(), listener, shell);
    Ok(())
}

/// Puts this process behind the walls.
fn confine(spec: &Spec, filters: Option<seccomp::Filters>, keeper: UnixStream) -> io::Result<()> {
    let told = |what: &str, error: &dyn std::fmt::Display| io::Error::other(format!("{what}: {error}"));
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // no terminal: /dev/tty leads nowhere
    rustix::process::setsid()?;
    spec.limits.apply().map_err(|e| told("setrlimit", &e))?;
    rustix::thread::set_no_new_privs(true)?;
    let Some(filters) = filters else { return Ok(()) };
    drop_capabilities().map_err(|e| told("capset", &e))?;
    if landlock::is_there() {
        landlock::restrict(spec).map_err(|e| told("Landlock", &e))?;
    } else if spec.tier == Tier::Landlock {
        return Err(io::Error::other("Landlock: this kernel has none, or does not let it be used"));
    }
    let listener = filters.load().map_err(|e| told("seccomp", &e))?;
    if let Some(listener) = listener {
        send(&keeper, &listener).map_err(|e| told("seccomp", &e))?;
    }
    Ok(())
}

fn start(spec: &Spec) -> io::Error {
    let Some((program, words)) = spec.command.split_first() else { return io::Error::other("no command") };
    let mut command = Command::new(&program.0);
    command.args(words.iter().map(|word| &word.0)).current_dir(&spec.cwd.0);
    let error = command.exec();
    io::Error::other(format!("{}: {error}", std::path::Path::new(&program.0).display()))
}

/// Gives up what root may do beyond its own files, for good.
fn drop_capabilities() -> rustix::io::Result<()> {
    for number in 0..64 {
        let _ = rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

fn send(keeper: &UnixStream, listener: &OwnedFd) -> rustix::io::Result<()> {
    let fds = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::net::sendmsg(keeper, &[io::IoSlice::new(b"l")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// The descriptor by which calls ask; none where the sender ended before it had one.
fn receive(from: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(from, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok(fds.flatten().next())
}
