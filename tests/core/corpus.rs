//! The committed corpora, replayed by the functions that the fuzz targets call.

use std::fs;
use std::path::{Path, PathBuf};

use rebalance_guard_core_tests::fuzz;

/// Under Miri, some hundred times slower, one file in so many is run.
const ONE_IN: usize = if cfg!(miri) { 25 } else { 1 };

/// Runs every file of a corpus; how many.
fn replay(target: &str, run: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    for file in files.iter().step_by(ONE_IN) {
        let bytes = fs::read(file).expect("a file of the corpus");
        // Under --show-output the last name is the one that failed.
        println!("{}", file.display());
        run(&bytes);
    }
    files.len()
}

#[test]
fn input_sequences_keep_every_promise_and_agree_with_the_model() {
    assert!(replay("sequence", fuzz::sequence) >= 50);
}

#[test]
fn the_exchange_buffer_refuses_or_answers_whatever_it_holds() {
    assert!(replay("exchange", fuzz::exchange) >= 50);
}

#[test]
fn commit_metadata_is_ignored_or_written_again_as_it_was() {
    assert!(replay("metadata", fuzz::metadata) >= 20);
}

#[test]
fn snapshots_are_refused_or_give_a_guard_that_works() {
    assert!(replay("snapshot", fuzz::snapshot) >= 20);
}
