//! Decompression of one stream, treating damage and rubbish as the real tools do.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};

use super::bzip2_blocks::Bzip2Blocks;
use super::dictionary;
use super::kind::Codec;
use super::lanes::{Lanes, Turn};
use super::lzw::LzwReader;
use super::room::Share;
use super::xz::XzMember;
use super::zstd_frames::ZstdFrames;
use crate::source::tap::Tapped;

/// Compressed bytes are read in pieces of this size.
pub(super) const BUFFER: usize = 256 << 10;
/// Bytes; a smaller file is decoded by one thread before others have begun.
const LANES_FROM: u64 = 256 << 10;
/// What zstd looks back to at most, unless it is told to do more. Bytes.
const LONGEST_WINDOW: u64 = 128 << 20;
/// What a decoder may ask of memory: enough for the dictionary of `xz -9` and of anything made on a usual machine.
pub(super) const MEMORY: u64 = 1 << 30;

pub(super) type Input = BufReader<Tapped>;

/// What a decoder has to say that is no failure.
#[derive(Debug, Clone, Default)]
pub(super) struct Remarks(Arc<Mutex<Vec<String>>>);

impl Remarks {
    /// More would help nobody.
    const MOST: usize = 50;

    pub(super) fn add(&self, text: impl Into<String>) {
        if let Ok(mut all) = self.0.lock()
            && all.len() < Self::MOST
        {
            all.push(text.into());
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        self.0.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default()
    }
}

/// The compression that the first bytes show, by the magic numbers that GNU tar knows; `Err` names one that ebaudit
/// cannot read.
pub(super) fn by_magic(head: &[u8]) -> Result<Option<Codec>, &'static str> {
    Ok(Some(match head {
        [0x1f, 0x8b, ..] => Codec::Gzip,
        [0x1f, 0x9d, ..] => Codec::Compress,
        [b'B', b'Z', b'h', ..] => Codec::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [0x5d, 0, 0, ..] => Codec::Xz,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
        [b'L', b'Z', b'I', b'P', ..] => return Err("lzip"),
        [0x89, b'L', b'Z', b'O', ..] => return Err("lzop"),
        _ => return Ok(None),
    }))
}

/// A reader of the decompressed bytes.
pub(super) fn decoder(codec: Codec, file: Tapped, remarks: &Remarks) -> io::Result<Box<dyn Read + Send>> {
    let size = file.size()?;
    let turn = || (size >= LANES_FROM).then(Turn::take).flatten();
    let lanes = matches!(codec, Codec::Bzip2 | Codec::Zstd).then(turn).flatten();
    let remarks = || remarks.clone();
    match codec {
        Codec::Bzip2 if lanes.is_some() => {
            return Ok(Box::new(Lanes::new(Bzip2Blocks::new(file, remarks()), lanes, remarks())));
        }
        Codec::Zstd if lanes.is_some() => return Ok(Box::new(Lanes::new(ZstdFrames::new(file), lanes, remarks()))),
        _ => {}
    }
    let mut input = BufReader::with_capacity(BUFFER, file);
    Ok(match codec {
        // gzip(1) reads what compress(1) wrote as well.
        Codec::Gzip if input.fill_buf()?.starts_with(&[0x1f, 0x9d]) => Box::new(LzwReader::new(input)?),
        Codec::Compress => Box::new(LzwReader::new(input)?),
        Codec::Gzip => Box::new(Members::new(input, GzipMember, remarks())),
        Codec::Bzip2 => Box::new(Members::new(input, Bzip2Member, remarks())),
        Codec::Xz if input.fill_buf()?.starts_with(&[0xfd]) => {
            Box::new(Members::new(input, XzMember::new(turn()), remarks()))
        }
        Codec::Xz => {
            let share = Share::take(dictionary::of_lzma(input.fill_buf()?).unwrap_or(dictionary::USUAL));
            let stream = liblzma::stream::Stream::new_lzma_decoder(MEMORY).map_err(io::Error::from)?;
            Box::new(Within { decoder: liblzma::bufread::XzDecoder::new_stream(input, stream), _share: share })
        }
        Codec::Zstd => Box::new(Members::new(input, ZstdMember, remarks())),
    })
}

/// A decoder with the memory that was lent to it.
struct Within<D> {
    decoder: D,
    _share: Option<Share>,
}

impl<D: Read> Read for Within<D> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buf)
    }
}

/// What may follow the end of a member.
pub(super) enum After {
    Member,
    /// Ignored without a word.
    Padding,
    /// Ignored, with a remark.
    Rubbish,
    /// The tool ends with an error.
    Fatal(&'static str),
}

/// A format that is one member after the other.
pub(super) trait MemberFormat {
    type Decoder: Read + Send;
    fn start(&self, input: Input) -> Self::Decoder;
    fn give_back(&self, decoder: Self::Decoder) -> Input;
    fn after(&self, next: u8) -> After;
}

/// A frame of a .zst.
pub(super) struct ZstdMember;

pub(super) struct ZstdFrame {
    /// Or why there is none.
    decoder: Result<zstd::stream::read::Decoder<'static, Input>, (Input, Option<io::Error>)>,
    _share: Option<Share>,
}

impl Read for ZstdFrame {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.decoder {
            Ok(decoder) => decoder.read(buf),
            Err((_, error)) => Err(error.take().unwrap_or_else(|| io::Error::other("no decoder for zstd"))),
        }
    }
}

impl MemberFormat for ZstdMember {
    type Decoder = ZstdFrame;

    fn start(&self, mut input: Input) -> Self::Decoder {
        // frames without contents have another magic number
        let head = input.fill_buf().unwrap_or_default();
        let skipped = head.len() >= 4 && head[1..4] == [0x2a, 0x4d, 0x18];
        let size = dictionary::of_zstd(head).unwrap_or(if skipped { 0 } else { LONGEST_WINDOW });
        let share = Share::take(size);
        let decoder = zstd::stream::read::Decoder::try_with_buffer(input);
        let decoder = decoder.map(|decoder| decoder.single_frame()).map_err(|(input, error)| (input, Some(error)));
        ZstdFrame { decoder, _share: share }
    }

    fn give_back(&self, frame: Self::Decoder) -> Input {
        match frame.decoder {
            Ok(decoder) => decoder.finish(),
            Err((input, _)) => input,
        }
    }

    /// zstd(1) wants frames up to the end; the decoder says so.
    fn after(&self, _: u8) -> After {
        After::Member
    }
}

struct GzipMember;

impl MemberFormat for GzipMember {
    type Decoder = flate2::bufread::GzDecoder<Input>;

    fn start(&self, input: Input) -> Self::Decoder {
        flate2::bufread::GzDecoder::new(input)
    }

    fn give_back(&self, decoder: Self::Decoder) -> Input {
        decoder.into_inner()
    }

    /// gzip(1) takes zeros for a tape's padding; at anything else it ends with status 2, "trailing garbage ignored",
    /// which `unpack` takes for a failure.
    fn after(&self, next: u8) -> After {
        match next {
            0x1f => After::Member,
            0 => After::Padding,
            _ => After::Fatal("trailing garbage after the gzip data"),
        }
    }
}

pub(super) struct Bzip2Member;

impl Bzip2Member {
    pub(super) const RUBBISH: &str = "trailing rubbish after the compressed data, ignored";
}

impl MemberFormat for Bzip2Member {
    type Decoder = bzip2::bufread::BzDecoder<Input>;

    fn start(&self, input: Input) -> Self::Decoder {
        bzip2::bufread::BzDecoder::new(input)
    }

    fn give_back(&self, decoder: Self::Decoder) -> Input {
        decoder.into_inner()
    }

    /// bzip2(1) warns and ends with status 0.
    fn after(&self, next: u8) -> After {
        match next {
            b'B' => After::Member,
            _ => After::Rubbish,
        }
    }
}

/// Reads all members as one stream.
pub(super) struct Members<F: MemberFormat> {
    format: F,
    decoder: Option<F::Decoder>,
    remarks: Remarks,
}

impl<F: MemberFormat> Members<F> {
    pub(super) fn new(input: Input, format: F, remarks: Remarks) -> Self {
        Members { decoder: Some(format.start(input)), format, remarks }
    }

    /// The member has ended; starts the next, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(decoder) = self.decoder.take() else {
            return Ok(());
        };
        let mut input = self.format.give_back(decoder);
        while let Some(&next) = input.fill_buf()?.first() {
            match self.format.after(next) {
                After::Member => {
                    self.decoder = Some(self.format.start(input));
                    return Ok(());
                }
                After::Padding => {
                    let zeros = input.buffer().iter().take_while(|b| **b == 0).count();
                    input.consume(zeros);
                }
                After::Rubbish => {
                    self.remarks.add(Bzip2Member::RUBBISH);
                    return Ok(());
                }
                After::Fatal(why) => return Err(io::Error::new(io::ErrorKind::InvalidData, why)),
            }
        }
        Ok(())
    }
}

impl<F: MemberFormat> Read for Members<F> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            match decoder.read(buf)? {
                0 if !buf.is_empty() => self.next_member()?,
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}
