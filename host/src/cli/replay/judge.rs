//! The oracle over a file.

use std::cell::RefCell;

use rebalance_guard_sim::jsonl::File;
use rebalance_guard_sim::oracle::{Witness, check_trace};

use super::answering::Answering;
use crate::cli::exit;
use crate::engine::EngineDead;
use crate::gateway::EngineFactory;

/// An engine that is told a file, and which line told what.
pub(super) struct Judge {
    pub(super) witness: Witness<Answering>,
    /// The line of each step of the witness's trace.
    lines: Vec<usize>,
}

impl Judge {
    pub(super) fn new(file: &File, answering: Answering) -> Self {
        Self { witness: Witness::new(*file.config(), answering), lines: Vec::new() }
    }

    pub(super) fn dead(&self) -> Option<&EngineDead> {
        self.witness.subject().dead.as_ref()
    }

    /// Everything told by now and not before was told by this line.
    pub(super) fn told(&mut self, line: usize) {
        let steps = self.witness.trace().map_or(0, |trace| trace.steps.len());
        self.lines.resize(steps, line);
    }

    /// Judges what was told, on engines of the same kind. Gives the exit code.
    ///
    /// # Errors
    /// An engine cannot be made.
    pub(super) fn judge(&self, factory: &mut EngineFactory) -> Result<u8, String> {
        let Some(trace) = self.witness.trace() else {
            eprintln!(
                "the file goes on from a guard of before, whose history is not in it, so --oracle \
                 cannot judge it: take the first file of the recording, or leave --oracle out"
            );
            return Ok(exit::SETTINGS);
        };
        // One engine a run; the first that cannot be made is said before any is asked.
        drop(factory.make(&trace.config)?);
        let factory = RefCell::new(factory);
        let make = || {
            let made = factory.borrow_mut().make(&trace.config);
            Answering::new(made.expect("one was made a moment ago"))
        };
        match check_trace(trace.config, trace, make) {
            Ok(stats) => {
                eprintln!("the oracle: no promise broken in {} inputs", stats.steps);
                Ok(exit::OK)
            }
            Err(broken) => {
                let line = self.lines.get(broken.step).copied().unwrap_or_default();
                eprintln!("line {line}: {} is broken: {}", broken.promise, broken.detail);
                Ok(exit::FAILED)
            }
        }
    }
}
