//! The store that side effects go to, with the checks of the product's sinks: a token lower than
//! one seen for the partition, or a known key, changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use rebalance_guard::Token;

use super::log::{Entry, Logs};

/// What the sink did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Taken {
    Applied,
    /// The key is known.
    Absorbed,
    /// A newer owner was here.
    Refused,
    /// An effect that took place before, at a sink that cannot tell.
    Repeated,
}

/// Records of one partition and offset, or one key for all its copies.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Deed {
    Key(u64),
    Place(u32, u64),
}

impl Deed {
    pub(super) fn of(partition: u32, offset: u64, entry: &Entry) -> Self {
        entry.key.map_or(Self::Place(partition, offset), Self::Key)
    }
}

#[derive(Default)]
pub(super) struct Sink {
    tokens: BTreeMap<u32, Token>,
    pub(super) done: BTreeSet<Deed>,
    pub(super) dead: BTreeSet<Deed>,
    /// Places finished by dead letter, which names a record and not a key.
    pub(super) absorbed: u64,
    pub(super) refused: u64,
    pub(super) repeated: u64,
}

impl Sink {
    /// An effect with the token of its assignment; without one nothing is checked.
    pub(super) fn take(&mut self, partition: u32, deed: Deed, token: Option<Token>) -> Taken {
        let Some(token) = token else {
            if self.done.insert(deed) {
                return Taken::Applied;
            }
            self.repeated += 1;
            return Taken::Repeated;
        };
        let highest = self.tokens.entry(partition).or_insert(token);
        if token < *highest {
            self.refused += 1;
            return Taken::Refused;
        }
        *highest = token;
        if self.done.insert(deed) {
            Taken::Applied
        } else {
            self.absorbed += 1;
            Taken::Absorbed
        }
    }

    /// Whether nothing is left to do for what stands there.
    pub(super) fn is_done(&self, partition: u32, offset: u64, entry: &Entry) -> bool {
        let deed = Deed::of(partition, offset, entry);
        self.done.contains(&deed) || self.dead.contains(&deed)
    }

    /// Records in `offsets` of the partition that no crash would bring back and that are not done:
    /// a copy of the same key that will be read again stands for them.
    pub(super) fn passed_over(
        &self,
        logs: &Logs,
        partition: u32,
        offsets: core::ops::Range<u64>,
        committed: impl Fn(u32) -> u64,
    ) -> Option<u64> {
        let log = logs.log(partition)?;
        let comes_back = |entry: &Entry| {
            let places = entry.key.and_then(|key| logs.copies.get(&key));
            places.is_some_and(|places| {
                places.iter().any(|(partition, offset)| {
                    let there = logs.log(*partition).and_then(|log| log.entries.get(offset));
                    there.is_some_and(|there| there.key == entry.key)
                        && *offset >= committed(*partition)
                })
            })
        };
        let mut passed = log.entries.range(offsets);
        let found =
            passed.find(|(offset, e)| !self.is_done(partition, **offset, e) && !comes_back(e));
        found.map(|(offset, _)| *offset)
    }
}
