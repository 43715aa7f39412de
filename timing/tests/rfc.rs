//! Tests of the register file cache on the command line: its values are checked, its accounts balance, and without its
//! mechanism the replay equals the baseline.

use crate::common;

use common::{number, text, two_kernels};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const TIMING: &str = env!("CARGO_BIN_EXE_timing");

fn timing(arguments: &[&str], folder: &Path) -> Output {
    common::run(TIMING, arguments, folder)
}

fn replay(folder: &Path, set: &[&str]) -> Value {
    common::replay_with(TIMING, "rfc", folder, set)
}

#[test]
fn what_it_declares_is_listed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let all = text(&timing(&["list"], folder.path()));
    assert!(all.contains("rfc") && all.contains("bow-wr"), "{all}");
    let one = text(&timing(&["list", "rfc"], folder.path()));
    for word in ["allocate_on_read", "1 to 64 (default 6)", "flushed_registers", "rfc_reads", "not_written"] {
        assert!(one.contains(word), "{word} is missing in:\n{one}");
    }
}

#[test]
fn results_come_from_the_cache_and_every_account_balances() {
    let folder = two_kernels();
    let value = replay(folder.path(), &[]);
    let rfc = &value["technique"]["rfc"];
    let supplied = number(rfc, "supplied");
    assert!(supplied > 0 && number(rfc, "checked") >= supplied);
    let lost: u64 = rfc["lost"].as_object().expect("causes").values().filter_map(Value::as_u64).sum();
    assert_eq!(number(rfc, "opportunities"), supplied + lost);
    assert_eq!(number(&value, "operand_reads"), number(&value, "rf_reads") + supplied);
    let unwritten = number(&value, "operand_writes") - number(&value, "rf_writes");
    assert_eq!(unwritten, number(rfc, "counters/bypassed_register_writes"));
    assert_eq!(rfc["parameters"]["entries"], 6);
    assert_eq!(number(rfc, "storage_bits_per_sm"), 48 * 6 * (32 * 32 + 8 + 64));
    assert!(value["energy_pj"]["technique_storage"].as_f64().expect("priced") > 0.0);
    assert!(number(&value, "rf_reads") < number(&value["baseline"], "rf_reads"));
}

#[test]
fn what_it_counts_is_sampled_and_on_the_timeline() {
    let folder = two_kernels();
    let two_level = ["--set", "scheduler.policy=two_level", "--set", "scheduler.two_level_active_warps=4"];
    let with = |more: &[&str]| {
        let base = ["replay", "t.wtrace", "--config", "gtx480", "--tech", "rfc", "--json", "total.json"];
        let output = timing(&[&base[..], &two_level[..], more].concat(), folder.path());
        assert!(output.status.success(), "{}", text(&output));
    };
    with(&["--interval", "500", "--series", "s.csv", "--timeline", "t.json"]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let total: Value = serde_json::from_str(&read("total.json")).expect("JSON");
    let series = read("s.csv");
    let header: Vec<&str> = series.lines().next().expect("a header").split(',').collect();
    let timeline: Value = serde_json::from_str(&read("t.json")).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    let counters = total["technique"]["rfc"]["counters"].as_object().expect("counters");
    assert!(counters["flushed_registers"].as_u64() > Some(0) && counters.len() > 4);
    // What a structure leaks follows from its size and the length of the launch, and is not sampled.
    for (counter, value) in counters.iter().filter(|(counter, _)| !counter.ends_with("_powered_kib_ns")) {
        let name = format!("rfc.{counter}");
        let column = header.iter().position(|column| *column == name).unwrap_or_else(|| panic!("no {name}"));
        let cells = series
            .lines()
            .skip(1)
            .map(|row| row.split(',').nth(column).and_then(|cell| cell.parse::<u64>().ok()));
        let sum: Option<u64> = cells.sum();
        assert_eq!(sum, value.as_u64(), "{name}");
        let shown = events.iter().filter(|event| event["ph"] == "C" && event["name"] == name);
        let shown: Option<u64> = shown.map(|event| event["args"]["value"].as_u64()).sum();
        assert_eq!(shown, value.as_u64(), "{name} on the timeline");
    }
    with(&["--interval", "500", "--series", "s.csv", "--columns", "rfc.lost_evicted,ipc"]);
    assert_eq!(read("s.csv").lines().next(), Some("launch,kernel,end_cycle,rfc.lost_evicted,ipc"));
}

#[test]
fn without_its_mechanism_the_machine_is_the_plain_one() {
    let folder = two_kernels();
    let value = replay(folder.path(), &["technique.rfc.mechanism=false"]);
    for key in ["cycles", "rf_reads", "rf_writes", "rf_bank_conflict_cycles", "stalls", "latency"] {
        assert_eq!(value[key], value["baseline"][key], "{key}");
    }
    assert_eq!(number(&value["technique"]["rfc"], "supplied"), 0);
}

#[test]
fn more_entries_never_supply_less_and_the_active_set_flushes() {
    let folder = two_kernels();
    let supplied = |set: &[&str]| number(&replay(folder.path(), set)["technique"]["rfc"], "supplied");
    let of = |entries: u32| supplied(&[&format!("technique.rfc.entries={entries}")]);
    let counts: Vec<u64> = [1, 2, 4, 8, 16].map(of).to_vec();
    assert!(counts.is_sorted(), "{counts:?}");
    let two_level = ["scheduler.policy=two_level", "scheduler.two_level_active_warps=4"];
    let value = replay(folder.path(), &two_level);
    assert!(number(&value["technique"]["rfc"], "counters/flushed_registers") > 0);
    assert!(supplied(&["technique.rfc.allocate_on_read=true"]) >= supplied(&[]));
}

#[test]
fn bad_settings_are_refused_and_good_ones_compose() {
    let folder = two_kernels();
    let with = |arguments: &[&str]| {
        let all: Vec<&str> = ["replay", "t.wtrace"].iter().chain(arguments).copied().collect();
        let output = timing(&all, folder.path());
        (output.status.code(), text(&output))
    };
    let (code, message) = with(&["--tech", "rfc", "--set", "technique.rfc.entries=65"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("[technique.rfc]: `entries`: 65 is refused"), "{message}");
    let (code, message) = with(&["--tech", "rfc,bow-wr"]);
    assert_eq!(code, Some(1));
    assert!(
        message.contains("`bow-wr` and `rfc` contradict each other: both decide when results"),
        "{message}"
    );
    let (code, table) = with(&["--tech", "rfc", "--ideal", "--config", "gtx480"]);
    assert_eq!(code, Some(0), "{table}");
    assert!(table.contains("rfc (ideal)"), "{table}");
    let (code, message) = with(&["--ideal"]);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("--tech"), "{message}");
    let (code, message) = with(&["--tech", "null", "--ideal"]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("unknown key `ideal`"), "{message}");
    let (code, table) = with(&["--tech", "bow,rfc"]);
    assert_eq!(code, Some(0), "{table}");
    assert!(table.contains("rfc: supplied %") && table.contains("bow: supplied %"), "{table}");
}
