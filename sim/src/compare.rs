//! Two subjects, one trace.

use core::fmt::Write as _;

use crate::{Answer, Runner, Subject, Trace};

/// The first step at which two subjects differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Number of the step, from 0.
    pub step: usize,
    /// What the first subject answered.
    pub left: Answer,
    /// What the second subject answered.
    pub right: Answer,
}

/// Runs `trace` on both and finds the first step whose answers differ, places of tickets aside.
pub fn difference(
    trace: &Trace,
    left: &mut impl Subject,
    right: &mut impl Subject,
) -> Option<Difference> {
    let (mut left_runner, mut right_runner) = (Runner::default(), Runner::default());
    for (number, step) in trace.steps.iter().enumerate() {
        let left = left_runner.step(left, &trace.partitions, step).placeless();
        let right = right_runner.step(right, &trace.partitions, step).placeless();
        if left != right {
            return Some(Difference { step: number, left, right });
        }
    }
    None
}

impl Difference {
    /// The trace up to the step that differs, and the parts of the two answers that differ.
    pub fn explain(&self, trace: &Trace, left: &str, right: &str) -> String {
        let mut text = trace.to_string();
        let mut part = |name: &str, a: &dyn core::fmt::Debug, b: &dyn core::fmt::Debug| {
            let (a, b) = (format!("{a:?}"), format!("{b:?}"));
            if a != b {
                let _ = write!(text, "{name}\n  {left}: {a}\n  {right}: {b}\n");
            }
        };
        part("said", &self.left.said, &self.right.said);
        part("outputs", &self.left.outputs, &self.right.outputs);
        part("live", &self.left.live, &self.right.live);
        part("metadata", &self.left.metadata, &self.right.metadata);
        part("waiting", &self.left.waiting, &self.right.waiting);
        part("storm", &self.left.storm, &self.right.storm);
        for (index, partition) in trace.partitions.iter().enumerate() {
            let name = format!("progress of {}/{}", partition.topic, partition.index);
            part(&name, &self.left.progress.get(index), &self.right.progress.get(index));
        }
        let _ = write!(text, "the two differ at step {}", self.step);
        text
    }
}
