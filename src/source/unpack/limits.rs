//! How much an archive may unpack to.

use super::clock::{Clock, Halt};
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
    /// Directories within directories.
    pub max_depth: usize,
    /// How many times its own size an archive may unpack to, once that is more than [`RATIO_FROM`].
    pub max_ratio: u64,
}

/// Bytes; what unpacks to less is no bomb, however small it is packed.
pub const RATIO_FROM: u64 = 1 << 30;

/// Bytes of memory for names.
const MOST_KEPT: u64 = 128 << 20;
/// Bytes of memory that a name takes beside its own.
const EACH: u64 = 64;

impl Default for Limits {
    /// 20 GiB in 4 million files: more than any source known, less than what hurts a disk.
    fn default() -> Self {
        Limits { max_bytes: 20 << 30, max_files: 4_000_000, max_path: 4095, max_depth: 256, max_ratio: 1000 }
    }
}

/// The numbers, as a variable of the environment hands them to the applet.
impl std::fmt::Display for Limits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} {} {}", self.max_bytes, self.max_files, self.max_path, self.max_depth, self.max_ratio)
    }
}

impl std::str::FromStr for Limits {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Limits, Self::Err> {
        let mut words = text.split(' ');
        let mut next = || words.next().unwrap_or_default();
        Ok(Limits {
            max_bytes: next().parse()?,
            max_files: next().parse()?,
            max_path: next().parse()?,
            max_depth: next().parse()?,
            max_ratio: next().parse()?,
        })
    }
}

/// What has been spent of [`Limits`].
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    clock: Clock,
    /// Bytes of the archive.
    packed: u64,
    bytes: u64,
    files: u64,
    /// Bytes of memory.
    kept: u64,
}

/// How much may be decompressed, whether it is written or not, and until when.
#[derive(Debug)]
pub(super) struct Meter {
    clock: Clock,
    most: u64,
    bytes: u64,
}

impl Meter {
    pub(super) fn take(&mut self, bytes: u64) -> std::io::Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.most {
            return Err(Halt::Decoded(self.most).into());
        }
        self.clock.look()
    }
}

impl Budget {
    pub(super) fn new(limits: &Limits, packed: u64, clock: &Clock) -> Self {
        Budget { limits: *limits, clock: clock.clone(), packed, bytes: 0, files: 0, kept: 0 }
    }

    /// For what a decoder gives: as much as may be written, and as much again for what is not (headers, padding, members
    /// that are left out).
    pub(super) fn meter(&self) -> Meter {
        let by_ratio = self.packed.saturating_mul(self.limits.max_ratio).max(RATIO_FROM);
        let most = self.limits.max_bytes.min(by_ratio).saturating_mul(2).saturating_add(64 << 20);
        Meter { clock: self.clock.clone(), most, bytes: 0 }
    }

    pub(super) fn look(&self) -> Outcome<()> {
        Ok(self.clock.look()?)
    }

    /// Names that are remembered to the end; an archive of nothing else may have gigabytes of them.
    pub(super) fn keep(&mut self, bytes: usize) -> Outcome<()> {
        self.kept += bytes as u64 + EACH;
        match self.kept > MOST_KEPT {
            true => {
                let most = MOST_KEPT >> 20;
                Err(Fault::too_large(format!("the names of its links and folders take more than {most} MiB of memory")))
            }
            false => Ok(()),
        }
    }

    pub(super) fn forget(&mut self, bytes: usize) {
        self.kept -= bytes as u64 + EACH;
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Would so many bytes more still fit? Asked of a size that a header gives, before anything is written.
    pub(super) fn room_for(&self, bytes: u64) -> Outcome<()> {
        let sum = self.bytes.checked_add(bytes);
        if sum.is_some_and(|sum| sum > RATIO_FROM && sum / self.packed.max(1) > self.limits.max_ratio) {
            return Err(Fault::too_large(format!(
                "unpacks to more than {} times its size (--max-ratio)",
                self.limits.max_ratio
            )));
        }
        match sum {
            Some(sum) if sum <= self.limits.max_bytes => Ok(()),
            _ => Err(Fault::too_large(format!(
                "unpacks to more than {} bytes (--max-unpacked-size)",
                self.limits.max_bytes
            ))),
        }
    }

    pub(super) fn spend(&mut self, bytes: u64) -> Outcome<()> {
        self.look()?;
        self.room_for(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    pub(super) fn one_file(&mut self) -> Outcome<()> {
        self.look()?;
        if self.files >= self.limits.max_files {
            return Err(Fault::too_large(format!(
                "holds more than {} files (--max-tree-files)",
                self.limits.max_files
            )));
        }
        self.files += 1;
        Ok(())
    }

    /// A member in so many directories.
    pub(super) fn depth(&self, depth: usize) -> Outcome<()> {
        if depth > self.limits.max_depth {
            return Err(Fault::too_large(format!(
                "a file in {depth} directories, more than {} (--max-depth)",
                self.limits.max_depth
            )));
        }
        Ok(())
    }

    pub(super) fn path(&self, bytes: usize) -> Outcome<()> {
        if bytes > self.limits.max_path {
            return Err(Fault::too_large(format!(
                "a name of {bytes} bytes, longer than {} (--max-path)",
                self.limits.max_path
            )));
        }
        Ok(())
    }
}
