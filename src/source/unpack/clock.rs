//! How long unpacking may take, and whether it is to end at once.
//!
//! Asked wherever an archive is read, what is decoded of it is handed on, or something is made of it: whatever an archive
//! is full of, none of the loops goes on without one of these.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// What more lies between two looks was no work: a decoder waited for memory that others had, or the machine slept.
const LONGEST_STEP: Duration = Duration::from_secs(10);

/// Why an archive is read no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Halt {
    #[error("unpacking took longer than {} s (--unpack-timeout)", .0.as_secs())]
    Time(Duration),
    #[error("unpacking was interrupted")]
    Stopped,
    #[error("decompresses to more than {0} bytes, whatever comes of them (--max-unpacked-size, --max-ratio)")]
    Decoded(u64),
}

impl From<Halt> for io::Error {
    fn from(halt: Halt) -> Self {
        io::Error::other(halt)
    }
}

/// The time of all archives of an ebuild together. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: Duration,
    stopped: fn() -> bool,
    ran: Mutex<Ran>,
    halt: OnceLock<Halt>,
}

#[derive(Debug)]
struct Ran {
    last: Instant,
    time: Duration,
}

impl Default for Clock {
    /// For those whom somebody else ends.
    fn default() -> Self {
        Clock::new(Duration::MAX, || false)
    }
}

impl Clock {
    /// `stopped` tells whether nobody wants the archives any more.
    pub fn new(most: Duration, stopped: fn() -> bool) -> Self {
        let ran = Ran { last: Instant::now(), time: Duration::ZERO };
        Clock(Arc::new(Inner { most, stopped, ran: Mutex::new(ran), halt: OnceLock::new() }))
    }

    /// From now on time counts again.
    pub(super) fn go_on(&self) {
        self.0.ran.lock().unwrap_or_else(|e| e.into_inner()).last = Instant::now();
    }

    /// To be asked often: no error as long as there is time.
    pub(in crate::source) fn look(&self) -> io::Result<()> {
        if (self.0.stopped)() {
            return Err((*self.0.halt.get_or_init(|| Halt::Stopped)).into());
        }
        let mut ran = self.0.ran.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        let step = now.saturating_duration_since(ran.last).min(LONGEST_STEP);
        *ran = Ran { last: now, time: ran.time + step };
        if ran.time <= self.0.most {
            return Ok(());
        }
        Err((*self.0.halt.get_or_init(|| Halt::Time(self.0.most))).into())
    }

    /// What was said by [`Clock::look`], however a decoder passed it on.
    pub(super) fn halt(&self) -> Option<Halt> {
        self.0.halt.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_while_somebody_looks() {
        let most = Duration::from_secs(25);
        let clock = Clock::new(most, || false);
        let passes = || {
            let mut ran = clock.0.ran.lock().unwrap();
            let before = ran.last.checked_sub(Duration::from_secs(20));
            before.map(|before| ran.last = before).is_some()
        };
        if !passes() {
            return;
        }
        // each counts as ten
        clock.look().unwrap();
        passes();
        clock.go_on();
        clock.look().unwrap();
        passes();
        clock.look().unwrap();
        passes();
        assert!(clock.clone().look().unwrap_err().to_string().contains("--unpack-timeout"));
        assert_eq!(clock.halt(), Some(Halt::Time(most)));
        let gone = Duration::from_secs(3600);
        let Some(before) = Instant::now().checked_sub(gone) else { return };
        let clock = Clock::new(gone, || false);
        clock.0.ran.lock().unwrap().last = before;
        clock.look().unwrap();
        assert!(clock.0.ran.lock().unwrap().time <= LONGEST_STEP);
    }
}
