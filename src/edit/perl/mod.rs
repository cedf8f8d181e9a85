//! perl as an editor of files: its words, and those of its scripts that do no more than edit the line.

pub mod across;
pub mod argv;
pub mod product;
pub mod script;
