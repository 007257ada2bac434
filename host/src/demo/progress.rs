//! Live progress on standard error: a bar on a terminal, lines elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of one arm.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    arm: &'static str,
}

impl Progress {
    pub(super) fn new(arm: &'static str, records: u64) -> Self {
        let bar = ProgressBar::new(records);
        let style = "{prefix:>9} {bar:32} {pos:>6}/{len} sent  {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.set_prefix(arm);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, arm }
    }

    /// The next step of the script.
    pub(super) fn step(&self, what: &str) {
        let line = format!("{:>9} {:>3} s  {what}", self.arm, self.bar.elapsed().as_secs());
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    /// How much was sent, and how much took effect.
    pub(super) fn count(&self, sent: u64, applied: u64) {
        self.bar.set_position(sent);
        self.bar.set_message(format!("{applied} orders took effect"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
