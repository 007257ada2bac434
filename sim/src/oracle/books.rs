//! The oracle's own books: which assignments live, what they admitted, what became of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rebalance_guard::{Config, Partition, Record, Sealed, TicketKind};

use super::Stats;
use crate::model::carry::Span;
use crate::trace::{Action, Offered};

pub(super) type Name = (u32, Vec<u8>);
/// Which promise broke, and how.
pub(super) type Finding = (&'static str, String);

/// Where an assignment stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    Active,
    /// Revoked; ends at this tick at the latest.
    Draining(u64),
    /// Its drain ended at this tick; one last commit may be offered.
    Sealed(u64),
    /// Handed over, or replaced or rewound away.
    Over,
    /// Over, and it was lost.
    Lost,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// In somebody's hands, under this ticket.
    Held(usize),
    /// Failed under this ticket; to be asked for again.
    Waiting(usize),
    Finished,
    GivenUp,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: Option<Name>,
    pub(super) fate: Fate,
}

/// One ownership.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) partition: Partition,
    pub(super) stage: Stage,
    /// Whether it is known where reading resumes (or that the first record tells it).
    pub(super) known: bool,
    pub(super) resume: Option<u64>,
    pub(super) entries: BTreeMap<u64, Entry>,
    /// Held and not offered again.
    pub(super) owed: BTreeSet<u64>,
    pub(super) offers: Vec<u64>,
    pub(super) confirmed: Option<u64>,
    /// What the group was seen to hold above ours.
    pub(super) floor: u64,
    /// What an owner before finished, as its string told.
    pub(super) carried: Vec<Span>,
    pub(super) carried_epoch: Option<u64>,
}

impl Life {
    pub(super) fn mark(&self) -> Option<u64> {
        let open = self.entries.iter().find(|(_, entry)| entry.fate != Fate::Finished);
        let finished = self.entries.last_key_value().map(|(offset, _)| offset + 1);
        open.map(|(offset, _)| *offset).or(finished).or(self.resume)
    }

    pub(super) fn left(&self) -> u32 {
        let open = self.entries.values().filter(|entry| entry.fate != Fate::Finished);
        u32::try_from(open.count()).unwrap_or(u32::MAX)
    }

    pub(super) fn in_hands(&self) -> bool {
        self.entries.values().any(|entry| matches!(entry.fate, Fate::Held(_)))
    }

    pub(super) fn in_flight(&self) -> usize {
        let flying = |e: &&Entry| matches!(e.fate, Fate::Held(_) | Fate::Waiting(_));
        self.entries.values().filter(flying).count()
    }

    /// Whether a record there would be new here, or may be taken up again.
    pub(super) fn may_enter(&self, offset: u64) -> bool {
        let given_up = self.entries.get(&offset).is_some_and(|e| e.fate == Fate::GivenUp);
        let above = self.entries.last_key_value().is_none_or(|(last, _)| offset > *last);
        given_up || (above && self.resume.is_none_or(|resume| offset >= resume))
    }

    pub(super) fn is_current(&self) -> bool {
        !matches!(self.stage, Stage::Over | Stage::Lost)
    }

    pub(super) fn runs(&self) -> bool {
        matches!(self.stage, Stage::Active | Stage::Draining(_))
    }
}

/// One ticket handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handed {
    pub(super) life: u64,
    pub(super) offset: u64,
    pub(super) kind: TicketKind,
}

#[derive(Clone, Debug)]
pub(super) struct Books {
    pub(super) config: Config,
    pub(super) partitions: Vec<Partition>,
    pub(super) now: u64,
    pub(super) next: u64,
    pub(super) lives: BTreeMap<u64, Life>,
    pub(super) current: BTreeMap<Partition, u64>,
    pub(super) tickets: Vec<Handed>,
    /// Oldest first.
    pub(super) finished: VecDeque<(Name, u64)>,
    pub(super) lease: Option<u64>,
    /// It may have begun later, with this assign.
    pub(super) lease_newer: Option<u64>,
    /// The end of the lease whose poll budget was told last.
    pub(super) budget_told: Option<u64>,
    /// Reports that this step must bring.
    pub(super) expected: Vec<Sealed>,
    /// The highest commit ever offered for a partition.
    pub(super) offered_ever: BTreeMap<Partition, u64>,
    pub(super) stats: Stats,
}

impl Books {
    pub(super) fn new(config: Config, partitions: &[Partition]) -> Self {
        Self {
            config,
            partitions: partitions.to_vec(),
            now: 0,
            next: config.first_assignment,
            lives: BTreeMap::new(),
            current: BTreeMap::new(),
            tickets: Vec::new(),
            finished: VecDeque::new(),
            lease: None,
            lease_newer: None,
            budget_told: None,
            expected: Vec::new(),
            offered_ever: BTreeMap::new(),
            stats: Stats::default(),
        }
    }

    pub(super) fn life(&self, partition: Partition) -> Option<(u64, &Life)> {
        let number = *self.current.get(&partition)?;
        let life = self.lives.get(&number)?;
        life.is_current().then_some((number, life))
    }

    pub(super) fn life_mut(&mut self, partition: Partition) -> Option<&mut Life> {
        let number = *self.current.get(&partition)?;
        self.lives.get_mut(&number).filter(|life| life.is_current())
    }

    /// Current assignments by number, which is their order of assign.
    pub(super) fn owned(&self) -> Vec<Partition> {
        let mut owned: Vec<_> = self.current.iter().map(|(p, number)| (*number, *p)).collect();
        owned.sort_unstable();
        let owned = owned.into_iter().map(|(_, partition)| partition);
        owned.filter(|partition| self.life(*partition).is_some()).collect()
    }

    /// The record in flight that has reserved this name.
    pub(super) fn reserved(&self, name: &Name) -> Option<(Partition, u64)> {
        self.lives.values().filter(|life| life.runs()).find_map(|life| {
            let flying = |e: &Entry| matches!(e.fate, Fate::Held(_) | Fate::Waiting(_));
            let mut entries = life.entries.iter();
            entries
                .find(|(_, e)| flying(e) && e.name.as_ref() == Some(name))
                .map(|(offset, _)| (life.partition, *offset))
        })
    }

    /// Whether the name finished and is remembered.
    pub(super) fn is_finished(&self, name: &Name) -> bool {
        let young = |at: u64| self.config.key_age.is_none_or(|age| self.now - at < age);
        self.finished.iter().any(|(known, at)| known == name && young(*at))
    }

    /// The ticket of this hand-out number.
    pub(super) fn ticket(&self, number: u64) -> Option<(usize, Handed)> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.tickets.get(index).map(|handed| (index, *handed))
    }

    /// Whether an answer of this kind can still count for the ticket, before the step's own time
    /// passes.
    pub(super) fn counts(&self, index: usize, handed: Handed, abandon: bool) -> bool {
        let Some(life) = self.lives.get(&handed.life).filter(|life| life.runs()) else {
            return false;
        };
        match life.entries.get(&handed.offset).map(|entry| entry.fate) {
            Some(Fate::Held(last)) => last == index,
            Some(Fate::Waiting(last)) => abandon && last == index,
            _ => false,
        }
    }

    /// Whether the input carries a dead assignment's ticket or number, or a ticket that was
    /// answered.
    pub(super) fn is_stale(&self, action: &Action) -> bool {
        let over = |partition: &Partition, assignment: &rebalance_guard::Assignment| {
            self.life(*partition).is_none_or(|(number, _)| number != assignment.value())
        };
        match action {
            Action::Answer { ticket, outcome } => {
                let abandon = *outcome == rebalance_guard::Outcome::Abandoned;
                let counts = |(index, handed)| self.counts(index, handed, abandon);
                !self.ticket(*ticket).is_some_and(counts)
            }
            Action::Position { partition, assignment, .. }
            | Action::GroupOffset { partition, assignment, .. }
            | Action::EndOfPartition { partition, assignment }
            | Action::CommitAnswered { partition, assignment, .. } => over(partition, assignment),
            _ => false,
        }
    }
}

/// The name of a record whose key is worth the name.
pub(super) fn name_of(record: &Offered) -> Option<Name> {
    let key = record.key.as_ref()?;
    let usable = key.len() <= Record::KEY_BYTES_MAX && !key.iter().all(u8::is_ascii_whitespace);
    usable.then(|| (record.namespace, key.clone()))
}
