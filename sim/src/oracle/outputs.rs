//! Outputs against the books.

use rebalance_guard::{Ended, Offset, Output, Partition, Sealed, Tick, Ticket, Token};

use super::books::{Books, Fate, Stage};
use super::hand_over::later;
use super::judge::{Judged, broken};
use crate::trace::Answer;

impl Books {
    /// The reports of this step are the ones that the books expect, no more and no fewer.
    pub(super) fn judge_reports(&mut self, answer: &Answer) -> Judged {
        let mut expected = core::mem::take(&mut self.expected);
        for output in &answer.outputs {
            let Output::Sealed(sealed) = output else {
                continue;
            };
            self.stats.sealed += 1;
            let Some(index) = expected.iter().position(|e| e == sealed) else {
                let promise = self.promise_of(sealed, &expected);
                return broken(promise, format!("{sealed:?} is not among {expected:?}"));
            };
            expected.remove(index);
        }
        match expected.first() {
            None => Ok(()),
            Some(missing) => broken("P5", format!("{missing:?} was not reported")),
        }
    }

    fn promise_of(&self, sealed: &Sealed, expected: &[Sealed]) -> &'static str {
        let same = expected.iter().find(|e| e.assignment == sealed.assignment);
        match same {
            Some(e) if e.ended == Ended::Lost && sealed.ended != Ended::Lost => "P4",
            _ => "P5",
        }
    }

    pub(super) fn judge_output(&mut self, output: &Output) -> Judged {
        match *output {
            Output::Commit { partition, offset, token, .. } => {
                self.stats.commits += 1;
                self.judge_commit(partition, offset.value(), token)
            }
            Output::Retry { ticket, partition, offset }
            | Output::DeadLetter { ticket, partition, offset, .. } => {
                self.judge_again(partition, offset, ticket)
            }
            Output::Stalled { partition, seek } => self.judge_stall(partition, seek),
            Output::PollBudget { until } => self.judge_poll_budget(until),
            _ => Ok(()),
        }
    }

    fn judge_stall(&self, partition: Partition, seek: Offset) -> Judged {
        let life = self.life(partition).map(|(_, life)| life);
        let Some(life) = life.filter(|life| life.stage == Stage::Active) else {
            return broken("P12", format!("{partition:?} is not active and stalled"));
        };
        let stuck = life.left() > 0 || !life.owed.is_empty();
        let to = life.mark().filter(|_| life.known).or_else(|| life.owed.first().copied());
        if stuck && to == Some(seek.value()) {
            Ok(())
        } else {
            broken("P12", format!("{partition:?} stalled at {seek}: {to:?}, stuck {stuck}"))
        }
    }

    /// The last third of a lease that was not told of before. When exactly a lease began the books
    /// cannot always tell: a sealed partition may be gone already.
    fn judge_poll_budget(&mut self, until: Tick) -> Judged {
        let until = until.value();
        let fits = later(self.now, self.config.lease / 3) >= until && self.now < until;
        let before = self.budget_told.replace(until);
        if !fits || before.is_some_and(|before| before >= until) {
            return broken("P12", format!("a poll budget until {until}, after one {before:?}"));
        }
        Ok(())
    }

    fn judge_commit(&mut self, partition: Partition, offset: u64, token: Token) -> Judged {
        let number = token.assignment.value();
        let what = format!("commit of {offset} for {partition:?} under {number}");
        let Some(life) = self.lives.get_mut(&number) else {
            return broken("P2", format!("{what}: no such assignment"));
        };
        match life.stage {
            Stage::Lost => return broken("P4", format!("{what}: it was lost")),
            Stage::Over => return broken("P2", format!("{what}: it is over")),
            _ => {}
        }
        if life.offers.last().is_some_and(|last| offset < *last)
            || life.confirmed.is_some_and(|confirmed| offset < confirmed)
            || offset < life.floor
        {
            let (offers, confirmed, floor) = (&life.offers, life.confirmed, life.floor);
            let before = format!("offered {offers:?}, confirmed {confirmed:?}, group {floor}");
            return broken("P3", format!("{what}: {before}"));
        }
        if let Some(owed) = life.owed.range(..offset).next() {
            return broken("P7", format!("{what}: {owed} is held and was not offered again"));
        }
        if life.mark() != Some(offset) {
            return broken("P2", format!("{what}: the completion mark is {:?}", life.mark()));
        }
        life.offers.push(offset);
        let ever = self.offered_ever.entry(partition).or_default();
        *ever = (*ever).max(offset);
        Ok(())
    }

    fn judge_again(&mut self, partition: Partition, offset: Offset, ticket: Ticket) -> Judged {
        self.judge_ticket(partition, ticket)?;
        let index = self.tickets.len();
        self.hand_out(partition, offset.value(), ticket);
        let Some(life) = self.life_mut(partition) else {
            return Ok(());
        };
        match life.entries.get_mut(&offset.value()) {
            Some(entry) if matches!(entry.fate, Fate::Waiting(_)) => {
                entry.fate = Fate::Held(index);
                Ok(())
            }
            _ => broken("P9", format!("{ticket:?} for {offset}, which waits for nothing")),
        }
    }
}
