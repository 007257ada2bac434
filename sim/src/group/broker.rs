//! The group coordinator: members, offsets, and the commits that it takes without asking who owns
//! what.

mod classic;
mod consumer;

use std::collections::{BTreeMap, BTreeSet};

use super::options::{CommitFault, Options, Protocol, Reset};
use super::wire::{Code, Commit, From, Request, Response, Wire};

/// A member as the coordinator knows it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Where its answers go.
    pub(super) from: From,
    /// The last sign of life.
    seen: u64,
    /// It waits for the rebalance to end.
    joined: bool,
    /// What it says that it owns.
    owned: BTreeSet<u32>,
    /// What it was given.
    assigned: BTreeSet<u32>,
    /// KIP-848: its epoch, and the one before.
    epoch: i32,
    before: i32,
    /// KIP-848: what was given since when and not acknowledged yet.
    asked: Option<u64>,
    /// A static member that left to come back.
    away: bool,
}

impl Member {
    fn new(from: From, now: u64) -> Self {
        Self {
            from,
            seen: now,
            joined: false,
            owned: BTreeSet::new(),
            assigned: BTreeSet::new(),
            epoch: 0,
            before: 0,
            asked: None,
            away: false,
        }
    }

    fn holds(&self, partition: u32) -> bool {
        self.owned.contains(&partition) || self.assigned.contains(&partition)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Empty,
    /// Members are to join until then.
    Preparing(u64),
    /// Joined; the assignment has not gone out.
    Completing,
    Stable,
}

/// A committed offset and the string beside it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Stored {
    pub(super) offset: u64,
    pub(super) metadata: Vec<u8>,
}

/// What a commit did.
pub(super) struct Applied {
    pub(super) partition: u32,
    pub(super) before: Option<u64>,
    pub(super) offset: u64,
    /// Whether whoever sent it owns the partition.
    pub(super) by_owner: bool,
}

pub(super) struct Broker {
    protocol: Protocol,
    session: u64,
    max_poll: u64,
    partitions: u32,
    state: State,
    generation: i32,
    members: BTreeMap<u64, Member>,
    next_member: u64,
    fenced: BTreeSet<u64>,
    target: BTreeMap<u64, BTreeSet<u32>>,
    pub(super) committed: BTreeMap<u32, Stored>,
    pub(super) rebalances: u64,
    /// Answers are late by so much until then.
    pub(super) slow: (u64, u64),
    /// Commits fail until then.
    pub(super) failing: (u64, CommitFault),
}

impl Broker {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            protocol: options.protocol,
            session: options.session_ms,
            max_poll: options.max_poll_ms,
            partitions: options.partitions,
            state: State::Empty,
            generation: i32::from(options.protocol == Protocol::Consumer),
            members: BTreeMap::new(),
            next_member: 0,
            fenced: BTreeSet::new(),
            target: BTreeMap::new(),
            committed: BTreeMap::new(),
            rebalances: 0,
            slow: (0, 0),
            failing: (0, CommitFault::NotStored),
        }
    }

    /// Answers one request; a commit that was stored is told.
    pub(super) fn serve(
        &mut self,
        now: u64,
        from: From,
        request: Request,
        wire: &mut Wire,
    ) -> Option<Applied> {
        match request {
            Request::Commit(commit) => return self.commit(now, from, commit, wire),
            Request::Join { member, owned } => self.join(now, from, member, &owned, wire),
            Request::Sync { member, generation } => {
                let response = self.sync(now, from, member, generation);
                wire.answer(now, from, response);
            }
            Request::Heartbeat { member, generation } => {
                let code = self.heartbeat(now, member, generation);
                wire.answer(now, from, Response::Heartbeat(code));
            }
            Request::Reconcile { member, epoch, owned } => {
                let response = self.reconcile(now, from, member, epoch, &owned);
                wire.answer(now, from, response);
            }
            Request::Leave { member, keep } => self.leave(now, member, keep),
        }
        None
    }

    /// Lets time pass: sessions and rebalances end.
    pub(super) fn tick(&mut self, now: u64, wire: &mut Wire) {
        let late = |member: &Member| member.seen + self.session <= now && !member.joined;
        let gone: Vec<u64> =
            self.members.iter().filter(|(_, m)| late(m)).map(|(id, _)| *id).collect();
        for member in gone {
            self.remove(now, member);
        }
        match self.protocol {
            Protocol::Consumer => self.fence_late(now),
            _ => self.end_preparing(now, wire),
        }
    }

    fn remove(&mut self, now: u64, member: u64) {
        if self.members.remove(&member).is_none() {
            return;
        }
        match self.protocol {
            Protocol::Consumer => self.retarget(),
            _ => self.prepare(now),
        }
    }

    fn leave(&mut self, now: u64, member: u64, keep: bool) {
        if keep && self.protocol == Protocol::Consumer {
            if let Some(member) = self.members.get_mut(&member) {
                member.away = true;
                member.owned.clear();
            }
        } else if !keep {
            self.remove(now, member);
        }
    }

    /// Whether this client owns the partition as far as the coordinator knows.
    pub(super) fn is_owner(&self, address: u64, partition: u32) -> bool {
        self.members.values().any(|m| m.from.address == address && m.holds(partition))
    }

    fn commit(&mut self, now: u64, from: From, commit: Commit, wire: &mut Wire) -> Option<Applied> {
        let mut code = self.commit_code(&commit);
        let mut stored = code == Code::Ok;
        if stored && now < self.failing.0 {
            (code, stored) = match self.failing.1 {
                CommitFault::NotStored => (Code::TimedOut, false),
                CommitFault::InDoubt => (Code::TimedOut, true),
                CommitFault::TooLarge if !commit.metadata.is_empty() => {
                    (Code::MetadataTooLarge, false)
                }
                CommitFault::TooLarge => (code, stored),
            };
        }
        let response = Response::Commit { tag: commit.tag, code };
        if now < self.slow.0 {
            wire.answer_late(now, self.slow.1, from, response);
        } else {
            wire.answer(now, from, response);
        }
        if !stored {
            return None;
        }
        if let Some(member) = self.members.get_mut(&commit.member) {
            member.seen = now;
        }
        let by_owner = self.members.get(&commit.member).is_some_and(|m| m.holds(commit.partition));
        let entry = Stored { offset: commit.offset, metadata: commit.metadata };
        let before = self.committed.insert(commit.partition, entry).map(|stored| stored.offset);
        Some(Applied { partition: commit.partition, before, offset: commit.offset, by_owner })
    }

    /// Somebody else writes an offset; never forwards.
    pub(super) fn reset(&mut self, partition: u32, kind: Reset) -> Option<&'static str> {
        let stored = self.committed.get_mut(&partition)?;
        let back = stored.offset.saturating_sub(2);
        let (name, offset, metadata) = match kind {
            Reset::Gone => {
                self.committed.remove(&partition);
                return Some("fault reset, gone");
            }
            Reset::Back => ("fault reset, back", back, Vec::new()),
            Reset::Foreign => ("fault reset, foreign", stored.offset, b"lag=3".to_vec()),
            Reset::Version => ("fault reset, version", stored.offset, b"rg2;0;0".to_vec()),
            Reset::TooLong => ("fault reset, too long", stored.offset, vec![b'x'; 4_000]),
            Reset::Base if stored.metadata.is_empty() => return None,
            Reset::Base => ("fault reset, base", back, core::mem::take(&mut stored.metadata)),
        };
        *stored = Stored { offset, metadata };
        Some(name)
    }

    /// Membership and generation, never ownership or direction.
    fn commit_code(&self, commit: &Commit) -> Code {
        if self.members.is_empty() && commit.generation < 0 {
            return Code::Ok;
        }
        let Some(member) = self.members.get(&commit.member) else {
            let fenced = self.fenced.contains(&commit.member);
            return if fenced { Code::FencedInstance } else { Code::UnknownMember };
        };
        if self.protocol == Protocol::Consumer {
            return if member.epoch == commit.generation { Code::Ok } else { Code::StaleEpoch };
        }
        if commit.generation != self.generation {
            return Code::IllegalGeneration;
        }
        if self.state == State::Completing { Code::RebalanceInProgress } else { Code::Ok }
    }

    fn new_member(&mut self, from: From, now: u64) -> u64 {
        self.next_member += 1;
        self.members.insert(self.next_member, Member::new(from, now));
        self.next_member
    }

    /// The member that a static id belongs to.
    fn by_instance(&self, from: From) -> Option<u64> {
        let instance = from.instance?;
        let mut known = self.members.iter();
        known.find(|(_, member)| member.from.instance == Some(instance)).map(|(id, _)| *id)
    }

    /// Members in the order in which they are dealt partitions: static ones keep their place.
    fn order(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.members.keys().copied().collect();
        ids.sort_by_key(|id| {
            let instance = self.members.get(id).and_then(|member| member.from.instance);
            (instance.unwrap_or(usize::MAX), *id)
        });
        ids
    }

    /// Everybody keeps what it has up to its share, and what is left goes to who has least.
    fn sticky(&self, has: impl Fn(&Member) -> BTreeSet<u32>) -> BTreeMap<u64, BTreeSet<u32>> {
        let order = self.order();
        let count = u32::try_from(order.len()).unwrap_or(u32::MAX).max(1);
        let (share, mut larger) = (self.partitions / count, self.partitions % count);
        let mut taken = BTreeSet::new();
        let mut dealt = BTreeMap::new();
        for id in &order {
            let mut own = BTreeSet::new();
            for partition in self.members.get(id).map(&has).unwrap_or_default() {
                let room =
                    own.len() < share as usize || (own.len() == share as usize && larger > 0);
                if room && taken.insert(partition) {
                    larger -= u32::from(own.len() == share as usize);
                    own.insert(partition);
                }
            }
            dealt.insert(*id, own);
        }
        for partition in (0..self.partitions).filter(|p| !taken.contains(p)) {
            let least = order.iter().min_by_key(|id| dealt.get(*id).map_or(0, BTreeSet::len));
            if let Some(own) = least.and_then(|id| dealt.get_mut(id)) {
                own.insert(partition);
            }
        }
        dealt
    }
}
