//! Open addressing over a lent slice: values are stored + 1, 0 is empty. Linear probing,
//! backward-shift deletion, so there are no tombstones and nothing ever has to be rebuilt.
//! At least twice as many places as values keeps probes short.

/// Finds the value with this hash for which `same` holds.
pub(crate) fn find(index: &[u32], hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
    let mut place = home(hash, index.len());
    for _ in 0..index.len() {
        let value = index.get(place)?.checked_sub(1)?;
        if same(value) {
            return Some(value);
        }
        place = next(place, index.len());
    }
    None
}

/// Adds a value. Does nothing when every place is taken, which twice the room rules out.
pub(crate) fn insert(index: &mut [u32], hash: u64, value: u32) {
    let len = index.len();
    let mut place = home(hash, len);
    for _ in 0..len {
        match index.get_mut(place) {
            Some(free) if *free == 0 => {
                *free = value.saturating_add(1);
                return;
            }
            _ => place = next(place, len),
        }
    }
}

/// Removes a value; `hash_of` gives the hash of the values around it.
pub(crate) fn remove(index: &mut [u32], hash: u64, value: u32, hash_of: impl Fn(u32) -> u64) {
    let len = index.len();
    let wanted = value.saturating_add(1);
    let mut hole = home(hash, len);
    for _ in 0..len {
        match index.get(hole).copied() {
            Some(found) if found == wanted => break,
            Some(found) if found != 0 => hole = next(hole, len),
            _ => return,
        }
    }
    let mut place = hole;
    for _ in 0..len {
        place = next(place, len);
        let Some(moved) = index.get(place).copied().and_then(|found| found.checked_sub(1)) else {
            break;
        };
        let from_home = distance(home(hash_of(moved), len), place, len);
        if from_home >= distance(hole, place, len) {
            set(index, hole, moved.saturating_add(1));
            hole = place;
        }
    }
    set(index, hole, 0);
}

fn set(index: &mut [u32], place: usize, value: u32) {
    if let Some(entry) = index.get_mut(place) {
        *entry = value;
    }
}

/// Maps a hash onto `0..len` by its high bits.
#[allow(clippy::cast_possible_truncation, reason = "the product's high half is below len")]
fn home(hash: u64, len: usize) -> usize {
    (u128::from(hash).wrapping_mul(len as u128) >> 64) as usize
}

const fn next(place: usize, len: usize) -> usize {
    let next = place.saturating_add(1);
    if next >= len { 0 } else { next }
}

const fn distance(from: usize, to: usize, len: usize) -> usize {
    if to >= from { to.saturating_sub(from) } else { len.saturating_sub(from).saturating_add(to) }
}

/// Mixes a number into a hash (the finaliser of splitmix64).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{find, insert, mix, remove};
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map_through_random_inserts_and_removes() {
        let mut index = [0; 16];
        let hash_of = |value: u32| mix(u64::from(value) % 3);
        let mut model = BTreeMap::new();
        // Miri is some hundred times slower.
        let steps: u64 = if cfg!(miri) { 300 } else { 20_000 };
        for step in 0..steps {
            let value = u32::try_from(mix(step) % 8).unwrap();
            if model.remove(&value).is_some() {
                remove(&mut index, hash_of(value), value, hash_of);
            } else {
                model.insert(value, ());
                insert(&mut index, hash_of(value), value);
            }
            for probe in 0..8 {
                let found = find(&index, hash_of(probe), |value| value == probe).is_some();
                assert_eq!(found, model.contains_key(&probe), "step {step}, value {probe}");
            }
        }
    }
}
