//! ebaudit: which edits of an ebuild change nothing any more?

pub mod audit;
pub mod edit;
pub mod escape;
pub mod report;
