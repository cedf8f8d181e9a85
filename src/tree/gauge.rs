//! What reading a tree may cost: an ebuild makes a file of any size in no time.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::snapshot::{Most, SnapshotError};

/// Why a tree is read no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Halt {
    #[error("too many bytes")]
    Bytes,
    #[error("no time is left")]
    Time,
    #[error("interrupted")]
    Stopped,
}

static STOPPED: AtomicBool = AtomicBool::new(false);

/// From now on no tree is read to its end.
pub fn stop_reading() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// The bytes and the time that are left.
#[derive(Debug)]
pub(super) struct Gauge {
    most: Most,
    taken: AtomicU64,
}

impl Gauge {
    pub fn new(most: Most) -> Gauge {
        Gauge { most, taken: AtomicU64::new(0) }
    }

    /// For files that nobody bounds here.
    pub fn open() -> Gauge {
        Gauge::new(Most { bytes: u64::MAX, ..Most::default() })
    }

    /// Counts bytes, also those of holes: reading them takes as long.
    pub fn take(&self, bytes: u64) -> io::Result<()> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        match before.checked_add(bytes) {
            Some(all) if all <= self.most.bytes => Ok(()),
            _ => Err(io::Error::other(Halt::Bytes)),
        }
    }

    pub fn look(&self) -> io::Result<()> {
        // whoever passed the bound, nobody reads on
        if self.taken.load(Ordering::Relaxed) > self.most.bytes {
            return Err(io::Error::other(Halt::Bytes));
        }
        if self.most.until.is_some_and(|end| Instant::now() >= end) {
            return Err(io::Error::other(Halt::Time));
        }
        // a layer and the like is read whatever comes
        if self.most.until.is_some() && STOPPED.load(Ordering::Relaxed) {
            return Err(io::Error::other(Halt::Stopped));
        }
        Ok(())
    }

    /// The error that a halt is, if it is one.
    pub fn halted(&self, error: &io::Error) -> Option<SnapshotError> {
        let halt: &Halt = error.get_ref()?.downcast_ref()?;
        Some(match halt {
            Halt::Bytes => SnapshotError::TooLarge { limit: self.most.bytes },
            Halt::Time => SnapshotError::TooSlow,
            Halt::Stopped => SnapshotError::Stopped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Snapshot;

    #[test]
    fn sparse_files_are_not_read_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            std::fs::File::create(dir.path().join(name)).unwrap().set_len(1 << 40).unwrap();
        }
        let take = |most| Snapshot::take(dir.path(), None, None, most).unwrap_err();
        assert!(matches!(take(Most { bytes: 1 << 30, ..Most::default() }), SnapshotError::TooLarge { .. }));
        let began = Instant::now();
        let until = Some(began + std::time::Duration::from_millis(50));
        assert!(matches!(take(Most { bytes: u64::MAX, until, ..Most::default() }), SnapshotError::TooSlow));
        assert!(began.elapsed().as_secs() < 20);
    }
}
