//! The result of `Trace.replay`: the statistics of the launches and of all together, as tables.

use crate::convert::json;
use crate::error::{error, warn};
use crate::html;
use crate::metrics;
use crate::table::Table;
use crate::watch::{Raised, watched_with};
use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::Arc;
use timing::config::GpuConfig;
use timing::replay::{Progress, ReplayOptions, Selection, replay};
use timing::stats::{EnergyTable, Stats};
use timing::techniques::Technique;
use trace_format::reader::Trace;
use warplab_host::names;

/// Rows that a notebook and a terminal show of a replay, if they are not 0.
const SHOWN: [&str; 11] = [
    "cycles",
    "warp_instructions",
    "thread_instructions",
    "ipc",
    "rf_reads",
    "rf_writes",
    "rf_bank_conflict_cycles",
    "l2_accesses",
    "dram_bytes",
    "energy_pj.register_file",
    "checked_values",
];

/// What a replay is made from, besides the trace.
pub(crate) struct Order<'a> {
    /// The machine.
    pub config: &'a GpuConfig,
    /// Techniques in the order in which they act.
    pub techniques: &'a [Box<dyn Technique>],
    /// Launches.
    pub selection: Selection,
    /// Threads.
    pub threads: usize,
    /// Whether kernels of different streams run together.
    pub concurrent: bool,
    /// Most cycles of a kernel.
    pub max_cycles: Option<u64>,
    /// Whether checksums are compared.
    pub checked: bool,
}

/// Replays a trace.
///
/// # Errors
/// What the command prints.
pub(crate) fn run(
    trace: &Trace,
    order: &Order<'_>,
    progress: &(dyn Fn(usize, usize, Progress) + Sync),
) -> Result<timing::replay::Replay, String> {
    let options = ReplayOptions {
        threads: order.threads,
        max_cycles: order.max_cycles,
        checked: order.checked,
        progress,
        selection: order.selection.clone(),
        concurrent: order.concurrent,
        ..ReplayOptions::default()
    };
    replay(trace, order.config, order.techniques, &options)
        .map_err(|why| format!("{}: {why}", trace.path().display()))
}

/// The result of replaying a trace on a machine.
#[pyclass(frozen, module = "warplab")]
pub(crate) struct Replay {
    result: timing::replay::Replay,
    energy: EnergyTable,
    label: String,
    machine: String,
    techniques: String,
}

impl Replay {
    /// Replays a trace, and warns of kernels with more registers than the machine has.
    ///
    /// # Errors
    /// `warplab.Error`, an interrupt, or an exception of a technique in Python.
    pub(crate) fn make(
        py: Python<'_>,
        trace: &Trace,
        order: &Order<'_>,
        energy: EnergyTable,
        techniques: String,
        progress: Option<&Bound<'_, PyAny>>,
        raised: &Raised,
    ) -> PyResult<Replay> {
        let label = timing::traces::label(trace.path());
        let result = watched_with(py, progress, &label, raised, |watch| {
            let progress = |launch: usize, launches: usize, p: Progress| {
                watch.report_as(p.blocks_placed, p.blocks, || {
                    format!("launch {} of {launches}, {} cycles", launch + 1, p.cycles)
                });
            };
            run(trace, order, &progress)
        })?;
        let result = result.map_err(error)?;
        warn(py, &result.register_warnings(order.config))?;
        Ok(Replay { result, energy, label, machine: order.config.name.clone(), techniques })
    }

    fn rows(&self) -> Vec<(String, f64)> {
        metrics::of(&self.result.total, &self.energy)
    }

    fn total(&self) -> &Stats {
        &self.result.total
    }

    fn title(&self) -> String {
        let with =
            if self.techniques.is_empty() { String::new() } else { format!(" with {}", self.techniques) };
        format!("{} on {}{with}", self.label, self.machine)
    }

    fn overview(&self) -> report::Table {
        let columns = [report::Column::text("metric"), report::Column::float("value", 0)];
        let mut table = report::Table::new(self.title(), columns);
        let rows = self.rows();
        for name in SHOWN {
            if let Some((_, value)) = rows.iter().find(|(row, value)| row == name && *value != 0.0) {
                // A quotient needs its digits, which whole numbers lack.
                match value.fract() == 0.0 || *value >= 1000.0 {
                    true => table.push(report::cells![name, *value]),
                    false => table.push([name.into(), report::Cell::Text(format!("{value:.3}"))]),
                }
            }
        }
        table
    }
}

#[pymethods]
impl Replay {
    /// Name of the machine, with the values that differ from its file.
    #[getter]
    fn machine(&self) -> &str {
        &self.machine
    }

    /// Names of the techniques, with commas.
    #[getter]
    fn techniques(&self) -> &str {
        &self.techniques
    }

    /// Name of the trace.
    #[getter]
    fn trace(&self) -> &str {
        &self.label
    }

    /// Cycles of all launches; of launches that ran one after the other, their sum.
    #[getter]
    fn cycles(&self) -> u64 {
        self.total().counters.cycles
    }

    /// Warp instructions per cycle of the whole GPU.
    #[getter]
    fn ipc(&self) -> f64 {
        self.total().counters.ipc()
    }

    /// Warp instructions that issued.
    #[getter]
    fn warp_instructions(&self) -> u64 {
        self.total().counters.warp_instructions
    }

    /// A metric of all launches together, by the name that it has in `metrics`.
    fn __getitem__(&self, metric: &str) -> PyResult<f64> {
        let rows = self.rows();
        rows.iter().find(|(name, _)| name == metric).map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
            PyKeyError::new_err(names::unknown("metric", metric, &known))
        })
    }

    /// Names of the metrics.
    fn keys(&self) -> Vec<String> {
        self.rows().into_iter().map(|(name, _)| name).collect()
    }

    /// All metrics of all launches together: columns `metric` and `value`.
    #[getter]
    fn metrics(&self) -> PyResult<Table> {
        let (names, values): (Vec<String>, Vec<f64>) = self.rows().into_iter().unzip();
        let columns: Vec<(String, ArrayRef)> = vec![
            ("metric".into(), Arc::new(StringArray::from(names))),
            ("value".into(), Arc::new(Float64Array::from(values))),
        ];
        Table::new(self.title(), columns)
    }

    /// The launches, a row each: kernel, shape, occupancy, and a column per metric.
    #[getter]
    fn launches(&self) -> PyResult<Table> {
        let launches: Vec<timing::replay::LaunchStats> = self.result.launches.iter().collect();
        let whole = |of: &dyn Fn(&timing::replay::LaunchStats) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from(launches.iter().map(of).collect::<Vec<_>>()))
        };
        let kernels: Vec<&str> = launches.iter().map(|launch| launch.kernel.as_str()).collect();
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("launch".into(), whole(&|launch| launch.launch as u64)),
            ("kernel".into(), Arc::new(StringArray::from(kernels))),
            ("stream".into(), whole(&|launch| launch.stream)),
            ("grid_blocks".into(), whole(&|launch| launch.grid_blocks)),
            ("replayed_blocks".into(), whole(&|launch| launch.blocks)),
            ("threads_per_block".into(), whole(&|launch| launch.threads_per_block.into())),
            ("blocks_per_sm".into(), whole(&|launch| launch.blocks_per_sm.into())),
            ("registers_per_thread".into(), whole(&|launch| launch.registers_per_thread.into())),
            ("launched_at_cycle".into(), whole(&|launch| launch.launched_at)),
            ("ended_at_cycle".into(), whole(&|launch| launch.ended_at)),
        ];
        let rows: Vec<_> = launches.iter().map(|launch| metrics::of(&launch.stats, &self.energy)).collect();
        for (name, _) in self.rows() {
            let of =
                |row: &Vec<(String, f64)>| row.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            columns.push((name.clone(), Arc::new(rows.iter().map(of).collect::<Float64Array>())));
        }
        Table::new(format!("{}: launches", self.title()), columns)
    }

    /// The metrics beside those of another replay: `metric`, `value`, `other`, `ratio`.
    fn against(&self, other: &Replay) -> PyResult<Table> {
        let (mine, theirs) = (self.rows(), other.rows());
        let mut names = StringBuilder::new();
        let [mut values, mut others, mut ratios] = [(); 3].map(|()| Float64Builder::new());
        for (name, value) in &mine {
            let other = theirs.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
            names.append_value(name);
            values.append_value(*value);
            others.append_option(other);
            ratios.append_option(other.filter(|other| *other != 0.0).map(|other| value / other));
        }
        let columns: Vec<(String, ArrayRef)> = vec![
            ("metric".into(), Arc::new(names.finish())),
            ("value".into(), Arc::new(values.finish())),
            ("other".into(), Arc::new(others.finish())),
            ("ratio".into(), Arc::new(ratios.finish())),
        ];
        Table::new(format!("{}, against {}", self.title(), other.title()), columns)
    }

    /// The object that `timing replay --json` writes for a trace: totals, and the launches under `launches`.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut value = self.result.to_json(&self.energy);
        value["config"] = Value::from(self.machine.as_str());
        json(py, &value)
    }

    fn __repr__(&self) -> String {
        self.overview().to_text()
    }

    fn _repr_html_(&self) -> String {
        let chart = match self.total().stalls.total() {
            0 => String::new(),
            _ => html::picture(&self.slots().to_svg(640.0), "Scheduler slots"),
        };
        html::heading(&self.title()) + &html::table(&self.overview()) + &chart
    }
}

impl Replay {
    /// What scheduler slots were used for, as a chart.
    fn slots(&self) -> report::Chart {
        use report::{Axis, BarChart, Format, Series};
        let stalls = &self.total().stalls;
        let share = |slots: u64| slots as f64 / stalls.total() as f64;
        let mut shares: Vec<(&str, f64)> = timing::stats::Stall::ALL
            .iter()
            .map(|cause| (cause.name(), share(stalls.get(*cause))))
            .filter(|(_, share)| *share >= 0.005)
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (names, values): (Vec<String>, Vec<f64>) =
            shares.into_iter().map(|(name, share)| (name.replace('_', " "), share)).unzip();
        BarChart::new("Scheduler slots by cause", Axis::new("Share of all slots", Format::Percent(0)))
            .categories("Cause", names)
            .series(Series::new("slots", values))
            .into()
    }
}

/// Rows of a table with a metric of a launch each, which sweeps collect.
#[derive(Default)]
pub(crate) struct Tidy {
    /// Kernel and number of the launch; none for all launches together.
    pub launches: Vec<Option<(String, u64)>>,
    /// Metrics with their values.
    pub metrics: Vec<(String, f64)>,
}

impl Tidy {
    /// The chosen metrics of a replay, by launch or of all launches together.
    pub(crate) fn of(
        replay: &timing::replay::Replay,
        energy: &EnergyTable,
        by_launch: bool,
        wanted: Option<&[String]>,
    ) -> Tidy {
        let mut tidy = Tidy::default();
        let mut add = |launch: Option<(String, u64)>, stats: &Stats| {
            let is_wanted = |name: &String| wanted.is_none_or(|wanted| wanted.contains(name));
            for (name, value) in metrics::of(stats, energy).into_iter().filter(|(name, _)| is_wanted(name)) {
                tidy.launches.push(launch.clone());
                tidy.metrics.push((name, value));
            }
        };
        if by_launch {
            for launch in replay.launches.iter() {
                add(Some((launch.kernel, launch.launch as u64)), &launch.stats);
            }
        } else {
            add(None, &replay.total);
        }
        tidy
    }

    /// Appends the columns `kernel` and `launch`.
    pub(crate) fn append_launches(&self, kernels: &mut StringBuilder, launches: &mut UInt64Builder) {
        for launch in &self.launches {
            kernels.append_option(launch.as_ref().map(|(kernel, _)| kernel));
            launches.append_option(launch.as_ref().map(|(_, number)| *number));
        }
    }
}
