//! Where the data of a sparse file belongs: GNU's old format and its pax versions 0.0, 0.1 and 1.0.

use std::io::{self, BufRead, Read};

use ::tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

use super::header::BLOCK;
use super::pax::{self, SparseRecords};
use crate::source::unpack::error::{Fault, Outcome};

/// No file has more pieces; each takes memory.
pub(super) const MOST_PIECES: usize = 1 << 20;

/// The pieces of data (offset, length) in their order, and the file's true size.
#[derive(Debug)]
pub(super) struct Map {
    pub(super) pieces: Vec<(u64, u64)>,
    pub(super) size: u64,
}

impl Map {
    /// Checks that the pieces follow each other and lie within the file.
    fn new(pieces: Vec<(u64, u64)>, size: u64) -> Outcome<Self> {
        let mut end = 0;
        for (offset, length) in &pieces {
            let upto = offset.checked_add(*length).ok_or_else(damaged)?;
            if *offset < end || upto > size {
                return Err(damaged());
            }
            end = upto;
        }
        Ok(Map { pieces, size })
    }
}

fn damaged() -> Fault {
    Fault::failed("damaged: the map of a sparse file makes no sense")
}

/// The map in a GNU header and the blocks that continue it.
pub(super) fn from_header(header: &Header, input: &mut impl Read) -> Outcome<Map> {
    let gnu = header.as_gnu().ok_or_else(damaged)?;
    let size = gnu.real_size().map_err(|_| damaged())?;
    let mut pieces = Vec::new();
    let mut more = add(&mut pieces, &gnu.sparse)? && gnu.is_extended();
    while more {
        let mut block = GnuExtSparseHeader::new();
        input.read_exact(block.as_mut_bytes())?;
        more = add(&mut pieces, &block.sparse)? && block.is_extended();
    }
    Map::new(pieces, size)
}

/// False where the list ends: as in GNU tar, at the first entry that is empty, so that no block adds nothing.
fn add(pieces: &mut Vec<(u64, u64)>, entries: &[GnuSparseHeader]) -> Outcome<bool> {
    for entry in entries {
        if entry.is_empty() {
            return Ok(false);
        }
        let offset = entry.offset().map_err(|_| damaged())?;
        let length = entry.length().map_err(|_| damaged())?;
        pieces.push((offset, length));
    }
    match pieces.len() {
        ..=MOST_PIECES => Ok(true),
        _ => Err(damaged()),
    }
}

/// The map in pax records or, in version 1.0, at the beginning of the data, which `stored` then no longer counts.
pub(super) fn from_records(records: &SparseRecords, stored: &mut u64, input: &mut impl BufRead) -> Outcome<Map> {
    let size = records.real_size.ok_or_else(damaged)?;
    if records.major != Some(1) {
        return Map::new(records.map.clone(), size);
    }
    let mut read = 0;
    let mut number = || -> Outcome<u64> {
        let mut line = Vec::new();
        (&mut *input).take(32).read_until(b'\n', &mut line)?;
        read += line.len() as u64;
        match line.split_last() {
            Some((b'\n', digits)) => pax::number(digits),
            _ => Err(damaged()),
        }
    };
    let count = number()?;
    if count > MOST_PIECES as u64 {
        return Err(damaged());
    }
    let mut pieces = Vec::new();
    for _ in 0..count {
        pieces.push((number()?, number()?));
    }
    let padding = (BLOCK - read % BLOCK) % BLOCK;
    io::copy(&mut input.take(padding), &mut io::sink())?;
    *stored = stored.checked_sub(read + padding).ok_or_else(damaged)?;
    Map::new(pieces, size)
}
