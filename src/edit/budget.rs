//! The time that judging may take.

use std::time::{Duration, Instant};

/// Until when there is time.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    until: Instant,
}

/// Why something was not judged once the time is over.
pub const OVER: &str = "the time for judging the edits of the ebuild (--timeout) was over";

impl Budget {
    /// From now on.
    pub fn of(time: Duration) -> Budget {
        let now = Instant::now();
        // a time without an end is a long one
        Budget { until: now.checked_add(time).unwrap_or(now + Duration::from_secs(1 << 30)) }
    }

    pub fn left(&self) -> Duration {
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
