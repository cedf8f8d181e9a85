//! sed: its command line, its script cut into single commands, and what each command did to each file.

pub mod argv;
mod cut;
pub mod script;
mod text;
mod version;
