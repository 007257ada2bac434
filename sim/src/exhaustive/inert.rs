//! Inputs that may change nothing: refused (P6), stale (P8), late (P10).

use super::alphabet;
use rebalance_guard::{Answered, Output, Reply, Tick};

use super::node::{Node, print_of, tick};
use super::world::{PARTITIONS, Wrong};
use crate::oracle::rerun::is_refused;
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
        let told = answer.said == Said::Nothing || promise_of(&answer.said).is_some();
        if told && answer.outputs.is_empty() && print_of(&guard) == self.print {
            return Ok(());
        }
        Err((promise, format!("an input that is over or late counted: {answer:?}")))
    }

    /// What was refused, or told to be over, made no more of the guard than a tick of that time.
    pub(super) fn refused(&self, after: &Node, step: &Step, answer: &Answer) -> Result<(), Wrong> {
        let Some(promise) = promise_of(&answer.said) else { return Ok(()) };
        let (outputs, print) = self.ticked(step.now);
        if outputs == answer.outputs && print == after.guard_print() {
            return Ok(());
        }
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

/// By which promise what was answered so may have changed nothing: told to be over, or refused
/// whole.
fn promise_of(said: &Said) -> Option<&'static str> {
    match said {
        Said::Reply(Ok(Reply::Stale | Reply::Answered(Answered::Stale))) => Some("P8"),
        said => is_refused(said).then_some("P6"),
    }
}
