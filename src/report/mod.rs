//! The report model, and the formats that print it.

pub mod graph;
mod group;
pub mod json;
pub mod model;
mod near;
mod numbers;
pub mod plan;
mod printable;
pub mod text;

pub use numbers::{counted, plural};
pub use printable::{is_read_for_commands, printable};
