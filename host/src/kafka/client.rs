//! The consumer's settings.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rebalance_guard::Config;

use super::context::GuardContext;
use crate::clock;
use crate::gateway::{GatewayError, Protocol, Settings};

/// `max.poll.interval.ms` when nobody sets it.
const MAX_POLL_INTERVAL_MS: u64 = 300_000;

/// How long the brokers may take to answer at the start, and one question of it.
const REACH: Duration = Duration::from_secs(15);
const QUESTION: Duration = Duration::from_secs(5);
/// How long a topic may be unknown: one that was made a moment ago is not known everywhere yet.
const FRESH: Duration = Duration::from_secs(5);
/// Before it is asked for again.
const PAUSE: Duration = Duration::from_millis(100);
/// Above so many places (256 MiB with the default budget) none are kept for partitions to come.
const ROOMY: u32 = 4_096;

/// The client's configuration: the caller's settings, then the ones that the guard's promises stand
/// on, which win.
pub(crate) fn config(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("client.id", "rebalance-guard");
    // Half-open sockets behind a NAT are noticed.
    config.set("socket.keepalive.enable", "true");
    for (key, value) in &settings.client {
        config.set(key, value);
    }
    config.set("bootstrap.servers", &settings.bootstrap);
    config.set("group.id", &settings.group);
    // What is committed and when is the guard's alone.
    config.set("enable.auto.commit", "false");
    config.set("enable.auto.offset.store", "false");
    // A typing error in a topic's name must not create it.
    config.set("allow.auto.create.topics", "false");
    // Where reading begins is told with each assign: the client never moves by itself.
    config.set("auto.offset.reset", "error");
    match settings.protocol {
        Protocol::Eager => config.set("partition.assignment.strategy", "range"),
        Protocol::Cooperative => config.set("partition.assignment.strategy", "cooperative-sticky"),
        Protocol::Consumer => config.set("group.protocol", "consumer"),
    };
    if let Some(id) = &settings.instance_id {
        config.set("group.instance.id", id);
    }
    config
}

/// Checks what the guard's time limits and the client's must have in common.
///
/// # Errors
/// Which setting contradicts which, and the remedy.
pub(crate) fn check(settings: &Settings) -> Result<(), GatewayError> {
    let refuse = |words: String| Err(GatewayError::Setting(words));
    if settings.topics.is_empty() {
        return refuse("no topic to consume: name one with `--topic`".to_owned());
    }
    if settings.workers == 0 {
        return refuse("`workers` must be at least 1".to_owned());
    }
    let interval = settings.client.get("max.poll.interval.ms");
    let interval = match interval.map(|text| text.parse::<u64>()) {
        None => MAX_POLL_INTERVAL_MS,
        Some(Ok(interval)) => interval,
        Some(Err(_)) => return refuse("`max.poll.interval.ms` must be a number".to_owned()),
    };
    if settings.guard.lease >= interval {
        return refuse(format!(
            "`lease` ({} ms) must be below max.poll.interval.ms ({interval} ms): the guard has to \
             give up before the group does",
            settings.guard.lease
        ));
    }
    settings.guard.check()?;
    Ok(())
}

/// The longest drain: never above half the lease (B53 (knative-extensions/eventing-kafka#629)), so
/// that a hand-over ends before the group throws the member out.
pub(crate) fn drain(settings: &Settings) -> Duration {
    settings.drain.min(Duration::from_millis(settings.guard.lease / 2))
}

/// A consumer that has not subscribed yet.
///
/// # Errors
/// The client refuses a setting.
pub(crate) fn consumer(settings: &Settings) -> Result<BaseConsumer<GuardContext>, GatewayError> {
    BaseConsumer::from_config_and_context(&config(settings), GuardContext::default())
        .map_err(|error| GatewayError::Client(error.to_string()))
}

/// Settings for a producer beside the consumer: how to reach the cluster, and no group.
pub(crate) fn producer(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("client.id", "rebalance-guard");
    for (key, value) in &settings.client {
        config.set(key, value);
    }
    config.set("bootstrap.servers", &settings.bootstrap);
    config
}

/// Makes sure that a broker answers and the topics are there, before a group is troubled. Gives the
/// number of their partitions.
///
/// # Errors
/// No broker answers in time, or a topic is missing or forbidden.
pub(crate) fn reach(settings: &Settings) -> Result<u32, GatewayError> {
    let consumer = consumer(settings)?;
    let begun = clock::now();
    let mut partitions = 0_u32;
    // A name that begins so is a pattern.
    for topic in settings.topics.iter().filter(|topic| !topic.starts_with('^')) {
        loop {
            let waited = begun.elapsed();
            match ask_for(&consumer, topic) {
                Asked::There(more) => {
                    partitions = partitions.saturating_add(more);
                    break;
                }
                Asked::Nobody(_) | Asked::NotYet(_) if waited < FRESH => {}
                Asked::Nobody(_) if waited < REACH => {}
                Asked::NotYet(why) | Asked::Refused(why) => {
                    return Err(GatewayError::Topic { topic: topic.clone(), why });
                }
                Asked::Nobody(why) => {
                    let (bootstrap, seconds) = (settings.bootstrap.clone(), REACH.as_secs());
                    return Err(GatewayError::Unreachable { bootstrap, seconds, why });
                }
            }
        }
    }
    Ok(partitions)
}

/// Makes the guard's table large enough for all `partitions` of the topics: one member may come to
/// own them all. Partitions can be added later, so a size that nobody set leaves room to grow.
///
/// # Errors
/// The size that was set is too small.
pub(crate) fn fit(guard: &mut Config, partitions: u32) -> Result<(), GatewayError> {
    let default = Config::default().partitions;
    if guard.partitions == default {
        let roomy = partitions.saturating_mul(2).checked_next_power_of_two().unwrap_or(u32::MAX);
        guard.partitions = roomy.min(ROOMY).max(partitions).max(default);
        if guard.partitions > default {
            tracing::info!(partitions, places = guard.partitions, "the guard's table was raised");
        }
    }
    if guard.partitions < partitions {
        return Err(GatewayError::Setting(format!(
            "`partitions` below [guard] is {}, but the topics have {partitions}, and one member \
             may come to own them all: set it to at least {partitions}, or remove it and the \
             gateway chooses",
            guard.partitions
        )));
    }
    Ok(())
}

/// The answer to a question for a topic.
enum Asked {
    /// With so many partitions.
    There(u32),
    /// No broker answered.
    Nobody(String),
    /// This may pass.
    NotYet(String),
    Refused(String),
}

fn ask_for(consumer: &BaseConsumer<GuardContext>, topic: &str) -> Asked {
    let metadata = match consumer.fetch_metadata(Some(topic), QUESTION) {
        Ok(metadata) => metadata,
        Err(error) => return Asked::Nobody(error.to_string()),
    };
    let trouble = metadata.topics().iter().find_map(|found| found.error());
    let Some(code) = trouble.map(RDKafkaErrorCode::from) else {
        let partitions = metadata.topics().iter().map(|found| found.partitions().len());
        return Asked::There(u32::try_from(partitions.sum::<usize>()).unwrap_or(u32::MAX));
    };
    match code {
        RDKafkaErrorCode::UnknownTopicOrPartition
        | RDKafkaErrorCode::UnknownTopic
        | RDKafkaErrorCode::LeaderNotAvailable => {
            std::thread::park_timeout(PAUSE);
            Asked::NotYet(code.to_string())
        }
        _ => Asked::Refused(code.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(set: u32, topics: u32) -> Result<u32, String> {
        let mut guard = Config { partitions: set, ..Config::default() };
        fit(&mut guard, topics).map_err(|error| error.to_string())?;
        Ok(guard.partitions)
    }

    #[test]
    fn the_default_table_grows_with_the_topics_and_leaves_room_for_more() {
        let sizes = [0, 1, 32, 33, 64, 65, 1_000, 2_048, 3_000, 4_096, 5_000];
        let tables = [64, 64, 64, 128, 128, 256, 2_048, 4_096, 4_096, 4_096, 5_000];
        assert_eq!(sizes.map(|topics| fitted(64, topics)), tables.map(Ok));
    }

    #[test]
    fn a_table_that_was_set_is_kept_or_refused_with_both_numbers() {
        assert_eq!(fitted(70, 70), Ok(70));
        let refused = fitted(69, 70).expect_err("it is too small");
        assert!(refused.contains("is 69, but the topics have 70"), "{refused}");
    }
}
