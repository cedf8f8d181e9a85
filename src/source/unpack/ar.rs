//! Unpacking `.a` and `.deb` as `ar x` does: flat members, no times.

use std::io::{BufReader, Read};

use super::error::{Fault, Outcome};
use super::limits::Budget;
use super::member::Member;
use super::tree::{Contents, Tree};
use crate::source::tap::Tapped;

const MAGIC: &[u8; 8] = b"!<arch>\n";
const THIN: &[u8; 8] = b"!<thin>\n";
const HEADER: usize = 60;
/// GNU's table of long names; more would only take memory.
const LONGEST_TABLE: u64 = 64 << 20;
/// PATH_MAX and the slash behind it.
const LONGEST_NAME: usize = 4097;

pub(super) fn unpack(file: Tapped, tree: &mut Tree) -> Outcome<()> {
    let mut input = BufReader::with_capacity(256 << 10, file);
    let mut magic = [0; 8];
    input.read_exact(&mut magic)?;
    match &magic {
        MAGIC => {}
        THIN => return Err(Fault::failed("a thin archive holds no files")),
        _ => return Err(Fault::failed("no ar archive")),
    }
    let mut long_names = Vec::new();
    while let Some(header) = read_header(&mut input)? {
        let mut size = header.size;
        let padding = size % 2;
        match &header.name[..] {
            // Symbol tables, GNU's and BSD's.
            b"/" | b"/SYM64/" => discard(&mut input, size)?,
            b"//" => {
                if size > LONGEST_TABLE {
                    return Err(Fault::failed("damaged: the table of long names is too long"));
                }
                long_names.clear();
                (&mut input).take(size).read_to_end(&mut long_names)?;
                if (long_names.len() as u64) < size {
                    return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
                }
            }
            _ => {
                let name = member_name(&header.name, &mut size, &long_names, &mut input, tree.budget())?;
                match name.starts_with(b"__.SYMDEF") {
                    true => discard(&mut input, size)?,
                    false => member(&name, header.mode, size, &mut input, tree).map_err(|f| f.of(&name))?,
                }
            }
        }
        let mut newline = [0];
        if padding == 1 && input.read(&mut newline)? == 0 {
            break;
        }
    }
    Ok(())
}

struct Header {
    name: Vec<u8>,
    mode: u32,
    size: u64,
}

fn read_header(input: &mut impl Read) -> Outcome<Option<Header>> {
    let mut raw = Vec::with_capacity(HEADER);
    input.take(HEADER as u64).read_to_end(&mut raw)?;
    if raw.is_empty() {
        return Ok(None);
    }
    if raw.len() < HEADER {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    let damaged = || Fault::failed("damaged: malformed ar header");
    if raw[58..60] != *b"`\n" {
        return Err(damaged());
    }
    let field = |from: usize, upto: usize, radix: u32| {
        let text = std::str::from_utf8(&raw[from..upto]).ok()?;
        u64::from_str_radix(text.trim_end(), radix).ok()
    };
    Ok(Some(Header {
        name: raw[..16].trim_ascii_end().to_vec(),
        mode: field(40, 48, 8).unwrap_or(0o644) as u32,
        size: field(48, 58, 10).ok_or_else(damaged)?,
    }))
}

/// The name in full: GNU writes `name/` or `/offset-into-the-table`, BSD `#1/length` with the name before the data.
fn member_name(
    field: &[u8],
    size: &mut u64,
    long_names: &[u8],
    input: &mut impl Read,
    budget: &Budget,
) -> Outcome<Vec<u8>> {
    let damaged = || Fault::failed("damaged: malformed ar member name").of(field);
    let number = |digits: &[u8]| -> Option<u64> { std::str::from_utf8(digits).ok()?.parse().ok() };
    if let Some(length) = field.strip_prefix(b"#1/") {
        let length = number(length).filter(|l| *l <= (*size).min(4096)).ok_or_else(damaged)?;
        let mut name = vec![0; length as usize];
        input.read_exact(&mut name)?;
        *size -= length;
        let end = name.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
        name.truncate(end);
        return Ok(name);
    }
    if let Some(offset) = field.strip_prefix(b"/") {
        let offset = number(offset).and_then(|o| usize::try_from(o).ok());
        let rest = offset.and_then(|o| long_names.get(o..)).ok_or_else(damaged)?;
        // every member may name one and the same line of many megabytes
        let line = &rest[..rest.len().min(LONGEST_NAME)];
        let line = memchr::memchr(b'\n', line).map_or(line, |end| &line[..end]);
        budget.path(line.len())?;
        return Ok(line.strip_suffix(b"/").unwrap_or(line).to_vec());
    }
    Ok(field.strip_suffix(b"/").unwrap_or(field).to_vec())
}

fn member(name: &[u8], mode: u32, size: u64, input: &mut impl Read, tree: &mut Tree) -> Outcome<()> {
    if name.contains(&b'/') {
        return Err(Fault::refused("a name in an ar archive with a slash"));
    }
    let at = Member::new(name)?;
    tree.budget().room_for(size)?;
    tree.file(&at, mode, None, |contents| copy(input, size, contents))
}

fn copy(input: &mut impl Read, mut left: u64, contents: &mut Contents<'_>) -> Outcome<()> {
    let mut buffer = vec![0; 64 << 10];
    while left > 0 {
        let want = left.min(buffer.len() as u64) as usize;
        input.read_exact(&mut buffer[..want])?;
        contents.write(&buffer[..want])?;
        left -= want as u64;
    }
    Ok(())
}

fn discard(input: &mut impl Read, size: u64) -> Outcome<()> {
    let skipped = std::io::copy(&mut input.take(size), &mut std::io::sink())?;
    match skipped < size {
        true => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()),
        false => Ok(()),
    }
}
