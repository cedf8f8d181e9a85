//! Landlock: which files may be opened, and that signals and abstract sockets stay within.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::Tier;
use super::spec::Spec;
use super::sys::landlock_version;

/// Whether this kernel has Landlock, and lets it be used.
pub fn is_there() -> bool {
    landlock_version() > 0
}

/// Whether it keeps signals within (Linux 6.12); else the keeper has to.
pub fn keeps_signals() -> bool {
    landlock_version() >= 6
}

/// Restricts this process and all that it starts, for good.
pub fn restrict(spec: &Spec) -> Result<(), RulesetError> {
    let abi = ABI::V9;
    let set = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?;
    let devices = AccessFs::from_file(abi);
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let mut rules = Rules { set, abi };
    for name in ["null", "zero", "full", "random", "urandom"] {
        rules.allow(&Path::new("/dev").join(name), devices)?;
    }
    if spec.tier == Tier::Namespaces {
        // what is in this root may be read, and what is read-only stays so
        rules.allow(Path::new("/"), AccessFs::from_read(abi))?;
        for name in ["/tmp", "/var/tmp", "/dev/shm"] {
            rules.allow(Path::new(name), write)?;
        }
        // the name of a thread is written there; nothing but what is about the own processes is writable in this /proc
        rules.allow(Path::new("/proc"), AccessFs::from_read(abi) | AccessFs::WriteFile | AccessFs::Truncate)?;
    } else {
        rules.allow(Path::new("/proc"), AccessFs::from_read(abi))?;
        for path in spec.read.iter() {
            rules.allow(path, AccessFs::from_read(abi))?;
        }
    }
    for path in spec.write.iter() {
        rules.allow(path, write)?;
    }
    if let Some(parent) = spec.over.as_ref().and_then(|over| Path::new(&over.workdir.0).parent()) {
        // What is mounted later is not below what it covers, but below the folder that has the mount. All else there that
        // is not the job's own is a read-only mount.
        rules.allow(parent, write)?;
    }
    rules.set.restrict_self()?;
    Ok(())
}

struct Rules {
    set: RulesetCreated,
    abi: ABI,
}

impl Rules {
    /// What is not there needs no rule.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), RulesetError> {
        let Ok(file) = PathFd::new(path) else { return Ok(()) };
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(self.abi) };
        (&mut self.set).add_rule(PathBeneath::new(file, access))?;
        Ok(())
    }
}
