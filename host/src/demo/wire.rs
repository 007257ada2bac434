//! What a member process tells the demo: one JSON object a line on its standard output.

use std::io::Write as _;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub(super) enum Told {
    /// The client called back with partitions.
    Rebalance { assigned: bool, partitions: Vec<i32>, generation: i32 },
    /// Time from delivery to hand-over in µs, as (value, records) of everything so far.
    Latency { values: Vec<(u64, u64)> },
    /// The last line of a guarded member.
    Summary { absorbed: u64, fenced: u64, dead_lettered: u64, left: u64 },
    /// It cannot go on.
    Failed { why: String },
}

impl Told {
    /// Says it. The demo that is gone needs no word: its member ends when its input closes.
    pub(super) fn tell(&self) {
        let mut out = std::io::stdout().lock();
        if let Ok(mut line) = serde_json::to_vec(self) {
            line.push(b'\n');
            let _ = out.write_all(&line).and_then(|()| out.flush());
        }
    }
}

/// Latencies in µs, up to a minute, with 1 % error.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 2).expect("the bounds are sound")
}

/// Adds latencies up and tells them twice a second.
#[derive(Debug)]
pub(super) struct Latencies {
    histogram: Histogram<u64>,
    told: std::time::Instant,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self { histogram: histogram(), told: crate::clock::now() }
    }

    pub(super) fn add(&mut self, added: Duration) {
        self.histogram.saturating_record(u64::try_from(added.as_micros()).unwrap_or(u64::MAX));
        if self.told.elapsed() >= Duration::from_millis(500) {
            self.tell();
        }
    }

    pub(super) fn tell(&mut self) {
        self.told = crate::clock::now();
        let values = self.histogram.iter_recorded();
        let values = values.map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
        Told::Latency { values }.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let told = Told::Rebalance { assigned: true, partitions: vec![0, 3], generation: 7 };
        let line = serde_json::to_string(&told).expect("it is plain data");
        assert_eq!(
            line,
            r#"{"told":"rebalance","assigned":true,"partitions":[0,3],"generation":7}"#
        );
        assert_eq!(serde_json::from_str::<Told>(&line).expect("it was written so"), told);
    }
}
