//! Ownership begins: assign, the late position, rewind.

use crate::admit::offset_of;
use crate::carried::Carried;
use crate::commit::highest;
use crate::logic::Logic;
use crate::partition::{Phase, Start};
use crate::report::ReportKind;
use crate::state::NO_OFFSET;
use crate::{
    Assignment, Ended, Event, InputError, Offset, Output, Partition, Reply, Resume, Tick,
    WaitReason,
};

impl Logic<'_> {
    /// Applies whole or not at all.
    pub(crate) fn assign_at(
        &mut self,
        now: Tick,
        generation: Option<i32>,
        partitions: &[(Partition, Resume<'_>)],
    ) -> Result<Reply, InputError> {
        self.pass_time(now);
        self.check_assign(partitions)?;
        let generation = generation.and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        if self.state.owned_count == 0 && !partitions.is_empty() {
            self.state.lease_begins();
        }
        self.state.lease_expired = false;
        self.keep_named(partitions);
        // Not known now: the last known one. A token must not fall below its forerunners.
        let known = if generation == 0 { self.state.storm.last_generation() } else { generation };
        let group = (u64::from(self.state.config.epoch) << 32) | u64::from(known);
        for (partition, resume) in partitions {
            if let Some(slot) = self.begin(*partition, group) {
                self.start_at(slot, *resume);
            }
        }
        for (partition, _) in partitions {
            self.finish_assign(*partition);
        }
        if self.state.owned_count > 0 {
            self.state.wake_at(self.state.lease_start.after(self.state.config.lease));
            self.schedule_poll_budget();
        } else {
            self.wait_is_for(WaitReason::NothingAssigned);
        }
        self.storm_counts_assign(generation, !partitions.is_empty());
        self.state_storm();
        Ok(Reply::Done)
    }

    fn check_assign(&mut self, partitions: &[(Partition, Resume<'_>)]) -> Result<(), InputError> {
        if self.state.dead {
            return Err(InputError::Dead);
        }
        if let Some((partition, _)) = partitions.iter().find(|(partition, _)| partition.index < 0) {
            return Err(InputError::NegativePartition(partition.index));
        }
        let count = u64::try_from(partitions.len()).unwrap_or(u64::MAX);
        if self.state.next_assignment.checked_add(count).is_none() {
            return Err(InputError::AssignmentsSpent);
        }
        self.check_capacity(partitions)
    }

    fn check_capacity(&mut self, partitions: &[(Partition, Resume<'_>)]) -> Result<(), InputError> {
        let (mut unknown, mut remembered) = (0_u32, 0_u32);
        for (partition, _) in partitions {
            match self.find(*partition) {
                None => unknown = unknown.saturating_add(1),
                Some(slot) => {
                    let entry = self.entry_mut(slot);
                    if entry.phase == Phase::Unowned && !entry.named {
                        entry.named = true;
                        remembered = remembered.saturating_add(1);
                    }
                }
            }
        }
        for (partition, _) in partitions {
            if let Some(slot) = self.find(*partition) {
                self.entry_mut(slot).named = false;
            }
        }
        let available = self.slots_available(remembered);
        if unknown <= available {
            return Ok(());
        }
        // Only now is it worth looking for partitions that are named twice.
        let needed = self.distinct_unknown(partitions);
        if needed <= available {
            Ok(())
        } else {
            Err(InputError::PartitionsFull { needed, available })
        }
    }

    fn distinct_unknown(&self, partitions: &[(Partition, Resume<'_>)]) -> u32 {
        let mut distinct: u32 = 0;
        for (position, (partition, _)) in partitions.iter().enumerate() {
            let before = partitions.iter().take(position);
            if self.find(*partition).is_none()
                && !before.into_iter().any(|(one, _)| one == partition)
            {
                distinct = distinct.saturating_add(1);
            }
        }
        distinct
    }

    /// Remembered partitions that are named must not be forgotten for the sake of others.
    fn keep_named(&mut self, partitions: &[(Partition, Resume<'_>)]) {
        for (partition, _) in partitions {
            let Some(slot) = self.find(*partition) else {
                continue;
            };
            let entry = self.entry_mut(slot);
            if entry.phase == Phase::Unowned && !entry.named {
                entry.named = true;
                self.leave_remembered(slot);
            }
        }
        for (partition, _) in partitions {
            if let Some(slot) = self.find(*partition) {
                self.entry_mut(slot).named = false;
            }
        }
    }

    /// A new assignment of `partition`; nothing when this assign began one already.
    fn begin(&mut self, partition: Partition, group: u64) -> Option<u32> {
        let slot = match self.find(partition) {
            Some(slot) => slot,
            None => self.take_slot(partition)?,
        };
        if self.entry(slot).named {
            return Some(slot);
        }
        match self.entry(slot).phase {
            Phase::Unowned => {}
            Phase::Active => self.end_for_successor(slot, Ended::Lost),
            Phase::Draining | Phase::Committing => self.end_for_successor(slot, Ended::Replaced),
        }
        self.open(slot, group);
        self.entry_mut(slot).named = true;
        Some(slot)
    }

    /// Opens the next assignment of an entry that is in neither list.
    fn open(&mut self, slot: u32, group: u64) {
        let assignment = self.state.next_assignment;
        self.state.next_assignment = assignment.saturating_add(1);
        let begun = self.entry(slot).begun(assignment, group, self.state.now);
        *self.entry_mut(slot) = begun;
        let counters = &mut self.entry_mut(slot).counters;
        counters.assignments = counters.assignments.saturating_add(1);
        self.state.counters.assignments = self.state.counters.assignments.saturating_add(1);
        self.join_owned(slot);
    }

    fn start_at(&mut self, slot: u32, resume: Resume<'_>) {
        let entry = self.entry_mut(slot);
        let (start, offset) = match resume {
            Resume::Committed { offset, .. } => (Start::Committed, offset.value()),
            Resume::Empty(offset) => (Start::Empty, offset.map_or(NO_OFFSET, Offset::value)),
            Resume::At(offset) => (Start::At, offset.value()),
            Resume::Unknown => (Start::Unknown, NO_OFFSET),
        };
        entry.start = start;
        entry.resume = offset;
        entry.settled = offset;
        let held_by_group = if start == Start::Committed { offset } else { NO_OFFSET };
        entry.offered = held_by_group;
        entry.confirmed = held_by_group;
        entry.carried = Carried::NONE;
        entry.ignored = None;
        entry.epoch = 0;
        entry.string_offered = 0;
        entry.string_confirmed = 0;
        entry.set_changed = false;
        if let Resume::Committed { offset, metadata } = resume {
            self.carry(slot, offset.value(), metadata);
        }
    }

    fn finish_assign(&mut self, partition: Partition) {
        let Some(slot) = self.find(partition) else {
            return;
        };
        if !self.entry(slot).named {
            return;
        }
        self.entry_mut(slot).named = false;
        let resume = self.entry(slot).resume;
        self.note_at(slot, resume, Event::Assigned);
        self.note_start(slot);
        self.schedule_commit(slot);
    }

    /// What the start says of the group: that it holds an offset, or went back.
    fn note_start(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        if entry.start == Start::Committed {
            entry.group_holds = true;
            entry.group_highest = highest(entry.group_highest, entry.resume);
        }
        let entry = self.entry(slot);
        let (partition, from, to) = (entry.partition, entry.ever_confirmed, entry.resume);
        if from != NO_OFFSET && to < from {
            let (from, to) = (offset_of(from), offset_of(to));
            self.report(slot, ReportKind::StepBack, Output::StepBack { partition, from, to });
        }
        self.report_ignored(slot);
    }

    pub(crate) fn position_at(
        &mut self,
        now: Tick,
        partition: Partition,
        assignment: Assignment,
        resume: Resume<'_>,
    ) -> Result<Reply, InputError> {
        self.pass_time(now);
        let Some(slot) = self.current(partition, assignment) else {
            return Ok(self.stale_input(partition));
        };
        let entry = self.entry(slot);
        if entry.phase != Phase::Active || entry.start != Start::Unknown {
            return Ok(self.stale_input(partition));
        }
        if resume == Resume::Unknown {
            return Err(InputError::NoPosition);
        }
        self.start_at(slot, resume);
        let entry = self.entry_mut(slot);
        let known = entry.resume != NO_OFFSET;
        if known && entry.debt.is_some_and(|debt| debt.offset < entry.resume) {
            entry.debt = None;
        }
        if known {
            // The mark is known from here on.
            self.moves(slot);
        }
        self.note_start(slot);
        self.schedule_commit(slot);
        self.state.attend();
        Ok(Reply::Done)
    }

    pub(crate) fn rewind_at(
        &mut self,
        now: Tick,
        partition: Partition,
        offset: Offset,
    ) -> Result<Reply, InputError> {
        self.pass_time(now);
        let active = self.find(partition).filter(|slot| self.entry(*slot).phase == Phase::Active);
        let Some(slot) = active else {
            return Err(InputError::NotActive(partition));
        };
        let Some(highest) = self.rewind_highest(slot) else {
            return Err(InputError::ResumeUnknown(partition));
        };
        if offset.value() > highest {
            return Err(InputError::AboveMark { mark: offset_of(highest) });
        }
        if self.state.next_assignment == u64::MAX {
            return Err(InputError::AssignmentsSpent);
        }
        let entry = self.entry(slot);
        let group_empty = entry.start == Start::Empty && !entry.group_holds;
        let group = entry.group;
        self.end_for_successor(slot, Ended::Rewound);
        self.open(slot, group);
        self.start_at(
            slot,
            if group_empty { Resume::Empty(Some(offset)) } else { Resume::At(offset) },
        );
        self.note_at(slot, offset.value(), Event::Assigned);
        self.schedule_commit(slot);
        Ok(Reply::Done)
    }

    /// Where a rewind may go at most: the mark; where nothing was admitted since the partition
    /// began with nothing, the debt. Without that a held record that is gone would hold all others.
    fn rewind_highest(&self, slot: u32) -> Option<u64> {
        let entry = self.entry(slot);
        let owed = || entry.debt.filter(|_| entry.start == Start::Empty).map(|debt| debt.offset);
        self.running_mark(slot).or_else(owed)
    }
}
