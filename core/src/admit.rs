//! Admission: may this record run? The checks stand in one order; the first that fails answers.

use crate::key::Key;
use crate::logic::{Logic, switched_off};
use crate::partition::{BusyKey, Debt, Phase, Start};
use crate::place::PlaceState;
use crate::report::ReportKind;
use crate::state::NO_OFFSET;
use crate::window::Known;
use crate::{
    Assignment, Event, Fenced, Hold, KeyPolicy, Offset, Output, Reason, Record, Refuse, Seen, Skip,
    Tick, TicketKind, Verdict,
};

/// How an offered offset relates to what was admitted in this assignment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    /// Above the last admitted one.
    New,
    /// Given up before; this is its place.
    Abandoned(u64),
    /// Anything else: it does not move forward.
    Old,
}

/// A record on its way through the checks.
#[derive(Clone, Copy)]
struct Offered {
    slot: u32,
    offset: u64,
    standing: Standing,
    /// The record's leader epoch + 1, 0: not told.
    epoch: u64,
}

impl Logic<'_> {
    pub(crate) fn admit_at(&mut self, now: Tick, record: &Record<'_>) -> Verdict {
        self.pass_time(now);
        let Some(slot) = self.find(record.partition) else {
            let verdict = Verdict::Refuse(Refuse::Fenced(self.not_owned()));
            self.count_verdict(None, verdict);
            self.note_refusal(record, None, verdict);
            return verdict;
        };
        let verdict = self.admit(slot, record);
        self.count_verdict(Some(slot), verdict);
        self.note_refusal(record, Some(slot), verdict);
        verdict
    }

    fn admit(&mut self, slot: u32, record: &Record<'_>) -> Verdict {
        if let Some(why) = self.fenced(slot) {
            return Verdict::Refuse(Refuse::Fenced(why));
        }
        if record.offset > Offset::RECORD_MAX {
            return Verdict::Refuse(Refuse::OffsetLimit);
        }
        let offset = record.offset.value();
        let owed = self.entry(slot).debt.map(|debt| debt.offset);
        if let Some(owed) = owed.filter(|owed| offset > *owed) {
            return Verdict::Hold(Hold::Owed(offset_of(owed)));
        }
        if self.entry(slot).start == Start::Unknown {
            let offered = Offered { slot, offset, standing: Standing::New, epoch: 0 };
            return self.hold(offered, Hold::ResumeUnknown, None);
        }
        let fixes_resume = self.entry(slot).settled == NO_OFFSET;
        if fixes_resume {
            self.fix_resume(slot, offset);
        }
        let verdict = self.admit_owned(slot, offset, record);
        if matches!(verdict, Verdict::Refuse(_)) {
            if fixes_resume {
                self.fix_resume(slot, NO_OFFSET);
            }
            return verdict;
        }
        if fixes_resume {
            // The mark is known from here on.
            self.moves(slot);
        }
        self.schedule_commit(slot);
        verdict
    }

    /// After a start from nothing without an offset, the first record offered says where it is.
    fn fix_resume(&mut self, slot: u32, offset: u64) {
        let entry = self.entry_mut(slot);
        entry.resume = offset;
        entry.settled = offset;
    }

    fn admit_owned(&mut self, slot: u32, offset: u64, record: &Record<'_>) -> Verdict {
        let epoch = record.leader_epoch.and_then(|epoch| u64::try_from(epoch).ok());
        let epoch = epoch.map_or(0, |epoch| epoch.saturating_add(1));
        let standing = self.standing(slot, offset);
        let offered = Offered { slot, offset, standing, epoch };
        if standing != Standing::New {
            return self.admit_known(offered, record);
        }
        let contradicts = self.contradicts(slot, epoch);
        let verdict = if !contradicts && self.is_carried(slot, offset) {
            self.skip_carried(offered)
        } else {
            self.admit_known(offered, record)
        };
        if contradicts && !matches!(verdict, Verdict::Refuse(_)) {
            self.void_carried(slot);
        }
        verdict
    }

    /// The checks after the carried set: key, offset, room.
    fn admit_known(&mut self, offered: Offered, record: &Record<'_>) -> Verdict {
        let Offered { slot, offset, .. } = offered;
        let key = Key::of(record, &self.state.config);
        if let Some(key) = &key {
            match self.known(key) {
                Known::No => {}
                Known::Finished => return self.skip(offered, None),
                Known::InFlight(first) => return self.skip(offered, Some(first)),
            }
        }
        if offered.standing == Standing::Old {
            return self.regression(slot, offset);
        }
        if let Some(why) = self.no_room(offered) {
            return self.hold(offered, why, None);
        }
        self.take(offered, record, key)
    }

    fn fenced(&self, slot: u32) -> Option<Fenced> {
        match self.entry(slot).phase {
            Phase::Active => None,
            Phase::Draining if switched_off!(self, P1) => None,
            _ if self.state.dead => Some(Fenced::Dead),
            Phase::Draining => Some(Fenced::Draining),
            Phase::Committing => Some(Fenced::Sealed),
            Phase::Unowned => Some(self.not_owned()),
        }
    }

    const fn not_owned(&self) -> Fenced {
        if self.state.dead {
            Fenced::Dead
        } else if self.state.lease_expired {
            Fenced::LeaseExpired
        } else {
            Fenced::NotOwned
        }
    }

    fn standing(&self, slot: u32, offset: u64) -> Standing {
        let entry = self.entry(slot);
        let moves_forward = if entry.last_admitted == NO_OFFSET {
            offset >= entry.resume
        } else {
            offset > entry.last_admitted
        };
        if moves_forward {
            return Standing::New;
        }
        match self.find_place(slot, offset) {
            Some((number, PlaceState::Abandoned)) => Standing::Abandoned(number),
            _ => Standing::Old,
        }
    }

    /// A record that an owner before finished: it never touches the key window.
    fn skip_carried(&mut self, offered: Offered) -> Verdict {
        let Offered { slot, offset, .. } = offered;
        if !self.budget_has_room(slot) {
            return self.hold(offered, Hold::Budget, None);
        }
        self.enter_finished(offered);
        self.pay_debt(slot, offset);
        self.room_taken(slot);
        Verdict::Skip(Skip::Carried)
    }

    /// A new record takes a place and is finished at once.
    fn enter_finished(&mut self, offered: Offered) {
        self.note_admitted(offered);
        let number = self.push_place(offered.slot, offered.offset);
        self.finish_record(offered.slot, number);
    }

    /// A record whose key is known already. `first` is the copy in flight, `None` when finished.
    fn skip(&mut self, offered: Offered, first: Option<u32>) -> Verdict {
        let Offered { slot, offset, standing, .. } = offered;
        let enters = standing != Standing::Old;
        if let Some(place) = first.filter(|_| enters) {
            let first = self.flight(place);
            let offered_there = self.entry(first.slot).group_highest;
            if offered_there != NO_OFFSET && first.offset < offered_there {
                let admitted = first.admitted;
                let busy = BusyKey { place, admitted };
                return self.hold(offered, Hold::KeyBusy, Some(busy));
            }
        }
        if standing == Standing::New && !self.budget_has_room(slot) {
            return self.hold(offered, Hold::Budget, None);
        }
        match standing {
            Standing::New => self.enter_finished(offered),
            Standing::Abandoned(number) => self.finish_record(slot, number),
            Standing::Old => {}
        }
        if let Some(place) = first.filter(|_| enters) {
            let first = self.flight_mut(place);
            first.copies = first.copies.saturating_add(1);
        }
        self.pay_debt(slot, offset);
        self.room_taken(slot);
        Verdict::Skip(match first {
            Some(_) => Skip::DuplicateInFlight,
            None => Skip::DuplicateFinished,
        })
    }

    fn regression(&mut self, slot: u32, offset: u64) -> Verdict {
        let entry = self.entry(slot);
        let before = entry.resume.saturating_sub(1);
        let last = if entry.last_admitted == NO_OFFSET { before } else { entry.last_admitted };
        let seen = if offset < entry.resume {
            Seen::BelowResume
        } else if self.running_mark(slot).is_some_and(|mark| offset < mark) {
            Seen::Finished
        } else {
            match self.find_place(slot, offset) {
                Some((_, PlaceState::Finished)) => Seen::Finished,
                Some(_) => Seen::InFlight,
                None => Seen::Never,
            }
        };
        if switched_off!(self, P6) {
            self.entry_mut(slot).last_admitted = last.saturating_add(1);
        }
        Verdict::Refuse(Refuse::OffsetRegression { last: offset_of(last), seen })
    }

    fn no_room(&self, offered: Offered) -> Option<Hold> {
        if !self.state.window_has_room() {
            Some(Hold::Window)
        } else if offered.standing == Standing::New && !self.budget_has_room(offered.slot) {
            Some(Hold::Budget)
        } else if self.state.storm_holds() {
            Some(Hold::Storm)
        } else {
            None
        }
    }

    pub(crate) fn budget_has_room(&self, slot: u32) -> bool {
        self.entry(slot).places < self.state.config.budget
    }

    /// Holds the record: nothing above it is admitted until it was offered again.
    fn hold(&mut self, offered: Offered, why: Hold, busy: Option<BusyKey>) -> Verdict {
        let Offered { slot, offset, standing, .. } = offered;
        let readmission = matches!(standing, Standing::Abandoned(_));
        match self.entry(slot).debt {
            Some(debt) if offset < debt.offset && !readmission => {
                // Two debts cannot be remembered; what is refused stays the host's.
                let last = offset_of(debt.offset);
                return Verdict::Refuse(Refuse::OffsetRegression { last, seen: Seen::Never });
            }
            Some(debt) if offset < debt.offset => {}
            _ if switched_off!(self, P7) => {}
            _ => {
                self.gets_stuck(slot);
                self.entry_mut(slot).debt = Some(Debt { offset, busy, readmission });
            }
        }
        self.state.attend();
        Verdict::Hold(why)
    }

    /// Run or Skip of the owed record or a later one pays.
    fn pay_debt(&mut self, slot: u32, offset: u64) {
        let entry = self.entry_mut(slot);
        if entry.debt.is_some_and(|debt| offset >= debt.offset) {
            entry.debt = None;
            self.state.attend();
        }
    }

    /// A full window or budget asks for a pause.
    fn room_taken(&mut self, slot: u32) {
        if !self.state.window_has_room() || !self.budget_has_room(slot) {
            self.state.attend();
        }
    }

    fn take(&mut self, offered: Offered, record: &Record<'_>, key: Option<Key>) -> Verdict {
        let Offered { slot, offset, standing, .. } = offered;
        let number = match standing {
            Standing::Abandoned(number) => {
                self.reopen_place(slot, number);
                number
            }
            Standing::New | Standing::Old => {
                self.note_admitted(offered);
                self.push_place(slot, offset)
            }
        };
        let place = self.take_flight(slot);
        let config = &self.state.config;
        let reason = if key.is_none() && config.key_policy == KeyPolicy::Required {
            Some(Reason::NoUsableKey)
        } else {
            (record.attempts >= config.attempts_max).then_some(Reason::AttemptsSpent)
        };
        let flight = self.flight_mut(place);
        flight.number = number;
        flight.offset = offset;
        flight.attempts = record.attempts;
        if let Some(key) = key {
            flight.key = key;
            flight.keyed = true;
        }
        self.reserve_key(place);
        let kind = if reason.is_some() { TicketKind::DeadLetter } else { TicketKind::Run };
        let ticket = self.hand_out(place, kind);
        let flight = self.flight_mut(place);
        flight.admitted = ticket.sequence;
        flight.reason = reason.unwrap_or(Reason::AttemptsSpent);
        self.pay_debt(slot, offset);
        self.room_taken(slot);
        reason.map_or(Verdict::Run(ticket), |reason| Verdict::Park(ticket, reason))
    }

    /// Bookkeeping of every record that takes a place.
    fn note_admitted(&mut self, offered: Offered) {
        let Offered { slot, offset, epoch, .. } = offered;
        let entry = self.entry_mut(slot);
        if epoch > entry.epoch {
            entry.epoch = epoch;
            entry.set_changed = true;
        }
        let first = entry.last_admitted == NO_OFFSET;
        let (partition, resume) = (entry.partition, entry.resume);
        entry.last_admitted = offset;
        entry.record_seen = true;
        if first && offset > resume {
            let (from, to) = (offset_of(resume), offset_of(offset));
            self.report(slot, ReportKind::Gap, Output::Gap { partition, from, to });
        }
        self.pass_carried(slot);
    }

    fn note_refusal(&mut self, record: &Record<'_>, slot: Option<u32>, verdict: Verdict) {
        let Verdict::Refuse(why) = verdict else { return };
        let assignment = slot.and_then(|slot| Assignment::new(self.entry(slot).assignment));
        let (partition, offset) = (record.partition, record.offset.value());
        self.note_entry(Some(partition), assignment, offset, Event::Refused(why));
    }

    fn count_verdict(&mut self, slot: Option<u32>, verdict: Verdict) {
        let counters = &mut self.state.counters;
        let one = match verdict {
            Verdict::Run(_) => &mut counters.run,
            Verdict::Park(..) => &mut counters.parked,
            Verdict::Skip(Skip::Carried) => &mut counters.skipped_carried,
            Verdict::Skip(Skip::DuplicateFinished) => &mut counters.skipped_finished,
            Verdict::Skip(Skip::DuplicateInFlight) => &mut counters.skipped_in_flight,
            Verdict::Hold(Hold::Owed(_)) => &mut counters.held_owed,
            Verdict::Hold(Hold::ResumeUnknown) => &mut counters.held_resume_unknown,
            Verdict::Hold(Hold::KeyBusy) => &mut counters.held_key_busy,
            Verdict::Hold(Hold::Window) => &mut counters.held_window,
            Verdict::Hold(Hold::Budget) => &mut counters.held_budget,
            Verdict::Hold(Hold::Storm) => &mut counters.held_storm,
            Verdict::Refuse(Refuse::Fenced(_)) => &mut counters.refused_fenced,
            Verdict::Refuse(Refuse::OffsetRegression { .. }) => &mut counters.refused_regression,
            Verdict::Refuse(Refuse::OffsetLimit) => &mut counters.refused_offset_limit,
        };
        *one = one.saturating_add(1);
        let Some(slot) = slot else { return };
        let counters = &mut self.entry_mut(slot).counters;
        let one = match verdict {
            Verdict::Run(_) | Verdict::Park(..) => &mut counters.admitted,
            Verdict::Skip(_) => &mut counters.skipped,
            Verdict::Hold(_) => &mut counters.held,
            Verdict::Refuse(_) => &mut counters.refused,
        };
        *one = one.saturating_add(1);
    }
}

/// An offset out of the tables, where only real ones are kept.
pub(crate) fn offset_of(value: u64) -> Offset {
    Offset::new(value).unwrap_or(Offset::MAX)
}
