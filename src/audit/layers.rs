//! Which layer the default src_unpack of an ebuild makes.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::inputs::Digests;
use crate::source::Distfile;
use crate::source::unpack::{Kind, Limits, Unpacked};
use crate::tree::Most;
use crate::tree::layer::{LayerStore, Made};

/// To be raised whenever an archive is unpacked otherwise than before, if the version of the program is not.
const RECIPE: u32 = 1;

/// How a layer comes to WORKDIR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Overlay,
    Copy,
}

/// The layers of a run.
#[derive(Debug)]
pub struct Layers {
    pub store: LayerStore,
    pub way: Way,
    /// Bytes that the layers may take when the run is over.
    pub room: u64,
    /// What the names of layers of an ebuild's own src_unpack are made of.
    pub machine: OnceLock<String>,
    pub digests: Digests,
    pub began: SystemTime,
}

impl Layers {
    pub fn new(store: LayerStore, way: Way, room: u64) -> Layers {
        let (machine, digests) = (OnceLock::new(), Digests::default());
        Layers { store, way, room, machine, digests, began: SystemTime::now() }
    }
}

/// A distfile that is to be unpacked.
#[derive(Clone, Debug)]
pub struct Archive {
    pub name: String,
    pub path: PathBuf,
    pub kind: Kind,
    /// The strongest digest that the Manifest has, with its name.
    digest: Option<String>,
}

impl Archive {
    /// None for a file that `unpack` leaves as it is.
    pub fn of(distfile: &Distfile, path: PathBuf, eapi: &str) -> Option<Archive> {
        let kind = Kind::by_name(OsStr::new(&distfile.name), eapi)?;
        let digest = ["BLAKE2B", "SHA512"].iter().find_map(|name| {
            let digest = distfile.hashes.get(*name)?;
            Some(format!("{name} {}", digest.to_ascii_lowercase()))
        });
        Some(Archive { name: distfile.name.clone(), path, kind, digest })
    }
}

/// The name of the layer of these archives, unpacked in this order within these bounds. None where there is nothing to
/// unpack, or an archive is not known by its digest.
pub fn key(archives: &[Archive], limits: &Limits, most: Most) -> Option<String> {
    if archives.is_empty() {
        return None;
    }
    let mut sum = Sha256::new();
    let version = env!("CARGO_PKG_VERSION");
    sum.update(format!("{RECIPE} {version} {limits} {} {}\n", most.entries, most.depth));
    for archive in archives {
        // the name tells what a single compressed file unpacks to
        sum.update(format!("{:?} {} {}\n", archive.kind, archive.digest.as_ref()?, archive.name));
    }
    Some(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Unpacks archives by `unpack`, one after the other; the bounds are for all of them together.
pub fn unpack<E>(
    archives: &[Archive],
    limits: &Limits,
    unpack: impl Fn(&Archive, &Limits) -> Result<Unpacked, E>,
) -> Result<Made, E> {
    let (mut limits, mut made) = (*limits, Made::default());
    for archive in archives {
        let done = unpack(archive, &limits)?;
        limits.max_bytes = limits.max_bytes.saturating_sub(done.bytes);
        limits.max_files = limits.max_files.saturating_sub(done.files);
        made.remarks.extend(done.remarks);
        made.sums.extend(done.sums);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(name: &str, digest: &str) -> Archive {
        let hashes = [("BLAKE2B".to_owned(), digest.to_owned())].into();
        let distfile = Distfile { name: name.into(), size: 1, hashes, uris: Vec::new(), restrict_fetch: false };
        Archive::of(&distfile, PathBuf::from("/any"), "8").unwrap()
    }

    #[test]
    fn the_name_tells_all_that_the_tree_depends_on() {
        let (limits, most) = (Limits::default(), Most::default());
        let of = |archives: &[Archive]| key(archives, &limits, most).unwrap();
        let one = of(&[archive("a.tar", "00"), archive("b.tar", "11")]);
        assert_eq!(one, of(&[archive("a.tar", "00"), archive("b.tar", "11")]));
        assert_ne!(one, of(&[archive("b.tar", "11"), archive("a.tar", "00")]));
        assert_ne!(one, of(&[archive("a.tar", "00")]));
        assert_ne!(of(&[archive("a.gz", "00")]), of(&[archive("b.gz", "00")]));
        assert_ne!(of(&[archive("a.tar", "00")]), of(&[archive("a.zip", "00")]));
        assert_ne!(of(&[archive("a.tar", "00")]), of(&[archive("a.tar", "01")]));
        let narrow = Limits { max_bytes: 1, ..limits };
        assert_ne!(Some(of(&[archive("a.tar", "00")])), key(&[archive("a.tar", "00")], &narrow, most));
        assert_eq!(key(&[], &limits, most), None);
        let mut unknown = archive("a.tar", "00");
        unknown.digest = None;
        assert_eq!(key(&[unknown], &limits, most), None);
    }
}
