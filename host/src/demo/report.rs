//! The table at the end, and the same as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::DemoArgs;
use super::outcome::Outcome;

/// Both arms.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) unguarded: Outcome,
    pub(super) guarded: Outcome,
}

impl Report {
    /// One line of JSON.
    pub(super) fn json(&self) -> Result<String, serde_json::Error> {
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        Ok(line)
    }

    /// The table and what it means.
    pub(super) fn table(&self, args: &DemoArgs) -> String {
        let (left, right) = (&self.unguarded, &self.guarded);
        let rows = [
            ("produced", left.produced, right.produced),
            ("took effect", left.took_effect, right.took_effect),
            ("dropped", left.dropped, right.dropped),
            ("repeated effects", left.repeated, right.repeated),
            ("repeats absorbed by the guard", left.absorbed_by_guard, right.absorbed_by_guard),
            ("repeats absorbed by the sink", left.absorbed_by_sink, right.absorbed_by_sink),
            ("refused as fenced by the guard", left.fenced_by_guard, right.fenced_by_guard),
            ("refused as fenced by the sink", left.fenced_by_sink, right.fenced_by_sink),
            ("dead-lettered", left.dead_lettered, right.dead_lettered),
            ("rebalances", left.rebalances, right.rebalances),
            ("added latency p50, µs", left.added_latency_p50_us, right.added_latency_p50_us),
            ("added latency p99, µs", left.added_latency_p99_us, right.added_latency_p99_us),
        ];
        let mut table = format!("{:<32}{:>12}{:>12}\n", "", "unguarded", "guarded");
        for (name, left, right) in rows {
            // Writing to a String cannot fail.
            let _ = writeln!(table, "{name:<32}{left:>12}{right:>12}");
        }
        table.push('\n');
        table.push_str(&self.meaning(args));
        table
    }

    fn meaning(&self, args: &DemoArgs) -> String {
        let guarded = &self.guarded;
        if args.no_sink_check {
            return format!(
                "The ledger ignored keys and tokens: {} effects were repeated that only a sink can \
                 catch, such as work done just before a kill.\n",
                guarded.repeated
            );
        }
        format!(
            "Only the sink could catch {} repeats of work done just before a kill, a stop or a \
             refused commit\n(by Idempotency-Key) and {} effects of the zombie (by Fencing-Token); \
             the guard caught {} repeats\nand {} records and effects without ownership, and \
             committed nothing unfinished.\n",
            guarded.absorbed_by_sink,
            guarded.fenced_by_sink,
            guarded.absorbed_by_guard,
            guarded.fenced_by_guard,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_exactly_the_promised_fields() {
        let report = Report { unguarded: Outcome::default(), guarded: Outcome::default() };
        let json: serde_json::Value =
            serde_json::from_str(&report.json().expect("plain data")).expect("it is JSON");
        let names = |arm: &str| -> Vec<String> {
            json[arm].as_object().expect("an object").keys().cloned().collect()
        };
        let mut promised = [
            "produced",
            "took_effect",
            "dropped",
            "repeated",
            "absorbed_by_guard",
            "absorbed_by_sink",
            "fenced_by_guard",
            "fenced_by_sink",
            "dead_lettered",
            "rebalances",
            "added_latency_p50_us",
            "added_latency_p99_us",
        ];
        promised.sort_unstable();
        for arm in ["unguarded", "guarded"] {
            let mut names = names(arm);
            names.sort_unstable();
            assert_eq!(names, promised);
        }
        assert_eq!(json.as_object().map(serde_json::Map::len), Some(2));
    }
}
