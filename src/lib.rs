//! ebaudit: which edits of an ebuild change nothing any more?

pub mod audit;
pub mod cli;
pub mod edit;
pub mod escape;
pub mod gentoo;
pub mod phase;
pub mod plan;
pub mod report;
pub mod results;
pub mod source;
pub mod tree;
