//! An engine as what answers a trace.

use rebalance_guard::{
    Input, InputError, Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket, Verdict,
    Waiting,
};
use rebalance_guard_sim::Subject;

use crate::engine::{Engine, EngineDead};

/// An engine that answers traces; once dead it answers nothing that counts.
pub(super) struct Answering {
    engine: Box<dyn Engine>,
    /// Why it is dead.
    pub(super) dead: Option<EngineDead>,
}

impl Answering {
    pub(super) const fn new(engine: Box<dyn Engine>) -> Self {
        Self { engine, dead: None }
    }

    fn ask<R>(&mut self, otherwise: R, call: impl FnOnce(&mut dyn Engine) -> Dies<R>) -> R {
        match call(&mut *self.engine) {
            Ok(answer) => answer,
            Err(dead) => {
                self.dead.get_or_insert(dead);
                otherwise
            }
        }
    }
}

type Dies<R> = Result<R, EngineDead>;

impl Subject for Answering {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        self.ask(Ok(Reply::Stale), |engine| engine.handle(now, input))
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        self.ask((), |engine| engine.admit_batch(now, records, &mut verdicts));
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        self.ask((), |engine| engine.handle_timeout(now));
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.ask(None, |engine| engine.poll_output())
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        self.ask(None, |engine| engine.poll_timeout())
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        self.ask(false, |engine| engine.is_live(ticket))
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        self.ask(None, |engine| engine.progress(partition))
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        self.ask(Vec::new(), |engine| engine.commit_metadata(partition))
    }

    fn waiting(&mut self) -> Option<Waiting> {
        self.ask(None, |engine| engine.waiting())
    }

    fn in_flight(&mut self) -> u32 {
        self.ask(0, |engine| engine.in_flight())
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        self.ask(None, |engine| engine.snapshot())
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        self.ask(false, |engine| engine.restore(now, snapshot))
    }

    fn storm(&mut self) -> Storm {
        self.ask(Storm::Calm, |engine| engine.storm())
    }
}
