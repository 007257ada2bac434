//! Live progress on standard error, on a terminal alone.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How many of the runs are over.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(runs: usize) -> Self {
        let bar = ProgressBar::new(runs as u64);
        let style = "{bar:32} {pos:>3}/{len} simulated  {msg}  {elapsed}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// What comes next.
    pub(super) fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// It is over.
    pub(super) fn done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
