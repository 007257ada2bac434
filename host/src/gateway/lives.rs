//! One consumer after another, one engine after another, until the gateway stops.

use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::{Config, Input, Scope};

use super::outage::Outage;
use super::row::Row;
use super::state::{Flow, Gateway, Interrupt};
use super::stop::Stop;
use super::watch::session_span;
use super::{Event, GatewayError, Observer, Settings, StopSignal, Summary};
use crate::clock::{self, Clock};
use crate::dead_letter::DeadLetterProducer;
use crate::kafka::classify::{Remedy, fatal};
use crate::kafka::client;
use crate::kafka::session::Session;
use crate::kafka::topics::Topics;
use crate::workers::{PoolSettings, WorkerPool};

/// How long a client may take to close before its thread is abandoned.
const CLOSE: Duration = Duration::from_secs(10);
/// Engines, or recoverable clients, that may die in a row.
const DEATHS_MAX: u32 = 5;
/// The same for clients that died of something that passes: a session of minutes is waited out.
const FATALS_MAX: u32 = 20;
/// Outputs looked at of an engine that is done with.
const DISCARD_MAX: u32 = 1 << 20;
/// How long the dead-letter topic is asked for at the start.
const CHECK: Duration = Duration::from_secs(10);

/// [`super::run`].
pub(super) fn run(
    settings: Settings,
    stop: StopSignal,
    observer: &mut dyn Observer,
) -> Result<Summary, GatewayError> {
    let mut gateway = Gateway::start(settings, stop, observer)?;
    let ended = gateway.live();
    gateway.end(ended)
}

impl<'a> Gateway<'a> {
    fn start(
        mut settings: Settings,
        stop: StopSignal,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, GatewayError> {
        client::check(&settings)?;
        let partitions = client::reach(&settings)?;
        client::fit(&mut settings.guard, partitions)?;
        number_and_seed(&mut settings.guard)?;
        if settings.dead_letter_topic.is_none() {
            // Nowhere to give a record up to: tried again, with the longest back-off, for ever.
            settings.guard.attempts_max = u16::MAX;
        }
        let letters = start_letters(&settings)?;
        let engine = settings.engine.make(&settings.guard).map_err(GatewayError::Engine)?;
        let pool = start_pool(&settings)?;
        pool.hold_after(session_span(&settings));
        let session = Session::unsubscribed(&settings)?;
        session.join(&settings)?;
        tracing::info!(engine = engine.name(), group = settings.group, "gateway started");
        let mut gateway = Self {
            group: settings.group.as_str().into(),
            drain: client::drain(&settings),
            clock: Clock::start(),
            engine,
            pool,
            letters,
            session,
            topics: Topics::of(&settings.topics),
            stop,
            observer,
            summary: Summary::default(),
            holdings: HashMap::new(),
            unsubmitted: VecDeque::new(),
            duties: VecDeque::new(),
            sent: HashMap::new(),
            commit_number: 0,
            bounds: HashMap::new(),
            parked: HashMap::new(),
            deferred: BinaryHeap::new(),
            put_off: HashMap::new(),
            outage: Outage::default(),
            asking: Vec::new(),
            awaited: None,
            bytes: 0,
            full: false,
            draining: false,
            rebalancing: false,
            stopping: false,
            suspect: None,
            looked: None,
            fenced: None,
            fences: Row::default(),
            turned: clock::now(),
            quiet_until: clock::now(),
            assignment_max: 0,
            logs: HashMap::new(),
            out_of_range: None,
            waiting_told: clock::now(),
            settings,
        };
        gateway.subscribed();
        Ok(gateway)
    }

    fn subscribed(&mut self) {
        self.summary.consumers = self.summary.consumers.saturating_add(1);
        self.tell_observer(Event::Subscribed { consumer: self.summary.consumers });
    }

    /// Runs until a stop or something that cannot be recovered from.
    fn live(&mut self) -> Result<(), GatewayError> {
        let (mut engines, mut clients) = (Row::default(), Row::default());
        loop {
            let interrupt = match self.turns() {
                Ok(()) => return Ok(()),
                Err(interrupt) => interrupt,
            };
            let wait = match interrupt {
                Interrupt::StopNow => return Ok(()),
                Interrupt::Failed(error) => {
                    self.abandon_all();
                    return Err(error);
                }
                Interrupt::Rejoin { why, back_off } => {
                    self.everything_lost(why);
                    back_off
                }
                Interrupt::EngineDead(reason) => {
                    let (deaths, wait) = engines.another();
                    self.engine_dead(deaths, reason)?;
                    wait
                }
                Interrupt::Fatal(code, words) => {
                    let (deaths, wait) = clients.another();
                    self.client_dead(deaths, code, words)?;
                    wait
                }
            };
            if !self.new_session(wait)? {
                return Ok(());
            }
        }
    }

    fn turns(&mut self) -> Flow {
        loop {
            match self.stop.level() {
                Stop::No => {}
                Stop::Drain => return self.leave(),
                Stop::Now => return Err(Interrupt::StopNow),
            }
            let mut busy = self.serve()?;
            busy |= self.poll()?;
            self.look_after_suspect()?;
            if !busy {
                self.wait(true, None)?;
            }
        }
    }

    /// Hands everything back: drains, commits. Leaving the group follows with the consumer's end.
    fn leave(&mut self) -> Flow {
        let owned = self.engine.owned()?;
        let partitions: Vec<_> = owned.into_iter().map(|(partition, _)| partition).collect();
        tracing::info!(partitions = partitions.len(), drain = ?self.drain, "stopping: draining");
        self.stopping = true;
        self.release(&partitions)
    }

    fn everything_lost(&mut self, why: String) {
        tracing::warn!(%why, "making a new consumer");
        self.tell_observer(Event::EverythingLost { why });
        self.abandon_all();
        // The engine was told, or knows; one that is dead is replaced.
        self.tell_loss(Scope::All);
    }

    fn engine_dead(&mut self, deaths: u32, reason: String) -> Result<(), GatewayError> {
        tracing::error!(%reason, deaths, "the engine is dead: everything counts as lost");
        self.summary.engines_dead = self.summary.engines_dead.saturating_add(1);
        self.tell_observer(Event::EverythingLost { why: reason.clone() });
        self.tell_last_journal();
        self.abandon_all();
        if deaths > DEATHS_MAX {
            return Err(GatewayError::EngineDies { deaths, reason });
        }
        self.replace_engine()
    }

    fn client_dead(
        &mut self,
        deaths: u32,
        code: rdkafka::error::RDKafkaErrorCode,
        words: String,
    ) -> Result<(), GatewayError> {
        tracing::error!(%words, ?code, deaths, "the client is dead: everything counts as lost");
        self.tell_observer(Event::EverythingLost { why: words.clone() });
        self.abandon_all();
        // B104 (twmb/franz-go#479): fatal is final for this guard, whatever comes next.
        self.tell_loss(Scope::Fatal);
        self.tell_last_journal();
        match fatal(code, self.settings.protocol) {
            Remedy::Again if deaths <= FATALS_MAX => self.replace_engine(),
            Remedy::Again => Err(GatewayError::Fatal {
                words,
                remedy: "it does not pass: check that no other process uses this instance id",
            }),
            Remedy::Change(remedy) => Err(GatewayError::Fatal { words, remedy }),
        }
    }

    fn replace_engine(&mut self) -> Result<(), GatewayError> {
        self.keep_counters();
        let fresh = number_of_now().max(self.assignment_max.saturating_add(1));
        self.settings.guard.first_assignment = fresh;
        let made = self.settings.engine.make(&self.settings.guard);
        self.engine = made.map_err(GatewayError::Engine)?;
        Ok(())
    }

    fn keep_counters(&mut self) {
        if let Ok(counters) = self.engine.counters() {
            super::events::add(&mut self.summary.counters, &counters);
        }
    }

    /// What broke off may have done so between two outputs: the rest comes first, for the guard is
    /// told nothing before it has been pulled empty.
    fn tell_loss(&mut self, scope: Scope<'_>) {
        self.discard_outputs();
        if self.engine.handle(self.now(), Input::Lost(scope)).is_ok() {
            self.discard_outputs();
        }
    }

    /// Reports of a loss, for the watcher; nothing else can be obeyed without a client.
    fn discard_outputs(&mut self) {
        // An engine that never ends is told no more than this.
        for _ in 0..DISCARD_MAX {
            let Ok(Some(output)) = self.engine.poll_output() else { return };
            if let rebalance_guard::Output::Sealed(sealed) = output {
                self.sealed(sealed);
            }
        }
    }

    /// Nothing of any assignment begins any more, and nothing of theirs is kept.
    fn abandon_all(&mut self) {
        let partitions: Vec<_> = self.holdings.keys().copied().collect();
        for partition in partitions {
            self.end_holding(partition);
        }
        self.unsubmitted.clear();
        self.duties.clear();
        self.sent.clear();
        self.parked.clear();
        self.deferred.clear();
        self.put_off.clear();
        self.asking.clear();
        self.awaited = None;
        self.bytes = 0;
        self.full = false;
        self.draining = false;
        self.rebalancing = false;
        self.suspect = None;
        self.looked = None;
    }

    /// Destroys the consumer, waits, and makes another; `false` when asked to stop meanwhile.
    fn new_session(&mut self, wait: Duration) -> Result<bool, GatewayError> {
        if self.stop.level() != Stop::No {
            return Ok(false);
        }
        let fresh = Session::unsubscribed(&self.settings)?;
        let old = std::mem::replace(&mut self.session, fresh);
        if !old.destroy(CLOSE) {
            self.summary.consumers_abandoned = self.summary.consumers_abandoned.saturating_add(1);
            tracing::error!(limit = ?CLOSE, "the old client does not close: left to its thread");
        }
        let until = clock::now() + wait;
        while clock::now() < until {
            if self.stop.level() != Stop::No {
                return Ok(false);
            }
            let asked = self.stop.asked().clone();
            let mut select = crossbeam_channel::Select::new();
            select.recv(&asked);
            let _ = select.ready_deadline(until);
        }
        self.session.join(&self.settings)?;
        self.subscribed();
        Ok(true)
    }

    /// Puts everything away and reports.
    fn end(mut self, ended: Result<(), GatewayError>) -> Result<Summary, GatewayError> {
        let now = self.stop.level() == Stop::Now;
        let drained = ended.is_ok() && !now;
        self.tell_journal_of(&ended);
        self.keep_counters();
        self.abandon_all();
        let Self { session, pool, letters, settings, mut summary, .. } = self;
        if now {
            // A second request stops where it is: the process ends, and the group finds out.
            std::mem::forget(session);
            std::mem::forget(letters);
            return ended.map(|()| summary);
        }
        if !session.destroy(CLOSE) {
            summary.consumers_abandoned = summary.consumers_abandoned.saturating_add(1);
            tracing::error!(limit = ?CLOSE, "the client does not close: leaving without");
        }
        let left = pool.shutdown(if drained { Duration::from_secs(1) } else { Duration::ZERO });
        for job in &left.running {
            tracing::error!(partition = ?job.partition, offset = job.offset,
                "the sink has not answered for this effect");
        }
        summary.running = left.running.len();
        if letters.is_some_and(|letters| !letters.flush(Duration::from_secs(1))) {
            tracing::warn!("dead letters were not all acknowledged; their records are read again");
        }
        if let Err(error) = settings.sink.flush() {
            tracing::error!(%error, "the sink could not make everything durable");
        }
        ended.map(|()| summary)
    }
}

fn start_pool(settings: &Settings) -> Result<WorkerPool, GatewayError> {
    let workers = NonZeroUsize::new(settings.workers).unwrap_or(NonZeroUsize::MIN);
    let window = usize::try_from(settings.guard.window).unwrap_or(usize::MAX);
    // Effects of assignments that were lost may still run beside a full window.
    let capacity = workers.saturating_add(window);
    let pool = PoolSettings { workers, order: settings.order, capacity };
    WorkerPool::start(pool, Arc::clone(&settings.sink))
        .map_err(|error| GatewayError::Workers(error.to_string()))
}

fn start_letters(settings: &Settings) -> Result<Option<DeadLetterProducer>, GatewayError> {
    let Some(topic) = &settings.dead_letter_topic else { return Ok(None) };
    let failed =
        |error: crate::dead_letter::DeadLetterError| GatewayError::DeadLetters(error.to_string());
    let letters = DeadLetterProducer::start(&client::producer(settings), topic).map_err(failed)?;
    letters.check(CHECK).map_err(failed)?;
    Ok(Some(letters))
}

/// The start of the process's assignment numbers: they rise from process to process.
fn number_of_now() -> u64 {
    let ms = u64::try_from(clock::since_epoch().as_millis()).unwrap_or(u64::MAX >> 20);
    let random = getrandom::u32().unwrap_or_default() & 0xF_FFFF;
    ((ms << 20) | u64::from(random)).max(1)
}

/// Gives the guard what must differ from process to process, unless the caller did.
fn number_and_seed(config: &mut Config) -> Result<(), GatewayError> {
    let default = Config::default();
    let random = || {
        getrandom::u64().map_err(|error| GatewayError::Setting(format!("no random bits: {error}")))
    };
    if config.first_assignment == default.first_assignment {
        config.first_assignment = number_of_now();
    }
    if config.jitter_seed == default.jitter_seed {
        config.jitter_seed = random()?;
    }
    if config.hash_key == default.hash_key {
        config.hash_key = rebalance_guard::HashKey([random()?, random()?]);
    }
    Ok(())
}
