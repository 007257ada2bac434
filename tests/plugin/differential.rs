//! Native and plugin give the same answers, to the byte.

use std::collections::BTreeMap;
use std::env;

use rebalance_guard::{
    Answered, CommitAnswer, Config, Fenced, Hold, InputError, Outcome, Output, Reason, Refuse,
    Reply, Seen, Skip, Verdict,
};
use rebalance_guard_host::engine::Engine;
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_host::plugin::PluginEngine;
use rebalance_guard_sim::{
    Action, Answer, LostScope, Resumed, Runner, Said, Subject, Trace, random,
};
use rebalance_guard_tests::plugin::{EngineSubject, plugin};

const STEPS: usize = 200;
/// Steps between two reloads of the plugin.
const RELOAD: usize = 90;
/// One trace in so many compares the snapshots after every step.
const EVERY_STEP: u64 = 20;
/// So many by default; `RG_TRACES` says otherwise.
const TRACES: u64 = 10_000;
/// How often every kind must be met in so many.
const MET_MIN: u64 = 100;

/// How often each kind was met.
type Met = BTreeMap<&'static str, u64>;

fn compare(seed: u64, met: &mut Met) {
    let config = random::config(seed);
    let mut native = EngineSubject(NativeEngine::new(&config).expect("sound settings"));
    let (trace, expected) = random::trace_on(seed, STEPS, config, &mut native);
    let mut plugin = EngineSubject(plugin().start(&config).expect("it starts"));
    let mut again = EngineSubject(NativeEngine::new(&config).expect("sound settings"));
    let (mut runner, mut runner_again) = (Runner::default(), Runner::default());
    for (number, (step, expected)) in trace.steps.iter().zip(&expected).enumerate() {
        let answer = runner.step(&mut plugin, &trace.partitions, step);
        assert!(answer == *expected, "{}", explain(&trace, number, expected, &answer));
        // Times that fall due are no part of an answer.
        runner_again.step(&mut again, &trace.partitions, step);
        assert_eq!(plugin.poll_timeout(), again.poll_timeout(), "seed {seed}, step {number}");
        note_input(&step.action, met);
        note_answer(&answer, met);
        if seed.is_multiple_of(EVERY_STEP) {
            let alike = snapshot(&mut plugin.0) == snapshot(&mut again.0);
            assert!(alike, "seed {seed}, step {number} {step:?}: the snapshots differ");
        }
        if number % RELOAD == RELOAD - 1 {
            reload(seed, &config, &mut plugin, &mut again);
        }
    }
    assert_eq!(plugin.0.journal(), native.0.journal(), "seed {seed}");
    assert_eq!(plugin.0.counters(), native.0.counters(), "seed {seed}");
    assert_eq!(plugin.0.owned(), native.0.owned(), "seed {seed}");
}

fn snapshot(engine: &mut dyn Engine) -> Vec<u8> {
    engine.snapshot().expect("alive").expect("the buffer was made for it")
}

/// A fresh instance goes on from the snapshot, whose bytes are the native guard's.
fn reload(
    seed: u64,
    config: &Config,
    running: &mut EngineSubject<PluginEngine>,
    native: &mut EngineSubject<NativeEngine>,
) {
    let bytes = snapshot(&mut running.0);
    assert!(bytes == snapshot(&mut native.0), "seed {seed}: the snapshots differ");
    let mut fresh = plugin().start(config).expect("it starts");
    let now = native.0.guard().now();
    assert_eq!(fresh.restore(now, &bytes), Ok(true), "seed {seed}");
    assert!(snapshot(&mut fresh) == bytes, "seed {seed}: the restored snapshot differs");
    running.0 = fresh;
}

fn explain(trace: &Trace, number: usize, native: &Answer, plugin: &Answer) -> String {
    let Trace { seed, config, .. } = trace;
    let step = &trace.steps[number];
    format!("seed {seed}, step {number} {step:?}\n{config:?}\nnative {native:?}\nplugin {plugin:?}")
}

fn note(met: &mut Met, kind: &'static str) {
    *met.entry(kind).or_default() += 1;
}

fn note_input(action: &Action, met: &mut Met) {
    let kind = match action {
        Action::Assign { generation, partitions } => {
            note(met, if generation.is_some() { "generation" } else { "no generation" });
            for (_, resume) in partitions {
                note(met, resume_kind(resume));
            }
            "assign"
        }
        Action::Position { .. } => "position",
        Action::Revoke { .. } => "revoke",
        Action::Lost(LostScope::Some(_)) => "lost some",
        Action::Lost(LostScope::All) => "lost all",
        Action::Lost(LostScope::Fatal) => "lost fatal",
        Action::Rewind { .. } => "rewind",
        Action::GroupOffset { .. } => "group offset",
        Action::EndOfPartition { .. } => "end of partition",
        Action::Admit(_) => "admit",
        Action::AdmitBatch(_) => "admit batch",
        Action::Answer { outcome, .. } => match outcome {
            Outcome::Completed => "completed",
            Outcome::Failed { permanent: false } => "failed",
            Outcome::Failed { permanent: true } => "failed for good",
            Outcome::Abandoned => "abandoned",
            Outcome::DeadLettered => "dead-lettered",
        },
        Action::CommitAnswered { answer, .. } => match answer {
            CommitAnswer::Stored => "stored",
            CommitAnswer::Retry => "retry commit",
            CommitAnswer::Rejected => "rejected",
            CommitAnswer::NotMine => "not mine",
            CommitAnswer::Fatal => "fatal",
        },
        Action::Polled => "polled",
        Action::Tick => "tick",
    };
    note(met, kind);
}

const fn resume_kind(resume: &Resumed) -> &'static str {
    match resume {
        Resumed::Committed { .. } => "resume committed",
        Resumed::Empty(None) => "resume empty",
        Resumed::Empty(Some(_)) => "resume empty at",
        Resumed::At(_) => "resume at",
        Resumed::Unknown => "resume unknown",
    }
}

fn note_answer(answer: &Answer, met: &mut Met) {
    match &answer.said {
        Said::Reply(Ok(Reply::Verdict(verdict))) => note(met, verdict_kind(*verdict)),
        Said::Reply(Ok(Reply::Done)) => note(met, "reply done"),
        Said::Reply(Ok(Reply::Stale)) => note(met, "reply stale"),
        Said::Reply(Ok(Reply::Answered(Answered::Done))) => note(met, "answered done"),
        Said::Reply(Ok(Reply::Answered(Answered::Stale))) => note(met, "answered stale"),
        Said::Reply(Err(error)) => note(met, error_kind(*error)),
        Said::Batch(verdicts) => verdicts.iter().for_each(|v| note(met, verdict_kind(*v))),
        Said::Nothing => {}
    }
    answer.outputs.iter().for_each(|output| note(met, output_kind(*output)));
}

const fn verdict_kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Run(_) => "run",
        Verdict::Park(_, Reason::AttemptsSpent) => "park: attempts",
        Verdict::Park(_, Reason::NoUsableKey) => "park: key",
        Verdict::Park(_, Reason::Permanent) => "park: permanent",
        Verdict::Skip(Skip::Carried) => "skip: carried",
        Verdict::Skip(Skip::DuplicateFinished) => "skip: finished",
        Verdict::Skip(Skip::DuplicateInFlight) => "skip: in flight",
        Verdict::Hold(Hold::Owed(_)) => "hold: owed",
        Verdict::Hold(Hold::ResumeUnknown) => "hold: resume unknown",
        Verdict::Hold(Hold::KeyBusy) => "hold: key busy",
        Verdict::Hold(Hold::Window) => "hold: window",
        Verdict::Hold(Hold::Budget) => "hold: budget",
        Verdict::Hold(Hold::Storm) => "hold: storm",
        Verdict::Refuse(Refuse::Fenced(Fenced::NotOwned)) => "fenced: not owned",
        Verdict::Refuse(Refuse::Fenced(Fenced::Draining)) => "fenced: draining",
        Verdict::Refuse(Refuse::Fenced(Fenced::Sealed)) => "fenced: sealed",
        Verdict::Refuse(Refuse::Fenced(Fenced::LeaseExpired)) => "fenced: lease",
        Verdict::Refuse(Refuse::Fenced(Fenced::Dead)) => "fenced: dead",
        Verdict::Refuse(Refuse::OffsetRegression { seen: Seen::Finished, .. }) => "seen: finished",
        Verdict::Refuse(Refuse::OffsetRegression { seen: Seen::InFlight, .. }) => "seen: in flight",
        Verdict::Refuse(Refuse::OffsetRegression { seen: Seen::Never, .. }) => "seen: never",
        Verdict::Refuse(Refuse::OffsetRegression { seen: Seen::BelowResume, .. }) => "seen: below",
        Verdict::Refuse(Refuse::OffsetLimit) => "offset limit",
    }
}

const fn error_kind(error: InputError) -> &'static str {
    match error {
        InputError::PartitionsFull { .. } => "error: partitions full",
        InputError::NegativePartition(_) => "error: negative partition",
        InputError::Dead => "error: dead",
        InputError::NotActive(_) => "error: not active",
        InputError::AboveMark { .. } => "error: above mark",
        InputError::ResumeUnknown(_) => "error: resume unknown",
        InputError::NoPosition => "error: no position",
        InputError::AssignmentsSpent => "error: assignments spent",
        _ => "error: other",
    }
}

const fn output_kind(output: Output) -> &'static str {
    match output {
        Output::Rejoin { .. } => "rejoin",
        Output::Sealed(_) => "sealed",
        Output::Gap { .. } => "gap",
        Output::StepBack { .. } => "step back",
        Output::StormBegan { .. } => "storm began",
        Output::MetadataIgnored { .. } => "metadata ignored",
        Output::Stalled { .. } => "stalled",
        Output::PollBudget { .. } => "poll budget",
        Output::StormEnded => "storm ended",
        Output::Commit { .. } => "commit",
        Output::Pause(_) => "pause",
        Output::Resume(_) => "resume",
        Output::Retry { .. } => "retry",
        Output::DeadLetter { .. } => "dead letter",
    }
}

/// Every kind there is, but `park: permanent`: a record is never parked for that.
const KINDS: [&str; 78] = [
    "abandoned",
    "admit",
    "admit batch",
    "answered done",
    "answered stale",
    "assign",
    "commit",
    "completed",
    "dead letter",
    "dead-lettered",
    "end of partition",
    "error: above mark",
    "error: assignments spent",
    "error: dead",
    "error: negative partition",
    "error: no position",
    "error: not active",
    "error: partitions full",
    "error: resume unknown",
    "failed",
    "failed for good",
    "fatal",
    "fenced: dead",
    "fenced: draining",
    "fenced: lease",
    "fenced: not owned",
    "fenced: sealed",
    "gap",
    "generation",
    "group offset",
    "hold: budget",
    "hold: key busy",
    "hold: owed",
    "hold: resume unknown",
    "hold: storm",
    "hold: window",
    "lost all",
    "lost fatal",
    "lost some",
    "no generation",
    "not mine",
    "offset limit",
    "metadata ignored",
    "park: attempts",
    "park: key",
    "pause",
    "poll budget",
    "polled",
    "position",
    "rejected",
    "rejoin",
    "reply done",
    "reply stale",
    "resume",
    "resume at",
    "resume committed",
    "resume empty",
    "resume empty at",
    "resume unknown",
    "retry",
    "retry commit",
    "revoke",
    "rewind",
    "run",
    "sealed",
    "seen: below",
    "seen: finished",
    "seen: in flight",
    "seen: never",
    "skip: carried",
    "skip: finished",
    "skip: in flight",
    "stalled",
    "step back",
    "stored",
    "storm began",
    "storm ended",
    "tick",
];

/// Shares the seeds among the machine's processors.
fn compare_all(traces: u64) -> Met {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = |first: u64| {
        let mut met = Met::new();
        (first..traces).step_by(usize::try_from(threads).expect("few")).for_each(|seed| {
            compare(seed, &mut met);
        });
        met
    };
    let mut met = Met::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        for worker in workers {
            let part = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            part.into_iter().for_each(|(kind, count)| *met.entry(kind).or_default() += count);
        }
    });
    met
}

#[test]
fn native_and_plugin_answer_random_traces_alike_to_the_byte() {
    let asked = env::var("RG_TRACES").ok().map(|count| count.parse().expect("a number"));
    let traces: u64 = asked.unwrap_or(TRACES);
    let met = compare_all(traces);
    println!("{traces} traces of {STEPS} inputs: {met:#?}");
    if traces < TRACES {
        return;
    }
    for kind in KINDS {
        let count = met.get(kind).copied().unwrap_or(0);
        assert!(count >= MET_MIN, "{kind} was met {count} times: {met:#?}");
    }
}
