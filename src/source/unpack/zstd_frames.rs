//! The frames of a .zst, as pzstd and writers of seekable files make several. A file of one frame is left to one thread.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zstd::stream::read::Decoder;
use zstd::zstd_safe::find_frame_compressed_size;

use super::decode::{BUFFER, Members, Remarks, ZstdMember};
use super::lanes::{CHUNK, Item, Job, Out, Split};
use super::window::Window;
use crate::source::tap::Tapped;

/// Bytes; frames that are smaller go together.
const ENOUGH: usize = 1 << 20;
/// Bytes; a larger frame is one thread's.
const LONGEST: usize = 8 << 20;
/// A frame that refers to what is further back, as a power of two of bytes, is one thread's: the memory for it.
const WINDOW: u32 = 23;

pub(super) struct ZstdFrames {
    window: Window,
    at: u64,
}

impl ZstdFrames {
    pub(super) fn new(file: Tapped) -> Self {
        ZstdFrames { window: Window::new(file), at: 0 }
    }

    fn item(&mut self) -> io::Result<Item<Frames>> {
        let at = self.at;
        let mut seen = ENOUGH;
        let bytes = loop {
            let bytes = self.window.from(at, seen)?;
            let whole = frames(bytes);
            if whole >= ENOUGH || bytes.len() < seen || seen >= LONGEST {
                break bytes[..whole].to_vec();
            }
            seen *= 2;
        };
        let alone = at == 0 && self.window.from(bytes.len() as u64, 1)?.is_empty();
        if self.window.from(at, 1)?.is_empty() && at > 0 {
            return Ok(Item::End { remark: None });
        }
        if bytes.is_empty() || alone {
            return Ok(Item::Odd { stream: at });
        }
        self.at += bytes.len() as u64;
        Ok(Item::Piece { stream: at, job: Frames(bytes) })
    }
}

/// Bytes of the whole frames at the beginning: [`ENOUGH`], as far as there are any.
fn frames(bytes: &[u8]) -> usize {
    let mut whole = 0;
    while whole < ENOUGH
        && let Ok(frame @ 1..) = find_frame_compressed_size(&bytes[whole..])
    {
        whole += frame;
    }
    whole
}

impl Split for ZstdFrames {
    type Job = Frames;

    fn next(&mut self) -> Item<Frames> {
        // what can't be read the plain decoder finds, too
        self.item().unwrap_or(Item::Odd { stream: self.at })
    }

    fn alone(self, stream: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.window.into_file();
        file.seek(SeekFrom::Start(stream))?;
        let input = BufReader::with_capacity(BUFFER, file);
        Ok(Box::new(Members::new(input, ZstdMember, Remarks::default())))
    }
}

/// Whole frames.
pub(super) struct Frames(Vec<u8>);

impl Job for Frames {
    fn run(self, out: &mut Out) -> Option<()> {
        let mut decoder = Decoder::with_buffer(&self.0[..]).ok()?;
        decoder.window_log_max(WINDOW).ok()?;
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            (&mut decoder).take(CHUNK as u64).read_to_end(&mut chunk).ok()?;
            if chunk.is_empty() {
                return Some(());
            }
            out.push(chunk)?;
        }
    }
}

#[cfg(test)]
mod tests;
