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
    /// Pauses occasionally before a thread's turn.
    pub(crate) fn pause(&self, turn: u64, end: u64) {
        let Some(seed) = self.shuffle else { return };
        let noise = mix(seed ^ mix(end));
        if mix(noise ^ turn).is_multiple_of(5) {
            std::thread::sleep(Duration::from_micros(mix(noise + turn) % 20));
        }
    }

    /// Permutes the domains of an epoch, differently from epoch to epoch.
    pub(crate) fn shuffle(&self, domains: &mut Vec<usize>, end: u64) {
        let Some(seed) = self.shuffle.filter(|_| !domains.is_empty()) else { return };
        let noise = mix(seed ^ mix(end));
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let count = domains.len() as u64;
        let step = (1..).map(|n| (noise >> 20) % count + n).find(|step| gcd(*step, count) == 1).unwrap_or(1);
        let turns = 0..count;
        let place = |turn: u64| (u128::from(turn) * u128::from(step) + u128::from(noise)) % u128::from(count);
        *domains = turns.map(|turn| domains[place(turn) as usize]).collect();
    }
}

/// A mixture of the bits of a number.
fn mix(value: u64) -> u64 {
    let z = (value ^ value >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z ^ z >> 29
}
