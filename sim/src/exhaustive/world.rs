//! What the environment of the guard knows: the log, what the group holds, what became of each
//! record, which offers may still be answered.

use core::hash::Hash;

use rebalance_guard::{
    Answered, Assignment, CommitAnswer, Hold, Outcome, Output, Partition, Reply, Skip, Verdict,
};

use super::scope::{RECORDS, Scope};
use super::vouch::bit;
use crate::trace::{Action, Answer, Offered, Resumed, Said, Step};

/// The partitions of every search.
pub(super) const PARTITIONS: [Partition; 2] = [Partition::new(0, 0), Partition::new(0, 1)];

pub(super) fn number(partition: Partition) -> usize {
    usize::from(partition == PARTITIONS[1])
}

/// The key of a record, chosen when it is first taken.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Key {
    Open,
    None,
    Of(u8),
}

/// One record and what became of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) key: Key,
    /// Its effect took place, its dead letter was acknowledged, or it was absorbed by such a one.
    pub(super) done: bool,
    /// The client stepped over it, or another owner answered for it.
    pub(super) passed: bool,
    /// Records in flight that vouched for it, a bit each: one of them done, and it is done.
    pub(super) vouchers: u8,
}

/// A commit that was offered.
#[derive(Clone, Debug, Hash)]
pub(super) struct Offer {
    pub(super) assignment: u64,
    pub(super) offset: u64,
    pub(super) text: Vec<u8>,
    pub(super) answered: bool,
}

/// One partition of the log, and the group's memory of it.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) rows: [Row; RECORDS],
    pub(super) len: u8,
    /// What the group holds, with the string beside it.
    pub(super) committed: Option<(u64, Vec<u8>)>,
    /// The highest offset that the group may hold: offered, or told.
    pub(super) highest: u64,
    /// Above everything that was taken in the assignment.
    pub(super) next: u64,
    /// The last offer, and the one before it.
    pub(super) offers: Vec<Offer>,
    /// Numbers of its assignments, the last one last.
    pub(super) assignments: Vec<u64>,
    /// It was assigned without a position, and has none yet.
    pub(super) unknown: bool,
}

/// Everything but the guard and its judge.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) logs: [Log; 2],
    /// Which record each ticket is for.
    pub(super) tickets: Vec<(u8, u8)>,
    pub(super) faults: u8,
    pub(super) keys_used: u8,
}

/// What the environment sees go wrong by itself: promise and detail.
pub(super) type Wrong = (&'static str, String);

impl World {
    pub(super) fn new(scope: &Scope) -> Self {
        let row = Row { key: Key::Open, done: false, passed: false, vouchers: 0 };
        let log = |len| Log {
            rows: [row; RECORDS],
            len,
            committed: None,
            highest: 0,
            next: 0,
            offers: Vec::new(),
            assignments: Vec::new(),
            unknown: false,
        };
        let [first, second] = scope.records;
        Self { logs: [log(first), log(second)], tickets: Vec::new(), faults: 0, keys_used: 0 }
    }

    pub(super) fn row(&self, (log, offset): (u8, u8)) -> &Row {
        &self.logs[usize::from(log)].rows[usize::from(offset)]
    }

    pub(super) fn row_mut(&mut self, (log, offset): (u8, u8)) -> &mut Row {
        &mut self.logs[usize::from(log)].rows[usize::from(offset)]
    }

    /// Learns one step and what was answered to it.
    pub(super) fn learn(&mut self, step: &Step, answer: &Answer) -> Result<(), Wrong> {
        match (&step.action, &answer.said) {
            (Action::Admit(record), Said::Reply(Ok(Reply::Verdict(verdict)))) => {
                self.offered(record, *verdict)?;
            }
            (
                Action::Answer { ticket, outcome },
                Said::Reply(Ok(Reply::Answered(Answered::Done))),
            ) => {
                self.answered(*ticket, *outcome);
            }
            (action, Said::Reply(Ok(Reply::Done | Reply::Stale))) => {
                self.told(action, &answer.said)
            }
            _ => {}
        }
        self.outputs(answer)
    }

    fn outputs(&mut self, answer: &Answer) -> Result<(), Wrong> {
        let mut texts = answer.metadata.iter();
        for output in &answer.outputs {
            match output {
                Output::Commit { partition, offset, token, .. } => {
                    let text = texts.next().cloned().unwrap_or_default();
                    self.commit(*partition, token.assignment, offset.value(), text)?;
                }
                Output::Retry { partition, offset, .. }
                | Output::DeadLetter { partition, offset, .. } => {
                    self.tickets.push(place(*partition, offset.value()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn offered(&mut self, record: &Offered, verdict: Verdict) -> Result<(), Wrong> {
        let at = place(record.partition, record.offset.value());
        if matches!(verdict, Verdict::Refuse(_)) {
            return Ok(());
        }
        let key = match record.key.as_deref() {
            None => Key::None,
            Some(key) => Key::Of(key[0]),
        };
        if let Key::Of(letter) = key {
            self.keys_used = self.keys_used.max(letter - b'a' + 1);
        }
        self.row_mut(at).key = key;
        match verdict {
            Verdict::Run(_) | Verdict::Park(..) => self.tickets.push(at),
            Verdict::Skip(skip) => self.skipped(at, skip)?,
            // It is where reading resumes, though it waits.
            Verdict::Hold(Hold::KeyBusy | Hold::Window | Hold::Budget | Hold::Storm) => {
                self.reaches(usize::from(at.0), u64::from(at.1), 0);
                return Ok(());
            }
            Verdict::Hold(_) | Verdict::Refuse(_) => return Ok(()),
        }
        self.reaches(usize::from(at.0), u64::from(at.1), 1);
        Ok(())
    }

    /// The client's next record lies at `to`; what it steps over is not in its log.
    fn reaches(&mut self, log: usize, to: u64, taken: u64) {
        let log = &mut self.logs[log];
        for (offset, row) in log.rows.iter_mut().enumerate() {
            row.passed |= (log.next..to).contains(&(offset as u64)) && !row.done;
        }
        log.next = log.next.max(to + taken);
    }

    fn skipped(&mut self, at: (u8, u8), skip: Skip) -> Result<(), Wrong> {
        let key = self.row(at).key;
        let others = self.places().filter(|other| *other != at && self.row(*other).key == key);
        match skip {
            Skip::Carried if self.row(at).done || self.is_vouched(self.row(at)) => {}
            Skip::Carried => {
                return Err(("P9", format!("{at:?} was carried in, and nobody finished it")));
            }
            Skip::DuplicateFinished => {
                if !self.row(at).done && !others.clone().any(|other| self.row(other).done) {
                    return Err(("P9", format!("{at:?} is no copy of anything finished")));
                }
                self.finishes(at);
            }
            Skip::DuplicateInFlight => {
                let flying = self.tickets.iter().rev().copied();
                let first = flying.clone().find(|other| self.row(*other).key == key);
                if let Some(first) = first.filter(|first| *first != at) {
                    self.row_mut(at).vouchers |= bit(first);
                }
            }
        }
        Ok(())
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (u8, u8)> + Clone + use<> {
        let [first, second] = [self.logs[0].len, self.logs[1].len];
        (0..first).map(|offset| (0, offset)).chain((0..second).map(|offset| (1, offset)))
    }

    fn answered(&mut self, ticket: u64, outcome: Outcome) {
        let index = usize::try_from(ticket).unwrap_or(usize::MAX).wrapping_sub(1);
        let Some(at) = self.tickets.get(index).copied() else { return };
        if matches!(outcome, Outcome::Completed | Outcome::DeadLettered) {
            self.finishes(at);
        }
    }

    fn told(&mut self, action: &Action, said: &Said) {
        let done = *said == Said::Reply(Ok(Reply::Done));
        match action {
            Action::Assign { partitions, .. } => {
                for (partition, resume) in partitions {
                    self.logs[number(*partition)].assignments.push(0);
                    self.starts(*partition, resume);
                }
            }
            Action::Position { partition, resume, .. } if done => self.starts(*partition, resume),
            Action::Rewind { partition, offset } => {
                self.logs[number(*partition)].assignments.push(0);
                self.starts(*partition, &Resumed::At(*offset));
            }
            Action::GroupOffset { partition, offset, .. } => {
                self.group_holds(*partition, offset.value());
            }
            Action::CommitAnswered { partition, assignment, offset, answer } => {
                self.commit_answered(*partition, *assignment, offset.value(), *answer, done);
            }
            _ => {}
        }
    }

    /// Reading resumes: what lies below and is not done is stepped over.
    fn starts(&mut self, partition: Partition, resume: &Resumed) {
        let log = &mut self.logs[number(partition)];
        log.next = 0;
        log.unknown = *resume == Resumed::Unknown;
        let from = match resume {
            Resumed::Committed { offset, metadata } => {
                // An offer that nobody answered may have landed.
                log.committed = Some((offset.value(), metadata.clone()));
                offset.value()
            }
            Resumed::At(offset) | Resumed::Empty(Some(offset)) => offset.value(),
            Resumed::Empty(None) | Resumed::Unknown => 0,
        };
        if let Resumed::Committed { .. } = resume {
            log.next = from;
        } else {
            self.reaches(number(partition), from, 0);
        }
    }

    /// What somebody else made of the group's offset.
    fn group_holds(&mut self, partition: Partition, offset: u64) {
        let log = &mut self.logs[number(partition)];
        if log.committed.as_ref().is_none_or(|(held, _)| *held != offset) {
            for row in log.rows.iter_mut().take(usize::try_from(offset).unwrap_or(RECORDS)) {
                row.passed |= !row.done;
            }
            log.committed = Some((offset, Vec::new()));
            log.highest = log.highest.max(offset);
        }
    }

    fn commit_answered(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        offset: u64,
        answer: CommitAnswer,
        done: bool,
    ) {
        let log = &mut self.logs[number(partition)];
        let same = |o: &&mut Offer| o.assignment == assignment.value() && o.offset == offset;
        let Some(offer) = log.offers.iter_mut().rev().find(same) else { return };
        offer.answered = true;
        let held = log.committed.as_ref().map(|(held, _)| *held);
        if done && answer == CommitAnswer::Stored && held.is_none_or(|held| held <= offset) {
            log.committed = Some((offset, offer.text.clone()));
        }
    }

    /// No commit passes what is neither done nor vouched for by a record that would come back (P7).
    fn commit(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        offset: u64,
        text: Vec<u8>,
    ) -> Result<(), Wrong> {
        let index = number(partition);
        for (below, row) in self.logs[index].rows.iter().enumerate() {
            if (below as u64) >= offset || row.done || row.passed {
                continue;
            }
            if !self.is_vouched(row) {
                return Err((
                    "P7",
                    format!("commit of {offset} for {partition:?}: {below} is not done"),
                ));
            }
        }
        let log = &mut self.logs[index];
        log.highest = log.highest.max(offset);
        let assignment = assignment.value();
        log.offers.retain(|o| o.assignment != assignment || o.offset != offset);
        log.offers.push(Offer { assignment, offset, text, answered: false });
        if log.offers.len() > 2 {
            log.offers.remove(0);
        }
        Ok(())
    }

    /// Brings the numbers of assignments up to date with what the guard shows.
    pub(super) fn number_assignments(&mut self, answer: &Answer) {
        for (log, progress) in self.logs.iter_mut().zip(&answer.progress) {
            if let (Some(last), Some(progress)) = (log.assignments.last_mut(), progress)
                && *last == 0
            {
                *last = progress.assignment.value();
            }
        }
    }

    /// Everything that decides what the environment may do and what is owed to it.
    pub(super) fn fingerprint(&self, hasher: &mut impl core::hash::Hasher) {
        self.keys_used.hash(hasher);
        for log in &self.logs {
            let current = log.assignments.last();
            for row in log.rows.iter().take(usize::from(log.len)) {
                (row.key, row.done, row.passed).hash(hasher);
                let open = !row.done && !row.passed;
                (if open { row.vouchers } else { 0 }).hash(hasher);
            }
            log.committed.hash(hasher);
            (log.highest, log.next, log.unknown, log.assignments.len() > 1).hash(hasher);
            for offer in &log.offers {
                (offer.offset, &offer.text, offer.answered).hash(hasher);
                (Some(&offer.assignment) == current).hash(hasher);
            }
            log.offers.len().hash(hasher);
        }
    }

    /// What the search itself has left to spend.
    pub(super) fn budget(&self, hasher: &mut impl core::hash::Hasher) {
        self.faults.hash(hasher);
        for log in &self.logs {
            log.assignments.len().hash(hasher);
        }
    }
}

pub(super) fn place(partition: Partition, offset: u64) -> (u8, u8) {
    let log = u8::from(partition == PARTITIONS[1]);
    (log, u8::try_from(offset).expect("logs are short"))
}
