//! Assignments that begin and end, in the oracle's books.

use std::collections::BTreeMap;

use rebalance_guard::{Config, Ended, Offset, Output, Partition, Sealed};

use super::books::{Books, Fate, Life, Stage};
use crate::trace::{Answer, LostScope, Resumed};

impl Books {
    /// Drains and waits for last commits end as their ticks come; with `lease_ran_out` everything
    /// else is lost at its tick.
    pub(super) fn pass_time(&mut self, now: u64, lease_ran_out: bool, answer: &Answer) {
        self.now = self.now.max(now);
        let lost_at = self.lease_end(answer).filter(|_| lease_ran_out);
        for partition in self.owned() {
            let Some((number, life)) = self.life(partition) else {
                continue;
            };
            if let Stage::Draining(deadline) = life.stage
                && deadline <= self.now
                && lost_at.is_none_or(|lost| deadline < lost)
            {
                self.seal(number, Ended::Deadline, deadline);
            }
            let Some((number, life)) = self.life(partition) else {
                continue;
            };
            if let Stage::Sealed(at) = life.stage
                && later(at, self.config.commit_timeout) <= self.now
            {
                self.finish(number, Stage::Over);
            }
        }
        if lost_at.is_some() {
            for partition in self.owned() {
                self.lose(partition);
            }
            (self.lease, self.lease_newer) = (None, None);
        }
        if self.owned().is_empty() {
            (self.lease, self.lease_newer) = (None, None);
        }
    }

    pub(super) fn lease_is_over(&self, now: u64, answer: &Answer) -> bool {
        let newer = self.lease_newer.filter(|_| ends_by_deadline(answer));
        let start = newer.or(self.lease);
        start.is_some_and(|start| later(start, self.config.lease) <= self.now.max(now))
    }

    /// When a lease ended that is over. Where it is unsure which assign began it, a drain that is
    /// told to have ended by its deadline says that it was the later one.
    fn lease_end(&self, answer: &Answer) -> Option<u64> {
        let end = |start| later(start, self.config.lease);
        let newer = self.lease_newer.filter(|_| ends_by_deadline(answer)).map(end);
        newer.filter(|end| *end <= self.now).or_else(|| self.lease.map(end))
    }

    pub(super) fn polled(&mut self) {
        self.lease = self.lease.map(|_| self.now);
        self.lease_newer = None;
    }

    /// The report that must come, and what is left of the assignment.
    pub(super) fn seal(&mut self, number: u64, ended: Ended, at: u64) {
        let Some(life) = self.lives.get_mut(&number) else {
            return;
        };
        for entry in life.entries.values_mut() {
            if entry.fate != Fate::Finished {
                entry.fate = Fate::GivenUp;
            }
        }
        life.owed.clear();
        let mark = life.mark().filter(|_| life.known);
        let sealed = Sealed {
            partition: life.partition,
            assignment: rebalance_guard::Assignment::new(number).expect("numbers begin at 1"),
            ended,
            mark: mark.and_then(|mark| Offset::new(mark).ok()),
            left: life.left(),
        };
        let stage = match ended {
            Ended::Drained | Ended::Deadline => Stage::Sealed(at),
            Ended::Lost => Stage::Lost,
            Ended::Replaced | Ended::Rewound => Stage::Over,
        };
        life.stage = stage;
        self.expected.push(sealed);
    }

    pub(super) fn finish(&mut self, number: u64, stage: Stage) {
        if let Some(life) = self.lives.get_mut(&number) {
            life.stage = stage;
        }
    }

    pub(super) fn lose(&mut self, partition: Partition) {
        let Some((number, life)) = self.life(partition) else {
            return;
        };
        if life.runs() {
            self.seal(number, Ended::Lost, self.now);
        } else {
            self.finish(number, Stage::Lost);
        }
    }

    pub(super) fn lost(&mut self, scope: &LostScope) {
        let named = match scope {
            LostScope::Some(partitions) => partitions.clone(),
            LostScope::All | LostScope::Fatal => self.owned(),
        };
        for partition in named {
            self.lose(partition);
        }
    }

    pub(super) fn assigned(&mut self, entries: &[(Partition, Resumed)]) {
        let owned_before = self.owned();
        let runs = |p: &Partition| self.life(*p).is_some_and(|(_, life)| life.runs());
        let some_runs = owned_before.iter().any(runs);
        let mut order = Vec::new();
        let mut resumes = BTreeMap::new();
        for (partition, resume) in entries {
            if resumes.insert(*partition, resume.clone()).is_none() {
                order.push(*partition);
            }
        }
        for partition in &order {
            if let Some((number, life)) = self.life(*partition) {
                match life.stage {
                    Stage::Active => self.seal(number, Ended::Lost, self.now),
                    Stage::Draining(_) => self.seal(number, Ended::Replaced, self.now),
                    _ => self.finish(number, Stage::Over),
                }
            }
            let number = self.begin(*partition);
            let config = self.config;
            if let (Some(life), Some(resume)) =
                (self.lives.get_mut(&number), resumes.get(partition))
            {
                life.resume_at(resume, &config);
            }
        }
        if !order.is_empty() && owned_before.is_empty() {
            (self.lease, self.lease_newer) = (Some(self.now), None);
        } else if !order.is_empty() && !some_runs {
            // A sealed partition may be gone already: then this assign began the lease.
            self.lease_newer = Some(self.now);
        }
    }

    fn begin(&mut self, partition: Partition) -> u64 {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let life = Life {
            partition,
            stage: Stage::Active,
            known: false,
            resume: None,
            entries: BTreeMap::new(),
            owed: std::collections::BTreeSet::new(),
            offers: Vec::new(),
            confirmed: None,
            floor: 0,
            carried: Vec::new(),
            carried_epoch: None,
        };
        self.lives.insert(number, life);
        self.current.insert(partition, number);
        number
    }

    pub(super) fn rewound(&mut self, partition: Partition, to: u64) {
        if let Some((number, _)) = self.life(partition) {
            self.seal(number, Ended::Rewound, self.now);
        }
        let number = self.begin(partition);
        if let Some(life) = self.lives.get_mut(&number) {
            life.known = true;
            life.resume = Some(to);
        }
    }

    pub(super) fn revoked(&mut self, partitions: &[Partition], deadline: u64) {
        let now = self.now;
        for partition in partitions {
            let Some(life) = self.life_mut(*partition) else {
                continue;
            };
            let asked = deadline.max(now);
            life.stage = match life.stage {
                Stage::Active => Stage::Draining(asked),
                Stage::Draining(before) => Stage::Draining(before.min(asked)),
                other => other,
            };
            for entry in life.entries.values_mut() {
                if matches!(entry.fate, Fate::Waiting(_)) {
                    entry.fate = Fate::GivenUp;
                }
            }
        }
        for partition in partitions {
            self.end_drain_if_done(*partition);
        }
    }

    pub(super) fn end_drain_if_done(&mut self, partition: Partition) {
        let Some((number, life)) = self.life(partition) else {
            return;
        };
        let Stage::Draining(deadline) = life.stage else {
            return;
        };
        if !life.in_hands() {
            self.seal(number, Ended::Drained, self.now);
        } else if deadline <= self.now {
            self.seal(number, Ended::Deadline, self.now);
        }
    }
}

impl Life {
    pub(super) fn resume_at(&mut self, resume: &Resumed, config: &Config) {
        self.carry(resume, config);
        self.known = *resume != Resumed::Unknown;
        self.resume = match resume {
            Resumed::Committed { offset, .. }
            | Resumed::At(offset)
            | Resumed::Empty(Some(offset)) => Some(offset.value()),
            Resumed::Empty(None) | Resumed::Unknown => None,
        };
        if let Resumed::Committed { offset, .. } = resume {
            self.confirmed = Some(offset.value());
        }
        if let Some(resume) = self.resume {
            self.owed.retain(|offset| *offset >= resume);
        }
    }
}

fn ends_by_deadline(answer: &Answer) -> bool {
    let by_deadline =
        |output: &Output| matches!(output, Output::Sealed(Sealed { ended: Ended::Deadline, .. }));
    answer.outputs.iter().any(by_deadline)
}

/// A tick `span` later, at most the latest tick there is.
pub(super) fn later(tick: u64, span: u64) -> u64 {
    tick.saturating_add(span).min(rebalance_guard::Tick::MAX.value())
}
