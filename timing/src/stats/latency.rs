//! Latency distributions, kept in hdrhistograms so that percentiles cost no memory per sample.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Highest latency that is told apart, in cycles; longer ones count as this.
const HIGHEST_CYCLES: u64 = 1 << 24;

/// A distribution of latencies in cycles, with two significant digits.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Latency {
        Latency(Histogram::new_with_bounds(1, HIGHEST_CYCLES, 2).expect("constant bounds are valid"))
    }
}

impl Latency {
    /// Records one latency.
    #[inline]
    pub fn record(&mut self, cycles: u64) {
        self.0.saturating_record(cycles.max(1));
    }

    /// Adds another part's samples.
    pub fn merge(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("both histograms have the same bounds");
    }

    /// Samples recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Latency below which the given percentage of samples lies, in cycles.
    #[must_use]
    pub fn percentile_cycles(&self, percent: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_percentile(percent) }
    }

    /// Count, mean, percentiles and maximum.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mean = if self.0.is_empty() { 0.0 } else { self.0.mean() };
        json!({
            "samples": self.count(),
            "mean_cycles": mean,
            "p50_cycles": self.percentile_cycles(50.0),
            "p90_cycles": self.percentile_cycles(90.0),
            "p99_cycles": self.percentile_cycles(99.0),
            "max_cycles": if self.0.is_empty() { 0 } else { self.0.max() },
        })
    }
}
