//! Commit metadata: any string may come back from a broker.

use rebalance_guard::{Config, Guard, Input, Offset, Output, Partition, Resume, Tick};
use rebalance_guard_sim::{Action, Heap, Model, Resumed, Step, Trace, difference};

use super::core;
use super::source::Source;

/// A string that the guard takes over is the one string of what it says; the model, which reads
/// it by other code, agrees on what is carried and on what is ignored.
pub fn metadata(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let metadata_max = [Config::METADATA_MAX, 3_072, 24, 0][usize::from(source.below(4))];
    let (partitions, window, budget, keys, journal) = (2, 16, 64, 16, 4);
    let config =
        Config { metadata_max, partitions, window, budget, keys, journal, ..Config::default() };
    let base = source.number().min(i64::MAX as u64);
    let base = Offset::new(base).expect("not above the largest");
    let text = source.rest();
    agree(config, base, text);
    written_again(config, base, text);
}

fn agree(config: Config, offset: Offset, text: &[u8]) {
    let partition = Partition::new(0, 0);
    let resume = Resumed::Committed { offset, metadata: text.to_vec() };
    let mut actions =
        vec![Action::Assign { generation: Some(1), partitions: vec![(partition, resume)] }];
    for ahead in 0..12 {
        let Ok(offset) = Offset::new(offset.value().saturating_add(ahead)) else { break };
        actions.push(Action::Admit(rebalance_guard_sim::Offered {
            partition,
            offset,
            key: Some(offset.value().to_le_bytes().to_vec()),
            attempts: 0,
            namespace: 0,
            leader_epoch: (ahead == 9).then_some(i32::MAX),
        }));
    }
    let now = Tick::new(1).expect("small");
    let steps = actions.into_iter().map(|action| Step { now, action }).collect();
    let trace = Trace { seed: 0, config, partitions: vec![partition], steps };
    if let Some(found) = difference(&trace, &mut core(config), &mut Model::new(config)) {
        panic!("{}", found.explain(&trace, "core", "model"));
    }
}

/// Taken over and nothing done: the same string would be committed.
fn written_again(config: Config, offset: Offset, text: &[u8]) {
    let partition = Partition::new(0, 0);
    let mut guard: Guard<Heap> = core(config);
    let resume = Resume::Committed { offset, metadata: text };
    let input = Input::Assign { generation: Some(1), partitions: &[(partition, resume)] };
    guard.handle(Tick::new(1).expect("small"), input).expect("an assign of one partition");
    let mut ignored = false;
    while let Some(output) = guard.poll_output() {
        ignored |= matches!(output, Output::MetadataIgnored { .. });
    }
    let mut room = vec![0; usize::from(config.metadata_max)];
    let len = guard.commit_metadata(partition, &mut room);
    let expected = if ignored || config.metadata_max == 0 { &[] } else { text };
    assert_eq!(room.get(..len), Some(expected), "ignored: {ignored}");
}
