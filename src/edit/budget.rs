//! The time that judging may take.

use std::time::{Duration, Instant};

use crate::phase::runner::interrupted;

/// Until when there is time.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    until: Instant,
}

/// Why something was not judged once the time is over.
pub const OVER: &str = "the time for judging the edits of the ebuild (--timeout) was over";

/// How a tool is told of that was ended after its time.
pub const NO_END: &str = "did not come to an end within";

/// Whether another run might have had the time for what this reason speaks of.
pub fn is_of_time(reason: &str) -> bool {
    reason.contains(OVER) || reason.contains(NO_END)
}

impl Budget {
    /// From now on.
    pub fn of(time: Duration) -> Budget {
        let now = Instant::now();
        // a time without an end is a long one
        Budget { until: now.checked_add(time).unwrap_or(now + Duration::from_secs(1 << 30)) }
    }

    /// None once the run is to end.
    pub fn left(&self) -> Duration {
        if interrupted() {
            return Duration::ZERO;
        }
        self.until.saturating_duration_since(Instant::now())
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_runs_out() {
        assert!(Budget::of(Duration::ZERO).is_over());
        assert!(!Budget::of(Duration::MAX).is_over());
    }
}
