//! A record that was held and does not come back must not hold its partition for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rebalance_guard::{
    Answered, Config, Counters, Hold, Input, InputError, JournalEntry, Offset, Outcome, Output,
    Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};
use rebalance_guard_host::engine::{Engine, EngineDead};
use rebalance_guard_host::gateway::{EngineFactory, Protocol};
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;

/// The offset at whose first offer an earlier record counts as owed.
const AT: i64 = 2;

/// Says once that a record is owed which nobody has: as after a compaction.
struct Creditor {
    engine: NativeEngine,
    said: bool,
    /// The record before it was offered.
    near: Arc<AtomicBool>,
}

impl Creditor {
    fn factory(near: &Arc<AtomicBool>) -> EngineFactory {
        let near = Arc::clone(near);
        EngineFactory::new(move |config: &Config| match NativeEngine::new(config) {
            Ok(engine) => {
                let near = Arc::clone(&near);
                Ok(Box::new(Self { engine, said: false, near }) as Box<dyn Engine>)
            }
            Err(error) => Err(error.to_string()),
        })
    }
}

impl Engine for Creditor {
    fn name(&self) -> String {
        "creditor".to_owned()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        self.engine.handle(now, input)
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        let owed = Offset::try_from(AT - 1).expect("an offset");
        if record.offset == owed {
            self.near.store(true, Ordering::Relaxed);
        }
        if record.offset.as_i64() == AT && !self.said {
            self.said = true;
            return Ok(Verdict::Hold(Hold::Owed(owed)));
        }
        self.engine.admit(now, record)
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        self.engine.admit_batch(now, records, verdicts)
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        self.engine.answer(now, ticket, outcome)
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.engine.handle_timeout(now)
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        self.engine.poll_output()
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.engine.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.engine.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.engine.progress(partition)
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        self.engine.owned()
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        self.engine.commit_metadata(partition)
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        self.engine.waiting()
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        self.engine.journal()
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        self.engine.snapshot()
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        self.engine.restore(now, snapshot)
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        self.engine.in_flight()
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        self.engine.storm()
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.engine.counters()
    }
}

/// Ten records, of which the third is held for one that is gone; none is lost.
fn all_run_although_one_is_owed(name: &str, window: u32) {
    let stage = Stage::new(name, 1);
    stage.produce(0, 10);
    stage.ledger.close();
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    let near = Arc::new(AtomicBool::new(false));
    settings.engine = Creditor::factory(&near);
    settings.guard.window = window;
    let member = Member::start_unjudged(settings);
    eventually("two were offered", || near.load(Ordering::Relaxed));
    stage.ledger.open();
    eventually("all took effect", || stage.ledger.effects() == 10);
    eventually("all are committed", || stage.committed() == [Some(10)]);
    let summary = member.leave();
    assert_eq!((summary.counters.rewound, summary.consumers), (1, 1));
}

#[test]
fn a_debt_that_does_not_come_back_is_settled_by_reading_again_from_the_mark() {
    all_run_although_one_is_owed("debt", 1_024);
}

/// The client is past what waits behind the held record: it is sent back to all of it.
#[test]
fn what_waits_behind_a_debt_that_does_not_come_back_is_read_again() {
    all_run_although_one_is_owed("debt-backlog", 2);
}
