//! One arm: the traffic, the members, and the faults that strike while work is under way.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::broker::Watcher;
use super::group::Group;
use super::ledger::{Held, Ledger, Rules};
use super::outcome::Outcome;
use super::progress::Progress;
use super::random::Random;
use super::traffic::{DEAD_LETTERS, Kind, Plan, TOPIC, Traffic};
use super::{DemoArgs, DemoEngine};
use crate::clock;

/// Why an arm did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("stopped as asked")]
    Interrupted,
    #[error(
        "the demo waited {seconds} s for {what}, in vain; a busy machine may need fewer \
             --records or a lower --rate. RG_DEMO_LOGS=info shows the members' logs"
    )]
    TooLong { what: String, seconds: u64 },
    #[error("{0}; RG_DEMO_LOGS=info shows the members' logs")]
    MemberGone(String),
    #[error(
        "the ledger {0} cannot be written: {1}; free some space, or set TMPDIR to another place"
    )]
    Ledger(PathBuf, String),
    #[error("the mock cluster: {0}")]
    Kafka(#[from] KafkaError),
    #[error("{0}")]
    System(#[from] io::Error),
}

/// What is done to a member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    Restart,
    Kill,
    Stop,
}

/// What an arm is made of.
#[derive(Debug)]
pub(super) struct Arm<'a> {
    pub(super) args: &'a DemoArgs,
    pub(super) plan: &'a Arc<Plan>,
    pub(super) rate: u32,
    /// The guard; none: the unguarded arm.
    pub(super) engine: Option<DemoEngine>,
    pub(super) ledger: PathBuf,
    pub(super) interrupted: &'a AtomicBool,
    pub(super) progress: &'a Progress,
}

/// An arm under way. What it started ends when it is dropped.
struct Running<'a> {
    arm: &'a Arm<'a>,
    _cluster: MockCluster<'static, DefaultProducerContext>,
    watcher: Watcher,
    ledger: Ledger,
    group: Group,
    traffic: Traffic,
    deadline: Instant,
    phases: u32,
    phase: u32,
}

/// Runs an arm from the first member to the last committed offset.
pub(super) fn run(arm: &Arm<'_>) -> Result<Outcome, DemoError> {
    let mut running = Running::start(arm)?;
    running.faults()?;
    running.settle()?;
    running.end()
}

impl<'a> Running<'a> {
    fn start(arm: &'a Arm<'a>) -> Result<Self, DemoError> {
        let cluster = MockCluster::new(1)?;
        cluster.create_topic(TOPIC, i32::from(arm.args.partitions), 1)?;
        cluster.create_topic(DEAD_LETTERS, 1, 1)?;
        let bootstrap = cluster.bootstrap_servers();
        let rules = Rules::new(!arm.args.no_sink_check);
        let traffic = u64::from(arm.args.records / arm.rate.max(1));
        let mut running = Self {
            arm,
            watcher: Watcher::new(&bootstrap)?,
            ledger: Ledger::open(&arm.ledger, rules, WORK)?,
            group: Group::new(&bootstrap, arm.engine),
            traffic: Traffic::start(Arc::clone(arm.plan), &bootstrap, arm.rate)?,
            deadline: clock::now() + Duration::from_secs(120 + traffic),
            phases: u32::from(arm.args.members) + 3,
            phase: 0,
            _cluster: cluster,
        };
        running.step("members join");
        for _ in 0..arm.args.members {
            running.group.start(&running.ledger)?;
        }
        running.until("the first assignment", 40, |this| Ok(this.stable()))?;
        Ok(running)
    }

    /// Rolling restart, one killed, one stopped for longer than its session.
    fn faults(&mut self) -> Result<(), DemoError> {
        for name in self.group.names() {
            self.step(&format!("rolling restart: {name} is stopped by SIGTERM"));
            self.strike(&name, Fault::Restart)?;
            self.until(&format!("{name} to leave"), 30, |this| {
                Ok(this.group.ended(&name)?.is_some())
            })?;
            self.group.forget(&name);
            self.join()?;
        }
        let mut random = Random::new(self.arm.args.seed);
        let victim = self.pick(&mut random);
        self.step(&format!("{victim} is killed"));
        self.strike(&victim, Fault::Kill)?;
        self.join()?;
        let victim = self.pick(&mut random);
        self.step(&format!("{victim} is stopped for longer than its session, then goes on"));
        let held = self.strike(&victim, Fault::Stop)?;
        self.until("another member to take over from the stopped one", 30, |this| {
            let book = this.ledger.book();
            Ok(book.owners.get(&held.partition).is_some_and(|owner| *owner != victim))
        })?;
        self.group.thaw(&victim)?;
        self.until("the zombie to be a member again", 40, |this| Ok(this.stable()))
    }

    /// A new member joins and everybody owns something.
    fn join(&mut self) -> Result<(), DemoError> {
        self.group.start(&self.ledger)?;
        self.until("the group to settle", 40, |this| Ok(this.stable()))
    }

    /// The next part of the traffic, so that it lasts to the last fault.
    fn step(&mut self, what: &str) {
        self.phase += 1;
        let share = u64::from(self.arm.args.records) * u64::from(self.phase);
        let share = share / u64::from(self.phases);
        self.traffic.allow(u32::try_from(share).unwrap_or(u32::MAX));
        self.arm.progress.step(what);
    }

    /// A little more than this part of the traffic: a moment to strike needs members at work.
    fn more(&self) {
        let little = (self.arm.args.records / self.phases / 8).max(self.arm.rate / 2);
        let sent = self.traffic.sent();
        self.traffic.allow(sent.saturating_add(little).min(self.arm.args.records));
    }

    fn pick(&self, random: &mut Random) -> String {
        let names = self.group.names();
        let at = random.below(names.len() as u64) as usize;
        names.into_iter().nth(at).unwrap_or_default()
    }

    /// Whether every partition has exactly one owner, and every member something to do.
    fn stable(&self) -> bool {
        let heard = self.group.heard();
        let names = self.group.names();
        let owned: Vec<usize> =
            names.iter().map(|name| heard.owned.get(name).map_or(0, |own| own.len())).collect();
        owned.iter().all(|count| *count > 0)
            && owned.iter().sum::<usize>() == usize::from(self.arm.args.partitions)
    }

    /// Strikes a member while an effect of its is open and more records wait behind it.
    fn strike(&mut self, name: &str, fault: Fault) -> Result<Held, DemoError> {
        let deadline = clock::now() + STRIKE_MAX;
        loop {
            self.more();
            self.ledger.hold(name);
            let held = self.held(name)?;
            if self.ripe(&held, fault, deadline)? {
                match fault {
                    Fault::Restart => self.group.terminate(name)?,
                    Fault::Kill => self.group.kill(name)?,
                    Fault::Stop => self.group.freeze(name)?,
                }
                if fault != Fault::Stop || self.will_repeat(&held)? {
                    self.ledger.release();
                    return Ok(held);
                }
                self.group.thaw(name)?;
            }
            self.ledger.release();
            if clock::now() > deadline {
                return Err(self.too_long("a moment to strike", STRIKE_MAX.as_secs()));
            }
        }
    }

    fn held(&mut self, name: &str) -> Result<Held, DemoError> {
        self.until(&format!("{name} to be at work"), 30, |this| Ok(this.ledger.held().is_some()))?;
        let nothing = Held::default();
        Ok(self.ledger.held().unwrap_or(nothing))
    }

    /// Waits until the fault would do its harm; false when this effect will not do.
    fn ripe(&mut self, held: &Held, fault: Fault, deadline: Instant) -> Result<bool, DemoError> {
        let begun = clock::now();
        loop {
            self.look()?;
            if self.ledger.held().as_ref() != Some(held) || clock::now() > deadline {
                return Ok(false);
            }
            let waiting = self.sent(held.partition) > held.offset + 1;
            let ready = match fault {
                Fault::Kill if self.arm.engine.is_none() => self.will_drop(held)?,
                Fault::Kill | Fault::Restart => begun.elapsed() >= AT_WORK,
                Fault::Stop if !self.will_repeat(held)? => return Ok(false),
                Fault::Stop => true,
            };
            if waiting && ready {
                return Ok(true);
            }
            self.group.wait(Duration::from_millis(10));
        }
    }

    /// Whether an order waits behind the open effect although the group's offset is past it.
    fn will_drop(&self, held: &Held) -> Result<bool, DemoError> {
        let committed = self.watcher.committed(held.partition)?;
        let mut passed = held.offset + 1..committed;
        Ok(passed.any(|offset| self.is_single(held.partition, offset)))
    }

    /// Whether the next owner will repeat the open effect: the group's offset is not past it.
    fn will_repeat(&self, held: &Held) -> Result<bool, DemoError> {
        let committed = self.watcher.committed(held.partition)?;
        Ok(committed <= held.offset && self.is_single(held.partition, held.offset))
    }

    fn is_single(&self, partition: i32, offset: i64) -> bool {
        self.arm.plan.at(partition, offset).is_some_and(|planned| planned.kind == Kind::Once)
    }

    /// Records of a partition that were sent.
    fn sent(&self, partition: i32) -> i64 {
        self.arm.plan.sent_to(partition, self.traffic.sent())
    }

    /// All traffic, until the group committed its end and nothing is open.
    fn settle(&mut self) -> Result<(), DemoError> {
        self.step("the rest of the traffic");
        self.traffic.allow(self.arm.args.records);
        let records = self.arm.args.records;
        let traffic = u64::from(records / self.arm.rate.max(1));
        self.until("the traffic", 30 + traffic, |this| Ok(this.traffic.sent() >= records))?;
        let mut quiet = (clock::now(), 0);
        self.until("the group to finish", 90, |this| {
            let open: u32 = this.ledger.book().open.values().sum();
            let calls = this.ledger.book().calls.values().map(|calls| u64::from(calls.raw)).sum();
            if open > 0 || calls != quiet.1 {
                quiet = (clock::now(), calls);
            }
            Ok(quiet.0.elapsed() > QUIET && this.watcher.all_committed(this.arm.plan.ends())?)
        })
    }

    fn end(mut self) -> Result<Outcome, DemoError> {
        self.arm.progress.step("members leave");
        let late = self.group.stop(Duration::from_secs(20))?;
        if !late.is_empty() {
            return Err(self.too_long(&format!("{} to leave", late.join(", ")), 20));
        }
        let dead_letters = self.watcher.dead_letters()?;
        let heard = self.group.heard().clone();
        let plan = self.arm.plan;
        Ok(Outcome::compare(plan, self.arm.engine, &self.ledger, &heard, &dead_letters)?)
    }

    /// Waits for something, watching over everything else.
    fn until(
        &mut self,
        what: &str,
        seconds: u64,
        mut ready: impl FnMut(&mut Self) -> Result<bool, DemoError>,
    ) -> Result<(), DemoError> {
        let deadline = clock::now() + Duration::from_secs(seconds);
        while !ready(self)? {
            self.look()?;
            if clock::now() > deadline.min(self.deadline) {
                return Err(self.too_long(what, seconds));
            }
            self.group.wait(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What can go wrong at any time.
    fn look(&mut self) -> Result<(), DemoError> {
        if self.arm.interrupted.load(Ordering::Relaxed) {
            return Err(DemoError::Interrupted);
        }
        let failure = self.ledger.book().failure.clone();
        if let Some(why) = failure {
            return Err(DemoError::Ledger(self.arm.ledger.clone(), why));
        }
        if let Some(gone) = self.group.gone_unasked() {
            return Err(DemoError::MemberGone(gone));
        }
        self.traffic.check()?;
        let applied = self.ledger.book().effects.len() as u64;
        self.arm.progress.count(u64::from(self.traffic.sent()), applied);
        Ok(())
    }

    fn too_long(&self, what: &str, seconds: u64) -> DemoError {
        DemoError::TooLong { what: what.into(), seconds }
    }
}

/// What an effect takes at the sink.
const WORK: Duration = Duration::from_millis(2);
/// How long an effect is open before a fault that needs no more than that.
const AT_WORK: Duration = Duration::from_millis(300);
/// How long a moment to strike is looked for.
const STRIKE_MAX: Duration = Duration::from_secs(40);
/// How long nothing may happen before an arm counts as finished.
const QUIET: Duration = Duration::from_secs(1);
