//! Counters and stall causes at an interval: every part samples its sums, and the rows are their differences.
//!
//! Parts sample at the same cycles whatever the number of threads, and the rows of a launch sum to its totals.

use super::{COUNTERS, Counters, Stall, StallCounts, Stats, TechniqueStats, column_names};
use crate::config::GpuConfig;
use serde_json::{Map, Value, json};
use warplab_technique::TechniqueInfo;

/// Sums of one part at a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Event counts.
    pub counters: Counters,
    /// Scheduler slots by cause.
    pub stalls: StallCounts,
    /// Values of the columns of all techniques, in the order in which they act.
    pub techniques: Vec<u64>,
}

impl Sample {
    /// Adds another part's sums, or those of the next interval.
    pub fn merge(&mut self, other: &Sample) {
        self.counters.merge(&other.counters);
        self.stalls.merge(&other.stalls);
        self.techniques.resize(self.techniques.len().max(other.techniques.len()), 0);
        self.techniques.iter_mut().zip(&other.techniques).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn since(&self, before: &Sample) -> Sample {
        let earlier = before.techniques.iter().chain(std::iter::repeat(&0));
        Sample {
            counters: self.counters.since(&before.counters),
            stalls: self.stalls.since(&before.stalls),
            techniques: self.techniques.iter().zip(earlier).map(|(now, before)| now - before).collect(),
        }
    }
}

/// Takes a part's sums at an interval.
#[derive(Clone, Debug)]
pub struct Sampler {
    interval: u64,
    next: u64,
    most: usize,
    samples: Vec<Sample>,
}

impl Sampler {
    /// A sampler whose first sample is due an interval after `start`.
    #[must_use]
    pub fn new(start: u64, interval: u64) -> Sampler {
        Sampler { interval, next: start + interval, most: usize::MAX, samples: Vec::new() }
    }

    /// A sampler that takes at most a number of samples: when it has as many, it drops every second one and doubles its
    /// interval. All parts of a GPU do so at the same cycles.
    #[must_use]
    pub fn with_most(self, most: usize) -> Sampler {
        // An even number, so that the last sample stays.
        Sampler { most: most.max(2) & !1, ..self }
    }

    /// Drops samples until they are an interval apart.
    fn thin_to(&mut self, interval: u64) {
        while self.interval < interval {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.interval *= 2;
        }
    }

    /// Cycle before which the next sample is due.
    #[must_use]
    #[inline]
    pub fn due(&self) -> u64 {
        self.next
    }

    /// Takes the samples that are due before cycle `now` runs.
    #[inline]
    pub fn sample(&mut self, now: u64, sums: impl Fn() -> Sample) {
        while now >= self.next {
            self.samples.push(sums());
            if self.samples.len() == self.most {
                self.thin_to(self.interval * 2);
            }
            self.next += self.interval;
        }
    }
}

/// The samples of a launch, summed over all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Cycles of a row; the last one may be shorter.
    pub interval: u64,
    /// Cycles of the launch.
    pub cycles: u64,
    /// Counts of each interval.
    pub rows: Vec<Sample>,
}

impl Series {
    /// Sums the samples of all parts of the GPU, at the longest of their intervals; each part comes with its final sums.
    #[must_use]
    pub fn of(
        interval: u64,
        cycles: u64,
        launch_cycles: u64,
        slots: u64,
        config: &GpuConfig,
        mut parts: Vec<(Sampler, Sample)>,
    ) -> Series {
        // Parts that slept to the end have not doubled their intervals as often.
        let interval = parts.iter().map(|(sampler, _)| sampler.interval).fold(interval, u64::max);
        parts.iter_mut().for_each(|(sampler, _)| sampler.thin_to(interval));
        let count = cycles.div_ceil(interval).max(1) as usize;
        let mut sums = vec![Sample::default(); count];
        for (sampler, last) in parts {
            let mut samples = sampler.samples.into_iter();
            for (index, sum) in sums.iter_mut().enumerate() {
                // Samples after the launch's end do not belong to the launch.
                let sample = if index + 1 == count { None } else { samples.next() };
                let sample = sample.as_ref().unwrap_or(&last);
                sum.merge(sample);
            }
        }
        for (index, sum) in sums.iter_mut().enumerate() {
            let end = ((index as u64 + 1) * interval).min(cycles);
            sum.stalls.add(Stall::Launch, slots * end.min(launch_cycles));
            sum.counters.set_cycles(end, launch_cycles, config);
        }
        let mut before = Sample::default();
        let rows = sums.into_iter().map(|sum| {
            let row = sum.since(&before);
            before = sum;
            row
        });
        Series { interval, cycles, rows: rows.collect() }
    }
}

/// A column of the series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Position in [`COUNTERS`].
    Counter(usize),
    /// A cause of [`Stall`].
    Cause(Stall),
    /// Warp instructions per cycle.
    Ipc,
    /// A column that a technique declares: position among the columns of all techniques of the run, and name.
    Technique(usize, String),
}

/// Default columns, in addition to those of the run's techniques.
const DEFAULT_COLUMNS: &[&str] = &[
    "warp_instructions",
    "ipc",
    "resident_warp_cycles",
    "l1_accesses",
    "l1_hits",
    "l2_accesses",
    "l2_hits",
    "dram_bytes",
    "stall_issued",
    "stall_memory_dependency",
    "stall_alu_dependency",
];

impl Column {
    /// Default columns of a run with techniques.
    #[must_use]
    pub fn default_of(techniques: &[&TechniqueInfo]) -> Vec<Column> {
        let plain = DEFAULT_COLUMNS.iter().filter_map(|name| Column::find(name, &[]).ok());
        plain.chain(Column::of_techniques(techniques)).collect()
    }

    fn of_techniques(techniques: &[&TechniqueInfo]) -> impl Iterator<Item = Column> {
        let names: Vec<String> = techniques.iter().flat_map(|info| column_names(info)).collect();
        names.into_iter().enumerate().map(|(position, name)| Column::Technique(position, name))
    }

    /// The column with a name: a counter, `stall_` and a cause, `ipc`, or a column that one of the run's
    /// techniques declares.
    ///
    /// # Errors
    /// The error names the unknown column and lists the known ones.
    pub fn find(name: &str, techniques: &[&TechniqueInfo]) -> Result<Column, String> {
        if let Some(found) = Column::of_techniques(techniques).find(|column| column.name() == name) {
            return Ok(found);
        }
        if name == "ipc" {
            return Ok(Column::Ipc);
        }
        if let Some(cause) = name.strip_prefix("stall_")
            && let Some(found) = Stall::ALL.iter().find(|stall| stall.name() == cause)
        {
            return Ok(Column::Cause(*found));
        }
        COUNTERS.iter().position(|row| row.name == name).map(Column::Counter).ok_or_else(|| {
            let own: Vec<String> = techniques.iter().flat_map(|info| column_names(info)).collect();
            let own = if own.is_empty() { own.join("") } else { format!(", and of the techniques {}", own.join(", ")) };
            format!(
                "unknown column `{name}`; `timing list --counters` shows all (causes as stall_NAME), and there is \
                 `ipc`{own}"
            )
        })
    }

    /// Name of the column.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Column::Counter(index) => COUNTERS[*index].name.to_owned(),
            Column::Cause(cause) => format!("stall_{}", cause.name()),
            Column::Ipc => "ipc".to_owned(),
            Column::Technique(_, name) => name.clone(),
        }
    }

    /// Value of the column in a row.
    #[must_use]
    pub fn value(&self, row: &Sample) -> Value {
        match self {
            Column::Counter(index) => row.counters.values()[*index].into(),
            Column::Cause(cause) => row.stalls.get(*cause).into(),
            Column::Ipc => row.counters.ipc().into(),
            Column::Technique(position, _) => row.techniques.get(*position).copied().unwrap_or(0).into(),
        }
    }
}

impl Series {
    /// Rows as objects: the cycle at which the interval ends, counted from the launch, and the columns.
    #[must_use]
    pub fn to_json(&self, columns: &[Column]) -> Value {
        let rows = self.ends().zip(&self.rows).map(|(end, row)| {
            let mut object = Map::new();
            object.insert("end_cycle".into(), end.into());
            object.extend(columns.iter().map(|column| (column.name(), column.value(row))));
            Value::Object(object)
        });
        json!({ "interval_cycles": self.interval, "rows": rows.collect::<Vec<_>>() })
    }

    /// Cycle at which each row ends.
    pub fn ends(&self) -> impl Iterator<Item = u64> + '_ {
        (1..=self.rows.len() as u64).map(|row| (row * self.interval).min(self.cycles))
    }
}

/// The final sample of a part.
impl From<&Stats> for Sample {
    fn from(stats: &Stats) -> Sample {
        Sample {
            counters: stats.counters.clone(),
            stalls: stats.stalls.clone(),
            techniques: stats.techniques.iter().flat_map(TechniqueStats::column_values).collect(),
        }
    }
}
