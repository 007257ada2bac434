//! What the client calls back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::RDKafkaRespErr;

use crate::ffi::{self, Membership};
use crate::gateway::RebalanceKind;

/// One rebalance callback, with all that must be read inside it: before any assign call (which
/// clears the lost flag) and never after (the client may be closing).
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Callback {
    pub(crate) kind: RebalanceKind,
    pub(crate) partitions: Vec<(String, i32)>,
    /// `None` when the client is closing.
    pub(crate) membership: Option<Membership>,
    /// The client's flag, read for a revoke alone: in an assign it may be a stale one's.
    pub(crate) lost_flag: bool,
    pub(crate) cooperative: bool,
}

/// Overrides `rebalance`: it takes down what happened and leaves the answer (assign or unassign) to
/// the poll thread, which gives it right after the poll that called back. Until it is given the
/// client delivers nothing and waits, so that the poll thread drains with its whole state at hand,
/// no lock held. While leaving, it hands back at once and commits nothing.
#[derive(Debug, Default)]
pub(crate) struct GuardContext {
    inbox: Mutex<VecDeque<Callback>>,
    leaving: AtomicBool,
    cooperative: AtomicBool,
}

impl GuardContext {
    /// The next callback that the poll thread has not answered.
    pub(crate) fn next_callback(&self) -> Option<Callback> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// From now on callbacks hand everything back without asking anybody.
    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    /// Whether the group moves single partitions.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.cooperative.load(Ordering::Acquire)
    }

    /// Answers a callback so that nothing is owned, whatever it was.
    pub(crate) fn hand_back(
        &self,
        consumer: &BaseConsumer<Self>,
        list: &TopicPartitionList,
        revoke: bool,
    ) {
        let handed = match (revoke, self.is_cooperative()) {
            (true, true) => consumer.incremental_unassign(list),
            (true, false) => consumer.unassign(),
            // A client that closes treats an assign as an unassign.
            (false, true) => consumer.incremental_assign(list),
            (false, false) => consumer.assign(list),
        };
        if let Err(error) = handed {
            tracing::debug!(%error, "handing back while leaving");
        }
    }
}

impl ClientContext for GuardContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        match level {
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => {
                tracing::error!(target: "librdkafka", facility, "{message}");
            }
            RDKafkaLogLevel::Warning => {
                tracing::warn!(target: "librdkafka", facility, "{message}");
            }
            RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => {
                tracing::info!(target: "librdkafka", facility, "{message}");
            }
            RDKafkaLogLevel::Debug => {
                tracing::debug!(target: "librdkafka", facility, "{message}");
            }
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::warn!(target: "librdkafka", %error, reason, "client error");
    }
}

impl ConsumerContext for GuardContext {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        error: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let revoke = RDKafkaErrorCode::from(error) == RDKafkaErrorCode::RevokePartitions;
        if self.leaving.load(Ordering::Acquire) {
            return self.hand_back(consumer, list, revoke);
        }
        // First of all: an assign call anywhere would clear it.
        let lost_flag = revoke && consumer.assignment_lost();
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        self.cooperative.store(cooperative, Ordering::Release);
        let elements = list.elements();
        let callback = Callback {
            kind: if revoke { RebalanceKind::Revoke } else { RebalanceKind::Assign },
            partitions: elements.iter().map(|e| (e.topic().to_owned(), e.partition())).collect(),
            membership: ffi::membership(consumer),
            lost_flag,
            cooperative,
        };
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).push_back(callback);
    }
}
