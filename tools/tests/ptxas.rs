//! The committed comparison with ptxas: sizes of the kernels of some bundled workloads from our lowering and from
//! NVIDIA's compiler, and the kernels with large differences.
//!
//! `tools/scripts/compare-ptxas.sh --csv FILE.ptx… > tests/tables/ptxas.csv` regenerates the table; without files it
//! compares all bundled workloads.
//! `tests/tables/ptxas-gaps.csv` names the known gaps, each with its cause; a gap that is closed must be
//! removed there too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use test_kit::{Tool, skipped};

/// Ours over theirs beyond which a kernel is a gap.
const REGISTERS: std::ops::RangeInclusive<f64> = 0.65..=1.25;
const INSTRUCTIONS: std::ops::RangeInclusive<f64> = 0.7..=1.15;

/// Registers, ptxas's, instructions, ptxas's, spilled bytes, ptxas's; none where there is no ptxas.
type Sizes = [Option<f64>; 6];

fn table(text: &str) -> BTreeMap<String, Sizes> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 8, "{line}");
        let numbers = std::array::from_fn(|i| cells[2 + i].parse().ok());
        (format!("{}/{}", cells[0], cells[1]), numbers)
    };
    text.lines().skip(1).map(row).collect()
}

fn committed(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tables").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The PTX of the workloads that the table has; there are more, whose comparison would take minutes.
fn files() -> BTreeSet<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/workloads");
    let suites = std::fs::read_dir(root).expect("the workloads").map(|suite| suite.expect("a suite").path());
    let suites: Vec<PathBuf> = suites.filter(|path| path.is_dir()).collect();
    let file = |name: &str| {
        let mut paths = suites.iter().map(|suite| suite.join(name).join(name).with_extension("ptx"));
        paths.find(|path| path.is_file()).unwrap_or_else(|| panic!("there is no workload {name}"))
    };
    committed("ptxas.csv").lines().skip(1).filter_map(|line| line.split(',').next()).map(file).collect()
}

fn measured() -> BTreeMap<String, Sizes> {
    let mut compare = Command::new(env!("CARGO_BIN_EXE_compare_ptxas"));
    let output = compare.arg("--csv").args(files()).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    table(&String::from_utf8(output.stdout).expect("text"))
}

fn mean_ratio(rows: &BTreeMap<String, Sizes>, ours: usize, theirs: usize) -> f64 {
    let ratio = |row: &Sizes| row[ours].expect("ours") / row[theirs].expect("theirs");
    let sum: f64 = rows.values().map(|row| ratio(row).ln()).sum();
    (sum / rows.len() as f64).exp()
}

/// Whether a value is the committed one, within a part of it and one register or instruction.
fn near(value: f64, committed: f64, tolerance: f64) -> bool {
    (value - committed).abs() <= (committed * tolerance).max(1.0)
}

#[test]
fn lowering_is_as_close_to_ptxas_as_the_table_says() {
    let (committed, measured) = (table(&committed("ptxas.csv")), measured());
    assert!(committed.len() > 40);
    let names = |rows: &BTreeMap<String, Sizes>| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&measured), "the kernels of the table");
    for (kernel, row) in &committed {
        for (column, what) in [(0, "registers"), (2, "instructions"), (4, "spilled bytes")] {
            let (now, then) = (measured[kernel][column].expect("ours"), row[column].expect("ours"));
            assert!(near(now, then, 0.05), "{kernel}: {now} {what}, the table has {then}");
        }
    }
    // With today's code and the table's figures of ptxas.
    let joined: BTreeMap<String, Sizes> = committed
        .iter()
        .map(|(kernel, row)| {
            let now = &measured[kernel];
            (kernel.clone(), [now[0], row[1], now[2], row[3], now[4], row[5]])
        })
        .collect();
    for (column, what) in [(0, "registers"), (2, "instructions")] {
        let then = mean_ratio(&committed, column, column + 1);
        let now = mean_ratio(&joined, column, column + 1);
        assert!((now / then - 1.0).abs() < 0.01, "{what}: {now:.3} of ptxas's, the table has {then:.3}");
    }
}

#[test]
fn gaps_to_ptxas_are_named_and_named_gaps_are_there() {
    let rows = table(&committed("ptxas.csv"));
    let gaps: Vec<(String, String)> = committed("ptxas-gaps.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.splitn(3, ',').collect();
            assert!(cells.len() == 3 && cells[2].len() > 10, "{line}: a kernel, a column and the cause");
            (cells[0].to_owned(), cells[1].to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for (kernel, row) in &rows {
        for (column, what, bounds) in [(0, "registers", REGISTERS), (2, "instructions", INSTRUCTIONS)] {
            let ratio = row[column].expect("ours") / row[column + 1].expect("theirs");
            if !bounds.contains(&ratio) {
                found.push((kernel.clone(), what.to_owned()));
            }
        }
        assert!(row[4] <= row[5], "{kernel} spills");
    }
    let mut named = gaps.clone();
    named.sort();
    found.sort();
    assert_eq!(found, named, "what is far from ptxas, and what tests/tables/ptxas-gaps.csv names");
}

#[test]
fn the_table_has_what_ptxas_says() {
    let (committed, measured) = (table(&committed("ptxas.csv")), measured());
    if measured.values().any(|row| row[1].is_none()) {
        return skipped(Tool::Nvcc, "no ptxas and cuobjdump; tools/scripts/cuda-toolkit.sh installs them");
    }
    for (kernel, row) in &committed {
        // Another version of ptxas may differ a little.
        for (column, what) in [(1, "registers"), (3, "instructions")] {
            let (now, then) = (measured[kernel][column].expect("theirs"), row[column].expect("theirs"));
            assert!(near(now, then, 0.1), "{kernel}: ptxas takes {now} {what}, the table has {then}");
        }
    }
}
