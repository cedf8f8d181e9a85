//! Unpacking 7z archives as `7z x -y` does.

use std::io::{BufReader, Read};

use sevenz_rust2::{Archive, ArchiveEntry, ArchiveReader, Block, Coder, Password};

use super::decode::MEMORY;
use super::dictionary;
use super::error::{Fault, Outcome};
use super::member::Member;
use super::room::Share;
use super::sevenz_list;
use super::tree::{Stamp, Tree};
use crate::source::tap::Tapped;

/// Set in the attributes where their upper half is a Unix mode.
const HAS_UNIX_MODE: u32 = 0x8000;
const FILE_TYPE: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;
const LONGEST_TARGET: u64 = 4096;
/// Bytes of the list of an archive's files, which may claim as many files; enough for some 30,000 of real ones.
const LONGEST_LIST: u64 = 3 << 20;
/// What its decoder may take, KiB.
const MOST_FOR_LIST: usize = (dictionary::USUAL >> 10) as usize;
/// Bytes that a file of the list takes in memory.
const ENTRY: u64 = size_of::<ArchiveEntry>() as u64;
/// Seconds from 1601, where Windows begins to count, to 1970.
const EPOCHS_APART: i64 = 11_644_473_600;

pub(super) fn unpack(file: Tapped, tree: &mut Tree) -> Outcome<()> {
    let mut input = BufReader::with_capacity(256 << 10, file);
    let archive = {
        let length = sevenz_list::length(&mut input)?;
        if length > LONGEST_LIST {
            return Err(Fault::failed(format!("the list of its files is longer than {} MiB", LONGEST_LIST >> 20)));
        }
        let _share = Share::take(dictionary::USUAL.max(length * ENTRY));
        Archive::read_with_memory_limit(&mut input, &Password::empty(), MOST_FOR_LIST).map_err(fault)?
    };
    let size = archive.blocks.iter().map(memory).max().unwrap_or(0);
    if size > MEMORY {
        return Err(Fault::failed(format!(
            "its decoder wants {} MiB of memory, more than {}",
            size >> 20,
            MEMORY >> 20
        )));
    }
    let _share = Share::take(size);
    let mut reader = ArchiveReader::from_archive(archive, input, Password::empty());
    reader.set_thread_count(1);
    let mut buffer = vec![0; 128 << 10];
    let mut failed = None;
    let walked = reader.for_each_entries(|entry, data| match member(entry, data, tree, &mut buffer) {
        Ok(()) => Ok(true),
        Err(fault) => {
            failed = Some(fault.of(entry.name.as_bytes()));
            Ok(false)
        }
    });
    match failed {
        Some(fault) => Err(fault),
        None => walked.map_err(fault),
    }
}

/// What decoding takes; a dictionary grows no larger than its contents.
fn memory(block: &Block) -> u64 {
    let of = |coder: &Coder| {
        let size = dictionary::of_7z(coder.encoder_method_id(), coder.properties()).unwrap_or(dictionary::USUAL);
        size.min(block.get_unpack_size_for_coder(coder))
    };
    block.coders.iter().map(of).fold(0, u64::saturating_add)
}

fn member(entry: &ArchiveEntry, data: &mut dyn Read, tree: &mut Tree, buffer: &mut [u8]) -> Outcome<()> {
    if entry.is_anti_item {
        return Ok(());
    }
    let name = entry.name.as_bytes();
    tree.budget().path(name.len())?;
    let at = Member::new(name)?;
    let attributes = entry.windows_attributes;
    let mode = (entry.has_windows_attributes && attributes & HAS_UNIX_MODE != 0).then_some(attributes >> 16);
    let mtime = entry.has_last_modified_date.then(|| {
        let ticks = u64::from(entry.last_modified_date);
        Stamp { seconds: (ticks / 10_000_000) as i64 - EPOCHS_APART, nanos: (ticks % 10_000_000) as u32 * 100 }
    });
    if entry.is_directory {
        return tree.dir(&at, mode.unwrap_or(0o755), mtime);
    }
    if mode.is_some_and(|m| m & FILE_TYPE == SYMLINK) {
        let mut target = Vec::new();
        data.take(LONGEST_TARGET).read_to_end(&mut target)?;
        return tree.symlink(&at, &target, mtime);
    }
    tree.budget().room_for(entry.size)?;
    tree.file(&at, mode.unwrap_or(0o644), mtime, |contents| {
        loop {
            match data.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => contents.write(&buffer[..n])?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    })
}

fn fault(error: sevenz_rust2::Error) -> Fault {
    use sevenz_rust2::Error;
    match error {
        Error::UnsupportedCompressionMethod(method) => {
            Fault::unsupported(format!("7z compression method {method} is not supported"))
        }
        Error::PasswordRequired => Fault::failed("the archive is encrypted"),
        Error::Io(error, _) => error.into(),
        other => Fault::failed(other.to_string()),
    }
}
