//! What a host may read. Never allocates, never changes state.

use crate::admit::offset_of;
use crate::flight::assignment_of;
use crate::memory::View;
use crate::partition::{self, PartitionEntry, Phase};
use crate::place;
use crate::state::{NO_OFFSET, State};
use crate::{Assignment, Offset, Partition, PartitionCounters, Tick, Token};

/// Where one owned partition stands.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by hosts; built by the guard alone")]
pub struct Progress {
    /// Its phase.
    pub phase: Phase,
    /// Its assignment.
    pub assignment: Assignment,
    /// The fencing token, captured at the assign.
    pub token: Token,
    /// The completion mark; `None` while it is not known where reading resumes.
    pub mark: Option<Offset>,
    /// The highest offset that the group was reported to hold in this assignment.
    pub confirmed: Option<Offset>,
    /// Tickets in somebody's hands: a worker's, or the dead-letter producer's.
    pub in_hands: u32,
    /// Records admitted and not finished.
    pub unfinished: u32,
    /// A held record that has not been offered again.
    pub owed: Option<Offset>,
    /// Whether the host was told to stop fetching it.
    pub paused: bool,
    /// When the drain (Draining) or the wait for the last commit (Committing) ends.
    pub deadline: Option<Tick>,
    /// Whether nothing is unfinished or owed and a record or the end of the partition was seen: a
    /// fresh assignment is not idle.
    pub idle: bool,
}

/// Progress of `partition`, if owned.
pub(crate) fn of(state: &State, view: View<'_>, partition: Partition) -> Option<Progress> {
    let slot = partition::find(view.partition_index, view.partitions, partition)?;
    let entry = view.partitions.get(slot as usize)?;
    (entry.phase != Phase::Unowned).then(|| progress(state, view, slot, entry))
}

/// Progress of every owned partition, by time of assign.
pub(crate) fn owned<'a>(
    state: &'a State,
    view: View<'a>,
) -> impl Iterator<Item = (Partition, Progress)> + 'a {
    let mut slot = state.owned.head;
    core::iter::from_fn(move || {
        let entry = view.partitions.get(slot as usize)?;
        let item = (entry.partition, progress(state, view, slot, entry));
        slot = entry.next;
        Some(item)
    })
}

/// Counters of `partition`, as long as the table remembers it.
pub(crate) fn counters(view: View<'_>, partition: Partition) -> Option<PartitionCounters> {
    let slot = partition::find(view.partition_index, view.partitions, partition)?;
    view.partitions.get(slot as usize).map(|entry| entry.counters)
}

fn progress(state: &State, view: View<'_>, slot: u32, entry: &PartitionEntry) -> Progress {
    let assignment = assignment_of(entry.assignment);
    let deadline = matches!(entry.phase, Phase::Draining | Phase::Committing);
    Progress {
        phase: entry.phase,
        assignment,
        token: Token { group: entry.group, assignment },
        mark: known(match entry.phase {
            Phase::Committing => entry.sealed_mark,
            _ => place::mark(view.places, state.config.budget, slot, entry),
        }),
        confirmed: known(entry.confirmed),
        in_hands: entry.in_hands,
        unfinished: entry.unfinished,
        owed: entry.debt.map(|debt| offset_of(debt.offset)),
        paused: entry.paused,
        deadline: deadline.then_some(entry.deadline),
        idle: entry.phase == Phase::Active
            && entry.unfinished == 0
            && entry.debt.is_none()
            && (entry.record_seen || entry.end_seen),
    }
}

fn known(offset: u64) -> Option<Offset> {
    (offset != NO_OFFSET).then(|| offset_of(offset))
}
