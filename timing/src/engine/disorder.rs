//! Disturbances of the threads in tests: no result may depend on them.

use std::time::Duration;

/// Disturbances of the threads in tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disorder {
    /// Seed of the order in which threads take domains.
    pub shuffle: Option<u64>,
    /// Whether only the leader runs until the launch is over.
    pub kept_off: bool,
}

impl Disorder {
    /// The domain taken at a turn: a permutation that differs from epoch to epoch, with occasional pauses.
    pub(crate) fn shuffled(&self, turn: usize, domains: usize, end: u64) -> usize {
        let Some(seed) = self.shuffle else { return turn };
        let mix = |value: u64| {
            let z = (value ^ value >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z ^ z >> 29
        };
        let noise = mix(seed ^ mix(end));
        if mix(noise ^ turn as u64) % 5 == 0 {
            std::thread::sleep(Duration::from_micros(mix(noise + turn as u64) % 20));
        }
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let count = domains as u64;
        let step = (1..).map(|n| (noise >> 20) % count + n).find(|step| gcd(*step, count) == 1).unwrap_or(1);
        ((turn as u64 * step + noise) % count) as usize
    }
}
