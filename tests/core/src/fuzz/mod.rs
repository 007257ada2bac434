//! What each fuzz target does with its bytes. A function that returns found nothing; one that
//! panics found something. `docs/fuzzing.md` says how to run them.

mod exchange;
mod metadata;
mod sequence;
mod snapshot;
mod source;

use rebalance_guard::{Config, Guard};
use rebalance_guard_sim::Heap;

pub use exchange::exchange;
pub use metadata::metadata;
pub use sequence::{sequence, trace};
pub use snapshot::snapshot;

fn core(config: Config) -> Guard<Heap> {
    Guard::new(Heap::new(&config), config).expect("the settings are sound")
}

fn taken(guard: &Guard<Heap>) -> Vec<u8> {
    let mut bytes = vec![0; guard.snapshot_len()];
    let written = guard.snapshot(&mut bytes);
    assert_eq!(written, Ok(bytes.len()), "a snapshot is as long as was said");
    bytes
}
