//! The class.

use core::cell::RefCell;

use js_sys::{Array, Object};
use rebalance_guard::{Outcome, Verdict};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error;
use crate::inputs::{self, About, Assign, Loss, Offered, Place};
use crate::read::{self, Read};
use crate::settings::{self, Settings};
use crate::state::{State, lock};
use crate::{counters, outputs, write};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("../types.d.ts");

/// The safety core between a Kafka client and a side effect. See `types.d.ts`.
#[wasm_bindgen(skip_typescript)]
#[derive(Debug)]
pub struct RebalanceGuard {
    state: RefCell<State>,
    topic: Option<String>,
}

impl RebalanceGuard {
    fn topic(&self) -> Option<&str> {
        self.topic.as_deref()
    }

    fn answer(&self, now: &JsValue, ticket: &JsValue, outcome: Outcome) -> Read<String> {
        let (now, ticket) = (read::tick(now, "now")?, read::ticket(ticket)?);
        Ok(write::answered(lock(&self.state)?.guard.answer(now, ticket, outcome)).to_owned())
    }
}

#[wasm_bindgen]
#[allow(clippy::missing_errors_doc, reason = "types.d.ts tells what each call throws")]
impl RebalanceGuard {
    /// `new RebalanceGuard(settings?)`.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &JsValue) -> Result<Self, JsValue> {
        let settings = Settings::read(settings)?;
        let state = State::new(&settings)?;
        Ok(Self { state: RefCell::new(state), topic: settings.topic })
    }

    /// `RebalanceGuard.restore(now, settings, snapshot)`.
    pub fn restore(now: &JsValue, settings: &JsValue, bytes: &JsValue) -> Result<Self, JsValue> {
        let (now, settings) = (read::tick(now, "now")?, Settings::read(settings)?);
        let bytes = read::bytes(bytes, "snapshot")?;
        let state = State::restore(&settings, now, &bytes)?;
        Ok(Self { state: RefCell::new(state), topic: settings.topic })
    }

    /// Partitions were added.
    pub fn assign(&self, now: &JsValue, assign: &JsValue) -> Result<(), JsValue> {
        let (now, assign) = (read::tick(now, "now")?, Assign::read(assign, self.topic())?);
        let mut state = lock(&self.state)?;
        let answer = state.assign(now, &assign);
        answer.map(drop).map_err(|why| error::input(why, &state.names))
    }

    /// The late answer to an unknown start.
    pub fn position(&self, now: &JsValue, position: &JsValue) -> Result<String, JsValue> {
        let now = read::tick(now, "now")?;
        let (about, from) = About::position(position, self.topic())?;
        let mut state = lock(&self.state)?;
        let partition = about.place.known(&state.names);
        let answer = state.guard.position(now, partition, about.assignment, from.resume());
        let reply = answer.map_err(|why| error::input(why, &state.names))?;
        Ok(write::reply(reply).to_owned())
    }

    /// Partitions are asked back.
    pub fn revoke(&self, now: &JsValue, revoke: &JsValue) -> Result<(), JsValue> {
        let now = read::tick(now, "now")?;
        let (places, deadline) = inputs::revoke(revoke, self.topic(), now)?;
        let mut state = lock(&self.state)?;
        let partitions = inputs::known(&places, &state.names);
        state.guard.revoke(now, &partitions, deadline);
        Ok(())
    }

    /// Ownership is already gone.
    pub fn lost(&self, now: &JsValue, loss: &JsValue) -> Result<(), JsValue> {
        let (now, loss) = (read::tick(now, "now")?, Loss::read(loss, self.topic())?);
        let mut state = lock(&self.state)?;
        let partitions = loss.known(&state.names);
        state.guard.lost(now, loss.scope(&partitions));
        Ok(())
    }

    /// The host seeks back.
    pub fn rewind(&self, now: &JsValue, rewind: &JsValue) -> Result<(), JsValue> {
        let now = read::tick(now, "now")?;
        let (place, offset) = inputs::rewind(rewind, self.topic())?;
        let mut state = lock(&self.state)?;
        let partition = place.known(&state.names);
        let answer = state.guard.rewind(now, partition, offset);
        answer.map(drop).map_err(|why| error::input(why, &state.names))
    }

    /// The group was seen to hold an offset.
    #[wasm_bindgen(js_name = groupOffset)]
    pub fn group_offset(&self, now: &JsValue, seen: &JsValue) -> Result<String, JsValue> {
        let now = read::tick(now, "now")?;
        let (about, offset) = About::offset(seen, self.topic())?;
        let mut state = lock(&self.state)?;
        let partition = about.place.known(&state.names);
        let reply = state.guard.group_offset(now, partition, about.assignment, offset);
        Ok(write::reply(reply).to_owned())
    }

    /// The client reported the end of a partition.
    #[wasm_bindgen(js_name = endOfPartition)]
    pub fn end_of_partition(&self, now: &JsValue, end: &JsValue) -> Result<String, JsValue> {
        let (now, about) = (read::tick(now, "now")?, About::read(end, self.topic())?);
        let mut state = lock(&self.state)?;
        let partition = about.place.known(&state.names);
        let reply = state.guard.end_of_partition(now, partition, about.assignment);
        Ok(write::reply(reply).to_owned())
    }

    /// A record is offered: may it run?
    pub fn admit(&self, now: &JsValue, record: &JsValue) -> Result<Object, JsValue> {
        let (now, offered) = (read::tick(now, "now")?, Offered::read(record, self.topic())?);
        let verdict = {
            let mut state = lock(&self.state)?;
            let record = offered.record(&state.names);
            state.guard.admit(now, record)
        };
        Ok(write::verdict(verdict))
    }

    /// Records are offered, in order.
    #[wasm_bindgen(js_name = admitBatch)]
    pub fn admit_batch(&self, now: &JsValue, records: &JsValue) -> Result<Array, JsValue> {
        let now = read::tick(now, "now")?;
        let read = |value: &JsValue| Offered::read(value, self.topic());
        let offered: Vec<Offered> =
            read::list(records, "records")?.iter().map(read).collect::<Read<_>>()?;
        let mut verdicts = vec![Verdict::default(); offered.len()];
        {
            let mut state = lock(&self.state)?;
            let records: Vec<_> =
                offered.iter().map(|offered| offered.record(&state.names)).collect();
            state.guard.admit_batch(now, &records, &mut verdicts);
        }
        Ok(verdicts.into_iter().map(write::verdict).collect())
    }

    /// The side effect took place.
    pub fn complete(&self, now: &JsValue, ticket: &JsValue) -> Result<String, JsValue> {
        self.answer(now, ticket, Outcome::Completed)
    }

    /// It did not.
    pub fn fail(
        &self,
        now: &JsValue,
        ticket: &JsValue,
        options: &JsValue,
    ) -> Result<String, JsValue> {
        let mut permanent = false;
        if !options.is_undefined() {
            let fields = read::Fields::of(options, "the options of fail", &["permanent"])?;
            permanent = fields.flag("permanent")?;
        }
        self.answer(now, ticket, Outcome::Failed { permanent })
    }

    /// It was not started and never will be in this assignment.
    pub fn abandon(&self, now: &JsValue, ticket: &JsValue) -> Result<String, JsValue> {
        self.answer(now, ticket, Outcome::Abandoned)
    }

    /// The dead-letter topic acknowledged the record.
    #[wasm_bindgen(js_name = deadLettered)]
    pub fn dead_lettered(&self, now: &JsValue, ticket: &JsValue) -> Result<String, JsValue> {
        self.answer(now, ticket, Outcome::DeadLettered)
    }

    /// The group coordinator answered a commit.
    #[wasm_bindgen(js_name = commitAnswered)]
    pub fn commit_answered(&self, now: &JsValue, answer: &JsValue) -> Result<String, JsValue> {
        let now = read::tick(now, "now")?;
        let (about, offset, answer) = About::commit(answer, self.topic())?;
        let mut state = lock(&self.state)?;
        let partition = about.place.known(&state.names);
        let reply = state.guard.commit_answered(now, partition, about.assignment, offset, answer);
        Ok(write::reply(reply).to_owned())
    }

    /// The host polled its client.
    pub fn polled(&self, now: &JsValue) -> Result<(), JsValue> {
        let now = read::tick(now, "now")?;
        lock(&self.state)?.guard.polled(now);
        Ok(())
    }

    /// Time passes and nothing else.
    pub fn tick(&self, now: &JsValue) -> Result<(), JsValue> {
        let now = read::tick(now, "now")?;
        lock(&self.state)?.guard.handle_timeout(now);
        Ok(())
    }

    /// Everything that the host owes now.
    pub fn outputs(&self) -> Result<Array, JsValue> {
        let pulled = lock(&self.state)?.pull();
        let state = lock(&self.state)?;
        Ok(pulled.iter().map(|output| outputs::write(output, &state.names)).collect())
    }

    /// When to call `tick` at the latest; null: never.
    #[wasm_bindgen(js_name = pollTimeout)]
    pub fn poll_timeout(&self) -> Result<JsValue, JsValue> {
        let due = lock(&self.state)?.guard.poll_timeout();
        Ok(due.map_or(JsValue::NULL, |at| write::big(at.value())))
    }

    /// Where one partition stands, or null.
    pub fn progress(&self, partition: &JsValue) -> Result<JsValue, JsValue> {
        let place = Place::read(partition, self.topic())?;
        let state = lock(&self.state)?;
        let partition = place.known(&state.names);
        let progress = state.guard.progress(partition);
        Ok(progress.map_or(JsValue::NULL, |progress| {
            write::progress(partition, &progress, &state.names).into()
        }))
    }

    /// What is owned, by time of assign.
    pub fn owned(&self) -> Result<Array, JsValue> {
        let state = lock(&self.state)?;
        let owned = state.guard.owned();
        Ok(owned.map(|(place, progress)| write::progress(place, &progress, &state.names)).collect())
    }

    /// Whether a ticket's record is still worth running.
    #[wasm_bindgen(js_name = isLive)]
    pub fn is_live(&self, ticket: &JsValue) -> Result<bool, JsValue> {
        let ticket = read::ticket(ticket)?;
        Ok(lock(&self.state)?.guard.is_live(ticket))
    }

    /// Records in flight.
    #[wasm_bindgen(js_name = inFlight)]
    pub fn in_flight(&self) -> Result<u32, JsValue> {
        Ok(lock(&self.state)?.guard.in_flight())
    }

    /// Whether rebalances come too fast.
    pub fn storm(&self) -> Result<String, JsValue> {
        Ok(write::storm(lock(&self.state)?.guard.storm()).to_owned())
    }

    /// Since when nothing is owned, and why; null while something is.
    pub fn waiting(&self) -> Result<JsValue, JsValue> {
        let waiting = lock(&self.state)?.guard.waiting();
        Ok(waiting.map_or(JsValue::NULL, |waiting| write::waiting(waiting).into()))
    }

    /// The last refusals and transitions, oldest first.
    pub fn journal(&self) -> Result<Array, JsValue> {
        let state = lock(&self.state)?;
        Ok(state.guard.journal().map(|entry| write::entry(&entry, &state.names)).collect())
    }

    /// What was counted since the guard was made.
    pub fn counters(&self) -> Result<Object, JsValue> {
        let counted = *lock(&self.state)?.guard.counters();
        Ok(counters::all(&counted))
    }

    /// What was counted for one partition, or null.
    #[wasm_bindgen(js_name = partitionCounters)]
    pub fn partition_counters(&self, partition: &JsValue) -> Result<JsValue, JsValue> {
        let place = Place::read(partition, self.topic())?;
        let state = lock(&self.state)?;
        let counted = state.guard.partition_counters(place.known(&state.names));
        Ok(counted.map_or(JsValue::NULL, |counted| counters::of_partition(&counted).into()))
    }

    /// The settings in force.
    pub fn settings(&self) -> Result<Object, JsValue> {
        let config = *lock(&self.state)?.guard.config();
        Ok(settings::write(&config, self.topic()))
    }

    /// The whole state, for `restore` under the same settings.
    pub fn snapshot(&self) -> Result<Vec<u8>, JsValue> {
        Ok(lock(&self.state)?.snapshot())
    }

    /// The last tick that counted.
    pub fn now(&self) -> Result<JsValue, JsValue> {
        Ok(write::big(lock(&self.state)?.guard.now().value()))
    }
}
