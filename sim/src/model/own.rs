//! One ownership of one partition, and one record in flight.

use std::collections::BTreeMap;

use rebalance_guard::{
    Assignment, Config, Ignored, Offset, Partition, Phase, Reason, Resume, Ticket,
};

use super::Name;
use super::carry::Span;

/// How reading was said to resume.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Committed,
    Empty,
    At,
}

/// What became of an admitted offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// In flight under this number.
    Flying(u64),
    Finished,
    /// Abandoned by the host or given up by a revoke.
    GivenUp,
}

/// A held record that was not offered again.
#[derive(Clone, Debug)]
pub(super) struct Debt {
    pub(super) offset: u64,
    /// The flight that keeps its key busy.
    pub(super) busy: Option<u64>,
}

/// A commit that was offered and not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) value: u64,
    pub(super) at: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) assignment: Assignment,
    pub(super) group: u64,
    pub(super) phase: Phase,
    /// `None`: not known.
    pub(super) kind: Option<Kind>,
    /// `None`: not known, or the first record offered tells it.
    pub(super) resume: Option<u64>,
    /// It began with an empty group and nothing was stored yet.
    pub(super) group_empty: bool,
    /// The group was seen to hold an offset.
    pub(super) group_seen: bool,
    /// Every offset admitted in this assignment.
    pub(super) places: BTreeMap<u64, Place>,
    /// A record or the end of the partition was seen.
    pub(super) seen: bool,
    pub(super) owed: Option<Debt>,
    pub(super) paused: bool,
    /// End of the drain, then of the wait for the last commit.
    pub(super) deadline: u64,
    /// The value below or at which nothing is offered for want of news.
    pub(super) last_offered: Option<u64>,
    /// The highest value ever offered.
    pub(super) highest_offered: Option<u64>,
    pub(super) open: Option<Offer>,
    /// When the last offer may be repeated, if it must be.
    pub(super) again_at: Option<u64>,
    pub(super) rejected: bool,
    pub(super) confirmed: Option<u64>,
    /// Nothing below this is offered.
    pub(super) floor: u64,
    /// Tick of the last offer, or of the assign.
    pub(super) offer_base: u64,
    /// Records finished since the last offer.
    pub(super) finished_since: u32,
    /// The value of the last offer, or the committed start.
    pub(super) offered: Option<u64>,
    /// What an owner before finished.
    pub(super) carried: Vec<Span>,
    pub(super) carried_epoch: Option<u64>,
    /// The highest leader epoch known.
    pub(super) epoch: Option<u64>,
    /// Why metadata was not used, until it is told.
    pub(super) ignored: Option<Ignored>,
    pub(super) string_offered: Vec<u8>,
    pub(super) string_confirmed: Vec<u8>,
    pub(super) stuck_since: u64,
    pub(super) stall_told: bool,
    /// The mark, and whether anything was unfinished or owed, when it was looked at last.
    pub(super) watched: (Option<u64>, bool),
}

impl Own {
    pub(super) fn new(assignment: Assignment, group: u64, now: u64) -> Self {
        Self {
            assignment,
            group,
            phase: Phase::Active,
            kind: None,
            resume: None,
            group_empty: false,
            group_seen: false,
            places: BTreeMap::new(),
            seen: false,
            owed: None,
            paused: false,
            deadline: 0,
            last_offered: None,
            highest_offered: None,
            open: None,
            again_at: None,
            rejected: false,
            confirmed: None,
            floor: 0,
            offer_base: now,
            finished_since: 0,
            offered: None,
            carried: Vec::new(),
            carried_epoch: None,
            epoch: None,
            ignored: None,
            string_offered: Vec::new(),
            string_confirmed: Vec::new(),
            stuck_since: now,
            stall_told: false,
            watched: (None, false),
        }
    }

    pub(super) fn set_resume(&mut self, resume: Resume<'_>, config: &Config) {
        let (kind, offset) = match resume {
            Resume::Committed { offset, .. } => (Kind::Committed, Some(offset)),
            Resume::Empty(offset) => (Kind::Empty, offset),
            Resume::At(offset) => (Kind::At, Some(offset)),
            Resume::Unknown => return,
        };
        self.kind = Some(kind);
        self.resume = offset.map(Offset::value);
        self.group_empty = kind == Kind::Empty && !self.group_seen;
        if kind == Kind::Committed {
            self.confirmed = self.resume;
            self.last_offered = self.resume;
            self.offered = self.resume;
        }
        if let Resume::Committed { offset, metadata } = resume {
            self.carry(offset.value(), metadata, config);
        }
    }

    /// Smallest unfinished offset; else the highest finished + 1; else the resume position.
    pub(super) fn mark(&self) -> Option<u64> {
        let unfinished = self.places.iter().find(|(_, place)| **place != Place::Finished);
        if let Some((offset, _)) = unfinished {
            return Some(*offset);
        }
        self.last().map(|last| last + 1).or(self.resume)
    }

    /// The last one admitted.
    pub(super) fn last(&self) -> Option<u64> {
        self.places.last_key_value().map(|(offset, _)| *offset)
    }

    pub(super) fn unfinished(&self) -> u32 {
        self.places.values().filter(|place| **place != Place::Finished).count() as u32
    }

    pub(super) fn budget_used(&self) -> u32 {
        let mark = self.mark().unwrap_or(0);
        self.places.range(mark..).count() as u32
    }

    pub(super) fn given_up(&self, offset: u64) -> bool {
        self.places.get(&offset) == Some(&Place::GivenUp)
    }

    pub(super) fn anything_finished(&self) -> bool {
        self.places.values().any(|place| *place == Place::Finished)
    }
}

/// Where a record in flight is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Hands {
    /// In somebody's hands.
    Held,
    /// To be asked for (again) from this tick on.
    Waiting(u64),
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) partition: Partition,
    pub(super) offset: u64,
    pub(super) name: Option<Name>,
    pub(super) attempts: u16,
    /// Times that the dead-letter topic refused it.
    pub(super) refusals: u32,
    /// Later copies that it stands for.
    pub(super) copies: u32,
    /// It goes to the dead-letter topic.
    pub(super) reason: Option<Reason>,
    /// The last one handed out.
    pub(super) ticket: Ticket,
    pub(super) hands: Hands,
}

/// The model's numbers come from offsets, so they are offsets.
pub(super) fn offset(value: u64) -> Offset {
    Offset::new(value).unwrap_or(Offset::MAX)
}

/// A tick `span` later, at most the latest tick there is.
pub(super) fn later(tick: u64, span: u64) -> u64 {
    tick.saturating_add(span).min(rebalance_guard::Tick::MAX.value())
}
