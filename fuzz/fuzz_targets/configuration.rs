//! The host's configuration alone, by its files: the host as a whole would bring Wasmtime and
//! librdkafka along. The Kafka client's own judgement of a setting is a stand-in here.
#![no_main]
#![allow(dead_code, unused_imports, reason = "the host uses the rest of these files")]

extern crate self as rdkafka;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use settings::{Layers, RunConfig};

#[path = "../../host/src/key/mod.rs"]
mod key;
#[path = "../../host/src/record.rs"]
mod record;
#[path = "../../host/src/config/mod.rs"]
mod settings;

/// In the place of `rdkafka::config`: knows names with a dot, and takes any value but `?`.
pub mod config {
    use super::error::KafkaError;

    #[derive(Default)]
    pub struct ClientConfig(Vec<(String, String)>);

    impl ClientConfig {
        pub fn new() -> Self {
            Self::default()
        }

        pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
            self.0.push((name.to_owned(), value.to_owned()));
            self
        }

        pub fn create_native_config(&self) -> Result<(), KafkaError> {
            let known = self.0.iter().all(|(name, _)| name.contains('.'));
            let words = if known { "Invalid value" } else { "No such configuration property" };
            if known && self.0.iter().all(|(_, value)| value != "?") {
                return Ok(());
            }
            Err(KafkaError::ClientConfig((), words.to_owned()))
        }
    }
}

/// In the place of `rdkafka::error`.
pub mod error {
    use std::fmt;

    pub enum KafkaError {
        ClientConfig((), String),
        Other,
    }

    impl fmt::Display for KafkaError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("another error")
        }
    }
}

fuzz_target!(|text: &str| {
    let (mut layers, mut problems) = (Layers::default(), Vec::new());
    layers.give_text(Path::new("guard.toml"), text, &mut problems);
    match RunConfig::build(&layers, problems) {
        Ok(config) => readable(&config.effective(), text),
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
});

/// What is printed as effective is a configuration, whatever the masked secrets hid.
fn readable(effective: &str, text: &str) {
    let (mut layers, mut problems) = (Layers::default(), Vec::new());
    layers.give_text(Path::new("effective.toml"), effective, &mut problems);
    assert!(problems.is_empty(), "{text}\nmeans\n{effective}");
}
