//! The sources of an ebuild: distfiles and how they unpack.

pub mod unpack;
