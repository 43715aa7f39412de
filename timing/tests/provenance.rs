//! What produced a result is in every form of it; launch latency stands apart; nothing that shows nothing succeeds.

use crate::common;

use common::{json, replay_with, run, text, two_kernels};
use serde_json::Value;
use std::path::Path;

const TIMING: &str = env!("CARGO_BIN_EXE_timing");

/// The description in the file beside another one, which must be that of its content.
fn beside(path: &Path) -> Value {
    let described = std::fs::read_to_string(report::sidecar(path)).expect("a description");
    let described: Value = serde_json::from_str(&described).expect("JSON");
    let contents = std::fs::read(path).expect("the file");
    let file = &described["file"];
    assert_eq!(file["name"].as_str(), path.file_name().and_then(|name| name.to_str()), "{described}");
    assert_eq!(file["bytes"], contents.len(), "{described}");
    assert_eq!(file["hash"], timing::provenance::file_hash(path).expect("a hash"), "{described}");
    described["produced_by"].clone()
}

/// The description of a CSV file, and its lines: a header, and rows with as many cells.
fn of_csv(path: &Path) -> (Value, Vec<String>) {
    let all = std::fs::read_to_string(path).expect("a CSV file");
    let mut reader = csv::Reader::from_reader(all.as_bytes());
    let columns = reader.headers().expect("a header").len();
    assert!(columns > 1 && reader.records().all(|row| row.is_ok_and(|row| row.len() == columns)), "{all}");
    (beside(path), all.lines().map(str::to_owned).collect())
}

/// Checks that a description names the machine, the technique's parameters and the trace of these tests.
fn is_complete(by: &Value) {
    assert_eq!(by["machine"]["name"], "gtx480, sm.max_warps 32", "{by}");
    assert_eq!(by["machine"]["overrides"][0], "sm.max_warps=32");
    assert_eq!(by["machine"]["config"]["sm"]["max_warps"], 32);
    assert_eq!(by["machine"]["hash"].as_str().map(str::len), Some(16));
    assert_eq!(by["techniques"]["bow"]["window"], 2, "{by}");
    assert!(by["version"].is_string() && by["command"][0] == "timing", "{by}");
    let trace = &by["traces"][0];
    assert_eq!((&trace["trace"], trace["hash"].as_str().map(str::len)), (&Value::from("t.wtrace"), Some(16)));
    assert!(trace["recorded_by"].as_str().is_some_and(|by| by.starts_with("warplab ")), "{trace}");
    assert!(trace["origin"].is_string() && trace["seeds"].is_array(), "{trace}");
    assert!(by.as_object().is_some_and(|by| by.contains_key("seed")), "{by}");
}

#[test]
fn every_file_of_a_replay_says_what_produced_it() {
    let keep = two_kernels();
    let folder = keep.path();
    let arguments = [
        "replay",
        "t.wtrace",
        "--config",
        "gtx480",
        "--set",
        "sm.max_warps=32",
        "--tech",
        "bow",
        "--set",
        "technique.bow.window=2",
        "--csv",
        "out.csv",
        "--json",
        "out.json",
        "--interval",
        "100",
        "--series",
        "s.csv",
        "--timeline",
        "t.json",
        "--konata",
        "k.log",
    ];
    let output = run(TIMING, &arguments, folder);
    assert!(output.status.success(), "{}", text(&output));
    for said in [
        "t.json: SMs 0-14",
        " arrows to L2, ",
        "; for ui.perfetto.dev",
        "k.log: SMs 0-14",
        " waits with their causes on lane 1, ",
        "; for the Konata",
    ] {
        assert!(text(&output).contains(said), "{}", text(&output));
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    let result: Value = serde_json::from_str(&read("out.json")).expect("JSON");
    let by = &result["produced_by"];
    is_complete(by);
    let (of_table, rows) = of_csv(&folder.join("out.csv"));
    assert_eq!((&of_table, rows.len()), (by, 3));
    assert_eq!(&of_csv(&folder.join("s.csv")).0, by);
    let timeline: Value = serde_json::from_str(&read("t.json")).expect("JSON");
    assert_eq!(&timeline["otherData"]["produced_by"], by);
    assert_eq!(beside(&folder.join("k.log")), *by);
    for name in ["out.csv", "k.log", "out.csv.provenance.json", "out.json"] {
        let output = run(TIMING, &["rerun", name, "--show"], folder);
        assert!(output.status.success(), "{}", text(&output));
        assert!(text(&output).starts_with("timing replay t.wtrace --config gtx480"), "{}", text(&output));
    }
    // A table is no result, and a description of another table is none of it.
    let output = run(TIMING, &["rerun", "out.csv"], folder);
    assert!(!output.status.success() && text(&output).contains("--show"), "{}", text(&output));
    std::fs::write(folder.join("out.csv"), "trace\n").expect("another table");
    let output = run(TIMING, &["rerun", "out.csv", "--show"], folder);
    assert!(!output.status.success() && text(&output).contains("was changed since"), "{}", text(&output));
}

#[test]
fn a_row_for_each_launch() {
    let keep = two_kernels();
    let output = run(
        TIMING,
        &["replay", "t.wtrace", "--tech", "bow", "--csv", "out.csv", "--per-launch"],
        keep.path(),
    );
    assert!(output.status.success(), "{}", text(&output));
    let (_, rows) = of_csv(&keep.path().join("out.csv"));
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.split(',').take(4).collect()).collect();
    assert_eq!(cells[0], ["trace", "techniques", "launch", "kernel"]);
    let launches: Vec<&[&str]> = cells[1..].iter().map(|row| &row[1..]).collect();
    assert_eq!(
        launches,
        [["", "0", "mixed"], ["", "1", "chain"], ["bow", "0", "mixed"], ["bow", "1", "chain"]]
    );
}

#[test]
fn reports_carry_it_in_the_page_in_tables_and_in_data_and_are_produced_again() {
    let keep = two_kernels();
    let folder = keep.path();
    let arguments = [
        "report",
        "t.wtrace",
        "--config",
        "gtx480",
        "--set",
        "sm.max_warps=32",
        "--tech",
        "bow",
        "--set",
        "technique.bow.window=2",
        "--studies",
        "memory",
        "-o",
        "out",
    ];
    let output = run(TIMING, &arguments, folder);
    assert!(output.status.success(), "{}", text(&output));
    let read = |name: &str| std::fs::read(folder.join("out").join(name)).expect("a file");
    let data: Value = serde_json::from_slice(&read("data.json")).expect("JSON");
    is_complete(&data["produced_by"]);
    assert_eq!(of_csv(&folder.join("out/csv/counters.csv")).0, data["produced_by"]);
    let hash = data["produced_by"]["machine"]["hash"].as_str().expect("a hash");
    let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(hash);
    assert!(has(&read("index.html")) && has(&read("parquet/counters.parquet")));
    // Whole bytes, and a sentence with the counts of the replay.
    let (_, memory) = of_csv(&folder.join("out/csv/memory.csv"));
    let column = memory[0].split(',').position(|name| name.starts_with("footprint")).expect("a column");
    let shown: Vec<&str> = memory[1].split(',').collect();
    assert!(shown[column].parse::<u64>().is_ok(), "{}", memory[1]);
    let page = String::from_utf8_lossy(&read("index.html")).into_owned();
    assert!(page.contains("all of them were compared with the recorded ones"));
    let again = run(TIMING, &["rerun", "out/data.json"], folder);
    assert!(again.status.success() && text(&again).contains("the same again"), "{}", text(&again));
}

#[test]
fn launch_latency_stands_apart_and_speed_ups_leave_it_out() {
    let keep = two_kernels();
    let of = |latency: &str| {
        replay_with(TIMING, "bow", keep.path(), &[&format!("launch.latency_cycles={latency}")])
    };
    let (without, with) = (of("0"), of("5000"));
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap_or_else(|| panic!("{key}"));
    assert_eq!(number(&without, "launch_latency_cycles"), 0);
    assert_eq!(number(&without, "kernel_cycles"), number(&without, "cycles"));
    // Two launches.
    assert_eq!(number(&with, "launch_latency_cycles"), 10_000);
    assert_eq!(number(&with, "cycles"), number(&with, "kernel_cycles") + 10_000);
    assert_eq!(number(&with, "kernel_cycles"), number(&without, "kernel_cycles"));
    assert_eq!(with["ratio"]["speedup"], without["ratio"]["speedup"]);
    assert_ne!(with["ratio"]["cycles"], without["ratio"]["cycles"]);
}

#[test]
fn several_traces_end_with_a_table_of_all() {
    let keep = two_kernels();
    std::fs::copy(keep.path().join("t.wtrace"), keep.path().join("u.wtrace")).expect("a copy");
    let output = run(TIMING, &["replay", "t.wtrace", "u.wtrace", "--tech", "bow"], keep.path());
    let shown = text(&output);
    let table = shown.split("2 traces on titanx-pascal").nth(1).unwrap_or_else(|| panic!("{shown}"));
    assert!(table.contains("Speedup") && table.contains("Geometric mean"), "{table}");
    assert_eq!(
        table.lines().filter(|line| line.starts_with("t ") || line.starts_with("u ")).count(),
        2,
        "{table}"
    );
}

#[test]
fn tables_fit_the_terminal() {
    let keep = two_kernels();
    let longest = |columns: &str| {
        let output = std::process::Command::new(TIMING)
            .args(["study", "redundancy", "t.wtrace"])
            .current_dir(keep.path())
            .env("COLUMNS", columns)
            .output()
            .expect("runs");
        assert!(output.status.success());
        let printed = String::from_utf8(output.stdout).expect("text");
        printed.lines().map(|line| line.chars().count()).max().expect("lines")
    };
    assert!(longest("200") > 50);
    assert!(longest("50") <= 50);
}

#[test]
fn files_of_other_kinds_are_told_where_they_belong() {
    let keep = two_kernels();
    let folder = keep.path();
    for (name, content) in
        [("a.ptx", ".version 8.0"), ("a.cu", "int x;"), ("a.traceg", "-kernel name = x"), ("a.json", "{}")]
    {
        std::fs::write(folder.join(name), content).expect("a file");
    }
    let told = |arguments: &[&str], parts: &[&str]| {
        let output = run(TIMING, arguments, folder);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output));
        for part in parts {
            assert!(text(&output).contains(part), "{arguments:?}: {}", text(&output));
        }
    };
    told(&["replay", "a.ptx"], &["a.ptx", "`emu record`"]);
    told(&["why", "a.cu"], &["a.cu", "nvcc"]);
    told(&["replay", "a.traceg"], &["a.traceg", "Accel-Sim", "timing import-trace"]);
    told(&["study", "width", "a.json"], &["a.json", "timing compare"]);
    told(&["compare", "t.wtrace", "t.wtrace"], &["t.wtrace", "JSON result", "`timing replay FILE --json`"]);
}

#[test]
fn completions_and_manual_pages_are_written() {
    let keep = two_kernels();
    for (shell, part) in [("bash", "complete "), ("zsh", "#compdef timing"), ("fish", "complete -c timing")] {
        let output = run(TIMING, &["completions", shell], keep.path());
        assert!(output.status.success() && text(&output).contains(part), "{shell}: {}", text(&output));
        assert!(text(&output).contains("replay"));
    }
    let output = run(TIMING, &["man", "-o", "man1"], keep.path());
    assert!(output.status.success(), "{}", text(&output));
    let page = std::fs::read_to_string(keep.path().join("man1/timing-replay.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("per\\-launch"), "{page}");
    assert!(
        keep.path().join("man1/timing.1").exists() && keep.path().join("man1/timing-config-show.1").exists()
    );
    assert!(json(&run(TIMING, &["replay", "t.wtrace", "--json", "-"], keep.path())).is_object());
}
