//! Histories from the field, told to the native guard, the plugin and the reference model: each
//! answers as the file expects, and all three alike. `docs/field-reports.md` says whose they are.
#![forbid(unsafe_code)]

mod recording;

use std::fs;
use std::path::{Path, PathBuf};

use rebalance_guard::Guard;
use rebalance_guard_sim::jsonl::{self, File, Played};
use rebalance_guard_sim::oracle::{Witness, check_trace};
use rebalance_guard_sim::{Heap, Model, Subject};
use rebalance_guard_tests::plugin::{EngineSubject, plugin};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("traces")
}

fn played(file: &File, engine: &str, subject: &mut impl Subject) -> Vec<String> {
    let all = jsonl::play(file, subject).unwrap_or_else(|bad| panic!("{engine}: {bad}"));
    for Played { line, shown, difference } in &all {
        if let Some(difference) = difference {
            panic!("{engine}, line {line}: {difference}\n{shown}");
        }
    }
    all.into_iter().map(|played| played.shown).collect()
}

fn file_of(test: &str) -> String {
    format!("{}.jsonl", test.replace('_', "-"))
}

fn play_on_every_engine(name: &str) {
    let text = fs::read_to_string(folder().join(name)).expect("the file is there");
    let file = File::read(&text).unwrap_or_else(|bad| panic!("{bad}"));
    let config = *file.config();
    let core = || Guard::new(Heap::new(&config), config).expect("sound settings");
    let mut witness = Witness::new(config, core());
    let native = played(&file, "native", &mut witness);
    let history = witness.trace().expect("no file begins with a restored guard");
    check_trace(config, history, core).unwrap_or_else(|broken| panic!("{history}{broken}"));
    let model = played(&file, "model", &mut Model::new(config));
    assert_eq!(native, model);
    let mut engine = EngineSubject(plugin().start(&config).expect("it starts"));
    assert_eq!(native, played(&file, "plugin", &mut engine));
}

/// A test for each file: `b07_two_handlers` plays `b07-two-handlers.jsonl`.
macro_rules! traces {
    ($($name:ident,)+) => {
        const TESTS: &[&str] = &[$(stringify!($name)),+];

        $(
            #[test]
            fn $name() {
                play_on_every_engine(&file_of(stringify!($name)));
            }
        )+
    };
}

traces! {
    b01_stray_record_after_a_rebalance,
    b02_fetched_records_after_the_revoke,
    b04_records_before_the_assign_is_finished,
    b05_lower_offsets_after_a_reassign,
    b07_two_handlers_for_one_record,
    b08_no_revoke_and_no_poll,
    b10_placeholder_position_before_the_committed_one,
    b100_nothing_is_owned_and_nobody_says_so,
    b101_a_storm_that_comes_twice,
    b103_after_an_eviction_no_rebalance_follows,
    b104_two_processes_with_one_instance_id,
    b106_tokens_of_the_process_before,
    b11_a_consumer_restarted_inside_the_process,
    b110_the_clock_goes_back,
    b110_the_clock_jumps_by_years,
    b118_a_stale_result_is_final,
    b119_just_assigned_is_not_idle,
    b121_rounds_of_a_hand_back_leave_nothing_behind,
    b122_paused_again_in_the_next_ownership,
    b124_one_record_that_never_succeeds,
    b125_assigned_again_at_full_capacity,
    b127_one_partition_too_many_in_one_assign,
    b128_a_key_with_live_work_is_never_evicted,
    b13_clean_up_of_a_stale_entry_at_the_same_offset,
    b130_a_record_without_a_key,
    b131_records_without_a_key_are_not_one_key,
    b133_equal_bytes_and_equal_hashes,
    b134_the_same_key_in_two_partitions,
    b136_names_that_look_alike,
    b137_dots_and_underscores,
    b139_records_without_a_value,
    b14_late_acknowledgements_of_the_first_delivery,
    b142_a_ticket_of_a_dead_instance,
    b146_offsets_beyond_two_to_the_fifty_third,
    b16_acknowledgements_against_a_recreated_ledger,
    b17_assigned_again_without_a_revoke,
    b19_a_delayed_revoke_of_the_old_ownership,
    b20_a_position_asked_for_an_older_ownership,
    b22_the_old_workers_clean_up_comes_last,
    b23_an_empty_assign_after_a_revoke,
    b25_work_that_finishes_after_the_revoke_runs_again,
    b26_numbers_that_begin_again_in_a_new_channel,
    b28_the_mark_when_the_flights_are_cleared,
    b29_a_quiet_partition_never_creeps_on,
    b31_commit_answers_that_overtake_each_other,
    b32_the_value_is_fixed_when_it_is_offered,
    b34_a_revoke_of_another_partition,
    b35_one_batch_over_three_partitions,
    b37_one_of_three_is_revoked_before_the_commit,
    b38_a_generation_error_during_a_rebalance,
    b40_the_old_owners_late_commit,
    b41_a_partition_that_left_is_gone_from_the_commits,
    b43_a_batch_abandoned_in_a_rebalance_that_kept_it,
    b44_work_that_finishes_after_the_drain,
    b44_work_that_finishes_inside_the_drain,
    b46_a_failed_record_is_not_waited_for,
    b47_assign_and_revoke_in_one_poll,
    b49_a_drain_that_is_cut_off,
    b50_a_revoke_never_waits_for_an_admit,
    b52_no_retry_after_the_revoke,
    b53_lost_in_the_middle_of_a_drain,
    b55_lost_is_not_revoked,
    b56_an_idle_partition_is_lost,
    b58_offsets_recorded_before_a_loss,
    b59_an_offset_stored_from_before_the_reassign,
    b61_a_resume_of_what_was_never_paused,
    b62_nothing_processed_and_nothing_committed,
    b64_a_topic_made_anew,
    b65_retention_removed_the_resume_position,
    b67_kept_state_merged_with_the_replay,
    b68_records_dropped_without_a_seek,
    b68_sought_to_the_last_instead_of_the_next,
    b70_a_lower_offset_without_a_rebalance,
    b71_offset_zero_is_an_offset,
    b74_many_finished_above_an_open_one,
    b74_the_largest_offsets,
    b76_a_high_offset_does_not_wrap,
    b77_transaction_markers_between_records,
    b79_carried_work_that_compaction_removed,
    b80_a_marker_at_the_end_of_the_log,
    b82_sparse_offsets_and_a_step_back,
    b83_the_same_offset_in_two_polls,
    b86_two_copies_from_two_fetches,
    b88_the_attempt_count_ends_with_the_ownership,
    b89_an_attempt_count_seeded_by_the_host,
    b89_fifty_ownerships_without_progress,
    b91_a_dead_letter_that_is_refused_for_ever,
    b92_back_off_and_work_beyond_the_poll_limit,
    b94_a_dead_letter_without_key_and_value,
    b95_partitions_owned_in_the_past,
    b97_a_record_that_outlasts_the_poll_limit,
    b98_a_rebalance_every_ten_milliseconds,
    snapshot_and_restore,
}

#[test]
fn every_file_of_the_folder_is_played() {
    let files = fs::read_dir(folder()).expect("the folder is there");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let mut there: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
    there.sort();
    let mut played: Vec<_> = TESTS.iter().map(|test| file_of(test)).collect();
    played.sort();
    assert_eq!(there, played);
}

#[test]
fn a_line_that_differs_is_named_with_both_values() {
    let text =
        "{\"do\":\"config\"}\n{\"do\":\"tick\",\"now\":5,\"expect\":{\"outputs\":[\"stall\"]}}\n";
    let file = File::read(text).expect("it can be read");
    let all = jsonl::play(&file, &mut Model::new(*file.config())).expect("it can be played");
    let difference = all[0].difference.as_deref();
    assert_eq!(all[0].line, 2);
    assert_eq!(difference, Some("outputs: expected [\"stall\"], is []"));
}

#[test]
fn a_line_that_is_none_is_refused_with_its_number() {
    let config = "{\"do\":\"config\"}";
    let cases = [
        ("", "the file is empty: its first line is `{\"do\":\"config\"}`"),
        ("{\"do\":\"polled\"}", "line 1: the first line must be `\"do\":\"config\"`"),
        (
            "{\"do\":\"config\",\"windows\":5}",
            "line 1: `config` has no field `windows`: check its spelling",
        ),
        ("{\"do\":\"config\",\"window\":0}", "line 1: `window` must be at least 1"),
        (
            &format!("{config}\n\n{{\"do\":\"poled\",\"now\":1}}"),
            "line 3: there is nothing to do called `poled`",
        ),
        (
            &format!("{config}\n{{\"do\":\"tick\",\"now\":1,\"partition\":2}}"),
            "line 2: `tick` has no field `partition`: check its spelling",
        ),
        (
            &format!("{config}\n{{\"do\":\"tick\",\"now\":1,\"plus\":2}}"),
            "line 2: `now` and `plus` are two times: keep one",
        ),
        (
            &format!("{config}\n{{\"do\":\"admit\",\"now\":1,\"partition\":0,\"offset\":-1}}"),
            "line 2: `offset` must be a whole number from 0 to 18446744073709551615, not -1",
        ),
        (
            &format!("{config}\n{{\"do\":\"revoke\",\"now\":1,\"partitions\":[]}}"),
            "line 2: a revoke has a `drain` or a `deadline`",
        ),
    ];
    for (text, why) in cases {
        assert_eq!(File::read(text).expect_err("refused"), why, "{text}");
    }
}

#[test]
fn what_the_simulator_tells_can_be_written_and_played_again() {
    for seed in 0..200 {
        let trace = rebalance_guard_sim::random::trace(seed, 120);
        let text = jsonl::lines(&trace);
        let file = File::read(&text).unwrap_or_else(|bad| panic!("seed {seed}: {bad}\n{text}"));
        let config = *file.config();
        let played = jsonl::play(&file, &mut Model::new(config)).expect("it can be played");
        assert!(played.iter().all(|played| played.difference.is_none()));
        assert_eq!(played.len(), text.lines().count() - 1, "seed {seed}");
    }
}
