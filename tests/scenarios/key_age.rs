//! The age limit of finished keys.

use rebalance_guard::{Config, ConfigError};

use crate::support::{World, small};

fn aging() -> World {
    let mut world = World::with(Config { key_age: Some(1_000), ..small() });
    world.assign("p0@0").at(100).finish("p0:0=order");
    world
}

#[test]
fn a_finished_key_is_known_until_it_is_as_old_as_the_limit() {
    let mut world = aging();
    assert_eq!(world.at(1_099).admit("p0:1=order"), "skip: finished");
    assert_eq!(world.at(1_100).admit("p0:2=order"), "run");
}

#[test]
fn a_key_that_finished_again_is_young_again() {
    let mut world = aging();
    world.at(1_500).finish("p0:1=order");
    assert_eq!(world.at(2_499).admit("p0:2=order"), "skip: finished");
    assert_eq!(world.at(2_500).admit("p0:3=order"), "run");
}

#[test]
fn an_old_copy_that_is_evicted_takes_the_young_one_not_along() {
    let mut world = World::with(Config { key_age: Some(1_000), keys: 2, ..small() });
    world.assign("p0@0").finish("p0:0=order").at(1_000).finish("p0:1=order p0:2=other");
    assert_eq!(world.guard.counters().keys_evicted, 1);
    assert_eq!(world.admit("p0:3=order"), "skip: finished");
}

#[test]
fn a_reserved_key_has_no_age() {
    let mut world = World::with(Config { key_age: Some(1_000), ..small() });
    world.assign("p0@0").run("p0:0=order");
    assert_eq!(world.at(50_000).admit("p0:1=order"), "skip: in flight");
}

#[test]
fn an_age_of_nothing_is_refused() {
    let config = Config { key_age: Some(0), ..small() };
    assert_eq!(config.check(), Err(ConfigError::Zero("key_age")));
}
