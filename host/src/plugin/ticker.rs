//! The clock of the calls' deadlines.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use wasmtime::Engine;

/// A thread that raises the engine's epoch until it is dropped. It counts its own wake-ups, not
/// wall time: a process that was stopped for a while finds no deadline passed meanwhile.
#[derive(Debug)]
pub(super) struct Ticker {
    /// Dropped with the ticker, which ends the thread.
    _stop: mpsc::SyncSender<()>,
}

impl Ticker {
    pub(super) fn start(engine: &Engine, tick: Duration) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::sync_channel(0);
        let tick = tick.max(Duration::from_millis(1));
        let engine = engine.weak();
        thread::Builder::new().name("guard-ticker".to_owned()).spawn(move || {
            while stopped.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Self { _stop: stop })
    }
}
