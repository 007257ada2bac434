//! The flags as the simulator's options, and the one plan of faults that every run meets.

use rebalance_guard::Config;
use rebalance_guard_sim::group::{self, Options, Planned};

use super::args::{Guarded, SimulateArgs, SimulatedProtocol};
use super::{SimulateError, faults, plan};

/// Records of one run: what it remembers of each fits into memory.
const RECORDS_MAX: u64 = 2_000_000;
/// Of what workers can do, the part that the traffic may ask for: after a fault they catch up.
const LOAD_PERCENT: u64 = 80;

/// What is simulated.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) args: SimulateArgs,
    /// Drawn once, so that every run meets the same.
    pub(super) plan: Vec<Planned>,
}

impl Scenario {
    pub(super) fn of(args: &SimulateArgs) -> Result<Self, SimulateError> {
        let faults = faults::parse(&args.faults)?;
        check(args)?;
        Ok(Self { args: args.clone(), plan: plan::plan(args, &faults) })
    }

    /// The same faults under other settings; `None` when no client takes these.
    pub(super) fn with(&self, change: impl FnOnce(&mut SimulateArgs)) -> Option<Self> {
        let mut args = self.args.clone();
        change(&mut args);
        check(&args).ok()?;
        Some(Self { args, plan: self.plan.clone() })
    }

    /// The groups that were asked for: whether they have the guard.
    pub(super) fn arms(&self) -> &'static [bool] {
        match self.args.guard {
            Guarded::On => &[true],
            Guarded::Off => &[false],
            Guarded::Both => &[false, true],
        }
    }

    pub(super) fn run(&self, guarded: bool) -> group::Outcome {
        group::run(&Options { plan: Some(self.plan.clone()), ..options(&self.args, guarded) })
    }

    /// The flags in one line.
    pub(super) fn title(&self) -> String {
        let SimulateArgs { members, partitions, rate, work_ms, workers, .. } = self.args;
        let SimulateArgs { session_ms, max_poll_ms, drain_ms, seconds, seed, .. } = self.args;
        let ids = if self.args.static_ids { "static ids" } else { "no static ids" };
        format!(
            "{members} members with {workers} workers each, {partitions} partitions, \
             {rate} records/s for {seconds} s, {work_ms} ms of work a record,\n\
             {}, {ids}, session {session_ms} ms, max poll {max_poll_ms} ms, drain {drain_ms} ms, \
             seed {seed}",
            self.args.protocol.word(),
        )
    }
}

fn check(args: &SimulateArgs) -> Result<(), SimulateError> {
    let (max_poll, session) = (args.max_poll_ms, args.session_ms);
    if max_poll < session {
        return Err(SimulateError::Poll { max_poll, session });
    }
    let workers = u64::from(args.members) * u64::from(args.workers);
    let (rate, work) = (args.rate, args.work_ms);
    let most = workers * 1_000 * LOAD_PERCENT / 100 / u64::from(work).max(1);
    if work > 0 && u64::from(rate) > most {
        return Err(SimulateError::Overload { rate, work, workers, most });
    }
    let records = u64::from(rate) * u64::from(args.seconds);
    if records > RECORDS_MAX {
        return Err(SimulateError::Records { records, most: RECORDS_MAX });
    }
    Ok(())
}

fn options(args: &SimulateArgs, guarded: bool) -> Options {
    let (session_ms, max_poll_ms) = (u64::from(args.session_ms), u64::from(args.max_poll_ms));
    let produce_ms = u64::from(args.seconds) * 1_000;
    let lease = (max_poll_ms - max_poll_ms / 10).max(1);
    let partitions = u32::from(args.partitions);
    let places = partitions.max(Config::default().partitions);
    Options {
        seed: args.seed,
        protocol: SimulatedProtocol::of_group(args.protocol),
        members: usize::from(args.members),
        partitions,
        rate: u64::from(args.rate),
        produce_ms,
        // Long enough for what piled up; a run ends when everything is done.
        settle_ms: produce_ms * 5 + (session_ms + max_poll_ms) * 10,
        work_ms: u64::from(args.work_ms),
        workers: usize::from(args.workers),
        static_ids: args.static_ids,
        session_ms,
        // As Kafka advises: a third of the session, and no more than its default.
        heartbeat_ms: (session_ms / 3).clamp(1, 3_000),
        max_poll_ms,
        drain_ms: u64::from(args.drain_ms).min(lease / 2),
        guard: Config { lease, partitions: places, ..Config::default() },
        guarded,
        ..Options::default()
    }
}
