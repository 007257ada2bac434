//! Every history of a small world, breadth first: the real guard in every order of events.
//!
//! A state is the guard (its [`Guard::fingerprint`]), what the oracle remembers, what the log and
//! the group hold, which tickets and offers are out, and how many faults and assignments are left.
//! From each state everything is tried that the world's alphabet holds. Judged are:
//!
//! - each step, by the [`Oracle`](crate::oracle::Oracle) (P1 to P5, P7, P9, P12) and by the log
//!   itself (P7, P9);
//! - each input that is refused (P6) or stale (P8), and a late tick (P10): the guard is afterwards
//!   what a tick alone would have made of it;
//! - each state: a snapshot brings the same guard back; a revoke ends by its deadline and the time
//!   of its last commit, whatever nobody answers (P5); and a fair environment finishes every record
//!   and gets every partition back.
//!
//! Histories are walked in order of length, so what is found first is as short as it gets.
//!
//! [`Guard::fingerprint`]: rebalance_guard::Guard

mod alike;
mod alphabet;
mod fair;
mod inert;
mod mix;
mod node;
mod scope;
mod vouch;
mod world;

use core::fmt;
use std::collections::hash_map::Entry;

use rebalance_guard::Rule;

pub use alike::go_on_alike;
use alphabet::{Choice, choices};
use fair::Astray;
use inert::Inert;
use mix::{Known, KnownOf};
use node::Node;
pub use scope::{Scope, Start};
use world::{PARTITIONS, Wrong};

use crate::trace::{Step, Trace};

/// What a search went through.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// States that differ.
    pub states: u64,
    /// Steps tried, from all states together.
    pub steps: u64,
    /// Steps of the longest history that no shorter one stands for.
    pub depth: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, depth } = self;
        write!(f, "{states} states, {steps} steps, {depth} deep")
    }
}

/// A promise broken, by as short a history as there is.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which: `"P1"` to `"P12"`, or `"dead end"`.
    pub promise: &'static str,
    /// What was seen and what should have been.
    pub detail: String,
    /// The history that breaks it.
    pub trace: Trace,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}", self.promise, self.detail, self.trace)
    }
}

impl core::error::Error for Found {}

/// Walks through the whole world, or its histories of [`Scope::steps`] steps; `progress` is told
/// after each length of history.
///
/// # Errors
/// The shortest history that breaks a promise.
pub fn search(
    scope: &Scope,
    without: Option<Rule>,
    mut progress: impl FnMut(&Report),
) -> Result<Report, Box<Found>> {
    let mut search = Search::new(scope, without);
    let (mut layer, mut length) = (vec![search.root()], 0);
    while !layer.is_empty() && length < scope.steps {
        let mut next = Vec::new();
        for (number, kept) in layer {
            let node = kept.map_or_else(|| search.told_again(number).0, |kept| *kept);
            search.widen(&node, number, &mut next);
        }
        search.report.depth += u64::from(!next.is_empty());
        progress(&search.report);
        // An end that goes wrong on its way may be longer than what the next length shows.
        if let Some(found) = search.shortest.take_if(|found| found.trace.steps.len() <= length + 2)
        {
            return Err(found);
        }
        length += 1;
        layer = next;
    }
    search.shortest.map_or(Ok(search.report), Err)
}

/// More states of one length are told again from the beginning when their turn comes: a state
/// takes 5 KB, the way to it 8 bytes.
const KEPT_MAX: usize = 400_000;

/// The number of a way, and the state it leads to.
type Waiting = (u32, Option<Box<Node>>);

struct Search<'a> {
    scope: &'a Scope,
    without: Option<Rule>,
    /// States, with the tickets over that were tried in them.
    known: KnownOf<u64>,
    /// States from which a fair environment is known to finish.
    finishing: Known,
    /// How each state was reached: from which, and by which of its choices.
    ways: Vec<(u32, u16)>,
    report: Report,
    /// What broke a promise so far.
    shortest: Option<Box<Found>>,
}

impl<'a> Search<'a> {
    fn new(scope: &'a Scope, without: Option<Rule>) -> Self {
        Self {
            scope,
            without,
            known: KnownOf::default(),
            finishing: Known::default(),
            ways: vec![(0, 0)],
            report: Report::default(),
            shortest: None,
        }
    }

    fn root(&mut self) -> Waiting {
        let root = Node::root(self.scope, self.without);
        self.is_new(&root);
        (0, Some(Box::new(root)))
    }

    /// Whether something is to be tried in this state that was not; and notes it.
    fn is_new(&mut self, node: &Node) -> Option<New> {
        let over = node.over();
        match self.known.entry(node.print()) {
            Entry::Vacant(entry) => {
                entry.insert(over);
                self.report.states += 1;
                Some(New::State)
            }
            Entry::Occupied(mut entry) if over & !entry.get() != 0 => {
                *entry.get_mut() |= over;
                Some(New::Tickets)
            }
            Entry::Occupied(_) => None,
        }
    }

    /// Tries everything that can happen in a state.
    fn widen(&mut self, node: &Node, number: u32, next: &mut Vec<Waiting>) {
        let inert = Inert::new(node);
        if let Err((wrong, step)) = inert.at_rest() {
            self.found(number, [step], wrong);
        }
        for (index, choice) in choices(node, self.scope).into_iter().enumerate() {
            self.report.steps += 1;
            let (child, new) = match self.child(&inert, node, &choice) {
                Ok(Some(child)) => child,
                Ok(None) => continue,
                Err(wrong) => {
                    self.found(number, [choice.step], wrong);
                    continue;
                }
            };
            if new == New::State
                && let Err((wrong, then)) = self.ends(&child)
            {
                self.found(number, core::iter::once(choice.step).chain(then), wrong);
            }
            let here = u32::try_from(self.ways.len()).expect("memory ends before");
            self.ways.push((number, u16::try_from(index).expect("alphabets are short")));
            next.push((here, (next.len() < KEPT_MAX).then(|| Box::new(child))));
        }
    }

    /// The state after a step, judged, when something is to be tried in it.
    fn child(
        &mut self,
        inert: &Inert<'_>,
        node: &Node,
        choice: &Choice,
    ) -> Result<Option<(Node, New)>, Wrong> {
        let (child, answer) = node.after(choice)?;
        inert.refused(&child, &choice.step, &answer)?;
        if child.world.faults > self.scope.faults {
            return Ok(None);
        }
        let new = self.is_new(&child);
        if new == Some(New::State) {
            child.comes_back()?;
        }
        Ok(new.map(|new| (child, new)))
    }

    fn ends(&mut self, node: &Node) -> Result<(), Astray> {
        fair::hands_over(node, self.scope)?;
        fair::finishes(node, self.scope, &mut self.finishing)
    }

    /// The choices that way `number` is made of, the last one first.
    fn choices_made(&self, number: u32) -> impl Iterator<Item = usize> + '_ {
        let mut at = number;
        core::iter::from_fn(move || {
            let (from, choice) = self.ways[at as usize];
            let made = (at != 0).then_some(usize::from(choice));
            at = from;
            made
        })
    }

    /// The state that way `number` leads to, and the steps there.
    fn told_again(&self, number: u32) -> (Node, Vec<Step>) {
        let made: Vec<_> = self.choices_made(number).collect();
        let mut node = Node::root(self.scope, self.without);
        let mut steps = vec![Node::begin()];
        for index in made.into_iter().rev() {
            let choice = choices(&node, self.scope).swap_remove(index);
            (node, _) = node.after(&choice).expect("it was judged before");
            steps.push(choice.step);
        }
        (node, steps)
    }

    /// Notes what broke a promise, if nothing shorter did. Of two that are as short, the later: it
    /// was judged, and not met on the way to an end.
    fn found(
        &mut self,
        number: u32,
        last: impl IntoIterator<Item = Step>,
        (promise, detail): Wrong,
    ) {
        let last: Vec<_> = last.into_iter().collect();
        let length = 1 + self.choices_made(number).count() + last.len();
        if self.shortest.as_ref().is_some_and(|found| found.trace.steps.len() < length) {
            return;
        }
        let (_, mut steps) = self.told_again(number);
        steps.extend(last);
        let (config, partitions) = (self.scope.config, PARTITIONS.to_vec());
        let trace = Trace { seed: 0, config, partitions, steps };
        self.shortest = Some(Box::new(Found { promise, detail, trace }));
    }
}

/// What is new about a state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum New {
    State,
    /// It is known, but not with these tickets that are over.
    Tickets,
}
