//! Anything that behaves like a guard: the core, the reference model, a plugin behind an engine.

use rebalance_guard::memory::Memory;
use rebalance_guard::{
    Guard, Input, InputError, Output, Partition, Progress, Record, Reply, Storm, Tick, Ticket,
    Verdict, Waiting,
};

/// What a trace can be run on. Same contract as [`Guard`]: one call, then outputs until `None`.
pub trait Subject {
    /// [`Guard::handle`].
    ///
    /// # Errors
    /// The input was refused.
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError>;

    /// [`Guard::admit_batch`].
    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict>;

    /// [`Guard::handle_timeout`].
    fn handle_timeout(&mut self, now: Tick);

    /// [`Guard::poll_output`].
    fn poll_output(&mut self) -> Option<Output>;

    /// [`Guard::poll_timeout`]; may be earlier than anything falls due, never later.
    fn poll_timeout(&mut self) -> Option<Tick>;

    /// [`Guard::is_live`].
    fn is_live(&mut self, ticket: Ticket) -> bool;

    /// [`Guard::progress`].
    fn progress(&mut self, partition: Partition) -> Option<Progress>;

    /// [`Guard::commit_metadata`]: the whole string.
    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8>;

    /// [`Guard::waiting`].
    fn waiting(&mut self) -> Option<Waiting>;

    /// [`Guard::in_flight`].
    fn in_flight(&mut self) -> u32;

    /// [`Guard::snapshot`]; `None`: this subject takes none.
    fn snapshot(&mut self) -> Option<Vec<u8>>;

    /// [`Guard::reload`]; whether it goes on from there.
    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool;

    /// [`Guard::storm`].
    fn storm(&mut self) -> Storm;
}

impl<M: Memory> Subject for Guard<M> {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        Self::handle(self, now, input)
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        let filler = Verdict::Refuse(rebalance_guard::Refuse::OffsetLimit);
        let mut verdicts = vec![filler; records.len()];
        let answered = Self::admit_batch(self, now, records, &mut verdicts);
        verdicts.truncate(answered);
        verdicts
    }

    fn handle_timeout(&mut self, now: Tick) {
        Self::handle_timeout(self, now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        Self::poll_output(self)
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        Self::poll_timeout(self)
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        Self::is_live(self, ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        Self::progress(self, partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        let mut text = vec![0; usize::from(self.config().metadata_max)];
        let len = Self::commit_metadata(self, partition, &mut text);
        text.truncate(len);
        text
    }

    fn waiting(&mut self) -> Option<Waiting> {
        Self::waiting(self)
    }

    fn in_flight(&mut self) -> u32 {
        Self::in_flight(self)
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.snapshot_len()];
        Self::snapshot(self, &mut bytes).is_ok().then_some(bytes)
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        self.reload(now, snapshot).is_ok()
    }

    fn storm(&mut self) -> Storm {
        Self::storm(self)
    }
}

impl<S: Subject + ?Sized> Subject for &mut S {
    fn handle(&mut self, now: Tick, input: Input<'_>) -> Result<Reply, InputError> {
        (**self).handle(now, input)
    }

    fn admit_batch(&mut self, now: Tick, records: &[Record<'_>]) -> Vec<Verdict> {
        (**self).admit_batch(now, records)
    }

    fn handle_timeout(&mut self, now: Tick) {
        (**self).handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        (**self).poll_output()
    }

    fn poll_timeout(&mut self) -> Option<Tick> {
        (**self).poll_timeout()
    }

    fn is_live(&mut self, ticket: Ticket) -> bool {
        (**self).is_live(ticket)
    }

    fn progress(&mut self, partition: Partition) -> Option<Progress> {
        (**self).progress(partition)
    }

    fn commit_metadata(&mut self, partition: Partition) -> Vec<u8> {
        (**self).commit_metadata(partition)
    }

    fn waiting(&mut self) -> Option<Waiting> {
        (**self).waiting()
    }

    fn in_flight(&mut self) -> u32 {
        (**self).in_flight()
    }

    fn snapshot(&mut self) -> Option<Vec<u8>> {
        (**self).snapshot()
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> bool {
        (**self).restore(now, snapshot)
    }

    fn storm(&mut self) -> Storm {
        (**self).storm()
    }
}
