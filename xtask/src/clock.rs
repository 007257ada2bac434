//! How long steps take.

use std::fmt;
use std::time::{Duration, Instant};

/// A stopwatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[allow(
        clippy::disallowed_methods,
        reason = "the product's clock is the host's; this times builds"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A duration as people read it: `7.3 s`, `4 min 05 s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent(pub(crate) Duration);

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        if seconds < 60 {
            return write!(f, "{:.1} s", self.0.as_secs_f64());
        }
        write!(f, "{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_seconds_then_as_minutes() {
        assert_eq!(Spent(Duration::from_millis(7_300)).to_string(), "7.3 s");
        assert_eq!(Spent(Duration::from_secs(245)).to_string(), "4 min 05 s");
    }
}
