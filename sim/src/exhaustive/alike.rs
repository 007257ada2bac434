//! Whether states that count as one go on alike: the search stands on it.

use core::hash::{Hash, Hasher};
use std::collections::hash_map::Entry;

use super::alphabet::choices;
use super::mix::{KnownOf, Mix};
use super::node::Node;
use super::scope::Scope;
use super::world::Wrong;

/// Walks through the world and compares states that count as one, each `one_in`-th time that a
/// state is reached anew: everything that can happen in it leads where it led from the first.
/// Returns how many pairs were compared.
///
/// # Errors
/// Two states that count as one and go on differently, or a promise broken.
pub fn go_on_alike(scope: &Scope, one_in: u64) -> Result<u64, String> {
    let wrong = |(promise, detail): Wrong| format!("{promise}: {detail}");
    let (mut futures, mut reached, mut compared) = (KnownOf::default(), 0_u64, 0);
    let mut waiting = vec![Node::root(scope, None)];
    while let Some(node) = waiting.pop() {
        for choice in choices(&node, scope) {
            let (child, _) = node.after(&choice).map_err(wrong)?;
            if child.world.faults > scope.faults {
                continue;
            }
            match futures.entry(child.print()) {
                Entry::Vacant(entry) => {
                    entry.insert(future(&child, scope).map_err(wrong)?);
                    waiting.push(child);
                }
                Entry::Occupied(entry) => {
                    reached += 1;
                    if reached.is_multiple_of(one_in) {
                        compared += 1;
                        if future(&child, scope).map_err(wrong)? != *entry.get() {
                            return Err(format!("goes on differently after {:?}", choice.step));
                        }
                    }
                }
            }
        }
    }
    Ok(compared)
}

/// Everything that one step leads to.
fn future(node: &Node, scope: &Scope) -> Result<u64, Wrong> {
    let mut mix = Mix::new();
    for choice in choices(node, scope) {
        let (child, answer) = node.after(&choice)?;
        (child.print(), answer.outputs.len()).hash(&mut mix);
    }
    Ok(mix.finish())
}
