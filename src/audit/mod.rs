//! One ebuild's job from end to end, and the rules by which its edits are judged.

mod ahead;
mod answer;
mod changed;
mod command_findings;
mod commands;
pub mod context;
pub mod distfiles;
pub mod eapi;
mod edits;
mod ending;
mod failure;
mod findings;
mod holes;
pub mod inputs;
mod job;
pub mod layers;
mod literal_variable;
pub mod machine;
mod misread;
mod own_unpack;
mod perl;
mod portage;
mod report;
pub mod rules;
mod shelves;
pub mod slots;
mod source;
mod spot;
pub mod stats;
pub mod suggest;
mod syntax;
pub mod variables;
pub mod verify;

pub use job::{audit, audit_text, broken, left_out, metadata, source_metadata};
