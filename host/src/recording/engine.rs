//! An engine whose calls are written down with their answers.

use rebalance_guard::{
    Answered, Config, Counters, Input, InputError, JournalEntry, Outcome, Output, Partition,
    Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};
use rebalance_guard_sim::Said;
use rebalance_guard_sim::jsonl::{Told, Writer};

use super::{Head, Recording};
use crate::engine::{Engine, EngineDead};

/// A call whose outputs are being pulled.
struct Pending {
    now: Tick,
    told: Told,
    said: Said,
    outputs: Vec<Output>,
}

/// An engine under a recording.
pub struct Recorded {
    engine: Box<dyn Engine>,
    recording: Recording,
    config: Config,
    /// What its next segment begins with, and the number of the one that it writes.
    head: Head,
    segment: u64,
    pending: Option<Pending>,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded").field("segment", &self.segment).finish_non_exhaustive()
    }
}

impl Recorded {
    pub(super) fn new(engine: Box<dyn Engine>, recording: Recording, config: Config) -> Self {
        Self { engine, recording, config, head: Head::Fresh, segment: 0, pending: None }
    }

    /// Makes a call that changes the guard, and keeps its line until its outputs are pulled.
    fn call<R>(
        &mut self,
        now: Tick,
        told: Told,
        call: impl FnOnce(&mut dyn Engine) -> Result<R, EngineDead>,
        said: impl FnOnce(&R) -> Said,
    ) -> Result<R, EngineDead> {
        match call(&mut *self.engine) {
            Ok(answer) => {
                let said = said(&answer);
                self.pending = Some(Pending { now, told, said, outputs: Vec::new() });
                Ok(answer)
            }
            Err(dead) => {
                self.last_words(&told);
                Err(dead)
            }
        }
    }

    /// Writes the call that the engine died over.
    fn last_words(&self, told: &Told) {
        let mut shared = self.recording.shared();
        shared.line(&told.to_string());
        shared.flush(None);
    }

    /// Writes the pending line. What a host did not pull is not pulled in a replay either.
    fn write(&mut self, pulled: bool) {
        let Some(Pending { now, mut told, said, outputs }) = self.pending.take() else { return };
        told.expecting(&said, &outputs);
        if !pulled && outputs.is_empty() {
            told.unpulled();
        }
        let mut shared = self.recording.shared();
        shared.line(&told.to_string());
        shared.flush(Some(now));
    }

    /// Makes sure that this engine's segment is the one in hand.
    fn ready(&mut self) {
        self.write(false);
        if self.recording.shared().segment == self.segment {
            return;
        }
        if self.segment != 0 {
            // Another engine wrote in between, and this one is in charge again.
            self.put_by();
        }
        self.segment = self.recording.shared().begin(&self.config, &self.head);
        self.head = Head::Fresh;
    }

    /// The next file begins with what the guard knows by now.
    fn turn_over(&mut self) {
        if self.recording.shared().is_full() {
            self.put_by();
        }
    }

    /// Keeps what the guard knows, for the head of a segment. It never costs the engine its life
    /// here: a call of the host's own finds out if it is dead.
    fn put_by(&mut self) {
        match self.engine.snapshot() {
            Ok(Some(snapshot)) => {
                self.head = Head::Restored(snapshot);
                self.segment = 0;
            }
            Ok(None) => {
                self.recording.shared().end("the state is larger than the engine can hand over");
            }
            Err(dead) => self.recording.shared().end(&dead.reason),
        }
    }

    fn told(&mut self, now: Tick, input: &Input<'_>) -> Told {
        self.ready();
        self.recording.shared().told(now, input)
    }

    /// The record as the engine is told it, its key stood in for.
    fn stand_in(&self, record: &Record<'_>) -> Option<Vec<u8>> {
        let hashing = self.recording.hashing.as_ref()?;
        record.key.map(|key| hashing.of(key))
    }
}

fn with_key<'a>(record: &Record<'a>, stand_in: Option<&'a [u8]>) -> Record<'a> {
    Record { key: stand_in.or(record.key), ..*record }
}

impl Engine for Recorded {
    fn name(&self) -> String {
        self.engine.name()
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        if let Input::Admit(record) = input {
            let verdict = self.admit(now, &record)?;
            return Ok(Ok(Reply::Verdict(verdict)));
        }
        let told = self.told(now, &input);
        self.call(now, told, |engine| engine.handle(now, input), |reply| Said::Reply(*reply))
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        let key = self.stand_in(record);
        let record = with_key(record, key.as_deref());
        let told = self.told(now, &Input::Admit(record));
        let reply = |verdict: &Verdict| Said::Reply(Ok(Reply::Verdict(*verdict)));
        let verdict = self.call(now, told, |engine| engine.admit(now, &record), reply)?;
        self.recording.shared().said(&Input::Admit(record), &Reply::Verdict(verdict));
        Ok(verdict)
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        // Line by line; what the batch leads to is pulled after the last.
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
        let told = self.told(now, &Input::Answer { ticket, outcome });
        let said = |answered: &Answered| Said::Reply(Ok(Reply::Answered(*answered)));
        self.call(now, told, |engine| engine.answer(now, ticket, outcome), said)
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.ready();
        let nothing = |(): &()| Said::Nothing;
        self.call(now, Writer::tick(now), |engine| engine.handle_timeout(now), nothing)
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        let output = match self.engine.poll_output() {
            Ok(output) => output,
            Err(dead) => {
                self.write(true);
                self.recording.shared().flush(None);
                return Err(dead);
            }
        };
        match (&output, &mut self.pending) {
            (Some(output), Some(pending)) => {
                pending.outputs.push(*output);
                self.recording.shared().pulled(output);
            }
            (Some(_), None) => {}
            (None, _) => {
                self.write(true);
                self.turn_over();
            }
        }
        Ok(output)
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
        let restored = self.engine.restore(now, snapshot)?;
        if restored {
            self.head = Head::Restored(snapshot.to_vec());
            self.segment = 0;
        }
        Ok(restored)
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

impl Drop for Recorded {
    fn drop(&mut self) {
        self.write(true);
        self.recording.shared().flush(None);
    }
}
