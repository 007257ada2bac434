//! Whole lines at the end of a file, durable before they are answered.
//!
//! Concurrent workers share a sync: one of them asks the disk, for all that was written until then;
//! the rest wait for its answer.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::words_of;

/// When a line in a file counts as done.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Durability {
    /// When the disk has it: synced before the answer, one sync for all that wait. What was
    /// answered survives a power cut.
    #[default]
    EachAnswer,
    /// When the system has it: synced when the process ends. Survives the process, not the machine.
    OnFlush,
}

/// What a file must be able to do.
pub(super) trait Disk: Send + Sync {
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, length: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&mut &*self).write_all(bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[derive(Debug)]
pub(super) struct Appender<D> {
    disk: D,
    name: String,
    durability: Durability,
    state: Mutex<State>,
    synced: Condvar,
}

#[derive(Debug)]
struct State {
    /// Bytes of whole lines.
    length: u64,
    /// Bytes that the disk has.
    durable: u64,
    /// Something stands behind `length` that could not be taken back yet.
    torn: bool,
    syncing: bool,
    /// Counts failed syncs, each of which took back every line since the last good one.
    failures: u64,
    /// What the last of them said.
    why: String,
}

impl<D: Disk> Appender<D> {
    /// At the end of `disk`, which holds `length` bytes of whole lines.
    pub(super) fn new(disk: D, length: u64, name: &str, durability: Durability) -> Self {
        let state = State {
            length,
            durable: length,
            torn: false,
            syncing: false,
            failures: 0,
            why: String::new(),
        };
        Self {
            disk,
            name: name.to_owned(),
            durability,
            state: Mutex::new(state),
            synced: Condvar::new(),
        }
    }

    /// Adds `line`, which ends in a newline, or says why not; then nothing of it is left.
    pub(super) fn append(&self, line: &[u8]) -> Result<(), String> {
        let mut state = self.lock();
        if state.torn {
            let length = state.length;
            self.disk.truncate(length).map_err(|error| words_of(&self.name, &error))?;
            state.torn = false;
        }
        if let Err(error) = self.disk.append(line) {
            state.torn = self.disk.truncate(state.length).is_err();
            return Err(words_of(&self.name, &error));
        }
        state.length += line.len() as u64;
        match self.durability {
            Durability::OnFlush => Ok(()),
            Durability::EachAnswer => self.wait_durable(state),
        }
    }

    /// Asks the disk for all that was written.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.disk.sync()
    }

    /// Waits until what is written now is durable, syncing when nobody else does.
    fn wait_durable<'a>(&'a self, mut state: MutexGuard<'a, State>) -> Result<(), String> {
        let (end, failures) = (state.length, state.failures);
        loop {
            if state.failures != failures {
                return Err(state.why.clone());
            }
            if state.durable >= end {
                return Ok(());
            }
            if state.syncing {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.syncing = true;
            let target = state.length;
            drop(state);
            let synced = self.disk.sync();
            state = self.lock();
            state.syncing = false;
            match synced {
                Ok(()) => state.durable = target,
                Err(error) => self.take_back(&mut state, &error),
            }
            self.synced.notify_all();
        }
    }

    /// After a failed sync nobody knows what the disk has, and asking again would not tell: a
    /// system may report the loss once. So the lines since the last good sync go, and their workers
    /// write them again.
    fn take_back(&self, state: &mut State, error: &io::Error) {
        state.length = state.durable;
        state.torn = self.disk.truncate(state.length).is_err();
        state.failures += 1;
        state.why = words_of(&self.name, error);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
