//! The sources of an ebuild: distfiles, how they are fetched and verified, and how they unpack.

mod distfile;
mod fetch;
#[cfg(test)]
mod testing;
pub mod unpack;
mod verify;

pub use distfile::Distfile;
pub use fetch::{FetchOptions, Fetcher, Progress};
pub use verify::{DigestMismatch, VerifyError, verify};
