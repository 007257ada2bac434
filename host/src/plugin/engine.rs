//! The guard inside a plugin, behind the same calls as the native one.

use std::fmt;

use rebalance_guard::{
    Answered, Config, Counters, Input, InputError, JournalEntry, Outcome, Output, Partition,
    Progress, Record, Reply, Storm, Tick, Ticket, Verdict, Waiting,
};

use super::decode::{self, Broken, COUNTERS, PROGRESS_BYTES, VERDICT_BYTES};
use super::encode::{self, TooLong};
use super::instance::{Failure, Instance};
use super::{LoadError, Plugin};
use crate::engine::{Engine, EngineDead};

/// The code of a snapshot that is longer than the exchange buffer.
const NO_ROOM: i32 = -8;
/// The code of bytes that the module cannot go on from.
const NOT_RESTORED: i32 = -9;

/// A running guard in a plugin. After a trap, a call past its time or an answer outside the
/// contract it is dead for good: its memory may be half-written, so nothing in it is asked again.
pub struct PluginEngine {
    instance: Instance,
    dead: Option<EngineDead>,
    partitions: usize,
    metadata_max: u16,
    journal: usize,
    /// Keeps the ticker alive, and tells the name.
    plugin: Plugin,
}

impl fmt::Debug for PluginEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginEngine").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl PluginEngine {
    pub(super) fn new(plugin: &Plugin, config: &Config) -> Result<Self, LoadError> {
        config.check()?;
        let mut instance = Instance::new(plugin)?;
        instance.init(config, plugin.limits.memory_bytes)?;
        Ok(Self {
            instance,
            dead: None,
            partitions: config.partitions as usize,
            metadata_max: config.metadata_max,
            journal: config.journal as usize,
            plugin: plugin.clone(),
        })
    }

    /// Why it is dead, if it is.
    pub const fn dead(&self) -> Option<&EngineDead> {
        self.dead.as_ref()
    }

    /// Runs one exchange; the first failure is the last thing that this guard does.
    #[inline]
    pub(super) fn exchange<R>(
        &mut self,
        f: impl FnOnce(&mut Instance) -> Result<R, Failure>,
    ) -> Result<R, EngineDead> {
        if let Some(dead) = &self.dead {
            return Err(dead.clone());
        }
        f(&mut self.instance).map_err(|Failure(reason)| {
            let dead = EngineDead { reason };
            self.dead = Some(dead.clone());
            dead
        })
    }

    pub(super) fn handle_written(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Result<Reply, InputError>, TooLong>, EngineDead> {
        let metadata_max = self.metadata_max;
        self.exchange(|instance| {
            let mut fits = Ok(());
            let len = instance.write(|writer| {
                fits = encode::input(writer, input, metadata_max);
                Ok(())
            })?;
            if let Err(too_long) = fits {
                return Ok(Err(too_long));
            }
            done("rg_handle", instance.call(|calls| &calls.handle, (number(now), len))?)?;
            let reply = decode::reply(instance.buffer()?)?;
            matches_input(&input, &reply)?;
            Ok(Ok(reply))
        })
    }
}

fn number(tick: Tick) -> i64 {
    // At most 2^62 by construction.
    tick.value().cast_signed()
}

/// A call that gives no number but success.
fn done(call: &str, code: i32) -> Result<(), Failure> {
    if code == 0 { Ok(()) } else { Err(refused(call, code)) }
}

fn count(call: &str, number: i32, most: usize) -> Result<usize, Failure> {
    match usize::try_from(number) {
        Ok(count) if count <= most => Ok(count),
        Ok(_) => Err(Broken("a count above what was asked for").into()),
        Err(_) => Err(refused(call, number)),
    }
}

fn refused(call: &str, code: i32) -> Failure {
    Failure(format!("it answered `{call}` with code {code}"))
}

fn flag(call: &str, number: i32) -> Result<bool, Failure> {
    count(call, number, 1).map(|count| count == 1)
}

fn matches_input(input: &Input<'_>, reply: &Result<Reply, InputError>) -> Result<(), Broken> {
    let fits = match (input, reply) {
        (_, Err(_)) => true,
        (Input::Admit(_), Ok(reply)) => matches!(reply, Reply::Verdict(_)),
        (Input::Answer { .. }, Ok(reply)) => matches!(reply, Reply::Answered(_)),
        (_, Ok(reply)) => matches!(reply, Reply::Done | Reply::Stale),
    };
    if fits { Ok(()) } else { Err(Broken("a reply to another kind of input")) }
}

impl Engine for PluginEngine {
    fn name(&self) -> String {
        format!("plugin {}", self.plugin.digest().short())
    }

    fn handle(
        &mut self,
        now: Tick,
        input: Input<'_>,
    ) -> Result<Result<Reply, InputError>, EngineDead> {
        match self.handle_written(now, input)? {
            Ok(reply) => Ok(reply),
            Err(TooLong) => self.handle_shortened(now, input),
        }
    }

    fn admit(&mut self, now: Tick, record: &Record<'_>) -> Result<Verdict, EngineDead> {
        self.exchange(|instance| {
            let len = instance.write(|writer| encode::record(writer, record))?;
            let kind = instance.call(|calls| &calls.admit, (number(now), len))?;
            let verdict = instance.buffer()?;
            if verdict.first().map(|first| i32::from(*first)) != Some(kind) {
                return Err(refused("rg_admit", kind));
            }
            Ok(decode::verdict(verdict)?)
        })
    }

    fn admit_batch(
        &mut self,
        now: Tick,
        records: &[Record<'_>],
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineDead> {
        verdicts.clear();
        while let Some(rest @ [_, ..]) = records.get(verdicts.len()..) {
            self.exchange(|instance| {
                let mut written: usize = 0;
                let len = instance.write(|writer| {
                    written = rest
                        .iter()
                        .take_while(|record| encode::record(writer, record).is_ok())
                        .count();
                    if written == 0 { Err(TooLong) } else { Ok(()) }
                })?;
                let asked = i32::try_from(written).map_err(|_| TooLong)?;
                let params = (number(now), asked, len);
                let answered = instance.call(|calls| &calls.admit_batch, params)?;
                if answered != asked {
                    return Err(refused("rg_admit_batch", answered));
                }
                let (places, _) = instance.buffer()?.as_chunks::<VERDICT_BYTES>();
                for place in places.get(..written).ok_or(Broken("short verdicts"))? {
                    verdicts.push(decode::verdict(place)?);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        now: Tick,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Answered, EngineDead> {
        self.exchange(|instance| {
            instance.write(|writer| writer.bytes(&ticket.to_bytes()))?;
            let params = (number(now), i32::from(encode::outcome(outcome)));
            Ok(decode::answered(instance.call(|calls| &calls.answer, params)?)?)
        })
    }

    fn handle_timeout(&mut self, now: Tick) -> Result<(), EngineDead> {
        self.exchange(|instance| {
            let code = instance.call(|calls| &calls.handle_timeout, number(now))?;
            done("rg_handle_timeout", code)
        })
    }

    fn poll_output(&mut self) -> Result<Option<Output>, EngineDead> {
        // One at a time: what is pulled changes state, so pulling ahead of the host would show.
        self.exchange(|instance| {
            let pulled = instance.call(|calls| &calls.poll_outputs, 1)?;
            if !flag("rg_poll_outputs", pulled)? {
                return Ok(None);
            }
            Ok(Some(decode::output(instance.buffer()?)?))
        })
    }

    fn poll_timeout(&mut self) -> Result<Option<Tick>, EngineDead> {
        self.exchange(|instance| {
            Ok(decode::tick_or_none(instance.call(|calls| &calls.poll_timeout, ())?)?)
        })
    }

    fn is_live(&mut self, ticket: Ticket) -> Result<bool, EngineDead> {
        self.exchange(|instance| {
            instance.write(|writer| writer.bytes(&ticket.to_bytes()))?;
            flag("rg_is_live", instance.call(|calls| &calls.is_live, ())?)
        })
    }

    fn progress(&mut self, partition: Partition) -> Result<Option<Progress>, EngineDead> {
        self.exchange(|instance| {
            let params = (partition.topic.cast_signed(), partition.index);
            if !flag("rg_progress", instance.call(|calls| &calls.progress, params)?)? {
                return Ok(None);
            }
            let (told, progress) = decode::progress(instance.buffer()?)?;
            if told != partition {
                return Err(Broken("the standing of another partition").into());
            }
            Ok(Some(progress))
        })
    }

    fn owned(&mut self) -> Result<Vec<(Partition, Progress)>, EngineDead> {
        let most = self.partitions;
        self.exchange(|instance| {
            let mut owned = Vec::new();
            loop {
                let skip = i32::try_from(owned.len()).map_err(|_| TooLong)?;
                let told = instance.call(|calls| &calls.owned, skip)?;
                let told = count("rg_owned", told, most - owned.len())?;
                if told == 0 {
                    return Ok(owned);
                }
                let (places, _) = instance.buffer()?.as_chunks::<PROGRESS_BYTES>();
                for place in places.get(..told).ok_or(Broken("short standings"))? {
                    owned.push(decode::progress(place)?);
                }
            }
        })
    }

    fn commit_metadata(&mut self, partition: Partition) -> Result<Vec<u8>, EngineDead> {
        let most = usize::from(self.metadata_max);
        self.exchange(|instance| {
            let params = (partition.topic.cast_signed(), partition.index);
            let told = instance.call(|calls| &calls.commit_metadata, params)?;
            let len = count("rg_commit_metadata", told, most)?;
            let text = instance.buffer()?.get(..len).ok_or(Broken("short metadata"))?;
            Ok(text.to_vec())
        })
    }

    fn waiting(&mut self) -> Result<Option<Waiting>, EngineDead> {
        self.exchange(|instance| {
            if !flag("rg_waiting", instance.call(|calls| &calls.waiting, ())?)? {
                return Ok(None);
            }
            Ok(Some(decode::waiting(instance.buffer()?)?))
        })
    }

    fn journal(&mut self) -> Result<Vec<JournalEntry>, EngineDead> {
        let most = self.journal;
        self.exchange(|instance| {
            let mut entries = Vec::new();
            loop {
                let skip = i32::try_from(entries.len()).map_err(|_| TooLong)?;
                let told = instance.call(|calls| &calls.journal, skip)?;
                let told = count("rg_journal", told, most - entries.len())?;
                if told == 0 {
                    return Ok(entries);
                }
                let (places, _) = instance.buffer()?.as_chunks::<{ JournalEntry::BYTES }>();
                for place in places.get(..told).ok_or(Broken("a short journal"))? {
                    let entry = JournalEntry::from_bytes(place);
                    entries.push(entry.ok_or(Broken("no entry of a journal"))?);
                }
            }
        })
    }

    fn snapshot(&mut self) -> Result<Option<Vec<u8>>, EngineDead> {
        self.exchange(|instance| {
            let told = instance.call(|calls| &calls.snapshot, ())?;
            if told == NO_ROOM {
                return Ok(None);
            }
            let len = usize::try_from(told).map_err(|_| refused("rg_snapshot", told))?;
            let bytes = instance.buffer()?.get(..len).ok_or(Broken("a short snapshot"))?;
            Ok(Some(bytes.to_vec()))
        })
    }

    fn restore(&mut self, now: Tick, snapshot: &[u8]) -> Result<bool, EngineDead> {
        self.exchange(|instance| {
            let mut fits = Ok(());
            let len = instance.write(|writer| {
                fits = writer.bytes(snapshot);
                Ok(())
            })?;
            if fits.is_err() {
                return Ok(false);
            }
            match instance.call(|calls| &calls.restore, (number(now), len))? {
                0 => Ok(true),
                NOT_RESTORED => Ok(false),
                code => Err(refused("rg_restore", code)),
            }
        })
    }

    fn in_flight(&mut self) -> Result<u32, EngineDead> {
        self.exchange(|instance| {
            let told = instance.call(|calls| &calls.in_flight, ())?;
            u32::try_from(told).map_err(|_| refused("rg_in_flight", told))
        })
    }

    fn storm(&mut self) -> Result<Storm, EngineDead> {
        self.exchange(|instance| Ok(decode::storm(instance.call(|calls| &calls.storm, ())?)?))
    }

    fn counters(&mut self) -> Result<Counters, EngineDead> {
        self.exchange(|instance| {
            let told = instance.call(|calls| &calls.counters, ())?;
            if usize::try_from(told) != Ok(COUNTERS) {
                return Err(refused("rg_counters", told));
            }
            Ok(decode::counters(instance.buffer()?)?)
        })
    }
}
