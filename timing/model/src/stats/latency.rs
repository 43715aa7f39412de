//! Latency distributions, kept in hdrhistograms so that percentiles cost no memory per sample.
//!
//! One list gives the struct, the merge, the JSON keys and the CSV columns.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Highest latency of the histogram, in cycles; longer ones count as this.
const HIGHEST_CYCLES: u64 = 1 << 24;

/// Latencies below this number of cycles, nearly all, are counted in an array and added to the histogram at
/// the end.
const SHORT_CYCLES: usize = 1024;

/// A distribution of latencies in cycles, with two significant digits. Counts take memory when they are needed, and little
/// when they are stored, since a replay stores those of every launch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u32, u64)>", into = "Vec<(u32, u64)>")]
pub struct Latency {
    /// Counts of short latencies; empty before the first.
    short: Vec<u64>,
    /// Counts of longer ones, if there are any.
    long: Option<Box<Histogram<u64>>>,
    /// Further samples: latencies, each with its count.
    packed: Box<[(u32, u64)]>,
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_CYCLES, 2).expect("constant bounds are valid")
}

impl Latency {
    /// Records one latency.
    #[inline]
    pub fn record(&mut self, cycles: u64) {
        match self.short.get_mut(cycles as usize) {
            Some(count) => *count += 1,
            None => self.record_first(cycles, 1),
        }
    }

    fn record_many(&mut self, cycles: u64, count: u64) {
        match self.short.get_mut(cycles as usize) {
            Some(known) => *known += count,
            None => self.record_first(cycles, count),
        }
    }

    /// Records a latency that there may be no memory for.
    #[cold]
    fn record_first(&mut self, cycles: u64, count: u64) {
        if cycles < SHORT_CYCLES as u64 {
            self.short.resize(SHORT_CYCLES, 0);
            self.short[cycles as usize] += count;
        } else {
            self.long.get_or_insert_with(|| Box::new(empty_histogram())).saturating_record_n(cycles, count);
        }
    }

    /// Adds another part's samples.
    pub fn merge(&mut self, other: &Latency) {
        other.each(|cycles, count| self.record_many(cycles, count));
    }

    /// Calls `visit` with every latency that was recorded, and its count.
    fn each(&self, mut visit: impl FnMut(u64, u64)) {
        let short = self.short.iter().enumerate().filter(|(_, count)| **count > 0);
        short.for_each(|(cycles, count)| visit(cycles as u64, *count));
        for step in self.long.iter().flat_map(|long| long.iter_recorded()) {
            visit(step.value_iterated_to(), step.count_at_value());
        }
        self.packed.iter().for_each(|(cycles, count)| visit(u64::from(*cycles), *count));
    }

    /// Every latency that was recorded, with its count.
    fn pairs(&self) -> Vec<(u32, u64)> {
        let mut pairs = Vec::new();
        self.each(|cycles, count| pairs.push((cycles as u32, count)));
        pairs
    }

    /// All samples.
    fn histogram(&self) -> Histogram<u64> {
        let mut all = empty_histogram();
        self.each(|cycles, count| all.saturating_record_n(cycles.max(1), count));
        all
    }

    /// Samples recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        let packed: u64 = self.packed.iter().map(|(_, count)| count).sum();
        self.short.iter().sum::<u64>() + self.long.as_ref().map_or(0, |long| long.len()) + packed
    }

    /// Mean in cycles; 0 without a sample.
    #[must_use]
    pub fn mean_cycles(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.histogram().mean() }
    }

    /// Latency below which the given percentage of samples lies, in cycles.
    #[must_use]
    pub fn percentile_cycles(&self, percent: f64) -> u64 {
        if self.count() == 0 { 0 } else { self.histogram().value_at_percentile(percent) }
    }

    /// Longest latency in cycles.
    #[must_use]
    pub fn max_cycles(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.histogram().max() }
    }

    /// Count, mean, percentiles and maximum.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let all = self.summary();
        json!({
            "samples": all.samples,
            "mean_cycles": all.mean_cycles,
            "p50_cycles": all.p50_cycles,
            "p90_cycles": all.p90_cycles,
            "p99_cycles": all.p99_cycles,
            "max_cycles": all.max_cycles,
        })
    }

    /// Figures of a distribution, computed from one combined histogram.
    fn summary(&self) -> Summary {
        let all = self.histogram();
        if all.is_empty() {
            return Summary::default();
        }
        Summary {
            samples: all.len(),
            mean_cycles: all.mean(),
            p50_cycles: all.value_at_percentile(50.0),
            p90_cycles: all.value_at_percentile(90.0),
            p99_cycles: all.value_at_percentile(99.0),
            max_cycles: all.max(),
        }
    }
}

impl From<Vec<(u32, u64)>> for Latency {
    fn from(pairs: Vec<(u32, u64)>) -> Latency {
        Latency { packed: pairs.into(), ..Latency::default() }
    }
}

impl From<Latency> for Vec<(u32, u64)> {
    fn from(latency: Latency) -> Vec<(u32, u64)> {
        latency.pairs()
    }
}

/// Figures of one distribution; 0 without a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Summary {
    samples: u64,
    mean_cycles: f64,
    p50_cycles: u64,
    p90_cycles: u64,
    p99_cycles: u64,
    max_cycles: u64,
}

/// One row of the list, for documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyInfo {
    /// Key in the JSON's `latency`, and after `latency_` in CSV columns.
    pub name: &'static str,
    /// Description of the measured latency.
    pub doc: &'static str,
}

macro_rules! latencies {
    ($($(#[doc = $doc:literal])+ $name:ident;)+) => {
        /// Every latency distribution of a replay, in SM clock cycles.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct Latencies {
            $($(#[doc = $doc])+ pub $name: Latency,)+
        }

        /// The distributions, in the order of the struct.
        pub const LATENCIES: &[LatencyInfo] =
            &[$(LatencyInfo { name: stringify!($name), doc: concat!($($doc),+) }),+];

        impl Latencies {
            /// Adds another part's samples.
            pub fn merge(&mut self, other: &Latencies) {
                $(self.$name.merge(&other.$name);)+
            }

            /// Distributions in the order of [`LATENCIES`].
            #[must_use]
            pub fn all(&self) -> Vec<&Latency> {
                vec![$(&self.$name),+]
            }
        }
    };
}

latencies! {
    /// Loads and atomics on global or local memory, from issue to writeback.
    load_issue_to_writeback;
    /// Loads of which L1 held every line.
    l1_load_issue_to_writeback;
    /// Loads of which at least one line came from L2, and none from DRAM.
    l2_load_issue_to_writeback;
    /// Loads of which at least one line came from DRAM.
    dram_load_issue_to_writeback;
    /// Atomics on global memory that return a value.
    atomic_issue_to_writeback;
    /// Loads and atomics on shared memory.
    shared_issue_to_writeback;
    /// Loads of constants through the constant cache.
    constant_issue_to_writeback;
    /// Everything but loads and atomics on global or local memory.
    alu_issue_to_writeback;
    /// From issue to the arrival of the last operand in the collector.
    operand_collection;
    /// The same, of memory instructions that write a register.
    memory_operand_collection;
    /// The same, of other instructions that write a register.
    alu_operand_collection;
    /// Warps at barriers, from the arrival of their first waiting lanes to the cycle in which they may issue again.
    barrier_wait;
    /// Requests to L2 and back: from the SM's port to the arrival of the answer.
    memory_round_trip;
}

impl Latencies {
    /// An object with one key per distribution.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let pairs = LATENCIES.iter().zip(self.all()).map(|(row, one)| (row.name.to_owned(), one.to_json()));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// CSV columns: samples, mean, median, 99th percentile and maximum of each distribution.
    pub(super) fn csv_header() -> impl Iterator<Item = String> {
        let of = ["samples", "mean", "p50", "p99", "max"];
        LATENCIES.iter().flat_map(move |row| of.map(|what| format!("latency_{}_{what}", row.name)))
    }

    /// Values under [`Latencies::csv_header`].
    pub(super) fn csv_row(&self) -> impl Iterator<Item = String> + '_ {
        self.all().into_iter().flat_map(|one| {
            let all = one.summary();
            [
                all.samples.to_string(),
                format!("{:.3}", all.mean_cycles),
                all.p50_cycles.to_string(),
                all.p99_cycles.to_string(),
                all.max_cycles.to_string(),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_two_digits_at_any_size() {
        for scale in [1u64, 37, 1000] {
            let mut one = Latency::default();
            let mut other = Latency::default();
            for n in 1..=1000 {
                if n % 3 == 0 { one.record(n * scale) } else { other.record(n * scale) }
            }
            one.merge(&other);
            assert_eq!(one.count(), 1000);
            for (percent, exact) in [(50.0, 500), (90.0, 900), (99.0, 990)] {
                let (got, exact) = (one.percentile_cycles(percent), exact * scale);
                assert!(got.abs_diff(exact) * 100 <= exact, "{percent} %: {got}, not {exact}");
            }
            assert!(one.max_cycles().abs_diff(1000 * scale) * 100 <= 1000 * scale);
            assert!((one.mean_cycles() - 500.5 * scale as f64).abs() <= 5.0 * scale as f64);
        }
    }

    #[test]
    fn packed_samples_are_the_same_and_small() {
        let mut loose = Latency::default();
        (0..5000u64).for_each(|n| loose.record(n * n % 3001 + if n % 7 == 0 { 100_000 } else { 0 }));
        let mut packed = Latency::from(Vec::from(loose.clone()));
        let summary = |one: &Latency| format!("{:?}", one.summary());
        assert_eq!((summary(&packed), packed.count()), (summary(&loose), 5000));
        assert!(packed.short.is_empty() && packed.long.is_none());
        // Further samples, and sums of packed ones.
        for one in [&mut loose, &mut packed] {
            [7, 70_000].iter().for_each(|cycles| one.record(*cycles));
        }
        assert_eq!(summary(&packed), summary(&loose));
        let mut sum = packed.clone();
        sum.merge(&packed);
        let mut want = loose.clone();
        want.merge(&loose);
        assert_eq!((summary(&sum), sum.count()), (summary(&want), 2 * 5002));
    }

    #[test]
    fn nothing_recorded_is_zero_and_what_is_too_long_counts_as_the_longest() {
        let mut one = Latency::default();
        assert_eq!((one.count(), one.percentile_cycles(99.0), one.max_cycles()), (0, 0, 0));
        one.record(u64::MAX);
        one.record(0);
        assert_eq!(one.count(), 2);
        assert!(one.max_cycles() >= HIGHEST_CYCLES);
        let names: std::collections::BTreeSet<&str> = LATENCIES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), LATENCIES.len());
        assert_eq!(Latencies::csv_header().count(), Latencies::default().csv_row().count());
    }
}
