//! The hot path at the defaults, native: one record from admit to completion, with all that its
//! host owes. Run it with `cargo xtask bench`.
#![allow(missing_docs, reason = "criterion's macro writes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rebalance_guard::Config;
use rebalance_guard_benches::{Tables, Traffic};

fn admit_and_complete(criterion: &mut Criterion) {
    let config = Config::default();
    let mut tables = Tables::of(&config);
    let mut traffic = Traffic::new(&mut tables, config).expect("the defaults are sound");
    let mut group = criterion.benchmark_group("native");
    group.throughput(Throughput::Elements(1));
    group.bench_function("admit and complete", |bencher| {
        bencher.iter(|| traffic.one_record());
    });
    group.finish();
}

criterion_group! {
    name = benches;
    // Steady within seconds on two cores; longer runs tell nothing new.
    config = Criterion::default().sample_size(50);
    targets = admit_and_complete
}
criterion_main!(benches);
