//! Seeded random traces. The generator drives a guard as a host would, and as no host should: it
//! learns from the answers which tickets, offsets and assignments exist, and uses them, stale ones
//! included.

mod metadata;
mod pick;
mod settings;

use std::collections::BTreeMap;

use rebalance_guard::{
    Assignment, Config, Offset, Output, Partition, Phase, Progress, Reply, Tick, Ticket, Verdict,
};

use crate::trace::{Action, Answer, Offered, Runner, Said, Step, Trace};
use crate::{Model, Subject};

pub use settings::{config, partitions};

/// A trace of `steps` inputs from `seed`, made by driving the reference model.
pub fn trace(seed: u64, steps: usize) -> Trace {
    let config = config(seed);
    trace_on(seed, steps, config, &mut Model::new(config)).0
}

/// A trace made by driving `subject`, a fresh guard of `config`, and what it answered.
pub fn trace_on(
    seed: u64,
    steps: usize,
    config: Config,
    subject: &mut impl Subject,
) -> (Trace, Vec<Answer>) {
    let mut driver = Driver::new(seed, config);
    let mut answers = Vec::with_capacity(steps);
    for _ in 0..steps {
        let step = driver.pick();
        let answer = driver.runner.step(subject, &driver.trace.partitions, &step);
        driver.learn(&step, &answer);
        driver.trace.steps.push(step);
        answers.push(answer);
    }
    (driver.trace, answers)
}

/// What the generator does most in one trace.
#[derive(Clone, Copy, Debug)]
struct Mood {
    /// Weight of offering records.
    admit: u32,
    /// Weight of answering tickets.
    answer: u32,
    /// Weight of answering commits.
    commit: u32,
    /// Weight of assigns, revokes and losses.
    move_: u32,
    /// Weight of oddities: positions, rewinds, group offsets, ends of partitions.
    odd: u32,
    /// Percent of answers that are failures.
    failing: u8,
    /// Percent of stale or forged names among answers.
    stale: u8,
}

/// A log as the generator imagines it.
#[derive(Clone, Debug, Default)]
struct Log {
    /// The next offset to offer.
    next: u64,
    /// The highest offset ever offered.
    top: u64,
    /// Every assignment number seen.
    assignments: Vec<Assignment>,
    /// The last thing read of its progress.
    progress: Option<Progress>,
    /// Committed offsets and their strings, as offered.
    strings: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Debug)]
struct Handed {
    number: u64,
    ticket: Ticket,
    partition: Partition,
    offset: u64,
}

#[derive(Debug)]
struct Driver {
    rng: fastrand::Rng,
    mood: Mood,
    now: u64,
    runner: Runner,
    logs: BTreeMap<Partition, Log>,
    /// Tickets not answered yet, as far as the generator knows.
    open: Vec<Handed>,
    /// Tickets answered once.
    done: Vec<Handed>,
    offers: Vec<(Partition, Assignment, Offset)>,
    past_offers: Vec<(Partition, Assignment, Offset)>,
    /// Records offered lately, for offering them again.
    recent: Vec<Offered>,
    generation: i32,
    leader_epoch: u32,
    trace: Trace,
}

impl Driver {
    fn new(seed: u64, config: Config) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x7261_6E64);
        let partitions = partitions(seed);
        let mood = Mood {
            admit: rng.u32(20..60),
            answer: rng.u32(15..45),
            commit: rng.u32(3..15),
            move_: rng.u32(2..14),
            odd: rng.u32(1..8),
            failing: rng.u8(0..60),
            stale: rng.u8(0..20),
        };
        let logs = partitions.iter().map(|p| (*p, Log::default())).collect();
        Self {
            rng,
            mood,
            now: 0,
            runner: Runner::default(),
            logs,
            open: Vec::new(),
            done: Vec::new(),
            offers: Vec::new(),
            past_offers: Vec::new(),
            recent: Vec::new(),
            generation: 0,
            leader_epoch: 3,
            trace: Trace { seed, config, partitions, steps: Vec::new() },
        }
    }

    fn learn(&mut self, step: &Step, answer: &Answer) {
        self.now = self.now.max(step.now.value());
        self.learn_said(step, &answer.said);
        let mut strings = answer.metadata.iter();
        for output in &answer.outputs {
            match *output {
                Output::Retry { ticket, partition, offset }
                | Output::DeadLetter { ticket, partition, offset, .. } => {
                    self.handed(ticket, partition, offset.value());
                }
                Output::Commit { partition, offset, token, .. } => {
                    self.offers.push((partition, token.assignment, offset));
                    if let (Some(log), Some(text)) = (self.logs.get_mut(&partition), strings.next())
                        && !text.is_empty()
                    {
                        log.strings.push((offset.value(), text.clone()));
                    }
                }
                _ => {}
            }
        }
        for (partition, progress) in self.trace.partitions.iter().zip(&answer.progress) {
            let Some(log) = self.logs.get_mut(partition) else {
                continue;
            };
            if let Some(new) = progress {
                let known = log.assignments.last() == Some(&new.assignment);
                if !known {
                    log.assignments.push(new.assignment);
                    log.next = new.mark.map_or(log.next, Offset::value);
                } else if log.progress.is_some_and(|old| old.mark.is_none()) {
                    log.next = new.mark.map_or(log.next, Offset::value);
                }
            }
            log.progress = *progress;
        }
        self.retire();
    }

    /// Moves tickets and offers of ended assignments to the stale ones.
    fn retire(&mut self) {
        let logs = &self.logs;
        let current = |partition: &Partition, assignment: Assignment| {
            let progress = logs.get(partition).and_then(|log| log.progress);
            progress.is_some_and(|progress| progress.assignment == assignment)
        };
        let (open, dead): (Vec<_>, Vec<_>) =
            self.open.drain(..).partition(|h| current(&h.partition, h.ticket.assignment()));
        self.open = open;
        self.done.extend(dead);
        let (offers, past): (Vec<_>, Vec<_>) = self
            .offers
            .drain(..)
            .partition(|(partition, assignment, _)| current(partition, *assignment));
        self.offers = offers;
        self.past_offers.extend(past);
        let extra = self.done.len().saturating_sub(40);
        self.done.drain(..extra);
        let extra = self.past_offers.len().saturating_sub(20);
        self.past_offers.drain(..extra);
    }

    fn learn_said(&mut self, step: &Step, said: &Said) {
        match (&step.action, said) {
            (Action::Admit(record), Said::Reply(Ok(Reply::Verdict(verdict)))) => {
                self.learn_verdict(record, *verdict);
            }
            (Action::AdmitBatch(records), Said::Batch(verdicts)) => {
                for (record, verdict) in records.iter().zip(verdicts) {
                    self.learn_verdict(record, *verdict);
                }
            }
            _ => {}
        }
    }

    fn learn_verdict(&mut self, record: &Offered, verdict: Verdict) {
        let offset = record.offset.value();
        let Some(log) = self.logs.get_mut(&record.partition) else {
            return;
        };
        log.top = log.top.max(offset);
        match verdict {
            Verdict::Run(ticket) | Verdict::Park(ticket, _) => {
                log.next = offset.saturating_add(1);
                self.handed(ticket, record.partition, offset);
            }
            Verdict::Skip(_) => log.next = log.next.max(offset.saturating_add(1)),
            Verdict::Hold(_) | Verdict::Refuse(_) => {}
        }
        self.recent.push(record.clone());
        if self.recent.len() > 12 {
            self.recent.remove(0);
        }
    }

    fn handed(&mut self, ticket: Ticket, partition: Partition, offset: u64) {
        let number = self.runner.tickets.iter().position(|t| *t == ticket);
        let number = number.map_or(0, |index| index as u64 + 1);
        self.open.push(Handed { number, ticket, partition, offset });
    }

    fn owned(&self) -> Vec<Partition> {
        let active = |log: &Log| log.progress.is_some_and(|p| p.phase == Phase::Active);
        self.logs.iter().filter(|(_, log)| active(log)).map(|(p, _)| *p).collect()
    }

    fn tick(&self, value: u64) -> Tick {
        Tick::new(value).unwrap_or(Tick::MAX)
    }
}
