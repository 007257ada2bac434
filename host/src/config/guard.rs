//! The guard's own settings, under `[guard]`: one table for file, environment, flags and help.

use std::fmt::Write as _;

use rebalance_guard::{Config, KeyPolicy};

/// The core's settings, and the drain that the host times.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct GuardSettings {
    /// What the guard is made with.
    pub config: Config,
    /// How long a revoked partition may take to finish its work, in ms.
    pub drain: u64,
}

impl GuardSettings {
    /// The longest drain by default, in ms; never above half the lease.
    pub const DRAIN: u64 = 20_000;

    /// The defaults for a client whose `max.poll.interval.ms` is `max_poll`.
    pub fn for_max_poll(max_poll: u64) -> Self {
        let lease = max_poll.saturating_sub(max_poll / 10).max(1);
        let config = Config { lease, ..Config::default() };
        Self { config, drain: Self::DRAIN.min(lease / 2) }
    }
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { config: Config::default(), drain: Self::DRAIN }
    }
}

/// How one setting is read and written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Count(fn(&mut GuardSettings) -> &mut u32),
    Small(fn(&mut GuardSettings) -> &mut u16),
    Percent(fn(&mut GuardSettings) -> &mut u8),
    Span(fn(&mut GuardSettings) -> &mut u64),
    Policy,
    HoldInStorm,
    KeyAge,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardSetting {
    pub(crate) name: &'static str,
    pub(crate) field: Field,
    pub(crate) help: &'static str,
}

impl GuardSetting {
    /// The row called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|row| row.name == name)
    }

    /// Writes `text` into `settings`.
    ///
    /// # Errors
    /// What the value must be instead.
    pub(crate) fn set(&self, settings: &mut GuardSettings, text: &str) -> Result<(), String> {
        match self.field {
            Field::Count(of) => *of(settings) = number(text)?,
            Field::Small(of) => *of(settings) = number(text)?,
            Field::Percent(of) => *of(settings) = number(text)?,
            Field::Span(of) => *of(settings) = span(text)?,
            Field::Policy => settings.config.key_policy = policy(text)?,
            Field::HoldInStorm => settings.config.hold_in_storm = boolean(text)?,
            Field::KeyAge => settings.config.key_age = age(text)?,
        }
        Ok(())
    }

    /// The value in `settings`, as TOML.
    pub(crate) fn show(&self, settings: &GuardSettings) -> String {
        let mut copy = *settings;
        match self.field {
            Field::Count(of) => of(&mut copy).to_string(),
            Field::Small(of) => of(&mut copy).to_string(),
            Field::Percent(of) => of(&mut copy).to_string(),
            Field::Span(of) => format!("\"{}\"", span_text(*of(&mut copy))),
            Field::Policy => match copy.config.key_policy {
                KeyPolicy::Required => "\"required\"".into(),
                KeyPolicy::Optional => "\"optional\"".into(),
            },
            Field::HoldInStorm => copy.config.hold_in_storm.to_string(),
            Field::KeyAge => match copy.config.key_age {
                None => "\"none\"".into(),
                Some(ms) => format!("\"{}\"", span_text(ms)),
            },
        }
    }
}

macro_rules! row {
    ($kind:ident, $name:ident, $help:literal) => {
        GuardSetting {
            name: stringify!($name),
            field: Field::$kind(|settings| &mut settings.config.$name),
            help: $help,
        }
    };
}

/// Every setting of the guard that a user may change.
pub(crate) const TABLE: &[GuardSetting] = &[
    row!(Count, partitions, "partitions owned or remembered; the default grows with the topics"),
    row!(Count, window, "records in flight, all partitions together"),
    row!(Count, budget, "records at or above the completion mark, per partition"),
    row!(Count, keys, "finished keys remembered"),
    GuardSetting {
        name: "key_age",
        field: Field::KeyAge,
        help: "finished keys are forgotten when so old; none: only for newer ones",
    },
    GuardSetting {
        name: "key_policy",
        field: Field::Policy,
        help: "without a usable key: required parks, optional runs without dedupe",
    },
    row!(Small, attempts_max, "attempts before a dead letter; no limit without a topic"),
    row!(Span, backoff, "delay before the second attempt; doubles with each"),
    row!(Span, backoff_cap, "longest delay between attempts"),
    row!(Percent, jitter, "share of a delay that jitter may take away, in percent"),
    row!(Span, lease, "without a poll for so long all is lost (max.poll.interval.ms - 10 %)"),
    GuardSetting {
        name: "drain",
        field: Field::Span(|settings| &mut settings.drain),
        help: "time to finish a revoked partition's work; never above half the lease",
    },
    row!(Span, commit_interval, "time between commits of one partition"),
    row!(Count, commit_count, "finished records that make a commit due before its time"),
    row!(Span, commit_timeout, "a commit unanswered for so long is repeated"),
    row!(Span, commit_backoff, "delay before a commit is repeated"),
    row!(Span, storm_window, "sliding window in which rebalances are counted"),
    row!(Small, storm_rising, "so many rebalances in the window: rising"),
    row!(Small, storm_at, "so many: a storm"),
    row!(Small, storm_calm, "no more than so many: calm again"),
    GuardSetting {
        name: "hold_in_storm",
        field: Field::HoldInStorm,
        help: "hold records while in a storm",
    },
    row!(Span, stall_after, "unfinished or owed records without progress for so long: a stall"),
    row!(Small, metadata_max, "bytes of commit metadata; 0 neither writes nor reads any"),
    row!(Count, journal, "refusals and transitions kept for the log (SIGUSR1)"),
    row!(Count, epoch, "raised by the operator after a group was deleted"),
];

/// The table as help text, defaults included.
pub(crate) fn help() -> String {
    let defaults = GuardSettings::default();
    let mut text =
        String::from("Guard settings (--guard NAME=VALUE, RG_GUARD_NAME, [guard] in the file):\n");
    for row in TABLE {
        let value = row.show(&defaults).replace('"', "");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<16}{value:<10}{}", row.name, row.help);
    }
    text
}

/// A whole number.
pub(crate) fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let largest = u64::MAX >> (64 - 8 * size_of::<T>().clamp(1, 8));
    let refused = || format!("must be a whole number from 0 to {largest}");
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let value = plain.parse::<u64>().map_err(|_| refused())?;
    T::try_from(value).map_err(|_| refused())
}

/// A span in ms: a plain number of ms, or a number with `ms`, `s` or `m`.
pub(crate) fn span(text: &str) -> Result<u64, String> {
    let refused = || "must be a span such as 500ms, 20s or 5m (a plain number is ms)".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let factor = match text[digits.len()..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(refused()),
    };
    let value = number::<u64>(digits).map_err(|_| refused())?.checked_mul(factor);
    // A thousand years: far below the end of the guard's time, so that no deadline saturates.
    value
        .filter(|ms| *ms < 31_536_000_000_000)
        .ok_or_else(|| "is longer than a thousand years".into())
}

/// `ms` as the shortest exact span.
pub(crate) fn span_text(ms: u64) -> String {
    match ms {
        0 => "0ms".into(),
        ms if ms % 1_000 == 0 => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

/// A span, or `none`.
fn age(text: &str) -> Result<Option<u64>, String> {
    if text == "none" { Ok(None) } else { span(text).map(Some) }
}

/// True or false.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

fn policy(text: &str) -> Result<KeyPolicy, String> {
    match text {
        "required" => Ok(KeyPolicy::Required),
        "optional" => Ok(KeyPolicy::Optional),
        _ => Err("must be required or optional".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of defaults that the design promises.
    const PROMISED: &[(&str, &str)] = &[
        ("partitions", "64"),
        ("window", "1024"),
        ("budget", "4096"),
        ("keys", "65536"),
        ("key_age", "none"),
        ("key_policy", "required"),
        ("attempts_max", "5"),
        ("backoff", "100ms"),
        ("backoff_cap", "10s"),
        ("jitter", "20"),
        ("lease", "270s"),
        ("drain", "20s"),
        ("commit_interval", "1s"),
        ("commit_count", "1000"),
        ("commit_timeout", "5s"),
        ("commit_backoff", "200ms"),
        ("storm_window", "60s"),
        ("storm_rising", "3"),
        ("storm_at", "5"),
        ("storm_calm", "1"),
        ("hold_in_storm", "false"),
        ("stall_after", "60s"),
        ("metadata_max", "3072"),
        ("journal", "256"),
        ("epoch", "0"),
    ];

    #[test]
    fn every_default_is_the_promised_one_and_help_says_so() {
        let help = help();
        assert_eq!(TABLE.len(), PROMISED.len());
        for (row, (name, value)) in TABLE.iter().zip(PROMISED) {
            assert_eq!(row.name, *name);
            assert_eq!(row.show(&GuardSettings::default()).replace('"', ""), *value, "{name}");
            assert!(help.contains(&format!("  {name:<16}{value:<10}")), "{name}: {help}");
        }
    }

    #[test]
    fn the_lease_follows_the_poll_interval_and_the_drain_half_the_lease() {
        let usual = GuardSettings::for_max_poll(300_000);
        assert_eq!((usual.config.lease, usual.drain), (270_000, 20_000));
        let short = GuardSettings::for_max_poll(10_000);
        assert_eq!((short.config.lease, short.drain), (9_000, 4_500));
    }

    #[test]
    fn every_value_that_is_shown_can_be_read_back() {
        for row in TABLE {
            let mut settings = GuardSettings::default();
            let shown = row.show(&settings).replace('"', "");
            row.set(&mut settings, &shown).expect(row.name);
            assert_eq!(settings, GuardSettings::default(), "{}", row.name);
        }
    }

    #[test]
    fn spans_are_read_with_and_without_a_unit() {
        let read = ["250", "250ms", "20s", "20 s", "5m", "1_000"].map(span);
        assert_eq!(read, [Ok(250), Ok(250), Ok(20_000), Ok(20_000), Ok(300_000), Ok(1_000)]);
        for bad in ["", "-1", "1.5s", "5h", "s", "99999999999999999999", "9999999999999m"] {
            assert!(span(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn numbers_outside_their_range_are_refused_with_the_range() {
        assert_eq!(number::<u16>("65536"), Err("must be a whole number from 0 to 65535".into()));
        assert_eq!(number::<u32>("-1"), Err("must be a whole number from 0 to 4294967295".into()));
        assert_eq!(number::<u64>("18446744073709551615"), Ok(u64::MAX));
    }
}
