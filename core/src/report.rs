//! Reports: one place a kind and partition, linked in order of happening.

use crate::Output;
use crate::logic::Logic;
use crate::state::NO_SLOT;

/// A report that awaits being pulled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReportEntry {
    output: Option<Output>,
    prev: u32,
    next: u32,
}

impl ReportEntry {
    /// An empty place.
    pub const EMPTY: Self = Self { output: None, prev: NO_SLOT, next: NO_SLOT };

    pub(crate) const fn output(&self) -> Option<Output> {
        self.output
    }

    pub(crate) const fn next(&self) -> u32 {
        self.next
    }
}

/// Kinds of report: places a partition.
pub(crate) const REPORTS: u32 = 5;

/// The place of a report among its partition's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReportKind {
    Sealed = 0,
    Gap = 1,
    StepBack = 2,
    Metadata = 3,
    /// The guard's own, kept with slot 0.
    Storm = 4,
}

impl Logic<'_> {
    /// Adds a report; an older one of the same kind and partition is dropped and counted.
    pub(crate) fn report(&mut self, slot: u32, kind: ReportKind, output: Output) {
        let place = slot.saturating_mul(REPORTS).saturating_add(kind as u32);
        if self.report_at(place).output.is_some() {
            self.unlink_report(place);
            self.state.counters.reports_dropped =
                self.state.counters.reports_dropped.saturating_add(1);
        }
        self.append_report(place, output);
        self.state.attend();
    }

    /// A report as a snapshot tells it, behind those restored before.
    pub(crate) fn restore_report(&mut self, place: u32, output: Output) -> Option<()> {
        let kind = match output {
            Output::Sealed(_) => ReportKind::Sealed,
            Output::Gap { .. } => ReportKind::Gap,
            Output::StepBack { .. } => ReportKind::StepBack,
            Output::MetadataIgnored { .. } => ReportKind::Metadata,
            Output::StormBegan { .. } | Output::StormEnded => ReportKind::Storm,
            _ => return None,
        };
        let slot = place.checked_div(REPORTS)?;
        let fits = slot < self.state.config.partitions
            && place.checked_rem(REPORTS) == Some(kind as u32)
            && self.report_at(place).output.is_none();
        fits.then(|| self.append_report(place, output))
    }

    fn append_report(&mut self, place: u32, output: Output) {
        let tail = self.state.reports.tail;
        self.set_report(place, ReportEntry { output: Some(output), prev: tail, next: NO_SLOT });
        if tail == NO_SLOT {
            self.state.reports.head = place;
        } else {
            self.set_report(tail, ReportEntry { next: place, ..self.report_at(tail) });
        }
        self.state.reports.tail = place;
    }

    /// The oldest report.
    pub(crate) fn pull_report(&mut self) -> Option<Output> {
        let place = self.state.reports.head;
        if place == NO_SLOT {
            return None;
        }
        let output = self.report_at(place).output;
        self.unlink_report(place);
        output
    }

    fn unlink_report(&mut self, place: u32) {
        let entry = self.report_at(place);
        if entry.prev == NO_SLOT {
            self.state.reports.head = entry.next;
        } else {
            self.set_report(
                entry.prev,
                ReportEntry { next: entry.next, ..self.report_at(entry.prev) },
            );
        }
        if entry.next == NO_SLOT {
            self.state.reports.tail = entry.prev;
        } else {
            self.set_report(
                entry.next,
                ReportEntry { prev: entry.prev, ..self.report_at(entry.next) },
            );
        }
        self.set_report(place, ReportEntry::EMPTY);
    }

    fn report_at(&self, place: u32) -> ReportEntry {
        self.parts.reports.get(place as usize).copied().unwrap_or(ReportEntry::EMPTY)
    }

    fn set_report(&mut self, place: u32, entry: ReportEntry) {
        if let Some(to) = self.parts.reports.get_mut(place as usize) {
            *to = entry;
        }
    }
}
