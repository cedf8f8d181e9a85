//! The sources of an ebuild: distfiles, how they are verified, and how they unpack.

mod distfile;
pub mod unpack;
mod verify;

pub use distfile::Distfile;
pub use verify::{DigestMismatch, VerifyError, verify};
