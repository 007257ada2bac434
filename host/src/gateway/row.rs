//! Deaths in a row, and the wait after each.

use std::time::Duration;

use crate::clock;

/// After so long without a death the row is over.
const HEALTHY: Duration = Duration::from_secs(60);
/// After the first.
pub(super) const BACK_OFF: Duration = Duration::from_millis(500);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// Deaths in a row.
#[derive(Debug, Default)]
pub(super) struct Row {
    deaths: u32,
    last: Option<std::time::Instant>,
}

impl Row {
    /// Counts one; the number in this row and how long to wait.
    pub(super) fn another(&mut self) -> (u32, Duration) {
        let now = clock::now();
        if self.last.is_none_or(|last| now > last + HEALTHY) {
            self.deaths = 0;
        }
        self.last = Some(now);
        self.deaths = self.deaths.saturating_add(1);
        let factor = 1_u32 << self.deaths.saturating_sub(1).min(5);
        (self.deaths, BACK_OFF.saturating_mul(factor).min(BACK_OFF_MAX))
    }
}
