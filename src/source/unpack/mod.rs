//! Unpacking archives: what PMS's `unpack` does, without any tool of the system and without trust in the archive.
//!
//! Everything is streamed; memory stays bounded whatever the archive holds. Nothing is written outside of the
//! directory, nor through a link that the archive brought: such an archive is refused.

mod applet;
mod ar;
mod bzip2_blocks;
mod clock;
mod decode;
mod dictionary;
mod dirs;
mod error;
mod fields;
mod kind;
mod lanes;
mod limits;
mod lzw;
mod md5_lanes;
mod member;
mod pipe;
mod room;
mod sevenz;
mod sevenz_list;
mod single;
mod sums;
mod tar;
#[cfg(test)]
mod tests;
mod tree;
mod window;
mod xz;
mod zip;
mod zstd_frames;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

pub use applet::applet;
pub use clock::Clock;
pub use error::UnpackError;
pub use kind::{Codec, Kind};
pub use limits::Limits;

use decode::Remarks;
use error::{Fault, Outcome};
use limits::Budget;
use tree::Tree;

use super::tap::Tapped;

/// What an archive gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unpacked {
    /// Files, links and directories made; one that takes the place of another counts again.
    pub files: u64,
    /// Bytes in the files.
    pub bytes: u64,
    /// What went otherwise than asked without being a failure, one line each.
    pub remarks: Vec<String>,
    /// By inode number, the md5 of each file that was made; empty unless [`unpack_hashed`] was called.
    pub sums: HashMap<u64, [u8; 16]>,
}

/// Unpacks a file into a directory as `unpack` of that EAPI does (PMS, "Misc commands").
///
/// `name` tells what the file is, as it need not be `archive`'s own; a name that `unpack` knows nothing of leaves the
/// file packed and gives an empty [`Unpacked`]. Modes are those that `unpack` leaves: 0755 for directories and for what
/// anybody may execute, 0644 for the rest; times are the archive's; owners are the caller's.
///
/// An error may leave members that came before it in the directory, never anything outside of it.
/// Nothing ends it but the archive and the bounds.
pub fn unpack(archive: &Path, name: &OsStr, into: &Path, eapi: &str, limits: &Limits) -> Result<Unpacked, UnpackError> {
    match Kind::by_name(name, eapi) {
        Some(kind) => unpack_as(kind, archive, name, into, limits, &Clock::default()),
        None => Ok(Unpacked::default()),
    }
}

/// [`unpack_as`], with the md5 of each file taken while it is written.
pub fn unpack_hashed(
    kind: Kind,
    archive: &Path,
    name: &OsStr,
    into: &Path,
    limits: &Limits,
    clock: &Clock,
) -> Result<Unpacked, UnpackError> {
    guarded(kind, || open(archive, clock), name, into, limits, clock, true)
}

/// [`unpack_hashed`] of a file that is open and knows the clock.
pub(super) fn unpack_tapped(
    kind: Kind,
    file: Tapped,
    name: &OsStr,
    into: &Path,
    limits: &Limits,
    clock: &Clock,
) -> Result<Unpacked, UnpackError> {
    guarded(kind, || Ok(file), name, into, limits, clock, true)
}

/// Unpacks a file as a given kind, whatever its name: for eclasses that know better (`.crate`, `.gem`, `.tar.zst`).
pub fn unpack_as(
    kind: Kind,
    archive: &Path,
    name: &OsStr,
    into: &Path,
    limits: &Limits,
    clock: &Clock,
) -> Result<Unpacked, UnpackError> {
    guarded(kind, || open(archive, clock), name, into, limits, clock, false)
}

fn open(archive: &Path, clock: &Clock) -> Outcome<Tapped> {
    // Opening a FIFO would wait for ever.
    if !std::fs::metadata(archive)?.is_file() {
        return Err(Fault::failed("is not a regular file"));
    }
    Ok(Tapped::new(File::open(archive)?, clock))
}

fn guarded(
    kind: Kind,
    file: impl FnOnce() -> Outcome<Tapped>,
    name: &OsStr,
    into: &Path,
    limits: &Limits,
    clock: &Clock,
    hashed: bool,
) -> Result<Unpacked, UnpackError> {
    clock.go_on();
    // The decoders are other people's and meet data of strangers.
    let caught = catch_unwind(AssertUnwindSafe(|| run(kind, file()?, name, into, limits, clock, hashed)));
    caught
        .unwrap_or_else(|_| Err(Fault::failed("damaged: the decoder broke down")))
        .map_err(|fault| fault.or_halt(clock.halt()).into_error(name))
}

fn run(
    kind: Kind,
    file: Tapped,
    name: &OsStr,
    into: &Path,
    limits: &Limits,
    clock: &Clock,
    hashed: bool,
) -> Outcome<Unpacked> {
    let remarks = Remarks::default();
    let size = file.size()?;
    // An empty file is an error to `unpack`, though tar would take it.
    if size == 0 {
        return Err(Fault::failed("cannot be unpacked, the file is empty"));
    }
    let mut tree = Tree::open(into, Budget::new(limits, size, clock), hashed)?;
    let bytes = name.as_bytes();
    match kind {
        Kind::Tar => tar::unpack(file, bytes, &mut tree, &remarks)?,
        Kind::Zip => zip::unpack(file, &mut tree)?,
        Kind::SevenZip => sevenz::unpack(file, &mut tree)?,
        Kind::Ar => ar::unpack(file, &mut tree)?,
        Kind::Single(codec) => single::unpack(codec, file, bytes, &mut tree, &remarks)?,
        Kind::Rar => return Err(Fault::unsupported("rar archives are not supported")),
        Kind::Lha => return Err(Fault::unsupported("lha archives are not supported")),
    }
    let (files, bytes, sums) = tree.finish()?;
    Ok(Unpacked { files, bytes, remarks: remarks.take(), sums })
}
