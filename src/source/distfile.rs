//! One file that an ebuild wants.

use std::collections::BTreeMap;

/// A file of SRC_URI, with what the Manifest's DIST line says of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distfile {
    /// The name in DISTDIR: the last part of the URI, or what stands after `->`.
    pub name: String,
    /// Bytes, by the DIST line; meaningless without `hashes`.
    pub size: u64,
    /// Hash name (`BLAKE2B`, `SHA512`, …) to lower-case hexadecimal digits. Empty where the Manifest has no DIST line.
    pub hashes: BTreeMap<String, String>,
    /// Where it may be had, best first; mirrors are expanded already.
    pub uris: Vec<String>,
    /// RESTRICT=fetch: only a person may get it.
    pub restrict_fetch: bool,
}

impl Distfile {
    /// Whether the Manifest has a DIST line for it.
    pub fn in_manifest(&self) -> bool {
        !self.hashes.is_empty()
    }
}
