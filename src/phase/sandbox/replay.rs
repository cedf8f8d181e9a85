//! Replays of sed calls: the real sed on copies, started by ebaudit itself with scripts that an ebuild wrote.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope,
};

static RULES: OnceLock<Option<OwnedFd>> = OnceLock::new();

/// Makes the walls of replays, where the kernel has Landlock: `read` may be read, `write` written.
pub(super) fn prepare(read: &[PathBuf], write: &Path) {
    RULES.get_or_init(|| rules(read, write).ok().flatten());
}

fn rules(read: &[PathBuf], write: &Path) -> Result<Option<OwnedFd>, RulesetError> {
    let abi = ABI::V9;
    let mut set = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?;
    for path in read {
        if let Ok(file) = PathFd::new(path) {
            let access = AccessFs::from_read(abi);
            let access = if path.is_dir() { access } else { access & AccessFs::from_file(abi) };
            set = set.add_rule(PathBeneath::new(file, access))?;
        }
    }
    for (path, access) in [(write, AccessFs::from_all(abi)), (Path::new("/dev/null"), AccessFs::from_file(abi))] {
        if let Ok(file) = PathFd::new(path) {
            set = set.add_rule(PathBeneath::new(file, access))?;
        }
    }
    Ok(set.into())
}

/// Whether there are such walls.
pub fn guards_replays() -> bool {
    RULES.get().is_some_and(Option::is_some)
}

/// Puts what `command` starts behind these walls, and ends it with the thread that starts it.
pub fn guard(command: &mut Command) {
    let rules = RULES.get().and_then(Option::as_ref).map(AsRawFd::as_raw_fd);
    let confine = move || {
        let done = |value: libc::c_long| match value {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        };
        // SAFETY: system calls with numbers alone; the descriptor lives as long as the program
        unsafe {
            done(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into())?;
            if let Some(rules) = rules {
                done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
                done(libc::syscall(libc::SYS_landlock_restrict_self, rules, 0))?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls and nothing else
    unsafe { command.pre_exec(confine) };
}
