//! The guard behind one set of calls, whether native or a WebAssembly plugin.

use rebalance_guard::{
    Answered, Counters, Input, InputError, JournalEntry, Outcome, Output, Partition, Progress,
    Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};

/// The engine cannot answer any more: the plugin trapped, ran past its time, or broke the contract.
/// Everything it owned is lost; the host rejoins with a fresh engine. The native engine never dies.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the guard plugin is dead: {reason}; every partition counts as lost, rejoining with a fresh one"
)]
pub struct EngineDead {
    /// What happened, for the log.
    pub reason: String,
}

/// A guard. Same contract as [`rebalance_guard::Guard`]: one call that changes state, then
/// [`Engine::poll_output`] until `None`, then the next call.
pub trait Engine: Send {
    /// "native", or "plugin" with the first 12 digits of its sha256.
    fn name(&self) -> String;

    /// [`rebalance_guard::Guard::handle`].
    ///
    /// # Errors
    /// Outer: the engine is dead. Inner: the input was refused and nothing changed.
    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead>;

    /// [`rebalance_guard::Guard::admit`].
    ///
    /// # Errors
    /// The engine is dead.
    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead>;

    /// [`rebalance_guard::Guard::admit_batch`]; `verdicts` is cleared and gets one a record.
    ///
    /// # Errors
    /// The engine is dead.
    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead>;

    /// [`rebalance_guard::Guard::answer`].
    ///
    /// # Errors
    /// The engine is dead.
    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead>;

    /// [`rebalance_guard::Guard::handle_timeout`].
    ///
    /// # Errors
    /// The engine is dead.
    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead>;

    /// [`rebalance_guard::Guard::poll_output`].
    ///
    /// # Errors
    /// The engine is dead.
    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead>;

    /// [`rebalance_guard::Guard::poll_timeout`].
    ///
    /// # Errors
    /// The engine is dead.
    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead>;

    /// [`rebalance_guard::Guard::is_live`].
    ///
    /// # Errors
    /// The engine is dead.
    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead>;

    /// [`rebalance_guard::Guard::progress`].
    ///
    /// # Errors
    /// The engine is dead.
    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead>;

    /// [`rebalance_guard::Guard::owned`], collected.
    ///
    /// # Errors
    /// The engine is dead.
    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead>;

    /// [`rebalance_guard::Guard::commit_metadata`]: read it right after the commit was pulled.
    ///
    /// # Errors
    /// The engine is dead.
    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead>;

    /// [`rebalance_guard::Guard::waiting`].
    ///
    /// # Errors
    /// The engine is dead.
    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead>;

    /// [`rebalance_guard::Guard::journal`], collected.
    ///
    /// # Errors
    /// The engine is dead.
    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead>;

    /// [`rebalance_guard::Guard::snapshot`]; `None`: longer than the engine can hand over.
    ///
    /// # Errors
    /// The engine is dead.
    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead>;

    /// [`rebalance_guard::Guard::reload`], for an engine that owns nothing yet; `false`: it cannot
    /// go on from these bytes, and is to be thrown away.
    ///
    /// # Errors
    /// The engine is dead.
    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead>;

    /// [`rebalance_guard::Guard::in_flight`].
    ///
    /// # Errors
    /// The engine is dead.
    fn in_flight(&mut self) -> Result<u32, EngineDead>;

    /// [`rebalance_guard::Guard::storm`].
    ///
    /// # Errors
    /// The engine is dead.
    fn storm(&mut self) -> Result<Storm, EngineDead>;

    /// [`rebalance_guard::Guard::counters`].
    ///
    /// # Errors
    /// The engine is dead.
    fn counters(&mut self) -> Result<Counters, EngineDead>;
}
