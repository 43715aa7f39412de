//! The table of the bundled workloads: what each launches at the size of the tests and at the size of the papers.
//!
//! `timing/experiments/workloads.csv`, which `timing list workloads` prints, has a row per manifest, size and kernel.
//! Rows of the tests, and grids and occupancy at the size of the papers, follow from the manifests and from short runs:
//! `WARPLAB_TABLES=write cargo test --release -p tests --test suite workload_table::` writes them. The instructions and the
//! active SMs at the size of the papers take a recording and a replay of each:
//! `cargo test --release -p tests --test suite workload_table:: -- --ignored` measures them and writes them into the table,
//! after each workload; `WARPLAB_WORKLOADS=a,b` chooses some.

use emulator::exec::{Options, Unobserved};
use emulator::manifest::LaunchSpec;
use emulator::session::{Session, Setup};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use timing::config::load;
use timing::occupancy::{Demand, occupancy};
use timing::replay::{ReplayOptions, replay};
use timing::reproduce::{Experiment, paper};
use trace_format::reader::Trace;

const COLUMNS: [&str; 15] = [
    "suite",
    "workload",
    "papers",
    "size",
    "kernel",
    "launches",
    "grid",
    "block",
    "registers",
    "shared_bytes",
    "warp_instructions",
    "footprint_bytes",
    "waves",
    "active_sms_percent",
    "note",
];

/// The papers, those whose machines hold more threads first.
const PAPERS: [&str; 7] = ["bow", "darsie", "larf", "uv", "dac", "regmutex", "corf"];

/// The machine of a workload that no paper evaluates, or that fits on none of its papers'.
const OTHERS: &str = "titanx-pascal";

/// Waves of blocks, and percent of the SMs, below which a manifest has to say why a program does not fill a machine.
const FULL: (f64, f64) = (2.0, 90.0);

type Row = BTreeMap<&'static str, String>;

/// The machine with which a paper measured.
fn machine_of(name: &str) -> String {
    let text = paper(name).expect("a paper with experiments");
    let experiment = Experiment::parse(text, name, &timing::techniques::built_in()).expect("experiments");
    experiment.paper.machine
}

/// A manifest at one size.
struct Workload {
    about: tests::Manifest,
    name: String,
    size: &'static str,
    session: Session,
}

impl Workload {
    fn open(path: &Path, size: &'static str) -> Workload {
        let setup = Setup { size: Some(size.to_owned()), ..Setup::default() };
        let session =
            Session::open_manifest(path, &setup).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let about = tests::Manifest::load(path).expect("the independent reader reads it");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Workload { about, name, size, session }
    }

    fn demand(&self, launch: &LaunchSpec) -> Demand {
        let kernel = self.session.kernel(&launch.kernel).expect("the kernel that is launched");
        Demand {
            threads_per_block: launch.block.iter().product(),
            registers_per_thread: u32::from(kernel.regs_per_thread).max(1),
            shared_bytes: kernel.static_shared_bytes + launch.shared_bytes,
        }
    }

    /// The largest of the papers' machines that holds a block of every kernel.
    fn machine(&self) -> String {
        let fits = |name: &String| {
            let sm = load(name, &[]).expect("a configuration").config.sm;
            let launches = &self.session.manifest().launches;
            launches.iter().all(|launch| occupancy(&sm, sm.registers, &self.demand(launch)).is_ok())
        };
        let evaluated = PAPERS.into_iter().filter(|paper| self.about.about.papers.contains_key(*paper));
        evaluated.map(machine_of).find(fits).unwrap_or_else(|| OTHERS.to_owned())
    }

    /// Waves of blocks of a launch on the machine of the papers.
    fn waves(&self, launch: &LaunchSpec) -> f64 {
        let config = load(&self.machine(), &[]).expect("a configuration").config;
        let resident =
            occupancy(&config.sm, config.sm.registers, &self.demand(launch)).expect("a block fits");
        blocks(launch) as f64 / f64::from(resident.blocks * config.gpu.sms)
    }

    /// Rows of the kernels in order of appearance, without what a run has to tell.
    fn rows(&self, suite: &str) -> Vec<Row> {
        let manifest = self.session.manifest();
        let mut kernels: Vec<&str> = Vec::new();
        for launch in &manifest.launches {
            if !kernels.contains(&launch.kernel.as_str()) {
                kernels.push(&launch.kernel);
            }
        }
        let bytes = |name: &str| self.session.buffer(name).expect("a buffer").len();
        let footprint: usize = manifest.buffers.iter().map(|buffer| bytes(&buffer.name)).sum();
        let papers: Vec<&str> = self.about.about.papers.keys().map(String::as_str).collect();
        let row = |kernel: &&str| {
            let launches = || manifest.launches.iter().filter(|launch| launch.kernel == *kernel);
            // The first one of the largest.
            let largest = launches().rev().max_by_key(|launch| blocks(launch)).expect("it is launched");
            let demand = self.demand(largest);
            let mut row: Row = COLUMNS.iter().map(|column| (*column, String::new())).collect();
            row.insert("suite", suite.to_owned());
            row.insert("workload", self.name.clone());
            row.insert("papers", papers.join(";"));
            row.insert("size", self.size.to_owned());
            row.insert("kernel", (*kernel).to_owned());
            row.insert("launches", launches().map(|launch| launch.repeat).sum::<u32>().to_string());
            row.insert("grid", shape(largest.grid));
            row.insert("block", shape(largest.block));
            row.insert("registers", demand.registers_per_thread.to_string());
            row.insert("shared_bytes", demand.shared_bytes.to_string());
            row.insert("footprint_bytes", footprint.to_string());
            if self.size == "paper" {
                row.insert("waves", format!("{:.1}", self.waves(largest)));
                row.insert("note", self.note());
            }
            row
        };
        kernels.iter().map(row).collect()
    }

    /// The manifest's comment on its size for the papers.
    fn note(&self) -> String {
        let text = std::fs::read_to_string(&self.about.path).expect("the manifest");
        let lines: Vec<&str> = text.lines().collect();
        let section = lines.iter().position(|line| line.trim() == "[sizes.paper]").expect("the section");
        let first = lines[..section].iter().rposition(|line| !line.starts_with('#')).map_or(0, |at| at + 1);
        let words = lines[first..section].iter().map(|line| line.trim_start_matches('#').trim());
        words.collect::<Vec<_>>().join(" ")
    }
}

fn blocks(launch: &LaunchSpec) -> u64 {
    launch.grid.iter().map(|&n| u64::from(n)).product()
}

fn shape(sides: [u32; 3]) -> String {
    sides.map(|side| side.to_string()).join("x")
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../timing/experiments/workloads.csv")
}

/// The rows of the committed table.
fn committed() -> Vec<Row> {
    let Ok(mut reader) = csv::Reader::from_path(path()) else { return Vec::new() };
    let read = |row: Result<csv::StringRecord, csv::Error>| {
        let row = row.expect("a row");
        COLUMNS.iter().zip(row.iter()).map(|(column, cell)| (*column, cell.to_owned())).collect()
    };
    reader.records().map(read).collect()
}

fn write(rows: &[Row]) {
    let mut writer = csv::Writer::from_path(path()).expect("the table can be written");
    writer.write_record(COLUMNS).expect("written");
    for row in rows {
        writer.write_record(COLUMNS.iter().map(|column| &row[column])).expect("written");
    }
    writer.flush().expect("written");
}

/// What is measured at the size of the papers.
const MEASURED: [&str; 2] = ["warp_instructions", "active_sms_percent"];

/// What a measurement depends on, besides the code of the kernel: the values are kept while these stay the same.
const LAUNCHED: [&str; 6] = ["workload", "size", "kernel", "launches", "grid", "block"];

/// All rows, with the measured values of the committed table where the same grid is launched.
fn rows() -> Vec<Row> {
    let old = committed();
    let mut rows = Vec::new();
    for workload in tests::workloads() {
        for path in workload.manifests() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            let mut small = Workload::open(&path, "test");
            let mut of_tests = small.rows(workload.suite);
            let report = small.session.run(&Options::default(), &Unobserved).expect("a run");
            for row in &mut of_tests {
                let own = report.launches.iter().filter(|launch| launch.kernel == row["kernel"]);
                let instructions: u64 = own.map(|launch| launch.stats.warp_instructions).sum();
                row.insert("warp_instructions", instructions.to_string());
            }
            rows.append(&mut of_tests);
            let mut of_papers = Workload::open(&path, "paper").rows(workload.suite);
            for row in &mut of_papers {
                let same = |old: &&Row| LAUNCHED.iter().all(|column| old[column] == row[column]);
                if let Some(old) = old.iter().find(same) {
                    for column in MEASURED {
                        row.insert(column, old[column].clone());
                    }
                }
            }
            rows.append(&mut of_papers);
        }
    }
    rows
}

#[test]
fn the_table_of_workloads_is_current() {
    let rows = rows();
    if std::env::var("WARPLAB_TABLES").is_ok_and(|value| value == "write") {
        return write(&rows);
    }
    let old = committed();
    let wrong: Vec<String> =
        rows.iter().filter(|row| !old.contains(row)).map(|row| format!("{row:?}")).collect();
    assert!(wrong.is_empty(), "{}: new or changed rows\n{}", path().display(), wrong.join("\n"));
    assert_eq!(rows.len(), old.len(), "{}: rows of nothing", path().display());
}

/// At the size of the papers a program fills the largest machine of its papers twice, or its manifest says why not.
/// Kernels that do most of the work count; a kernel with little work may be small.
#[test]
fn paper_sizes_fill_a_machine_twice() {
    let rows = committed();
    let number = |row: &Row, column| row[column].parse::<f64>().ok();
    let mut wrong = Vec::new();
    for row in rows.iter().filter(|row| row["size"] == "paper") {
        let of_workload =
            rows.iter().filter(|other| other["size"] == "paper" && other["workload"] == row["workload"]);
        let total: f64 = of_workload.filter_map(|other| number(other, "warp_instructions")).sum();
        let share = number(row, "warp_instructions").expect("it was measured") / total;
        let waves = number(row, "waves").expect("waves");
        let active = number(row, "active_sms_percent").expect("it was measured");
        if share >= 0.25 && (waves < FULL.0 || active < FULL.1) && row["note"].is_empty() {
            wrong.push(format!(
                "{}, {}: {waves} waves, {active} % of the SMs active",
                row["workload"], row["kernel"]
            ));
        }
    }
    assert!(wrong.is_empty(), "no comment above [sizes.paper] says why:\n{}", wrong.join("\n"));
}

#[test]
#[ignore = "ten minutes on two idle cores: it records and replays every workload at the size of the papers"]
fn measures_the_papers_sizes() {
    let chosen = std::env::var("WARPLAB_WORKLOADS").unwrap_or_default();
    let folder = tempfile::tempdir().expect("a folder");
    let trace_file = folder.path().join("paper.wtrace");
    for workload in tests::workloads() {
        if !chosen.is_empty() && !chosen.split(',').any(|name| name == workload.name) {
            continue;
        }
        for manifest in workload.manifests() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(manifest);
            let mut found = Workload::open(&path, "paper");
            found.session.record(&trace_file, &Options::default(), &Unobserved).expect("a recording");
            let trace = Trace::open(&trace_file).expect("a trace");
            // Programs wait between launches; only the time of kernels counts here.
            let overrides = ["launch.latency_cycles=0".to_owned()];
            let config = load(&found.machine(), &overrides).expect("a configuration").config;
            let replayed = replay(&trace, &config, &[], &ReplayOptions::default()).expect("a replay");
            let mut table = committed();
            for row in table.iter_mut().filter(|row| row["workload"] == found.name && row["size"] == "paper")
            {
                let own = || {
                    let of_kernel = |launch: &timing::replay::LaunchStats| launch.kernel == row["kernel"];
                    replayed.launches.iter().filter(of_kernel).map(|launch| launch.stats.counters)
                };
                let instructions: u64 = own().map(|counters| counters.warp_instructions).sum();
                let active: u64 = own().map(|counters| counters.active_sm_cycles).sum();
                let cycles: u64 = own().map(|counters| counters.cycles).sum();
                let percent = 100.0 * active as f64 / (cycles.max(1) * u64::from(config.gpu.sms)) as f64;
                row.insert("warp_instructions", instructions.to_string());
                row.insert("active_sms_percent", format!("{percent:.1}"));
                println!("{} {}: {percent:.1} % of the SMs active", found.name, row["kernel"]);
            }
            write(&table);
        }
    }
}
