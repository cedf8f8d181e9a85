//! Runs an ebuild's phases in bash, and records every edit that they make.
//!
//! [`run`](runner::run) starts bash with the prelude; the [`tracer`] is this very program under the name of a traced
//! tool, found first on the phase's PATH; what it writes is read back by [`trace`].

mod checkpoint;
pub mod interrupt;
pub mod job;
pub mod lacking;
pub mod names;
pub mod notes;
pub mod output;
pub mod portage;
pub mod prelude;
pub mod runner;
pub mod sandbox;
pub mod stack;
pub(crate) mod stale;
pub mod state;
pub mod trace;
pub mod tracer;
