//! Leave to run one record.

use crate::Assignment;

/// What a ticket gives leave to do.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a host must handle every kind; a new one is breaking")]
pub enum TicketKind {
    /// Run the record's side effect. Answered with complete, fail or abandon.
    Run,
    /// Send the record to the dead-letter topic. Answered with dead-lettered, fail or abandon.
    DeadLetter,
}

/// Leave to run (or dead-letter) one record, once. Answered once; dies with its assignment.
///
/// Opaque to hosts, with a fixed byte form for boundaries. A forged or stale ticket is harmless:
/// the guard answers [`Answered::Stale`](crate::Answered) and nothing changes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Ticket {
    pub(crate) place: u32,
    pub(crate) assignment: Assignment,
    pub(crate) sequence: u64,
    pub(crate) attempt: u16,
    pub(crate) kind: TicketKind,
}

impl Ticket {
    /// Size of the byte form.
    pub const BYTES: usize = 24;

    /// The assignment that the ticket belongs to.
    pub const fn assignment(self) -> Assignment {
        self.assignment
    }

    /// Attempts made before this one (0 for a first run, unless the host seeded the count).
    pub const fn attempt(self) -> u16 {
        self.attempt
    }

    /// What it gives leave to do.
    pub const fn kind(self) -> TicketKind {
        self.kind
    }

    /// A number that no other ticket of this guard has.
    pub const fn sequence(self) -> u64 {
        self.sequence
    }

    /// Little-endian: place u32, assignment u64, sequence u64, attempt u16, kind u8 (0 run,
    /// 1 dead letter), one zero byte.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let kind = match self.kind {
            TicketKind::Run => 0,
            TicketKind::DeadLetter => 1,
        };
        let fields = self
            .place
            .to_le_bytes()
            .into_iter()
            .chain(self.assignment.value().to_le_bytes())
            .chain(self.sequence.to_le_bytes())
            .chain(self.attempt.to_le_bytes())
            .chain([kind, 0]);
        for (to, from) in bytes.iter_mut().zip(fields) {
            *to = from;
        }
        bytes
    }

    /// The ticket of a byte form, or `None` when the bytes are none.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let [p0, p1, p2, p3, a0, a1, a2, a3, a4, a5, a6, a7, rest @ ..] = *bytes;
        let [s0, s1, s2, s3, s4, s5, s6, s7, t0, t1, kind, zero] = rest;
        let kind = match (kind, zero) {
            (0, 0) => TicketKind::Run,
            (1, 0) => TicketKind::DeadLetter,
            _ => return None,
        };
        Some(Self {
            place: u32::from_le_bytes([p0, p1, p2, p3]),
            assignment: Assignment::new(u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]))?,
            sequence: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            attempt: u16::from_le_bytes([t0, t1]),
            kind,
        })
    }
}
