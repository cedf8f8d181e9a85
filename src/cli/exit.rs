//! Exit statuses, as the contract has them.

/// Done, nothing at or above `--fail-on`.
pub const DONE: u8 = 0;
/// Done, findings at or above `--fail-on`.
pub const FINDINGS: u8 = 1;
/// Wrong usage or configuration.
pub const USAGE: u8 = 2;
/// Some ebuilds could not be audited.
pub const HOLES: u8 = 3;
/// An internal error.
pub const INTERNAL: u8 = 4;
/// Interrupted; the report written so far is kept.
pub const INTERRUPTED: u8 = 130;
