//! Measurements of a report: the variants of the configuration, and every workload's replay on each.

use super::waits::Waits;
use super::words::ratio;
use crate::config::{GpuConfig, Loaded, load};
use crate::named::NamedMachine;
use crate::observe::ViewOptions;
use crate::provenance::Provenance;
use crate::replay::{Replay, ReplayOptions, Selection, replay};
use crate::stats::{EnergyTable, Stats};
use crate::techniques::{Catalogue, TechniqueInfo, Techniques};
use trace_format::reader::Trace;
use warplab_model::replay::Progress;
use warplab_model::replay::ReplayError;

/// Maximum number of instructions and slots recorded for the hot spots of a trace, which bounds memory to
/// about 100 MB.
const MOST_RECORDS: usize = 1_000_000;

/// The configuration with some techniques.
pub struct Variant {
    /// Name in tables and charts.
    pub label: String,
    /// Its techniques as words of `--tech`; none for the baseline.
    pub words: Vec<String>,
    pub(crate) techniques: Techniques,
    /// Another machine than that of the lab, with its configuration and energy table.
    machine: Option<(NamedMachine, Box<(GpuConfig, EnergyTable)>)>,
}

impl Variant {
    fn new(words: &[String], config: &GpuConfig, catalogue: &Catalogue) -> Result<Variant, String> {
        let techniques = catalogue.select(words, config).map_err(|why| why.to_string())?;
        Ok(Variant { label: words.join("+"), words: words.to_vec(), techniques, machine: None })
    }

    /// Its techniques as `--tech` takes them; of another machine, that machine as `--machine` takes it.
    #[must_use]
    pub fn tech(&self) -> String {
        match &self.machine {
            None => self.words.join(","),
            Some((machine, _)) => {
                let items = std::iter::once(&machine.config).chain(&machine.tech).chain(&machine.set);
                items.map(String::as_str).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Declarations of its techniques.
    pub fn infos(&self) -> impl Iterator<Item = &'static TechniqueInfo> + '_ {
        self.techniques.iter().map(|technique| technique.info())
    }
}

/// Techniques together, beside each alone.
pub struct Combination {
    /// Name in headings and tables.
    pub label: String,
    /// Positions of the variants with one of its techniques.
    pub alone: Vec<usize>,
    /// Position of the variant with all, or why they cannot act together.
    pub together: Result<usize, String>,
}

/// How traces are replayed.
pub struct Measuring<'a> {
    /// The launches to replay.
    pub selection: &'a Selection,
    /// Threads; no result depends on them.
    pub threads: usize,
    /// Whether to record where warps of the baseline waited, for the section on source lines.
    pub waits: bool,
    /// Called with the variant, the launch, the number of launches, and the progress.
    pub progress: &'a (dyn Fn(&Variant, usize, usize, Progress) + Sync),
}

/// The configuration, and the variants built on it; the baseline is the first.
pub struct Lab {
    /// The configuration, with the origin of its values.
    pub loaded: Loaded,
    /// The configuration.
    pub config: GpuConfig,
    /// Its energy table.
    pub energy: EnergyTable,
    /// The variants.
    pub variants: Vec<Variant>,
    /// Combinations of techniques that are compared with their parts.
    pub combinations: Vec<Combination>,
}

impl Lab {
    /// The variants on a configuration: the baseline, and one with each of the lists of techniques.
    ///
    /// # Errors
    /// An unknown or contradictory configuration, energy table or technique.
    pub fn new(
        config: &str,
        set: &[String],
        techniques: &[Vec<String>],
        catalogue: &Catalogue,
    ) -> Result<Lab, String> {
        let loaded = load(config, set).map_err(|why| why.to_string())?;
        let config = loaded.config.clone();
        let energy = EnergyTable::load(&config.energy)?;
        energy.check(catalogue.infos())?;
        let mut variants = vec![Variant {
            label: "baseline".into(),
            words: Vec::new(),
            techniques: Vec::new(),
            machine: None,
        }];
        for words in techniques.iter().filter(|words| !words.is_empty()) {
            let variant = Variant::new(words, &config, catalogue)?;
            if variants.iter().any(|known| known.label == variant.label) {
                return Err(format!("--tech {} is given twice", words.join(",")));
            }
            variants.push(variant);
        }
        Ok(Lab { loaded, config, energy, variants, combinations: Vec::new() })
    }

    /// What produces the results: the command, the machine with the values that were set, and the techniques; without traces.
    #[must_use]
    pub fn provenance(&self, command: &[String], set: &[String]) -> Provenance {
        let techniques = self.variants.iter().flat_map(|variant| &variant.techniques);
        Provenance::new(command).on(&self.loaded, set).running(techniques)
    }

    /// Adds a machine as a variant.
    ///
    /// # Errors
    /// The machine is refused, or its name is taken.
    pub fn add_machine(&mut self, machine: &NamedMachine, catalogue: &Catalogue) -> Result<(), String> {
        if self.variants.iter().any(|known| known.label == machine.name) {
            return Err(format!("the machine {} is given twice, or its name is taken", machine.name));
        }
        let ready = machine.ready(catalogue)?;
        self.variants.push(Variant {
            label: machine.name.clone(),
            words: machine.tech.clone(),
            techniques: ready.techniques,
            machine: Some((machine.clone(), Box::new((ready.loaded.config, ready.energy)))),
        });
        Ok(())
    }

    /// The energy table of a variant.
    #[must_use]
    pub fn energy_of(&self, variant: usize) -> &EnergyTable {
        self.variants[variant].machine.as_ref().map_or(&self.energy, |(_, own)| &own.1)
    }

    /// Adds a combination of techniques, and the variants that it compares.
    ///
    /// # Errors
    /// Fewer than two techniques, or one that is not known or cannot act alone.
    pub fn combine(&mut self, words: &[String], catalogue: &Catalogue) -> Result<(), String> {
        let label = words.join("+");
        if words.len() < 2 {
            return Err(format!("--combine {label}: name two techniques or more, such as bow-wr,regmutex"));
        }
        if self.combinations.iter().any(|known| known.label == label) {
            return Err(format!("--combine {} is given twice", words.join(",")));
        }
        let mut alone = Vec::new();
        for word in words {
            alone.push(self.position(std::slice::from_ref(word), catalogue)?);
        }
        let together = self.position(words, catalogue);
        self.combinations.push(Combination { label, alone, together });
        Ok(())
    }

    /// Position of the variant with some techniques, which is added if there is none.
    fn position(&mut self, words: &[String], catalogue: &Catalogue) -> Result<usize, String> {
        let variant = Variant::new(words, &self.config, catalogue)?;
        if let Some(known) = self.variants.iter().position(|known| known.label == variant.label) {
            return Ok(known);
        }
        self.variants.push(variant);
        Ok(self.variants.len() - 1)
    }

    /// Energy of the register file and of the structures that techniques add, on the lab's machine, in pJ.
    #[must_use]
    pub fn rf_energy_pj(&self, stats: &Stats) -> f64 {
        self.energy.register_file_pj(stats)
    }

    /// Replays a trace with every variant.
    ///
    /// # Errors
    /// An empty selection, a kernel or technique that the configuration refuses, a damaged recording; with
    /// the name of the variant.
    pub fn measure(
        &self,
        label: String,
        trace: Trace,
        how: &Measuring<'_>,
    ) -> Result<Workload, (&Variant, ReplayError)> {
        let &Measuring { selection, threads, progress, .. } = how;
        let launches = selection.of(&trace).map_err(|why| (&self.variants[0], ReplayError::Refused(why)))?;
        let mut replays = Vec::new();
        let mut waits = Vec::new();
        for (at, variant) in self.variants.iter().enumerate() {
            let watched = how.waits && at == 0;
            let on = |launch: usize, launches: usize, p: Progress| progress(variant, launch, launches, p);
            let view = ViewOptions {
                window: watched.then_some(0..u64::MAX),
                sms: 0..1,
                most_records: MOST_RECORDS / launches.len().max(1),
                ..ViewOptions::default()
            };
            let options = ReplayOptions {
                threads,
                selection: selection.clone(),
                progress: &on,
                view,
                ..ReplayOptions::default()
            };
            let config = variant.machine.as_ref().map_or(&self.config, |(_, own)| &own.0);
            let mut done =
                replay(&trace, config, &variant.techniques, &options).map_err(|why| (variant, why))?;
            if watched {
                waits = Waits::by_kernel(&trace, &done);
                done.recordings.clear();
            }
            replays.push(done);
        }
        Ok(Workload { label, trace, launches, replays, waits })
    }
}

/// A trace and its replays.
pub struct Workload {
    /// Name in tables and charts.
    pub label: String,
    /// The trace.
    pub trace: Trace,
    /// Positions of the launches that were replayed.
    pub launches: Vec<usize>,
    /// Its replays, in the order of [`Lab::variants`].
    pub replays: Vec<Replay>,
    /// By kernel: where its warps waited on the baseline.
    pub(super) waits: Vec<Waits>,
}

impl Workload {
    /// Statistics of the baseline.
    #[must_use]
    pub fn plain(&self) -> &Stats {
        self.on(0)
    }

    /// Statistics of a variant.
    #[must_use]
    pub fn on(&self, variant: usize) -> &Stats {
        &self.replays[variant].total
    }

    /// Cycles of the baseline over those of a variant, both without the launch latency.
    #[must_use]
    pub fn speedup(&self, variant: usize) -> f64 {
        ratio(self.plain().counters.kernel_cycles, self.on(variant).counters.kernel_cycles)
    }

    /// Register-file bank accesses, reads and writes, relative to the baseline.
    #[must_use]
    pub fn rf_accesses(&self, variant: usize) -> f64 {
        let accesses = |stats: &Stats| stats.counters.rf_reads + stats.counters.rf_writes;
        ratio(accesses(self.on(variant)), accesses(self.plain()))
    }

    /// Register-file energy relative to the baseline, including the cost of the technique.
    #[must_use]
    pub fn rf_energy(&self, lab: &Lab, variant: usize) -> f64 {
        lab.energy_of(variant).register_file_pj(self.on(variant)) / lab.rf_energy_pj(self.plain())
    }
}

/// Labels of the workloads, in order.
pub(super) fn names(workloads: &[Workload]) -> Vec<&str> {
    workloads.iter().map(|workload| workload.label.as_str()).collect()
}

/// Short names of traces for tables and charts, with their folders if file names repeat.
#[must_use]
pub fn unique_labels(paths: &[std::path::PathBuf]) -> Vec<String> {
    let short = |path: &std::path::PathBuf| {
        path.file_stem()
            .map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
    };
    let shorts: Vec<String> = paths.iter().map(short).collect();
    let mut labels: Vec<String> = Vec::new();
    for (path, name) in paths.iter().zip(&shorts) {
        let repeated = shorts.iter().filter(|other| *other == name).count() > 1;
        let base = if repeated { path.display().to_string() } else { name.clone() };
        let again =
            labels.iter().filter(|label| **label == base || label.starts_with(&format!("{base} #"))).count();
        labels.push(if again == 0 { base } else { format!("{base} #{}", again + 1) });
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::unique_labels;

    #[test]
    fn labels_are_short_and_never_repeat() {
        let of = |paths: &[&str]| unique_labels(&paths.iter().map(Into::into).collect::<Vec<_>>());
        assert_eq!(of(&["x/a.wtrace", "b.wtrace"]), ["a", "b"]);
        assert_eq!(of(&["x/a.wtrace", "y/a.wtrace"]), ["x/a.wtrace", "y/a.wtrace"]);
        assert_eq!(of(&["a.wtrace", "a.wtrace"]), ["a.wtrace", "a.wtrace #2"]);
    }
}
