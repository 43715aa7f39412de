//! Statistics as a few hundred bytes, for replays of many launches: most counts are small, and what all launches share (the
//! declarations of techniques and their parameters) is kept once.

use super::{Counters, Latencies, StallCounts, Stats, TechniqueStats};
use serde::{Deserialize, Serialize};

/// Statistics as they are stored.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stored {
    counters: Counters,
    stalls: StallCounts,
    latency: Latencies,
    techniques: Vec<super::technique::Counts>,
}

impl Stored {
    /// Takes statistics apart; what techniques declare goes into `shared` where it is not there already.
    pub fn of(stats: Stats, shared: &mut Vec<TechniqueStats>) -> Stored {
        let techniques = stats.techniques.into_iter().map(|one| one.into_counts(shared)).collect();
        Stored { counters: stats.counters, stalls: stats.stalls, latency: stats.latency, techniques }
    }

    /// The inverse of [`Stored::of`].
    pub fn restore(self, shared: &[TechniqueStats]) -> Stats {
        let techniques = self.techniques.into_iter().filter_map(|counts| counts.restore(shared)).collect();
        Stats { counters: self.counters, stalls: self.stalls, latency: self.latency, techniques }
    }
}
