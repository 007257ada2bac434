//! The commit metadata's grammar: which offsets above a committed one are finished, as text.
//!
//! `"rg1" base epoch 1*( gap run ) check`, numbers in digits of 5 bits, lowest first; see
//! `docs/commit-metadata.md`. Each set has exactly one string.

use crate::{Ignored, Offset};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const MAGIC: &[u8; 3] = b"rg1";
/// The check at the end, in digits.
const CHECK: usize = 6;
/// Set in a digit that is not its number's last.
const MORE: u8 = 32;

/// Offsets in a row, `start .. end`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// What a string says before its runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) base: u64,
    /// The leader epoch + 1, 0 when not known.
    pub(crate) epoch: u64,
    /// Where the runs begin.
    pub(crate) runs_at: usize,
    /// Where the runs end.
    pub(crate) runs_end: usize,
}

/// FNV-1a, 32 bits.
#[derive(Clone, Copy)]
struct Check(u32);

impl Check {
    const NEW: Self = Self(0x811c_9dc5);

    const fn add(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    fn digits(self) -> [u8; CHECK] {
        let mut left = self.0;
        [0; CHECK].map(|_: u8| {
            let digit = digit(left & 63);
            left >>= 6;
            digit
        })
    }
}

fn digit(value: u32) -> u8 {
    DIGITS.get(value as usize & 63).copied().unwrap_or(b'A')
}

const fn value_of(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit.wrapping_sub(b'A'),
        b'a'..=b'z' => digit.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => digit.wrapping_sub(b'0').wrapping_add(52),
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
}

/// The number at `at`, and where the next one begins.
pub(crate) fn number(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let (mut value, mut shift, mut at) = (0_u64, 0_u32, at);
    loop {
        let digit = value_of(*text.get(at)?)?;
        at = at.checked_add(1)?;
        let bits = u64::from(digit & (MORE - 1));
        if shift > 60 || (shift == 60 && bits > 15) {
            return None;
        }
        value |= bits << shift;
        if digit & MORE == 0 {
            // A last digit of 0 behind others would be a second way to write the number.
            return (bits != 0 || shift == 0).then_some((value, at));
        }
        shift = shift.saturating_add(5);
    }
}

/// The run whose gap stands at `at`, counted from `from`, and where the next one stands.
pub(crate) fn run(text: &[u8], at: usize, from: u64) -> Option<(Run, usize)> {
    let (gap, at) = number(text, at)?;
    let (length, at) = number(text, at)?;
    let start = from.checked_add(gap)?;
    let end = start.checked_add(length)?;
    (length > 0).then_some((Run { start, end }, at))
}

/// Checks a whole string that came with the committed offset `base`.
pub(crate) fn read(text: &[u8], base: u64) -> Result<Header, Ignored> {
    match text {
        [b'r', b'g', b'1', ..] => {}
        [b'r', b'g', digit, ..] if digit.is_ascii_digit() => return Err(Ignored::Version),
        _ => return Err(Ignored::Foreign),
    }
    let header = parse(text).ok_or(Ignored::Foreign)?;
    if header.base == base { Ok(header) } else { Err(Ignored::Base) }
}

fn parse(text: &[u8]) -> Option<Header> {
    let runs_end = text.len().checked_sub(CHECK)?;
    let (said, check) = text.split_at_checked(runs_end)?;
    if said.iter().fold(Check::NEW, |check, byte| check.add(*byte)).digits() != check {
        return None;
    }
    let (base, at) = number(said, MAGIC.len())?;
    let (epoch, runs_at) = number(said, at)?;
    let (mut at, mut from, mut first) = (runs_at, base, true);
    while at < runs_end {
        let (next, after) = run(said, at, from)?;
        let touches = next.start == from && !first;
        if touches || next.end > Offset::MAX.value() {
            return None;
        }
        (at, from, first) = (after, next.end, false);
    }
    // Epochs are of 31 bits; an empty set has no string.
    (!first && epoch <= 1 << 31).then_some(Header { base, epoch, runs_at, runs_end })
}

/// Writes a string, or only finds its length and identity when there is no room for it.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    room: &'a mut [u8],
    len: usize,
    check: u32,
    /// Identity of what was written: FNV-1a, 64 bits.
    identity: u64,
    /// The run that may still grow.
    open: Option<Run>,
    /// End of the run before.
    from: u64,
}

impl<'a> Writer<'a> {
    /// A string for the committed offset `base`.
    pub(crate) fn new(room: &'a mut [u8], base: u64, epoch: u64) -> Self {
        let mut writer = Self {
            room,
            len: 0,
            check: Check::NEW.0,
            identity: 0xcbf2_9ce4_8422_2325,
            open: None,
            from: base,
        };
        for byte in MAGIC {
            writer.byte(*byte);
        }
        writer.number(base);
        writer.number(epoch);
        writer
    }

    /// Adds offsets above all added before; a run that touches the last one joins it.
    pub(crate) fn add(&mut self, run: Run) {
        match &mut self.open {
            Some(open) if open.end == run.start => open.end = run.end,
            _ => {
                self.close();
                self.open = Some(run);
            }
        }
    }

    fn close(&mut self) {
        if let Some(run) = self.open.take() {
            self.number(run.start.saturating_sub(self.from));
            self.number(run.end.saturating_sub(run.start));
            self.from = run.end;
        }
    }

    /// Ends the string: its length, and its identity.
    pub(crate) fn finish(mut self) -> (usize, u64) {
        self.close();
        for byte in Check(self.check).digits() {
            self.byte(byte);
        }
        (self.len, self.identity)
    }

    /// Bytes written so far, the check not included.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    fn number(&mut self, value: u64) {
        let mut left = value;
        loop {
            let low = u32::try_from(left & 31).unwrap_or(0);
            left >>= 5;
            self.byte(digit(if left == 0 { low } else { low | u32::from(MORE) }));
            if left == 0 {
                return;
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        if let Some(to) = self.room.get_mut(self.len) {
            *to = byte;
        }
        self.len = self.len.saturating_add(1);
        self.check = Check(self.check).add(byte).0;
        self.identity = (self.identity ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// Identity of a string that was read, as [`Writer::finish`] gives it for one that is written.
pub(crate) fn identity_of(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |identity: u64, byte| {
        (identity ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{Header, Run, Writer, identity_of, number, read, run};
    use crate::Ignored;
    use std::vec::Vec;

    fn written(base: u64, epoch: u64, runs: &[(u64, u64)]) -> Vec<u8> {
        let mut room = [0; 256];
        let mut writer = Writer::new(&mut room, base, epoch);
        for (start, end) in runs {
            writer.add(Run { start: *start, end: *end });
        }
        let (len, identity) = writer.finish();
        assert_eq!(identity, identity_of(&room[..len]));
        room[..len].to_vec()
    }

    #[test]
    fn the_documents_example_is_written_and_read() {
        let text = written(100, 8, &[(101, 103), (105, 106)]);
        assert_eq!(text, b"rg1kDIBCCBHUFd0A");
        let header = read(&text, 100).expect("readable");
        assert_eq!(header, Header { base: 100, epoch: 8, runs_at: 6, runs_end: 10 });
        let (first, at) = run(&text, header.runs_at, 100).expect("a run");
        assert_eq!(first, Run { start: 101, end: 103 });
        let (second, at) = run(&text, at, first.end).expect("a run");
        assert_eq!((second, at), (Run { start: 105, end: 106 }, header.runs_end));
    }

    #[test]
    fn runs_that_touch_become_one() {
        let apart = written(0, 0, &[(5, 6), (6, 7), (7, 9)]);
        assert_eq!(apart, written(0, 0, &[(5, 9)]));
    }

    #[test]
    fn the_largest_numbers_survive() {
        let top = i64::MAX.unsigned_abs();
        let text = written(top - 9, 1 << 31, &[(top - 5, top)]);
        assert_eq!(read(&text, top - 9).map(|header| header.epoch), Ok(1 << 31));
        assert_eq!(number(b"_____________f", 0), None);
        assert_eq!(
            number(&written(u64::MAX, 0, &[])[3..], 0).map(|(value, _)| value),
            Some(u64::MAX)
        );
    }

    #[test]
    fn any_changed_or_missing_byte_makes_it_foreign() {
        let text = written(1_000, 3, &[(1_001, 1_040), (1_100, 1_101), (2_000, 2_010)]);
        for cut in 3..text.len() {
            assert_eq!(read(&text[..cut], 1_000), Err(Ignored::Foreign), "cut at {cut}");
        }
        for at in 3..text.len() {
            for byte in 0..=u8::MAX {
                let mut other = text.clone();
                if other[at] != byte {
                    other[at] = byte;
                    assert_eq!(read(&other, 1_000), Err(Ignored::Foreign), "{byte} at {at}");
                }
            }
        }
    }

    #[test]
    fn what_else_is_wrong_is_named() {
        let text = written(100, 0, &[(101, 102)]);
        assert_eq!(read(&text, 99), Err(Ignored::Base));
        assert_eq!(read(b"rg2kD", 100), Err(Ignored::Version));
        assert_eq!(read(b"rg", 100), Err(Ignored::Foreign));
        assert_eq!(read(b"{\"offset\":100}", 100), Err(Ignored::Foreign));
        assert_eq!(read(&written(100, 0, &[]), 100), Err(Ignored::Foreign), "an empty set");
        assert_eq!(read(&written(100, (1 << 31) + 1, &[(101, 102)]), 100), Err(Ignored::Foreign));
        assert_eq!(read(&written(0, 0, &[(5, u64::MAX)]), 0), Err(Ignored::Foreign));
    }
}
