//! Histories from the field, told to the native guard, the plugin and the reference model: each
//! answers as the file expects, and all three alike. `docs/field-reports.md` says whose they are.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use rebalance_guard::Guard;
use rebalance_guard_sim::jsonl::{self, File, Played};
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

fn play_on_every_engine(name: &str) {
    let text = fs::read_to_string(folder().join(name)).expect("the file is there");
    let file = File::read(&text).unwrap_or_else(|bad| panic!("{bad}"));
    let config = *file.config();
    let guard = Guard::new(Heap::new(&config), config);
    let native = played(&file, "native", &mut guard.expect("sound settings"));
    let model = played(&file, "model", &mut Model::new(config));
    assert_eq!(native, model);
    let mut engine = EngineSubject(plugin().start(&config).expect("it starts"));
    assert_eq!(native, played(&file, "plugin", &mut engine));
}

macro_rules! traces {
    ($($name:ident: $file:literal,)+) => {
        const FILES: &[&str] = &[$($file),+];

        $(
            #[test]
            fn $name() {
                play_on_every_engine($file);
            }
        )+
    };
}

traces! {
    b01_stray_record_after_a_rebalance: "b01-stray-record-after-a-rebalance.jsonl",
    b02_fetched_records_after_the_revoke: "b02-fetched-records-after-the-revoke.jsonl",
    b04_records_before_the_assign_is_finished: "b04-records-before-the-assign-is-finished.jsonl",
    b05_lower_offsets_after_a_reassign: "b05-lower-offsets-after-a-reassign.jsonl",
    b07_two_handlers_for_one_record: "b07-two-handlers-for-one-record.jsonl",
    b08_no_revoke_and_no_poll: "b08-no-revoke-and-no-poll.jsonl",
    b10_placeholder_position_before_the_committed_one: "b10-placeholder-position-before-the-committed-one.jsonl",
    b100_nothing_is_owned_and_nobody_says_so: "b100-nothing-is-owned-and-nobody-says-so.jsonl",
    b101_a_storm_that_comes_twice: "b101-a-storm-that-comes-twice.jsonl",
    b103_after_an_eviction_no_rebalance_follows: "b103-after-an-eviction-no-rebalance-follows.jsonl",
    b104_two_processes_with_one_instance_id: "b104-two-processes-with-one-instance-id.jsonl",
    b106_tokens_of_the_process_before: "b106-tokens-of-the-process-before.jsonl",
    b11_a_consumer_restarted_inside_the_process: "b11-a-consumer-restarted-inside-the-process.jsonl",
    b110_the_clock_goes_back: "b110-the-clock-goes-back.jsonl",
    b110_the_clock_jumps_by_years: "b110-the-clock-jumps-by-years.jsonl",
    b118_a_stale_result_is_final: "b118-a-stale-result-is-final.jsonl",
    b119_just_assigned_is_not_idle: "b119-just-assigned-is-not-idle.jsonl",
    b121_rounds_of_a_hand_back_leave_nothing_behind: "b121-rounds-of-a-hand-back-leave-nothing-behind.jsonl",
    b122_paused_again_in_the_next_ownership: "b122-paused-again-in-the-next-ownership.jsonl",
    b124_one_record_that_never_succeeds: "b124-one-record-that-never-succeeds.jsonl",
    b125_assigned_again_at_full_capacity: "b125-assigned-again-at-full-capacity.jsonl",
    b127_one_partition_too_many_in_one_assign: "b127-one-partition-too-many-in-one-assign.jsonl",
    b128_a_key_with_live_work_is_never_evicted: "b128-a-key-with-live-work-is-never-evicted.jsonl",
    b13_clean_up_of_a_stale_entry_at_the_same_offset: "b13-clean-up-of-a-stale-entry-at-the-same-offset.jsonl",
    b130_a_record_without_a_key: "b130-a-record-without-a-key.jsonl",
    b131_records_without_a_key_are_not_one_key: "b131-records-without-a-key-are-not-one-key.jsonl",
    b133_equal_bytes_and_equal_hashes: "b133-equal-bytes-and-equal-hashes.jsonl",
    b134_the_same_key_in_two_partitions: "b134-the-same-key-in-two-partitions.jsonl",
    b136_names_that_look_alike: "b136-names-that-look-alike.jsonl",
    b137_dots_and_underscores: "b137-dots-and-underscores.jsonl",
    b139_records_without_a_value: "b139-records-without-a-value.jsonl",
    b14_late_acknowledgements_of_the_first_delivery: "b14-late-acknowledgements-of-the-first-delivery.jsonl",
    b142_a_ticket_of_a_dead_instance: "b142-a-ticket-of-a-dead-instance.jsonl",
    b146_offsets_beyond_two_to_the_fifty_third: "b146-offsets-beyond-two-to-the-fifty-third.jsonl",
    b16_acknowledgements_against_a_recreated_ledger: "b16-acknowledgements-against-a-recreated-ledger.jsonl",
    b17_assigned_again_without_a_revoke: "b17-assigned-again-without-a-revoke.jsonl",
    b19_a_delayed_revoke_of_the_old_ownership: "b19-a-delayed-revoke-of-the-old-ownership.jsonl",
    b20_a_position_asked_for_an_older_ownership: "b20-a-position-asked-for-an-older-ownership.jsonl",
    b22_the_old_workers_clean_up_comes_last: "b22-the-old-workers-clean-up-comes-last.jsonl",
    b23_an_empty_assign_after_a_revoke: "b23-an-empty-assign-after-a-revoke.jsonl",
    b25_work_that_finishes_after_the_revoke_runs_again: "b25-work-that-finishes-after-the-revoke-runs-again.jsonl",
    b26_numbers_that_begin_again_in_a_new_channel: "b26-numbers-that-begin-again-in-a-new-channel.jsonl",
    b28_the_mark_when_the_flights_are_cleared: "b28-the-mark-when-the-flights-are-cleared.jsonl",
    b29_a_quiet_partition_never_creeps_on: "b29-a-quiet-partition-never-creeps-on.jsonl",
    b31_commit_answers_that_overtake_each_other: "b31-commit-answers-that-overtake-each-other.jsonl",
    b32_the_value_is_fixed_when_it_is_offered: "b32-the-value-is-fixed-when-it-is-offered.jsonl",
    b34_a_revoke_of_another_partition: "b34-a-revoke-of-another-partition.jsonl",
    b35_one_batch_over_three_partitions: "b35-one-batch-over-three-partitions.jsonl",
    b37_one_of_three_is_revoked_before_the_commit: "b37-one-of-three-is-revoked-before-the-commit.jsonl",
    b38_a_generation_error_during_a_rebalance: "b38-a-generation-error-during-a-rebalance.jsonl",
    b40_the_old_owners_late_commit: "b40-the-old-owners-late-commit.jsonl",
    b41_a_partition_that_left_is_gone_from_the_commits: "b41-a-partition-that-left-is-gone-from-the-commits.jsonl",
    b43_a_batch_abandoned_in_a_rebalance_that_kept_it: "b43-a-batch-abandoned-in-a-rebalance-that-kept-it.jsonl",
    b44_work_that_finishes_after_the_drain: "b44-work-that-finishes-after-the-drain.jsonl",
    b44_work_that_finishes_inside_the_drain: "b44-work-that-finishes-inside-the-drain.jsonl",
    b46_a_failed_record_is_not_waited_for: "b46-a-failed-record-is-not-waited-for.jsonl",
    b47_assign_and_revoke_in_one_poll: "b47-assign-and-revoke-in-one-poll.jsonl",
    b49_a_drain_that_is_cut_off: "b49-a-drain-that-is-cut-off.jsonl",
    b50_a_revoke_never_waits_for_an_admit: "b50-a-revoke-never-waits-for-an-admit.jsonl",
    b52_no_retry_after_the_revoke: "b52-no-retry-after-the-revoke.jsonl",
    b53_lost_in_the_middle_of_a_drain: "b53-lost-in-the-middle-of-a-drain.jsonl",
    b55_lost_is_not_revoked: "b55-lost-is-not-revoked.jsonl",
    b56_an_idle_partition_is_lost: "b56-an-idle-partition-is-lost.jsonl",
    b58_offsets_recorded_before_a_loss: "b58-offsets-recorded-before-a-loss.jsonl",
    b59_an_offset_stored_from_before_the_reassign: "b59-an-offset-stored-from-before-the-reassign.jsonl",
    b61_a_resume_of_what_was_never_paused: "b61-a-resume-of-what-was-never-paused.jsonl",
    b62_nothing_processed_and_nothing_committed: "b62-nothing-processed-and-nothing-committed.jsonl",
    b64_a_topic_made_anew: "b64-a-topic-made-anew.jsonl",
    b65_retention_removed_the_resume_position: "b65-retention-removed-the-resume-position.jsonl",
    b67_kept_state_merged_with_the_replay: "b67-kept-state-merged-with-the-replay.jsonl",
    b68_records_dropped_without_a_seek: "b68-records-dropped-without-a-seek.jsonl",
    b68_sought_to_the_last_instead_of_the_next: "b68-sought-to-the-last-instead-of-the-next.jsonl",
    b70_a_lower_offset_without_a_rebalance: "b70-a-lower-offset-without-a-rebalance.jsonl",
    b71_offset_zero_is_an_offset: "b71-offset-zero-is-an-offset.jsonl",
    b74_many_finished_above_an_open_one: "b74-many-finished-above-an-open-one.jsonl",
    b74_the_largest_offsets: "b74-the-largest-offsets.jsonl",
    b76_a_high_offset_does_not_wrap: "b76-a-high-offset-does-not-wrap.jsonl",
    b77_transaction_markers_between_records: "b77-transaction-markers-between-records.jsonl",
    b79_carried_work_that_compaction_removed: "b79-carried-work-that-compaction-removed.jsonl",
    b80_a_marker_at_the_end_of_the_log: "b80-a-marker-at-the-end-of-the-log.jsonl",
    b82_sparse_offsets_and_a_step_back: "b82-sparse-offsets-and-a-step-back.jsonl",
    b83_the_same_offset_in_two_polls: "b83-the-same-offset-in-two-polls.jsonl",
    b86_two_copies_from_two_fetches: "b86-two-copies-from-two-fetches.jsonl",
    b88_the_attempt_count_ends_with_the_ownership: "b88-the-attempt-count-ends-with-the-ownership.jsonl",
    b89_an_attempt_count_seeded_by_the_host: "b89-an-attempt-count-seeded-by-the-host.jsonl",
    b89_fifty_ownerships_without_progress: "b89-fifty-ownerships-without-progress.jsonl",
    b91_a_dead_letter_that_is_refused_for_ever: "b91-a-dead-letter-that-is-refused-for-ever.jsonl",
    b92_back_off_and_work_beyond_the_poll_limit: "b92-back-off-and-work-beyond-the-poll-limit.jsonl",
    b94_a_dead_letter_without_key_and_value: "b94-a-dead-letter-without-key-and-value.jsonl",
    b95_partitions_owned_in_the_past: "b95-partitions-owned-in-the-past.jsonl",
    b97_a_record_that_outlasts_the_poll_limit: "b97-a-record-that-outlasts-the-poll-limit.jsonl",
    b98_a_rebalance_every_ten_milliseconds: "b98-a-rebalance-every-ten-milliseconds.jsonl",
    snapshot_and_restore: "snapshot-and-restore.jsonl",
}

#[test]
fn every_file_of_the_folder_is_played() {
    let files = fs::read_dir(folder()).expect("the folder is there");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let mut there: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
    there.sort();
    assert_eq!(there, FILES);
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
