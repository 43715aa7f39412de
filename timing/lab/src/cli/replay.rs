//! `timing replay`: replays traces on a GPU model, and compares techniques with the baseline.

use super::error::CliError;
use super::left_out::LeftOut;
use super::output;
use super::progress::LateBar;
use super::shared::{MachineArguments, ReplayArguments, TechniqueArguments};
use crate::config::GpuConfig;
use crate::named::{NamedMachine, Ready};
use crate::observe::ViewOptions;
use crate::provenance::{KEY, Provenance};
use crate::replay::{LaunchStats, Launches, Replay, ReplayError, ReplayOptions, Selection, Streamed, replay};
use crate::stats::{CounterEntry, Counters, EnergyTable, Stall, Stats, TechniqueStats};
use crate::techniques::{Catalogue, Technique};
use clap::Args;
use comfy_table::CellAlignment;
use report::Column;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trace_format::reader::Trace;
use warplab_host::tables;
use warplab_host::text::cell;
use warplab_model::replay::Progress;

/// Arguments of `timing replay`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  timing replay matmul.wtrace\n  \
    timing replay matmul.wtrace --config gtx480 --tech bow,corf --json result.json\n  \
    timing replay matmul.wtrace --tech bow --tech corf --machine \"w5: bow, technique.bow.window=5\" --machine qv100\n  \
    timing replay *.wtrace --set scheduler.policy=lrr --set technique.bow.window=2 --threads 2\n  \
    timing replay matmul.wtrace --tech corf++ --ideal\n  \
    timing replay app.wtrace --csv launches.csv --per-launch\n  \
    timing replay bfs.wtrace --kernels expand --launches 3-10,12\n  \
    timing replay matmul.wtrace --timeline out.json --window 5000-8000 --sms 0\n  \
    timing replay matmul.wtrace --interval 1000 --series out.csv --columns ipc,dram_bytes\n\n\
    JSON: totals over all traces at the top level (cycles, warp_instructions, thread_instructions, ipc, rf_reads, \
    rf_writes, rf_bank_conflict_cycles, stalls, energy_pj, …), the same per trace under `traces` and per launch \
    under `launches`; with --tech, the plain machine under `baseline`, the quotients under `ratio`, and what each \
    technique supplied, lost by cause, checked and counted, with its parameters, under `technique`; with several machines \
    (--tech and --machine together name more than one) the plain machine at the top level and the others under `machines`, \
    each with its name, statistics and `ratio`; with --per-sm, \
    one object per SM under `sms`; with --interval, samples under `series`. \
    What produced the result is under `produced_by`; that of a CSV file X is in X.provenance.json. Traces that cannot be replayed are under `left_out`, each with the reason, and the exit code is 1.")]
pub(super) struct Arguments {
    /// Traces to replay.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    techniques: TechniqueArguments,
    #[command(flatten)]
    machines: MachineArguments,
    #[command(flatten)]
    replayed: ReplayArguments,
    /// Runs kernels of different streams together where the order of the streams allows it.
    #[arg(long)]
    concurrent: bool,
    /// Stops with an error when a kernel takes longer.
    #[arg(long, value_name = "CYCLES")]
    max_cycles: Option<u64>,
    /// Compares all values of each warp with their recorded checksum, also without techniques; addresses and lanes are
    /// always compared.
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

/// A machine beside the plain one.
struct Variant {
    name: String,
    config: String,
    techniques: Vec<String>,
    ready: Ready,
}

/// One trace replayed on the plain machine and on the others.
struct Outcome {
    label: String,
    path: String,
    plain: Replay,
    /// In the order of the variants.
    others: Vec<Replay>,
}

/// The machines of the options, besides the plain one.
fn variants(arguments: &Arguments, catalogue: &Catalogue) -> Result<Vec<Variant>, CliError> {
    let (techniques, replayed) = (&arguments.techniques, &arguments.replayed);
    let listed = techniques.lists().into_iter().map(|tech| NamedMachine {
        name: techniques.words(&tech),
        config: replayed.config.clone(),
        set: techniques.overrides(replayed),
        tech,
    });
    let machines: Vec<NamedMachine> = listed.chain(arguments.machines.read(replayed, catalogue)?).collect();
    let mut found: Vec<Variant> = Vec::new();
    for machine in machines {
        if found.iter().any(|other| other.name == machine.name) {
            return Err(CliError(format!("the machine {} is given twice", machine.name)));
        }
        let ready = machine.ready(catalogue)?;
        let (name, techniques) = (machine.name, machine.tech);
        found.push(Variant { name, config: ready.loaded.config.name.clone(), techniques, ready });
    }
    Ok(found)
}

pub(super) fn run(arguments: &Arguments, catalogue: &Catalogue, command: &[String]) -> Result<(), CliError> {
    let loaded = arguments.techniques.load(&arguments.replayed, catalogue)?;
    let config = &loaded.config;
    let energy = EnergyTable::load(&config.energy).map_err(CliError)?;
    energy.check(catalogue.infos()).map_err(CliError)?;
    let variants = variants(arguments, catalogue)?;
    let threads = arguments.replayed.threads();
    let selection = arguments.replayed.selection()?;
    let viewed = match &variants[..] {
        [] => &[][..],
        [one] => &one.ready.techniques[..],
        _ => &[],
    };
    let view = arguments.views.check(arguments.traces.len(), arguments.json.is_some(), config, viewed)?;
    if variants.len() > 1 && (view.window.is_some() || view.interval.is_some()) {
        let why =
            "--timeline, --konata and --interval show one replay; name one machine with --tech or --machine";
        return Err(why.into());
    }
    output::check(arguments.json.as_deref())?;
    output::check(arguments.csv.as_deref())?;
    let replay_on_all = |path: &Path, trace: &Trace, selection: &Selection| -> Result<Outcome, ReplayError> {
        let label = output::label(path);
        let run = |config: &GpuConfig, techniques: &[Box<dyn Technique>], what: &str, view: ViewOptions| {
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
            replay(trace, config, techniques, &options)
        };
        // Views show the replay on the other machine, if there is one.
        let plain_view = if variants.is_empty() { view.clone() } else { ViewOptions::default() };
        let plain = run(config, &[], "plain", plain_view)?;
        let on = |variant: &Variant| {
            let Ready { loaded, techniques, .. } = &variant.ready;
            run(&loaded.config, techniques, &variant.name, view.clone())
        };
        let others = variants.iter().map(on).collect::<Result<_, _>>()?;
        let path = path.display().to_string();
        Ok(Outcome { label: label.clone(), path, plain, others })
    };
    let replay_one = |path: &Path, left_out: &mut LeftOut| -> Result<(Trace, Outcome), CliError> {
        let trace = output::open_trace(path)?;
        let run = |chosen: &Selection| replay_on_all(path, &trace, chosen);
        let outcome = left_out.readable(path, &selection, run)?;
        output::warn_of_registers(path, &outcome.plain, config);
        Ok((trace, outcome))
    };
    let mut provenance =
        Provenance::new(command).on(&loaded, &arguments.techniques.overrides(&arguments.replayed));
    provenance = match &variants[..] {
        [one] if arguments.machines.is_empty() => provenance.running(&one.ready.techniques),
        several => several.iter().fold(provenance, |so_far, variant| {
            so_far.beside(&variant.name, &variant.ready.loaded, &variant.ready.techniques)
        }),
    };
    let (mut outcomes, mut left_out) = (Vec::new(), LeftOut::of(arguments.traces.len()));
    for path in &arguments.traces {
        let done = replay_one(path, &mut left_out);
        if let Some((trace, outcome)) = left_out.unless(path, done)? {
            provenance.add(&trace)?;
            arguments.views.write(&trace, outcome.shown(), &provenance)?;
            outcomes.push(outcome);
        }
    }
    let files = [&arguments.json, &arguments.csv].map(Option::as_deref).into_iter();
    if !files.chain(arguments.views.files()).any(output::is_stdout) {
        for outcome in &outcomes {
            output::print(&table(outcome, &config.name, &variants, &energy))?;
        }
        if outcomes.len() > 1 {
            output::print(&summary(&outcomes, &config.name, &variants, &energy).to_text())?;
        }
    }
    if let Some(path) = &arguments.json {
        let mut launches = Launches::default();
        let mut value = to_json(&outcomes, config, &variants, &energy, &mut launches);
        arguments.views.add_series(&mut value, outcomes.iter().map(Outcome::shown))?;
        left_out.add_to(&mut value);
        value[KEY] = provenance.to_json();
        output::write_json(path, &Streamed { value: &value, launches: &launches })?;
    }
    if let Some(path) = &arguments.csv {
        let text = to_csv(&outcomes, &variants, arguments.per_launch)?;
        output::write_table(path, &text, &provenance.to_json())?;
    }
    left_out.verdict()
}

impl Outcome {
    /// The replay on the other machine if there is one, else on the plain one.
    fn shown(&self) -> &Replay {
        match &self.others[..] {
            [one] => one,
            _ => &self.plain,
        }
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

/// The table of a trace; machines that do not fit the terminal follow below, beside the plain one again.
fn table(outcome: &Outcome, config: &str, variants: &[Variant], energy: &EnergyTable) -> String {
    let all: Vec<(&Variant, &Replay)> = variants.iter().zip(&outcome.others).collect();
    let most = tables::line_width().unwrap_or(usize::MAX);
    let fits = |text: &str| text.lines().all(|line| line.trim_end().chars().count() <= most);
    let mut waiting = vec![&all[..]];
    let mut text = format!("{} on {config}\n", outcome.path);
    while let Some(part) = waiting.pop() {
        let table = table_of(outcome, part, energy);
        if part.len() > 1 && !fits(&table) {
            let (first, rest) = part.split_at(part.len() / 2);
            waiting.extend([rest, first]);
        } else {
            text += &format!("{table}\n\n");
        }
    }
    text
}

fn table_of(outcome: &Outcome, variants: &[(&Variant, &Replay)], energy: &EnergyTable) -> String {
    let mut table = tables::table();
    let plain = metrics(&outcome.plain.total, energy);
    let others: Vec<Vec<Metric>> =
        variants.iter().map(|(variant, replay)| metrics(&replay.total, &variant.ready.energy)).collect();
    let heads = variants.iter().flat_map(|(variant, _)| [variant.name.clone(), "ratio".to_owned()]);
    table.set_header([outcome.label.clone(), "plain".to_owned()].into_iter().chain(heads));
    let find = |rows: &[Metric], name: &str| rows.iter().find(|row| row.0 == name).map_or(0.0, |row| row.1);
    let mut names: Vec<(String, usize)> = plain.iter().map(|row| (row.0.clone(), row.2)).collect();
    for row in others.iter().flatten() {
        if !names.iter().any(|(name, _)| *name == row.0) {
            names.push((row.0.clone(), row.2));
        }
    }
    for (name, digits) in names {
        let a = find(&plain, &name);
        let values: Vec<f64> = others.iter().map(|rows| find(rows, &name)).collect();
        if a == 0.0 && values.iter().all(|b| *b == 0.0) {
            continue;
        }
        let mut cells = vec![name, number(a, digits)];
        for b in values {
            cells.push(number(b, digits));
            cells.push(if a == 0.0 { "-".into() } else { format!("{:.3}", b / a) });
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// The result, without the launches, which are added to the list.
fn to_json<'a>(
    outcomes: &'a [Outcome],
    config: &GpuConfig,
    variants: &'a [Variant],
    energy: &'a EnergyTable,
    launches: &mut Launches<'a>,
) -> Value {
    let sum = |replays: &mut dyn Iterator<Item = &Replay>| {
        let mut total = Stats::default();
        replays.for_each(|replay| total.merge(&replay.total));
        total
    };
    let plain = sum(&mut outcomes.iter().map(|outcome| &outcome.plain));
    let others: Vec<Stats> =
        (0..variants.len()).map(|at| sum(&mut outcomes.iter().map(|outcome| &outcome.others[at]))).collect();
    let beside = |variant: &Variant, mut value: Value, ratio: Value| {
        let own = [
            ("machine", json!(variant.name)),
            ("config", json!(variant.config)),
            ("techniques", json!(variant.techniques)),
            ("energy_table", json!(variant.ready.energy.name)),
            ("ratio", ratio),
        ];
        own.into_iter().for_each(|(key, of)| value[key] = of);
        value
    };
    let mut trace = |outcome: &'a Outcome| {
        let replayed = variants.iter().zip(&outcome.others);
        let mut value = match (variants, &outcome.others[..]) {
            ([variant], [only]) => {
                let mut value = launches.placed(only, &variant.ready.energy);
                value["baseline"] = launches.placed(&outcome.plain, energy);
                value["ratio"] = ratios(&only.total, &outcome.plain.total);
                value
            }
            _ => launches.placed(&outcome.plain, energy),
        };
        if variants.len() > 1 {
            let of = |(variant, replay): (&'a Variant, &'a Replay)| {
                let ratio = ratios(&replay.total, &outcome.plain.total);
                beside(variant, launches.placed(replay, &variant.ready.energy), ratio)
            };
            value["machines"] = replayed.map(of).collect();
        }
        value["trace"] = json!(outcome.path);
        let warnings = outcome.plain.register_warnings(config);
        if !warnings.is_empty() {
            value["warnings"] = json!(warnings);
        }
        value
    };
    // With one other machine its figures are those of the result, and the plain ones are beside them.
    let mut value = match (variants, &others[..]) {
        ([variant], [only]) => {
            let mut value = only.to_json(&variant.ready.energy);
            value["config"] = json!(variant.config);
            value["techniques"] = json!(variant.techniques);
            value["energy_table"] = json!(variant.ready.energy.name);
            value["baseline"] = plain.to_json(energy);
            value["ratio"] = ratios(only, &plain);
            value
        }
        _ => {
            let mut value = plain.to_json(energy);
            value["config"] = json!(config.name);
            value["techniques"] = json!([]);
            value["energy_table"] = json!(energy.name);
            value
        }
    };
    value["schema"] = json!("warplab-replay/2");
    if variants.len() > 1 {
        let of = |(variant, stats): (&Variant, &Stats)| {
            beside(variant, stats.to_json(&variant.ready.energy), ratios(stats, &plain))
        };
        value["machines"] = variants.iter().zip(&others).map(of).collect();
    }
    value["traces"] = outcomes.iter().map(&mut trace).collect();
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

/// All traces in a row each, with the means of each machine.
fn summary(outcomes: &[Outcome], config: &str, variants: &[Variant], energy: &EnergyTable) -> report::Table {
    let mut columns = vec![
        Column::text("Trace"),
        Column::integer("Warp instructions"),
        Column::integer("Cycles"),
        Column::float("IPC", 3),
    ];
    for variant in variants {
        columns.push(Column::integer(format!("Cycles {}", variant.name)));
        columns.extend(["Speedup", "RF accesses", "RF energy"].map(|name| Column::ratio(name, 3)));
    }
    let title = format!("{} traces on {config}", outcomes.len());
    let mut table = report::Table::new(title, columns);
    let mut ratios: Vec<[Vec<f64>; 3]> = vec![Default::default(); variants.len()];
    for outcome in outcomes {
        let plain = &outcome.plain.total;
        let c = &plain.counters;
        let mut row = report::cells![&outcome.label, c.warp_instructions, c.cycles, c.ipc()].to_vec();
        for ((variant, replay), means) in variants.iter().zip(&outcome.others).zip(&mut ratios) {
            let (stats, d) = (&replay.total, &replay.total.counters);
            let over = |a: f64, b: f64| if b == 0.0 { f64::NAN } else { a / b };
            let found = [
                over(c.kernel_cycles as f64, d.kernel_cycles as f64),
                over((d.rf_reads + d.rf_writes) as f64, (c.rf_reads + c.rf_writes) as f64),
                over(variant.ready.energy.register_file_pj(stats), energy.register_file_pj(plain)),
            ];
            row.push(d.cycles.into());
            row.extend(found.map(report::Cell::from));
            means.iter_mut().zip(found).for_each(|(all, one)| all.push(one));
        }
        table.push(row);
    }
    if variants.is_empty() {
        return table;
    }
    let mut mean = vec![report::Cell::Missing; 4];
    mean[0] = "Geometric mean".into();
    for means in ratios {
        mean.push(report::Cell::Missing);
        mean.extend(means.map(|all| report::Cell::from(report::geometric_mean(all))));
    }
    table.summary(mean)
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

fn to_csv(outcomes: &[Outcome], variants: &[Variant], per_launch: bool) -> Result<String, CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = |stats: &Stats| -> Vec<(String, u64)> {
        stats.techniques.iter().flat_map(TechniqueStats::columns).collect()
    };
    // Every trace is replayed on the same machines.
    let mut of_techniques: Vec<String> = Vec::new();
    for replay in outcomes.first().into_iter().flat_map(|outcome| &outcome.others) {
        for (name, _) in columns(&replay.total) {
            if !of_techniques.contains(&name) {
                of_techniques.push(name);
            }
        }
    }
    let header = ["trace".to_owned(), "techniques".to_owned()];
    let of_launch = LAUNCH_COLUMNS.iter().filter(|_| per_launch).map(|name| (*name).to_owned());
    let header = header.into_iter().chain(of_launch).chain(Stats::csv_header());
    writer.write_record(header.chain(of_techniques.iter().cloned()))?;
    for outcome in outcomes {
        let mut write = |machine: &str, launch: &[String], stats: &Stats| {
            let start = [outcome.path.clone(), machine.to_owned()];
            let start = start.into_iter().chain(launch.iter().cloned());
            let own = columns(stats);
            let value = |name: &String| {
                own.iter()
                    .find(|(other, _)| other == name)
                    .map_or(String::new(), |(_, value)| value.to_string())
            };
            let row = start.chain(stats.csv_row()).chain(of_techniques.iter().map(value));
            writer.write_record(row.map(|text| cell(&text).into_owned()))
        };
        let mut row = |machine: &str, replay: &Replay| match per_launch {
            false => write(machine, &[], &replay.total),
            true => replay
                .launches
                .iter()
                .try_for_each(|launch| write(machine, &launch_cells(&launch), &launch.stats)),
        };
        row("", &outcome.plain)?;
        for (variant, replay) in variants.iter().zip(&outcome.others) {
            row(&variant.name, replay)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
