//! The walls around a phase: what the ebuild's programs may read, write, reach and use up.
//!
//! [`spawn`] starts this very program under the name [`APPLET`]: a process with one thread, which alone may unshare a user
//! namespace. It is told what to do by a [`Spec`](spec::Spec) on its standard input, builds the walls of the chosen
//! [`Tier`], starts the shell within them, watches over its bounds, and ends whatever it left running.
//! `docs/security.md` says what each tier promises.

mod census;
mod child;
mod choose;
mod keeper;
mod landlock;
mod limits;
mod memory;
mod mounts;
mod namespaces;
mod notify;
mod overlay;
mod replay;
mod seccomp;
mod seen;
mod spec;
mod sys;
mod toolchain;

use serde::{Deserialize, Serialize};

pub use child::main;
pub use choose::{Choice, NoSandbox, Sandbox};
pub use limits::Limits;
pub use mounts::INSIDE;
pub use overlay::{Lay, Over};
pub use replay::{guard, guards_replays};
pub use seen::Seen;
pub use spec::{Message, Overrun, Paths, Process, Spec, Word, end_all, spawn};

/// The name under which this program is the sandbox.
pub const APPLET: &str = "ebaudit-sandbox";

/// How strong the walls are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Namespaces with a file system of their own, Landlock where the kernel has it, and seccomp.
    Namespaces,
    /// Landlock and seccomp.
    Landlock,
    /// No walls; bounds are kept and left-over processes ended all the same.
    #[default]
    None,
}

impl Tier {
    /// As the command line and reports write it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Namespaces => "namespaces",
            Tier::Landlock => "landlock",
            Tier::None => "none",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
