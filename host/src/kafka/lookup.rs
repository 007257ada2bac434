//! Where reading resumes, asked on a thread of its own: the client's call blocks.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::context::GuardContext;
use crate::ffi;
use crate::gateway::StartAt;

/// How long one question to the broker may take.
const QUESTION: Duration = Duration::from_secs(5);

/// What the group holds for a partition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Held {
    /// This committed offset, and the string beside it.
    Offset { offset: i64, metadata: Vec<u8> },
    /// Nothing; reading begins at this offset.
    Nothing(i64),
    /// An offset outside the log; reading begins at the first record there is, so that none that
    /// is kept is skipped.
    OutOfRange { committed: i64, start: i64 },
}

/// The answer to one question. Partitions without an entry were not answered.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) question: u64,
    pub(crate) held: HashMap<(String, i32), Held>,
    /// The logs' ends, where they were asked for.
    pub(crate) ends: HashMap<(String, i32), i64>,
    pub(crate) trouble: Option<String>,
}

impl Found {
    fn nothing(question: u64) -> Self {
        Self { question, held: HashMap::new(), ends: HashMap::new(), trouble: None }
    }
}

struct Question {
    number: u64,
    partitions: Vec<(String, i32)>,
    check: bool,
}

/// The thread that asks.
#[derive(Debug)]
pub(crate) struct Lookup {
    questions: Sender<Question>,
    found: Receiver<Found>,
    thread: JoinHandle<()>,
    asked: u64,
    /// Nobody waits for answers any more.
    over: Arc<AtomicBool>,
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
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let thread = thread::Builder::new().name("resume-lookup".to_owned()).spawn(move || {
            for question in asked {
                if answers.send(answer(&consumer, start_at, question, &ends)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { questions, found, thread, asked: 0, over })
    }

    /// Asks for these partitions, with `check` for their logs, too; the number comes back with the
    /// answer.
    pub(crate) fn ask(&mut self, partitions: Vec<(String, i32)>, check: bool) -> u64 {
        self.asked = self.asked.saturating_add(1);
        // The thread ends only after this value.
        let _ = self.questions.send(Question { number: self.asked, partitions, check });
        self.asked
    }

    /// Where answers arrive.
    pub(crate) fn found(&self) -> &Receiver<Found> {
        &self.found
    }

    /// Ends the thread after the question that it is at; the handle says when.
    pub(crate) fn end(self) -> JoinHandle<()> {
        self.over.store(true, Ordering::Release);
        // The sender is dropped with the rest of `self`.
        self.thread
    }
}

fn answer(
    consumer: &BaseConsumer<GuardContext>,
    start: StartAt,
    question: Question,
    over: &AtomicBool,
) -> Found {
    let mut found = Found::nothing(question.number);
    if over.load(Ordering::Acquire) {
        return found;
    }
    let asked = committed(consumer, &question.partitions);
    let list = match asked {
        Ok(list) => list,
        Err(error) => {
            found.trouble = Some(error.to_string());
            return found;
        }
    };
    for (element, metadata) in list.elements().iter().zip(ffi::metadata(&list)) {
        if over.load(Ordering::Acquire) {
            break;
        }
        let name = (element.topic().to_owned(), element.partition());
        let held = match (element.error(), element.offset()) {
            (Err(error), _) => Err(error),
            (Ok(()), Offset::Offset(offset)) if !question.check => {
                Ok(Held::Offset { offset, metadata })
            }
            (Ok(()), offset) => log(consumer, &name).map(|(low, high)| {
                found.ends.insert(name.clone(), high);
                match (offset, start) {
                    (Offset::Offset(committed), _) => within(committed, metadata, low, high),
                    (_, StartAt::Earliest) => Held::Nothing(low),
                    (_, StartAt::Latest) => Held::Nothing(high),
                }
            }),
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

/// The first offset that a log has, and the one after its last.
fn log(
    consumer: &BaseConsumer<GuardContext>,
    (topic, index): &(String, i32),
) -> KafkaResult<(i64, i64)> {
    consumer.fetch_watermarks(topic, *index, QUESTION)
}

fn within(committed: i64, metadata: Vec<u8>, low: i64, high: i64) -> Held {
    if (low..=high).contains(&committed) {
        Held::Offset { offset: committed, metadata }
    } else {
        Held::OutOfRange { committed, start: low }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_outside_the_log_starts_at_the_first_record_there_is() {
        assert_eq!(within(5, Vec::new(), 5, 9), Held::Offset { offset: 5, metadata: Vec::new() });
        assert_eq!(within(9, Vec::new(), 5, 9), Held::Offset { offset: 9, metadata: Vec::new() });
        assert_eq!(within(4, Vec::new(), 5, 9), Held::OutOfRange { committed: 4, start: 5 });
        assert_eq!(within(10, Vec::new(), 5, 9), Held::OutOfRange { committed: 10, start: 5 });
        assert_eq!(within(1, Vec::new(), 0, 0), Held::OutOfRange { committed: 1, start: 0 });
    }
}
