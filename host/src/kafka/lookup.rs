//! Where reading resumes, asked on a thread of its own: the client's call blocks.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::context::GuardContext;
use crate::gateway::StartAt;

/// How long one question to the broker may take.
const QUESTION: Duration = Duration::from_secs(5);

/// What the group holds for a partition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Held {
    /// This committed offset.
    Offset(i64),
    /// Nothing; reading begins at this offset.
    Nothing(i64),
}

/// The answer to one question. Partitions without an entry were not answered.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) question: u64,
    pub(crate) held: HashMap<(String, i32), Held>,
    pub(crate) trouble: Option<String>,
}

struct Question {
    number: u64,
    partitions: Vec<(String, i32)>,
}

/// The thread that asks.
#[derive(Debug)]
pub(crate) struct Lookup {
    questions: Sender<Question>,
    found: Receiver<Found>,
    thread: JoinHandle<()>,
    asked: u64,
}

impl Lookup {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(
        consumer: Arc<BaseConsumer<GuardContext>>,
        start_at: StartAt,
    ) -> std::io::Result<Self> {
        let (questions, asked) = unbounded::<Question>();
        let (answers, found) = unbounded();
        let thread = thread::Builder::new().name("resume-lookup".to_owned()).spawn(move || {
            for question in asked {
                if answers.send(answer(&consumer, start_at, question)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { questions, found, thread, asked: 0 })
    }

    /// Asks for these partitions; the number comes back with the answer.
    pub(crate) fn ask(&mut self, partitions: Vec<(String, i32)>) -> u64 {
        self.asked = self.asked.saturating_add(1);
        // The thread ends only after this value.
        let _ = self.questions.send(Question { number: self.asked, partitions });
        self.asked
    }

    /// Where answers arrive.
    pub(crate) fn found(&self) -> &Receiver<Found> {
        &self.found
    }

    /// Ends the thread after the question that it is at; the handle says when.
    pub(crate) fn end(self) -> JoinHandle<()> {
        // The sender is dropped with the rest of `self`.
        self.thread
    }
}

fn answer(consumer: &BaseConsumer<GuardContext>, start: StartAt, question: Question) -> Found {
    let mut found = Found { question: question.number, held: HashMap::new(), trouble: None };
    let asked = committed(consumer, &question.partitions);
    let list = match asked {
        Ok(list) => list,
        Err(error) => {
            found.trouble = Some(error.to_string());
            return found;
        }
    };
    for element in list.elements() {
        let name = (element.topic().to_owned(), element.partition());
        let held = match (element.error(), element.offset()) {
            (Err(error), _) => Err(error),
            (Ok(()), Offset::Offset(offset)) => Ok(Held::Offset(offset)),
            (Ok(()), _) => beginning(consumer, &name, start).map(Held::Nothing),
        };
        match held {
            Ok(held) => drop(found.held.insert(name, held)),
            Err(error) => found.trouble = Some(error.to_string()),
        }
    }
    found
}

fn committed(
    consumer: &BaseConsumer<GuardContext>,
    partitions: &[(String, i32)],
) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for (topic, index) in partitions {
        list.add_partition(topic, *index);
    }
    consumer.committed_offsets(list, QUESTION)
}

/// The client would begin here by itself; asked so that guard and client start at one number.
fn beginning(
    consumer: &BaseConsumer<GuardContext>,
    (topic, index): &(String, i32),
    start: StartAt,
) -> KafkaResult<i64> {
    let (low, high) = consumer.fetch_watermarks(topic, *index, QUESTION)?;
    Ok(match start {
        StartAt::Earliest => low,
        StartAt::Latest => high,
    })
}
