//! What this process knows of each partition's log: how far it was read, and whether it was cut or
//! made anew meanwhile.

use std::time::Duration;

use rebalance_guard::{Input, Partition};

use super::Event;
use super::row::BACK_OFF;
use super::state::{Flow, Gateway, Interrupt};
use crate::clock;
use crate::kafka::lookup::{Found, Held};

/// How long after a position outside its log lookups compare: the partition may move from member
/// to member until one of them has put it right.
const WATCH: Duration = Duration::from_secs(600);

/// One partition's log, across assignments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Log {
    /// The offset after the highest record that was read.
    pub(super) reached: i64,
    /// The namespace of keys that name a place in the log: raised when an offset may mean another
    /// record than before.
    pub(super) incarnation: u32,
    /// The group was seen to hold an offset.
    committed: bool,
}

impl Gateway<'_> {
    /// The position of some partition lies outside its log: the client, which does not say of
    /// which, stops fetching it. A new one begins inside, for the next lookups compare what the
    /// group holds with the log.
    pub(super) fn out_of_range(&mut self) -> Interrupt {
        let back_off = if self.checks_ranges() { BACK_OFF } else { Duration::ZERO };
        self.out_of_range = Some(clock::now());
        let why = "a position lies outside its partition's log (retention passed it, the log was \
                   cut, or the topic made anew)";
        Interrupt::Rejoin { why: why.to_owned(), back_off }
    }

    /// Whether lookups compare what the group holds with the logs: one more question for each
    /// partition.
    pub(super) fn checks_ranges(&self) -> bool {
        self.out_of_range.is_some_and(|seen| clock::now() < seen + WATCH)
    }

    /// Compares an answer of the lookup with what is known of the log, before anything of the new
    /// assignment is admitted; whether the log is another one than before.
    pub(super) fn compare_log(
        &mut self,
        name: &(String, i32),
        partition: Partition,
        found: &Found,
    ) -> bool {
        let Some(held) = found.held.get(name).cloned() else { return false };
        let log = self.logs.entry(partition).or_default();
        let cut = found.ends.get(name).is_some_and(|end| *end < log.reached);
        // The coordinator forgets a deleted topic's offsets.
        let forgotten = log.committed && matches!(held, Held::Nothing(_));
        log.committed |= !matches!(held, Held::Nothing(_));
        let past_end = matches!(held, Held::OutOfRange { committed, start } if committed > start);
        let (topic, index) = self.name(partition);
        if let Held::OutOfRange { committed, start } = held {
            if past_end {
                tracing::error!(%topic, partition = index, committed, start,
                    "the group's offset lies beyond the log's end: the log was cut or the topic \
                     made anew; reading it from its beginning");
            } else {
                // B65: nobody is told otherwise.
                tracing::error!(%topic, partition = index, committed, start,
                    lost = start.saturating_sub(committed),
                    "records were removed by retention before this group read them");
            }
            self.tell_observer(Event::OutOfRange { topic, partition: index, committed, start });
        }
        let anew = cut || past_end || forgotten;
        if anew {
            self.log_made_anew(partition);
        }
        anew
    }

    /// From now on an offset of the partition may mean another record than before.
    pub(super) fn log_made_anew(&mut self, partition: Partition) {
        let log = self.logs.entry(partition).or_default();
        log.incarnation = log.incarnation.wrapping_add(1);
        log.reached = 0;
        let incarnation = log.incarnation;
        if let Some(holding) = self.holdings.get_mut(&partition) {
            holding.incarnation = incarnation;
            holding.reached = 0;
        }
        if self.settings.key.names_a_place() {
            let (topic, index) = self.name(partition);
            tracing::warn!(%topic, partition = index,
                "keys made of offsets do not outlive a log: what finished under them before is \
                 forgotten here, but a sink that remembers keys may take new records for old ones");
        }
    }

    /// The group holds an offset of ours.
    pub(super) fn log_committed(&mut self, partition: Partition) {
        self.logs.entry(partition).or_default().committed = true;
    }

    /// The namespace of the partition's keys.
    pub(super) fn namespace(&self, partition: Partition) -> u32 {
        if !self.settings.key.names_a_place() {
            return 0;
        }
        self.holdings.get(&partition).map_or(0, |holding| holding.incarnation)
    }

    /// A record was held that will not be offered again (compacted away, or dropped when the
    /// resume position came): nothing above it would ever be admitted. Reading goes on from the
    /// mark, or from the debt where nothing was admitted yet; whether it does.
    pub(super) fn settle_debt(&mut self, partition: Partition) -> Flow<bool> {
        let progress = self.engine.progress(partition)?;
        let mark = progress.and_then(|progress| progress.mark.or(progress.owed));
        let Some(mark) = mark else { return Ok(false) };
        let rewind = Input::Rewind { partition, offset: mark };
        let (topic, index) = self.name(partition);
        if let Err(error) = self.engine.handle(self.now(), rewind)? {
            tracing::debug!(%topic, partition = index, %error, "the debt stays");
            return Ok(false);
        }
        tracing::warn!(%topic, partition = index, %mark,
            "a record that was held is gone: reading again from the mark");
        // Whatever was in hand lies at or above the mark, and is read again.
        let paused = self.holdings.get(&partition).is_some_and(|holding| holding.paused);
        self.end_holding(partition);
        self.begin_holding(partition, paused)?;
        self.seek(partition, mark.as_i64())?;
        self.sync_pause(partition);
        Ok(true)
    }

    /// The client's next record of the partition is the one at `offset`.
    pub(super) fn seek(&self, partition: Partition, offset: i64) -> Flow {
        let (topic, index) = self.name(partition);
        self.session.seek(&topic, index, offset).map_err(|error| {
            self.rejoin(format!("cannot seek to {offset} in {topic}/{index}: {error}"))
        })
    }
}
