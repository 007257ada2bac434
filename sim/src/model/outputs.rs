//! What the host owes, one at a time, in the documented order.

use rebalance_guard::{Output, Partition, Phase, Token};

use super::Model;
use super::own::{self, Hands};
use crate::trace::name;

impl Model {
    /// [`rebalance_guard::Guard::poll_output`].
    pub fn poll_output(&mut self) -> Option<Output> {
        if let Some(back_off) = self.rejoin.take() {
            return Some(Output::Rejoin { back_off });
        }
        if let Some(report) = self.reports.pop_front() {
            return Some(report);
        }
        let owned = self.owned();
        let commit = owned.iter().find_map(|partition| self.next_commit(*partition));
        commit
            .or_else(|| owned.iter().find_map(|partition| self.next_pause(*partition)))
            .or_else(|| owned.iter().find_map(|partition| self.next_ticket(*partition)))
            .or_else(|| owned.iter().find_map(|partition| self.next_stall(*partition)))
            .or_else(|| self.next_poll_budget())
    }

    fn next_commit(&mut self, partition: Partition) -> Option<Output> {
        let value = self.due_commit(partition)?;
        self.offer(partition, value);
        let own = self.own(partition)?;
        let token = Token { group: own.group, assignment: own.assignment };
        let metadata = u16::try_from(own.string_offered.len()).unwrap_or(u16::MAX);
        Some(Output::Commit { partition, offset: own::offset(value), token, metadata })
    }

    fn next_pause(&mut self, partition: Partition) -> Option<Output> {
        let own = self.own(partition).filter(|own| own.phase == Phase::Active)?;
        let paused = own.paused;
        let turn = if paused { self.may_resume(partition) } else { self.must_pause(partition) };
        if !turn {
            return None;
        }
        self.own_mut(partition)?.paused = !paused;
        Some(if paused { Output::Resume(partition) } else { Output::Pause(partition) })
    }

    fn must_pause(&self, partition: Partition) -> bool {
        let Some(own) = self.own(partition) else {
            return false;
        };
        if own.owed.is_some() {
            return !self.debt_payable(partition);
        }
        self.flights.len() >= self.config.window as usize
            || own.budget_used() >= self.config.budget
            || self.held_by_storm()
    }

    fn may_resume(&self, partition: Partition) -> bool {
        let Some(own) = self.own(partition) else {
            return false;
        };
        if own.owed.is_some() {
            return self.debt_payable(partition);
        }
        let window = u64::from(self.config.window) * 3;
        let budget = u64::from(self.config.budget) * 3;
        self.flights.len() as u64 * 4 <= window
            && u64::from(own.budget_used()) * 4 <= budget
            && !self.held_by_storm()
    }

    /// Whether the owed record would be taken if it were offered now.
    fn debt_payable(&self, partition: Partition) -> bool {
        let Some(own) = self.own(partition) else {
            return false;
        };
        let Some(debt) = &own.owed else { return true };
        let budget = own.given_up(debt.offset) || own.budget_used() < self.config.budget;
        let busy = debt.busy.is_some_and(|flight| self.flights.contains_key(&flight));
        own.kind.is_some()
            && self.flights.len() < self.config.window as usize
            && budget
            && !self.held_by_storm()
            && !busy
    }

    /// The next retry or dead letter of a partition, in order of admission.
    fn next_ticket(&mut self, partition: Partition) -> Option<Output> {
        let own = self.own(partition).filter(|own| own.phase == Phase::Active)?;
        let assignment = own.assignment;
        let now = self.now;
        let due = |hands: Hands| matches!(hands, Hands::Waiting(at) if at <= now);
        let mut flights = self.flights.values_mut();
        let flight = flights.find(|f| f.partition == partition && due(f.hands))?;
        self.tickets_made += 1;
        let dead = flight.reason.is_some();
        let ticket = name(assignment, self.tickets_made, flight.attempts, dead);
        flight.ticket = ticket;
        flight.hands = Hands::Held;
        let offset = own::offset(flight.offset);
        Some(match flight.reason {
            Some(reason) => {
                Output::DeadLetter { ticket, partition, offset, reason, copies: flight.copies }
            }
            None => Output::Retry { ticket, partition, offset },
        })
    }
}
