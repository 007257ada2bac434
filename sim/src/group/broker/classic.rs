//! The classic protocol: a barrier at which every member joins, then one assignment.

use std::collections::{BTreeMap, BTreeSet};

use super::{Broker, State};
use crate::group::options::Protocol;
use crate::group::wire::{Code, From, Response, Wire};

impl Broker {
    pub(super) fn join(
        &mut self,
        now: u64,
        from: From,
        member: u64,
        owned: &[u32],
        wire: &mut Wire,
    ) {
        let id = match self.joining(now, from, member) {
            Ok(id) => id,
            Err(code) => {
                wire.answer(now, from, Response::Join { code, member: 0, generation: -1 });
                return;
            }
        };
        let known = self.by_instance(from).filter(|known| *known != id);
        let mut stays = false;
        let dealt: usize = self.members.values().map(|member| member.assigned.len()).sum();
        if let Some(old) = known {
            // The newer process with a static id takes the older one's place, which is fenced.
            self.fenced.insert(old);
            if let Some(old) = self.members.remove(&old)
                && let Some(new) = self.members.get_mut(&id)
            {
                new.assigned = old.assigned;
                // In the middle of a cooperative move the rest is still to be given.
                stays = self.state == State::Stable && dealt == self.partitions as usize;
            }
        }
        let Some(joined) = self.members.get_mut(&id) else {
            return;
        };
        joined.seen = now;
        joined.from = from;
        if stays {
            let generation = self.generation;
            wire.answer(now, from, Response::Join { code: Code::Ok, member: id, generation });
            return;
        }
        joined.joined = true;
        joined.owned = owned.iter().copied().collect();
        joined.assigned.clear();
        self.prepare(now);
        self.end_preparing(now, wire);
    }

    fn joining(&mut self, now: u64, from: From, member: u64) -> Result<u64, Code> {
        if self.members.contains_key(&member) {
            Ok(member)
        } else if self.fenced.contains(&member) {
            Err(Code::FencedInstance)
        } else if member != 0 {
            Err(Code::UnknownMember)
        } else {
            Ok(self.new_member(from, now))
        }
    }

    pub(super) fn prepare(&mut self, now: u64) {
        if self.members.is_empty() {
            self.state = State::Empty;
        } else if !matches!(self.state, State::Preparing(_)) {
            self.state = State::Preparing(now + self.max_poll);
        }
    }

    /// The barrier opens when all have joined, or without who has not by its end.
    pub(super) fn end_preparing(&mut self, now: u64, wire: &mut Wire) {
        let State::Preparing(deadline) = self.state else {
            return;
        };
        if now >= deadline {
            self.members.retain(|_, member| member.joined);
        }
        if self.members.is_empty() {
            self.state = State::Empty;
            return;
        }
        if !self.members.values().all(|member| member.joined) {
            return;
        }
        self.generation += 1;
        self.rebalances += 1;
        self.state = State::Completing;
        self.deal();
        for (id, member) in &mut self.members {
            member.joined = false;
            member.seen = now;
            let generation = self.generation;
            let response = Response::Join { code: Code::Ok, member: *id, generation };
            wire.answer(now, member.from, response);
        }
    }

    fn deal(&mut self) {
        let dealt = match self.protocol {
            Protocol::Cooperative => self.deal_what_is_free(),
            _ => self.range(),
        };
        for (id, partitions) in dealt {
            if let Some(member) = self.members.get_mut(&id) {
                member.assigned = partitions;
            }
        }
    }

    fn range(&self) -> BTreeMap<u64, BTreeSet<u32>> {
        let order = self.order();
        let count = u32::try_from(order.len()).unwrap_or(u32::MAX).max(1);
        let (share, larger) = (self.partitions / count, self.partitions % count);
        let mut next = 0;
        let mut deal = |place: u32| {
            let end = next + share + u32::from(place < larger);
            (core::mem::replace(&mut next, end)..end).collect()
        };
        (0..).zip(order).map(|(place, id)| (id, deal(place))).collect()
    }

    /// What another member still owns is given in a later round, when it let go.
    fn deal_what_is_free(&self) -> BTreeMap<u64, BTreeSet<u32>> {
        let mut dealt = self.sticky(|member| member.owned.clone());
        for (id, partitions) in &mut dealt {
            let others = || self.members.iter().filter(|(other, _)| *other != id);
            partitions.retain(|p| !others().any(|(_, other)| other.owned.contains(p)));
        }
        dealt
    }

    pub(super) fn sync(&mut self, now: u64, from: From, member: u64, generation: i32) -> Response {
        let code = self.heartbeat(now, member, generation);
        let mut assigned = Vec::new();
        if code == Code::Ok {
            self.state = State::Stable;
            if let Some(known) = self.members.get_mut(&member) {
                known.from = from;
                assigned = known.assigned.iter().copied().collect();
            }
        }
        Response::Sync { code, generation, assigned }
    }

    pub(super) fn heartbeat(&mut self, now: u64, member: u64, generation: i32) -> Code {
        if self.fenced.contains(&member) {
            return Code::FencedInstance;
        }
        let Some(known) = self.members.get_mut(&member) else {
            return Code::UnknownMember;
        };
        if generation != self.generation {
            return Code::IllegalGeneration;
        }
        known.seen = now;
        match self.state {
            State::Preparing(_) => Code::RebalanceInProgress,
            _ => Code::Ok,
        }
    }
}
