//! What the plugin says: verdicts, replies, outputs, standings, counters.

use rebalance_guard::{
    Answered, Counters, Ended, Fenced, Hold, Ignored, InputError, Offset, Output, Partition,
    PartitionCounters, Phase, Progress, Reason, Refuse, Reply, Sealed, Seen, Skip, Storm, Ticket,
    Verdict, WaitReason, Waiting,
};

use super::{NONE, put};

/// Bytes of a verdict.
pub const VERDICT_BYTES: usize = 32;
/// Bytes of the reply to an input.
pub const REPLY_BYTES: usize = 40;
/// Bytes of an output.
pub const OUTPUT_BYTES: usize = 48;
/// Bytes of a partition's standing.
pub const PROGRESS_BYTES: usize = 80;
/// Bytes of why nothing is owned.
pub const WAITING_BYTES: usize = 16;
/// How many counters there are.
pub const COUNTERS: usize = size_of::<Counters>() / 8;
/// Bytes of all counters.
pub const COUNTERS_BYTES: usize = COUNTERS * 8;
/// How many counters a partition has.
pub const PARTITION_COUNTERS: usize = size_of::<PartitionCounters>() / 8;
/// Bytes of a partition's counters.
pub const PARTITION_COUNTERS_BYTES: usize = PARTITION_COUNTERS * 8;

/// Kind, why, detail, five zeros, then a ticket or an offset.
pub fn verdict(verdict: Verdict) -> [u8; VERDICT_BYTES] {
    let mut to = [0; VERDICT_BYTES];
    let (kind, why, detail) = match verdict {
        Verdict::Run(ticket) => (0, put_ticket(&mut to, ticket), 0),
        Verdict::Park(ticket, why) => {
            put_ticket(&mut to, ticket);
            (1, reason(why), 0)
        }
        Verdict::Skip(Skip::DuplicateFinished) => (2, 0, 0),
        Verdict::Skip(Skip::DuplicateInFlight) => (2, 1, 0),
        Verdict::Skip(Skip::Carried) => (2, 2, 0),
        Verdict::Hold(hold) => (3, put_hold(&mut to, hold), 0),
        Verdict::Refuse(Refuse::Fenced(why)) => (4, 0, fenced(why)),
        Verdict::Refuse(Refuse::OffsetRegression { last, seen: known }) => {
            put(&mut to, 8, &last.value().to_le_bytes());
            (4, 1, seen(known))
        }
        Verdict::Refuse(Refuse::OffsetLimit) => (4, 2, 0),
    };
    put(&mut to, 0, &[kind, why, detail]);
    to
}

fn put_ticket(to: &mut [u8], ticket: Ticket) -> u8 {
    put(to, 8, &ticket.to_bytes());
    0
}

fn put_hold(to: &mut [u8], hold: Hold) -> u8 {
    match hold {
        Hold::Owed(offset) => {
            put(to, 8, &offset.value().to_le_bytes());
            0
        }
        Hold::ResumeUnknown => 1,
        Hold::KeyBusy => 2,
        Hold::Window => 3,
        Hold::Budget => 4,
        Hold::Storm => 5,
    }
}

const fn reason(reason: Reason) -> u8 {
    match reason {
        Reason::AttemptsSpent => 0,
        Reason::Permanent => 1,
        Reason::NoUsableKey => 2,
    }
}

const fn ignored(why: Ignored) -> u8 {
    match why {
        Ignored::Foreign => 0,
        Ignored::Version => 1,
        Ignored::Base => 2,
        Ignored::TooLong => 3,
        Ignored::LaterEpoch => 4,
    }
}

const fn fenced(fenced: Fenced) -> u8 {
    match fenced {
        Fenced::NotOwned => 0,
        Fenced::Draining => 1,
        Fenced::Sealed => 2,
        Fenced::LeaseExpired => 3,
        Fenced::Dead => 4,
    }
}

const fn seen(seen: Seen) -> u8 {
    match seen {
        Seen::Finished => 0,
        Seen::InFlight => 1,
        Seen::Never => 2,
        Seen::BelowResume => 3,
    }
}

/// Kind, code, six zeros, then a verdict or the numbers of a refusal.
pub fn reply(reply: Result<Reply, InputError>) -> [u8; REPLY_BYTES] {
    let mut to = [0; REPLY_BYTES];
    let (kind, code) = match reply {
        Ok(Reply::Done) => (0, 0),
        Ok(Reply::Stale) => (1, 0),
        Ok(Reply::Verdict(answer)) => {
            put(&mut to, 8, &verdict(answer));
            (2, 0)
        }
        Ok(Reply::Answered(Answered::Done)) => (3, 0),
        Ok(Reply::Answered(Answered::Stale)) => (3, 1),
        Err(error) => (4, put_error(&mut to, error)),
    };
    put(&mut to, 0, &[kind, code]);
    to
}

fn put_error(to: &mut [u8], error: InputError) -> u8 {
    match error {
        InputError::PartitionsFull { needed, available } => {
            put(to, 8, &needed.to_le_bytes());
            put(to, 12, &available.to_le_bytes());
            0
        }
        InputError::NegativePartition(index) => {
            put(to, 12, &index.to_le_bytes());
            1
        }
        InputError::Dead => 2,
        InputError::NotActive(partition) => {
            put_partition(to, 8, partition);
            3
        }
        InputError::AboveMark { mark } => {
            put(to, 8, &mark.value().to_le_bytes());
            4
        }
        InputError::ResumeUnknown(partition) => {
            put_partition(to, 8, partition);
            5
        }
        InputError::NoPosition => 6,
        InputError::AssignmentsSpent => 7,
        // The core's list may grow; a host that cannot name a refusal must not take it for another.
        _ => u8::MAX,
    }
}

fn put_partition(to: &mut [u8], at: usize, partition: Partition) {
    put(to, at, &partition.topic.to_le_bytes());
    put(to, at.saturating_add(4), &partition.index.to_le_bytes());
}

/// Kind, detail, flag, zero, count, partition, offset, then two numbers or a ticket.
pub fn output(output: Output) -> [u8; OUTPUT_BYTES] {
    let mut to = [0; OUTPUT_BYTES];
    match output {
        Output::Rejoin { back_off } => put_numbers(&mut to, 0, [back_off, 0, 0]),
        Output::Sealed(sealed) => put_sealed(&mut to, sealed),
        Output::Gap { partition, from, to: end } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 2, [from.value(), end.value(), 0]);
        }
        Output::StepBack { partition, from, to: end } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 3, [from.value(), end.value(), 0]);
        }
        Output::StormBegan { back_off } => put_numbers(&mut to, 4, [back_off, 0, 0]),
        Output::StormEnded => put_numbers(&mut to, 5, [0; 3]),
        Output::MetadataIgnored { partition, why } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 11, [0; 3]);
            put(&mut to, 1, &[ignored(why)]);
        }
        Output::Stalled { partition, seek } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 12, [seek.value(), 0, 0]);
        }
        Output::PollBudget { until } => put_numbers(&mut to, 13, [until.value(), 0, 0]),
        Output::Commit { partition, offset, token, metadata } => {
            put_partition(&mut to, 8, partition);
            put(&mut to, 4, &u32::from(metadata).to_le_bytes());
            put_numbers(&mut to, 6, [offset.value(), token.group, token.assignment.value()]);
        }
        Output::Pause(partition) => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 7, [0; 3]);
        }
        Output::Resume(partition) => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 8, [0; 3]);
        }
        Output::Retry { ticket, partition, offset } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 9, [offset.value(), 0, 0]);
            put(&mut to, 24, &ticket.to_bytes());
        }
        Output::DeadLetter { ticket, partition, offset, reason: why, copies } => {
            put_partition(&mut to, 8, partition);
            put_numbers(&mut to, 10, [offset.value(), 0, 0]);
            put(&mut to, 1, &[reason(why)]);
            put(&mut to, 4, &copies.to_le_bytes());
            put(&mut to, 24, &ticket.to_bytes());
        }
    }
    to
}

fn put_numbers(to: &mut [u8], kind: u8, numbers: [u64; 3]) {
    put(to, 0, &[kind]);
    let [first, second, third] = numbers;
    put(to, 16, &first.to_le_bytes());
    put(to, 24, &second.to_le_bytes());
    put(to, 32, &third.to_le_bytes());
}

fn put_sealed(to: &mut [u8], sealed: Sealed) {
    let ended = match sealed.ended {
        Ended::Drained => 0,
        Ended::Deadline => 1,
        Ended::Lost => 2,
        Ended::Replaced => 3,
        Ended::Rewound => 4,
    };
    put_partition(to, 8, sealed.partition);
    put_numbers(to, 1, [number(sealed.mark), 0, sealed.assignment.value()]);
    put(to, 1, &[ended]);
    put(to, 4, &sealed.left.to_le_bytes());
}

fn number(offset: Option<Offset>) -> u64 {
    offset.map_or(NONE, Offset::value)
}

/// One partition and where it stands.
pub fn progress(partition: Partition, progress: &Progress) -> [u8; PROGRESS_BYTES] {
    let mut to = [0; PROGRESS_BYTES];
    let phase = match progress.phase {
        Phase::Unowned => 0,
        Phase::Active => 1,
        Phase::Draining => 2,
        Phase::Committing => 3,
    };
    put_partition(&mut to, 0, partition);
    let numbers = [
        progress.assignment.value(),
        progress.token.group,
        progress.token.assignment.value(),
        number(progress.mark),
        number(progress.confirmed),
        number(progress.owed),
        progress.deadline.map_or(NONE, |deadline| deadline.value()),
    ];
    put_all(&mut to, 8, &numbers);
    put(&mut to, 64, &progress.in_hands.to_le_bytes());
    put(&mut to, 68, &progress.unfinished.to_le_bytes());
    put(&mut to, 72, &[phase, progress.paused.into(), progress.idle.into()]);
    to
}

fn put_all(to: &mut [u8], at: usize, numbers: &[u64]) {
    for (to, number) in to.iter_mut().skip(at).zip(numbers.iter().flat_map(|n| n.to_le_bytes())) {
        *to = number;
    }
}

/// 0 calm, 1 rising, 2 storm.
pub const fn storm(storm: Storm) -> i32 {
    match storm {
        Storm::Calm => 0,
        Storm::Rising => 1,
        Storm::Storm => 2,
    }
}

/// Since when nothing is owned, why, seven zeros.
pub fn waiting(waiting: Waiting) -> [u8; WAITING_BYTES] {
    let mut to = [0; WAITING_BYTES];
    put(&mut to, 0, &waiting.since.value().to_le_bytes());
    let why = match waiting.why {
        WaitReason::NothingAssigned => 0,
        WaitReason::Revoked => 1,
        WaitReason::Lost => 2,
        WaitReason::LeaseExpired => 3,
        WaitReason::Dead => 4,
    };
    put(&mut to, 8, &[why]);
    to
}

/// All counters, in the order of ABI.md.
pub fn counters(c: &Counters) -> [u8; COUNTERS_BYTES] {
    let numbers: [u64; COUNTERS] = [
        c.run,
        c.parked,
        c.skipped_carried,
        c.skipped_finished,
        c.skipped_in_flight,
        c.held_owed,
        c.held_resume_unknown,
        c.held_key_busy,
        c.held_window,
        c.held_budget,
        c.held_storm,
        c.refused_fenced,
        c.refused_regression,
        c.refused_offset_limit,
        c.inputs_refused,
        c.completed,
        c.failed,
        c.retried,
        c.dead_letters_asked,
        c.dead_letters_failed,
        c.dead_lettered,
        c.abandoned,
        c.stale_answers,
        c.stale_inputs,
        c.given_up,
        c.lost_in_hand,
        c.assignments,
        c.drained,
        c.drain_deadlines,
        c.lost,
        c.replaced,
        c.rewound,
        c.commits_offered,
        c.commits_stored,
        c.commits_retried,
        c.commits_rejected,
        c.commits_not_mine,
        c.metadata_ignored,
        c.metadata_dropped,
        c.commits_given_up,
        c.leases_expired,
        c.rebalances,
        c.storms,
        c.stalls,
        c.poll_budgets,
        c.late_ticks,
        c.keys_evicted,
        c.reports_dropped,
    ];
    let mut to = [0; COUNTERS_BYTES];
    put_all(&mut to, 0, &numbers);
    to
}

/// A partition's counters, in the order of ABI.md.
pub fn partition_counters(c: &PartitionCounters) -> [u8; PARTITION_COUNTERS_BYTES] {
    let numbers: [u64; PARTITION_COUNTERS] = [
        c.admitted,
        c.skipped,
        c.held,
        c.refused,
        c.finished,
        c.stale,
        c.assignments,
        c.drained,
        c.drain_deadlines,
        c.lost,
        c.replaced,
        c.rewound,
    ];
    let mut to = [0; PARTITION_COUNTERS_BYTES];
    put_all(&mut to, 0, &numbers);
    to
}
