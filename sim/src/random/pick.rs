//! Which input comes next.

use rebalance_guard::{
    Assignment, CommitAnswer, Offset, Outcome, Partition, Phase, Tick, TicketKind,
};

use super::{Driver, Handed};
use crate::trace::Resumed;
use crate::trace::{Action, LostScope, Offered, Step};

impl Driver {
    pub(super) fn pick(&mut self) -> Step {
        let action = self.action();
        let now = self.clock();
        Step { now, action }
    }

    fn clock(&mut self) -> Tick {
        let lease = self.trace.config.lease.min(1_000);
        let now = match self.rng.u32(0..1_000) {
            0..600 => self.now,
            600..850 => self.now + self.rng.u64(1..6),
            850..950 => self.now + self.rng.u64(5..40),
            950..962 => self.now + self.rng.u64(1..lease + 20),
            962..992 => self.now.saturating_sub(self.rng.u64(1..50)),
            999 if self.rng.u8(0..40) == 0 => Tick::MAX.value() - self.rng.u64(0..40),
            _ => self.now + self.rng.u64(40..120),
        };
        self.tick(now)
    }

    fn action(&mut self) -> Action {
        let mood = self.mood;
        let owned = self.owned().len() as u32;
        let steady = 6;
        let moves = if owned == 0 { mood.move_ + 40 } else { mood.move_ };
        let admit = if owned == 0 { mood.admit / 8 } else { mood.admit };
        let weights = [admit, mood.answer, mood.commit, moves, mood.odd, steady];
        let mut roll = self.rng.u32(0..weights.iter().sum());
        let mut chosen = 0;
        for (index, weight) in weights.iter().enumerate() {
            if roll < *weight {
                chosen = index;
                break;
            }
            roll -= weight;
        }
        match chosen {
            0 => self.offer(),
            1 => self.answer(),
            2 => self.commit_answer(),
            3 => self.movement(),
            4 => self.oddity(),
            _ => self.steady(),
        }
    }

    fn steady(&mut self) -> Action {
        if self.rng.u8(0..3) == 0 { Action::Tick } else { Action::Polled }
    }

    fn offer(&mut self) -> Action {
        if self.rng.u8(0..12) == 0 {
            let count = self.rng.usize(0..5);
            return Action::AdmitBatch((0..count).map(|_| self.record()).collect());
        }
        Action::Admit(self.record())
    }

    fn record(&mut self) -> Offered {
        let again = self.rng.u8(0..12) == 0 && !self.recent.is_empty();
        if again {
            let index = self.rng.usize(0..self.recent.len());
            return self.recent[index].clone();
        }
        let partition = self.some_partition();
        let offset = self.next_offset(partition);
        let key = self.key(partition, offset);
        let attempts = if self.rng.u8(0..12) == 0 { self.rng.u16(0..6) } else { 0 };
        let namespace = u32::from(self.rng.u8(0..30) == 0);
        let leader_epoch = self.epoch_of_a_record();
        Offered { partition, offset: clamp(offset), key, attempts, namespace, leader_epoch }
    }

    fn next_offset(&mut self, partition: Partition) -> u64 {
        let Some(log) = self.logs.get(&partition) else {
            return 0;
        };
        let (next, top) = (log.next, log.top);
        let owed = log.progress.and_then(|p| p.owed).map(Offset::value);
        match self.rng.u32(0..100) {
            0..25 if owed.is_some() => owed.unwrap_or(0),
            0..80 => next,
            80..88 => next + self.rng.u64(1..4),
            88..94 => next.saturating_sub(self.rng.u64(1..6)),
            94..97 => self.abandoned_or(partition, next),
            97 => top,
            98 if self.rng.u8(0..10) == 0 => i64::MAX as u64 - self.rng.u64(0..2),
            _ => self.rng.u64(0..top + 2),
        }
    }

    fn abandoned_or(&mut self, partition: Partition, next: u64) -> u64 {
        let done: Vec<u64> =
            self.done.iter().filter(|h| h.partition == partition).map(|h| h.offset).collect();
        if done.is_empty() { next } else { done[self.rng.usize(0..done.len())] }
    }

    /// A log says the same at the same offset, mostly.
    fn key(&mut self, partition: Partition, offset: u64) -> Option<Vec<u8>> {
        let place = offset.wrapping_mul(7) ^ (partition.index as u64) << 3 ^ self.trace.seed;
        let mut content = fastrand::Rng::with_seed(place);
        if self.rng.u8(0..15) == 0 {
            content = self.rng.fork();
        }
        match content.u32(0..400) {
            0..8 => None,
            8..12 => Some(b"".to_vec()),
            12..16 => Some(b" \t\r\n".to_vec()),
            16..40 => Some(vec![b'a' + content.u8(0..3); 40]),
            40..64 => Some(vec![b'a' + content.u8(0..3); 41]),
            64..72 => Some(vec![b'l'; 300]),
            72 => Some(vec![b'm'; 65_535]),
            73 => Some(vec![b'n'; 65_536]),
            _ => Some(format!("k{}", content.u8(0..14)).into_bytes()),
        }
    }

    fn answer(&mut self) -> Action {
        let stale = self.rng.u8(0..100) < self.mood.stale;
        if stale {
            return self.stale_answer();
        }
        if self.open.is_empty() {
            return self.offer();
        }
        let recent = self.open.len().saturating_sub(10);
        let index = self.rng.usize(recent..self.open.len());
        let handed = self.open.swap_remove(index);
        let outcome = self.outcome(&handed);
        let ticket = handed.number;
        self.done.push(handed);
        Action::Answer { ticket, outcome }
    }

    fn outcome(&mut self, handed: &Handed) -> Outcome {
        let wrong = self.rng.u8(0..40) == 0;
        let roll = self.rng.u8(0..100);
        if roll < self.mood.failing {
            return Outcome::Failed { permanent: self.rng.u8(0..6) == 0 };
        }
        if self.rng.u8(0..8) == 0 {
            return Outcome::Abandoned;
        }
        match (handed.ticket.kind(), wrong) {
            (TicketKind::Run, false) | (TicketKind::DeadLetter, true) => Outcome::Completed,
            _ => Outcome::DeadLettered,
        }
    }

    fn stale_answer(&mut self) -> Action {
        let outcome = [
            Outcome::Completed,
            Outcome::Abandoned,
            Outcome::Abandoned,
            Outcome::DeadLettered,
            Outcome::Failed { permanent: false },
        ][self.rng.usize(0..5)];
        let ticket = if self.done.is_empty() || self.rng.u8(0..10) == 0 {
            self.rng.u64(0..self.runner.tickets.len() as u64 + 3)
        } else {
            let from = self.done.len().saturating_sub(12);
            self.done[self.rng.usize(from..self.done.len())].number
        };
        Action::Answer { ticket, outcome }
    }

    fn commit_answer(&mut self) -> Action {
        if self.offers.is_empty() && self.rng.u8(0..3) != 0 {
            return self.answer();
        }
        let fresh = !self.offers.is_empty() && self.rng.u8(0..8) != 0;
        let (partition, assignment, offset) = if fresh {
            let index = self.rng.usize(0..self.offers.len());
            let offer = self.offers.swap_remove(index);
            self.past_offers.push(offer);
            offer
        } else if self.past_offers.is_empty() {
            let partition = self.some_partition();
            (partition, self.assignment_of(partition), clamp(self.rng.u64(0..20)))
        } else {
            self.past_offers[self.rng.usize(0..self.past_offers.len())]
        };
        let answer = match self.rng.u32(0..100) {
            0..60 => CommitAnswer::Stored,
            60..78 => CommitAnswer::Retry,
            78..92 => CommitAnswer::Rejected,
            92..99 => CommitAnswer::NotMine,
            _ if self.rng.u8(0..6) == 0 => CommitAnswer::Fatal,
            _ => CommitAnswer::Stored,
        };
        let odd = self.rng.u8(0..30) == 0;
        let offset = if odd { clamp(offset.value() + self.rng.u64(0..3)) } else { offset };
        Action::CommitAnswered { partition, assignment, offset, answer }
    }

    fn movement(&mut self) -> Action {
        let owned = self.owned();
        let room = self.trace.partitions.len() > owned.len();
        match self.rng.u32(0..100) {
            0..40 if room || self.rng.u8(0..4) == 0 => self.assign(),
            _ if owned.is_empty() && self.rng.u8(0..4) != 0 => self.assign(),
            0..84 => {
                let deadline = self.deadline();
                Action::Revoke { partitions: self.some_of(&owned), deadline }
            }
            84..94 => Action::Lost(LostScope::Some(self.some_of(&owned))),
            94..98 => Action::Lost(LostScope::All),
            _ if self.rng.u8(0..8) == 0 => Action::Lost(LostScope::Fatal),
            _ => Action::Lost(LostScope::Some(Vec::new())),
        }
    }

    fn deadline(&mut self) -> Tick {
        let value = match self.rng.u32(0..10) {
            0 => self.now.saturating_sub(self.rng.u64(0..10)),
            1 => self.now,
            2 => Tick::MAX.value(),
            _ => self.now + self.rng.u64(1..60),
        };
        self.tick(value)
    }

    /// Some of `owned` and now and then one that is not.
    fn some_of(&mut self, owned: &[Partition]) -> Vec<Partition> {
        let all = self.rng.bool();
        let mut chosen: Vec<Partition> =
            owned.iter().copied().filter(|_| all || self.rng.bool()).collect();
        if self.rng.u8(0..5) == 0 {
            chosen.push(self.any_partition());
        }
        self.rng.shuffle(&mut chosen);
        chosen
    }

    fn assign(&mut self) -> Action {
        let count = [0, 1, 1, 1, 1, 2, 2, 3][self.rng.usize(0..8)];
        let mut partitions = Vec::new();
        for _ in 0..count {
            let partition = self.unowned_partition();
            partitions.push((partition, self.resume(partition)));
        }
        if self.rng.u8(0..60) == 0 {
            partitions.push((Partition::new(0, -1), Resumed::Unknown));
        }
        Action::Assign { generation: self.generation(), partitions }
    }

    fn generation(&mut self) -> Option<i32> {
        // Half of the traces know their generations, half do not; a few mix.
        let known = self.trace.seed.is_multiple_of(2);
        if known == (self.rng.u8(0..20) != 0) {
            self.generation += i32::from(self.rng.u8(0..4) != 0);
            return Some(self.generation.max(1));
        }
        [None, None, Some(0), Some(-1)][self.rng.usize(0..4)]
    }

    fn resume(&mut self, partition: Partition) -> Resumed {
        let Some(log) = self.logs.get(&partition) else {
            return Resumed::Unknown;
        };
        let (next, top) = (log.next, log.top);
        let back = next.saturating_sub(self.rng.u64(0..8));
        let offset = match self.rng.u32(0..10) {
            0 => self.rng.u64(0..top + 3),
            1 => 0,
            2 => next,
            3 if self.rng.u8(0..10) == 0 => i64::MAX as u64 - self.rng.u64(0..3),
            _ => back,
        };
        match self.rng.u32(0..20) {
            0..10 => self.committed(partition, offset),
            10..12 => Resumed::Empty(None),
            12..14 => Resumed::Empty(Some(clamp(offset))),
            14..17 => Resumed::At(clamp(offset)),
            _ => Resumed::Unknown,
        }
    }

    fn oddity(&mut self) -> Action {
        let partition = self.some_partition();
        let assignment = self.assignment_of(partition);
        match self.rng.u32(0..12) {
            0..4 => {
                let partition = self.unknown_partition().unwrap_or(partition);
                let assignment = self.assignment_of(partition);
                Action::Position { partition, assignment, resume: self.resume(partition) }
            }
            4..7 => Action::Rewind { partition, offset: self.rewind_offset(partition) },
            7..10 => {
                Action::GroupOffset { partition, assignment, offset: self.near_mark(partition) }
            }
            _ => Action::EndOfPartition { partition, assignment },
        }
    }

    fn rewind_offset(&mut self, partition: Partition) -> Offset {
        let mark = self.mark(partition);
        let offset = match self.rng.u32(0..10) {
            0 => mark + self.rng.u64(1..3),
            1..4 => mark,
            _ => mark.saturating_sub(self.rng.u64(0..6)),
        };
        clamp(offset)
    }

    fn near_mark(&mut self, partition: Partition) -> Offset {
        let mark = self.mark(partition);
        clamp((mark + self.rng.u64(0..3)).saturating_sub(self.rng.u64(0..5)))
    }

    fn mark(&self, partition: Partition) -> u64 {
        let progress = self.logs.get(&partition).and_then(|log| log.progress);
        progress.and_then(|p| p.mark).map_or(0, Offset::value)
    }

    /// Mostly the current one, now and then one that is over or was never given.
    fn assignment_of(&mut self, partition: Partition) -> Assignment {
        let seen = self.logs.get(&partition).map_or(&[][..], |log| &log.assignments);
        let roll = self.rng.u8(0..20);
        let forged = Assignment::new(self.rng.u64(1..2_000)).expect("at least 1");
        match (seen, roll) {
            ([], _) | (_, 0) => forged,
            (seen, 1) => seen[self.rng.usize(0..seen.len())],
            ([.., last], _) => *last,
        }
    }

    fn unknown_partition(&self) -> Option<Partition> {
        let unknown = |p: &Partition| {
            let progress = self.logs.get(p).and_then(|log| log.progress);
            progress.is_some_and(|p| p.phase == Phase::Active && p.mark.is_none())
        };
        self.trace.partitions.iter().copied().find(unknown)
    }

    fn any_partition(&mut self) -> Partition {
        let index = self.rng.usize(0..self.trace.partitions.len());
        self.trace.partitions[index]
    }

    /// One that is owned, mostly.
    fn some_partition(&mut self) -> Partition {
        let owned = self.owned();
        if owned.is_empty() || self.rng.u8(0..25) == 0 {
            return self.any_partition();
        }
        owned[self.rng.usize(0..owned.len())]
    }

    /// One that is not owned, mostly.
    fn unowned_partition(&mut self) -> Partition {
        let owned = self.owned();
        let free: Vec<Partition> =
            self.trace.partitions.iter().copied().filter(|p| !owned.contains(p)).collect();
        if free.is_empty() || self.rng.u8(0..8) == 0 {
            return self.any_partition();
        }
        free[self.rng.usize(0..free.len())]
    }
}

pub(super) fn clamp(value: u64) -> Offset {
    Offset::new(value).unwrap_or(Offset::MAX)
}
