//! Records from the client's buffers to the guard.

use rebalance_guard::{Hold, Offset, Reply, Verdict};

use super::work::Kind;
use super::{Process, Shared};
use crate::group::log::Entry;
use crate::group::seat::partition;
use crate::trace::{Action, Answer, Offered, Said};

/// Records of one partition that are fetched ahead.
const AHEAD: usize = 6;
/// Records that may come again.
const REMEMBERED: usize = 12;

impl Process {
    /// Fills the buffers; the coordinator is not needed for it.
    pub(super) fn fetch_some(&mut self, shared: &mut Shared<'_>) {
        let owned: Vec<u32> = self.client.owned.iter().copied().collect();
        for number in owned {
            let (Some(from), Some(log)) =
                (self.fetch.get(&number).copied(), shared.logs.log_mut(number))
            else {
                continue;
            };
            let inbox = self.inbox.entry(number).or_default();
            let room = AHEAD.saturating_sub(inbox.len());
            if room == 0 || self.paused.contains(&number) {
                continue;
            }
            let next: Vec<u64> = log.entries.range(from..).take(room).map(|(o, _)| *o).collect();
            if let Some(last) = next.last() {
                log.read = log.read.max(*last + 1);
                self.fetch.insert(number, last + 1);
                self.inbox.entry(number).or_default().extend(next);
            } else if self.inbox.get(&number).is_none_or(|inbox| inbox.is_empty())
                && self.at_end.insert(number)
                && let Some(assignment) = self.assignment(number)
            {
                let partition = partition(number);
                self.tell(shared, Action::EndOfPartition { partition, assignment });
            }
        }
    }

    /// Offers what lies in the buffers; what is held stays there, and what comes after it is
    /// offered as well.
    pub(super) fn offer(&mut self, shared: &mut Shared<'_>) {
        let numbers: Vec<u32> = self.inbox.keys().copied().collect();
        for number in numbers {
            if self.paused.contains(&number) && self.is_active(number) {
                continue;
            }
            self.offer_of(shared, number);
        }
    }

    fn offer_of(&mut self, shared: &mut Shared<'_>, number: u32) {
        let waiting = self.inbox.remove(&number).unwrap_or_default();
        let mut kept = std::collections::VecDeque::new();
        let mut held = false;
        for offset in waiting {
            // One look past a held record is enough to be told that it is owed.
            if held && kept.len() > 1 {
                kept.push_back(offset);
                continue;
            }
            let entry = shared.logs.log(number).and_then(|log| log.entries.get(&offset)).cloned();
            // A record that left the log after it was fetched is not offered any more.
            let Some(entry) = entry else {
                continue;
            };
            if self.offer_one(shared, number, offset, &entry) {
                held = true;
                kept.push_back(offset);
            }
            if self.rejoin.is_some() {
                return;
            }
        }
        if held && self.seeks {
            let first = kept.pop_front();
            self.fetch.extend(first.map(|first| (number, first)));
            return;
        }
        // A rewind meanwhile has emptied the buffer and set where to read.
        if !kept.is_empty() {
            self.inbox.insert(number, kept);
        }
    }

    /// Whether it is held.
    fn offer_one(&mut self, shared: &mut Shared<'_>, number: u32, at: u64, entry: &Entry) -> bool {
        let Ok(offset) = Offset::new(at) else {
            return false;
        };
        let record = Offered {
            partition: partition(number),
            offset,
            key: entry.key_bytes(),
            attempts: if shared.options.worn { attempts(entry) } else { 0 },
            namespace: 0,
            leader_epoch: Some(entry.epoch),
        };
        if self.delivered.len() >= REMEMBERED {
            self.delivered.pop_front();
        }
        self.delivered.push_back((number, at));
        let (answer, first) = self.tell(shared, Action::Admit(record));
        match verdict(&answer) {
            Some(Verdict::Run(_)) => self.hand(shared, first, number, at, Kind::Run),
            Some(Verdict::Park(..)) => self.hand(shared, first, number, at, Kind::Dead),
            Some(Verdict::Hold(hold)) => return !matches!(hold, Hold::Owed(owed) if owed > offset),
            _ => {}
        }
        false
    }

    /// How many tickets the answer gave before its outputs.
    pub(super) fn tickets_in(&self, answer: &Answer) -> u64 {
        let run = matches!(verdict(answer), Some(Verdict::Run(_) | Verdict::Park(..)));
        u64::from(run)
    }

    /// The same record comes again.
    pub(in crate::group) fn deliver_again(&mut self) -> bool {
        let newest = self.delivered.len().is_multiple_of(2);
        let again = if newest { self.delivered.pop_back() } else { self.delivered.pop_front() };
        let Some((number, offset)) = again else {
            return false;
        };
        // Below what comes next, or it would be a jump and no redelivery.
        let inbox = self.inbox.entry(number).or_default();
        let next = inbox.front().or_else(|| self.fetch.get(&number));
        let again = next.is_some_and(|next| offset < *next);
        if again {
            inbox.push_front(offset);
        }
        again
    }

    /// The log lost its end: the client starts there again.
    pub(in crate::group) fn cut_off(&mut self, number: u32, end: u64) {
        if let Some(inbox) = self.inbox.get_mut(&number) {
            inbox.retain(|offset| *offset < end);
        }
        if let Some(fetch) = self.fetch.get_mut(&number) {
            *fetch = (*fetch).min(end);
        }
    }
}

/// Now and then a header says that the record was tried too often before.
fn attempts(entry: &Entry) -> u16 {
    if entry.key.is_some_and(|key| key % 64 == 63) { u16::MAX } else { 0 }
}

fn verdict(answer: &Answer) -> Option<Verdict> {
    match answer.said {
        Said::Reply(Ok(Reply::Verdict(verdict))) => Some(verdict),
        _ => None,
    }
}
