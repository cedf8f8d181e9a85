//! Unpacking zip archives as `unzip -qo` does on a Unix.

use std::io::{BufReader, Read};

use ::zip::result::ZipError;
use ::zip::{DateTime, System, ZipArchive};

use super::error::{Fault, Outcome};
use super::member::Member;
use super::tree::{Stamp, Tree};
use crate::source::tap::Tapped;

const FILE_TYPE: u32 = 0o170_000;
const SYMLINK: u32 = 0o120_000;
/// PATH_MAX: no target of a link is longer.
const LONGEST_TARGET: u64 = 4096;

pub(super) fn unpack(file: Tapped, tree: &mut Tree) -> Outcome<()> {
    let input = BufReader::with_capacity(64 << 10, file);
    let mut archive = ZipArchive::new(input).map_err(fault)?;
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
