//! The one place that reads the machine's clocks.
#![allow(clippy::disallowed_methods, reason = "this is the file that may")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rebalance_guard::Tick;

/// A monotonic clock whose ticks are milliseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// The tick of this moment.
    pub fn now(&self) -> Tick {
        self.tick_of(Instant::now())
    }

    /// The tick of `moment`.
    pub fn tick_of(&self, moment: Instant) -> Tick {
        let elapsed = moment.saturating_duration_since(self.origin).as_millis();
        Tick::new(u64::try_from(elapsed).unwrap_or(u64::MAX)).unwrap_or(Tick::MAX)
    }
}

/// A monotonic moment, for deadlines and latencies.
pub fn now() -> Instant {
    Instant::now()
}

/// Time since 1970 by the wall clock; zero when the wall clock lies before.
pub fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
