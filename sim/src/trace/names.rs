//! Tickets by name: a ticket that nobody gave, and tickets without their places.

use rebalance_guard::{Assignment, Output, Reply, Ticket, Verdict};

use super::{Answer, Said};

/// A ticket that nobody gave.
pub(crate) fn forged() -> Ticket {
    name(Assignment::new(u64::MAX).expect("not 0"), u64::MAX, 0, false)
}

/// A ticket without a place in anybody's table: how the model writes tickets, and how tickets of
/// two engines are compared.
pub(crate) fn name(assignment: Assignment, sequence: u64, attempt: u16, dead: bool) -> Ticket {
    let mut bytes = [0; Ticket::BYTES];
    bytes[4..12].copy_from_slice(&assignment.value().to_le_bytes());
    bytes[12..20].copy_from_slice(&sequence.to_le_bytes());
    bytes[20..22].copy_from_slice(&attempt.to_le_bytes());
    bytes[22] = u8::from(dead);
    Ticket::from_bytes(&bytes).expect("kind is 0 or 1 and the last byte 0")
}

fn placeless(ticket: Ticket) -> Ticket {
    let dead = ticket.kind() == rebalance_guard::TicketKind::DeadLetter;
    name(ticket.assignment(), ticket.sequence(), ticket.attempt(), dead)
}

fn placeless_verdict(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Run(ticket) => Verdict::Run(placeless(ticket)),
        Verdict::Park(ticket, reason) => Verdict::Park(placeless(ticket), reason),
        other => other,
    }
}

impl Answer {
    /// The same answer with the places taken out of its tickets: what the core and the model must
    /// agree on. Two engines over the same core are compared with `==`, places included.
    #[must_use]
    pub fn placeless(mut self) -> Self {
        match &mut self.said {
            Said::Reply(Ok(Reply::Verdict(verdict))) => *verdict = placeless_verdict(*verdict),
            Said::Batch(verdicts) => {
                for verdict in verdicts {
                    *verdict = placeless_verdict(*verdict);
                }
            }
            _ => {}
        }
        for output in &mut self.outputs {
            if let Output::Retry { ticket, .. } | Output::DeadLetter { ticket, .. } = output {
                *ticket = placeless(*ticket);
            }
        }
        self
    }
}
