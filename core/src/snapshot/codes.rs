//! Enumerations and counters as numbers.

use super::bytes::{In, Out};
use crate::flight::Status;
use crate::partition::{Phase, Start};
use crate::state::Stage;
use crate::{
    Assignment, Counters, Ended, Event, Fenced, Ignored, InputError, JournalEntry, Offset, Output,
    Partition, PartitionCounters, Reason, Refuse, Sealed, Seen, Storm, TicketKind, WaitReason,
};

/// Both directions of one table; every variant has a number, or it does not compile.
macro_rules! codes {
    ($to:ident, $from:ident, $type:ident { $($variant:ident => $number:literal),+ $(,)? }) => {
        pub(super) const fn $to(value: $type) -> u8 {
            match value { $($type::$variant => $number,)+ }
        }

        pub(super) const fn $from(number: u8) -> Option<$type> {
            Some(match number { $($number => $type::$variant,)+ _ => return None })
        }
    };
}

codes!(phase, to_phase, Phase { Unowned => 0, Active => 1, Draining => 2, Committing => 3 });
codes!(start, to_start, Start { Committed => 0, Empty => 1, At => 2, Unknown => 3 });
codes!(status, to_status, Status {
    Free => 0, Running => 1, Parking => 2, BackOff => 3, AwaitsDeadLetter => 4,
});
codes!(kind, to_kind, TicketKind { Run => 0, DeadLetter => 1 });
codes!(reason, to_reason, Reason { AttemptsSpent => 0, Permanent => 1, NoUsableKey => 2 });
codes!(ended, to_ended, Ended {
    Drained => 0, Deadline => 1, Lost => 2, Replaced => 3, Rewound => 4,
});
codes!(fenced, to_fenced, Fenced {
    NotOwned => 0, Draining => 1, Sealed => 2, LeaseExpired => 3, Dead => 4,
});
codes!(seen, to_seen, Seen { Finished => 0, InFlight => 1, Never => 2, BelowResume => 3 });
codes!(ignored, to_ignored, Ignored {
    Foreign => 0, Version => 1, Base => 2, TooLong => 3, LaterEpoch => 4,
});
codes!(storm, to_storm, Storm { Calm => 0, Rising => 1, Storm => 2 });
codes!(wait_reason, to_wait_reason, WaitReason {
    NothingAssigned => 0, Revoked => 1, Lost => 2, LeaseExpired => 3, Dead => 4,
});
codes!(stage, to_stage, Stage {
    Rejoin => 0, Reports => 1, Commits => 2, Pauses => 3, Retries => 4, Stalls => 5,
    PollBudget => 6, Drained => 7,
});

/// Both directions of a struct of counters; every field is named, or it does not compile.
macro_rules! counters {
    ($save:ident, $load:ident, $type:ident { $($field:ident),+ $(,)? }) => {
        pub(super) fn $save(out: &mut Out<'_>, counters: &$type) {
            let $type { $($field),+ } = *counters;
            $(out.u64($field);)+
        }

        pub(super) fn $load(input: &mut In<'_>) -> Option<$type> {
            Some($type { $($field: input.u64()?),+ })
        }
    };
}

counters!(
    save_partition_counters,
    load_partition_counters,
    PartitionCounters {
        admitted,
        skipped,
        held,
        refused,
        finished,
        stale,
        assignments,
        drained,
        drain_deadlines,
        lost,
        replaced,
        rewound,
    }
);
counters!(
    save_counters,
    load_counters,
    Counters {
        run,
        parked,
        skipped_carried,
        skipped_finished,
        skipped_in_flight,
        held_owed,
        held_resume_unknown,
        held_key_busy,
        held_window,
        held_budget,
        held_storm,
        refused_fenced,
        refused_regression,
        refused_offset_limit,
        inputs_refused,
        completed,
        failed,
        retried,
        dead_letters_asked,
        dead_letters_failed,
        dead_lettered,
        abandoned,
        stale_answers,
        stale_inputs,
        given_up,
        lost_in_hand,
        assignments,
        drained,
        drain_deadlines,
        lost,
        replaced,
        rewound,
        commits_offered,
        commits_stored,
        commits_retried,
        commits_rejected,
        commits_not_mine,
        metadata_ignored,
        metadata_dropped,
        commits_given_up,
        leases_expired,
        rebalances,
        storms,
        stalls,
        poll_budgets,
        late_ticks,
        keys_evicted,
        reports_dropped,
    }
);

pub(super) fn save_partition(out: &mut Out<'_>, partition: Partition) {
    out.u32(partition.topic);
    out.u32(partition.index.cast_unsigned());
}

pub(super) fn load_partition(input: &mut In<'_>) -> Option<Partition> {
    let (topic, index) = (input.u32()?, input.u32()?);
    Some(Partition { topic, index: index.cast_signed() })
}

fn save_offset(out: &mut Out<'_>, offset: Option<Offset>) {
    out.u64(offset.map_or(u64::MAX, Offset::value));
}

fn load_maybe_offset(input: &mut In<'_>) -> Option<Option<Offset>> {
    match input.u64()? {
        u64::MAX => Some(None),
        value => Offset::new(value).ok().map(Some),
    }
}

fn load_offset(input: &mut In<'_>) -> Option<Offset> {
    load_maybe_offset(input)?
}

/// A report that awaits being pulled. Only reports are kept; anything else is written as nothing
/// that could be read.
pub(super) fn save_report(out: &mut Out<'_>, report: Option<Output>) {
    match report {
        Some(Output::Sealed(sealed)) => {
            out.u8(0);
            save_partition(out, sealed.partition);
            out.u64(sealed.assignment.value());
            out.u8(ended(sealed.ended));
            save_offset(out, sealed.mark);
            out.u32(sealed.left);
        }
        Some(Output::Gap { partition, from, to }) => {
            out.u8(1);
            save_partition(out, partition);
            save_offset(out, Some(from));
            save_offset(out, Some(to));
        }
        Some(Output::StepBack { partition, from, to }) => {
            out.u8(2);
            save_partition(out, partition);
            save_offset(out, Some(from));
            save_offset(out, Some(to));
        }
        Some(Output::MetadataIgnored { partition, why }) => {
            out.u8(3);
            save_partition(out, partition);
            out.u8(ignored(why));
        }
        Some(Output::StormBegan { back_off }) => {
            out.u8(4);
            out.u64(back_off);
        }
        Some(Output::StormEnded) => out.u8(5),
        _ => out.u8(u8::MAX),
    }
}

pub(super) fn load_report(input: &mut In<'_>) -> Option<Output> {
    Some(match input.u8()? {
        0 => Output::Sealed(Sealed {
            partition: load_partition(input)?,
            assignment: Assignment::new(input.u64()?)?,
            ended: to_ended(input.u8()?)?,
            mark: load_maybe_offset(input)?,
            left: input.u32()?,
        }),
        1 => Output::Gap {
            partition: load_partition(input)?,
            from: load_offset(input)?,
            to: load_offset(input)?,
        },
        2 => Output::StepBack {
            partition: load_partition(input)?,
            from: load_offset(input)?,
            to: load_offset(input)?,
        },
        3 => Output::MetadataIgnored {
            partition: load_partition(input)?,
            why: to_ignored(input.u8()?)?,
        },
        4 => Output::StormBegan { back_off: input.u64()? },
        5 => Output::StormEnded,
        _ => return None,
    })
}

/// A journal entry for boundaries: [`JournalEntry::to_bytes`].
pub(super) fn journal_bytes(entry: &JournalEntry) -> [u8; JournalEntry::BYTES] {
    let mut bytes = [0; JournalEntry::BYTES];
    save_journal(&mut Out::new(&mut bytes), entry);
    bytes
}

pub(super) fn save_journal(out: &mut Out<'_>, entry: &JournalEntry) {
    let JournalEntry { at, partition, assignment, offset, times, event } = *entry;
    out.tick(at);
    out.flag(partition.is_some());
    save_partition(out, partition.unwrap_or_default());
    out.u64(assignment.map_or(0, Assignment::value));
    save_offset(out, offset);
    out.u32(times);
    let (kind, detail, one, other) = event_numbers(event);
    out.u8(kind);
    out.u8(detail);
    out.u64(one);
    out.u64(other);
}

pub(super) fn load_journal(input: &mut In<'_>) -> Option<JournalEntry> {
    let at = input.tick()?;
    let placed = input.flag()?;
    let partition = load_partition(input)?;
    Some(JournalEntry {
        at,
        partition: placed.then_some(partition),
        assignment: Assignment::new(input.u64()?),
        offset: load_maybe_offset(input)?,
        times: input.u32()?,
        event: event_of(input.u8()?, input.u8()?, input.u64()?, input.u64()?)?,
    })
}

fn event_numbers(event: Event) -> (u8, u8, u64, u64) {
    match event {
        Event::Assigned => (0, 0, 0, 0),
        Event::Revoked => (1, 0, 0, 0),
        Event::Sealed(how) => (2, ended(how), 0, 0),
        Event::Released { stored } => (3, u8::from(stored), 0, 0),
        Event::Refused(Refuse::Fenced(why)) => (4, fenced(why), 0, 0),
        Event::Refused(Refuse::OffsetRegression { last, seen: of }) => {
            (5, seen(of), last.value(), 0)
        }
        Event::Refused(Refuse::OffsetLimit) => (6, 0, 0, 0),
        Event::StaleAnswer => (7, 0, 0, 0),
        Event::InputRefused(why) => {
            let (detail, one, other) = error_numbers(why);
            (8, detail, one, other)
        }
        Event::LeaseExpired => (9, 0, 0, 0),
        Event::ClientDead => (10, 0, 0, 0),
        Event::StormBegan => (11, 0, 0, 0),
        Event::StormEnded => (12, 0, 0, 0),
    }
}

fn event_of(kind: u8, detail: u8, one: u64, other: u64) -> Option<Event> {
    Some(match kind {
        0 => Event::Assigned,
        1 => Event::Revoked,
        2 => Event::Sealed(to_ended(detail)?),
        3 => Event::Released { stored: detail == 1 },
        4 => Event::Refused(Refuse::Fenced(to_fenced(detail)?)),
        5 => Event::Refused(Refuse::OffsetRegression {
            last: Offset::new(one).ok()?,
            seen: to_seen(detail)?,
        }),
        6 => Event::Refused(Refuse::OffsetLimit),
        7 => Event::StaleAnswer,
        8 => Event::InputRefused(error_of(detail, one, other)?),
        9 => Event::LeaseExpired,
        10 => Event::ClientDead,
        11 => Event::StormBegan,
        12 => Event::StormEnded,
        _ => return None,
    })
}

fn error_numbers(error: InputError) -> (u8, u64, u64) {
    let named = |partition: Partition| {
        (u64::from(partition.topic), u64::from(partition.index.cast_unsigned()))
    };
    match error {
        InputError::PartitionsFull { needed, available } => (0, needed.into(), available.into()),
        InputError::NegativePartition(index) => (1, index.cast_unsigned().into(), 0),
        InputError::Dead => (2, 0, 0),
        InputError::NotActive(partition) => (3, named(partition).0, named(partition).1),
        InputError::AboveMark { mark } => (4, mark.value(), 0),
        InputError::ResumeUnknown(partition) => (5, named(partition).0, named(partition).1),
        InputError::NoPosition => (6, 0, 0),
        InputError::AssignmentsSpent => (7, 0, 0),
    }
}

fn error_of(kind: u8, one: u64, other: u64) -> Option<InputError> {
    let number = |value: u64| u32::try_from(value).ok();
    let named = || Some(Partition { topic: number(one)?, index: number(other)?.cast_signed() });
    Some(match kind {
        0 => InputError::PartitionsFull { needed: number(one)?, available: number(other)? },
        1 => InputError::NegativePartition(number(one)?.cast_signed()),
        2 => InputError::Dead,
        3 => InputError::NotActive(named()?),
        4 => InputError::AboveMark { mark: Offset::new(one).ok()? },
        5 => InputError::ResumeUnknown(named()?),
        6 => InputError::NoPosition,
        7 => InputError::AssignmentsSpent,
        _ => return None,
    })
}
