//! Logs on standard error, human or JSON.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

/// Begins to write logs.
///
/// # Errors
/// The filter cannot be read.
pub(crate) fn start(json: bool, filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        format!(
            "the log filter `{filter}` cannot be read: {error}\n    write a level (error, warn, \
             info, debug, trace) or pairs such as `info,rdkafka=debug`"
        )
    })?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // Logs that were begun before (a test's) go on.
    let _ = if json {
        logs.json().try_init()
    } else {
        logs.with_ansi(io::stderr().is_terminal()).try_init()
    };
    Ok(())
}
