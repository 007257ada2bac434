//! Strings beside committed offsets: true ones, other ones, and junk.

use rebalance_guard::{Offset, Partition};

use super::Driver;
use super::pick::clamp;
use crate::model::carry::{Told, spell_set};
use crate::trace::Resumed;

impl Driver {
    /// A committed offset near `offset`, with or without a string.
    pub(super) fn committed(&mut self, partition: Partition, offset: u64) -> Resumed {
        let offset = clamp(offset);
        let told = self.logs.get(&partition).map_or(&[][..], |log| &log.strings);
        let told = (!told.is_empty()).then(|| told[self.rng.usize(0..told.len())].clone());
        let base = offset.value();
        let (offset, metadata) = match (self.rng.u32(0..20), told) {
            (0..7, _) => (offset, Vec::new()),
            (7..10, Some((base, text))) => (clamp(base), text),
            (10, Some((_, text))) => (offset, text),
            (11, _) => (offset, b"somebody else's".to_vec()),
            (12, _) => (offset, b"rg7AAAA".to_vec()),
            (13, _) => {
                let mut text = self.made_up(base);
                let kept = self.rng.usize(0..text.len().max(1));
                text.truncate(kept);
                (offset, text)
            }
            (14, _) => (offset, self.made_up(base.saturating_add(1))),
            _ => (offset, self.made_up(base)),
        };
        Resumed::Committed { offset, metadata }
    }

    /// A string that a guard could have written at `base`.
    fn made_up(&mut self, base: u64) -> Vec<u8> {
        let epoch = match self.rng.u8(0..4) {
            0 => None,
            1 => Some(self.leader_epoch.saturating_sub(1)),
            _ => Some(self.leader_epoch),
        };
        let mut spans = Vec::new();
        let mut from = base;
        for nth in 0..self.rng.u64(1..5) {
            let start = from + self.rng.u64(u64::from(nth > 0)..3);
            let end = start + self.rng.u64(1..4);
            if end > Offset::MAX.value() {
                break;
            }
            spans.push((start, end));
            from = end;
        }
        spell_set(&Told { base, epoch: epoch.map(u64::from), spans })
    }

    /// Mostly the epoch of now, which rises now and then.
    pub(super) fn epoch_of_a_record(&mut self) -> Option<i32> {
        self.leader_epoch += u32::from(self.rng.u8(0..40) == 0);
        let now = i32::try_from(self.leader_epoch).unwrap_or(i32::MAX);
        match self.rng.u8(0..8) {
            0 | 1 => None,
            2 => Some(-1),
            3 => Some(now - 1),
            _ => Some(now),
        }
    }
}
