//! What the gateway's guard is told and answers, as a trace file that `rebalance-guard replay`
//! tells again.

mod engine;
mod files;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rebalance_guard::{Config, Input, Output, Reply, Tick, snapshot_taken_at};
use rebalance_guard_sim::jsonl::{KeyHashing, Told, Writer};

use crate::engine::Engine;
pub use engine::Recorded;
use files::Files;

/// Ticks (ms) after which what was written is handed to the operating system.
const FLUSH_EVERY: u64 = 1_000;

/// What a segment of the recording begins with.
#[derive(Clone, Debug)]
enum Head {
    /// A guard that owns nothing.
    Fresh,
    /// A guard that goes on from these bytes.
    Restored(Vec<u8>),
}

/// A recording: one for all engines of a gateway, whichever is in charge.
///
/// It never stops a gateway: what cannot be written ends the recording with a word in the log.
#[derive(Clone, Debug)]
pub struct Recording {
    shared: Arc<Mutex<Shared>>,
    hashing: Option<KeyHashing>,
}

#[derive(Debug)]
struct Shared {
    files: Files,
    writer: Writer,
    /// Names of the guard's topic numbers.
    topics: Vec<String>,
    /// The segment in hand. No engine has the first number, which is that of none.
    segment: u64,
    flushed: Tick,
    ended: bool,
}

impl Recording {
    /// Begins a recording at `path`. Files of an earlier one are kept as `path.1` (the newest) to
    /// `path.7`; all together hold `bytes_max` or little more. `topics` are the names of the
    /// guard's topic numbers. Keys are written as hashes that mean nothing outside of this process,
    /// unless `plain_keys`.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(
        path: &Path,
        bytes_max: u64,
        plain_keys: bool,
        topics: Vec<String>,
    ) -> io::Result<Self> {
        let shared = Shared {
            files: Files::create(path, bytes_max)?,
            writer: Writer::default(),
            topics,
            segment: 1,
            flushed: Tick::ZERO,
            ended: false,
        };
        let hashing = (!plain_keys).then(KeyHashing::default);
        Ok(Self { shared: Arc::new(Mutex::new(shared)), hashing })
    }

    /// `engine`, recorded. Nothing is written before it is told something.
    pub fn of(&self, engine: Box<dyn Engine>, config: &Config) -> Recorded {
        Recorded::new(engine, self.clone(), *config)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Begins a segment, of which the number is given; the one before is kept.
    fn begin(&mut self, config: &Config, head: &Head) -> u64 {
        self.segment += 1;
        self.writer = Writer::default();
        let first = self.writer.config(config, &self.topics);
        let next = self.files.begin();
        self.attempt(next);
        self.line(&first);
        if let Head::Restored(snapshot) = head {
            let now = snapshot_taken_at(snapshot).unwrap_or(Tick::ZERO);
            let restore = self.writer.restore(now, snapshot);
            self.line(&restore.to_string());
        }
        self.files.head_is_written();
        self.segment
    }

    /// The line of an input, not yet written.
    fn told(&mut self, now: Tick, input: &Input<'_>) -> Told {
        let topics = &self.topics;
        let name = |number: u32| {
            let known = usize::try_from(number).ok().and_then(|at| topics.get(at));
            known.cloned().unwrap_or_else(|| format!("#{number}"))
        };
        self.writer.input(now, input, name)
    }

    fn said(&mut self, input: &Input<'_>, reply: &Reply) {
        self.writer.said(input, reply);
    }

    fn pulled(&mut self, output: &Output) {
        self.writer.pulled(output);
    }

    fn line(&mut self, line: &str) {
        if !self.ended {
            let written = self.files.line(line);
            self.attempt(written);
        }
    }

    /// Hands what was written to the operating system, when it is time or `now` is `None`.
    fn flush(&mut self, now: Option<Tick>) {
        let due = now.is_none_or(|now| now.since(self.flushed) >= FLUSH_EVERY);
        if due && !self.ended {
            self.flushed = now.unwrap_or(self.flushed);
            let flushed = self.files.flush();
            self.attempt(flushed);
        }
    }

    fn is_full(&self) -> bool {
        !self.ended && self.files.is_full()
    }

    fn attempt(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            let path = self.files.path().display();
            self.end(&format!("{path} cannot be written: {error}"));
        }
    }

    fn end(&mut self, why: &str) {
        if !self.ended {
            tracing::error!(why, "the recording ends here; the gateway goes on");
        }
        self.ended = true;
    }
}
