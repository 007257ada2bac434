//! What finished above a mark, as strings tell it: from the owner before, and to the next.

use rebalance_guard::{Config, Output, Partition, Skip};

use super::books::{Books, Entry, Fate, Life};
use super::judge::{Judged, broken};
use crate::model::carry::{self, Span};
use crate::trace::{Answer, Offered, Resumed};

impl Life {
    /// Takes over what the metadata names, if it is ours and fits.
    pub(super) fn carry(&mut self, resume: &Resumed, config: &Config) {
        self.carried.clear();
        let Resumed::Committed { offset, metadata } = resume else { return };
        if config.metadata_max == 0 || metadata.len() > usize::from(config.metadata_max) {
            return;
        }
        if let Ok(told) = carry::read(metadata)
            && told.base == offset.value()
        {
            self.carried = told.spans;
            self.carried_epoch = told.epoch;
        }
    }

    /// Carried spans above everything admitted.
    fn ahead(&self) -> Vec<Span> {
        let last = self.entries.last_key_value().map(|(offset, _)| offset + 1);
        let from = last.or(self.resume).unwrap_or(0);
        let clipped = self.carried.iter().map(|(start, end)| (from.max(*start), *end));
        clipped.filter(|(start, end)| start < end).collect()
    }

    fn contradicts(&self, record: &Offered) -> bool {
        let epoch = record.leader_epoch.and_then(|epoch| u64::try_from(epoch).ok());
        self.carried_epoch.is_some_and(|known| epoch > Some(known)) && !self.ahead().is_empty()
    }

    fn is_new(&self, offset: u64) -> bool {
        self.may_enter(offset) && !self.entries.contains_key(&offset)
    }

    /// Whether the record must be skipped as finished by an owner before.
    pub(super) fn must_skip(&self, record: &Offered) -> bool {
        let offset = record.offset.value();
        let named = self.ahead().iter().any(|(start, end)| (*start..*end).contains(&offset));
        named && self.is_new(offset) && !self.contradicts(record)
    }

    /// A record under a later leader was taken or held: the log is not the one that was told of.
    pub(super) fn may_void(&mut self, record: &Offered) {
        if self.is_new(record.offset.value()) && self.contradicts(record) {
            self.carried.clear();
        }
    }
}

impl Books {
    pub(super) fn judge_carried(&mut self, record: &Offered) -> Judged {
        let skip = Skip::Carried;
        let offset = record.offset.value();
        let Some(life) = self.life_mut(record.partition) else { return Ok(()) };
        if !life.must_skip(record) {
            return broken("P9", format!("{record:?} skipped as {skip:?}, and nobody told it"));
        }
        life.entries.insert(offset, Entry { name: None, fate: Fate::Finished });
        self.judge_debt(record)
    }

    /// Each commit's string names only what is finished, above the commit's own offset.
    pub(super) fn judge_strings(&self, answer: &Answer) -> Judged {
        let commits = answer.outputs.iter().filter_map(|output| match output {
            Output::Commit { partition, offset, metadata, .. } => {
                Some((*partition, offset.value(), usize::from(*metadata)))
            }
            _ => None,
        });
        for ((partition, offset, len), text) in commits.zip(&answer.metadata) {
            if len != text.len() {
                return broken("P11", format!("{len} bytes told, {} read", text.len()));
            }
            self.judge_string(partition, offset, text)?;
        }
        Ok(())
    }

    fn judge_string(&self, partition: Partition, offset: u64, text: &[u8]) -> Judged {
        if text.is_empty() {
            return Ok(());
        }
        let Some((_, life)) = self.life(partition) else { return Ok(()) };
        let told = match carry::read(text) {
            Ok(told) if told.base == offset => told,
            other => return broken("P7", format!("the string with {offset} reads {other:?}")),
        };
        let ahead = life.ahead();
        let known = |at: u64| {
            let here = life.entries.get(&at).is_some_and(|entry| entry.fate == Fate::Finished);
            here || ahead.iter().any(|(start, end)| (*start..*end).contains(&at))
        };
        for (start, end) in told.spans {
            let carried = ahead.iter().any(|(from, to)| *from <= start && end <= *to);
            // What is not carried whole was finished one by one.
            if !carried && let Some(open) = (start..end).take(10_000).find(|at| !known(*at)) {
                return broken("P7", format!("the string with {offset} names {open}, unfinished"));
            }
        }
        Ok(())
    }
}
