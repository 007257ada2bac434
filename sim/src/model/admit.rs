//! One record offered.

use rebalance_guard::{
    Fenced, Hold, KeyPolicy, Offset, Output, Phase, Reason, Record, Refuse, Seen, Skip, Verdict,
};

use super::carry::epoch_of;
use super::own::{self, Debt, Flight, Hands, Place};
use super::{Model, Name};
use crate::trace::name;

impl Model {
    pub(super) fn admit_now(&mut self, record: &Record<'_>) -> Verdict {
        let at = record.offset.value();
        if let Some(why) = self.fence(record) {
            return Verdict::Refuse(Refuse::Fenced(why));
        }
        if record.offset == Offset::MAX {
            return Verdict::Refuse(Refuse::OffsetLimit);
        }
        let own = self.own_mut(record.partition).expect("the fence saw it owned");
        if let Some(debt) = &own.owed
            && at > debt.offset
        {
            return Verdict::Hold(Hold::Owed(own::offset(debt.offset)));
        }
        if own.kind.is_none() {
            return self.hold(record, Hold::ResumeUnknown, None);
        }
        // The first record tells where an empty group resumes, unless it is refused after all.
        let first = own.resume.is_none();
        if first {
            own.resume = Some(at);
        }
        let contradicts = self.is_new(record) && self.contradicts(record);
        let carried = self.is_new(record) && !contradicts && self.is_carried(record);
        let verdict = if carried {
            self.skip_carried(record)
        } else {
            self.duplicate(record).unwrap_or_else(|| self.step_forward(record))
        };
        if contradicts && !matches!(verdict, Verdict::Refuse(_)) {
            self.void_carried(record.partition);
        }
        if matches!(verdict, Verdict::Run(_) | Verdict::Park(..) | Verdict::Skip(_)) {
            self.pay(record);
        }
        if let (true, Verdict::Refuse(_), Some(own)) =
            (first, verdict, self.own_mut(record.partition))
        {
            own.resume = None;
        }
        verdict
    }

    fn fence(&self, record: &Record<'_>) -> Option<Fenced> {
        if self.dead {
            return Some(Fenced::Dead);
        }
        match self.own(record.partition).map(|own| own.phase) {
            Some(Phase::Active) => None,
            Some(Phase::Draining) => Some(Fenced::Draining),
            Some(Phase::Committing) => Some(Fenced::Sealed),
            _ if self.lease_expired => Some(Fenced::LeaseExpired),
            _ => Some(Fenced::NotOwned),
        }
    }

    /// The offset after which records are new: the last admitted, or the one before the resume
    /// position; `None` when every offset is new.
    fn last(&self, record: &Record<'_>) -> Option<u64> {
        let own = self.own(record.partition)?;
        let before = own.resume.and_then(|resume| resume.checked_sub(1));
        own.last().max(before)
    }

    fn is_new(&self, record: &Record<'_>) -> bool {
        self.last(record).is_none_or(|last| record.offset.value() > last)
    }

    fn is_given_up(&self, record: &Record<'_>) -> bool {
        self.own(record.partition).is_some_and(|own| own.given_up(record.offset.value()))
    }

    /// An owner before finished it; keys are not looked at.
    fn skip_carried(&mut self, record: &Record<'_>) -> Verdict {
        if self.budget_full_for(record) {
            return self.hold(record, Hold::Budget, None);
        }
        self.enter(record, Place::Finished);
        if let Some(own) = self.own_mut(record.partition) {
            own.finished_since = own.finished_since.saturating_add(1);
        }
        Verdict::Skip(Skip::Carried)
    }

    fn duplicate(&mut self, record: &Record<'_>) -> Option<Verdict> {
        let name = usable(record)?;
        let (now, age) = (self.now, self.config.key_age);
        let young = |at: u64| age.is_none_or(|age| now - at < age);
        let finished = self.finished.iter().any(|(known, at)| *known == name && young(*at));
        let first = self.flights.iter().find(|(_, f)| f.name.as_ref() == Some(&name));
        let first = first.map(|(number, flight)| (*number, flight.partition, flight.offset));
        let skip = match (finished, first) {
            (true, _) => Skip::DuplicateFinished,
            (false, Some(_)) => Skip::DuplicateInFlight,
            (false, None) => return None,
        };
        if !self.is_new(record) && !self.is_given_up(record) {
            return Some(Verdict::Skip(skip));
        }
        if let (false, Some((number, partition, offset))) = (finished, first) {
            let offered = self.slots.get(&partition).and_then(|slot| slot.offered_ever);
            if offered.is_some_and(|offered| offset < offered) {
                return Some(self.hold(record, Hold::KeyBusy, Some(number)));
            }
        }
        if self.budget_full_for(record) {
            return Some(self.hold(record, Hold::Budget, None));
        }
        if let (false, Some((number, ..))) = (finished, first)
            && let Some(flight) = self.flights.get_mut(&number)
        {
            flight.copies = flight.copies.saturating_add(1);
        }
        self.enter(record, Place::Finished);
        if let Some(own) = self.own_mut(record.partition) {
            own.finished_since = own.finished_since.saturating_add(1);
        }
        Some(Verdict::Skip(skip))
    }

    /// Everything after the look for duplicates.
    fn step_forward(&mut self, record: &Record<'_>) -> Verdict {
        if !self.is_new(record) && !self.is_given_up(record) {
            return self.regression(record);
        }
        if self.flights.len() >= self.config.window as usize {
            return self.hold(record, Hold::Window, None);
        }
        if self.budget_full_for(record) {
            return self.hold(record, Hold::Budget, None);
        }
        if self.held_by_storm() {
            return self.hold(record, Hold::Storm, None);
        }
        self.run(record)
    }

    fn budget_full_for(&self, record: &Record<'_>) -> bool {
        let Some(own) = self.own(record.partition) else {
            return false;
        };
        !self.is_given_up(record) && own.budget_used() >= self.config.budget
    }

    fn regression(&self, record: &Record<'_>) -> Verdict {
        let own = self.own(record.partition).expect("the fence saw it owned");
        let at = record.offset.value();
        let seen = if own.resume.is_some_and(|resume| at < resume) {
            Seen::BelowResume
        } else if own.mark().is_some_and(|mark| at < mark) {
            Seen::Finished
        } else {
            match own.places.get(&at) {
                Some(Place::Finished) => Seen::Finished,
                Some(_) => Seen::InFlight,
                None => Seen::Never,
            }
        };
        let last = own::offset(self.last(record).unwrap_or(0));
        Verdict::Refuse(Refuse::OffsetRegression { last, seen })
    }

    /// Holds the record and owes it; two debts cannot be remembered.
    fn hold(&mut self, record: &Record<'_>, why: Hold, busy: Option<u64>) -> Verdict {
        let at = record.offset.value();
        let given_up = self.is_given_up(record);
        let own = self.own_mut(record.partition).expect("the fence saw it owned");
        match &own.owed {
            Some(debt) if at < debt.offset => {
                if !given_up {
                    let last = own::offset(debt.offset);
                    return Verdict::Refuse(Refuse::OffsetRegression { last, seen: Seen::Never });
                }
            }
            _ => own.owed = Some(Debt { offset: at, busy }),
        }
        Verdict::Hold(why)
    }

    fn pay(&mut self, record: &Record<'_>) {
        let Some(own) = self.own_mut(record.partition) else {
            return;
        };
        if own.owed.as_ref().is_some_and(|debt| record.offset.value() >= debt.offset) {
            own.owed = None;
        }
    }

    /// Gives the offset its place, and reports a gap before the first one.
    fn enter(&mut self, record: &Record<'_>, place: Place) {
        let partition = record.partition;
        let at = record.offset.value();
        let own = self.own_mut(partition).expect("the fence saw it owned");
        let first = own.places.is_empty();
        own.seen = true;
        if own.places.insert(at, place).is_none() {
            own.epoch = own.epoch.max(epoch_of(record));
        }
        if let (true, Some(resume)) = (first, own.resume)
            && at > resume
        {
            let from = own::offset(resume);
            self.report(Output::Gap { partition, from, to: record.offset });
        }
    }

    fn run(&mut self, record: &Record<'_>) -> Verdict {
        let usable_name = usable(record);
        let keyless = usable_name.is_none() && self.config.key_policy == KeyPolicy::Required;
        let reason = if keyless {
            Some(Reason::NoUsableKey)
        } else if record.attempts >= self.config.attempts_max {
            Some(Reason::AttemptsSpent)
        } else {
            None
        };
        self.flights_made += 1;
        let number = self.flights_made;
        self.enter(record, Place::Flying(number));
        self.tickets_made += 1;
        let own = self.own(record.partition).expect("the fence saw it owned");
        let ticket = name(own.assignment, self.tickets_made, record.attempts, reason.is_some());
        let flight = Flight {
            partition: record.partition,
            offset: record.offset.value(),
            name: usable_name,
            attempts: record.attempts,
            refusals: 0,
            copies: 0,
            reason,
            ticket,
            hands: Hands::Held,
        };
        self.flights.insert(number, flight);
        match reason {
            Some(reason) => Verdict::Park(ticket, reason),
            None => Verdict::Run(ticket),
        }
    }
}

/// The name of a record that has a key worth the name.
fn usable(record: &Record<'_>) -> Option<Name> {
    let key = record.key?;
    let blank = key.iter().all(u8::is_ascii_whitespace);
    (!blank && key.len() <= Record::KEY_BYTES_MAX).then(|| (record.namespace, key.to_vec()))
}
