//! The blocks of a .bz2, each of which is decoded as a stream of its own.
//!
//! Nothing tells where a block ends but the 48 bits that the next one, or the end of the stream, begins with, at any bit. The
//! same bits may occur within a block, if somebody wants it so: then its check sum is wrong, and one thread goes on.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use bzip2::{Decompress, Status};

use super::decode::{BUFFER, Bzip2Member, Members, Remarks};
use super::lanes::{CHUNK, Item, Job, Out, Split};
use super::window::Window;
use crate::source::tap::Tapped;

const BLOCK: u64 = 0x3141_5926_5359;
const END: u64 = 0x1772_4538_5090;
/// Bits of both.
const MAGIC: u64 = 48;
/// Bits of a check sum.
const SUM: u64 = 32;
/// Bytes; 900,000 symbols of 20 bits each, and what comes before them, are less.
const LONGEST: usize = 2_500_000;

pub(super) struct Bzip2Blocks {
    window: Window,
    remarks: Remarks,
    next: Place,
    stream: Stream,
}

#[derive(Clone, Copy)]
enum Place {
    /// A byte at which a stream may begin.
    Header(u64),
    /// A bit at which a block or the end of the stream begins.
    Magic(u64),
}

#[derive(Clone, Copy, Default)]
struct Stream {
    /// The byte at which it begins.
    at: u64,
    level: u8,
    /// The sum of the blocks' sums.
    sum: u32,
}

impl Bzip2Blocks {
    pub(super) fn new(file: Tapped, remarks: Remarks) -> Self {
        Bzip2Blocks { window: Window::new(file), remarks, next: Place::Header(0), stream: Stream::default() }
    }

    /// None where it can't be told.
    fn item(&mut self) -> io::Result<Option<Item<Block>>> {
        loop {
            match self.next {
                Place::Header(at) => {
                    let level = match self.window.from(at, 4)? {
                        [b'B', b'Z', b'h', level @ b'1'..=b'9'] => *level,
                        [] if at > 0 => return Ok(Some(Item::End { remark: None })),
                        [first, ..] if at > 0 && *first != b'B' => {
                            return Ok(Some(Item::End { remark: Some(Bzip2Member::RUBBISH) }));
                        }
                        _ => {
                            self.stream.at = at;
                            return Ok(None);
                        }
                    };
                    self.stream = Stream { at, level, sum: 0 };
                    self.next = Place::Magic((at + 4) * 8);
                }
                Place::Magic(bit) => {
                    let bytes = self.window.from(bit / 8, LONGEST)?;
                    let begin = bit % 8;
                    let Some(sum) = bits(bytes, begin + MAGIC, SUM) else { return Ok(None) };
                    match bits(bytes, begin, MAGIC) {
                        Some(BLOCK) => {
                            let Some(end) = find(bytes, begin + MAGIC + SUM) else { return Ok(None) };
                            let job = Block {
                                bytes: bytes[..end.div_ceil(8) as usize].to_vec(),
                                begin,
                                end,
                                level: self.stream.level,
                                sum: sum as u32,
                            };
                            self.stream.sum = self.stream.sum.rotate_left(1) ^ sum as u32;
                            self.next = Place::Magic(bit - begin + end);
                            return Ok(Some(Item::Piece { stream: self.stream.at, job }));
                        }
                        Some(END) if sum as u32 == self.stream.sum => {
                            self.next = Place::Header((bit + MAGIC + SUM).div_ceil(8));
                        }
                        _ => return Ok(None),
                    }
                }
            }
        }
    }
}

impl Split for Bzip2Blocks {
    type Job = Block;

    fn next(&mut self) -> Item<Block> {
        // what can't be read the plain decoder finds, too
        self.item().ok().flatten().unwrap_or(Item::Odd { stream: self.stream.at })
    }

    fn alone(self, stream: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.window.into_file();
        file.seek(SeekFrom::Start(stream))?;
        Ok(Box::new(Members::new(BufReader::with_capacity(BUFFER, file), Bzip2Member, self.remarks)))
    }
}

/// What lies between two magic numbers, the first one included.
pub(super) struct Block {
    bytes: Vec<u8>,
    /// Bits of `bytes`.
    begin: u64,
    end: u64,
    level: u8,
    sum: u32,
}

impl Block {
    /// The block as the only one of a stream. None where a magic number would come to be where the block and the end of
    /// the stream meet: then the decoder might stop before the block's end.
    fn stream(&self) -> Option<Vec<u8>> {
        let length = self.end - self.begin;
        let mut out = Vec::with_capacity(length as usize / 8 + 20);
        out.extend_from_slice(&[b'B', b'Z', b'h', self.level]);
        let shift = self.begin as u32;
        out.extend(self.bytes.windows(2).map(|two| (u16::from_be_bytes([two[0], two[1]]) << shift >> 8) as u8));
        out.extend(self.bytes.last().map(|last| last << shift));
        let end = 32 + length;
        put(&mut out, end, END, MAGIC);
        put(&mut out, end + MAGIC, self.sum.into(), SUM);
        let meeting = (end + 1).saturating_sub(MAGIC).max(32 + 1)..end;
        let told = |bit| matches!(bits(&out, bit, MAGIC), Some(BLOCK | END));
        (!meeting.into_iter().any(told)).then_some(out)
    }
}

impl Job for Block {
    fn run(self, out: &mut Out) -> Option<()> {
        let packed = self.stream()?;
        drop(self.bytes);
        let mut decoder = Decompress::new(false);
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let status = loop {
                let rest = &packed[decoder.total_in() as usize..];
                let before = (decoder.total_in(), chunk.len());
                let status = decoder.decompress_vec(rest, &mut chunk).ok()?;
                if status == Status::StreamEnd || chunk.len() == CHUNK {
                    break status;
                }
                if before == (decoder.total_in(), chunk.len()) {
                    return None;
                }
            };
            out.push(chunk)?;
            if status == Status::StreamEnd {
                return Some(());
            }
        }
    }
}

/// So many bits from a bit on; none where there are not as many.
fn bits(bytes: &[u8], from: u64, count: u64) -> Option<u64> {
    let part = bytes.get((from / 8) as usize..(from + count).div_ceil(8) as usize)?;
    let all = part.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    Some(all >> ((8 - (from + count) % 8) % 8) & ((1 << count) - 1))
}

/// Writes bits at a bit, and makes the bytes end with them.
fn put(bytes: &mut Vec<u8>, at: u64, value: u64, count: u64) {
    bytes.resize((at + count).div_ceil(8) as usize, 0);
    for n in 0..count {
        let (byte, mask) = (((at + n) / 8) as usize, 0x80 >> ((at + n) % 8));
        match value >> (count - 1 - n) & 1 {
            1 => bytes[byte] |= mask,
            _ => bytes[byte] &= !mask,
        }
    }
}

/// The first bit, from a bit on, at which a magic number begins.
fn find(bytes: &[u8], from: u64) -> Option<u64> {
    let mut last = 0u64;
    let first = (from / 8) as usize;
    for (n, byte) in bytes.iter().enumerate().skip(first) {
        last = last << 8 | u64::from(*byte);
        // the magic number may end at any bit of the last byte, the highest one first
        let mut fits = FITS[(last >> 16 & 0xff) as usize];
        while fits != 0 {
            let after = 7 - fits.leading_zeros();
            fits &= !(1 << after);
            let end = (n as u64 + 1) * 8 - u64::from(after);
            if matches!(last >> after & ((1 << MAGIC) - 1), BLOCK | END) && end >= from + MAGIC {
                return Some(end - MAGIC);
            }
        }
    }
    None
}

/// For each byte that has two others after it: after how many bits of the last one a magic number may have ended.
const FITS: [u8; 256] = {
    let mut fits = [0; 256];
    let mut after = 0;
    while after < 8 {
        fits[(BLOCK >> (16 - after) & 0xff) as usize] |= 1 << after;
        fits[(END >> (16 - after) & 0xff) as usize] |= 1 << after;
        after += 1;
    }
    fits
};

#[cfg(test)]
mod tests;
