//! The few calls of librdkafka that rdkafka does not wrap: the numbers of a membership, and commits
//! whose answers arrive on a queue.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::Arc;

use crossbeam_channel::Sender;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka_sys as sys;

/// What the group knows this member as, at the moment of the call.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Membership {
    /// Classic generation id or KIP-848 member epoch; 0 or below when there is none.
    pub generation: i32,
    /// Empty after an eviction.
    pub member_id: String,
}

/// Reads the membership. A round trip to the client's main thread: not for every record, and never
/// after the assign call of a rebalance (the client may be closing, and the call would hang).
/// `None` when the client is closing or has no group.
pub fn membership<C: ConsumerContext>(consumer: &BaseConsumer<C>) -> Option<Membership> {
    let client = consumer.client().native_ptr();
    // SAFETY: `client` is live as long as `consumer` is borrowed. The call gives null or an object
    // of ours, destroyed below.
    let metadata = unsafe { sys::rd_kafka_consumer_group_metadata(client) };
    if metadata.is_null() {
        return None;
    }
    // SAFETY: `metadata` is not null and not yet destroyed.
    let generation = unsafe { sys::rd_kafka_consumer_group_metadata_generation_id(metadata) };
    // SAFETY: as above; the text belongs to `metadata` and is copied before that is destroyed.
    let in_metadata = unsafe {
        let text = sys::rd_kafka_consumer_group_metadata_member_id(metadata);
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into() }
    };
    // SAFETY: ours, destroyed once, not used afterwards.
    unsafe { sys::rd_kafka_consumer_group_metadata_destroy(metadata) };
    Some(Membership { generation, member_id: member_id(consumer).unwrap_or(in_metadata) })
}

/// The member id alone, `None` when the client has no group.
fn member_id<C: ConsumerContext>(consumer: &BaseConsumer<C>) -> Option<String> {
    let client = consumer.client().native_ptr();
    // SAFETY: `client` is live as long as `consumer` is borrowed. The call gives null or a text of
    // ours, freed below.
    let text = unsafe { sys::rd_kafka_memberid(client) };
    if text.is_null() {
        return None;
    }
    // SAFETY: a C string of ours, copied here and freed once with the client's own allocator.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        sys::rd_kafka_mem_free(client, text.cast());
        Some(copy)
    }
}

/// The metadata beside each element's committed offset, in the list's order: bytes as the broker
/// gave them, for nothing says that they are text.
pub(crate) fn metadata(list: &TopicPartitionList) -> Vec<Vec<u8>> {
    let list = list.ptr();
    // SAFETY: `list` is live while borrowed; it has `cnt` elements, each with null or
    // `metadata_size` bytes of its own, which are copied here.
    unsafe {
        let count = usize::try_from((*list).cnt).unwrap_or(0);
        let elements = (0..count).map(|index| &*(*list).elems.add(index));
        let copied = elements.map(|element| {
            let (text, len) = (element.metadata.cast::<u8>(), element.metadata_size);
            if text.is_null() { Vec::new() } else { std::slice::from_raw_parts(text, len).to_vec() }
        });
        copied.collect()
    }
}

/// The epoch of the leader that wrote the record (KIP-320), if the broker told it.
pub(crate) fn leader_epoch(message: &BorrowedMessage<'_>) -> Option<i32> {
    // SAFETY: the message is live while borrowed, and only read.
    let epoch = unsafe { sys::rd_kafka_message_leader_epoch(message.ptr()) };
    (epoch >= 0).then_some(epoch)
}

/// Commits without blocking: each answer arrives on a queue of its own, with the number that the
/// caller gave.
pub struct CommitQueue<C: ConsumerContext + 'static> {
    queue: *mut sys::rd_kafka_queue_t,
    /// From a box, given back in drop.
    wake: *mut Sender<()>,
    consumer: Arc<BaseConsumer<C>>,
}

/// One answered commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CommitReply {
    /// The caller's number.
    pub number: usize,
    /// `None`: stored.
    pub error: Option<RDKafkaErrorCode>,
}

// SAFETY: librdkafka's queues may be used from any thread.
unsafe impl<C: ConsumerContext + 'static> Send for CommitQueue<C> {}

impl<C: ConsumerContext + 'static> fmt::Debug for CommitQueue<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommitQueue")
    }
}

extern "C" fn wake_up(_: *mut sys::rd_kafka_t, opaque: *mut c_void) {
    // SAFETY: `opaque` is the `CommitQueue`'s boxed `Sender`, which outlives the queue's use of it
    // (see its drop), and a `Sender` may be shared between threads.
    let wake = unsafe { &*opaque.cast::<Sender<()>>().cast_const() };
    // Full means that a wake-up is already waiting.
    let _ = wake.try_send(());
}

impl<C: ConsumerContext + 'static> CommitQueue<C> {
    /// A queue for `consumer` that sends to `wake` when an answer arrives.
    pub fn new(consumer: Arc<BaseConsumer<C>>, wake: Sender<()>) -> Self {
        let wake = Box::into_raw(Box::new(wake));
        // SAFETY: the client is live (`consumer` is kept beside the queue); the sender lives on the
        // heap until the callback was disabled.
        let queue = unsafe {
            let queue = sys::rd_kafka_queue_new(consumer.client().native_ptr());
            sys::rd_kafka_queue_cb_event_enable(queue, Some(wake_up), wake.cast());
            queue
        };
        Self { queue, wake, consumer }
    }

    /// Sends one commit; `offset` is the next record to read, `metadata` the string beside it.
    ///
    /// # Errors
    /// The client did not take it; no reply follows.
    pub fn commit(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
        metadata: &str,
        number: usize,
    ) -> KafkaResult<()> {
        let mut list = TopicPartitionList::with_capacity(1);
        let mut element = list.add_partition(topic, partition);
        element.set_offset(Offset::Offset(offset))?;
        if !metadata.is_empty() {
            element.set_metadata(metadata);
        }
        let opaque = std::ptr::without_provenance_mut::<c_void>(number);
        // SAFETY: client, list and queue are live; the list is copied by the call; the opaque value
        // is a number that librdkafka only hands back.
        let error = unsafe {
            let client = self.consumer.client().native_ptr();
            sys::rd_kafka_commit_queue(client, list.ptr(), self.queue, None, opaque)
        };
        match RDKafkaErrorCode::from(error) {
            RDKafkaErrorCode::NoError => Ok(()),
            code => Err(rdkafka::error::KafkaError::ConsumerCommit(code)),
        }
    }

    /// The next answer, without waiting.
    pub fn next_reply(&self) -> Option<CommitReply> {
        loop {
            // SAFETY: the queue is live; an event that is given is ours and destroyed below.
            let event = unsafe { sys::rd_kafka_queue_poll(self.queue, 0) };
            if event.is_null() {
                return None;
            }
            // SAFETY: `event` is not null and not yet destroyed.
            let reply = unsafe { read_reply(event) };
            // SAFETY: ours, destroyed once, not used afterwards.
            unsafe { sys::rd_kafka_event_destroy(event) };
            if reply.is_some() {
                return reply;
            }
        }
    }
}

/// Reads a commit's answer: the request's error, or else its partition's.
///
/// # Safety
/// `event` must be a live event.
unsafe fn read_reply(event: *mut sys::rd_kafka_event_t) -> Option<CommitReply> {
    // SAFETY: the caller's word. The list belongs to the event and is only read here.
    unsafe {
        if sys::rd_kafka_event_type(event) != sys::RD_KAFKA_EVENT_OFFSET_COMMIT {
            return None;
        }
        let mut error = RDKafkaErrorCode::from(sys::rd_kafka_event_error(event));
        let list = sys::rd_kafka_event_topic_partition_list(event);
        if error == RDKafkaErrorCode::NoError && !list.is_null() && (*list).cnt == 1 {
            error = RDKafkaErrorCode::from((*(*list).elems).err);
        }
        let number = sys::rd_kafka_event_opaque(event).addr();
        let error = (error != RDKafkaErrorCode::NoError).then_some(error);
        Some(CommitReply { number, error })
    }
}

impl<C: ConsumerContext + 'static> Drop for CommitQueue<C> {
    fn drop(&mut self) {
        // SAFETY: disabling takes the lock under which the callback runs, so the sender is not used
        // any more when it is dropped, once; the queue is destroyed once, before the client
        // (`consumer` is dropped after this body).
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(self.queue, None, std::ptr::null_mut());
            sys::rd_kafka_queue_destroy(self.queue);
            drop(Box::from_raw(self.wake));
        }
    }
}
