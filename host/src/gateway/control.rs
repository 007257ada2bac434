//! What a running gateway can be asked for besides stopping: another engine, its journal.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use rebalance_guard::{Partition, Progress, Tick, snapshot_taken_at};

use super::settings::EngineFactory;
use super::state::{Flow, Gateway};
use super::{Event, GatewayError};
use crate::clock;
use crate::engine::{Engine, EngineDead};

/// Requests that may wait; more are refused at once.
const WAITING: usize = 8;

/// How long nothing may be owned before that is said, and how often it is said.
const WAITING_TOLD: Duration = Duration::from_secs(60);

/// One request.
#[derive(Debug)]
pub(super) enum Request {
    Reload(EngineFactory),
    Journal,
}

/// Asks a running gateway.
#[derive(Clone, Debug)]
pub struct Control(Sender<Request>);

/// The gateway's end of a [`Control`].
#[derive(Debug)]
pub struct Requests(Receiver<Request>);

/// A handle and the end that belongs into [`super::Settings::control`].
pub fn control() -> (Control, Requests) {
    let (ask, asked) = bounded(WAITING);
    (Control(ask), Requests(asked))
}

impl Control {
    /// Lets an engine of `factory` take over from the running one, with everything that it knows;
    /// the running one stays if that fails, and the log and an event say why. Never blocks.
    /// `false`: too many requests wait, or the gateway has ended.
    pub fn reload(&self, factory: EngineFactory) -> bool {
        self.0.try_send(Request::Reload(factory)).is_ok()
    }

    /// Writes the guard's journal into the log. Never blocks; `false` as with
    /// [`Control::reload`].
    pub fn journal(&self) -> bool {
        self.0.try_send(Request::Journal).is_ok()
    }
}

impl Requests {
    pub(super) fn asked(&self) -> &Receiver<Request> {
        &self.0
    }
}

impl Gateway<'_> {
    pub(super) fn serve_requests(&mut self) -> Flow {
        let next = |gateway: &Self| {
            gateway.settings.control.as_ref().and_then(|control| control.asked().try_recv().ok())
        };
        while let Some(request) = next(self) {
            match request {
                Request::Reload(factory) => self.reload(factory)?,
                Request::Journal => self.tell_journal()?,
            }
        }
        Ok(())
    }

    /// Says why nothing is owned, once it has been so for a while.
    pub(super) fn watch_waiting(&mut self) -> Flow {
        let now = clock::now();
        if !self.holdings.is_empty() || now < self.waiting_told + WAITING_TOLD {
            return Ok(());
        }
        let Some(waiting) = self.engine.waiting()? else { return Ok(()) };
        let for_ms = self.now().since(waiting.since);
        if u128::from(for_ms) >= WAITING_TOLD.as_millis() {
            self.waiting_told = now;
            tracing::warn!(for_ms, why = %waiting.why,
                "nothing is owned: are there more members than partitions, or does the group not \
                 settle?");
        }
        Ok(())
    }

    /// The journal, while it can be read: its guard will not be asked again.
    pub(super) fn tell_last_journal(&mut self) {
        if self.tell_journal().is_err() {
            tracing::warn!("the engine's journal died with it");
        }
    }

    /// The journal at an end that nobody asked for, unless it was told when the engine or the
    /// client died.
    pub(super) fn tell_journal_of(&mut self, ended: &Result<(), GatewayError>) {
        use GatewayError::{Engine, EngineDies, Fatal};
        if !matches!(ended, Ok(()) | Err(Engine(_) | EngineDies { .. } | Fatal { .. })) {
            self.tell_last_journal();
        }
    }

    /// The last refusals and transitions, for the post-mortem.
    fn tell_journal(&mut self) -> Flow {
        let journal = self.engine.journal()?;
        self.tell_observer(Event::JournalTold { entries: journal.len() });
        for entry in journal {
            let place = entry.partition.map(|partition| self.name(partition));
            let (topic, partition) = place.unzip();
            tracing::info!(
                tick = entry.at.value(),
                topic = topic.as_deref(),
                partition,
                assignment = entry.assignment.map(|assignment| assignment.value()),
                offset = entry.offset.map(|offset| offset.value()),
                times = entry.times,
                event = %entry.event,
                "journal"
            );
        }
        Ok(())
    }

    /// Old engine, snapshot, new engine, restore, check, swap.
    fn reload(&mut self, mut factory: EngineFactory) -> Flow {
        self.obey_outputs()?;
        let snapshot = self.engine.snapshot()?;
        let known = known(&mut *self.engine)?;
        let fresh = match snapshot {
            Some(bytes) => self.successor(&mut factory, &bytes, &known),
            None => Err("the state is larger than the engine can hand over".to_owned()),
        };
        match fresh {
            Ok(engine) => {
                let (from, to) = (self.engine.name(), engine.name());
                self.engine = engine;
                self.settings.engine = factory;
                let in_hands = known.0.iter().map(|(_, progress)| progress.in_hands).sum();
                tracing::info!(%from, %to, in_hands, "another engine took over, nothing lost");
                self.tell_observer(Event::EngineReplaced { name: to, in_hands });
            }
            Err(why) => {
                tracing::error!(%why, "the running engine stays");
                self.tell_observer(Event::EngineKept { why });
            }
        }
        Ok(())
    }

    /// A new engine that holds exactly what `snapshot` says.
    fn successor(
        &self,
        factory: &mut EngineFactory,
        snapshot: &[u8],
        told: &Known,
    ) -> Result<Box<dyn Engine>, String> {
        let died = |dead: EngineDead| format!("the new engine died at once: {}", dead.reason);
        let mut engine = factory.make(&self.settings.guard)?;
        let now = snapshot_taken_at(snapshot).ok_or("the running engine gave no snapshot")?;
        if !engine.restore(now, snapshot).map_err(died)? {
            return Err("the new engine cannot go on from the running one's state".to_owned());
        }
        let own = engine.snapshot().map_err(died)?;
        if own.as_deref() != Some(snapshot) || known(&mut *engine).map_err(died)? != *told {
            return Err("the new engine tells another state than it was given".to_owned());
        }
        Ok(engine)
    }
}

/// What an engine says of its state besides its snapshot: what it owns, and when it must be called.
type Known = (Vec<(Partition, Progress)>, Option<Tick>);

fn known(engine: &mut dyn Engine) -> Result<Known, EngineDead> {
    Ok((engine.owned()?, engine.poll_timeout()?))
}
