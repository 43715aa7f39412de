//! `timing replay`: replays traces on a GPU model, and compares techniques with the baseline.

use super::error::CliError;
use super::left_out::LeftOut;
use super::output;
use super::progress::LateBar;
use super::shared::{ReplayArguments, TechniqueArguments};
use crate::config::GpuConfig;
use crate::engine::Progress;
use crate::observe::ViewOptions;
use crate::provenance::{KEY, Provenance};
use crate::replay::{LaunchStats, Replay, ReplayOptions, replay};
use crate::stats::{CounterEntry, Counters, EnergyTable, Stall, Stats, TechniqueStats};
use crate::techniques::{Catalogue, Technique};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use report::Column;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trace_format::reader::Trace;

/// Arguments of `timing replay`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing replay matmul.wtrace\n  \
    timing replay matmul.wtrace --config gtx480 --tech bow,corf --json result.json\n  \
    timing replay *.wtrace --set scheduler.policy=lrr --set technique.bow.window=2 --threads 2\n  \
    timing replay matmul.wtrace --tech corf++ --ideal\n  \
    timing replay app.wtrace --csv launches.csv --per-launch\n  \
    timing replay bfs.wtrace --kernels expand --launches 3-10,12\n  \
    timing replay matmul.wtrace --timeline out.json --window 5000-8000 --sms 0\n  \
    timing replay matmul.wtrace --interval 1000 --series out.csv --columns ipc,dram_bytes\n\n\
    JSON: totals over all traces at the top level (cycles, warp_instructions, thread_instructions, ipc, rf_reads, \
    rf_writes, rf_bank_conflict_cycles, stalls, energy_pj, …), the same per trace under `traces` and per launch \
    under `launches`; with --tech, the plain machine under `baseline`, the quotients under `ratio`, and what each \
    technique supplied, lost by cause, checked and counted, with its parameters, under `technique`; with --per-sm, \
    one object per SM under `sms`; with --interval, samples under `series`. \
    What produced the result is under `produced_by`, in a CSV file in a comment line before the table (pandas: \
    comment='#'). Traces that cannot be replayed are under `left_out`, each with the reason, and the exit code is 1.")]
pub(super) struct Arguments {
    /// Traces to replay.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    techniques: TechniqueArguments,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Runs kernels of different streams together where the order of the streams allows it.
    #[arg(long)]
    concurrent: bool,
    /// Stops with an error when a kernel takes longer.
    #[arg(long, value_name = "CYCLES")]
    max_cycles: Option<u64>,
    /// Compares each warp's values with their recorded checksum while replaying.
    #[arg(long)]
    checked: bool,
    /// Writes the result as JSON; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes one row per trace and replay as CSV; `-` for stdout.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Has --csv write one row per launch instead.
    #[arg(long, requires = "csv")]
    per_launch: bool,
    /// Adds the statistics of each SM to the JSON.
    #[arg(long)]
    per_sm: bool,
    #[command(flatten)]
    views: super::views::ViewArguments,
}

/// One trace replayed without and, if requested, with techniques.
struct Outcome {
    label: String,
    path: String,
    plain: Replay,
    technique: Option<Replay>,
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let loaded = arguments.techniques.load(&arguments.replayed)?;
    let config = &loaded.config;
    let energy = EnergyTable::load(&config.energy).map_err(CliError)?;
    energy.check(catalogue.infos()).map_err(CliError)?;
    let techniques = catalogue.select(&arguments.techniques.tech, config)?;
    let threads = arguments.replayed.threads();
    let selection = arguments.replayed.selection()?;
    let view =
        arguments.views.check(arguments.traces.len(), arguments.json.is_some(), config, &techniques)?;
    output::check(arguments.json.as_deref())?;
    output::check(arguments.csv.as_deref())?;
    let replay_one = |path: &Path| -> Result<(Trace, Outcome), CliError> {
        let trace = output::open_trace(path)?;
        let label = output::label(path);
        let run =
            |techniques: &[Box<dyn Technique>], what: &str, view: ViewOptions| -> Result<Replay, CliError> {
                let bar = LateBar::new(format!("{label} {what}"));
                let progress = |launch: usize, launches: usize, p: Progress| {
                    let detail = format!("launch {} of {launches}, {} cycles", launch + 1, p.cycles);
                    bar.update(p.blocks_placed, p.blocks, &detail);
                };
                let options = ReplayOptions {
                    threads,
                    max_cycles: arguments.max_cycles,
                    checked: arguments.checked,
                    progress: &progress,
                    selection: selection.clone(),
                    concurrent: arguments.concurrent,
                    per_sm: arguments.per_sm,
                    view,
                    ..ReplayOptions::default()
                };
                replay(&trace, config, techniques, &options)
                    .map_err(|why| CliError(format!("{}: {why}", path.display())))
            };
        // Views show the replay with techniques, if there is one.
        let plain_view = if techniques.is_empty() { view.clone() } else { ViewOptions::default() };
        let plain = run(&[], "plain", plain_view)?;
        output::warn_of_registers(path, &plain, config);
        let technique = if techniques.is_empty() {
            None
        } else {
            Some(run(&techniques, &arguments.techniques.words(), view.clone())?)
        };
        let path = path.display().to_string();
        Ok((trace, Outcome { label: label.clone(), path, plain, technique }))
    };
    let mut provenance = Provenance::new(command)
        .on(&loaded, &arguments.techniques.overrides(&arguments.replayed))
        .running(&techniques);
    let (mut outcomes, mut left_out) = (Vec::new(), LeftOut::of(arguments.traces.len()));
    for path in &arguments.traces {
        if let Some((trace, outcome)) = left_out.unless(path, replay_one(path))? {
            provenance.add(&trace)?;
            arguments.views.write(&trace, outcome.shown(), &provenance)?;
            outcomes.push(outcome);
        }
    }
    let word = arguments.techniques.words();
    let files = [&arguments.json, &arguments.csv].map(Option::as_deref).into_iter();
    if !files.chain(arguments.views.files()).any(output::is_stdout) {
        for outcome in &outcomes {
            output::print(&table(outcome, &config.name, &word, &energy))?;
        }
        if outcomes.len() > 1 {
            output::print(&summary(&outcomes, &config.name, &word, &energy).to_text())?;
        }
    }
    if let Some(path) = &arguments.json {
        let mut value = to_json(&outcomes, config, &arguments.techniques.tech, &energy);
        arguments.views.add_series(&mut value, outcomes.iter().map(Outcome::shown))?;
        left_out.add_to(&mut value);
        value[KEY] = provenance.to_json();
        output::write_file(path, &format!("{value:#}\n"))?;
    }
    if let Some(path) = &arguments.csv {
        output::write_file(
            path,
            &(provenance.csv_comment() + &to_csv(&outcomes, &word, arguments.per_launch)?),
        )?;
    }
    left_out.verdict()
}

impl Outcome {
    /// The replay with techniques, if there is one.
    fn shown(&self) -> &Replay {
        self.technique.as_ref().unwrap_or(&self.plain)
    }
}

/// A row of the table: name, value, and how many digits it is shown with.
type Metric = (String, f64, usize);

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

fn without_latency(counters: &Counters) -> f64 {
    if counters.launch_latency_cycles == 0 { 0.0 } else { counters.kernel_cycles as f64 }
}

fn metrics(stats: &Stats, energy: &EnergyTable) -> Vec<Metric> {
    let c = &stats.counters;
    let per = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let mut rows: Vec<Metric> = vec![
        ("cycles".into(), c.cycles as f64, 0),
        // The same as the cycles where there is no latency.
        ("cycles without launch latency".into(), without_latency(c), 0),
        ("warp instructions".into(), c.warp_instructions as f64, 0),
        ("thread instructions".into(), c.thread_instructions as f64, 0),
        ("IPC (warp instructions)".into(), c.ipc(), 3),
        ("register file reads".into(), c.rf_reads as f64, 0),
        ("register file writes".into(), c.rf_writes as f64, 0),
        ("bank conflict cycles".into(), c.rf_bank_conflict_cycles as f64, 0),
        (
            "operand collection, mean cycles".into(),
            per(c.operand_collection_cycles, c.collected_instructions),
            2,
        ),
        ("L1 load hits %".into(), share(c.l1_hits, c.l1_accesses), 1),
        ("L2 hits %".into(), share(c.l2_hits, c.l2_accesses), 1),
        ("DRAM bytes".into(), c.dram_bytes as f64, 0),
    ];
    for (component, pj) in energy.apply(stats) {
        rows.push((format!("energy {} µJ", component.replace('_', " ")), pj / 1e6, 3));
    }
    for cause in Stall::ALL {
        let slots = stats.stalls.get(*cause);
        rows.push((
            format!("slots {} %", cause.name().replace('_', " ")),
            share(slots, stats.stalls.total()),
            2,
        ));
    }
    for technique in &stats.techniques {
        let (name, ledger) = (technique.info.name, &technique.ledger);
        let of_slots = |(cause, slots): (&str, u64)| {
            (format!("{name}: slots {} %", cause.replace('_', " ")), share(slots, stats.stalls.total()), 2)
        };
        rows.extend(technique.stalls().map(of_slots));
        if !technique.info.opportunity.is_empty() {
            rows.push((format!("{name}: opportunities"), ledger.opportunities as f64, 0));
            rows.push((format!("{name}: supplied %"), share(ledger.supplied, ledger.opportunities), 1));
        }
        let of_lost = |(cause, count): (&str, u64)| {
            (format!("{name}: lost, {} %", cause.replace('_', " ")), share(count, ledger.opportunities), 1)
        };
        rows.extend(technique.lost().map(of_lost));
        let counter = |(row, value): (CounterEntry, u64)| {
            (format!("{name}: {}", row.name.replace('_', " ")), value as f64, 0)
        };
        rows.extend(technique.counters().map(counter));
        rows.push((format!("{name}: storage, bits per SM"), technique.bits_per_sm as f64, 0));
    }
    rows
}

/// Groups the digits of a number by thousands.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 && grouped != "-" {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    fraction.map_or(grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

fn table(outcome: &Outcome, config: &str, word: &str, energy: &EnergyTable) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let plain = metrics(&outcome.plain.total, energy);
    let with = outcome.technique.as_ref().map(|replay| metrics(&replay.total, energy));
    let mut header = vec![outcome.label.clone(), "plain".to_owned()];
    if with.is_some() {
        header.extend([word.to_owned(), "ratio".to_owned()]);
    }
    table.set_header(header);
    let find = |rows: &[Metric], name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.1);
    let mut names: Vec<(String, usize)> = plain.iter().map(|row| (row.0.clone(), row.2)).collect();
    for row in with.iter().flatten() {
        if !names.iter().any(|(name, _)| *name == row.0) {
            names.push((row.0.clone(), row.2));
        }
    }
    for (name, digits) in names {
        let a = find(&plain, &name).unwrap_or(0.0);
        let mut cells = vec![name.clone(), number(a, digits)];
        let b = with.as_ref().map(|with| find(with, &name).unwrap_or(0.0));
        if a == 0.0 && b.is_none_or(|b| b == 0.0) {
            continue;
        }
        if let Some(b) = b {
            cells.push(number(b, digits));
            cells.push(if a == 0.0 { "-".into() } else { format!("{:.3}", b / a) });
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{} on {config}\n{table}\n\n", outcome.path)
}

fn to_json(outcomes: &[Outcome], config: &GpuConfig, techniques: &[String], energy: &EnergyTable) -> Value {
    let mut plain = Stats::default();
    let mut shown = Stats::default();
    let mut traces = Vec::new();
    for outcome in outcomes {
        let replay = outcome.shown();
        plain.merge(&outcome.plain.total);
        shown.merge(&replay.total);
        let mut value = replay.to_json(energy);
        value["trace"] = json!(outcome.path);
        let warnings = outcome.plain.register_warnings(config);
        if !warnings.is_empty() {
            value["warnings"] = json!(warnings);
        }
        if outcome.technique.is_some() {
            value["baseline"] = outcome.plain.to_json(energy);
            value["ratio"] = ratios(&replay.total, &outcome.plain.total);
        }
        traces.push(value);
    }
    let mut value = shown.to_json(energy);
    value["schema"] = json!("warplab-replay/2");
    value["config"] = json!(config.name);
    value["techniques"] = json!(techniques);
    value["energy_table"] = json!(energy.name);
    if !techniques.is_empty() {
        value["baseline"] = plain.to_json(energy);
        value["ratio"] = ratios(&shown, &plain);
    }
    value["traces"] = Value::Array(traces);
    value
}

/// Quotients of the figures with techniques and without, and the speed-up without launch latency; null if a denominator is 0.
fn ratios(with: &Stats, plain: &Stats) -> Value {
    let of = |a: f64, b: f64| if b == 0.0 { Value::Null } else { json!(a / b) };
    let (a, b) = (&with.counters, &plain.counters);
    json!({
        "cycles": of(a.cycles as f64, b.cycles as f64),
        "kernel_cycles": of(a.kernel_cycles as f64, b.kernel_cycles as f64),
        "speedup": of(b.kernel_cycles as f64, a.kernel_cycles as f64),
        "ipc": of(a.ipc(), b.ipc()),
        "rf_reads": of(a.rf_reads as f64, b.rf_reads as f64),
        "rf_writes": of(a.rf_writes as f64, b.rf_writes as f64),
        "rf_bank_conflict_cycles": of(a.rf_bank_conflict_cycles as f64, b.rf_bank_conflict_cycles as f64),
    })
}

/// All traces in a row each, with their means.
fn summary(outcomes: &[Outcome], config: &str, word: &str, energy: &EnergyTable) -> report::Table {
    let with = outcomes.iter().any(|outcome| outcome.technique.is_some());
    let mut columns = vec![
        Column::text("Trace"),
        Column::integer("Warp instructions"),
        Column::integer("Cycles"),
        Column::float("IPC", 3),
    ];
    if with {
        columns.push(Column::integer(format!("Cycles {word}")));
        columns.extend(["Speedup", "RF accesses", "RF energy"].map(|name| Column::ratio(name, 3)));
    }
    let title = format!("{} traces on {config}", outcomes.len());
    let mut table = report::Table::new(title, columns);
    let mut ratios: [Vec<f64>; 3] = Default::default();
    for outcome in outcomes {
        let plain = &outcome.plain.total;
        let c = &plain.counters;
        let mut row = report::cells![&outcome.label, c.warp_instructions, c.cycles, c.ipc()].to_vec();
        if let Some(replay) = &outcome.technique {
            let (stats, d) = (&replay.total, &replay.total.counters);
            let over = |a: f64, b: f64| if b == 0.0 { f64::NAN } else { a / b };
            let found = [
                over(c.kernel_cycles as f64, d.kernel_cycles as f64),
                over((d.rf_reads + d.rf_writes) as f64, (c.rf_reads + c.rf_writes) as f64),
                over(energy.register_file_pj(stats), energy.register_file_pj(plain)),
            ];
            row.push(d.cycles.into());
            row.extend(found.map(report::Cell::from));
            ratios.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
        }
        table.push(row);
    }
    if with {
        let mut mean = vec![report::Cell::Missing; 5];
        mean[0] = "Geometric mean".into();
        mean.extend(ratios.map(|all| report::Cell::from(report::geometric_mean(all))));
        table = table.summary(mean);
    }
    table
}

/// Columns of a launch, before its counts.
const LAUNCH_COLUMNS: [&str; 8] = [
    "launch",
    "kernel",
    "stream",
    "launched_at_cycle",
    "ended_at_cycle",
    "replayed_blocks",
    "threads_per_block",
    "registers_per_thread",
];

fn launch_cells(launch: &LaunchStats) -> [String; 8] {
    [
        launch.launch.to_string(),
        launch.kernel.clone(),
        launch.stream.to_string(),
        launch.launched_at.to_string(),
        launch.ended_at.to_string(),
        launch.blocks.to_string(),
        launch.threads_per_block.to_string(),
        launch.registers_per_thread.to_string(),
    ]
}

fn to_csv(outcomes: &[Outcome], word: &str, per_launch: bool) -> Result<String, CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = |stats: &Stats| -> Vec<(String, u64)> {
        stats.techniques.iter().flat_map(TechniqueStats::columns).collect()
    };
    // Every trace is replayed with the same techniques.
    let first = outcomes.first().and_then(|outcome| outcome.technique.as_ref());
    let of_techniques = first.map(|replay| columns(&replay.total));
    let of_techniques: Vec<String> = of_techniques.into_iter().flatten().map(|(name, _)| name).collect();
    let header = ["trace".to_owned(), "techniques".to_owned()];
    let of_launch = LAUNCH_COLUMNS.iter().filter(|_| per_launch).map(|name| (*name).to_owned());
    let header = header.into_iter().chain(of_launch).chain(Stats::csv_header());
    writer.write_record(header.chain(of_techniques.iter().cloned()))?;
    for outcome in outcomes {
        let mut write = |techniques: &str, launch: &[String], stats: &Stats| {
            let start = [outcome.path.clone(), techniques.to_owned()];
            let start = start.into_iter().chain(launch.iter().cloned());
            let mut of: Vec<String> =
                columns(stats).into_iter().map(|(_, value)| value.to_string()).collect();
            of.resize(of_techniques.len(), String::new());
            writer.write_record(start.chain(stats.csv_row()).chain(of))
        };
        let mut row = |techniques: &str, replay: &Replay| match per_launch {
            false => write(techniques, &[], &replay.total),
            true => replay
                .launches
                .iter()
                .try_for_each(|launch| write(techniques, &launch_cells(launch), &launch.stats)),
        };
        row("", &outcome.plain)?;
        if let Some(technique) = &outcome.technique {
            row(word, technique)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
