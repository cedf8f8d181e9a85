//! The sources of an ebuild: distfiles, where they come from, how they are verified, and how they unpack.

mod distfile;
mod fetch;
mod once;
mod store;
mod tap;
#[cfg(test)]
mod testing;
pub mod unpack;
mod verified;
mod verify;

pub use distfile::Distfile;
pub use fetch::{FetchOptions, Fetcher, Progress};
pub use once::{LocalCopy, OnceError};
pub use store::{DistfileError, DistfileStore};
pub use verified::Verified;
pub use verify::{DigestMismatch, VerifyError, verify};
