//! The guard with its table of names, used by one call at a time.

use core::cell::{RefCell, RefMut};

use rebalance_guard::{Guard, InputError, Output, Reply, Tick};

use crate::error::{self, error};
use crate::heap::Heap;
use crate::inputs::Assign;
use crate::names::{NAME_BYTES_MAX, Names, UNKNOWN};
use crate::outputs::Pulled;
use crate::read::Read;
use crate::settings::Settings;

/// A guard and the names of its topics.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) guard: Guard<Heap>,
    pub(crate) names: Names,
}

/// What a guard is made from.
fn memory(settings: &Settings) -> Read<Heap> {
    settings.config.check().map_err(error::config)?;
    Heap::new(&settings.config).ok_or_else(|| {
        error(
            "memory",
            "there is no memory for tables of that size: lower partitions, window, \
                         keys, budget, journal or metadataMax",
        )
    })
}

impl State {
    /// A guard that owns nothing yet.
    pub(crate) fn new(settings: &Settings) -> Read<Self> {
        let guard = Guard::new(memory(settings)?, settings.config).map_err(error::config)?;
        Ok(Self { guard, names: Names::default() })
    }

    /// The guard that a snapshot tells.
    pub(crate) fn restore(settings: &Settings, now: Tick, bytes: &[u8]) -> Read<Self> {
        let (names, rest) = Names::from_bytes(bytes).ok_or_else(|| {
            error("snapshot", "these bytes are no snapshot of this package, or damaged")
        })?;
        let memory = memory(settings)?;
        let guard = Guard::restore(memory, settings.config, now, rest).map_err(error::restore)?;
        Ok(Self { guard, names })
    }

    /// The whole state.
    pub(crate) fn snapshot(&self) -> Vec<u8> {
        let mut bytes = self.names.to_bytes();
        let mut core = vec![0; self.guard.snapshot_len()];
        // It has the room that it asked for.
        let len = self.guard.snapshot(&mut core).unwrap_or(0);
        bytes.extend(core.iter().take(len));
        bytes
    }

    /// Names new topics; a refused assign leaves none behind.
    pub(crate) fn assign(&mut self, now: Tick, assign: &Assign) -> Result<Reply, InputError> {
        let before = self.names.len();
        let mut partitions = Vec::new();
        for (place, from) in &assign.partitions {
            debug_assert!(place.topic.len() <= NAME_BYTES_MAX);
            if self.names.add(&place.topic) == UNKNOWN {
                return Err(InputError::AssignmentsSpent);
            }
            partitions.push((place.known(&self.names), from.resume()));
        }
        let answer = self.guard.assign(now, assign.generation, &partitions);
        if answer.is_err() {
            self.names.truncate(before);
        }
        answer
    }

    /// Everything that is owed now, each commit with its string.
    pub(crate) fn pull(&mut self) -> Vec<Pulled> {
        let mut pulled = Vec::new();
        while let Some(output) = self.guard.poll_output() {
            let mut string = String::new();
            if let Output::Commit { partition, metadata, .. } = output {
                let mut room = vec![0; usize::from(metadata)];
                let len = self.guard.commit_metadata(partition, &mut room);
                room.truncate(len);
                string = String::from_utf8(room).unwrap_or_default();
            }
            pulled.push((output, string));
        }
        pulled
    }
}

/// The state, for the length of one call.
pub(crate) fn lock(state: &RefCell<State>) -> Read<RefMut<'_, State>> {
    state.try_borrow_mut().map_err(|_| {
        error("busy", "the guard is in use by a call further out: call again when that returned")
    })
}
