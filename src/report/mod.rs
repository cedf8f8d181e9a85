//! The report model, and the formats that print it.

mod group;
pub mod json;
pub mod model;
mod near;
mod printable;
pub mod text;

pub use printable::printable;
