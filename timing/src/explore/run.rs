//! Replays of recordings at every point, on all cores.

use super::Point;
use crate::config::{GpuConfig, load};
use crate::replay::{Replay, ReplayOptions, Selection, replay};
use crate::stats::EnergyTable;
use crate::techniques::{Catalogue, Techniques};
use rayon::prelude::*;
use report::geometric_mean;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace_format::reader::Trace;

/// How a point does beside the plain machine: geometric means over the recordings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Cycles of the plain machine over the point's.
    pub speed: f64,
    /// Energy of the register file and of the structures that techniques add, over the plain machine's.
    pub energy: f64,
    /// Bits that the techniques store in one SM.
    pub storage_bits: u64,
}

/// A point with its score, or with the reason for which it has none.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The point.
    pub point: Point,
    /// Its score.
    pub score: Result<Score, String>,
    /// Speed by recording.
    pub speeds: Vec<f64>,
}

/// A machine with techniques, ready to replay.
struct Machine {
    config: GpuConfig,
    energy: EnergyTable,
    techniques: Techniques,
}

impl Machine {
    fn new(name: &str, set: &[String], tech: &[String], catalogue: &Catalogue) -> Result<Machine, String> {
        let config = load(name, set).map_err(|why| why.to_string())?.config;
        let energy = EnergyTable::load(&config.energy)?;
        let techniques = catalogue.select(tech, &config).map_err(|why| why.to_string())?;
        Ok(Machine { config, energy, techniques })
    }

    fn replay(&self, trace: &Trace, selection: &Selection) -> Result<Replay, String> {
        let options = ReplayOptions { threads: 1, selection: selection.clone(), ..ReplayOptions::default() };
        replay(trace, &self.config, &self.techniques, &options).map_err(|why| why.to_string())
    }
}

/// Replays every recording on the plain machine and at each point. Points and recordings are taken by `threads` threads; no
/// result depends on their number. `progress` is called with the number of replays done, and of how many.
///
/// # Errors
/// A point or the machine is not valid; or a recording, with its name, cannot be replayed on the plain machine.
pub fn explore(
    (machine, set): (&str, &[String]),
    points: &[Point],
    traces: &[(String, Trace)],
    selection: &Selection,
    catalogue: &Catalogue,
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Explored>, String> {
    let plain = Machine::new(machine, set, &[], catalogue)?;
    let machines = points
        .iter()
        .map(|point| Machine::new(machine, &[set, &point.set].concat(), &point.tech, catalogue))
        .collect::<Result<Vec<Machine>, String>>()?;
    let (done, of) = (AtomicUsize::new(0), (machines.len() + 1) * traces.len());
    // The plain machine comes first; then all recordings of a point, and the next point.
    let jobs: Vec<(&Machine, &(String, Trace))> = std::iter::once(&plain)
        .chain(&machines)
        .flat_map(|machine| traces.iter().map(move |trace| (machine, trace)))
        .collect();
    let work = |(machine, (label, trace)): &(&Machine, &(String, Trace))| {
        let outcome = machine.replay(trace, selection).map_err(|why| format!("{label}: {why}"));
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, of);
        outcome.map(|replay| {
            let energy = machine.energy.register_file_pj(&replay.total);
            let bits = replay.total.techniques.iter().map(|technique| technique.bits_per_sm).sum::<u64>();
            (replay.total.counters.kernel_cycles as f64, energy, bits)
        })
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let pool = pool.map_err(|why| format!("cannot start threads: {why}"))?;
    let results: Vec<Result<(f64, f64, u64), String>> = pool.install(|| jobs.par_iter().map(work).collect());
    let mut results = results.into_iter();
    let base: Vec<(f64, f64, u64)> = results.by_ref().take(traces.len()).collect::<Result<_, _>>()?;
    Ok(points
        .iter()
        .map(|point| {
            let own: Result<Vec<(f64, f64, u64)>, String> = results.by_ref().take(traces.len()).collect();
            let over = |of: &Vec<(f64, f64, u64)>| -> Vec<f64> {
                base.iter().zip(of).map(|(plain, own)| plain.0 / own.0).collect()
            };
            let speeds = own.as_ref().map(over).unwrap_or_default();
            let score = own.map(|own| Score {
                speed: geometric_mean(speeds.iter().copied()),
                energy: geometric_mean(base.iter().zip(&own).map(|(plain, own)| own.1 / plain.1)),
                storage_bits: own.iter().map(|one| one.2).max().unwrap_or(0),
            });
            Explored { point: point.clone(), score, speeds }
        })
        .collect())
}
