//! What becomes of tickets.

use rebalance_guard::{Answered, Ended, Outcome, Phase, Reason, Ticket, TicketKind};

use super::Model;
use super::own::{Flight, Hands, Place, later};

impl Model {
    pub(super) fn answer_now(&mut self, ticket: Ticket, outcome: Outcome) -> Answered {
        let same = |f: &Flight| f.ticket.sequence() == ticket.sequence();
        let Some((&number, flight)) = self.flights.iter().find(|(_, f)| same(f)) else {
            return Answered::Stale;
        };
        let held = flight.hands == Hands::Held;
        match (outcome, ticket.kind()) {
            (Outcome::Abandoned, _) => self.settle(number, Place::GivenUp),
            (Outcome::Completed, TicketKind::Run) if held => {
                self.remember_key(number);
                self.settle(number, Place::Finished);
            }
            (Outcome::DeadLettered, TicketKind::DeadLetter) if held => {
                self.settle(number, Place::Finished);
            }
            (Outcome::Failed { permanent }, kind) if held => self.fail(number, kind, permanent),
            _ => return Answered::Stale,
        }
        Answered::Done
    }

    /// The newest finished key pushes out the oldest.
    fn remember_key(&mut self, number: u64) {
        let name = self.flights.get(&number).and_then(|flight| flight.name.clone());
        let now = self.now;
        self.finished.extend(name.map(|name| (name, now)));
        while self.finished.len() > self.config.keys as usize {
            self.finished.pop_front();
        }
    }

    /// Ends a flight, and a drain that waited for it.
    fn settle(&mut self, number: u64, place: Place) {
        let Some(flight) = self.flights.remove(&number) else {
            return;
        };
        let partition = flight.partition;
        let Some(own) = self.own_mut(partition) else {
            return;
        };
        own.places.insert(flight.offset, place);
        if place == Place::Finished {
            own.finished_since = own.finished_since.saturating_add(1);
        }
        if own.phase == Phase::Draining && self.in_hands(partition) == 0 {
            self.end_drain(partition, Ended::Drained);
        }
    }

    fn fail(&mut self, number: u64, kind: TicketKind, permanent: bool) {
        let Some(flight) = self.flights.get(&number) else {
            return;
        };
        let partition = flight.partition;
        if self.own(partition).is_some_and(|own| own.phase != Phase::Active) {
            self.settle(number, Place::GivenUp);
            return;
        }
        let (now, config) = (self.now, self.config);
        let Some(flight) = self.flights.get_mut(&number) else {
            return;
        };
        let sequence = flight.ticket.sequence();
        if kind == TicketKind::DeadLetter {
            flight.refusals = flight.refusals.saturating_add(1);
            flight.hands = Hands::Waiting(later(now, delay(&config, flight.refusals, sequence)));
            return;
        }
        flight.attempts = flight.attempts.saturating_add(1);
        flight.hands = Hands::Waiting(now);
        if permanent {
            flight.reason = Some(Reason::Permanent);
        } else if flight.attempts >= config.attempts_max {
            flight.reason = Some(Reason::AttemptsSpent);
        } else {
            let span = delay(&config, u32::from(flight.attempts), sequence);
            flight.hands = Hands::Waiting(later(now, span));
        }
    }
}

/// The wait after failure number `failures`, less a share drawn from the failed ticket's number.
fn delay(config: &rebalance_guard::Config, failures: u32, sequence: u64) -> u64 {
    let mut full = config.backoff;
    for _ in 1..failures {
        full = full.saturating_mul(2);
        if full >= config.backoff_cap || full == 0 {
            break;
        }
    }
    let full = full.min(config.backoff_cap);
    let random = u128::from(splitmix64(config.jitter_seed ^ sequence) >> 32);
    let share = u128::from(full) * u128::from(config.jitter) / 100;
    full - u64::try_from((share * random) >> 32).unwrap_or(full)
}

fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
