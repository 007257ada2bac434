//! The set of an assignment: what is finished above its mark, here or by an owner before, and the
//! string that tells it to the next owner.
//!
//! Offsets finished here stand in the ring of places. Those carried in stay in the string that
//! they came with; they lie above everything admitted, so a cursor passes over them once.

use crate::logic::Logic;
use crate::memory::View;
use crate::metadata::{self, Run, Writer};
use crate::partition::{PartitionEntry, Phase};
use crate::place;
use crate::report::ReportKind;
use crate::state::NO_OFFSET;
use crate::{Config, Ignored, Output};

/// Carried offsets of one assignment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Carried {
    /// Where the runs of its string end; 0: nothing is carried.
    pub(crate) runs_end: u16,
    /// Where the next run stands.
    pub(crate) next_at: u16,
    /// The run before it, of which something may lie ahead.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The leader epoch of its string + 1, or 0.
    pub(crate) epoch: u64,
}

impl Carried {
    pub(crate) const NONE: Self = Self { runs_end: 0, next_at: 0, start: 0, end: 0, epoch: 0 };

    pub(crate) const fn is_empty(&self) -> bool {
        self.runs_end == 0
    }
}

/// The string of an assignment as it stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SetText {
    /// Nothing to tell, or telling is switched off.
    None,
    /// Longer than `metadata_max`.
    TooLong,
    Text {
        len: u16,
        identity: u64,
    },
}

impl SetText {
    /// What two strings are compared by.
    pub(crate) const fn identity(self) -> u64 {
        match self {
            Self::Text { identity, .. } => identity,
            Self::None | Self::TooLong => 0,
        }
    }

    pub(crate) const fn len(self) -> u16 {
        match self {
            Self::Text { len, .. } => len,
            Self::None | Self::TooLong => 0,
        }
    }
}

/// Runs of `text` from the cursor on, in order.
fn runs(text: &[u8], carried: Carried) -> impl Iterator<Item = Run> + '_ {
    let mut current =
        (!carried.is_empty()).then_some(Run { start: carried.start, end: carried.end });
    let mut at = usize::from(carried.next_at);
    core::iter::from_fn(move || {
        let run = current.take()?;
        if at < usize::from(carried.runs_end)
            && let Some((next, after)) = metadata::run(text, at, run.end)
        {
            (current, at) = (Some(next), after);
        }
        Some(run)
    })
}

/// The string that was carried in, and what an older one left behind it.
pub(crate) fn text_of<'a>(view: View<'a>, config: &Config, slot: u32) -> &'a [u8] {
    let max = usize::from(config.metadata_max);
    let from = (slot as usize).saturating_mul(max);
    view.carried.get(from..from.saturating_add(max)).unwrap_or_default()
}

/// Writes the string of `slot` into `room`, or finds how long it is.
pub(crate) fn write(view: View<'_>, config: &Config, slot: u32, room: &mut [u8]) -> SetText {
    let Some(entry) = view.partitions.get(slot as usize) else {
        return SetText::None;
    };
    let mark = match entry.phase {
        Phase::Committing => entry.sealed_mark,
        Phase::Unowned => NO_OFFSET,
        Phase::Active | Phase::Draining => place::mark(view.places, config.budget, slot, entry),
    };
    let finished_above = entry.places > entry.unfinished;
    if !entry.tells_set(config) || mark == NO_OFFSET {
        return SetText::None;
    }
    if !finished_above && entry.carried.is_empty() {
        return SetText::None;
    }
    let max = usize::from(config.metadata_max);
    let mut writer = Writer::new(room, mark, entry.epoch);
    let finished = place::finished(view.places, config.budget, slot, entry);
    let ahead = entry.first_ahead();
    let carried = runs(text_of(view, config, slot), entry.carried)
        .map(|run| Run { start: run.start.max(ahead), ..run })
        .filter(|run| run.start < run.end);
    for run in finished.chain(carried) {
        writer.add(run);
        if writer.len() > max {
            return SetText::TooLong;
        }
    }
    let (len, identity) = writer.finish();
    match u16::try_from(len) {
        Ok(len) if len <= config.metadata_max => SetText::Text { len, identity },
        _ => SetText::TooLong,
    }
}

impl PartitionEntry {
    /// Whether commits of this assignment carry metadata.
    pub(crate) const fn tells_set(&self, config: &Config) -> bool {
        config.metadata_max > 0 && self.rejected == 0
    }

    /// The lowest offset that a new record may have.
    pub(crate) const fn first_ahead(&self) -> u64 {
        if self.last_admitted == NO_OFFSET {
            self.resume
        } else {
            self.last_admitted.saturating_add(1)
        }
    }
}

impl Logic<'_> {
    /// The string of `slot` as it stands, not written anywhere.
    pub(crate) fn set_text(&self, slot: u32) -> SetText {
        write(self.parts.view(), &self.state.config, slot, &mut [])
    }

    /// Takes over what the metadata of the committed offset `base` names as finished.
    pub(crate) fn carry(&mut self, slot: u32, base: u64, text: &[u8]) {
        let config = &self.state.config;
        if config.metadata_max == 0 || text.is_empty() {
            return;
        }
        let outcome = if text.len() > usize::from(config.metadata_max) {
            Err(Ignored::TooLong)
        } else {
            metadata::read(text, base)
        };
        let header = match outcome {
            Ok(header) => header,
            Err(why) => {
                self.entry_mut(slot).ignored = Some(why);
                return;
            }
        };
        let Some((first, next_at)) = metadata::run(text, header.runs_at, base) else {
            return;
        };
        self.keep_text(slot, text);
        let identity = metadata::identity_of(text);
        let entry = self.entry_mut(slot);
        entry.carried = Carried {
            runs_end: u16::try_from(header.runs_end).unwrap_or(0),
            next_at: u16::try_from(next_at).unwrap_or(0),
            start: first.start,
            end: first.end,
            epoch: header.epoch,
        };
        entry.epoch = header.epoch;
        entry.string_offered = identity;
        entry.string_confirmed = identity;
    }

    /// Keeps the runs of a carried string, as a snapshot tells them.
    pub(crate) fn keep_text(&mut self, slot: u32, text: &[u8]) {
        let from = (slot as usize).saturating_mul(usize::from(self.state.config.metadata_max));
        let room = self.parts.carried.get_mut(from..from.saturating_add(text.len()));
        if let Some(room) = room {
            room.copy_from_slice(text);
        }
    }

    /// Tells, once, that the start's metadata was not used.
    pub(crate) fn report_ignored(&mut self, slot: u32) {
        if let Some(why) = self.entry_mut(slot).ignored.take() {
            self.metadata_ignored(slot, why);
        }
    }

    fn metadata_ignored(&mut self, slot: u32, why: Ignored) {
        let counters = &mut self.state.counters;
        counters.metadata_ignored = counters.metadata_ignored.saturating_add(1);
        let partition = self.entry(slot).partition;
        self.report(slot, ReportKind::Metadata, Output::MetadataIgnored { partition, why });
    }

    /// Whether an owner before finished `offset`, which lies above everything admitted.
    pub(crate) fn is_carried(&self, slot: u32, offset: u64) -> bool {
        let carried = self.entry(slot).carried;
        runs(text_of(self.parts.view(), &self.state.config, slot), carried)
            .take_while(|run| run.start <= offset)
            .any(|run| offset < run.end)
    }

    /// Whether a record of that leader epoch contradicts what was carried in.
    pub(crate) fn contradicts(&self, slot: u32, epoch: u64) -> bool {
        let carried = self.entry(slot).carried;
        !carried.is_empty() && carried.epoch != 0 && epoch > carried.epoch
    }

    /// Drops what was carried in: the log was cut and written anew.
    pub(crate) fn void_carried(&mut self, slot: u32) {
        let entry = self.entry_mut(slot);
        entry.carried = Carried::NONE;
        entry.set_changed = true;
        self.metadata_ignored(slot, Ignored::LaterEpoch);
    }

    /// A record took a place: carried offsets up to it are met, or will not come.
    pub(crate) fn pass_carried(&mut self, slot: u32) {
        let entry = self.entry(slot);
        let (carried, ahead) = (entry.carried, entry.first_ahead());
        if carried.is_empty() {
            return;
        }
        let text = text_of(self.parts.view(), &self.state.config, slot);
        let mut passed = carried;
        while passed.end <= ahead {
            let at = usize::from(passed.next_at);
            if at >= usize::from(passed.runs_end) {
                passed = Carried::NONE;
                break;
            }
            match metadata::run(text, at, passed.end) {
                Some((next, after)) => {
                    passed.start = next.start;
                    passed.end = next.end;
                    passed.next_at = u16::try_from(after).unwrap_or(0);
                }
                None => passed = Carried::NONE,
            }
            if passed.is_empty() {
                break;
            }
        }
        let entry = self.entry_mut(slot);
        entry.carried = passed;
        entry.set_changed = true;
    }
}
