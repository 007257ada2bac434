//! Asking a gateway to stop.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

/// Asks a running gateway to stop: once, and it drains, commits and leaves; twice, and it stops
/// where it is.
#[derive(Clone, Debug)]
pub struct StopHandle(Sender<()>);

/// The gateway's end of a [`StopHandle`].
#[derive(Debug)]
pub struct StopSignal {
    asked: Receiver<()>,
    times: u32,
    /// Keeps the channel open when the caller drops its handle: a closed one is always ready.
    _kept: StopHandle,
}

/// How urgently the gateway was asked to stop.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Stop {
    /// Not at all.
    No,
    /// Drain, commit, leave.
    Drain,
    /// At once.
    Now,
}

/// A handle and the signal it gives.
pub fn stop_signal() -> (StopHandle, StopSignal) {
    let (ask, asked) = bounded(2);
    let handle = StopHandle(ask);
    (handle.clone(), StopSignal { asked, times: 0, _kept: handle })
}

impl StopHandle {
    /// Asks. Never blocks; a third call changes nothing.
    pub fn ask(&self) {
        match self.0.try_send(()) {
            Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
        }
    }
}

impl StopSignal {
    /// Where asking shows.
    pub(crate) fn asked(&self) -> &Receiver<()> {
        &self.asked
    }

    /// What was asked for so far.
    pub(crate) fn level(&mut self) -> Stop {
        while self.asked.try_recv().is_ok() {
            self.times = self.times.saturating_add(1);
        }
        match self.times {
            0 => Stop::No,
            1 => Stop::Drain,
            _ => Stop::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_drains_the_second_stops_at_once_and_a_third_changes_nothing() {
        let (handle, mut signal) = stop_signal();
        assert_eq!(signal.level(), Stop::No);
        handle.ask();
        assert_eq!(signal.level(), Stop::Drain);
        handle.clone().ask();
        handle.ask();
        assert_eq!(signal.level(), Stop::Now);
    }

    #[test]
    fn a_dropped_handle_asks_nothing() {
        let (handle, mut signal) = stop_signal();
        drop(handle);
        assert_eq!(signal.level(), Stop::No);
    }
}
