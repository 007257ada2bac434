//! Inputs that may change nothing: refused (P6), stale (P8), late (P10).

use super::alphabet;
use rebalance_guard::{Output, Reply, Tick};

use super::node::{Node, changed_nothing, print_of, tick};
use super::world::{PARTITIONS, Wrong};
use crate::trace::{Action, Answer, Said, Step};

/// A state before an input that may change nothing.
pub(super) struct Inert<'a> {
    node: &'a Node,
    print: u64,
}

impl<'a> Inert<'a> {
    pub(super) fn new(node: &'a Node) -> Self {
        Self { node, print: node.guard_print() }
    }

    /// A tick before the last one, and inputs that speak of what is over and are told so.
    pub(super) fn at_rest(&self) -> Result<(), (Wrong, Step)> {
        let late = Step { now: tick(self.node.now / 2), action: Action::Tick };
        self.unchanged(&late, "P10").map_err(|wrong| (wrong, late))?;
        for action in alphabet::stale(self.node) {
            let stale = Step { now: tick(self.node.now), action };
            self.unchanged(&stale, "P8").map_err(|wrong| (wrong, stale))?;
        }
        Ok(())
    }

    fn unchanged(&self, step: &Step, promise: &'static str) -> Result<(), Wrong> {
        let (mut guard, mut runner) = (self.node.guard.clone(), self.node.runner.clone());
        let answer = runner.step(&mut guard, &PARTITIONS, step);
        let told = answer.said == Said::Nothing || changed_nothing(&answer.said);
        if told && answer.outputs.is_empty() && print_of(&guard) == self.print {
            return Ok(());
        }
        Err((promise, format!("an input that is over or late counted: {answer:?}")))
    }

    /// What was refused, or told to be over, made no more of the guard than a tick of that time.
    pub(super) fn refused(&self, after: &Node, step: &Step, answer: &Answer) -> Result<(), Wrong> {
        if !changed_nothing(&answer.said) {
            return Ok(());
        }
        let (outputs, print) = self.ticked(step.now);
        if outputs == answer.outputs && print == after.guard_print() {
            return Ok(());
        }
        let stale = matches!(answer.said, Said::Reply(Ok(Reply::Stale | Reply::Answered(_))));
        let promise = if stale { "P8" } else { "P6" };
        Err((promise, format!("refused, and left a trace: {answer:?}; without it {outputs:?}")))
    }

    /// What time alone brings.
    fn ticked(&self, now: Tick) -> (Vec<Output>, u64) {
        if now.value() <= self.node.now {
            return (Vec::new(), self.print);
        }
        let (mut guard, mut runner) = (self.node.guard.clone(), self.node.runner.clone());
        let answer = runner.step(&mut guard, &PARTITIONS, &Step { now, action: Action::Tick });
        (answer.outputs, print_of(&guard))
    }
}
