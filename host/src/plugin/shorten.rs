//! Inputs that are longer than the exchange buffer.

use std::collections::{HashMap, HashSet};

use rebalance_guard::{Input, InputError, Partition, Reply, Resume, Scope, Tick};

use super::encode::TooLong;
use super::engine::PluginEngine;
use crate::engine::{Engine, EngineDead};

impl PluginEngine {
    /// A list longer than the exchange buffer, which holds every partition there may be: what names
    /// a partition twice or names one that is not owned can be left out without a difference.
    pub(super) fn handle_shortened(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        let handled = match input {
            Input::Revoke { partitions, deadline } => {
                let partitions = &self.only_owned(partitions)?;
                self.handle_written(now, Input::Revoke { partitions, deadline })?
            }
            Input::Lost(Scope::Some(partitions)) => {
                let partitions = self.only_owned(partitions)?;
                self.handle_written(now, Input::Lost(Scope::Some(&partitions)))?
            }
            Input::Assign { generation, partitions } => {
                let partitions = &last_entries(partitions);
                let without = &without_metadata(partitions);
                let mut handled =
                    self.handle_written(now, Input::Assign { generation, partitions })?;
                if handled.is_err() {
                    // Too much metadata for any buffer: those records run again.
                    let partitions = without;
                    handled = self.handle_written(now, Input::Assign { generation, partitions })?;
                }
                match handled {
                    Ok(reply) => Ok(reply),
                    Err(TooLong) => {
                        // More partitions than the table has places: refused, but time passes.
                        self.handle_timeout(now)?;
                        let needed = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
                        Ok(Err(InputError::PartitionsFull { needed, available: 0 }))
                    }
                }
            }
            _ => Err(TooLong),
        };
        match handled {
            Ok(reply) => Ok(reply),
            Err(too_long) => self.exchange(|_| Err(too_long.into())),
        }
    }

    fn only_owned(&mut self, named: &[Partition]) -> Result<Vec<Partition>, EngineDead> {
        let owned: HashSet<_> = self.owned()?.into_iter().map(|(partition, _)| partition).collect();
        let mut seen = HashSet::new();
        let wanted =
            |partition: &&Partition| owned.contains(*partition) && seen.insert(**partition);
        Ok(named.iter().filter(wanted).copied().collect())
    }
}

/// Each partition once, with its last entry.
fn last_entries<'a>(entries: &[(Partition, Resume<'a>)]) -> Vec<(Partition, Resume<'a>)> {
    let last: HashMap<_, _> = entries.iter().copied().collect();
    let mut seen = HashSet::new();
    let firsts = entries.iter().map(|(partition, _)| *partition).filter(|p| seen.insert(*p));
    firsts.filter_map(|partition| last.get(&partition).map(|at| (partition, *at))).collect()
}

fn without_metadata(entries: &[(Partition, Resume<'_>)]) -> Vec<(Partition, Resume<'static>)> {
    let bare = |resume: Resume<'_>| match resume {
        Resume::Committed { offset, .. } => Resume::committed(offset),
        Resume::Empty(offset) => Resume::Empty(offset),
        Resume::At(offset) => Resume::At(offset),
        Resume::Unknown => Resume::Unknown,
    };
    entries.iter().map(|(partition, resume)| (*partition, bare(*resume))).collect()
}
