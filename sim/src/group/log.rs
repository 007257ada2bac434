//! The partitions' logs, with the holes that real ones have.

use std::collections::BTreeMap;

use super::options::Options;

/// One record as it stands in a log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Entry {
    /// What it asks for: the number of its idempotency key.
    pub(super) key: Option<u64>,
    /// When it was produced.
    pub(super) at: u64,
    /// The leader that wrote it.
    pub(super) epoch: i32,
}

impl Entry {
    /// The key as the guard sees it.
    pub(super) fn key_bytes(&self) -> Option<Vec<u8>> {
        self.key.map(|key| format!("k{key}").into_bytes())
    }
}

/// One partition's log.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) next: u64,
    pub(super) epoch: i32,
    /// Below it records were handed to a guard, or are committed.
    pub(super) read: u64,
}

/// All logs, and the one who writes them.
pub(super) struct Logs {
    pub(super) logs: Vec<Log>,
    /// Every key's places.
    pub(super) copies: BTreeMap<u64, Vec<(u32, u64)>>,
    rng: fastrand::Rng,
    keys: u64,
    made: u64,
}

impl Logs {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            logs: (0..options.partitions).map(|_| Log { epoch: 1, ..Log::default() }).collect(),
            copies: BTreeMap::new(),
            rng: fastrand::Rng::with_seed(options.seed ^ 0x6C6F_6773),
            keys: 0,
            made: 0,
        }
    }

    pub(super) fn log(&self, partition: u32) -> Option<&Log> {
        self.logs.get(partition as usize)
    }

    pub(super) fn log_mut(&mut self, partition: u32) -> Option<&mut Log> {
        self.logs.get_mut(partition as usize)
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// Produces what is due at `now`.
    pub(super) fn produce(&mut self, options: &Options, now: u64) {
        let due = options.rate.saturating_mul(now.min(options.produce_ms)) / 1_000;
        while self.made < due {
            self.made += 1;
            let partition = self.rng.usize(0..self.logs.len());
            let key = self.key(options);
            let Some(log) = self.logs.get_mut(partition) else {
                return;
            };
            // A transaction's marker takes an offset and is never delivered.
            log.next += u64::from(self.rng.u8(0..8) == 0);
            let place = (u32::try_from(partition).unwrap_or(0), log.next);
            log.entries.insert(log.next, Entry { key, at: now, epoch: log.epoch });
            log.next += 1;
            if let Some(key) = key {
                self.copies.entry(key).or_default().push(place);
            }
        }
    }

    fn key(&mut self, options: &Options) -> Option<u64> {
        if self.rng.u8(0..100) < options.keyless {
            return None;
        }
        if self.keys > 0 && self.rng.u8(0..100) < options.copies {
            let key = self.keys - self.rng.u64(0..self.keys.min(8));
            // A copy of what is gone could be vouched for by what nobody can read again.
            if self.copies.get(&key).is_some_and(|places| places.iter().all(|p| self.has(*p, key)))
            {
                return Some(key);
            }
        }
        self.keys += 1;
        Some(self.keys)
    }

    fn has(&self, (partition, offset): (u32, u64), key: u64) -> bool {
        let entry = self.log(partition).and_then(|log| log.entries.get(&offset));
        entry.is_some_and(|entry| entry.key == Some(key))
    }

    /// Takes out every second old record that no other copy leans on.
    pub(super) fn compact(&mut self, partition: u32) -> u64 {
        let Some(log) = self.logs.get_mut(partition as usize) else {
            return 0;
        };
        let end = log.next.saturating_sub(4);
        let gone: Vec<u64> = log
            .entries
            .range(..end)
            .filter(|(offset, entry)| **offset % 2 == 0 && is_single(&self.copies, entry))
            .map(|(offset, _)| *offset)
            .collect();
        for offset in &gone {
            log.entries.remove(offset);
        }
        gone.len() as u64
    }

    /// Takes off the end that nobody was handed, as far as no other copy leans on it; where it
    /// begins.
    pub(super) fn truncate(&mut self, partition: u32) -> Option<u64> {
        let log = self.logs.get_mut(partition as usize)?;
        let leaned = log.entries.iter().rev().find(|(_, entry)| !is_single(&self.copies, entry));
        let from = leaned.map_or(0, |(offset, _)| offset + 1).max(log.read);
        let cut = log.entries.range(from..).next().map(|(offset, _)| *offset)?;
        log.entries.split_off(&cut);
        log.next = cut;
        log.epoch += 1;
        Some(cut)
    }
}

fn is_single(copies: &BTreeMap<u64, Vec<(u32, u64)>>, entry: &Entry) -> bool {
    entry.key.and_then(|key| copies.get(&key)).is_none_or(|places| places.len() == 1)
}
