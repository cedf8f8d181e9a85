//! Where the time of a run goes.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A part of an ebuild's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Fetching and verifying.
    Distfiles,
    /// Until the source is in WORKDIR, with waiting for another job that makes the same layer.
    Unpacking,
    /// The tree before and after.
    Hashing,
    /// The ebuild's bash, with what it starts.
    Phases,
    /// Verdicts, causes, suggestions and diffs.
    Judging,
}

const NAMES: [&str; 5] = ["distfiles", "unpacking", "hashing", "phases", "judging"];

thread_local! {
    /// What this thread is at, and since when.
    static AT: Cell<Option<(Part, Instant)>> = const { Cell::new(None) };
}

/// Time by part, of all jobs together; jobs that run side by side count each.
#[derive(Debug, Default)]
pub struct Stats {
    nanoseconds: [AtomicU64; NAMES.len()],
}

/// As long as it lives, its thread's time is that of its part.
pub struct Entered<'a> {
    stats: &'a Stats,
    outer: Option<Part>,
}

impl Stats {
    /// Begins a part, within which others may begin.
    pub fn enter(&self, part: Part) -> Entered<'_> {
        Entered { stats: self, outer: self.turn(Some(part)) }
    }

    /// Counts what this thread did until now, and gives what it was at.
    fn turn(&self, part: Option<Part>) -> Option<Part> {
        let now = Instant::now();
        let (old, since) = AT.replace(part.map(|part| (part, now)))?;
        let time = now.duration_since(since).as_nanos() as u64;
        self.nanoseconds[old as usize].fetch_add(time, Ordering::Relaxed);
        Some(old)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.stats.turn(self.outer);
    }
}

/// `distfiles 0.12 s (3 %), unpacking …`
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times: Vec<u64> = self.nanoseconds.iter().map(|n| n.load(Ordering::Relaxed)).collect();
        let all = times.iter().sum::<u64>().max(1) as f64;
        for (at, (name, time)) in NAMES.iter().zip(times).enumerate() {
            let seconds = Duration::from_nanos(time).as_secs_f64();
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {seconds:.2} s ({:.0} %)", time as f64 / all * 100.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_within_another_is_not_the_others() {
        let stats = Stats::default();
        let of = |part: Part| stats.nanoseconds[part as usize].load(Ordering::Relaxed);
        {
            let _phases = stats.enter(Part::Phases);
            {
                let _unpacking = stats.enter(Part::Unpacking);
                assert_ne!(of(Part::Phases), 0);
            }
            let before = of(Part::Phases);
            {
                let _judging = stats.enter(Part::Judging);
                assert!(of(Part::Phases) > before);
            }
        }
        assert!(AT.get().is_none());
        assert_ne!(of(Part::Judging), 0);
        assert_eq!(of(Part::Hashing), 0);
        assert!(stats.to_string().starts_with("distfiles 0.00 s (0 %), unpacking "));
    }
}
