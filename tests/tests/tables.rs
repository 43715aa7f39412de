//! Committed reference tables of the timing model: cycles of the bundled workloads, and the gains of BOW, BOW-WR
//! and CORF on them, beside published figures. Differences from published figures are named gaps.
//!
//! A table is data under `tests/tables/`. After a change that is meant to move figures, write it again and commit it:
//! `WARPLAB_TABLES=write cargo test --release -p tests --test suite tables::`. Columns that are not ours stay as they are.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use timing::config::load;
use timing::replay::{Replay, ReplayOptions, replay};
use timing::stats::{EnergyTable, Stats};
use trace_format::reader::Trace;

/// A table: its header, and its rows by column.
struct Table {
    path: PathBuf,
    header: Vec<String>,
    rows: Vec<BTreeMap<String, String>>,
}

impl Table {
    fn read(name: &str) -> Table {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables").join(name);
        let mut reader =
            csv::Reader::from_path(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| {
            let row = row.expect("a row");
            header.iter().cloned().zip(row.iter().map(str::to_owned)).collect()
        });
        Table { rows: rows.collect(), header, path }
    }

    /// Compares each row's `ours` with the measured value, or writes the measured value if requested.
    fn compare(mut self, tolerance: f64, measure: impl Fn(&BTreeMap<String, String>) -> Result<f64, String>) {
        let write = std::env::var("WARPLAB_TABLES").is_ok_and(|value| value == "write");
        let mut wrong = Vec::new();
        for row in &mut self.rows {
            let now = match measure(row) {
                // Whole numbers are cycles, others have four digits.
                Ok(value) if value >= 100.0 => format!("{value:.0}"),
                Ok(value) => format!("{value:.4}"),
                Err(why) => why,
            };
            let number = |text: &str| text.parse::<f64>().ok();
            let equal = match (number(&now), number(&row["ours"])) {
                (Some(now), Some(then)) if then >= 100.0 => (now / then - 1.0).abs() <= tolerance,
                (Some(now), Some(then)) => (now - then).abs() <= tolerance,
                _ => now == row["ours"],
            };
            if write {
                row.insert("ours".into(), now);
            } else if !equal {
                wrong.push(format!("{row:?}: now {now}"));
            }
        }
        if write {
            let mut writer = csv::Writer::from_path(&self.path).expect("the table can be written");
            writer.write_record(&self.header).expect("written");
            for row in &self.rows {
                writer.write_record(self.header.iter().map(|column| &row[column])).expect("written");
            }
            writer.flush().expect("written");
        }
        assert!(wrong.is_empty(), "{}:\n{}", self.path.display(), wrong.join("\n"));
    }

    /// Every large difference from a published figure is a named gap, and every named gap exists.
    fn check_gaps(&self, far: impl Fn(f64, f64) -> bool) {
        for row in &self.rows {
            let published: Option<f64> = row["published"].parse().ok();
            assert_eq!(published.is_some(), !row["by"].is_empty(), "{row:?}: a figure and its source");
            let ours: Option<f64> = row["ours"].parse().ok();
            let gap = match (ours, published) {
                (Some(ours), Some(published)) => far(ours, published),
                (None, _) => true,
                (Some(_), None) => false,
            };
            assert_eq!(
                gap,
                !row["gap"].is_empty(),
                "{row:?}: ours is far from the published figure, or no longer is"
            );
        }
    }
}

/// The recording of a workload with some values of its scalars (`n=4;m=2`).
fn recording(workload: &str, scalars: &str) -> &'static Trace {
    static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));
    static TRACES: LazyLock<std::sync::Mutex<BTreeMap<String, &'static Trace>>> =
        LazyLock::new(Default::default);
    let mut traces = TRACES.lock().expect("no test has panicked there");
    traces.entry(format!("{workload}-{scalars}")).or_insert_with_key(|name| {
        let all = tests::tabled_workloads();
        let found =
            all.iter().find(|one| one.name == workload).unwrap_or_else(|| panic!("no workload {workload}"));
        let overrides = scalars.split(';').filter(|item| !item.is_empty()).map(str::to_owned).collect();
        let setup = Setup { overrides, ..Setup::default() };
        let path = FOLDER.path().join(format!("{name}.wtrace"));
        let mut session = Session::open_manifest(&found.manifests()[0], &setup).expect("a manifest");
        session.record(&path, &Options::default(), &Unobserved).expect("a recording");
        Box::leak(Box::new(Trace::open(&path).expect("a trace")))
    })
}

/// A replay on a machine with some values of its configuration (`a=1;b=2`) and techniques (`a,b`).
fn run(trace: &Trace, machine: &str, set: &str, techniques: &str) -> Result<Replay, String> {
    let list = |text: &str, by: char| -> Vec<String> {
        text.split(by).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let config = load(machine, &list(set, ';')).expect("a configuration").config;
    let techniques =
        timing::techniques::built_in().select(&list(techniques, ','), &config).expect("techniques");
    let options = ReplayOptions::default();
    replay(trace, &config, &techniques, &options).map_err(|why| why.to_string())
}

#[test]
fn cycles_are_those_of_the_table() {
    let table = Table::read("cycles.csv");
    for workload in tests::tabled_workloads() {
        let count = table.rows.iter().filter(|row| row["workload"] == workload.name).count();
        assert!(count >= 3, "{} is on {count} machines", workload.name);
    }
    table.compare(0.01, |row| {
        let trace = recording(&row["workload"], &row["scalars"]);
        match run(trace, &row["machine"], &row["set"], "") {
            Ok(replay) => Ok(replay.total.counters.cycles as f64),
            Err(why) if why.contains("fits no SM") => Err("-".into()),
            Err(why) => panic!("{row:?}: {why}"),
        }
    });
    Table::read("cycles.csv").check_gaps(|ours, published| (ours / published - 1.0).abs() > 0.1);
}

/// A figure of one workload: what the plain machine and the one with the technique have counted.
type Figure = fn(&Stats, &Stats, &EnergyTable) -> f64;

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn counter(stats: &Stats, name: &str) -> u64 {
    stats.techniques[0].get(name).unwrap_or_else(|| panic!("no counter {name}"))
}

fn energy(stats: &Stats, table: &EnergyTable) -> f64 {
    let parts = table.apply(stats);
    let of_registers = ["register_file", "technique_storage", "technique_logic"];
    parts.iter().filter(|(name, _)| of_registers.contains(name)).map(|(_, pj)| pj).sum()
}

/// The figures by name, and whether the mean is geometric.
const FIGURES: &[(&str, bool, Figure)] = &[
    ("reads bypassed", false, |_, with, _| 1.0 - ratio(with.counters.rf_reads, with.counters.operand_reads)),
    ("writes bypassed", false, |_, with, _| {
        1.0 - ratio(with.counters.rf_writes, with.counters.operand_writes)
    }),
    ("IPC", true, |plain, with, _| with.counters.ipc() / plain.counters.ipc()),
    ("register-file energy", false, |plain, with, prices| energy(with, prices) / energy(plain, prices)),
    ("time in operand collection", false, |plain, with, _| {
        let mean = |s: &Stats| ratio(s.counters.operand_collection_cycles, s.counters.collected_instructions);
        mean(with) / mean(plain)
    }),
    ("coalesced instructions of those with several sources", false, |_, with, _| {
        ratio(counter(with, "coalesced_read_instructions"), counter(with, "multi_source_instructions"))
    }),
    ("register-file accesses", false, |plain, with, _| {
        let all = |s: &Stats| s.counters.rf_reads + s.counters.rf_writes;
        ratio(all(with), all(plain))
    }),
    ("compiler pairs that fit", false, |_, with, _| {
        ratio(counter(with, "packed_pair_allocations"), counter(with, "pair_allocations"))
    }),
    ("physical registers", false, |_, with, _| {
        ratio(counter(with, "physical_register_cycles"), counter(with, "architectural_register_cycles"))
    }),
    ("reallocations because a value grew", false, |_, with, _| {
        ratio(counter(with, "size_change_reallocations"), with.counters.operand_writes)
    }),
];

#[test]
fn techniques_gain_what_the_table_says() {
    let done: RefCell<BTreeMap<String, Option<Stats>>> = RefCell::default();
    // Rows of one machine and technique are figures of the same replays.
    let total = |workload: &str, machine: &str, set: &str, technique: &str| -> Option<Stats> {
        let key = format!("{workload} {machine} {set} {technique}");
        let of = || {
            let set = format!("launch.latency_cycles=0;{set}");
            run(recording(workload, ""), machine, &set, technique).map(|replay| replay.total).ok()
        };
        done.borrow_mut().entry(key).or_insert_with(of).clone()
    };
    Table::read("techniques.csv").compare(0.003, |row| {
        let (_, geometric, figure) =
            FIGURES.iter().find(|(name, ..)| *name == row["figure"]).unwrap_or_else(|| panic!("{row:?}"));
        let prices = load(&row["machine"], &[]).expect("a configuration").config.energy;
        let prices = EnergyTable::load(&prices).expect("an energy table");
        let mut values = Vec::new();
        for workload in tests::tabled_workloads() {
            let with = total(workload.name, &row["machine"], &row["set"], &row["technique"]);
            let plain = total(workload.name, &row["machine"], "", "");
            if let (Some(plain), Some(with)) = (plain, with) {
                values.push(figure(&plain, &with, &prices));
            }
        }
        assert!(values.len() >= 24, "{row:?}: {} workloads", values.len());
        let count = values.len() as f64;
        Ok(if *geometric {
            (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp()
        } else {
            values.iter().sum::<f64>() / count
        })
    });
    Table::read("techniques.csv").check_gaps(|ours, published| (ours - published).abs() > 0.06);
}
