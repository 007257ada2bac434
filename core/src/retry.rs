//! Back-off between attempts: exponential, capped, shortened by jitter from the host's seed.

use crate::{Config, index};

/// The delay before the next attempt, in ticks, when `made` attempts were made (1 or more).
/// `sequence` of the failed ticket picks the jitter.
pub(crate) fn delay(config: &Config, made: u16, sequence: u64) -> u64 {
    let doublings = u32::from(made.saturating_sub(1)).min(63);
    let factor = 1_u64 << doublings;
    let delay = config.backoff.saturating_mul(factor).min(config.backoff_cap);
    let share = u128::from(delay).saturating_mul(u128::from(config.jitter)) / 100;
    let random = index::mix(config.jitter_seed ^ sequence) >> 32;
    let taken = share.saturating_mul(u128::from(random)) >> 32;
    delay.saturating_sub(u64::try_from(taken).unwrap_or(delay))
}

#[cfg(test)]
mod tests {
    use super::delay;
    use crate::Config;

    #[test]
    fn doubles_up_to_the_cap() {
        let config = Config { backoff: 100, backoff_cap: 1_000, jitter: 0, ..Config::default() };
        let delays = [1, 2, 3, 4, 5, 64, u16::MAX].map(|made| delay(&config, made, 7));
        assert_eq!(delays, [100, 200, 400, 800, 1_000, 1_000, 1_000]);
    }

    #[test]
    fn jitter_only_shortens_and_by_no_more_than_its_share() {
        let config = Config { backoff: 1_000, backoff_cap: 1_000, jitter: 20, ..Config::default() };
        for sequence in 0..1_000 {
            let delay = delay(&config, 1, sequence);
            assert!((800..=1_000).contains(&delay), "{delay} at {sequence}");
        }
    }
}
