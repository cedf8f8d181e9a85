//! What the tests of the whole program share: archives made from entries, an overlay on the disk, the program run
//! within bounds.
//!
//! Nothing here uses the library of the crate: the program is seen from outside only.

pub mod archive;
pub mod overlay;
pub mod run;
