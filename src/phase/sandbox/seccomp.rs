//! Seccomp: system calls that no phase needs and that reach beyond it.
//!
//! Several filters, of whose answers the kernel takes the strictest: calls that fail as forbidden, calls that fail as
//! unknown to the kernel (programs then do without), numbers that this list does not know, for root calls that only
//! seem to be done, and, in the `landlock` tier, calls that the keeper is asked about.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter, sock_filter,
};

use super::Tier;
use super::landlock;
use super::sys::load_listening_filter;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The filters of a tier, ready to be loaded.
pub struct Filters {
    plain: Vec<BpfProgram>,
    asking: Option<BpfProgram>,
}

/// Builds the filters; an error where this machine's kind is not known.
pub fn filters(tier: Tier) -> io::Result<Filters> {
    let asks = tier == Tier::Landlock;
    let mut plain = vec![
        beyond_the_list(),
        program(unknown(), SeccompAction::Errno(libc::ENOSYS as u32))?,
        program(forbidden(tier)?, SeccompAction::Errno(libc::EPERM as u32))?,
    ];
    if rustix::process::geteuid().is_root() {
        // programs give files away when they think that they may: `tar` of what it unpacks
        plain.push(program(owners(), SeccompAction::Errno(0))?);
    }
    if asks {
        plain.push(program(attributes(), SeccompAction::Errno(libc::EOPNOTSUPP as u32))?);
    }
    // the crate has no such action: the value of another one is changed
    let asking = match asks {
        true => Some(program(asked()?, SeccompAction::Trace(1))?.into_iter().map(ask).collect()),
        false => None,
    };
    Ok(Filters { plain, asking })
}

impl Filters {
    /// Loads all of them; gives the descriptor by which the keeper is asked.
    pub fn load(&self) -> io::Result<Option<OwnedFd>> {
        for filter in &self.plain {
            apply_filter(filter).map_err(io::Error::other)?;
        }
        self.asking.as_deref().map(load_listening_filter).transpose()
    }
}

fn program(rules: Rules, action: SeccompAction) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(|e: seccompiler::BackendError| io::Error::other(e))
}

const RETURN: u16 = 0x06;

fn ask(mut step: sock_filter) -> sock_filter {
    if step.code == RETURN && step.k == u32::from(SeccompAction::Trace(1)) {
        step.k = libc::SECCOMP_RET_USER_NOTIF;
    }
    step
}

/// Numbers behind the last one that this list was made with (mseal, Linux 6.10), and those of the x32 calling
/// convention, which would pass by every list.
fn beyond_the_list() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(JUMP_IF_GREATER, 0, 1, libc::SYS_mseal as u32),
        step(RETURN, 0, 0, u32::from(SeccompAction::Errno(libc::ENOSYS as u32))),
        step(RETURN, 0, 0, u32::from(SeccompAction::Allow)),
    ]
}

fn whole(calls: &[libc::c_long]) -> Rules {
    calls.iter().map(|call| (*call, Vec::new())).collect()
}

fn unknown() -> Rules {
    // clone3 hides its flags in memory, io_uring its calls
    whole(&[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register])
}

/// For root these do nothing and succeed, as far as the caller can tell: all files stay its own.
fn owners() -> Rules {
    let mut rules = whole(&[libc::SYS_fchown, libc::SYS_fchownat]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(whole(&[libc::SYS_chown, libc::SYS_lchown]));
    rules
}

fn attributes() -> Rules {
    whole(&[
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
    ])
}

fn forbidden(tier: Tier) -> io::Result<Rules> {
    let mut rules = whole(&[
        // other processes
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_process_mrelease,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_move_pages,
        libc::SYS_migrate_pages,
        // mounts and namespaces
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        // the kernel
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        // memory that nobody can count
        libc::SYS_memfd_secret,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_vhangup,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        // the network; a pair of sockets is no more than a pipe
        libc::SYS_socket,
    ]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(whole(&[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_uselib]));
    if tier == Tier::Landlock {
        // objects that are the user's, not the job's; and what Landlock of older kernels does not see
        rules.extend(whole(&[
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_semget,
            libc::SYS_semctl,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_msgget,
            libc::SYS_msgctl,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
            libc::SYS_truncate,
        ]));
        if !landlock::keeps_signals() {
            rules.extend(whole(&[libc::SYS_pidfd_send_signal]));
        }
    }
    let mut some = |call: libc::c_long, conditions: Vec<SeccompCondition>| -> io::Result<()> {
        let rule = SeccompRule::new(conditions).map_err(io::Error::other)?;
        rules.entry(call).or_default().push(rule);
        Ok(())
    };
    some(libc::SYS_socketpair, vec![not(0, libc::AF_UNIX as u64)?])?;
    for flag in NAMESPACES {
        some(libc::SYS_clone, vec![has(0, flag as u64)?])?;
    }
    // input put into a terminal, and flags that make a file unchangeable
    for request in [0x5412, 0x541c, 0x8901, 0x8902, 0x4008_6602, 0x4004_6602, 0x401c_5820] {
        some(libc::SYS_ioctl, vec![is(1, request)?])?;
    }
    // signals sent to whoever is named as the owner of a file
    for command in [libc::F_SETOWN, 15] {
        some(libc::SYS_fcntl, vec![is(1, command as u64)?])?;
    }
    // set-user-id and set-group-id
    let modes = [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_fchmodat2, 2), (libc::SYS_mknodat, 2)];
    for (call, argument) in modes {
        some(call, vec![has(argument, 0o4000)?])?;
        some(call, vec![has(argument, 0o2000)?])?;
    }
    let makes = |argument| has(argument, libc::O_CREAT as u64);
    some(libc::SYS_openat, vec![makes(2)?, has(3, 0o4000)?])?;
    some(libc::SYS_openat, vec![makes(2)?, has(3, 0o2000)?])?;
    #[cfg(target_arch = "x86_64")]
    {
        for (call, argument) in [(libc::SYS_chmod, 1), (libc::SYS_mknod, 1), (libc::SYS_creat, 1)] {
            some(call, vec![has(argument, 0o4000)?])?;
            some(call, vec![has(argument, 0o2000)?])?;
        }
        some(libc::SYS_open, vec![makes(1)?, has(2, 0o4000)?])?;
        some(libc::SYS_open, vec![makes(1)?, has(2, 0o2000)?])?;
    }
    // bounds and priorities of others
    some(libc::SYS_prlimit64, vec![not(0, 0)?, not_null(2)?])?;
    for call in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        some(call, vec![not(0, 0)?])?;
    }
    for (call, own) in [(libc::SYS_setpriority, libc::PRIO_PROCESS as u64), (libc::SYS_ioprio_set, 1)] {
        some(call, vec![not(0, own)?])?;
        some(call, vec![not(1, 0)?])?;
    }
    Ok(rules)
}

const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// What Landlock does not govern: modes, owners and times of files, and signals on older kernels. And new processes: when
/// the job ends its calls get no answer any more, so that ending one process after the other comes to an end.
fn asked() -> io::Result<Rules> {
    let mut rules = whole(&ASKED);
    let process = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64), 0)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![process]).map_err(io::Error::other)?]);
    #[cfg(target_arch = "x86_64")]
    rules.extend(whole(&[
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ]));
    if !landlock::keeps_signals() {
        rules.extend(whole(&[
            libc::SYS_kill,
            libc::SYS_tkill,
            libc::SYS_tgkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_rt_tgsigqueueinfo,
        ]));
    }
    Ok(rules)
}

const ASKED: [libc::c_long; 6] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
];

fn condition(argument: u8, length: SeccompCmpArgLen, op: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, length, op, value).map_err(io::Error::other)
}

fn is(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn not(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn not_null(argument: u8) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
}

/// All bits of `value` are set.
fn has(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(value), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_of_both_tiers_can_be_built() {
        let filters = filters(Tier::Namespaces).unwrap();
        assert!(filters.asking.is_none());
        let filters = super::filters(Tier::Landlock).unwrap();
        let asking = filters.asking.unwrap();
        assert!(asking.iter().any(|s| s.code == RETURN && s.k == libc::SECCOMP_RET_USER_NOTIF));
        assert!(!asking.iter().any(|s| s.code == RETURN && s.k == u32::from(SeccompAction::Trace(1))));
    }
}
