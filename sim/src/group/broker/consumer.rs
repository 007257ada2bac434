//! KIP-848: no barrier; each member is brought to its target by itself, one change at a time.

use std::collections::BTreeSet;

use super::{Broker, Member};
use crate::group::wire::{Code, From, Response};

impl Broker {
    pub(super) fn reconcile(
        &mut self,
        now: u64,
        from: From,
        member: u64,
        epoch: i32,
        owned: &[u32],
    ) -> Response {
        let refused = |code| Response::Reconciled { code, member, epoch: 0, assigned: Vec::new() };
        let id = if epoch == 0 {
            match self.enter(now, from, member) {
                Ok(id) => id,
                Err(code) => return refused(code),
            }
        } else {
            member
        };
        let Some(known) = self.members.get_mut(&id) else {
            return refused(Code::UnknownMember);
        };
        let resent = known.before == epoch;
        if epoch != 0 && epoch != known.epoch && !resent {
            return refused(Code::FencedEpoch);
        }
        known.seen = now;
        known.from = from;
        known.owned = owned.iter().copied().collect();
        if known.owned == known.assigned {
            known.asked = None;
        }
        self.advance(now, id);
        let Some(known) = self.members.get(&id) else {
            return refused(Code::UnknownMember);
        };
        let assigned = known.assigned.iter().copied().collect();
        Response::Reconciled { code: Code::Ok, member: id, epoch: known.epoch, assigned }
    }

    /// A static id that is still in use is refused, one that was left for a while is taken up.
    fn enter(&mut self, now: u64, from: From, member: u64) -> Result<u64, Code> {
        if let Some(known) = self.members.get_mut(&member) {
            // It begins anew: what it owned it has let go.
            known.assigned.clear();
            known.asked = None;
            return Ok(member);
        }
        match self.by_instance(from) {
            Some(old) if self.members.get(&old).is_some_and(|old| !old.away) => {
                Err(Code::UnreleasedInstance)
            }
            Some(old) => {
                let left = self.members.remove(&old);
                let id = self.new_member(from, now);
                if let (Some(left), Some(new)) = (left, self.members.get_mut(&id)) {
                    *new = Member { from, away: false, owned: BTreeSet::new(), ..left };
                    new.asked = Some(now);
                }
                let target = self.target.remove(&old).unwrap_or_default();
                self.target.insert(id, target);
                Ok(id)
            }
            None => {
                // A KIP-848 member keeps its id for life.
                let id = if member == 0 { self.new_member(from, now) } else { member };
                self.members.entry(id).or_insert_with(|| Member::new(from, now));
                self.retarget();
                Ok(id)
            }
        }
    }

    pub(super) fn retarget(&mut self) {
        self.generation += 1;
        self.rebalances += 1;
        self.target = self.sticky(|member| member.assigned.clone());
    }

    /// One step towards the target: first what must go, then the new epoch and what is free.
    fn advance(&mut self, now: u64, id: u64) {
        let target = self.target.get(&id).cloned().unwrap_or_default();
        let held: BTreeSet<u32> = self
            .members
            .iter()
            .filter(|(other, _)| **other != id)
            .flat_map(|(_, other)| other.owned.union(&other.assigned))
            .copied()
            .collect();
        let generation = self.generation;
        let Some(member) = self.members.get_mut(&id) else {
            return;
        };
        if member.asked.is_some() {
            return;
        }
        let keep: BTreeSet<u32> = member.assigned.intersection(&target).copied().collect();
        if keep != member.assigned {
            member.assigned = keep;
            member.asked = Some(now);
            return;
        }
        if member.epoch != generation {
            member.before = member.epoch;
            member.epoch = generation;
        }
        let free: BTreeSet<u32> = target.difference(&held).copied().collect();
        if !free.is_subset(&member.assigned) {
            member.assigned.extend(free);
            member.asked = Some(now);
        }
    }

    /// Who does not acknowledge in time is fenced.
    pub(super) fn fence_late(&mut self, now: u64) {
        let max_poll = self.max_poll;
        let late = |member: &Member| member.asked.is_some_and(|since| since + max_poll <= now);
        let gone: Vec<u64> =
            self.members.iter().filter(|(_, m)| late(m)).map(|(id, _)| *id).collect();
        for member in gone {
            self.remove(now, member);
        }
    }
}
