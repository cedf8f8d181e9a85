//! The options that bound what an ebuild may use up, and by what it is isolated.

use std::time::Duration;

use clap::ValueEnum;

use super::args::{some, some_bytes};
use crate::phase::runner::Bounds;
use crate::phase::sandbox::{Choice, Limits, Tier};
use crate::source::unpack;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxChoice {
    /// The strongest that this machine allows
    Auto,
    /// Namespaces, Landlock and seccomp
    Namespaces,
    /// Landlock and seccomp
    Landlock,
}

/// By what ebuilds are isolated.
#[derive(Debug, clap::Args)]
pub struct SandboxArgs {
    /// What to isolate ebuilds by
    #[arg(long, value_enum, default_value_t = SandboxChoice::Auto)]
    sandbox: SandboxChoice,

    /// Run ebuilds with all your rights; only for ebuilds that you trust
    #[arg(long, conflicts_with = "sandbox")]
    no_sandbox: bool,
}

impl SandboxArgs {
    /// The same as words of a command line.
    pub fn words(&self) -> Vec<String> {
        let name = self.sandbox.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        if self.no_sandbox { vec!["--no-sandbox".to_owned()] } else { vec![format!("--sandbox={name}")] }
    }

    pub fn choice(&self) -> Choice {
        match self.sandbox {
            _ if self.no_sandbox => Choice::Only(Tier::None),
            SandboxChoice::Auto => Choice::Auto,
            SandboxChoice::Namespaces => Choice::Only(Tier::Namespaces),
            SandboxChoice::Landlock => Choice::Only(Tier::Landlock),
        }
    }
}

#[derive(Debug, clap::Args)]
pub struct BoundArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,

    /// Seconds that the phases of one ebuild may take, and judging its edits as well
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = some::<u64>)]
    timeout: u64,

    /// Seconds of the processors that they may take
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = some::<u64>)]
    cpu_time: u64,

    /// Bytes that they may print
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "1G", value_parser = some_bytes)]
    max_output: u64,

    /// Processes of one ebuild at a time
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = some::<u64>)]
    max_processes: u64,

    /// Memory of its processes together
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "8G", value_parser = some_bytes)]
    max_memory: u64,

    /// Files that one process may have open
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = some::<u64>)]
    max_open_files: u64,

    /// Bytes of one file
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "20G", value_parser = some_bytes)]
    max_file_size: u64,

    /// Files, links and folders of one ebuild
    #[arg(long, value_name = "N", default_value_t = 4_000_000, value_parser = some::<u64>)]
    pub max_tree_files: u64,

    /// Bytes on the disk of one ebuild
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "40G", value_parser = some_bytes)]
    pub max_tree_size: u64,

    /// Folders within folders
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = some::<usize>)]
    pub max_depth: usize,

    /// Bytes that the archives of one ebuild may unpack to
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "20G", value_parser = some_bytes)]
    max_unpacked_size: u64,

    /// Seconds that unpacking them may take
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = some::<u64>)]
    unpack_timeout: u64,

    /// How many times its own size an archive may unpack to, once that is more than 1G
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = some::<u64>)]
    max_ratio: u64,

    /// Bytes of the name of an archive's member
    #[arg(long, value_name = "N", default_value_t = 4095, value_parser = some::<usize>)]
    max_path: usize,
}

impl BoundArgs {
    pub fn sandbox(&self) -> Choice {
        self.sandbox.choice()
    }

    pub fn of_phases(&self) -> Bounds {
        Bounds {
            time: seconds(self.timeout),
            output: self.max_output,
            limits: Limits {
                cpu: self.cpu_time,
                processes: self.max_processes,
                memory: self.max_memory,
                file_size: self.max_file_size,
                open_files: self.max_open_files,
                tree_files: self.max_tree_files,
                tree_bytes: self.max_tree_size,
            },
        }
    }

    pub fn unpack_time(&self) -> Duration {
        seconds(self.unpack_timeout)
    }

    pub fn of_archives(&self) -> unpack::Limits {
        unpack::Limits {
            max_bytes: self.max_unpacked_size,
            max_files: self.max_tree_files,
            max_path: self.max_path,
            max_depth: self.max_depth,
            max_ratio: self.max_ratio,
        }
    }
}

/// More than the clock can count to is for ever as well.
fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(1 << 30))
}
