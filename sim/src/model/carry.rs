//! What is finished above the mark, as text: the model's own reading and writing of the document.

use rebalance_guard::{Config, Ignored, Offset, Output, Partition, Phase, Record};

use super::Model;
use super::own::{Own, Place};

const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Offsets from the first up to the second, which is not one of them.
pub(crate) type Span = (u64, u64);

/// What a string says.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Told {
    pub(crate) base: u64,
    pub(crate) epoch: Option<u64>,
    pub(crate) spans: Vec<Span>,
}

fn check(text: &[u8]) -> String {
    let mut hash: u32 = 2_166_136_261;
    for byte in text {
        hash ^= u32::from(*byte);
        hash = hash.wrapping_mul(16_777_619);
    }
    (0..6).map(|place| digit(u64::from(hash >> (6 * place)) & 63)).collect()
}

fn digit(value: u64) -> char {
    DIGITS.chars().nth(usize::try_from(value).unwrap_or(64)).unwrap_or('?')
}

fn spell(number: u64) -> String {
    let low = number % 32;
    match number / 32 {
        0 => digit(low).to_string(),
        rest => format!("{}{}", digit(low + 32), spell(rest)),
    }
}

/// The string of a set; empty for an empty one.
pub(crate) fn spell_set(told: &Told) -> Vec<u8> {
    if told.spans.is_empty() {
        return Vec::new();
    }
    let epoch = told.epoch.map_or(0, |epoch| epoch + 1);
    let mut text = format!("rg1{}{}", spell(told.base), spell(epoch));
    let mut from = told.base;
    for (start, end) in &told.spans {
        text += &format!("{}{}", spell(start - from), spell(end - start));
        from = *end;
    }
    text += &check(text.as_bytes());
    text.into_bytes()
}

/// Reads a string by trying to write it again: whatever is spelt otherwise is not ours.
pub(crate) fn read(text: &[u8]) -> Result<Told, Ignored> {
    let version = match text {
        [b'r', b'g', version, ..] if version.is_ascii_digit() => *version,
        _ => return Err(Ignored::Foreign),
    };
    if version != b'1' {
        return Err(Ignored::Version);
    }
    let told = guess(text).ok_or(Ignored::Foreign)?;
    if spell_set(&told) == text { Ok(told) } else { Err(Ignored::Foreign) }
}

fn guess(text: &[u8]) -> Option<Told> {
    let body = std::str::from_utf8(text.get(3..text.len().checked_sub(6)?)?).ok()?;
    let mut numbers = Vec::new();
    let (mut number, mut weight): (u128, u32) = (0, 0);
    for letter in body.chars() {
        let value = DIGITS.find(letter)? as u128;
        number += (value % 32).checked_shl(weight).filter(|_| weight <= 60)?;
        weight += 5;
        if value < 32 {
            numbers.push(u64::try_from(number).ok()?);
            (number, weight) = (0, 0);
        }
    }
    let [base, epoch, spans @ ..] = numbers.as_slice() else { return None };
    if *epoch > 1 << 31 || weight != 0 {
        return None;
    }
    let mut told =
        Told { base: *base, epoch: epoch.checked_sub(1), spans: Vec::with_capacity(spans.len()) };
    let mut from = *base;
    for pair in spans.chunks(2) {
        let [gap, length] = pair else { return None };
        let start = from.checked_add(*gap)?;
        let end = start.checked_add(*length)?;
        let touches = *gap == 0 && !told.spans.is_empty();
        if *length == 0 || touches || end > Offset::MAX.value() {
            return None;
        }
        told.spans.push((start, end));
        from = end;
    }
    Some(told)
}

impl Own {
    /// Takes over what the committed offset's metadata says.
    pub(super) fn carry(&mut self, base: u64, text: &[u8], config: &Config) {
        if config.metadata_max == 0 || text.is_empty() {
            return;
        }
        let read = if text.len() > usize::from(config.metadata_max) {
            Err(Ignored::TooLong)
        } else {
            read(text)
        };
        match read {
            Ok(told) if told.base != base => self.ignored = Some(Ignored::Base),
            Ok(told) => {
                self.string_offered = text.to_vec();
                self.string_confirmed = text.to_vec();
                self.epoch = told.epoch;
                self.carried_epoch = told.epoch;
                self.carried = told.spans;
            }
            Err(why) => self.ignored = Some(why),
        }
    }

    /// Carried spans above everything admitted.
    pub(super) fn ahead(&self) -> Vec<Span> {
        let from = self.last().map(|last| last + 1).or(self.resume).unwrap_or(0);
        let clipped = self.carried.iter().map(|(start, end)| (from.max(*start), *end));
        clipped.filter(|(start, end)| start < end).collect()
    }

    /// The string that would be committed now.
    pub(super) fn string(&self, config: &Config) -> Vec<u8> {
        let Some(base) = self.mark() else { return Vec::new() };
        if config.metadata_max == 0 || self.rejected {
            return Vec::new();
        }
        let above = self.places.range(base..).filter(|(_, place)| **place == Place::Finished);
        let mut spans: Vec<Span> = Vec::new();
        for (start, end) in above.map(|(offset, _)| (*offset, *offset + 1)).chain(self.ahead()) {
            match spans.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => spans.push((start, end)),
            }
        }
        let text = spell_set(&Told { base, epoch: self.epoch, spans });
        if text.len() > usize::from(config.metadata_max) { Vec::new() } else { text }
    }
}

/// The record's leader epoch, if it tells one.
pub(super) fn epoch_of(record: &Record<'_>) -> Option<u64> {
    record.leader_epoch.and_then(|epoch| u64::try_from(epoch).ok())
}

impl Model {
    /// [`rebalance_guard::Guard::commit_metadata`].
    pub fn commit_metadata(&self, partition: Partition) -> Vec<u8> {
        let own = self.own(partition).filter(|own| own.phase != Phase::Unowned);
        own.map(|own| own.string(&self.config)).unwrap_or_default()
    }

    /// Whether an owner before finished this new record.
    pub(super) fn is_carried(&self, record: &Record<'_>) -> bool {
        let at = record.offset.value();
        let spans = self.own(record.partition).map(Own::ahead).unwrap_or_default();
        spans.iter().any(|(start, end)| (*start..*end).contains(&at))
    }

    /// Whether this new record was written under a later leader than the string's writer knew.
    pub(super) fn contradicts(&self, record: &Record<'_>) -> bool {
        let Some(own) = self.own(record.partition) else { return false };
        let later = own.carried_epoch.is_some_and(|known| epoch_of(record) > Some(known));
        later && !own.ahead().is_empty()
    }

    pub(super) fn void_carried(&mut self, partition: Partition) {
        if let Some(own) = self.own_mut(partition) {
            own.carried.clear();
            own.ignored = Some(Ignored::LaterEpoch);
        }
        self.report_ignored(partition);
    }

    pub(super) fn report_ignored(&mut self, partition: Partition) {
        if let Some(why) = self.own_mut(partition).and_then(|own| own.ignored.take()) {
            self.report(Output::MetadataIgnored { partition, why });
        }
    }
}
