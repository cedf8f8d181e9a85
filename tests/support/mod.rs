//! What the tests of the whole program share: an overlay on the disk, the program run
//! within bounds.
//!
//! Nothing here uses the library of the crate: the program is seen from outside only.

pub mod overlay;
pub mod processes;
pub mod run;
#[allow(dead_code)] // not every test needs a tier
pub mod tiers;
