//! What several tests need.

use blake2::{Blake2b512, Digest};
use proptest::sample::Index;
use sha2::Sha512;

use super::Distfile;

/// A distfile with a true DIST line.
pub(super) fn distfile(name: &str, data: &[u8]) -> Distfile {
    let hex = |digest: &[u8]| digest.iter().map(|b| format!("{b:02x}")).collect::<String>();
    Distfile {
        name: name.into(),
        size: data.len() as u64,
        hashes: [
            ("BLAKE2B".to_owned(), hex(&Blake2b512::digest(data))),
            ("SHA512".to_owned(), hex(&Sha512::digest(data))),
        ]
        .into(),
        ..Distfile::default()
    }
}

/// Turns a bit of an archive, cuts it, and adds to it.
pub(super) fn spoil(packed: &mut Vec<u8>, bit: Option<(Index, u8)>, cut: Option<Index>, tail: &[u8]) {
    if let Some((at, bit)) = bit {
        let at = at.index(packed.len());
        packed[at] ^= 1 << bit;
    }
    if let Some(at) = cut {
        packed.truncate(at.index(packed.len()));
    }
    packed.extend(tail);
}
