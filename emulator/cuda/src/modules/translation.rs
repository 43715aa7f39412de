//! How long the kernels of a program took to translate. A library that asks about hundreds of large kernels at its start, as
//! NCCL does, is told to be at work: it looks like a hang.

use crate::tell::tell;
use std::time::Duration;

/// Time after which the program's user is told, for the first time; later times are twice the one before.
const FIRST_TOLD: Duration = Duration::from_secs(10);

/// Kernels that were translated.
#[derive(Debug)]
pub(crate) struct Translation {
    kernels: u32,
    time: Duration,
    next_told: Duration,
}

impl Default for Translation {
    fn default() -> Translation {
        Translation { kernels: 0, time: Duration::ZERO, next_told: FIRST_TOLD }
    }
}

impl Translation {
    /// Counts a kernel of a module.
    pub(crate) fn took(&mut self, time: Duration, module: &str) {
        if let Some(told) = self.count(time, module) {
            tell(&told);
        }
    }

    /// The same; what to say, if it is time.
    fn count(&mut self, time: Duration, module: &str) -> Option<String> {
        self.kernels += 1;
        self.time += time;
        if self.time < self.next_told {
            return None;
        }
        self.next_told = 2 * self.time;
        let (kernels, seconds) = (self.kernels, self.time.as_secs());
        Some(format!(
            "translating {kernels} kernels has taken {seconds} s so far, the last one of {module}; a library that asks about all \
             its kernels at its start waits for that"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_translations_are_told_at_doubling_times() {
        let mut translation = Translation::default();
        let told: Vec<u32> =
            (1..=50u32).filter(|_| translation.count(Duration::from_secs(1), "m").is_some()).collect();
        assert_eq!(told, [10, 20, 40]);
    }
}
