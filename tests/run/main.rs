//! `rebalance-guard run` as an operator runs it: a real broker, three members, an HTTP sink, one
//! member killed, one frozen, one restarted. Each protocol with both engines.
//!
//! `RG_RUN_RECORDS=100000` runs the acceptance at its full size, `RG_RUN_PUT_OFF=2` all of it with
//! a sink that answers 503 to 2 % of the calls.
#![forbid(unsafe_code)]

mod accept;
mod group;
mod refused;

use accept::Case;
use rebalance_guard_host::demo::ledger::Rules;

#[test]
fn eager_with_the_native_guard_every_order_takes_effect_once() {
    accept::run(&Case::new("eager", "native"));
}

#[test]
fn eager_with_the_plugin_every_order_takes_effect_once() {
    accept::run(&Case::new("eager", "plugin"));
}

#[test]
fn cooperative_with_the_native_guard_every_order_takes_effect_once() {
    accept::run(&Case::new("cooperative", "native"));
}

#[test]
fn cooperative_with_the_plugin_and_a_sink_that_puts_off_every_order_takes_effect_once() {
    let rules = Rules::new(true).putting_off(2);
    accept::run(&Case { rules, ..Case::new("cooperative", "plugin") });
}

#[test]
fn consumer_with_the_native_guard_and_a_sink_that_puts_off_every_order_takes_effect_once() {
    let rules = Rules::new(true).putting_off(2);
    accept::run(&Case { rules, ..Case::new("consumer", "native") });
}

#[test]
fn consumer_with_the_plugin_every_order_takes_effect_once() {
    accept::run(&Case::new("consumer", "plugin"));
}
