//! Profiles: the chain of directories that a profile is made of, and USE as it follows from it (PMS chapter 5).

mod chain;
mod node;
mod use_flags;
mod variables;

pub use chain::{BUILT_IN, Profile, ProfileError, ProfileSource};
pub(super) use use_flags::implicit_flags;
pub use use_flags::{UseChange, UseChangeError, UsePackage, UseState};
pub(super) use variables::INCREMENTAL;
