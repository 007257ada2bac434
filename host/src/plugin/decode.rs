//! Answers from the packed bytes of wasm/ABI.md. Nothing in them is trusted.

use rebalance_guard::{
    Answered, Assignment, Counters, Ended, Fenced, Hold, Ignored, InputError, Offset, Output,
    Partition, Phase, Progress, Reason, Refuse, Reply, Sealed, Seen, Skip, Storm, Tick, Ticket,
    TicketKind, Token, Verdict, WaitReason, Waiting,
};

/// Bytes of a verdict.
pub(super) const VERDICT_BYTES: usize = 32;
/// Bytes of the reply to an input.
pub(super) const REPLY_BYTES: usize = 40;
/// Bytes of an output.
pub(super) const OUTPUT_BYTES: usize = 48;
/// Bytes of a partition's standing.
pub(super) const PROGRESS_BYTES: usize = 80;
/// Bytes of why nothing is owned.
pub(super) const WAITING_BYTES: usize = 16;
/// How many counters there are.
pub(super) const COUNTERS: usize = size_of::<Counters>() / 8;

/// An answer outside the contract: what it speaks of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Broken(pub(super) &'static str);

/// Numbers at fixed places of an answer.
#[derive(Clone, Copy)]
struct At<'a, const N: usize>(&'a [u8; N]);

impl<'a, const N: usize> At<'a, N> {
    fn new(bytes: &'a [u8], what: &'static str) -> Result<Self, Broken> {
        bytes.first_chunk().map(Self).ok_or(Broken(what))
    }

    fn array<const M: usize>(self, at: usize) -> [u8; M] {
        let mut to = [0; M];
        to.copy_from_slice(&self.0[at..at + M]);
        to
    }

    fn u8(self, at: usize) -> u8 {
        self.0[at]
    }

    fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    fn partition(self, at: usize) -> Partition {
        Partition::new(self.u32(at), i32::from_le_bytes(self.array(at + 4)))
    }

    fn offset(self, at: usize) -> Result<Offset, Broken> {
        Offset::new(self.u64(at)).map_err(|_| Broken("an offset above 2^63 - 1"))
    }

    fn offset_or_none(self, at: usize) -> Result<Option<Offset>, Broken> {
        if self.u64(at) == u64::MAX { Ok(None) } else { self.offset(at).map(Some) }
    }

    fn assignment(self, at: usize) -> Result<Assignment, Broken> {
        Assignment::new(self.u64(at)).ok_or(Broken("assignment number 0"))
    }

    fn ticket(self, at: usize, kind: TicketKind) -> Result<Ticket, Broken> {
        Ticket::from_bytes(&self.array(at))
            .filter(|ticket| ticket.kind() == kind)
            .ok_or(Broken("a ticket of another kind, or none"))
    }

    fn tick(self, at: usize) -> Result<Tick, Broken> {
        Tick::new(self.u64(at)).ok_or(Broken("a tick above 2^62"))
    }

    fn flag(self, at: usize) -> Result<bool, Broken> {
        match self.u8(at) {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Broken("a flag that is neither 0 nor 1")),
        }
    }
}

pub(super) fn verdict(bytes: &[u8]) -> Result<Verdict, Broken> {
    let at = At::<VERDICT_BYTES>::new(bytes, "a short verdict")?;
    Ok(match (at.u8(0), at.u8(1), at.u8(2)) {
        (0, 0, 0) => Verdict::Run(at.ticket(8, TicketKind::Run)?),
        (1, why, 0) => Verdict::Park(at.ticket(8, TicketKind::DeadLetter)?, reason(why)?),
        (2, 0, 0) => Verdict::Skip(Skip::DuplicateFinished),
        (2, 1, 0) => Verdict::Skip(Skip::DuplicateInFlight),
        (2, 2, 0) => Verdict::Skip(Skip::Carried),
        (3, 0, 0) => Verdict::Hold(Hold::Owed(at.offset(8)?)),
        (3, why, 0) => Verdict::Hold(hold(why)?),
        (4, 0, why) => Verdict::Refuse(Refuse::Fenced(fenced(why)?)),
        (4, 1, known) => {
            let (last, seen) = (at.offset(8)?, seen(known)?);
            Verdict::Refuse(Refuse::OffsetRegression { last, seen })
        }
        (4, 2, 0) => Verdict::Refuse(Refuse::OffsetLimit),
        _ => return Err(Broken("an unknown verdict")),
    })
}

const fn hold(why: u8) -> Result<Hold, Broken> {
    Ok(match why {
        1 => Hold::ResumeUnknown,
        2 => Hold::KeyBusy,
        3 => Hold::Window,
        4 => Hold::Budget,
        5 => Hold::Storm,
        _ => return Err(Broken("an unknown reason to hold")),
    })
}

const fn fenced(why: u8) -> Result<Fenced, Broken> {
    Ok(match why {
        0 => Fenced::NotOwned,
        1 => Fenced::Draining,
        2 => Fenced::Sealed,
        3 => Fenced::LeaseExpired,
        4 => Fenced::Dead,
        _ => return Err(Broken("an unknown fence")),
    })
}

const fn seen(seen: u8) -> Result<Seen, Broken> {
    Ok(match seen {
        0 => Seen::Finished,
        1 => Seen::InFlight,
        2 => Seen::Never,
        3 => Seen::BelowResume,
        _ => return Err(Broken("an unknown kind of regression")),
    })
}

const fn reason(why: u8) -> Result<Reason, Broken> {
    Ok(match why {
        0 => Reason::AttemptsSpent,
        1 => Reason::Permanent,
        2 => Reason::NoUsableKey,
        _ => return Err(Broken("an unknown reason of a dead letter")),
    })
}

pub(super) const fn answered(number: i32) -> Result<Answered, Broken> {
    match number {
        0 => Ok(Answered::Done),
        1 => Ok(Answered::Stale),
        _ => Err(Broken("an unknown answer to a ticket")),
    }
}

pub(super) fn reply(bytes: &[u8]) -> Result<Result<Reply, InputError>, Broken> {
    let at = At::<REPLY_BYTES>::new(bytes, "a short reply")?;
    Ok(match (at.u8(0), at.u8(1)) {
        (0, 0) => Ok(Reply::Done),
        (1, 0) => Ok(Reply::Stale),
        (2, 0) => Ok(Reply::Verdict(verdict(&at.0[8..])?)),
        (3, code) => Ok(Reply::Answered(answered(i32::from(code))?)),
        (4, code) => Err(refused(at, code)?),
        _ => return Err(Broken("an unknown reply")),
    })
}

fn refused(at: At<'_, REPLY_BYTES>, code: u8) -> Result<InputError, Broken> {
    Ok(match code {
        0 => InputError::PartitionsFull { needed: at.u32(8), available: at.u32(12) },
        1 => InputError::NegativePartition(at.partition(8).index),
        2 => InputError::Dead,
        3 => InputError::NotActive(at.partition(8)),
        4 => InputError::AboveMark { mark: at.offset(8)? },
        5 => InputError::ResumeUnknown(at.partition(8)),
        6 => InputError::NoPosition,
        7 => InputError::AssignmentsSpent,
        _ => return Err(Broken("an unknown refusal")),
    })
}

pub(super) fn output(bytes: &[u8]) -> Result<Output, Broken> {
    let at = At::<OUTPUT_BYTES>::new(bytes, "a short output")?;
    let partition = at.partition(8);
    Ok(match at.u8(0) {
        0 => Output::Rejoin { back_off: at.u64(16) },
        1 => Output::Sealed(sealed(at)?),
        2 => Output::Gap { partition, from: at.offset(16)?, to: at.offset(24)? },
        3 => Output::StepBack { partition, from: at.offset(16)?, to: at.offset(24)? },
        4 => Output::StormBegan { back_off: at.u64(16) },
        5 => Output::StormEnded,
        6 => {
            let token = Token { group: at.u64(24), assignment: at.assignment(32)? };
            let metadata = u16::try_from(at.u32(4)).map_err(|_| Broken("long metadata"))?;
            Output::Commit { partition, offset: at.offset(16)?, token, metadata }
        }
        7 => Output::Pause(partition),
        8 => Output::Resume(partition),
        9 => Output::Retry {
            ticket: at.ticket(24, TicketKind::Run)?,
            partition,
            offset: at.offset(16)?,
        },
        10 => Output::DeadLetter {
            ticket: at.ticket(24, TicketKind::DeadLetter)?,
            partition,
            offset: at.offset(16)?,
            reason: reason(at.u8(1))?,
            copies: at.u32(4),
        },
        11 => Output::MetadataIgnored { partition, why: ignored(at.u8(1))? },
        12 => Output::Stalled { partition, seek: at.offset(16)? },
        13 => Output::PollBudget { until: at.tick(16)? },
        _ => return Err(Broken("an unknown output")),
    })
}

const fn ignored(number: u8) -> Result<Ignored, Broken> {
    match number {
        0 => Ok(Ignored::Foreign),
        1 => Ok(Ignored::Version),
        2 => Ok(Ignored::Base),
        3 => Ok(Ignored::TooLong),
        4 => Ok(Ignored::LaterEpoch),
        _ => Err(Broken("an unknown reason to ignore metadata")),
    }
}

fn sealed(at: At<'_, OUTPUT_BYTES>) -> Result<Sealed, Broken> {
    let ended = match at.u8(1) {
        0 => Ended::Drained,
        1 => Ended::Deadline,
        2 => Ended::Lost,
        3 => Ended::Replaced,
        4 => Ended::Rewound,
        _ => return Err(Broken("an unknown end of an assignment")),
    };
    Ok(Sealed {
        partition: at.partition(8),
        assignment: at.assignment(32)?,
        ended,
        mark: at.offset_or_none(16)?,
        left: at.u32(4),
    })
}

pub(super) fn progress(bytes: &[u8]) -> Result<(Partition, Progress), Broken> {
    let at = At::<PROGRESS_BYTES>::new(bytes, "a short standing")?;
    let phase = match at.u8(72) {
        1 => Phase::Active,
        2 => Phase::Draining,
        3 => Phase::Committing,
        _ => return Err(Broken("an unknown phase")),
    };
    let deadline = match at.u64(56) {
        u64::MAX => None,
        _ => Some(at.tick(56)?),
    };
    let standing = Progress {
        phase,
        assignment: at.assignment(8)?,
        token: Token { group: at.u64(16), assignment: at.assignment(24)? },
        mark: at.offset_or_none(32)?,
        confirmed: at.offset_or_none(40)?,
        in_hands: at.u32(64),
        unfinished: at.u32(68),
        owed: at.offset_or_none(48)?,
        paused: at.flag(73)?,
        deadline,
        idle: at.flag(74)?,
    };
    Ok((at.partition(0), standing))
}

pub(super) fn waiting(bytes: &[u8]) -> Result<Waiting, Broken> {
    let at = At::<WAITING_BYTES>::new(bytes, "a short reason to wait")?;
    let why = match at.u8(8) {
        0 => WaitReason::NothingAssigned,
        1 => WaitReason::Revoked,
        2 => WaitReason::Lost,
        3 => WaitReason::LeaseExpired,
        4 => WaitReason::Dead,
        _ => return Err(Broken("an unknown reason to wait")),
    };
    Ok(Waiting { since: at.tick(0)?, why })
}

pub(super) const fn storm(number: i32) -> Result<Storm, Broken> {
    match number {
        0 => Ok(Storm::Calm),
        1 => Ok(Storm::Rising),
        2 => Ok(Storm::Storm),
        _ => Err(Broken("an unknown storm level")),
    }
}

pub(super) fn tick_or_none(number: i64) -> Result<Option<Tick>, Broken> {
    if number == i64::MAX {
        return Ok(None);
    }
    let tick = u64::try_from(number).ok().and_then(Tick::new);
    tick.map(Some).ok_or(Broken("a time that is no tick"))
}

pub(super) fn counters(bytes: &[u8]) -> Result<Counters, Broken> {
    let (words, _) = bytes.as_chunks::<8>();
    let words: &[[u8; 8]; COUNTERS] = words.first_chunk().ok_or(Broken("short counters"))?;
    let mut counters = Counters::default();
    for (to, word) in places(&mut counters).into_iter().zip(words) {
        *to = u64::from_le_bytes(*word);
    }
    Ok(counters)
}

/// The counters in the order of ABI.md.
const fn places(c: &mut Counters) -> [&mut u64; COUNTERS] {
    [
        &mut c.run,
        &mut c.parked,
        &mut c.skipped_carried,
        &mut c.skipped_finished,
        &mut c.skipped_in_flight,
        &mut c.held_owed,
        &mut c.held_resume_unknown,
        &mut c.held_key_busy,
        &mut c.held_window,
        &mut c.held_budget,
        &mut c.held_storm,
        &mut c.refused_fenced,
        &mut c.refused_regression,
        &mut c.refused_offset_limit,
        &mut c.inputs_refused,
        &mut c.completed,
        &mut c.failed,
        &mut c.retried,
        &mut c.dead_letters_asked,
        &mut c.dead_letters_failed,
        &mut c.dead_lettered,
        &mut c.abandoned,
        &mut c.stale_answers,
        &mut c.stale_inputs,
        &mut c.given_up,
        &mut c.lost_in_hand,
        &mut c.assignments,
        &mut c.drained,
        &mut c.drain_deadlines,
        &mut c.lost,
        &mut c.replaced,
        &mut c.rewound,
        &mut c.commits_offered,
        &mut c.commits_stored,
        &mut c.commits_retried,
        &mut c.commits_rejected,
        &mut c.commits_not_mine,
        &mut c.metadata_ignored,
        &mut c.metadata_dropped,
        &mut c.commits_given_up,
        &mut c.leases_expired,
        &mut c.rebalances,
        &mut c.storms,
        &mut c.stalls,
        &mut c.poll_budgets,
        &mut c.late_ticks,
        &mut c.keys_evicted,
        &mut c.reports_dropped,
    ]
}
