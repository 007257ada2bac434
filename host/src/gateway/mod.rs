//! The gateway: topic in, guarded side effect out.
//!
//! One thread, the poll thread, owns the Kafka client and the guard; workers run side effects and
//! report back over channels. [`run`] is that thread.

mod commits;
mod control;
mod error;
mod events;
mod handover;
mod lives;
mod logs;
mod obey;
mod offer;
mod outage;
mod poll;
mod row;
mod serve;
mod settings;
mod state;
mod stop;
mod watch;

pub use control::{Control, Requests, control};
pub use error::GatewayError;
pub use events::{Event, Observer, RebalanceKind, Summary, Unwatched};
pub use settings::{EngineFactory, Protocol, Settings, StartAt};
pub use stop::{StopHandle, StopSignal, stop_signal};

/// Runs a gateway on this thread until `stop` asks it to end.
///
/// # Errors
/// [`GatewayError`]: it could not start or cannot go on. What was not committed is read again by
/// the next owner.
pub fn run(
    settings: Settings,
    stop: StopSignal,
    observer: &mut dyn Observer,
) -> Result<Summary, GatewayError> {
    lives::run(settings, stop, observer)
}
