//! One consumer from subscribe to destruction.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList, TopicPartitionListElem};

use super::classify::{Standing, evicted};
use super::client;
use super::context::{Callback, GuardContext};
use super::lookup::{Found, Lookup};
use super::topics::Topics;
use crate::clock;
use crate::ffi::{self, CommitQueue, Membership};
use crate::gateway::{GatewayError, RebalanceKind, Settings};
use crate::record::OwnedRecord;

/// How long a consumer that is to end waits for its helper before it leaves the group.
const PATIENCE: Duration = Duration::from_millis(200);
const STEP: Duration = Duration::from_millis(10);

/// What one poll gave.
#[derive(Debug)]
pub(crate) enum Polled {
    /// Nothing to do.
    Nothing,
    /// A record.
    Record(OwnedRecord),
    /// A callback that must be answered with `assign` or `unassign` before the next poll.
    Callback(Callback),
    /// The end of this partition number was seen (of the one topic, if there is one only).
    End(i32),
    /// The end of some partition.
    Unsaid,
    /// The client was not polled for too long: the group has thrown it out (or is about to).
    Exceeded,
    /// The client is dead.
    Fatal(RDKafkaErrorCode, String),
    /// Anything else, ownership untouched.
    Trouble(KafkaError),
}

/// A consumer and its helpers.
pub(crate) struct Session {
    consumer: Arc<BaseConsumer<GuardContext>>,
    commits: CommitQueue<GuardContext>,
    lookup: Lookup,
    /// Has a message when the client may have something to poll.
    pub(crate) wake: Receiver<()>,
    /// Has a message when a commit was answered.
    pub(crate) commit_wake: Receiver<()>,
    id_at_assign: Option<String>,
    exceeded: bool,
    /// The callback that has been given out and not answered.
    unanswered: Option<Callback>,
    only_topic: bool,
}

impl Session {
    /// Makes a consumer that is in no group yet.
    ///
    /// # Errors
    /// The client refuses its settings; no thread to be had.
    pub(crate) fn unsubscribed(settings: &Settings) -> Result<Self, GatewayError> {
        let mut consumer = client::consumer(settings)?;
        let (waker, wake) = bounded::<()>(1);
        // Full means that a wake-up is already waiting.
        consumer.set_nonempty_callback(move || {
            let _ = waker.try_send(());
        });
        let consumer = Arc::new(consumer);
        let lookup = Lookup::start(Arc::clone(&consumer), settings.start_at)
            .map_err(|error| GatewayError::Client(error.to_string()))?;
        let (commit_waker, commit_wake) = bounded(1);
        let commits = CommitQueue::new(Arc::clone(&consumer), commit_waker);
        let only_topic = settings.topics.len() == 1 && !settings.topics[0].starts_with('^');
        let (id_at_assign, exceeded, unanswered) = (None, false, None);
        let session = Self {
            consumer,
            commits,
            lookup,
            wake,
            commit_wake,
            id_at_assign,
            exceeded,
            unanswered,
            only_topic,
        };
        Ok(session)
    }

    /// Joins the group.
    ///
    /// # Errors
    /// The client refuses the subscription.
    pub(crate) fn join(&self, settings: &Settings) -> Result<(), GatewayError> {
        let topics: Vec<&str> = settings.topics.iter().map(String::as_str).collect();
        let joined = self.consumer.subscribe(&topics);
        joined.map_err(|error| GatewayError::Client(error.to_string()))
    }

    /// Polls once, without waiting.
    pub(crate) fn poll(&mut self, topics: &mut Topics) -> Polled {
        let polled = match self.consumer.poll(Duration::ZERO) {
            None => None,
            Some(Ok(message)) => Some(Polled::Record(owned(&message, topics))),
            Some(Err(error)) => Some(self.trouble(error)),
        };
        // A poll that serves a callback gives nothing else.
        let Some(callback) = self.consumer.context().next_callback() else {
            return polled.unwrap_or(Polled::Nothing);
        };
        self.unanswered = Some(callback.clone());
        Polled::Callback(callback)
    }

    fn trouble(&mut self, error: KafkaError) -> Polled {
        match error {
            KafkaError::PartitionEOF(index) if self.only_topic => Polled::End(index),
            // The client does not say of which topic.
            KafkaError::PartitionEOF(_) => Polled::Unsaid,
            KafkaError::MessageConsumption(RDKafkaErrorCode::PollExceeded) => {
                self.exceeded = true;
                Polled::Exceeded
            }
            KafkaError::MessageConsumptionFatal(code) => self.fatal_as(code),
            KafkaError::MessageConsumption(RDKafkaErrorCode::Fatal) => {
                self.fatal_as(RDKafkaErrorCode::Fatal)
            }
            other => Polled::Trouble(other),
        }
    }

    fn fatal_as(&self, code: RDKafkaErrorCode) -> Polled {
        match self.consumer.client().fatal_error() {
            Some((code, words)) => Polled::Fatal(code, words),
            None => Polled::Fatal(code, code.to_string()),
        }
    }

    /// The client's fatal error, if it has one: no callback tells of it.
    pub(crate) fn fatal_error(&self) -> Option<(RDKafkaErrorCode, String)> {
        self.consumer.client().fatal_error()
    }

    /// Whether the membership in an assign is another than the one of the assign before.
    pub(crate) fn is_other_member(&self, now: &Membership) -> bool {
        self.id_at_assign.as_ref().is_some_and(|id| *id != now.member_id)
    }

    /// Takes down the membership under which an assign came.
    pub(crate) fn joined_as(&mut self, now: Option<Membership>) {
        self.id_at_assign = now.map(|membership| membership.member_id);
        self.exceeded = false;
    }

    /// Whether ownership is gone already: by the client's flag or error, or by
    /// the group's numbers. `in_callback` is what was read at the start of the revoke.
    pub(crate) fn was_lost(&self, in_callback: Option<&Membership>) -> bool {
        self.exceeded
            || self.fatal_error().is_some()
            || in_callback.is_none_or(|now| evicted(now, self.id_at_assign.as_deref()))
    }

    /// The same, read afresh: at the end of a drain, and before a commit inside one. Never after
    /// the answer to a callback.
    pub(crate) fn is_lost_now(&self) -> bool {
        self.was_lost(ffi::membership(&self.consumer).as_ref())
    }

    /// The client's lost flag: set before its revoke is delivered.
    pub(crate) fn is_flagged_lost(&self) -> bool {
        self.consumer.assignment_lost()
    }

    /// What is known of the member when a commit for `topic`/`index` is refused.
    pub(crate) fn standing(&self, topic: &str, index: i32, rebalancing: bool) -> Standing {
        let member = ffi::membership(&self.consumer);
        let id = member.map(|member| member.member_id);
        let assigned = self
            .assignment()
            .is_ok_and(|list| list.iter().any(|(name, number)| name == topic && *number == index));
        Standing {
            rebalancing,
            cooperative: self.consumer.context().is_cooperative(),
            lost_flag: self.consumer.assignment_lost() || self.exceeded,
            same_member: id.is_some_and(|id| Some(id) == self.id_at_assign),
            assigned,
        }
    }

    /// What the client believes it owns.
    ///
    /// # Errors
    /// The client does not say.
    pub(crate) fn assignment(&self) -> Result<Vec<(String, i32)>, KafkaError> {
        let list = self.consumer.assignment()?;
        let elements = list.elements();
        Ok(elements.iter().map(|e| (e.topic().to_owned(), e.partition())).collect())
    }

    /// Answers an assign: each partition starts at exactly its offset, or, while that is not known,
    /// at its first record, which always exists: only a partition that is being fetched can be
    /// sought.
    ///
    /// # Errors
    /// The client did not take it: a later callback will undo it.
    pub(crate) fn assign(
        &mut self,
        partitions: &[((String, i32), Option<i64>)],
    ) -> Result<(), KafkaError> {
        self.unanswered = None;
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for ((topic, index), offset) in partitions {
            let offset = offset.map_or(Offset::Beginning, Offset::Offset);
            list.add_partition_offset(topic, *index, offset)?;
        }
        if self.consumer.context().is_cooperative() {
            self.consumer.incremental_assign(&list)
        } else {
            self.consumer.assign(&list)
        }
    }

    /// Answers a revoke: hands the partitions back.
    ///
    /// # Errors
    /// The client did not take it.
    pub(crate) fn hand_back(&mut self, partitions: &[(String, i32)]) -> Result<(), KafkaError> {
        self.unanswered = None;
        if self.consumer.context().is_cooperative() {
            self.consumer.incremental_unassign(&list_of(partitions))
        } else {
            self.consumer.unassign()
        }
    }

    /// Stops fetching a partition, and drops what was fetched ahead.
    ///
    /// # Errors
    /// It is not assigned.
    pub(crate) fn pause(&self, topic: &str, index: i32) -> Result<(), KafkaError> {
        let list = list_of(&[(topic.to_owned(), index)]);
        self.consumer.pause(&list)?;
        list.elements().iter().try_for_each(TopicPartitionListElem::error)
    }

    /// Fetches it again, from where the last record was handed out.
    ///
    /// # Errors
    /// It is not assigned.
    pub(crate) fn resume(&self, topic: &str, index: i32) -> Result<(), KafkaError> {
        let list = list_of(&[(topic.to_owned(), index)]);
        self.consumer.resume(&list)?;
        list.elements().iter().try_for_each(TopicPartitionListElem::error)
    }

    /// The next record of the partition will be the one at `offset`; does not wait.
    ///
    /// # Errors
    /// It is not assigned.
    pub(crate) fn seek(&self, topic: &str, index: i32, offset: i64) -> Result<(), KafkaError> {
        self.consumer.seek(topic, index, Offset::Offset(offset), Duration::ZERO)
    }

    /// Commits and answers.
    pub(crate) fn commits(&self) -> &CommitQueue<GuardContext> {
        &self.commits
    }

    /// Asks where these partitions resume, and with `check` whether that lies inside their logs;
    /// the number comes back with the answer.
    pub(crate) fn ask(&mut self, partitions: Vec<(String, i32)>, check: bool) -> u64 {
        self.lookup.ask(partitions, check)
    }

    /// Where the answers arrive.
    pub(crate) fn found(&self) -> &Receiver<Found> {
        self.lookup.found()
    }

    /// Leaves the group and destroys the consumer; its callbacks commit nothing. The client's own
    /// close can hang, so that it runs on a thread that is abandoned after `within`. Whether it is
    /// gone.
    pub(crate) fn destroy(self, within: Duration) -> bool {
        let Self { consumer, commits, lookup, unanswered, .. } = self;
        consumer.context().leave();
        if let Some(callback) = unanswered {
            // A client that waits for an answer never closes.
            let revoke = callback.kind == RebalanceKind::Revoke;
            consumer.context().hand_back(&consumer, &list_of(&callback.partitions), revoke);
        }
        let (gone, waits) = bounded(1);
        let thread = thread::Builder::new().name("consumer-close".to_owned()).spawn(move || {
            drop(commits);
            // It holds the consumer, too, and may be at a question that takes long.
            let ended = lookup.end();
            let began = clock::now();
            let mut left = false;
            while !ended.is_finished() {
                if !left && began.elapsed() > PATIENCE {
                    consumer.unsubscribe();
                    left = true;
                }
                // What the group asks meanwhile is answered.
                drop(consumer.poll(STEP));
            }
            let ended = ended.join();
            drop(consumer);
            let _ = gone.try_send(ended.is_ok());
        });
        thread.is_ok() && waits.recv_timeout(within).is_ok()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id_at_assign", &self.id_at_assign).finish_non_exhaustive()
    }
}

fn list_of(partitions: &[(String, i32)]) -> TopicPartitionList {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for (topic, index) in partitions {
        list.add_partition(topic, *index);
    }
    list
}

fn owned(message: &BorrowedMessage<'_>, topics: &mut Topics) -> OwnedRecord {
    let partition = topics.partition(message.topic(), message.partition());
    let headers = message.headers().map(|headers| {
        let all = headers.iter();
        all.map(|h| (h.key.to_owned(), h.value.map(<[u8]>::to_vec))).collect()
    });
    OwnedRecord {
        topic: topics.name(partition),
        partition,
        offset: message.offset(),
        key: message.key().map(<[u8]>::to_vec),
        payload: message.payload().map(<[u8]>::to_vec),
        headers: headers.unwrap_or_default(),
        leader_epoch: ffi::leader_epoch(message),
        timestamp_ms: message.timestamp().to_millis(),
    }
}
