//! .xz: one stream after the other, each of blocks that may be decoded side by side.

use std::cell::Cell;
use std::io::{self, BufRead, Read};

use liblzma::stream::{Action, Error, MtStreamBuilder, Status, Stream};

use super::decode::{After, Input, MEMORY, MemberFormat};
use super::dictionary;
use super::lanes::{THREADS, Turn, cores};
use super::room::Share;

/// Memory of a decoder beside its dictionary. Bytes.
const BESIDE: u64 = 8 << 20;

/// An .xz, whose blocks, where it has several, are decoded side by side if it is its turn.
pub(super) struct XzMember(Cell<Option<Turn>>);

impl XzMember {
    pub(super) fn new(turn: Option<Turn>) -> XzMember {
        XzMember(turn.into())
    }
}

impl MemberFormat for XzMember {
    type Decoder = XzReader;

    fn start(&self, mut input: Input) -> Self::Decoder {
        let size = input.fill_buf().ok().and_then(dictionary::of_xz).unwrap_or(dictionary::USUAL);
        let turn = self.0.take().filter(|_| size < Turn::BYTES);
        let mut share = None;
        let stream = match turn {
            Some(_) => side_by_side(),
            None => {
                share = Share::take(size);
                Stream::new_stream_decoder(needed(size), 0)
            }
        };
        XzReader { input, stream, size, share, threads: turn.is_some(), turn }
    }

    fn give_back(&self, decoder: Self::Decoder) -> Input {
        self.0.set(decoder.turn);
        decoder.input
    }

    /// xz(1) takes zeros for padding and refuses all else.
    fn after(&self, next: u8) -> After {
        match next {
            0xfd => After::Member,
            0 => After::Padding,
            _ => After::Fatal("trailing garbage after the xz data"),
        }
    }
}

fn side_by_side() -> Result<Stream, Error> {
    let mut settings = MtStreamBuilder::new();
    settings.threads(cores().min(THREADS) as u32);
    // blocks that want more are decoded one by one
    settings.memlimit_threading(Turn::BYTES).memlimit_stop(Turn::BYTES).decoder()
}

/// Of a decoder with a dictionary of `size` bytes.
fn needed(size: u64) -> u64 {
    (size + BESIDE).min(MEMORY)
}

/// The contents of one stream.
pub(super) struct XzReader {
    input: Input,
    stream: Result<Stream, Error>,
    /// Bytes of the dictionary that there is memory for.
    size: u64,
    share: Option<Share>,
    /// It may keep what several threads decoded.
    threads: bool,
    turn: Option<Turn>,
}

impl XzReader {
    /// Waits for the memory of a block that looks back farther than those before it.
    fn grow(&mut self) -> io::Result<()> {
        let stream = self.stream.as_mut().map_err(|error| *error)?;
        let too_much = || io::Error::other(format!("its decoder wants more than {} MiB of memory", MEMORY >> 20));
        // a decoder by threads does not say that it wants more than what it is given now
        while needed(self.size) <= stream.memlimit() {
            if needed(self.size) == MEMORY {
                return Err(too_much());
            }
            self.size *= 2;
        }
        while let Err(error) = stream.set_memlimit(needed(self.size)) {
            if error != Error::MemLimit || needed(self.size) == MEMORY {
                return Err(too_much());
            }
            self.size *= 2;
        }
        // who waits holds nothing, else all would wait in a circle
        (self.share, self.turn) = (None, None);
        self.share = Share::take(self.size + if self.threads { Turn::BYTES } else { 0 });
        Ok(())
    }
}

impl Read for XzReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let stream = self.stream.as_mut().map_err(|error| *error)?;
            let data = self.input.fill_buf()?;
            let is_end = data.is_empty();
            let before = (stream.total_in(), stream.total_out());
            let status = stream.process(data, buf, if is_end { Action::Finish } else { Action::Run });
            let (taken, given) = ((stream.total_in() - before.0) as usize, (stream.total_out() - before.1) as usize);
            self.input.consume(taken);
            match status {
                Err(Error::MemLimit) => match given {
                    0 => self.grow()?,
                    _ => return Ok(given),
                },
                Err(error) => return Err(error.into()),
                Ok(Status::StreamEnd) => return Ok(given),
                Ok(_) if given > 0 => return Ok(given),
                Ok(_) if is_end => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "premature eof")),
                Ok(_) if taken == 0 => return Err(io::Error::new(io::ErrorKind::InvalidData, "corrupt xz stream")),
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Seek, Write};

    use liblzma::stream::{Check, Filters, LzmaOptions, MtStreamBuilder};

    use super::*;
    use crate::source::unpack::decode::{BUFFER, Members, Remarks};

    /// An .xz with many blocks.
    fn packed(data: &[u8]) -> Vec<u8> {
        let mut settings = MtStreamBuilder::new();
        let stream = settings.preset(1).check(Check::Crc64).threads(2).block_size(64 << 10).encoder().unwrap();
        let mut out = Vec::new();
        liblzma::bufread::XzEncoder::new_stream(data, stream).read_to_end(&mut out).unwrap();
        out
    }

    fn unpacked(packed: &[u8], turn: Option<Turn>) -> (Vec<u8>, Option<String>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(packed).unwrap();
        file.rewind().unwrap();
        let mut out = Vec::new();
        let input = BufReader::with_capacity(BUFFER, file.into());
        let end = Members::new(input, XzMember::new(turn), Remarks::default()).read_to_end(&mut out);
        (out, end.err().map(|error| error.to_string()))
    }

    #[test]
    fn blocks_side_by_side() {
        let data: Vec<u8> = (0..1_000_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let whole = packed(&data);
        assert!(unpacked(&whole, Turn::take()) == (data.clone(), None));
        // several streams with padding between them are one file
        let two = [&whole[..], &[0; 8], &packed(b"more"), &[0; 4]].concat();
        assert!(unpacked(&two, Turn::take()) == ([&data[..], b"more"].concat(), None));
        let (some, error) = unpacked(&whole[..whole.len() / 2], Turn::take());
        assert!(!some.is_empty() && data.starts_with(&some) && error.is_some());
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        let (some, error) = unpacked(&damaged, Turn::take());
        assert!(data.starts_with(&some) && error.is_some());
        assert!(unpacked(&[&whole[..], b"rubbish"].concat(), Turn::take()).1.is_some());
    }

    #[test]
    fn a_later_block_may_look_back_farther_than_the_first() {
        let stream = |dictionary: u32, data: &[u8]| {
            let mut options = LzmaOptions::new_preset(0).unwrap();
            let mut out = Vec::new();
            let filters = Stream::new_stream_encoder(Filters::new().lzma2(options.dict_size(dictionary)), Check::Crc32);
            liblzma::bufread::XzEncoder::new_stream(data, filters.unwrap()).read_to_end(&mut out).unwrap();
            out
        };
        // more than the threads have, and together with that more than there is
        let (small, large) = (stream(1 << 20, b"small"), stream(256 << 20, b"large"));
        // the blocks of both in one stream: the indexes at their ends are left out, so it ends too early
        let [small, large] = [small, large].map(|whole| {
            let index = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap());
            let end = whole.len() - 12 - (index as usize + 1) * 4;
            whole[..end].to_vec()
        });
        let both = [&small[..], &large[12..]].concat();
        for threads in [false, true] {
            let (data, error) = unpacked(&both, threads.then(Turn::take).flatten());
            assert_eq!((&data[..], error.as_deref()), (&b"smalllarge"[..], Some("premature eof")));
        }
        let (_, error) = unpacked(&[&small[..], &stream(1536 << 20, b"huge")[12..]].concat(), None);
        assert_eq!(error.as_deref(), Some("its decoder wants more than 1024 MiB of memory"));
    }
}
