//! Ctrl-C and SIGTERM: the first drains, the second stops at once. SIGHUP reloads the plugin,
//! SIGUSR1 writes the guard's journal into the log.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{after, never, select};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::gateway::StopHandle;

/// How long the gateway may take to stop at once before the process just ends.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The exit code that a second signal asks for; 0 until then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hurry(Arc<AtomicU8>);

impl Hurry {
    /// The exit code, if a second signal came.
    pub(crate) fn code(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Relaxed)).filter(|code| *code != 0)
    }
}

/// Passes signals on: to `stop`, to `reload` (SIGHUP) and to `journal` (SIGUSR1).
///
/// # Errors
/// The handlers cannot be installed.
pub(crate) fn watch(
    stop: StopHandle,
    mut reload: impl FnMut() + Send + 'static,
    mut journal: impl FnMut() + Send + 'static,
) -> io::Result<Hurry> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
    let hurry = Hurry::default();
    let told = hurry.clone();
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut stops: u32 = 0;
        for signal in signals.forever() {
            match signal {
                SIGHUP => reload(),
                SIGUSR1 => journal(),
                signal => {
                    stops = stops.saturating_add(1);
                    stop_by(&stop, signal, stops, &told);
                }
            }
        }
    })?;
    Ok(hurry)
}

fn stop_by(stop: &StopHandle, signal: i32, times: u32, told: &Hurry) {
    if times == 1 {
        tracing::info!("stopping: draining, committing, leaving; once more stops at once");
        stop.ask();
    } else if times == 2 {
        let code = super::exit::SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(0));
        told.0.store(code, Ordering::Relaxed);
        tracing::warn!("stopping at once: what was not committed is read again");
        stop.ask();
        end_after(AT_ONCE, code);
    }
}

/// Ends the process after `grace`, unless it ended by itself.
fn end_after(grace: Duration, code: u8) {
    let nothing = never::<()>();
    select! {
        recv(nothing) -> _ => {}
        recv(after(grace)) -> _ => std::process::exit(i32::from(code)),
    }
}
