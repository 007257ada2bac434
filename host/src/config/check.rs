//! Settings that contradict each other: each with its line and its remedy.

use rebalance_guard::{Config, ConfigError, KeyPolicy};

use super::client::MAX_POLL_MS;
use super::guard::span_text;
use super::origin::{Origin, Problem};
use super::{RunConfig, SinkName};

/// Everything in `config` that cannot be together.
pub(crate) fn contradictions(config: &RunConfig) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(no_place_for_dead_letters(config));
    problems.extend(dead_letters_in_a_circle(config));
    problems.extend(unknown_scheme(config));
    problems.extend(times(config));
    problems.extend(core(config));
    problems
}

fn no_place_for_dead_letters(config: &RunConfig) -> Option<Problem> {
    let required = config.guard.config.key_policy == KeyPolicy::Required;
    (required && config.dead_letter_topic.is_none()).then(|| {
        Problem::new(
            &config.origin("guard.key_policy"),
            "key_policy is `required`, which parks records without a key, but no dead-letter topic \
             is given",
            "give --dead-letter-topic (or dead_letter_topic in the file), or set key_policy = \
             \"optional\" below [guard]",
        )
    })
}

fn dead_letters_in_a_circle(config: &RunConfig) -> Option<Problem> {
    let topic = config.dead_letter_topic.as_ref()?;
    config.topics.contains(topic).then(|| {
        Problem::new(
            &config.origin("dead_letter_topic"),
            format!("dead letters would go to `{topic}`, the topic that they come from"),
            "give another topic",
        )
    })
}

fn unknown_scheme(config: &RunConfig) -> Option<Problem> {
    let SinkName::Http(url) = &config.sink else {
        return None;
    };
    (!url.starts_with("http://")).then(|| {
        Problem::new(
            &config.origin("sink"),
            "the HTTP sink speaks plain http",
            "use an http:// address, for TLS that of a local proxy",
        )
    })
}

fn times(config: &RunConfig) -> Vec<Problem> {
    let GuardTimes { lease, drain, commit, poll } = GuardTimes::of(config);
    let mut problems = Vec::new();
    let at = |name: &str, other: &str| config.origin(name).max(config.origin(other));
    if drain > lease / 2 {
        problems.push(Problem::new(
            &at("guard.drain", "guard.lease"),
            format!("drain ({}) is above half the lease ({})", span_text(drain), span_text(lease)),
            format!("set drain to at most {}, or raise lease", span_text(lease / 2)),
        ));
    }
    if lease >= poll {
        problems.push(Problem::new(
            &at("guard.lease", "client.max.poll.interval.ms"),
            format!("lease ({}) is not below max.poll.interval.ms ({poll})", span_text(lease)),
            format!("set lease to at most {}", span_text(poll.saturating_sub(poll / 10))),
        ));
    }
    // Nothing is polled during a hand-over: the lease must outlast it.
    if drain.saturating_add(commit) >= lease {
        problems.push(Problem::new(
            &at("guard.drain", "guard.commit_timeout")
                .max(at("guard.lease", "client.max.poll.interval.ms")),
            format!(
                "drain ({}) and commit_timeout ({}) together reach the lease ({}): the guard would \
                 give everything up while it hands over",
                span_text(drain),
                span_text(commit),
                span_text(lease)
            ),
            "lower drain or commit_timeout, or raise lease (by default max.poll.interval.ms less \
             10 %)",
        ));
    }
    problems
}

struct GuardTimes {
    lease: u64,
    drain: u64,
    commit: u64,
    poll: u64,
}

impl GuardTimes {
    fn of(config: &RunConfig) -> Self {
        Self {
            lease: config.guard.config.lease,
            drain: config.guard.drain,
            commit: config.guard.config.commit_timeout,
            poll: config.client.number("max.poll.interval.ms", MAX_POLL_MS),
        }
    }
}

/// What the core itself refuses, with the line of the setting it names.
fn core(config: &RunConfig) -> Option<Problem> {
    let error = config.guard.config.check().err()?;
    let (names, remedy): (&[&str], String) = match error {
        ConfigError::Zero(name) => (&[name], "set it to at least 1".into()),
        ConfigError::TooLarge("storm_at") => {
            (&["storm_at"], format!("set it to at most {}", Config::STORM_AT_MAX))
        }
        ConfigError::TooLarge(name) => {
            (&[name], format!("set it to at most {}", Config::ENTRIES_MAX))
        }
        ConfigError::JitterAbove100(_) => (&["jitter"], "set it to at most 100".into()),
        ConfigError::BackoffAboveCap => {
            (&["backoff", "backoff_cap"], "lower backoff or raise backoff_cap".into())
        }
        ConfigError::StormOrder => (
            &["storm_calm", "storm_rising", "storm_at"],
            "set them in this order, such as 1, 3, 5".into(),
        ),
        _ => (&[], "change the settings below [guard]".into()),
    };
    let origins = names.iter().map(|name| config.origin(&format!("guard.{name}")));
    let at = origins.max().unwrap_or(Origin::Default);
    Some(Problem::new(&at, error.to_string(), remedy))
}
