//! sed: its command line, its script cut into single commands, and what each command did to each file.
//!
//! [`argv`] reads the command line, [`script`] cuts the script, [`judge`] runs it on the files as they were before
//! the [`call`] and says of every command whether it lives.

pub mod argv;
mod bench;
pub mod call;
mod cut;
pub mod judge;
mod leave_out;
pub mod literal;
pub mod never;
mod probe;
mod quick;
pub mod run;
pub mod script;
mod tally;
mod text;
mod undone;
mod version;
