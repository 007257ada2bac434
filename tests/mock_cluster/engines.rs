//! Engines that die: everything of theirs is lost, nothing is committed, a fresh one goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rebalance_guard::{
    Answered, Config, Counters, Input, InputError, JournalEntry, Offset, Outcome, Output,
    Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};
use rebalance_guard_host::engine::{Engine, EngineDead};
use rebalance_guard_host::gateway::{EngineFactory, Event, GatewayError, Protocol};
use rebalance_guard_host::native::NativeEngine;
use rebalance_guard_tests::kafka::{Member, eventually};

use super::Stage;
use super::commits::assert_silent_between_loss_and_assign;
use super::loss::assert_tokens_rise;

/// Dies at its n-th admission, or at an input, and stays dead.
struct Mortal {
    engine: NativeEngine,
    left: u32,
    dies_at: fn(&Input<'_>) -> bool,
    /// What becomes of its outputs.
    spoil: fn(Option<Output>) -> Option<Output>,
    /// After how many admissions it stands still once, and for how long.
    stall: Option<(u32, Duration)>,
}

impl Mortal {
    fn boxed(config: &Config, left: u32) -> Box<dyn Engine> {
        Self::dying_at(config, left, |_| false)
    }

    fn dying_at(config: &Config, left: u32, dies_at: fn(&Input<'_>) -> bool) -> Box<dyn Engine> {
        let engine = NativeEngine::new(config).expect("settings");
        let spoil = |output| output;
        Box::new(Self { engine, left, dies_at, spoil, stall: None })
    }

    fn spoiled(config: &Config, spoil: fn(Option<Output>) -> Option<Output>) -> Box<dyn Engine> {
        let engine = NativeEngine::new(config).expect("settings");
        Box::new(Self { engine, left: u32::MAX, dies_at: |_| false, spoil, stall: None })
    }

    fn stalling(config: &Config, after: u32, span: Duration) -> Box<dyn Engine> {
        let engine = NativeEngine::new(config).expect("settings");
        let (dies_at, stall) = (|_: &Input<'_>| false, Some((after, span)));
        Box::new(Self { engine, left: u32::MAX, dies_at, spoil: |output| output, stall })
    }

    fn alive(&self) -> Result<(), EngineDead> {
        match self.left {
            0 => Err(EngineDead { reason: "it trapped".to_owned() }),
            _ => Ok(()),
        }
    }
}

impl Engine for Mortal {
    fn name(&self) -> String {
        "mortal".to_owned()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        if (self.dies_at)(&input) {
            self.left = 0;
        }
        self.alive()?;
        self.engine.handle(now, input)
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        self.left = self.left.saturating_sub(1);
        self.alive()?;
        match self.stall {
            // Nobody ever sends: the poll thread is kept here, like in a stopped process.
            Some((0, span)) => {
                self.stall = None;
                let (_kept, never) = std::sync::mpsc::channel::<()>();
                assert!(never.recv_timeout(span).is_err());
            }
            Some((after, span)) => self.stall = Some((after - 1, span)),
            None => {}
        }
        self.engine.admit(now, record)
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        self.alive()?;
        self.engine.admit_batch(now, records, verdicts)
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        self.alive()?;
        self.engine.answer(now, ticket, outcome)
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.alive()?;
        self.engine.handle_timeout(now)
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        self.alive()?;
        Ok((self.spoil)(self.engine.poll_output()?))
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.alive()?;
        self.engine.poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.alive()?;
        self.engine.is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.alive()?;
        self.engine.progress(partition)
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        self.alive()?;
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
        self.alive()?;
        self.engine.storm()
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.alive()?;
        self.engine.counters()
    }
}

#[test]
fn a_dead_engine_loses_everything_and_a_fresh_one_goes_on() {
    let stage = Stage::new("mortal", 2);
    stage.produce(0, 60);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    let made = AtomicU32::new(0);
    settings.engine = EngineFactory::new(move |config| {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(Mortal::boxed(config, if first { 30 } else { u32::MAX }))
    });
    let member = Member::start(settings);
    eventually("all took effect", || stage.ledger.effects() == 60);
    let events = member.events();
    assert_silent_between_loss_and_assign(&events);
    assert_tokens_rise(&events);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers), (1, 2));
    assert_eq!(stage.committed(), [Some(30), Some(30)]);
}

#[test]
fn engines_that_die_one_after_another_end_the_gateway() {
    let stage = Stage::new("doomed", 1);
    stage.produce(0, 10);
    let mut settings = stage.settings(Protocol::Consumer, "a");
    let made = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&made);
    settings.engine = EngineFactory::new(move |config| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Mortal::boxed(config, 1))
    });
    let member = Member::start(settings);
    eventually("it gives up", || member.has_ended());
    let lost = member.count(|event| matches!(event, Event::EverythingLost { .. }));
    let error = member.ended().expect_err("no engine lives");
    assert!(matches!(error, GatewayError::EngineDies { deaths: 6, .. }), "{error}");
    assert!(error.to_string().contains("--engine native"), "{error}");
    assert_eq!((made.load(Ordering::Relaxed), lost), (6, 6));
    assert_eq!((stage.ledger.calls().len(), stage.committed()), (0, vec![None]));
}

/// A client that waits for the answer to a callback never closes: one is given even
/// when the guard died over it.
fn an_engine_that_dies_over_a_callback_does_not_hang_the_client(dies_at: fn(&Input<'_>) -> bool) {
    let stage = Stage::new("callback", 2);
    stage.produce(0, 20);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    let made = AtomicU32::new(0);
    settings.engine = EngineFactory::new(move |config| {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        let never: fn(&Input<'_>) -> bool = |_| false;
        Ok(Mortal::dying_at(config, u32::MAX, if first { dies_at } else { never }))
    });
    let member = Member::start(settings);
    eventually("twenty took effect", || stage.ledger.effects() == 20);
    let other = Member::start(stage.settings(Protocol::Cooperative, "b"));
    eventually("both work", || other.count(|e| matches!(e, Event::Assigned { .. })) > 0);
    stage.produce(20, 20);
    eventually("all took effect", || stage.ledger.effects() == 40);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers_abandoned), (1, 0));
    other.leave();
    assert_eq!(stage.committed(), [Some(20), Some(20)]);
}

#[test]
fn an_engine_that_dies_over_an_assign_does_not_hang_the_client() {
    an_engine_that_dies_over_a_callback_does_not_hang_the_client(|input| {
        matches!(input, Input::Assign { .. })
    });
}

#[test]
fn an_engine_that_dies_over_a_revoke_does_not_hang_the_client() {
    an_engine_that_dies_over_a_callback_does_not_hang_the_client(|input| {
        matches!(input, Input::Revoke { .. })
    });
}

/// The first engine's outputs are spoiled; it must be taken for dead, and a sound one goes on.
fn an_engine_that_breaks_the_contract_is_dead(spoil: fn(Option<Output>) -> Option<Output>) {
    let stage = Stage::new("spoiled", 1);
    stage.produce(0, 20);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    let made = AtomicU32::new(0);
    settings.engine = EngineFactory::new(move |config| {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        let sound: fn(Option<Output>) -> Option<Output> = |output| output;
        Ok(Mortal::spoiled(config, if first { spoil } else { sound }))
    });
    let member = Member::start_unjudged(settings);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    let over =
        |event: &Event| matches!(event, Event::Committed { offset, .. } if offset.as_i64() > 20);
    assert_eq!(member.count(over), 0);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, stage.ledger.effects()), (1, 20));
}

#[test]
fn an_engine_whose_outputs_never_end_is_dead() {
    an_engine_that_breaks_the_contract_is_dead(|output| Some(output.unwrap_or(Output::StormEnded)));
}

#[test]
fn an_engine_that_commits_what_was_not_read_is_dead() {
    an_engine_that_breaks_the_contract_is_dead(|output| match output {
        Some(Output::Commit { partition, token, metadata, .. }) => {
            let offset = Offset::try_from(21).expect("an offset");
            Some(Output::Commit { partition, offset, token, metadata })
        }
        other => other,
    });
}

#[test]
fn a_poll_thread_that_stood_still_longer_than_the_session_loses_everything_first() {
    let stage = Stage::new("still", 1);
    stage.produce(0, 20);
    let mut settings = stage.settings(Protocol::Cooperative, "a");
    settings.engine =
        EngineFactory::new(|config| Ok(Mortal::stalling(config, 10, Duration::from_millis(3_500))));
    let member = Member::start(settings);
    let still = |event: &Event| match event {
        Event::EverythingLost { why } => why.contains("stood still longer"),
        _ => false,
    };
    eventually("the loss is told", || member.count(still) == 1);
    eventually("all are committed", || stage.committed() == [Some(20)]);
    let summary = member.leave();
    assert_eq!((summary.engines_dead, summary.consumers, summary.counters.lost), (0, 2, 1));
    assert_eq!(stage.ledger.effects(), 20);
}
