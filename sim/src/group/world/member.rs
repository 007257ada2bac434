//! A member's process, with a guard or without, as the world sees it.

use crate::group::naive::Naive;
use crate::group::process::{Process, Shared, Trouble};

/// A member's process, with a guard or without.
pub(super) enum Member {
    Guarded(Box<Process>),
    Naive(Box<Naive>),
}

impl Member {
    pub(super) fn trouble(&mut self) -> &mut Trouble {
        match self {
            Self::Guarded(process) => &mut process.trouble,
            Self::Naive(naive) => &mut naive.trouble,
        }
    }

    pub(super) fn serve(&mut self, shared: &mut Shared<'_>) {
        match self {
            Self::Guarded(process) => process.serve(shared),
            Self::Naive(naive) => naive.serve(shared),
        }
    }

    pub(super) fn ended(&self) -> bool {
        match self {
            Self::Guarded(process) => process.ended,
            Self::Naive(naive) => naive.ended,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Guarded(process) => process.is_idle(),
            Self::Naive(naive) => naive.is_idle(),
        }
    }

    pub(super) fn number(&self) -> usize {
        match self {
            Self::Guarded(process) => process.member,
            Self::Naive(naive) => naive.member,
        }
    }

    pub(super) fn address(&self) -> u64 {
        match self {
            Self::Guarded(process) => process.client.from.address,
            Self::Naive(naive) => naive.client.from.address,
        }
    }

    pub(super) fn reads(&self) -> Vec<u32> {
        match self {
            Self::Guarded(process) => process.reads().collect(),
            Self::Naive(naive) => naive.reads().collect(),
        }
    }
}
