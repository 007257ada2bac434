//! Why a gateway could not start or go on.

use rebalance_guard::ConfigError;

/// Why [`run`](super::run) ended early. Nothing was lost: what was not committed is read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A setting that cannot be.
    #[error("{0}")]
    Setting(String),
    /// The guard's settings contradict each other.
    #[error("the guard's settings: {0}")]
    Guard(#[from] ConfigError),
    /// No engine could be made.
    #[error("no engine could be made: {0}")]
    Engine(String),
    /// Engine after engine died.
    #[error(
        "{deaths} engines died in a row, the last of: {reason}. Every partition counts as lost and \
         nothing of theirs was committed; use another plugin, or `--engine native`"
    )]
    EngineDies {
        /// How many.
        deaths: u32,
        /// The last reason.
        reason: String,
    },
    /// The Kafka client refused its settings.
    #[error("the Kafka client refuses its settings: {0}")]
    Client(String),
    /// A subscribed topic does not exist, or may not be read.
    #[error("topic {topic}: {why}. Create it or grant access, then start again")]
    Topic {
        /// Its name.
        topic: String,
        /// In the client's words.
        why: String,
    },
    /// The broker cannot be reached at the start.
    #[error(
        "no broker answered at {bootstrap} within {seconds} s ({why}): check the address and that \
         the broker runs"
    )]
    Unreachable {
        /// The bootstrap servers.
        bootstrap: String,
        /// How long it was tried.
        seconds: u64,
        /// In the client's words.
        why: String,
    },
    /// The client is dead and a new one would die of the same.
    #[error("the Kafka client gave up for good: {words}. {remedy}")]
    Fatal {
        /// In the client's words.
        words: String,
        /// What to change.
        remedy: &'static str,
    },
    /// The sink knows a higher token than this group gives now, and goes on refusing.
    #[error(
        "the sink refused the effects of {topic}/{partition} {times} times in a row although the \
         group says that they are ours: our token is {token}, and it has seen a higher one \
         ({why}). If the group was deleted or its offsets moved to another cluster, its numbers \
         began again: raise the guard's `epoch` above the one used before on every member"
    )]
    FencedForGood {
        /// Topic.
        topic: String,
        /// Partition number.
        partition: i32,
        /// Our last token.
        token: rebalance_guard::Token,
        /// What the sink said of its own.
        why: String,
        /// How often.
        times: u32,
    },
    /// The dead-letter producer could not be made.
    #[error("dead letters: {0}")]
    DeadLetters(String),
    /// Worker threads could not be started.
    #[error("workers: {0}")]
    Workers(String),
}
