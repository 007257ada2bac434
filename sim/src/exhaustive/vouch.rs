//! Copies: a record in flight stands for the later ones of its key.

use super::world::{Row, World};

impl World {
    /// It is done, and so are the copies that it vouched for, and those that they vouched for.
    pub(super) fn finishes(&mut self, at: (u8, u8)) {
        self.row_mut(at).done = true;
        let mut done = 0;
        loop {
            let before = done;
            for place in self.places() {
                let row = self.row_mut(place);
                row.done |= row.vouchers & done != 0;
                done |= if row.done { bit(place) } else { 0 };
            }
            if done == before {
                return;
            }
        }
    }

    /// Whether a first copy stands for the record: one that a crash would bring back.
    pub(super) fn is_vouched(&self, row: &Row) -> bool {
        self.vouchers(row).any(|place| {
            let there = &self.logs[usize::from(place.0)];
            self.row(place).passed || u64::from(place.1) >= there.highest
        })
    }

    /// Whether a first copy stood for the record that somebody's choice has passed: the one stands
    /// for both.
    pub(super) fn is_passed_with_another(&self, row: &Row) -> bool {
        self.vouchers(row).any(|place| self.row(place).passed)
    }

    /// First copies of the record, and of those.
    fn vouchers(&self, row: &Row) -> impl Iterator<Item = (u8, u8)> + use<> {
        let mut vouchers = row.vouchers;
        // Two rounds reach every voucher of vouchers among three records.
        for _ in 0..2 {
            let known = self.places().filter(|place| vouchers & bit(*place) != 0);
            vouchers |= known.fold(0, |bits, place| bits | self.row(place).vouchers);
        }
        self.places().filter(move |place| vouchers & bit(*place) != 0)
    }
}

/// The bit of a record.
pub(super) fn bit((log, offset): (u8, u8)) -> u8 {
    1 << (log * 3 + offset)
}
