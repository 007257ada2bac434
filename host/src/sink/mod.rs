//! Where side effects go.

mod appender;
mod http;
mod ndjson;
mod stream;
mod tail;

use std::io;
use std::time::Duration;

pub use appender::Durability;
pub use http::{HttpSettings, HttpSink, HttpSinkError, visible_ascii};
pub use ndjson::{NdjsonError, NdjsonSink};

use crate::record::Effect;

/// What became of one delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SinkAnswer {
    /// The effect took place (or had taken place before, under the same idempotency key).
    Done,
    /// The sink has seen a higher token for the topic partition: a newer owner acts. Never retried.
    Fenced {
        /// What the sink said.
        why: String,
    },
    /// It did not take place, or nobody knows; trying again may help.
    Retry {
        /// Not before so long from now, if the sink said so.
        after: Option<Duration>,
        /// What went wrong.
        why: String,
    },
    /// The sink could not be asked, or did not answer: it may have taken place all the same. Tried
    /// again for as long as that lasts, at the cost of no attempt.
    Unreachable {
        /// Whether the sink may have got it: one that answers others and never this one may not be
        /// able to take it, and then an attempt is spent after all.
        sent: bool,
        /// What went wrong.
        why: String,
    },
    /// It did not take place and trying again cannot help.
    Permanent {
        /// What the sink said.
        why: String,
    },
}

/// A sink. One value serves every worker thread; a delivery blocks its worker until it is answered
/// or its time limit passed.
pub trait Sink: Send + Sync {
    /// Carries out one side effect.
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer;

    /// Makes durable what `deliver` accepted, called before the process ends. Sinks that answer
    /// only for what is durable need nothing here.
    ///
    /// # Errors
    /// What could not be made durable.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A write error in words that say what to do.
fn words_of(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("no room left for {name}: free some, writing goes on by itself ({error})")
        }
        io::ErrorKind::BrokenPipe => format!("nobody reads {name} any more ({error})"),
        _ => format!("cannot write to {name}: {error}"),
    }
}
