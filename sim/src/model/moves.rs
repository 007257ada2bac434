//! Partitions that come and go.

use std::collections::BTreeMap;

use rebalance_guard::{
    Assignment, Ended, InputError, Output, Partition, Phase, Reply, Resume, Scope, Sealed,
    WaitReason,
};

use super::own::{self, Kind, Own, Place, later};
use super::{Flight, Hands, Model, Slot};

impl Model {
    pub(super) fn assign(
        &mut self,
        generation: Option<i32>,
        entries: &[(Partition, Resume<'_>)],
    ) -> Result<Reply, InputError> {
        // First mention gives the order, last mention the resume position.
        let mut order = Vec::new();
        let mut resumes = BTreeMap::new();
        for (partition, resume) in entries {
            if resumes.insert(*partition, *resume).is_none() {
                order.push(*partition);
            }
        }
        self.check_assign(entries, &order)?;
        let owned_before = !self.owned().is_empty();
        let known = generation.filter(|g| *g >= 1).map(|g| g as u64);
        let number = known.unwrap_or_else(|| self.storm.last_generation());
        let group = (u64::from(self.config.epoch) << 32) + number;
        self.lease_expired = false;
        for partition in &order {
            match self.own(*partition).map(|own| own.phase) {
                Some(Phase::Active) => self.end(*partition, Ended::Lost),
                Some(Phase::Draining) => self.end(*partition, Ended::Replaced),
                Some(_) => self.release(*partition),
                None => {}
            }
        }
        for partition in &order {
            self.make_room(*partition, &order);
            let resume = resumes.get(partition).copied().unwrap_or(Resume::Unknown);
            self.open(*partition, group, resume);
        }
        if !owned_before && !order.is_empty() {
            self.lease = Some(self.now);
            self.budget_told = false;
        }
        if order.is_empty() {
            self.waits_for(WaitReason::NothingAssigned);
        }
        self.count_assign(generation, !order.is_empty());
        Ok(Reply::Done)
    }

    fn check_assign(
        &self,
        entries: &[(Partition, Resume<'_>)],
        order: &[Partition],
    ) -> Result<(), InputError> {
        if self.dead {
            return Err(InputError::Dead);
        }
        if let Some((bad, _)) = entries.iter().find(|(partition, _)| partition.index < 0) {
            return Err(InputError::NegativePartition(bad.index));
        }
        self.check_counter(entries.len() as u64)?;
        let new = order.iter().filter(|p| !self.slots.contains_key(p)).count();
        let free = (self.config.partitions as usize).saturating_sub(self.slots.len());
        let forgettable =
            |(p, slot): &(&Partition, &Slot)| slot.own.is_none() && !order.contains(p);
        let available = free + self.slots.iter().filter(forgettable).count();
        if new > available {
            return Err(InputError::PartitionsFull {
                needed: new as u32,
                available: available as u32,
            });
        }
        Ok(())
    }

    /// Every mention is counted, and the last number of all is never given.
    fn check_counter(&self, mentions: u64) -> Result<(), InputError> {
        match self.next_assignment.checked_add(mentions) {
            Some(_) => Ok(()),
            None => Err(InputError::AssignmentsSpent),
        }
    }

    fn take_number(&mut self) -> Option<Assignment> {
        let number = Assignment::new(self.next_assignment)?;
        self.next_assignment = self.next_assignment.saturating_add(1);
        Some(number)
    }

    /// Forgets the partition that ended first, if the table is full and `partition` is not in it.
    fn make_room(&mut self, partition: Partition, order: &[Partition]) {
        let full = self.slots.len() >= self.config.partitions as usize;
        if self.slots.contains_key(&partition) || !full {
            return;
        }
        let idle = self.slots.iter().filter(|(p, s)| s.own.is_none() && !order.contains(p));
        let oldest = idle.min_by_key(|(_, slot)| slot.ended).map(|(p, _)| *p);
        if let Some(oldest) = oldest {
            self.slots.remove(&oldest);
        }
    }

    fn open(&mut self, partition: Partition, group: u64, resume: Resume<'_>) {
        let Some(assignment) = self.take_number() else {
            return;
        };
        let mut own = Own::new(assignment, group, self.now);
        own.set_resume(resume, &self.config);
        self.slots.entry(partition).or_default().own = Some(own);
        self.note_group_offset(partition);
        self.report_step_back(partition);
        self.report_ignored(partition);
    }

    /// A start at a committed offset tells what the group holds.
    fn note_group_offset(&mut self, partition: Partition) {
        let Some(slot) = self.slots.get_mut(&partition) else {
            return;
        };
        let own = slot.own.as_ref().filter(|own| own.kind == Some(Kind::Committed));
        slot.offered_ever = slot.offered_ever.max(own.and_then(|own| own.resume));
    }

    /// The group's offset went back since this process committed.
    fn report_step_back(&mut self, partition: Partition) {
        let Some(slot) = self.slots.get(&partition) else {
            return;
        };
        let resume = slot.own.as_ref().and_then(|own| own.resume);
        let (Some(before), Some(to)) = (slot.committed_before, resume) else {
            return;
        };
        if to < before {
            let (from, to) = (own::offset(before), own::offset(to));
            self.report(Output::StepBack { partition, from, to });
        }
    }

    pub(super) fn position(
        &mut self,
        partition: Partition,
        assignment: Assignment,
        resume: Resume<'_>,
    ) -> Result<Reply, InputError> {
        let waiting = |own: &Own| {
            own.assignment == assignment && own.kind.is_none() && own.phase == Phase::Active
        };
        let config = self.config;
        let Some(own) = self.own_mut(partition).filter(|own| waiting(own)) else {
            return Ok(Reply::Stale);
        };
        if resume == Resume::Unknown {
            return Err(InputError::NoPosition);
        }
        own.set_resume(resume, &config);
        if let (Some(debt), Some(resume)) = (&own.owed, own.resume)
            && debt.offset < resume
        {
            own.owed = None;
        }
        self.note_group_offset(partition);
        self.report_step_back(partition);
        self.report_ignored(partition);
        Ok(Reply::Done)
    }

    pub(super) fn revoke(&mut self, partitions: &[Partition], deadline: u64) {
        let now = self.now;
        let mut fenced = Vec::new();
        let mut content = false;
        for partition in partitions {
            let Some(own) = self.own_mut(*partition) else {
                continue;
            };
            content = true;
            match own.phase {
                Phase::Active => own.deadline = deadline.max(now),
                Phase::Draining => own.deadline = own.deadline.min(deadline.max(now)),
                _ => continue,
            }
            own.phase = Phase::Draining;
            own.paused = false;
            if !fenced.contains(partition) {
                fenced.push(*partition);
            }
        }
        for partition in &fenced {
            self.give_up_waiting(*partition);
        }
        for partition in fenced {
            let late = self.own(partition).is_some_and(|own| own.deadline <= now);
            if self.in_hands(partition) == 0 {
                self.end_drain(partition, Ended::Drained);
            } else if late {
                self.end_drain(partition, Ended::Deadline);
            }
        }
        if content {
            self.count_departure();
        }
    }

    /// A drain waits only for what is in somebody's hands.
    fn give_up_waiting(&mut self, partition: Partition) {
        let waiting = |f: &Flight| f.partition == partition && f.hands != Hands::Held;
        let given_up: Vec<u64> =
            self.flights.values().filter(|f| waiting(f)).map(|f| f.offset).collect();
        self.flights.retain(|_, f| !waiting(f));
        let Some(own) = self.own_mut(partition) else {
            return;
        };
        for offset in given_up {
            own.places.insert(offset, Place::GivenUp);
        }
    }

    pub(super) fn lost(&mut self, scope: Scope<'_>) {
        let named: Vec<Partition> = match scope {
            Scope::Some(partitions) => partitions.to_vec(),
            Scope::All | Scope::Fatal => self.owned(),
        };
        let mut content = false;
        for partition in named {
            content |= self.lose(partition);
        }
        if content {
            self.count_departure();
        }
        if matches!(scope, Scope::Fatal) {
            self.dead = true;
            self.rejoin = None;
            self.waits_for(WaitReason::Dead);
        }
    }

    /// Whether there was something to lose.
    pub(super) fn lose(&mut self, partition: Partition) -> bool {
        match self.own(partition).map(|own| own.phase) {
            None => return false,
            Some(Phase::Committing) => self.release(partition),
            Some(_) => self.end(partition, Ended::Lost),
        }
        self.waits_for(WaitReason::Lost);
        true
    }

    pub(super) fn rewind(&mut self, partition: Partition, to: u64) -> Result<Reply, InputError> {
        let active = |own: &&Own| own.phase == Phase::Active;
        let own = self.own(partition).filter(active).ok_or(InputError::NotActive(partition))?;
        // A partition that began with nothing has no mark before its first record.
        let first_owed = own.owed.as_ref().map(|debt| debt.offset);
        let highest = match own.kind {
            None => None,
            Some(Kind::Empty) => own.mark().or(first_owed),
            Some(_) => own.mark(),
        };
        let highest = highest.ok_or(InputError::ResumeUnknown(partition))?;
        if to > highest {
            return Err(InputError::AboveMark { mark: own::offset(highest) });
        }
        self.check_counter(1)?;
        let group = own.group;
        let group_empty = own.group_empty;
        self.end(partition, Ended::Rewound);
        let Some(assignment) = self.take_number() else {
            return Ok(Reply::Done);
        };
        let mut own = Own::new(assignment, group, self.now);
        own.kind = Some(if group_empty { Kind::Empty } else { Kind::At });
        own.group_empty = group_empty;
        own.resume = Some(to);
        if let Some(slot) = self.slots.get_mut(&partition) {
            slot.own = Some(own);
        }
        Ok(Reply::Done)
    }

    pub(super) fn end_of_partition(
        &mut self,
        partition: Partition,
        assignment: Assignment,
    ) -> Reply {
        let open = self.own(partition).is_some_and(|own| own.phase != Phase::Committing);
        if !open || !self.current(partition, assignment) {
            return Reply::Stale;
        }
        if let Some(own) = self.own_mut(partition) {
            own.seen = true;
        }
        Reply::Done
    }

    /// Seals a draining partition: its mark is fixed, its tickets die.
    pub(super) fn end_drain(&mut self, partition: Partition, ended: Ended) {
        self.seal(partition, ended);
        let end = later(self.now, self.config.commit_timeout);
        let Some(own) = self.own_mut(partition) else {
            return;
        };
        own.phase = Phase::Committing;
        own.deadline = end;
        if !self.prepare_last_commit(partition) {
            self.release(partition);
        }
    }

    /// Seals and lets go.
    fn end(&mut self, partition: Partition, ended: Ended) {
        self.seal(partition, ended);
        self.release(partition);
    }

    fn seal(&mut self, partition: Partition, ended: Ended) {
        self.flights.retain(|_, flight| flight.partition != partition);
        let Some(slot) = self.slots.get_mut(&partition) else {
            return;
        };
        let Some(own) = slot.own.as_mut() else { return };
        own.owed = None;
        for place in own.places.values_mut() {
            if matches!(place, Place::Flying(_)) {
                *place = Place::GivenUp;
            }
        }
        if ended != Ended::Rewound {
            if own.anything_finished() {
                slot.fruitless = 0;
            } else if !own.places.is_empty() {
                slot.fruitless = slot.fruitless.saturating_add(1);
            }
        }
        let sealed = Sealed {
            partition,
            assignment: own.assignment,
            ended,
            mark: own.mark().map(own::offset),
            left: own.unfinished(),
        };
        self.report(Output::Sealed(sealed));
    }

    /// The partition is somebody else's now.
    pub(super) fn release(&mut self, partition: Partition) {
        self.ends += 1;
        let ends = self.ends;
        let Some(slot) = self.slots.get_mut(&partition) else {
            return;
        };
        slot.own = None;
        slot.ended = ends;
        self.begins_to_wait();
    }
}
