//! An engine that outlives its plugin: after a trap a fresh instance takes the last snapshot and is
//! told again what was told since. It must answer every call as the dead one did; otherwise, or
//! when more was told than is kept, everything is lost as without it.

mod told;

use rebalance_guard::{
    Answered, Config, Counters, Input, InputError, JournalEntry, Outcome, Output, Partition,
    Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting, snapshot_taken_at,
};

use crate::clock;
use crate::engine::{Engine, EngineDead};
use told::{OwnedInput, Told};

/// Ticks (ms) between two snapshots, at least.
const EVERY: u64 = 1_000;
/// A snapshot's own time is at most one part in so many.
const SHARE: u64 = 20;
/// Ticks before one is tried again that was too large, or that the engine died of.
const TRY_AGAIN: u64 = 60_000;
/// Calls that are kept between two snapshots.
const CALLS_MAX: usize = 65_536;
/// Bytes of keys and metadata that are kept with them.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Deaths within one snapshot's time that are recovered from.
const DEATHS_MAX: u32 = 100;

type Make = dyn FnMut(&Config) -> Result<Box<dyn Engine>, String> + Send;

/// From where a fresh instance is brought up to date.
struct Base {
    snapshot: Vec<u8>,
    now: Tick,
}

impl Base {
    fn of(snapshot: Vec<u8>) -> Option<Self> {
        let now = snapshot_taken_at(&snapshot)?;
        Some(Self { snapshot, now })
    }
}

/// When the next snapshot is taken.
#[derive(Debug, Default)]
struct Pace {
    due: u64,
    /// The last attempt killed the engine.
    deadly: bool,
    /// It was said that the state is too large.
    said: bool,
}

/// An engine and what is needed to make it again.
pub struct Recovering {
    make: Box<Make>,
    config: Config,
    engine: Box<dyn Engine>,
    /// `None`: too much was told since the last snapshot.
    base: Option<Base>,
    told: Vec<Told>,
    bytes: usize,
    last: Tick,
    deaths: u32,
    pace: Pace,
    /// Dead for good, and what its journal held as far as that is known.
    dead: Option<(EngineDead, Option<Vec<JournalEntry>>)>,
}

impl std::fmt::Debug for Recovering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovering").field("calls", &self.told.len()).finish_non_exhaustive()
    }
}

impl Recovering {
    /// An engine of `make`, which is asked again after each death.
    ///
    /// # Errors
    /// Why there is none.
    pub fn start(
        config: &Config,
        mut make: impl FnMut(&Config) -> Result<Box<dyn Engine>, String> + Send + 'static,
    ) -> Result<Self, String> {
        let mut engine = make(config)?;
        let first = engine.snapshot().map_err(|dead| dead.reason)?;
        let base = first.and_then(Base::of);
        Ok(Self {
            make: Box::new(make),
            config: *config,
            engine,
            base,
            told: Vec::new(),
            bytes: 0,
            last: Tick::ZERO,
            deaths: 0,
            pace: Pace::default(),
            dead: None,
        })
    }

    /// Makes a call; when the engine dies over it, once more on a fresh one.
    fn call<R>(
        &mut self,
        mut call: impl FnMut(&mut dyn Engine) -> Result<R, EngineDead>,
    ) -> Result<R, EngineDead> {
        if let Some((dead, _)) = &self.dead {
            return Err(dead.clone());
        }
        let dead = match call(&mut *self.engine) {
            Ok(answer) => return Ok(answer),
            Err(dead) => dead,
        };
        self.recover(&dead)?;
        call(&mut *self.engine).map_err(|again| self.buried(again, "its successor died of it, too"))
    }

    /// Keeps what was told and answered, as long as there is room.
    fn keep(&mut self, now: Option<Tick>, told: Told) {
        self.last = now.map_or(self.last, |now| self.last.max(now));
        if self.base.is_none() {
            return;
        }
        self.bytes = self.bytes.saturating_add(told.bytes());
        if self.told.len() >= CALLS_MAX || self.bytes > BYTES_MAX {
            self.rest_on(None);
            return;
        }
        self.told.push(told);
    }

    /// Everything was pulled: a good moment for a snapshot, if it is time for one.
    fn refresh(&mut self) -> Result<(), EngineDead> {
        if !self.wants_snapshot() {
            return Ok(());
        }
        let begun = clock::now();
        match self.engine.snapshot() {
            Ok(Some(bytes)) => {
                let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.put_off(EVERY.max(took.saturating_mul(SHARE)));
                self.pace.deadly = false;
                self.deaths = 0;
                self.rest_on(Base::of(bytes));
            }
            Ok(None) => {
                self.put_off(TRY_AGAIN);
                self.rest_on(None);
                if !std::mem::replace(&mut self.pace.said, true) {
                    tracing::warn!(
                        "the state is too large for a snapshot: while it is, a trap \
                        loses everything, and no other plugin can take over; fewer `keys` or a \
                        smaller `budget` make it smaller"
                    );
                }
            }
            // Watching over an ownership must not cost it.
            Err(dead) => {
                self.put_off(TRY_AGAIN);
                self.pace.deadly = true;
                self.recover(&dead)?;
            }
        }
        Ok(())
    }

    fn wants_snapshot(&self) -> bool {
        let due = self.last.value() >= self.pace.due;
        let half_full = self.told.len() >= CALLS_MAX / 2 || self.bytes >= BYTES_MAX / 2;
        match (&self.base, self.pace.deadly) {
            (Some(_), _) if self.told.is_empty() => false,
            (Some(_), true) => due,
            // It might die, and nothing could take its place.
            (None, true) => false,
            (_, false) => due || half_full,
        }
    }

    fn put_off(&mut self, ticks: u64) {
        self.pace.due = self.last.value().saturating_add(ticks);
    }

    fn rest_on(&mut self, base: Option<Base>) {
        self.base = base;
        self.told.clear();
        self.bytes = 0;
    }

    fn recover(&mut self, dead: &EngineDead) -> Result<(), EngineDead> {
        self.deaths = self.deaths.saturating_add(1);
        let fresh = if self.deaths > DEATHS_MAX {
            Err("it died too often".to_owned())
        } else {
            self.rebuilt()
        };
        match fresh {
            Ok(engine) => {
                let calls = self.told.len();
                tracing::warn!(reason = %dead.reason, calls,
                    "the engine died; a fresh one took its place with nothing lost");
                self.engine = engine;
                Ok(())
            }
            Err(why) => Err(self.buried(dead.clone(), &why)),
        }
    }

    /// It is dead for good, and stays so. A last successor tells what its journal held.
    fn buried(&mut self, dead: EngineDead, why: &str) -> EngineDead {
        tracing::error!(reason = %dead.reason, why, "the engine died for good");
        self.dead = Some((dead.clone(), self.last_words()));
        dead
    }

    fn last_words(&mut self) -> Option<Vec<JournalEntry>> {
        let base = self.base.as_ref()?;
        let mut engine = (self.make)(&self.config).ok()?;
        if !engine.restore(base.now, &base.snapshot).ok()? {
            return None;
        }
        // As much as it bears; what it answers does not count any more.
        let _ = self.told.iter().try_for_each(|told| told.again(&mut *engine).map(|_| ()));
        engine.journal().ok()
    }

    /// A fresh engine that has answered everything as the dead one did.
    fn rebuilt(&mut self) -> Result<Box<dyn Engine>, String> {
        let Some(base) = &self.base else {
            return Err("more was told since the last snapshot than is kept".to_owned());
        };
        let mut engine = (self.make)(&self.config)?;
        let died = |dead: EngineDead| format!("its successor died, too: {}", dead.reason);
        if !engine.restore(base.now, &base.snapshot).map_err(died)? {
            return Err("its successor refused the snapshot".to_owned());
        }
        for told in &self.told {
            if !told.again(&mut *engine).map_err(died)? {
                return Err("its successor answers otherwise".to_owned());
            }
        }
        Ok(engine)
    }
}

impl Engine for Recovering {
    fn name(&self) -> String {
        self.engine.name()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        let reply = self.call(|engine| engine.handle(now, input))?;
        self.keep(Some(now), Told::Handled(now, OwnedInput::of(&input), reply));
        Ok(reply)
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        let verdict = self.call(|engine| engine.admit(now, record))?;
        self.keep(Some(now), Told::admitted(now, record, verdict));
        Ok(verdict)
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        // One by one, so that what a dying engine had admitted of it is known.
        verdicts.clear();
        for record in records {
            verdicts.push(self.admit(now, record)?);
        }
        Ok(())
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        let answered = self.call(|engine| engine.answer(now, ticket, outcome))?;
        self.keep(Some(now), Told::Answered(now, ticket, outcome, answered));
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.call(|engine| engine.handle_timeout(now))?;
        self.keep(Some(now), Told::Passed(now));
        Ok(())
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        let output = self.call(|engine| engine.poll_output())?;
        self.keep(None, Told::Pulled(output));
        if output.is_none() {
            self.refresh()?;
        }
        Ok(output)
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.call(|engine| engine.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.call(|engine| engine.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.call(|engine| engine.progress(partition))
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        self.call(|engine| engine.owned())
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        self.call(|engine| engine.commit_metadata(partition))
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        self.call(|engine| engine.waiting())
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        match &self.dead {
            Some((_, Some(told))) => Ok(told.clone()),
            _ => self.call(|engine| engine.journal()),
        }
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        self.call(|engine| engine.snapshot())
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        let restored = self.engine.restore(now, snapshot)?;
        self.last = now;
        self.pace = Pace::default();
        // At the same tick again it is the same state again.
        self.rest_on(restored.then(|| Base { snapshot: snapshot.to_vec(), now }));
        Ok(restored)
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        self.call(|engine| engine.in_flight())
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        self.call(|engine| engine.storm())
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.call(|engine| engine.counters())
    }
}
