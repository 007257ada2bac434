//! What a gateway is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rebalance_guard::Config;

use super::control::Requests;
use crate::engine::Engine;
use crate::key::KeyTemplate;
use crate::sink::Sink;
use crate::workers::Order;

/// How members of the group agree on who owns what.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a setting with three values; a new one is breaking")]
pub enum Protocol {
    /// Classic, `range`: everything is asked back at every rebalance.
    Eager,
    /// Classic, `cooperative-sticky` (KIP-429): only what moves is asked back.
    #[default]
    Cooperative,
    /// `group.protocol=consumer` (KIP-848).
    Consumer,
}

/// Where reading begins when the group holds nothing for a partition. An offset outside the log is
/// another matter: then nothing that is kept is skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums, reason = "a setting with two values; a new one is breaking")]
pub enum StartAt {
    /// At the first record that is still there.
    #[default]
    Earliest,
    /// At the end: what was written before is skipped.
    Latest,
}

/// Makes engines: the first, and a fresh one after a plugin died or the client was replaced.
pub struct EngineFactory(Box<dyn Make>);

trait Make: FnMut(&Config) -> Result<Box<dyn Engine>, String> + Send {}

impl<F: FnMut(&Config) -> Result<Box<dyn Engine>, String> + Send> Make for F {}

impl EngineFactory {
    /// A factory that calls `make`, which says in words why it could not.
    pub fn new(
        make: impl FnMut(&Config) -> Result<Box<dyn Engine>, String> + Send + 'static,
    ) -> Self {
        Self(Box::new(make))
    }

    /// A fresh engine for `config`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn make(&mut self, config: &Config) -> Result<Box<dyn Engine>, String> {
        (self.0)(config)
    }
}

impl fmt::Debug for EngineFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineFactory")
    }
}

/// Everything that a gateway needs. Settings of the client that would break the guard's promises
/// (auto-commit and the like) are overruled; refusing them with a word is the configuration's.
pub struct Settings {
    /// `host:port`, comma-separated.
    pub bootstrap: String,
    /// Topics to consume.
    pub topics: Vec<String>,
    /// The consumer group.
    pub group: String,
    /// How the group rebalances.
    pub protocol: Protocol,
    /// Static membership: `group.instance.id`.
    pub instance_id: Option<String>,
    /// Where reading begins without a committed offset.
    pub start_at: StartAt,
    /// Any further setting of the Kafka client.
    pub client: BTreeMap<String, String>,
    /// The guard. `first_assignment`, `jitter_seed` and `hash_key` are given by the gateway when
    /// they have their default values; `partitions` grows with the topics then.
    pub guard: Config,
    /// Makes the guard.
    pub engine: EngineFactory,
    /// Names the operation of a record.
    pub key: KeyTemplate,
    /// Which records may not overtake each other.
    pub order: Order,
    /// Threads that run side effects.
    pub workers: usize,
    /// Where side effects go.
    pub sink: Arc<dyn Sink>,
    /// Topic for records given up. Without one nothing is: `attempts_max` does not count, a record
    /// that is refused is tried again with the longest back-off and holds its partition's commits.
    pub dead_letter_topic: Option<String>,
    /// How long a hand-over may wait for workers. At most half the lease counts.
    pub drain: Duration,
    /// Payload, key and header bytes in memory; fetching stops above it.
    pub bytes_max: usize,
    /// What it can be asked for while it runs.
    pub control: Option<Requests>,
}

impl Settings {
    /// The default of [`Settings::drain`].
    pub const DRAIN: Duration = Duration::from_secs(20);
    /// The default of [`Settings::bytes_max`].
    pub const BYTES_MAX: usize = 256 << 20;
}
