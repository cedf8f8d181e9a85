//! Bounds of single processes, which the kernel keeps, and of the whole job, which the keeper keeps.

use rustix::process::{Resource, Rlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// What a job may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of all its processes together.
    pub cpu: u64,
    /// At one time.
    pub processes: u64,
    /// Bytes of all processes together.
    pub memory: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Files, links and directories in its folders.
    pub tree_files: u64,
    /// Bytes in its folders.
    pub tree_bytes: u64,
}

impl Default for Limits {
    /// More than any source known needs, less than what hurts a machine.
    fn default() -> Limits {
        Limits {
            cpu: 3600,
            processes: 4096,
            memory: 8 << 30,
            file_size: 20 << 30,
            open_files: 4096,
            tree_files: 4_000_000,
            tree_bytes: 40 << 30,
        }
    }
}

impl Limits {
    /// Puts this process and what it starts under the bounds of single processes.
    pub fn apply(&self) -> rustix::io::Result<()> {
        // the keeper says which bound was passed, so the kernel's are somewhat wider where both hold the same
        let bounds = [
            (Resource::Cpu, self.cpu.saturating_add(5)),
            (Resource::Nproc, self.processes.saturating_add(64 + machine_threads())),
            (Resource::Data, self.memory.saturating_mul(2)),
            (Resource::Fsize, self.file_size),
            (Resource::Nofile, self.open_files),
            (Resource::Core, 0),
        ];
        for (resource, wanted) in bounds {
            // the caller may be bound tighter already
            let most = rustix::process::getrlimit(resource).maximum;
            let value = Some(most.map_or(wanted, |most| most.min(wanted)));
            setrlimit(resource, Rlimit { current: value, maximum: value })?;
        }
        Ok(())
    }
}

/// All threads that run now: outside of a namespace the kernel counts the user's other ones as well.
fn machine_threads() -> u64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let field = text.split(' ').nth(3).and_then(|field| field.split_once('/'));
    field.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}
