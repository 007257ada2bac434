//! Why: the last refusals and transitions, for the post-mortem.

use crate::logic::Logic;
use crate::memory::View;
use crate::state::{NO_OFFSET, State};
use crate::{Assignment, Ended, InputError, Offset, Partition, Refuse, Tick};

/// What happened.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// An assignment began; the offset is where it resumes, if known.
    Assigned,
    /// It was asked back.
    Revoked,
    /// It ended; the offset is its completion mark.
    Sealed(Ended),
    /// The wait for its last commit ended.
    Released {
        /// Whether the group was told to hold the mark.
        stored: bool,
    },
    /// A record was refused; the offset is the record's.
    Refused(Refuse),
    /// A ticket was answered that is dead, was answered before, or takes no such answer.
    StaleAnswer,
    /// An input was refused.
    InputRefused(InputError),
    /// Nobody polled: everything is lost.
    LeaseExpired,
    /// The client is dead: everything is lost, every later assign refused.
    ClientDead,
    /// Rebalances come faster than the group can work.
    StormBegan,
    /// They do no more.
    StormEnded,
}

/// One entry of the journal.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "read by hosts; built by the guard alone")]
pub struct JournalEntry {
    /// When; of a repeated event the first time.
    pub at: Tick,
    /// Where; `None` for what concerns the whole member, or a ticket that names no place.
    pub partition: Option<Partition>,
    /// The assignment it is about, if any.
    pub assignment: Option<Assignment>,
    /// The offset it is about, if any; of a repeated event the first one.
    pub offset: Option<Offset>,
    /// How often in a row: the same event at the same partition and assignment is one entry.
    pub times: u32,
    /// What happened.
    pub event: Event,
}

/// A place in the journal's ring.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JournalSlot {
    pub(crate) entry: Option<JournalEntry>,
}

impl JournalSlot {
    /// An empty place.
    pub const EMPTY: Self = Self { entry: None };
}

impl Logic<'_> {
    /// Notes an event of the whole member.
    pub(crate) fn note(&mut self, event: Event) {
        self.note_entry(None, None, NO_OFFSET, event);
    }

    /// Notes an event of the partition in `slot`.
    pub(crate) fn note_at(&mut self, slot: u32, offset: u64, event: Event) {
        let entry = self.entry(slot);
        let (partition, assignment) = (entry.partition, Assignment::new(entry.assignment));
        self.note_entry(Some(partition), assignment, offset, event);
    }

    pub(crate) fn note_entry(
        &mut self,
        partition: Option<Partition>,
        assignment: Option<Assignment>,
        offset: u64,
        event: Event,
    ) {
        if self.state.config.journal == 0 {
            return;
        }
        if let Some(last) = self.last_noted()
            && (last.partition, last.assignment, last.event) == (partition, assignment, event)
        {
            last.times = last.times.saturating_add(1);
            return;
        }
        let at = self.state.now;
        let offset = (offset != NO_OFFSET).then(|| crate::admit::offset_of(offset));
        let entry = JournalEntry { at, partition, assignment, offset, times: 1, event };
        let place = self.state.journal_next;
        if let Some(slot) = self.parts.journal.get_mut(place as usize) {
            slot.entry = Some(entry);
        }
        let next = place.saturating_add(1);
        self.state.journal_next = if next >= self.state.config.journal { 0 } else { next };
    }

    fn last_noted(&mut self) -> Option<&mut JournalEntry> {
        let next = self.state.journal_next;
        let last = if next == 0 { self.state.config.journal } else { next }.checked_sub(1)?;
        self.parts.journal.get_mut(last as usize)?.entry.as_mut()
    }
}

/// The journal, oldest first.
pub(crate) fn entries<'a>(
    state: &State,
    view: View<'a>,
) -> impl Iterator<Item = JournalEntry> + 'a {
    let used = view.journal.get(..state.config.journal as usize).unwrap_or(view.journal);
    let (newer, older) = used.split_at_checked(state.journal_next as usize).unwrap_or((used, &[]));
    older.iter().chain(newer).filter_map(|slot| slot.entry)
}
