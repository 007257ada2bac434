//! Input sequences: bytes become inputs, run on the core beside the reference model and under the
//! oracle.

use rebalance_guard::{Assignment, CommitAnswer, Config, Offset, Outcome, Partition, Tick};
use rebalance_guard_sim::{
    Action, LostScope, Model, Offered, Resumed, Step, Trace, difference, oracle, random,
};

use super::core;
use super::source::Source;

/// Inputs in one trace; a longer one finds nothing that two of these do not.
const STEPS_MAX: usize = 400;
const KEYS: [&[u8]; 6] = [b"a", b"b", b"c", b"", b" ", &[b'k'; 41]];

/// The core and the model answer alike, and no promise breaks.
pub fn sequence(bytes: &[u8]) {
    let trace = trace(bytes);
    let found = difference(&trace, &mut core(trace.config), &mut Model::new(trace.config));
    if let Some(difference) = found {
        panic!("{}", difference.explain(&trace, "core", "model"));
    }
    let checked = oracle::check_trace(trace.config, &trace, || core(trace.config));
    if let Err(broken) = checked {
        panic!("{trace}{broken}");
    }
}

/// The inputs that the bytes mean: the first two choose settings, then each input is a few.
pub fn trace(bytes: &[u8]) -> Trace {
    let mut source = Source::new(bytes);
    let seed = u64::from(u16::from_le_bytes(source.array()));
    // Names of assignments are small then, so that the fuzzer can say them.
    let config = Config { first_assignment: 1, ..random::config(seed) };
    let mut writer = Writer { source, partitions: random::partitions(seed), now: 0, offset: 0 };
    let mut steps = Vec::new();
    while !writer.source.is_empty() && steps.len() < STEPS_MAX {
        steps.push(writer.step());
    }
    Trace { seed, config, partitions: writer.partitions, steps }
}

struct Writer<'a> {
    source: Source<'a>,
    partitions: Vec<Partition>,
    now: u64,
    /// The offset after the one named last.
    offset: u64,
}

impl Writer<'_> {
    fn step(&mut self) -> Step {
        let kind = self.source.u8();
        // The upper bits let time pass; now and then it goes back or leaps.
        self.now = match kind >> 5 {
            step @ 0..=5 => self.now.saturating_add(u64::from(step) * u64::from(step)),
            6 => self.now.saturating_sub(3),
            _ => self.now.saturating_add(self.source.number()),
        };
        self.now = self.now.min(Tick::MAX.value());
        Step { now: tick(self.now), action: self.action(kind & 31) }
    }

    fn action(&mut self, kind: u8) -> Action {
        match kind {
            0..=7 => Action::Admit(self.record()),
            8 => Action::AdmitBatch((0..self.source.below(5)).map(|_| self.record()).collect()),
            9..=15 => {
                Action::Answer { ticket: u64::from(self.source.u8()), outcome: self.outcome() }
            }
            16..=18 => self.assign(),
            19 | 20 => self.revoke(),
            21 => self.lost(),
            22..=24 => self.commit_answered(),
            25 => Action::Position {
                partition: self.partition(),
                assignment: self.assignment(),
                resume: self.resume(),
            },
            26 => Action::Rewind { partition: self.partition(), offset: self.offset() },
            27 => Action::GroupOffset {
                partition: self.partition(),
                assignment: self.assignment(),
                offset: self.offset(),
            },
            28 => Action::EndOfPartition {
                partition: self.partition(),
                assignment: self.assignment(),
            },
            29 => Action::Polled,
            _ => Action::Tick,
        }
    }

    fn partition(&mut self) -> Partition {
        let index = usize::from(self.source.u8()) % self.partitions.len();
        self.partitions[index]
    }

    fn partitions(&mut self) -> Vec<Partition> {
        (0..self.source.below(4)).map(|_| self.partition()).collect()
    }

    fn assignment(&mut self) -> Assignment {
        Assignment::new(u64::from(self.source.u8()).max(1)).expect("not 0")
    }

    /// The offset after the last one, or one that the bytes name.
    fn offset(&mut self) -> Offset {
        let value = match self.source.u8() {
            128.. => self.offset,
            small @ ..=119 => u64::from(small),
            near @ 120..=124 => self.offset.wrapping_sub(u64::from(near - 119)),
            near @ 125..=127 => (i64::MAX as u64) - u64::from(near - 125),
        };
        let value = value.min(i64::MAX as u64);
        self.offset = value.saturating_add(1);
        Offset::new(value).expect("not above the largest")
    }

    fn record(&mut self) -> Offered {
        let partition = self.partition();
        let offset = self.offset();
        let how = self.source.u8();
        // A key for each offset, unless the bytes choose one that other records have.
        let key = match how & 7 {
            6 => None,
            7 => Some(offset.value().to_le_bytes().to_vec()),
            number => KEYS.get(usize::from(number)).map(|key| key.to_vec()),
        };
        let leader_epoch = (how & 64 != 0).then(|| i32::from(self.source.u8()) - 1);
        let namespace = u32::from(how >> 3 & 1);
        let attempts = u16::from(how >> 4 & 3);
        Offered { partition, offset, key, attempts, namespace, leader_epoch }
    }

    fn outcome(&mut self) -> Outcome {
        match self.source.below(8) {
            0..=3 => Outcome::Completed,
            4 => Outcome::Failed { permanent: false },
            5 => Outcome::Failed { permanent: true },
            6 => Outcome::DeadLettered,
            _ => Outcome::Abandoned,
        }
    }

    fn assign(&mut self) -> Action {
        let generation = i32::from(self.source.u8()) - 1;
        let count = self.source.below(4);
        let partitions = (0..count).map(|_| (self.partition(), self.resume())).collect();
        Action::Assign { generation: (generation >= 0).then_some(generation), partitions }
    }

    fn resume(&mut self) -> Resumed {
        match self.source.below(6) {
            0 | 1 => Resumed::committed(self.offset()),
            2 => {
                Resumed::Committed { offset: self.offset(), metadata: self.source.bytes(60).into() }
            }
            3 => Resumed::Empty(if self.source.below(2) == 0 { None } else { Some(self.offset()) }),
            4 => Resumed::At(self.offset()),
            _ => Resumed::Unknown,
        }
    }

    fn revoke(&mut self) -> Action {
        let deadline = tick(self.now.saturating_add(self.source.number()).min(Tick::MAX.value()));
        Action::Revoke { partitions: self.partitions(), deadline }
    }

    fn lost(&mut self) -> Action {
        Action::Lost(match self.source.below(8) {
            0 => LostScope::Fatal,
            1 | 2 => LostScope::All,
            _ => LostScope::Some(self.partitions()),
        })
    }

    fn commit_answered(&mut self) -> Action {
        Action::CommitAnswered {
            partition: self.partition(),
            assignment: self.assignment(),
            offset: self.offset(),
            answer: match self.source.below(8) {
                0..=3 => CommitAnswer::Stored,
                4 => CommitAnswer::Retry,
                5 => CommitAnswer::Rejected,
                6 => CommitAnswer::NotMine,
                _ => CommitAnswer::Fatal,
            },
        }
    }
}

fn tick(value: u64) -> Tick {
    Tick::new(value).expect("not above the largest")
}
