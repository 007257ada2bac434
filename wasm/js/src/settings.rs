//! The settings, from an object and back.

use js_sys::{Array, Date, Object};
use rebalance_guard::{Config, HashKey, KeyPolicy};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::wrong;
use crate::read::{self, Fields, Read};
use crate::write::{big, set, text};

const KNOWN: &[&str] = &[
    "topic",
    "partitions",
    "window",
    "keys",
    "budget",
    "attemptsMax",
    "backoff",
    "backoffCap",
    "jitter",
    "lease",
    "commitInterval",
    "commitCount",
    "commitTimeout",
    "commitBackoff",
    "keyPolicy",
    "keyAge",
    "stormWindow",
    "stormRising",
    "stormAt",
    "stormCalm",
    "holdInStorm",
    "stallAfter",
    "journal",
    "metadataMax",
    "epoch",
    "firstAssignment",
    "jitterSeed",
    "hashKey",
];

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues, catch)]
    fn fill_with_random(room: &mut [u8]) -> Result<(), JsValue>;
}

/// What the constructor was given, with the product's defaults for the rest.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    /// The topic of calls that name none.
    pub(crate) topic: Option<String>,
}

impl Settings {
    /// From the constructor's argument; undefined: the defaults.
    pub(crate) fn read(value: &JsValue) -> Read<Self> {
        let empty = Object::new();
        let value = if value.is_undefined() { empty.as_ref() } else { value };
        let fields = Fields::of(value, "the settings", KNOWN)?;
        let topic = fields.get("topic")?.map(|value| read::topic(&value)).transpose()?;
        let mut config = sizes(&fields, Config::default())?;
        config = spans(&fields, config)?;
        config = storms(&fields, config)?;
        config = identity(&fields, config)?;
        Ok(Self { config, topic })
    }
}

fn sizes(fields: &Fields, given: Config) -> Read<Config> {
    Ok(Config {
        partitions: fields.small("partitions", given.partitions)?,
        window: fields.small("window", given.window)?,
        keys: fields.small("keys", given.keys)?,
        budget: fields.small("budget", given.budget)?,
        attempts_max: fields.small("attemptsMax", given.attempts_max)?,
        commit_count: fields.small("commitCount", given.commit_count)?,
        journal: fields.small("journal", given.journal)?,
        metadata_max: fields.small("metadataMax", given.metadata_max)?,
        ..given
    })
}

fn spans(fields: &Fields, given: Config) -> Read<Config> {
    let key_age = fields.get("keyAge")?.filter(|value| !value.is_null());
    Ok(Config {
        backoff: fields.small("backoff", given.backoff)?,
        backoff_cap: fields.small("backoffCap", given.backoff_cap)?,
        jitter: fields.small("jitter", given.jitter)?,
        lease: fields.small("lease", given.lease)?,
        commit_interval: fields.small("commitInterval", given.commit_interval)?,
        commit_timeout: fields.small("commitTimeout", given.commit_timeout)?,
        commit_backoff: fields.small("commitBackoff", given.commit_backoff)?,
        stall_after: fields.small("stallAfter", given.stall_after)?,
        key_age: key_age.map(|value| read::whole(&value, "keyAge")).transpose()?,
        ..given
    })
}

fn storms(fields: &Fields, given: Config) -> Read<Config> {
    Ok(Config {
        storm_window: fields.small("stormWindow", given.storm_window)?,
        storm_rising: fields.small("stormRising", given.storm_rising)?,
        storm_at: fields.small("stormAt", given.storm_at)?,
        storm_calm: fields.small("stormCalm", given.storm_calm)?,
        hold_in_storm: fields.flag("holdInStorm")?,
        ..given
    })
}

/// What must differ from process to process is random unless it is given.
fn identity(fields: &Fields, given: Config) -> Read<Config> {
    let mut random = [0; 32];
    fill_with_random(&mut random)?;
    let (words, _) = random.as_chunks::<8>();
    let [first, seed, key0, key1] = [0, 1, 2, 3].map(|at| words.get(at).map_or(0, word));
    let hash_key = match fields.get("hashKey")? {
        None => [key0, key1],
        Some(value) => {
            let list = read::list(&value, "hashKey")?;
            let [low, high] = list.as_slice() else { return Err(wrong("hashKey", "two BigInts")) };
            [read::whole(low, "hashKey")?, read::whole(high, "hashKey")?]
        }
    };
    Ok(Config {
        key_policy: key_policy(fields)?,
        epoch: fields.small("epoch", given.epoch)?,
        first_assignment: fields.small("firstAssignment", number_of_now(first))?,
        jitter_seed: fields.small("jitterSeed", seed)?,
        hash_key: HashKey(hash_key),
        ..given
    })
}

fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

/// Start time in ms shifted left by 20, plus 20 random bits: rises from process to process.
fn number_of_now(random: u64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ms since 1970: far below 2^43"
    )]
    let now = Date::now().max(0.0) as u64;
    (now << 20) | (random & 0xF_FFFF).max(1)
}

fn key_policy(fields: &Fields) -> Read<KeyPolicy> {
    let Some(value) = fields.get("keyPolicy")? else { return Ok(KeyPolicy::Required) };
    match value.as_string().as_deref() {
        Some("required") => Ok(KeyPolicy::Required),
        Some("optional") => Ok(KeyPolicy::Optional),
        _ => Err(wrong("keyPolicy", "\"required\" or \"optional\"")),
    }
}

/// The settings in force, which a snapshot must be restored under.
pub(crate) fn write(config: &Config, topic: Option<&str>) -> Object {
    let object = Object::new();
    if let Some(topic) = topic {
        set(&object, "topic", topic);
    }
    for (name, value) in counts(config) {
        set(&object, name, value);
    }
    for (name, value) in wide(config) {
        set(&object, name, big(value));
    }
    let policy = match config.key_policy {
        KeyPolicy::Required => "required",
        KeyPolicy::Optional => "optional",
    };
    set(&object, "keyPolicy", text(policy));
    set(&object, "keyAge", config.key_age.map_or(JsValue::NULL, big));
    set(&object, "holdInStorm", config.hold_in_storm);
    let HashKey([low, high]) = config.hash_key;
    set(&object, "hashKey", Array::of2(&big(low), &big(high)));
    object
}

fn counts(config: &Config) -> [(&'static str, u32); 13] {
    [
        ("partitions", config.partitions),
        ("window", config.window),
        ("keys", config.keys),
        ("budget", config.budget),
        ("attemptsMax", config.attempts_max.into()),
        ("jitter", config.jitter.into()),
        ("commitCount", config.commit_count),
        ("stormRising", config.storm_rising.into()),
        ("stormAt", config.storm_at.into()),
        ("stormCalm", config.storm_calm.into()),
        ("journal", config.journal),
        ("metadataMax", config.metadata_max.into()),
        ("epoch", config.epoch),
    ]
}

fn wide(config: &Config) -> [(&'static str, u64); 10] {
    [
        ("backoff", config.backoff),
        ("backoffCap", config.backoff_cap),
        ("lease", config.lease),
        ("commitInterval", config.commit_interval),
        ("commitTimeout", config.commit_timeout),
        ("commitBackoff", config.commit_backoff),
        ("stormWindow", config.storm_window),
        ("stallAfter", config.stall_after),
        ("firstAssignment", config.first_assignment),
        ("jitterSeed", config.jitter_seed),
    ]
}
