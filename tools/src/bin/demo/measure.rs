//! The demo's measurements: replays of every trace on every machine, and what is read off them.

use crate::Failure;
use crate::progress::Phase;
use crate::record::Recording;
use timing::config::{GpuConfig, load};
use timing::replay::{Replay, ReplayOptions, replay};
use timing::stats::{EnergyTable, Stats};
use timing::studies::{self, Input, Options, StudyResult};
use timing::techniques::{AnyTechnique, select};
use trace_format::reader::Launch;

/// Energy components that make up the register file: its banks, and what techniques put in their place.
pub const RF_COMPONENTS: [&str; 3] = ["register_file", "technique_storage", "technique_logic"];

/// A machine to replay on: the configuration with some techniques.
pub struct Machine {
    /// Name in tables and charts.
    pub label: &'static str,
    /// What `--tech` takes; empty for the plain machine.
    pub tech: &'static str,
    techniques: Vec<AnyTechnique>,
}

/// The configuration, and the machines built on it; the plain one is the first.
pub struct Lab {
    /// What `--config` was given.
    pub config_word: String,
    /// The configuration.
    pub config: GpuConfig,
    /// Its energy table.
    pub energy: EnergyTable,
    /// The machines.
    pub machines: Vec<Machine>,
}

const MACHINES: [(&str, &str); 4] =
    [("Baseline", ""), ("BOW", "bow"), ("CORF", "corf"), ("BOW+CORF", "bow,corf")];

impl Lab {
    /// The machines on a configuration.
    ///
    /// # Errors
    /// An unknown or contradictory configuration.
    pub fn new(config_word: &str) -> Result<Lab, Failure> {
        let config = load(config_word, &[])?.config;
        let energy = EnergyTable::load(&config.energy).map_err(Failure)?;
        let machine = |(label, tech): (&'static str, &'static str)| {
            let words: Vec<String> =
                tech.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
            Ok(Machine { label, tech, techniques: select(&words, &config)? })
        };
        let machines = MACHINES.into_iter().map(machine).collect::<Result<Vec<_>, Failure>>()?;
        Ok(Lab { config_word: config_word.to_owned(), config, energy, machines })
    }

    /// Energy of the register file and of what techniques add to it, in pJ.
    pub fn rf_energy_pj(&self, stats: &Stats) -> f64 {
        let parts = self.energy.apply(&stats.counters);
        parts.iter().filter(|(name, _)| RF_COMPONENTS.contains(name)).map(|(_, pj)| pj).sum()
    }
}

/// Replays of one workload, in the order of [`Lab::machines`].
pub struct Case {
    /// The workload and its trace.
    pub recording: Recording,
    /// Its replays.
    pub replays: Vec<Replay>,
}

impl Case {
    /// Statistics of the plain machine.
    pub fn plain(&self) -> &Stats {
        &self.replays[0].total
    }

    /// Statistics on a machine.
    pub fn on(&self, machine: usize) -> &Stats {
        &self.replays[machine].total
    }

    /// Cycles of the plain machine over those of another.
    pub fn speedup(&self, machine: usize) -> f64 {
        ratio(self.plain().counters.cycles, self.on(machine).counters.cycles)
    }

    /// Register-file bank accesses, reads and writes, relative to the plain machine.
    pub fn rf_accesses(&self, machine: usize) -> f64 {
        let accesses = |stats: &Stats| stats.counters.rf_reads + stats.counters.rf_writes;
        ratio(accesses(self.on(machine)), accesses(self.plain()))
    }

    /// Register-file energy relative to the plain machine, what the technique costs included.
    pub fn rf_energy(&self, lab: &Lab, machine: usize) -> f64 {
        lab.rf_energy_pj(self.on(machine)) / lab.rf_energy_pj(self.plain())
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

/// Replays every recording on every machine.
///
/// # Errors
/// What the replay of a workload on a machine fails with.
pub fn replay_all(lab: &Lab, recordings: Vec<Recording>, threads: usize) -> Result<Vec<Case>, Failure> {
    let runs = recordings.len() * lab.machines.len();
    let phase = Phase::start("replay", runs);
    let mut cases: Vec<Case> = Vec::new();
    let mut instructions = 0;
    for recording in recordings {
        let mut replays = Vec::new();
        for (m, machine) in lab.machines.iter().enumerate() {
            phase.item(
                cases.len() * lab.machines.len() + m,
                &format!("{} on {}", recording.name, machine.label),
            );
            let progress = |launch: usize, launches: usize, p: timing::engine::Progress| {
                let within = p.blocks_placed as f64 / p.blocks.max(1) as f64;
                phase
                    .part((launch as f64 + within) / launches.max(1) as f64, &format!("{} cycles", p.cycles));
            };
            let options = ReplayOptions { threads, progress: &progress, ..ReplayOptions::default() };
            let done = replay(&recording.trace, &lab.config, &machine.techniques, &options)
                .map_err(|e| Failure(format!("{} on {}: {e}", recording.name, machine.label)))?;
            instructions += done.total.counters.warp_instructions;
            replays.push(done);
        }
        let case = Case { recording, replays };
        let techniques = lab.machines.iter().enumerate().skip(1);
        let speedups: Vec<String> =
            techniques.map(|(m, machine)| format!("{} x{:.2}", machine.tech, case.speedup(m))).collect();
        let counters = &case.plain().counters;
        phase.line(&format!(
            "  {:<16} {:>10} cycles, IPC {:>5.2};  {}",
            case.recording.name,
            counters.cycles,
            counters.ipc(),
            speedups.join(", ")
        ));
        cases.push(case);
    }
    phase.end(&format!("{runs} runs, {} warp instructions", report::integer(i128::from(instructions))));
    Ok(cases)
}

/// What is redundant and, of that, what kind of values it works on.
pub struct Findings {
    /// By grid, block and warp.
    pub redundancy: StudyResult,
    /// By uniform, affine and unstructured operands.
    pub taxonomy: StudyResult,
}

/// Runs the studies of redundancy over the traces, in one pass.
///
/// # Errors
/// What the studies fail with.
pub fn study(cases: &[Case], threads: usize) -> Result<Findings, Failure> {
    let phase = Phase::start("study", 1);
    phase.item(0, "redundancy");
    let inputs: Vec<Input<'_>> =
        cases.iter().map(|c| Input { label: c.recording.name, trace: &c.recording.trace }).collect();
    let progress = |p: studies::Progress| phase.part(p.warp_instructions as f64 / p.of.max(1) as f64, "");
    let results = studies::run(
        &["redundancy", "taxonomy"],
        &inputs,
        &Options { threads, progress: &progress, ..Options::default() },
    )?;
    let instructions: u64 =
        inputs.iter().flat_map(|i| i.trace.launches()).map(Launch::warp_instructions).sum();
    phase.end(&format!("redundancy of {} warp instructions", report::integer(i128::from(instructions))));
    let [redundancy, taxonomy] = results.try_into().map_err(|_| Failure("a study has no result".into()))?;
    Ok(Findings { redundancy, taxonomy })
}
