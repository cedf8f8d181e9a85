//! The members of a tar archive as its headers tell them: ustar, GNU and pax, long names put together.

use std::io::{self, BufRead, Read};

use ::tar::Header;

use super::pax::{self, Records};
use super::sparse;
use crate::source::unpack::error::{Fault, Outcome};
use crate::source::unpack::limits::Budget;
use crate::source::unpack::tree::Stamp;

pub(super) const BLOCK: u64 = 512;
/// Of the extension headers of one member together; GNU tar would take what memory there is.
const LONGEST_HEADER: u64 = 4 << 20;

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    File,
    Dir,
    Symlink,
    HardLink,
    Fifo,
    Device,
    /// A volume's label and the like: nothing to unpack.
    Nothing,
    /// A type that nobody knows; GNU tar takes it for a file and says so.
    Unknown(u8),
}

/// One member. Its data follows in the stream: `stored` bytes, padded to whole blocks.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: Type,
    pub(super) path: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) mode: u32,
    pub(super) mtime: Option<Stamp>,
    /// Bytes of data in the archive.
    pub(super) stored: u64,
    /// Zero bytes after the data, up to the next header.
    pub(super) padding: u64,
    pub(super) sparse: Option<sparse::Map>,
}

/// Reads headers off a stream.
pub(super) struct Headers<'r, R> {
    pub(super) input: &'r mut R,
    /// What the last global header says; it replaces the one before as a whole.
    global_mtime: Option<Stamp>,
    any: bool,
}

impl<'r, R: BufRead> Headers<'r, R> {
    pub(super) fn new(input: &'r mut R) -> Self {
        Headers { input, global_mtime: None, any: false }
    }

    /// The next member, or `None` at the archive's end: a block of zeros or, as GNU tar has it, the end of the file.
    /// The data of the member before must have been read, padding included.
    pub(super) fn next(&mut self, budget: &Budget) -> Outcome<Option<Entry>> {
        let mut records = Records::default();
        let (mut long_name, mut long_link) = (None, None);
        let mut left = LONGEST_HEADER;
        loop {
            let Some(header) = self.header()? else {
                return Ok(None);
            };
            let kind = header.as_bytes()[156];
            let size = header.entry_size().map_err(|_| Fault::failed("damaged: a tar header without a size"))?;
            if !matches!(kind, b'L' | b'K' | b'x' | b'X' | b'g') {
                records.mtime = records.mtime.or(self.global_mtime);
                return self.entry(&header, size, records, long_name, long_link, budget);
            }
            left = left.checked_sub(size.saturating_add(BLOCK)).ok_or_else(|| {
                Fault::failed(format!("damaged: tar extension headers of more than {LONGEST_HEADER} bytes"))
            })?;
            let data = self.data(size)?;
            match kind {
                b'L' => long_name = Some(until_nul(data)),
                b'K' => long_link = Some(until_nul(data)),
                b'g' => self.global_mtime = pax::global(&data)?,
                // as in GNU tar, the last one stands alone
                _ => records = Records::read(&data)?,
            }
        }
    }

    fn header(&mut self) -> Outcome<Option<Header>> {
        let mut block = [0; BLOCK as usize];
        if !read_block(self.input, &mut block)? || block.iter().all(|b| *b == 0) {
            return Ok(None);
        }
        if !checksum_holds(&block) {
            return Err(Fault::failed(if self.any {
                "damaged: a tar header's checksum does not match"
            } else {
                "this does not look like a tar archive"
            }));
        }
        self.any = true;
        let mut header = Header::new_old();
        header.as_mut_bytes().copy_from_slice(&block);
        Ok(Some(header))
    }

    /// The data of an extension header.
    fn data(&mut self, size: u64) -> Outcome<Vec<u8>> {
        let mut data = Vec::new();
        (&mut *self.input).take(size).read_to_end(&mut data).map_err(Fault::from)?;
        if (data.len() as u64) < size {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.skip(padding(size))?;
        Ok(data)
    }

    /// Reads over so many bytes.
    pub(super) fn skip(&mut self, mut bytes: u64) -> Outcome<()> {
        while bytes > 0 {
            let have = self.input.fill_buf()?.len() as u64;
            if have == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            let step = have.min(bytes);
            self.input.consume(step as usize);
            bytes -= step;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        header: &Header,
        size: u64,
        records: Records,
        long_name: Option<Vec<u8>>,
        long_link: Option<Vec<u8>>,
        budget: &Budget,
    ) -> Outcome<Option<Entry>> {
        let path = records
            .sparse
            .name
            .clone()
            .or_else(|| records.path.clone())
            .or(long_name)
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let link = records
            .link
            .clone()
            .or(long_link)
            .or_else(|| header.link_name_bytes().map(|l| l.into_owned()))
            .unwrap_or_default();
        let fault_of = |fault: Fault| fault.of(&path);
        budget.path(path.len()).map_err(fault_of)?;
        let kind = kind(header.as_bytes()[156], path.ends_with(b"/"));
        let mut stored = match kind {
            // Old archives give the size of the file linked to, but no data follows.
            Type::HardLink => 0,
            _ => records.size.unwrap_or(size),
        };
        let padding = padding(stored);
        let sparse = match header.as_bytes()[156] {
            b'S' => Some(sparse::from_header(header, self.input).map_err(fault_of)?),
            _ if kind == Type::File && records.is_sparse() => {
                let map = sparse::from_records(&records.sparse, &mut stored, self.input);
                Some(map.map_err(fault_of)?)
            }
            _ => None,
        };
        Ok(Some(Entry {
            kind,
            link,
            mode: header.mode().unwrap_or(0o644),
            mtime: records.mtime.or_else(|| {
                let seconds = header.mtime().ok()?;
                Some(Stamp { seconds: i64::try_from(seconds).ok()?, nanos: 0 })
            }),
            stored,
            padding,
            sparse,
            path,
        }))
    }
}

fn kind(flag: u8, trailing_slash: bool) -> Type {
    match flag {
        // From before directories had a type of their own.
        0 | b'0' | b'7' if trailing_slash => Type::Dir,
        0 | b'0' | b'7' | b'S' => Type::File,
        b'1' => Type::HardLink,
        b'2' => Type::Symlink,
        b'3' | b'4' => Type::Device,
        b'5' | b'D' => Type::Dir,
        b'6' => Type::Fifo,
        b'V' | b'M' | b'N' => Type::Nothing,
        other => Type::Unknown(other),
    }
}

fn padding(size: u64) -> u64 {
    (BLOCK - size % BLOCK) % BLOCK
}

fn until_nul(mut name: Vec<u8>) -> Vec<u8> {
    if let Some(end) = memchr::memchr(0, &name) {
        name.truncate(end);
    }
    name
}

/// Fills a block; false at the end of the file.
fn read_block(input: &mut impl BufRead, block: &mut [u8]) -> Outcome<bool> {
    if input.fill_buf()?.is_empty() {
        return Ok(false);
    }
    input.read_exact(block)?;
    Ok(true)
}

/// Whether a block is a tar header: the sum of its bytes, signed or not, is the one written in it.
pub(super) fn checksum_holds(block: &[u8; BLOCK as usize]) -> bool {
    let Ok(stated) = Header::from_byte_slice(block).cksum() else {
        return false;
    };
    let rest = || block[..148].iter().chain(&block[156..]);
    let unsigned: u32 = rest().map(|b| u32::from(*b)).sum::<u32>() + 8 * 32;
    let signed: i32 = rest().map(|b| i32::from(*b as i8)).sum::<i32>() + 8 * 32;
    stated == unsigned || i64::from(stated) == i64::from(signed)
}
