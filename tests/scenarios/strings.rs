//! Commit metadata as the document spells it, written here a second time.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn number(text: &mut String, value: u64) {
    let mut left = value;
    while left > 31 {
        text.push(char::from(DIGITS[usize::try_from(left & 31).expect("small") + 32]));
        left >>= 5;
    }
    text.push(char::from(DIGITS[usize::try_from(left).expect("small")]));
}

fn check(text: &mut String) {
    let hash = text
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    for digit in 0..6 {
        text.push(char::from(DIGITS[usize::try_from((hash >> (6 * digit)) & 63).expect("small")]));
    }
}

/// A string of these numbers, one after the other, whatever they mean, with its check.
pub(crate) fn of_numbers(numbers: &[u64]) -> String {
    let mut text = "rg1".to_owned();
    for value in numbers {
        number(&mut text, *value);
    }
    check(&mut text);
    text
}

/// A string whose number `which` is 2^64 larger than it says here.
pub(crate) fn beyond_64_bits(numbers: &[u64], which: usize) -> String {
    let mut text = "rg1".to_owned();
    for (index, value) in numbers.iter().enumerate() {
        if index == which {
            // Twelve digits of five bits, and one whose bit is worth 2^64.
            for digit in 0..12 {
                let bits = usize::try_from((value >> (5 * digit)) & 31).expect("small");
                text.push(char::from(DIGITS[bits + 32]));
            }
            text.push(char::from(DIGITS[16]));
        } else {
            number(&mut text, *value);
        }
    }
    check(&mut text);
    text
}

/// The string for the committed offset `base`: `finished` lists offsets above it, in order.
pub(crate) fn string(base: u64, finished: &[u64]) -> String {
    in_epoch(base, None, finished)
}

/// The same, written by somebody who saw leader epoch `epoch`.
pub(crate) fn in_epoch(base: u64, epoch: Option<u64>, finished: &[u64]) -> String {
    let mut text = "rg1".to_owned();
    number(&mut text, base);
    number(&mut text, epoch.map_or(0, |epoch| epoch + 1));
    let (mut from, mut rest) = (base, finished);
    while let Some(start) = rest.first() {
        let run = rest.iter().zip(*start..).take_while(|(have, want)| *have == want).count();
        number(&mut text, start - from);
        number(&mut text, run as u64);
        from = start + run as u64;
        rest = &rest[run..];
    }
    check(&mut text);
    text
}

#[test]
fn the_documents_example_is_what_is_written() {
    let document = include_str!("../../docs/commit-metadata.md");
    assert_eq!(in_epoch(100, Some(7), &[101, 102, 105]), "rg1kDIBCCBHUFd0A");
    assert!(document.contains("together `rg1kDIBCCBHUFd0A`"));
}
