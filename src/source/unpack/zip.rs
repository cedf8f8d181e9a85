//! Unpacking zip archives as `unzip -qo` does on a Unix.

use std::cell::Cell;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use ::zip::result::ZipError;
use ::zip::{DateTime, System, ZipArchive};

use super::error::{Fault, Outcome};
use super::member::Member;
use super::room::Share;
use super::tree::{Stamp, Tree};
use crate::source::tap::Tapped;

const FILE_TYPE: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;
/// PATH_MAX: no target of a link is longer.
const LONGEST_TARGET: u64 = 4096;
/// Bytes of the list of an archive's files, which is kept; enough for some 150,000 of real ones.
const LONGEST_LIST: u64 = 16 << 20;
/// Bytes of a list for which there is memory without asking.
const FIRST_LIST: u64 = 512 << 10;
/// Bytes of memory that a byte of the list may take: it may be of extra fields of four bytes each.
const KEPT: u64 = 12;

pub(super) fn unpack(file: Tapped, tree: &mut Tree) -> Outcome<()> {
    let mut input = BufReader::with_capacity(64 << 10, file);
    let mut most = FIRST_LIST;
    loop {
        let _share = Share::take(most * KEPT);
        let left = Cell::new(most);
        match ZipArchive::new(Opening { input: &mut input, left: &left }) {
            Ok(archive) => {
                left.set(u64::MAX);
                return members(archive, tree);
            }
            Err(_) if left.get() == 0 && most < LONGEST_LIST => most *= 2,
            Err(_) if left.get() == 0 => {
                return Err(Fault::failed(format!("the list of its files is longer than {} MiB", LONGEST_LIST >> 20)));
            }
            Err(error) => return Err(fault(error)),
        }
    }
}

/// A file of which so much may be read yet.
struct Opening<'a> {
    input: &'a mut BufReader<Tapped>,
    left: &'a Cell<u64>,
}

impl Read for Opening<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let most = buf.len().min(self.left.get().try_into().unwrap_or(usize::MAX));
        if most == 0 && !buf.is_empty() {
            return Err(io::Error::other("too much of it is the list of its files"));
        }
        let read = self.input.read(&mut buf[..most])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

impl Seek for Opening<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.input.seek(to)
    }
}

fn members(mut archive: ZipArchive<Opening<'_>>, tree: &mut Tree) -> Outcome<()> {
    if archive.offset() > 0 {
        // unzip works on, then ends with status 1, which `unpack` takes for a failure.
        return Err(Fault::failed(format!("{} extra bytes at the beginning of the zip file", archive.offset())));
    }
    let mut buffer = vec![0; 128 << 10];
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(fault)?;
        let name = entry.name_raw().to_vec();
        member(&mut entry, &name, tree, &mut buffer).map_err(|f| f.of(&name))?;
    }
    Ok(())
}

fn member<R: Read>(
    entry: &mut ::zip::read::ZipFile<'_, R>,
    name: &[u8],
    tree: &mut Tree,
    buffer: &mut [u8],
) -> Outcome<()> {
    if entry.system() == System::Dos && name.contains(&b'\\') && !name.contains(&b'/') {
        // unzip takes them for slashes, warns, and ends with status 1, which `unpack` takes for a failure.
        return Err(Fault::failed("backslashes as path separators"));
    }
    tree.budget().path(name.len())?;
    let at = Member::new(name)?;
    let mtime = modified(entry);
    let mode = entry.unix_mode();
    if name.ends_with(b"/") {
        return tree.dir(&at, mode.unwrap_or(0o755), mtime);
    }
    if mode.is_some_and(|m| m & FILE_TYPE == SYMLINK) {
        let mut target = Vec::new();
        entry.take(LONGEST_TARGET).read_to_end(&mut target)?;
        return tree.symlink(&at, &target, mtime);
    }
    tree.budget().room_for(entry.size())?;
    tree.file(&at, mode.unwrap_or(0o644), mtime, |contents| {
        loop {
            match entry.read(buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => contents.write(&buffer[..n])?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    })
}

fn fault(error: ZipError) -> Fault {
    match error {
        ZipError::Io(error) => error.into(),
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Fault::failed("the archive is encrypted"),
        ZipError::CompressionMethodNotSupported(method) => {
            Fault::unsupported(format!("zip compression method {method} is not supported"))
        }
        other => Fault::failed(other.to_string()),
    }
}

/// The extended timestamp, which is exact, or MS-DOS's time taken for UTC, as in an environment without TZ.
fn modified<R: Read>(entry: &::zip::read::ZipFile<'_, R>) -> Option<Stamp> {
    let exact = entry.extra_data_fields().find_map(|field| match field {
        ::zip::extra_fields::ExtraField::ExtendedTimestamp(stamp) => stamp.mod_time(),
        _ => None,
    });
    let seconds = match exact {
        // Info-ZIP reads it as signed 32 bits.
        Some(seconds) => i64::from(seconds as i32),
        None => unix_seconds(entry.last_modified()?)?,
    };
    Some(Stamp { seconds, nanos: 0 })
}

fn unix_seconds(time: DateTime) -> Option<i64> {
    if !(1..=12).contains(&time.month()) || time.day() == 0 {
        return None;
    }
    // Days of the civil calendar since 1970, years beginning in March.
    let (month, year) = match i64::from(time.month()) {
        m @ 1..=2 => (m + 9, i64::from(time.year()) - 1),
        m => (m - 3, i64::from(time.year())),
    };
    let day_of_year = (153 * month + 2) / 5 + i64::from(time.day()) - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    let (hour, minute) = (i64::from(time.hour()), i64::from(time.minute()));
    Some(((days * 24 + hour) * 60 + minute) * 60 + i64::from(time.second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dos_times_are_counted_from_1970() {
        let at = |y, mo, d, h, mi, s| unix_seconds(DateTime::from_date_and_time(y, mo, d, h, mi, s).unwrap());
        assert_eq!(at(1980, 1, 1, 0, 0, 0), Some(315_532_800));
        assert_eq!(at(2024, 2, 29, 12, 30, 58), Some(1_709_209_858));
    }
}
