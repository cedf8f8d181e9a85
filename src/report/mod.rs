//! The report model, and the formats that print it.

mod group;
pub mod graph;
pub mod json;
pub mod model;
mod near;
pub mod plan;
mod printable;
pub mod text;

pub use printable::printable;
