//! Unpacking tar archives as `tar xof` does.

mod header;
mod pax;
mod sparse;

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use header::{BLOCK, Entry, Headers, Type};

use super::decode::{self, Remarks};
use super::error::{Fault, Outcome, shown};
use super::kind::Codec;
use super::member::Member;
use super::pipe;
use super::tree::{Contents, Tree};
use crate::source::tap::Tapped;

const BUFFER: usize = 256 << 10;
/// GNU tar reads records of this size, so it sees a decompressor's complaint about what comes soon after the end.
const RECORD: u64 = 64 << 10;

/// Unpacks an archive, compressed or not. As GNU tar does, the data is asked for the compression, and the name only
/// where the data says nothing.
pub(super) fn unpack(mut file: Tapped, name: &[u8], tree: &mut Tree, remarks: &Remarks) -> Outcome<()> {
    let mut head = Vec::new();
    (&mut file).take(BLOCK).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    let plain = <&[u8; BLOCK as usize]>::try_from(&head[..]).is_ok_and(header::checksum_holds);
    let codec = match decode::by_magic(&head) {
        _ if plain => None,
        Ok(None) if is_lzma_name(name) => Some(Codec::Xz),
        Ok(codec) => codec,
        Err(kind) => {
            return Err(Fault::unsupported(format!("{kind} data is not supported")));
        }
    };
    match codec {
        None => extract(&mut BufReader::with_capacity(BUFFER, file), tree, remarks),
        Some(codec) => {
            let source = decode::decoder(codec, file, remarks)?;
            pipe::read_ahead(source, tree.budget().meter(), |input| extract(input, tree, remarks))
        }
    }
}

fn is_lzma_name(name: &[u8]) -> bool {
    name.to_ascii_lowercase().ends_with(b".lzma")
}

fn extract(input: &mut impl BufRead, tree: &mut Tree, remarks: &Remarks) -> Outcome<()> {
    let mut headers = Headers::new(input);
    while let Some(entry) = headers.next(tree.budget())? {
        member(&entry, headers.input, tree, remarks).map_err(|f| f.of(&entry.path))?;
        headers.skip(entry.padding).map_err(|f| f.of(&entry.path))?;
    }
    // The end of the archive is not the end of the data; damage there is the decompressor's to tell.
    io::copy(&mut headers.input.take(RECORD), &mut io::sink())?;
    Ok(())
}

/// Unpacks one member and reads its data to the end.
fn member(entry: &Entry, input: &mut impl BufRead, tree: &mut Tree, remarks: &Remarks) -> Outcome<()> {
    let at = Member::new(&entry.path)?;
    match entry.kind {
        Type::File => return file(entry, &at, input, tree),
        Type::Unknown(flag) => {
            remarks.add(format!(
                "{}: unknown type '{}', unpacked as a file",
                shown(&entry.path),
                char::from(flag).escape_default()
            ));
            return file(entry, &at, input, tree);
        }
        Type::Dir => tree.dir(&at, entry.mode, entry.mtime)?,
        Type::Symlink => tree.symlink(&at, &entry.link, entry.mtime)?,
        Type::HardLink => {
            let to =
                Member::new(&entry.link).map_err(|_| Fault::refused(format!("hard link to {}", shown(&entry.link))))?;
            tree.hard_link(&at, &to)?;
        }
        Type::Fifo => tree.fifo(&at, entry.mode, entry.mtime)?,
        Type::Device => remarks.add(format!("{}: a device, left out", shown(&entry.path))),
        Type::Nothing => {}
    }
    let skipped = io::copy(&mut input.take(entry.stored), &mut io::sink())?;
    if skipped < entry.stored {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}

fn file(entry: &Entry, at: &Member, input: &mut impl BufRead, tree: &mut Tree) -> Outcome<()> {
    let size = entry.sparse.as_ref().map_or(entry.stored, |map| map.size);
    tree.budget().room_for(size)?;
    tree.file(at, entry.mode, entry.mtime, |contents| {
        let Some(map) = &entry.sparse else {
            return copy(input, contents, entry.stored);
        };
        let mut here = 0;
        let mut left = entry.stored;
        for (offset, length) in &map.pieces {
            contents.hole(offset - here)?;
            left = left
                .checked_sub(*length)
                .ok_or_else(|| Fault::failed("damaged: a sparse file with too little data"))?;
            copy(input, contents, *length)?;
            here = offset + length;
        }
        contents.hole(map.size - here)?;
        io::copy(&mut input.take(left), &mut io::sink())?;
        Ok(())
    })
}

fn copy(input: &mut impl BufRead, contents: &mut Contents<'_>, mut bytes: u64) -> Outcome<()> {
    while bytes > 0 {
        let data = input.fill_buf()?;
        if data.is_empty() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let step = (data.len() as u64).min(bytes);
        contents.write(&data[..step as usize])?;
        input.consume(step as usize);
        bytes -= step;
    }
    Ok(())
}
