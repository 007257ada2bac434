//! Makes a failing trace short.

use std::collections::BTreeMap;

use rebalance_guard::{Assignment, Output, Partition, Reply, Verdict};

use crate::trace::{Action, Answer, Offered, Runner, Said, Step, Trace};
use crate::{Model, run};

/// The shortest trace found for which `fails` still holds: first halves are dropped, then smaller
/// runs, then single steps, then single entries of what a step lists, until nothing more can go.
///
/// Tickets and assignments are numbers that shift when an earlier step goes, so each candidate is
/// tried as it stands and with its numbers told anew: the same ticket of the same record, the same
/// assignment of the same partition, as the reference model gives them.
pub fn shrink(trace: &Trace, fails: impl Fn(&Trace) -> bool) -> Trace {
    let mut best = trace.clone();
    let mut length = best.steps.len().div_ceil(2).max(1);
    loop {
        let dropped = drop_runs(&mut best, length, &fails);
        if length > 1 {
            length /= 2;
        } else if !dropped && !thin_lists(&mut best, &fails) {
            return best;
        }
    }
}

/// Drops every run of `length` steps that the failure does not need.
fn drop_runs(best: &mut Trace, length: usize, fails: &impl Fn(&Trace) -> bool) -> bool {
    let mut dropped = false;
    // From the end: what came last depends on what came first.
    let mut end = best.steps.len();
    while end > 0 {
        let start = end.saturating_sub(length);
        let mut candidate = best.clone();
        candidate.steps.drain(start..end);
        dropped |= take_if_it_fails(best, candidate, fails);
        end = start.min(best.steps.len());
    }
    dropped
}

/// Drops entries of assigns, revokes, losses and batches, one at a time.
fn thin_lists(best: &mut Trace, fails: &impl Fn(&Trace) -> bool) -> bool {
    let mut thinned = false;
    for step in 0..best.steps.len() {
        let mut entry = 0;
        while let Some(action) = without_entry(&best.steps[step].action, entry) {
            let mut candidate = best.clone();
            candidate.steps[step].action = action;
            if take_if_it_fails(best, candidate, fails) {
                thinned = true;
            } else {
                entry += 1;
            }
        }
    }
    thinned
}

fn without_entry(action: &Action, entry: usize) -> Option<Action> {
    let mut action = action.clone();
    match &mut action {
        Action::Assign { partitions, .. } if entry < partitions.len() => {
            partitions.remove(entry);
        }
        Action::AdmitBatch(records) if entry < records.len() => {
            records.remove(entry);
        }
        Action::Revoke { partitions, .. } if entry < partitions.len() => {
            partitions.remove(entry);
        }
        _ => return None,
    }
    Some(action)
}

/// Replaces `best` by the candidate, with its numbers told anew if need be, when that still fails.
fn take_if_it_fails(best: &mut Trace, candidate: Trace, fails: &impl Fn(&Trace) -> bool) -> bool {
    let anew = renumbered(&Numbers::of(best), candidate.clone());
    if fails(&anew) {
        *best = anew;
        return true;
    }
    if fails(&candidate) {
        *best = candidate;
        return true;
    }
    false
}

/// What ticket and assignment numbers stand for in one run.
#[derive(Default)]
struct Numbers {
    /// Partition, offset, and how many tickets of that record came before.
    tickets: Vec<(Partition, u64, usize)>,
    /// Each partition's assignments in order.
    assignments: BTreeMap<Partition, Vec<Assignment>>,
}

impl Numbers {
    fn of(trace: &Trace) -> Self {
        let mut numbers = Self::default();
        let answers = run(trace, &mut Model::new(trace.config));
        for (step, answer) in trace.steps.iter().zip(&answers) {
            numbers.learn(&trace.partitions, step, answer);
        }
        numbers
    }

    fn learn(&mut self, partitions: &[Partition], step: &Step, answer: &Answer) {
        match (&step.action, &answer.said) {
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
        for output in &answer.outputs {
            if let Output::Retry { partition, offset, .. }
            | Output::DeadLetter { partition, offset, .. } = output
            {
                self.learn_ticket(*partition, offset.value());
            }
        }
        for (partition, progress) in partitions.iter().zip(&answer.progress) {
            let known = self.assignments.entry(*partition).or_default();
            if let Some(progress) = progress
                && known.last() != Some(&progress.assignment)
            {
                known.push(progress.assignment);
            }
        }
    }

    fn learn_verdict(&mut self, record: &Offered, verdict: Verdict) {
        if let Verdict::Run(_) | Verdict::Park(..) = verdict {
            self.learn_ticket(record.partition, record.offset.value());
        }
    }

    fn learn_ticket(&mut self, partition: Partition, offset: u64) {
        let same = |t: &&(Partition, u64, usize)| t.0 == partition && t.1 == offset;
        let before = self.tickets.iter().filter(same).count();
        self.tickets.push((partition, offset, before));
    }

    /// The number here of the ticket that is `number` there; a forged one when it was never given.
    fn ticket(&self, there: &Self, number: u64) -> u64 {
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let name = there.tickets.get(index);
        let here = name.and_then(|name| self.tickets.iter().position(|own| own == name));
        here.map_or(u64::MAX, |here| here as u64 + 1)
    }

    fn assignment(&self, there: &Self, partition: Partition, number: Assignment) -> Assignment {
        let nth = |numbers: &Self| {
            let known = numbers.assignments.get(&partition)?;
            known.iter().position(|known| *known == number)
        };
        let own = self.assignments.get(&partition);
        let here = nth(there).and_then(|nth| own.and_then(|own| own.get(nth)));
        here.copied().unwrap_or(number)
    }
}

/// Tells the candidate with the numbers that its own run gives to what `there` speaks of.
fn renumbered(there: &Numbers, mut candidate: Trace) -> Trace {
    let mut model = Model::new(candidate.config);
    let mut runner = Runner::default();
    let mut here = Numbers::default();
    for step in &mut candidate.steps {
        match &mut step.action {
            Action::Answer { ticket, .. } => *ticket = here.ticket(there, *ticket),
            Action::Position { partition, assignment, .. }
            | Action::GroupOffset { partition, assignment, .. }
            | Action::EndOfPartition { partition, assignment }
            | Action::CommitAnswered { partition, assignment, .. } => {
                *assignment = here.assignment(there, *partition, *assignment);
            }
            _ => {}
        }
        let answer = runner.step(&mut model, &candidate.partitions, step);
        here.learn(&candidate.partitions, step, &answer);
    }
    candidate
}
