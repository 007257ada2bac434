//! The guard as native code: what the plugin must equal, and what never dies.

use rebalance_guard::{
    Answered, Config, ConfigError, Counters, Guard, Input, InputError, JournalEntry, Outcome,
    Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};

use crate::engine::{Engine, EngineDead};
use crate::memory::HeapMemory;

/// A guard over heap memory.
#[derive(Clone, Debug)]
pub struct NativeEngine {
    guard: Guard<HeapMemory>,
}

impl NativeEngine {
    /// A guard that owns nothing yet.
    ///
    /// # Errors
    /// The settings contradict themselves.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        // Checked before the tables are sized by it.
        config.check()?;
        Ok(Self { guard: Guard::new(HeapMemory::for_config(config), *config)? })
    }

    /// The guard itself, for what the engine's calls don't show.
    pub const fn guard(&self) -> &Guard<HeapMemory> {
        &self.guard
    }
}

impl From<Guard<HeapMemory>> for NativeEngine {
    fn from(guard: Guard<HeapMemory>) -> Self {
        Self { guard }
    }
}

impl Engine for NativeEngine {
    fn name(&self) -> String {
        "native".to_owned()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        Ok(self.guard.handle(now, input))
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        Ok(self.guard.admit(now, *record))
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        verdicts.clear();
        verdicts.extend(records.iter().map(|record| self.guard.admit(now, *record)));
        Ok(())
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        Ok(self.guard.answer(now, ticket, outcome))
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.guard.handle_timeout(now);
        Ok(())
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        Ok(self.guard.poll_output())
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        Ok(self.guard.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        Ok(self.guard.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        Ok(self.guard.progress(partition))
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        Ok(self.guard.owned().collect())
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        let mut text = vec![0; usize::from(self.guard.config().metadata_max)];
        let len = self.guard.commit_metadata(partition, &mut text);
        text.truncate(len);
        Ok(text)
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        Ok(self.guard.waiting())
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        Ok(self.guard.journal().collect())
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        let mut bytes = vec![0; self.guard.snapshot_len()];
        Ok(self.guard.snapshot(&mut bytes).is_ok().then_some(bytes))
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        Ok(self.guard.reload(now, snapshot).is_ok())
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        Ok(self.guard.in_flight())
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        Ok(self.guard.storm())
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        Ok(*self.guard.counters())
    }
}
