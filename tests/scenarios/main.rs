//! The guard told as stories: the promises of the original guard, the rules of the design section
//! by section, and field reports of other systems, each with the public issue that it comes from.

mod admission;
mod answers;
mod capacity;
mod churn;
mod clock;
mod commit;
mod commit_answers;
mod commit_starts;
mod counters;
mod drain;
mod duplicates;
mod fence;
mod finishing;
mod group_offset;
mod inert;
mod lease;
mod life;
mod lost;
mod original;
mod outputs;
mod pause;
mod poison;
mod regression;
mod rewind;
mod settings;
mod stale;
mod storm;
mod support;
mod words;
