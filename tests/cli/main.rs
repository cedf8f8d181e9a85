//! The command line as users type it: what it answers, and with which exit status.

mod failures;
mod fixture;
mod output;
mod schema;
#[path = "../support/mod.rs"]
mod support;
mod targets;
mod usage;
