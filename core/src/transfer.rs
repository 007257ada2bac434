//! One partition from guard to guard, in the vocabulary that there is: what is exported is where
//! reading resumes, and what is imported is an assign.

use crate::memory::Memory;
use crate::partition::{self, Start};
use crate::state::NO_OFFSET;
use crate::{Guard, Input, InputError, Offset, Partition, Reply, Resume, Tick};

/// Where another guard goes on with a partition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs, reason = "built by one guard, read by another")]
pub struct Export<'a> {
    /// The completion mark as the resume position, with the set above it as metadata.
    pub resume: Resume<'a>,
    /// What the group was last known to hold; `None`: nothing, or not known.
    pub group: Option<Offset>,
}

impl<M: Memory> Guard<M> {
    /// The progress of one partition, for a guard that takes it over in the same generation (a
    /// worker that is split in two, say); `None` when it is not owned. Nothing changes here: tell
    /// this guard that the partition is lost before the other one admits anything.
    ///
    /// `room` takes the metadata; in one that is too short, or with `metadata_max` exceeded, the
    /// set above the mark is left out and those records run again. So do they when the group holds
    /// no offset yet. Finished keys stay: they are this guard's.
    pub fn export<'a>(&self, partition: Partition, room: &'a mut [u8]) -> Option<Export<'a>> {
        let progress = self.progress(partition)?;
        let len = self.commit_metadata(partition, room);
        let (_, view) = self.seen();
        let slot = partition::find(view.partition_index, view.partitions, partition)?;
        let entry = view.partitions.get(slot as usize)?;
        let metadata = room.get(..len).unwrap_or_default();
        let resume = match (progress.mark, entry.start) {
            (None, Start::Empty) => Resume::Empty(None),
            (None, _) => Resume::Unknown,
            (Some(mark), Start::Empty) if entry.confirmed == NO_OFFSET => Resume::Empty(Some(mark)),
            (Some(mark), Start::At) if entry.confirmed == NO_OFFSET => Resume::At(mark),
            (Some(offset), _) => Resume::Committed { offset, metadata },
        };
        Some(Export { resume, group: progress.confirmed })
    }

    /// Takes over a partition that another guard exported: an assign, and the news of what the
    /// group holds when that is less than what was finished.
    ///
    /// # Errors
    /// As [`Input::Assign`]: nothing was applied.
    pub fn import(
        &mut self,
        now: Tick,
        generation: Option<i32>,
        partition: Partition,
        export: Export<'_>,
    ) -> Result<Reply, InputError> {
        let reply = self.assign(now, generation, &[(partition, export.resume)])?;
        if let (Some(offset), Some(progress)) = (export.group, self.progress(partition))
            && progress.mark.is_some_and(|mark| offset < mark)
        {
            let assignment = progress.assignment;
            return self.handle(now, Input::GroupOffset { partition, assignment, offset });
        }
        Ok(reply)
    }
}
