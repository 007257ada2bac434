//! One guard, everything it was told, and the oracle beside it.

use rebalance_guard::{
    Config, ConfigError, Ended, Guard, Output, Partition, Phase, Progress, Tick,
};

use super::options::Without;
use super::report::{Happened, Report};
use crate::oracle::{Broken, Oracle};
use crate::trace::{Action, Answer, Runner, Step, Trace};
use crate::{Census, Heap};

/// Partition `number` of the one topic.
pub(super) fn partition(number: u32) -> Partition {
    Partition::new(0, i32::try_from(number).unwrap_or(i32::MAX))
}

/// Its number.
pub(super) fn number(partition: Partition) -> u32 {
    u32::try_from(partition.index).unwrap_or(u32::MAX)
}

pub(super) struct Seat {
    pub(super) guard: Guard<Heap>,
    runner: Runner,
    oracle: Option<Oracle>,
    pub(super) trace: Trace,
    pub(super) broken: Option<Broken>,
    last: Vec<Option<Progress>>,
}

/// A guard of `config`, with one rule switched off for the tests.
pub(super) fn guard(config: Config, without: Without) -> Guard<Heap> {
    let made = make(config, without);
    made.unwrap_or_else(|error| panic!("the group's settings contradict themselves: {error}"))
}

#[cfg(feature = "mutants")]
fn make(config: Config, without: Without) -> Result<Guard<Heap>, ConfigError> {
    match without {
        Some(rule) => Guard::without(Heap::new(&config), config, rule),
        None => Guard::new(Heap::new(&config), config),
    }
}

#[cfg(not(feature = "mutants"))]
fn make(config: Config, _: Without) -> Result<Guard<Heap>, ConfigError> {
    Guard::new(Heap::new(&config), config)
}

impl Seat {
    pub(super) fn new(
        config: Config,
        partitions: u32,
        seed: u64,
        without: Without,
        checked: bool,
    ) -> Self {
        let partitions: Vec<Partition> = (0..partitions).map(partition).collect();
        Self {
            guard: guard(config, without),
            runner: Runner::default(),
            oracle: checked.then(|| Oracle::new(config, &partitions)),
            last: vec![None; partitions.len()],
            trace: Trace { seed, config, partitions, steps: Vec::new() },
            broken: None,
        }
    }

    /// One call; the hand-out number of the first ticket it gave comes with the answer.
    pub(super) fn step(
        &mut self,
        now: u64,
        action: Action,
        census: &mut Census,
        report: &mut Report,
    ) -> (Answer, u64) {
        let first = self.runner.tickets.len() as u64 + 1;
        let step = Step { now: Tick::new(now).unwrap_or(Tick::MAX), action };
        let answer = self.runner.step(&mut self.guard, &self.trace.partitions, &step);
        for output in &answer.outputs {
            if let Output::Sealed(sealed) = output
                && sealed.ended == Ended::Lost
            {
                report.moment(Some(number(sealed.partition)), Happened::Lost);
            }
        }
        self.note_phases(&answer, report);
        if let Some(oracle) = &mut self.oracle {
            census.count(&step, &answer);
            if self.broken.is_none() {
                self.broken = oracle.observe(&step, &answer).err();
            }
            self.trace.steps.push(step);
        }
        (answer, first)
    }

    /// Whether a ticket may be worked on, as a fence tells the workers.
    pub(super) fn is_live(&self, ticket: u64) -> bool {
        let index = usize::try_from(ticket).unwrap_or(usize::MAX).wrapping_sub(1);
        self.runner.tickets.get(index).is_some_and(|ticket| self.guard.is_live(*ticket))
    }

    fn note_phases(&mut self, answer: &Answer, report: &mut Report) {
        for (partition, (old, new)) in (0..).zip(self.last.iter_mut().zip(&answer.progress)) {
            let (before, after) = (phase(*old), phase(*new));
            let other = old.map(|p| p.assignment) != new.map(|p| p.assignment);
            let paused = old.is_some_and(|p| p.paused) != new.is_some_and(|p| p.paused);
            if before != after || (other && after != Phase::Unowned) {
                report.count(transition(before, after));
                report.phase(partition, after);
            }
            if paused {
                report.paused(partition, new.is_some_and(|p| p.paused));
            }
            *old = *new;
        }
    }
}

fn phase(progress: Option<Progress>) -> Phase {
    progress.map_or(Phase::Unowned, |progress| progress.phase)
}

fn transition(before: Phase, after: Phase) -> &'static str {
    match (before, after) {
        (Phase::Unowned, Phase::Active) => "unowned to active",
        (Phase::Active, Phase::Active) => "active to active",
        (Phase::Active, Phase::Draining) => "active to draining",
        (Phase::Active, Phase::Committing) => "active to committing",
        (Phase::Active, Phase::Unowned) => "active to unowned",
        (Phase::Draining, Phase::Committing) => "draining to committing",
        (Phase::Draining, Phase::Unowned) => "draining to unowned",
        (Phase::Draining, Phase::Active) => "draining to active",
        (Phase::Committing, Phase::Unowned) => "committing to unowned",
        (Phase::Committing, Phase::Active) => "committing to active",
        _ => "other transition",
    }
}
