//! The partition table: one entry a partition, owned or remembered.

use crate::carried::Carried;
use crate::index;
use crate::logic::Logic;
use crate::state::{Ends, NO_OFFSET, NO_SLOT};
use crate::{Ignored, Partition, PartitionCounters, Tick};

/// The phase of one partition's life.
///
/// ```text
///            assign            revoke(deadline)         drained, or deadline
/// Unowned ──────────▶ Active ────────────────▶ Draining ──────────────────▶ Committing
///    ▲ ▲                 │                         │                            │  │
///    │ └────── lost ─────┴────────── lost ─────────┴─────────── lost ───────────┘  │
///    └──────────────────── commit answered, or commit time ────────────────────────┘
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "hosts match on every phase; a new one is breaking")]
pub enum Phase {
    /// Not ours.
    Unowned,
    /// Ours: records are admitted.
    Active,
    /// Asked back: nothing new starts, what runs may finish.
    Draining,
    /// Sealed: only the last commit is awaited.
    Committing,
}

/// How an assignment started, which decides when its mark is worth a commit.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Start {
    Committed,
    Empty,
    At,
    Unknown,
}

/// The record in flight whose key a held copy waits for.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct BusyKey {
    /// Its place in flight.
    pub(crate) place: u32,
    /// The admission that took the place.
    pub(crate) admitted: u64,
}

/// A held record that has not been offered again.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Debt {
    pub(crate) offset: u64,
    /// It can be offered again only when this record is settled.
    pub(crate) busy: Option<BusyKey>,
    /// It has a place already (abandoned before).
    pub(crate) readmission: bool,
}

/// One partition in the table.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct PartitionEntry {
    pub(crate) partition: Partition,
    pub(crate) phase: Phase,
    /// Marks entries named by the assign that is being applied.
    pub(crate) named: bool,
    pub(crate) assignment: u64,
    /// epoch * 2^32 + generation at the assign.
    pub(crate) group: u64,
    pub(crate) prev: u32,
    pub(crate) next: u32,

    pub(crate) start: Start,
    pub(crate) resume: u64,
    pub(crate) last_admitted: u64,
    pub(crate) record_seen: bool,
    pub(crate) end_seen: bool,
    pub(crate) debt: Option<Debt>,
    pub(crate) paused: bool,

    pub(crate) first_place: u64,
    pub(crate) places: u32,
    /// The mark when no place is used.
    pub(crate) settled: u64,
    pub(crate) unfinished: u32,
    pub(crate) in_hands: u32,
    pub(crate) flights: Ends,
    pub(crate) finished_any: bool,
    /// The mark moved last, or something became unfinished or owed after nothing was.
    pub(crate) stuck_since: Tick,
    pub(crate) stall_told: bool,

    /// What an owner before finished, ahead of everything admitted.
    pub(crate) carried: Carried,
    /// Why the start's metadata was not used, until it is told.
    pub(crate) ignored: Option<Ignored>,
    /// The highest leader epoch known + 1, 0: none.
    pub(crate) epoch: u64,
    /// The set above the mark may differ from the one offered last.
    pub(crate) set_changed: bool,
    /// Identity of the string offered last, and of the one that the group holds; 0: none.
    pub(crate) string_offered: u64,
    pub(crate) string_confirmed: u64,

    pub(crate) finished_since_offer: u32,
    pub(crate) last_offer_tick: Tick,
    /// The value offered last; the start's own offset when the group holds it already.
    pub(crate) offered: u64,
    pub(crate) offered_highest: u64,
    /// The offer that awaits its answer.
    pub(crate) open: u64,
    pub(crate) open_due: Tick,
    /// Offer (again) at this tick, whatever the interval says.
    pub(crate) again_at: Option<Tick>,
    pub(crate) confirmed: u64,
    /// The group is known to hold an offset.
    pub(crate) group_holds: bool,
    pub(crate) floor: u64,
    pub(crate) rejected: u8,

    pub(crate) deadline: Tick,
    pub(crate) sealed_mark: u64,

    // Remembered from assignment to assignment.
    /// The highest offset that the group may hold, for all that this process offered or saw.
    pub(crate) group_highest: u64,
    pub(crate) ever_confirmed: u64,
    pub(crate) fruitless: u16,
    pub(crate) counters: PartitionCounters,
    #[cfg(feature = "mutants")]
    pub(crate) reoffer: u64,
}

impl PartitionEntry {
    /// An unused entry.
    pub const EMPTY: Self = Self {
        partition: Partition::new(0, 0),
        phase: Phase::Unowned,
        named: false,
        assignment: 0,
        group: 0,
        prev: NO_SLOT,
        next: NO_SLOT,
        start: Start::Unknown,
        resume: NO_OFFSET,
        last_admitted: NO_OFFSET,
        record_seen: false,
        end_seen: false,
        debt: None,
        paused: false,
        first_place: 0,
        places: 0,
        settled: NO_OFFSET,
        unfinished: 0,
        in_hands: 0,
        flights: Ends::EMPTY,
        finished_any: false,
        stuck_since: Tick::ZERO,
        stall_told: false,
        carried: Carried::NONE,
        ignored: None,
        epoch: 0,
        set_changed: false,
        string_offered: 0,
        string_confirmed: 0,
        finished_since_offer: 0,
        last_offer_tick: Tick::ZERO,
        offered: NO_OFFSET,
        offered_highest: NO_OFFSET,
        open: NO_OFFSET,
        open_due: Tick::ZERO,
        again_at: None,
        confirmed: NO_OFFSET,
        group_holds: false,
        floor: 0,
        rejected: 0,
        deadline: Tick::MAX,
        sealed_mark: NO_OFFSET,
        group_highest: NO_OFFSET,
        ever_confirmed: NO_OFFSET,
        fruitless: 0,
        counters: PartitionCounters::ZERO,
        #[cfg(feature = "mutants")]
        reoffer: NO_OFFSET,
    };

    /// The entry as a new assignment begins; what is remembered of the partition stays.
    pub(crate) const fn begun(&self, assignment: u64, group: u64, now: Tick) -> Self {
        Self {
            partition: self.partition,
            phase: Phase::Active,
            named: self.named,
            assignment,
            group,
            last_offer_tick: now,
            group_highest: self.group_highest,
            ever_confirmed: self.ever_confirmed,
            fruitless: self.fruitless,
            counters: self.counters,
            ..Self::EMPTY
        }
    }
}

const fn hash_of(partition: Partition) -> u64 {
    index::mix(((partition.topic as u64) << 32) | (partition.index.cast_unsigned() as u64))
}

/// The slot of `partition`, owned or remembered.
pub(crate) fn find(index: &[u32], entries: &[PartitionEntry], partition: Partition) -> Option<u32> {
    index::find(index, hash_of(partition), |slot| {
        entries.get(slot as usize).is_some_and(|entry| entry.partition == partition)
    })
}

impl Logic<'_> {
    pub(crate) fn find(&self, partition: Partition) -> Option<u32> {
        find(self.parts.partition_index, self.parts.partitions, partition)
    }

    #[allow(clippy::indexing_slicing, reason = "slots come from the table itself")]
    pub(crate) fn entry(&self, slot: u32) -> &PartitionEntry {
        &self.parts.partitions[slot as usize]
    }

    #[allow(clippy::indexing_slicing, reason = "slots come from the table itself")]
    pub(crate) fn entry_mut(&mut self, slot: u32) -> &mut PartitionEntry {
        &mut self.parts.partitions[slot as usize]
    }

    /// Slots that an assign can take besides those in use and those it names.
    pub(crate) const fn slots_available(&self, remembered_named: u32) -> u32 {
        let fresh = self.state.config.partitions.saturating_sub(self.state.partitions_touched);
        fresh.saturating_add(self.state.remembered_count.saturating_sub(remembered_named))
    }

    /// A slot for a partition that is not in the table: a fresh one, or the one that was remembered
    /// longest. `None` when neither is left.
    pub(crate) fn take_slot(&mut self, partition: Partition) -> Option<u32> {
        let slot = if self.state.partitions_touched < self.state.config.partitions {
            let slot = self.state.partitions_touched;
            self.state.partitions_touched = slot.saturating_add(1);
            slot
        } else {
            let slot = self.state.remembered.head;
            if slot == NO_SLOT {
                return None;
            }
            self.leave_remembered(slot);
            self.forget_partition(slot);
            slot
        };
        *self.entry_mut(slot) = PartitionEntry { partition, ..PartitionEntry::EMPTY };
        self.index_partition(slot);
        Some(slot)
    }

    /// Makes the entry in `slot` findable.
    pub(crate) fn index_partition(&mut self, slot: u32) {
        let hash = hash_of(self.entry(slot).partition);
        index::insert(self.parts.partition_index, hash, slot);
    }

    /// Counts what an entry that was restored adds to the whole.
    pub(crate) fn count_restored(&mut self, slot: u32) {
        let (paused, fruitless) = (self.entry(slot).paused, self.entry(slot).fruitless);
        self.state.paused_count = self.state.paused_count.saturating_add(u32::from(paused));
        if fruitless >= self.state.config.storm_at {
            self.state.storm.stuck = self.state.storm.stuck.saturating_add(1);
        }
    }

    fn forget_partition(&mut self, slot: u32) {
        let entry = *self.entry(slot);
        if entry.fruitless >= self.state.config.storm_at {
            self.state.storm.partition_recovered();
        }
        let partitions = &self.parts.partitions;
        index::remove(self.parts.partition_index, hash_of(entry.partition), slot, |other| {
            partitions.get(other as usize).map_or(0, |entry| hash_of(entry.partition))
        });
    }

    pub(crate) fn join_owned(&mut self, slot: u32) {
        self.join_owned_quietly(slot);
        self.state.attend();
    }

    /// Joins without looking for outputs: a restored guard goes on where it was.
    pub(crate) fn join_owned_quietly(&mut self, slot: u32) {
        let mut ends = self.state.owned;
        self.link_last(&mut ends, slot);
        self.state.owned = ends;
        self.state.owned_count = self.state.owned_count.saturating_add(1);
    }

    pub(crate) fn leave_owned(&mut self, slot: u32) {
        let mut ends = self.state.owned;
        self.unlink(&mut ends, slot);
        self.state.owned = ends;
        self.state.owned_count = self.state.owned_count.saturating_sub(1);
        self.state.attend();
    }

    pub(crate) fn join_remembered(&mut self, slot: u32) {
        let mut ends = self.state.remembered;
        self.link_last(&mut ends, slot);
        self.state.remembered = ends;
        self.state.remembered_count = self.state.remembered_count.saturating_add(1);
    }

    pub(crate) fn leave_remembered(&mut self, slot: u32) {
        let mut ends = self.state.remembered;
        self.unlink(&mut ends, slot);
        self.state.remembered = ends;
        self.state.remembered_count = self.state.remembered_count.saturating_sub(1);
    }

    fn link_last(&mut self, ends: &mut Ends, slot: u32) {
        let tail = ends.tail;
        let entry = self.entry_mut(slot);
        entry.prev = tail;
        entry.next = NO_SLOT;
        if tail == NO_SLOT {
            ends.head = slot;
        } else {
            self.entry_mut(tail).next = slot;
        }
        ends.tail = slot;
    }

    fn unlink(&mut self, ends: &mut Ends, slot: u32) {
        let (prev, next) = (self.entry(slot).prev, self.entry(slot).next);
        if prev == NO_SLOT {
            ends.head = next;
        } else {
            self.entry_mut(prev).next = next;
        }
        if next == NO_SLOT {
            ends.tail = prev;
        } else {
            self.entry_mut(next).prev = prev;
        }
    }
}
