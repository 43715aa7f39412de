//! Statistics of a replay: counters, stall causes, latency distributions, energy,
//! samples at an interval, and their JSON and CSV forms.
//!
//! Every part that counts (an SM, a memory partition) owns a [`Stats`]; the engine merges them in a fixed
//! order, so the result does not depend on the number of threads. The JSON keys are the counter names of
//! [`COUNTERS`] plus `ipc`, `stalls` (see [`Stall`]), `energy_pj` (by component), `latency` (distributions) and, with
//! techniques, `technique` (see [`TechniqueStats`]).

mod counters;
mod energy;
mod json;
mod latency;
mod series;
mod stalls;
mod stored;
mod technique;

pub use counters::{COUNTERS, Counters};
pub use energy::{EnergyTable, Price};
pub use latency::{LATENCIES, Latencies, Latency, LatencyInfo};
pub use series::{Column, Sample, Sampler, Series};
pub use stalls::{STALLS, Stall, StallCounts};
pub use stored::Stored;
pub use technique::{CounterEntry, TechniqueStats, column_names, counter_entries};
pub use warplab_technique::CounterInfo;

use crate::config::GpuConfig;

/// Statistics of one part of the GPU, or of the whole GPU.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Event counts.
    pub counters: Counters,
    /// Scheduler slots by cause.
    pub stalls: StallCounts,
    /// Latency distributions.
    pub latency: Latencies,
    /// Counts of each technique.
    pub techniques: Vec<TechniqueStats>,
}

impl Stats {
    /// Adds another part's statistics.
    pub fn merge(&mut self, other: &Stats) {
        self.counters.merge(&other.counters);
        self.stalls.merge(&other.stalls);
        self.latency.merge(&other.latency);
        for theirs in &other.techniques {
            match self.techniques.iter_mut().find(|mine| mine.info.name == theirs.info.name) {
                Some(mine) => mine.merge(theirs),
                None => self.techniques.push(theirs.clone()),
            }
        }
    }

    /// Sets what follows from the length of a launch.
    pub fn set_cycles(&mut self, cycles: u64, launch: u64, config: &GpuConfig) {
        self.counters.set_cycles(cycles, launch, config);
        self.techniques.iter_mut().for_each(|technique| technique.set_cycles(cycles, config));
    }

    /// Counts of the technique with a name.
    #[must_use]
    pub fn technique(&self, name: &str) -> Option<&TechniqueStats> {
        self.techniques.iter().find(|technique| technique.info.name == name)
    }

    /// A counter summed over all techniques that declare it.
    #[must_use]
    pub fn of_techniques(&self, counter: &str) -> u64 {
        self.techniques.iter().filter_map(|technique| technique.get(counter)).sum()
    }

    /// CSV header of [`Stats::csv_row`].
    #[must_use]
    pub fn csv_header() -> Vec<String> {
        let counters = COUNTERS.iter().map(|row| row.name.to_owned());
        let stalls = Stall::ALL.iter().map(|cause| format!("stall_{}", cause.name()));
        counters.chain(["ipc".to_owned()]).chain(stalls).chain(Latencies::csv_header()).collect()
    }

    /// Values under [`Stats::csv_header`].
    #[must_use]
    pub fn csv_row(&self) -> Vec<String> {
        let counters = self.counters.values().into_iter().map(|value| value.to_string());
        let stalls = Stall::ALL.iter().map(|cause| self.stalls.get(*cause).to_string());
        let ipc = format!("{:.6}", self.counters.ipc());
        counters.chain([ipc]).chain(stalls).chain(self.latency.csv_row()).collect()
    }
}
