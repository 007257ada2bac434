//! The counters say what was answered, counted again from outside.

use rebalance_guard::{
    Answered, CommitAnswer, Counters, Ended, Hold, Outcome, Output, Refuse, Reply, Skip, Tick,
    TicketKind, Verdict,
};
use rebalance_guard_sim::{Action, Answer, Runner, Said, Step, random};

use crate::support::{STEPS, core, for_each_seed, seeds};

/// Counts one step and its answer, as far as they can be seen from outside.
fn tally(counters: &mut Counters, kinds: &[TicketKind], step: &Step, answer: &Answer) {
    match &answer.said {
        Said::Reply(Ok(Reply::Verdict(verdict))) => tally_verdict(counters, *verdict),
        Said::Batch(verdicts) => verdicts.iter().for_each(|v| tally_verdict(counters, *v)),
        Said::Reply(Ok(Reply::Answered(answered))) => {
            tally_answer(counters, kinds, &step.action, *answered);
        }
        Said::Reply(Ok(Reply::Stale)) => counters.stale_inputs += 1,
        Said::Reply(Ok(Reply::Done)) => tally_done(counters, &step.action),
        Said::Reply(Err(_)) => counters.inputs_refused += 1,
        Said::Nothing => {}
    }
    for output in &answer.outputs {
        match output {
            Output::Retry { .. } => counters.retried += 1,
            Output::DeadLetter { .. } => counters.dead_letters_asked += 1,
            Output::Commit { .. } => counters.commits_offered += 1,
            Output::Stalled { .. } => counters.stalls += 1,
            Output::PollBudget { .. } => counters.poll_budgets += 1,
            Output::MetadataIgnored { .. } => counters.metadata_ignored += 1,
            Output::Sealed(sealed) => match sealed.ended {
                Ended::Drained => counters.drained += 1,
                Ended::Deadline => counters.drain_deadlines += 1,
                Ended::Rewound => counters.rewound += 1,
                Ended::Lost | Ended::Replaced => {}
            },
            _ => {}
        }
    }
}

fn tally_verdict(counters: &mut Counters, verdict: Verdict) {
    let counter = match verdict {
        Verdict::Run(_) => &mut counters.run,
        Verdict::Park(..) => &mut counters.parked,
        Verdict::Skip(Skip::Carried) => &mut counters.skipped_carried,
        Verdict::Skip(Skip::DuplicateFinished) => &mut counters.skipped_finished,
        Verdict::Skip(Skip::DuplicateInFlight) => &mut counters.skipped_in_flight,
        Verdict::Hold(Hold::Owed(_)) => &mut counters.held_owed,
        Verdict::Hold(Hold::ResumeUnknown) => &mut counters.held_resume_unknown,
        Verdict::Hold(Hold::KeyBusy) => &mut counters.held_key_busy,
        Verdict::Hold(Hold::Window) => &mut counters.held_window,
        Verdict::Hold(Hold::Budget) => &mut counters.held_budget,
        Verdict::Hold(Hold::Storm) => &mut counters.held_storm,
        Verdict::Refuse(Refuse::Fenced(_)) => &mut counters.refused_fenced,
        Verdict::Refuse(Refuse::OffsetRegression { .. }) => &mut counters.refused_regression,
        Verdict::Refuse(Refuse::OffsetLimit) => &mut counters.refused_offset_limit,
    };
    *counter += 1;
}

fn tally_answer(
    counters: &mut Counters,
    kinds: &[TicketKind],
    action: &Action,
    answered: Answered,
) {
    let Action::Answer { ticket, outcome } = action else { return };
    if answered == Answered::Stale {
        counters.stale_answers += 1;
        return;
    }
    let kind = kinds[usize::try_from(*ticket).expect("small") - 1];
    match (outcome, kind) {
        (Outcome::Completed, _) => counters.completed += 1,
        (Outcome::DeadLettered, _) => counters.dead_lettered += 1,
        (Outcome::Abandoned, _) => counters.abandoned += 1,
        (Outcome::Failed { .. }, TicketKind::Run) => counters.failed += 1,
        (Outcome::Failed { .. }, TicketKind::DeadLetter) => counters.dead_letters_failed += 1,
    }
}

fn tally_done(counters: &mut Counters, action: &Action) {
    match action {
        Action::Rewind { .. } => counters.assignments += 1,
        Action::Assign { partitions, .. } => {
            let mut named: Vec<_> = partitions.iter().map(|(partition, _)| *partition).collect();
            named.sort_unstable();
            named.dedup();
            counters.assignments += named.len() as u64;
        }
        Action::CommitAnswered { answer, .. } => match answer {
            CommitAnswer::Stored => counters.commits_stored += 1,
            CommitAnswer::Rejected => counters.commits_rejected += 1,
            CommitAnswer::NotMine | CommitAnswer::Fatal => counters.commits_not_mine += 1,
            CommitAnswer::Retry => {}
        },
        _ => {}
    }
}

/// The counters that cannot be seen from outside are taken as they are.
fn seen_from_outside(told: &Counters, tallied: Counters) -> Counters {
    let mut counters = tallied;
    counters.given_up = told.given_up;
    counters.lost_in_hand = told.lost_in_hand;
    counters.lost = told.lost;
    counters.replaced = told.replaced;
    counters.commits_retried = told.commits_retried;
    // A report that was overtaken was counted.
    if told.reports_dropped > 0 {
        counters.metadata_ignored = told.metadata_ignored;
    }
    counters.metadata_dropped = told.metadata_dropped;
    counters.commits_given_up = told.commits_given_up;
    counters.leases_expired = told.leases_expired;
    counters.rebalances = told.rebalances;
    counters.storms = told.storms;
    counters.keys_evicted = told.keys_evicted;
    counters.reports_dropped = told.reports_dropped;
    counters
}

#[test]
fn counters_say_what_was_answered() {
    for_each_seed(seeds(500), |seed| {
        let trace = random::trace(seed, STEPS);
        let (mut guard, mut runner) = (core(trace.config), Runner::default());
        let (mut tallied, mut last) = (Counters::default(), Tick::ZERO);
        for (number, step) in trace.steps.iter().enumerate() {
            let calls = match &step.action {
                Action::AdmitBatch(records) => records.len() as u64,
                _ => 1,
            };
            if step.now < last {
                tallied.late_ticks += calls;
            } else if calls > 0 {
                last = step.now;
            }
            let kinds: Vec<_> = runner.tickets.iter().map(|ticket| ticket.kind()).collect();
            let answer = runner.step(&mut guard, &trace.partitions, step);
            tally(&mut tallied, &kinds, step, &answer);
            let told = guard.counters();
            let expected = seen_from_outside(told, tallied);
            if *told != expected {
                return Some(format!(
                    "{trace}after step {number}\ntold     {told:?}\nexpected {expected:?}"
                ));
            }
        }
        None
    });
}
