//! How much an archive may unpack to.

use super::error::{Fault, Outcome};

/// The bounds of one archive. Reaching one ends the unpacking with [`super::UnpackError::TooLarge`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in all files together; holes of sparse files count as bytes.
    pub max_bytes: u64,
    /// Files, links and directories together.
    pub max_files: u64,
    /// Bytes of a member's name; the kernel takes no path of 4096 bytes or more.
    pub max_path: usize,
}

impl Default for Limits {
    /// 20 GiB in 4 million files: more than any source known, less than what hurts a disk.
    fn default() -> Self {
        Limits { max_bytes: 20 << 30, max_files: 4_000_000, max_path: 4095 }
    }
}

/// What has been spent of [`Limits`].
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    bytes: u64,
    files: u64,
    idle: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        Budget { limits: *limits, bytes: 0, files: 0, idle: 0 }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Would so many bytes more still fit? Asked of a size that a header gives, before anything is written.
    pub(super) fn room_for(&self, bytes: u64) -> Outcome<()> {
        match self.bytes.checked_add(bytes) {
            Some(sum) if sum <= self.limits.max_bytes => Ok(()),
            _ => Err(Fault::too_large(format!(
                "unpacks to more than {} bytes (--max-unpacked-size)",
                self.limits.max_bytes
            ))),
        }
    }

    pub(super) fn spend(&mut self, bytes: u64) -> Outcome<()> {
        self.room_for(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Bytes that are decompressed but not written; without a bound an archive of nothing else could go on for ever.
    pub(super) fn idle(&mut self, bytes: u64) -> Outcome<()> {
        self.idle = self.idle.saturating_add(bytes);
        match self.idle > self.limits.max_bytes.saturating_add(64 << 20) {
            true => self.room_for(u64::MAX),
            false => Ok(()),
        }
    }

    pub(super) fn one_file(&mut self) -> Outcome<()> {
        if self.files >= self.limits.max_files {
            return Err(Fault::too_large(format!(
                "holds more than {} files; --max-unpacked-size bounds what an archive may hold",
                self.limits.max_files
            )));
        }
        self.files += 1;
        Ok(())
    }

    pub(super) fn path(&self, bytes: usize) -> Outcome<()> {
        if bytes > self.limits.max_path {
            return Err(Fault::too_large(format!(
                "a name of {bytes} bytes, longer than {}; no --max-unpacked-size raises this",
                self.limits.max_path
            )));
        }
        Ok(())
    }
}
