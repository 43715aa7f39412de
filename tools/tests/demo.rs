//! The demo as a user runs it: on few workloads, at two numbers of threads, and with bad input.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_demo")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run_into(dir: &Path, threads: &str) -> (String, String) {
    let out = dir.to_str().unwrap();
    let done = demo(&["--out", out, "--only", "dct8x8,gaussian", "--threads", threads]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    (text(&done.stdout), std::fs::read_to_string(dir.join("index.html")).unwrap())
}

#[test]
fn the_demo_measures_and_reports_alike_at_any_number_of_threads() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (printed, page) = run_into(dirs[0].path(), "1");
    let (_, other) = run_into(dirs[1].path(), "2");
    assert!(page == other, "the reports of one and two threads differ");
    for word in [
        "Geometric mean",
        "dct8x8",
        "gaussian",
        "Redundant warp instructions by level",
        "Unstructured",
        "index.html",
    ] {
        assert!(printed.contains(word), "no {word} in:\n{printed}");
    }
    assert!(!page.contains("src=\"http") && !page.contains("<link"), "the page loads something");
    let json: Value =
        serde_json::from_str(&std::fs::read_to_string(dirs[0].path().join("data.json")).unwrap()).unwrap();
    let data = json["data"].as_array().unwrap();
    for id in
        ["speedup", "rf-accesses", "rf-energy", "counters", "issue-slots", "redundancy-by-level", "workloads"]
    {
        let set = data.iter().find(|set| set["id"] == id).unwrap_or_else(|| panic!("no data set {id}"));
        assert!(!set["rows"].as_array().unwrap().is_empty(), "{id} is empty");
        assert!(dirs[0].path().join(format!("csv/{id}.csv")).is_file(), "{id} has no CSV");
    }
    // The energy of what a technique adds is part of its sum.
    let energy = data.iter().find(|set| set["id"] == "energy").unwrap();
    let columns: Vec<&str> =
        energy["columns"].as_array().unwrap().iter().map(|column| column["key"].as_str().unwrap()).collect();
    for key in ["register_file", "technique_storage", "technique_leakage"] {
        assert!(columns.contains(&key), "{columns:?}");
    }
    // What produced the page, without the folder and the threads that it does not depend on.
    let by = &json["produced_by"];
    assert_eq!(by["command"], serde_json::json!(["demo", "--only", "dct8x8,gaussian"]));
    assert_eq!(by["machine"]["name"], "titanx-pascal");
    let techniques: Vec<&String> = by["techniques"].as_object().unwrap().keys().collect();
    assert_eq!(techniques, ["bow", "corf"]);
    for (trace, name) in by["traces"].as_array().unwrap().iter().zip(["gaussian", "dct8x8"]) {
        let path = format!("traces/{name}.wtrace");
        assert_eq!(trace["trace"], path.as_str());
        let hash = timing::provenance::file_hash(&dirs[0].path().join(path)).unwrap();
        assert!(trace["hash"] == hash.as_str() && page.contains(&hash), "{trace}");
    }
    let shown =
        ["demo --only dct8x8,gaussian", timing::provenance::VERSION, by["machine"]["hash"].as_str().unwrap()];
    for word in shown {
        assert!(page.contains(&format!(">{word}<")) || page.contains(&format!(">{word}\n<")), "{word}");
    }
    let beside = std::fs::read_to_string(dirs[0].path().join("csv/speedup.csv.provenance.json")).unwrap();
    assert_eq!(&serde_json::from_str::<Value>(&beside).unwrap()["produced_by"], by);
    // Every machine issued every instruction of the trace.
    let workloads = data.iter().find(|set| set["id"] == "workloads").unwrap();
    assert_eq!(workloads["rows"].as_array().unwrap().len(), 2);
    assert!(dirs[0].path().join("traces/dct8x8.wtrace").is_file());
    assert!(dirs[0].path().join("workloads/dct8x8/dct8x8.ptx").is_file());
}

#[test]
fn tables_fit_the_terminal() {
    let longest = |columns: &str| {
        let dir = tempfile::tempdir().unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_demo"))
            .args(["--out", dir.path().to_str().unwrap(), "--only", "vectoradd"])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let printed = text(&done.stdout);
        let (tables, _) = printed.split_once("Report: ").unwrap();
        assert!(tables.contains("Geometric mean") && tables.contains("Unstructured"), "{tables}");
        tables.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(longest("200") > 80);
    assert!(longest("80") <= 80);
    assert!(longest("50") <= 50);
}

#[test]
fn bad_input_ends_with_a_message_and_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // A wrong command line has code 2, as in the other programs.
    let cases: [(i32, &[&str], &[&str]); 5] = [
        (1, &["--out", out, "--only", "hotspott"], &["`hotspott`", "hotspot,"]),
        (1, &["--out", out, "--config", "titanx"], &["titanx", "titanx-pascal"]),
        (1, &["--out", file.to_str().unwrap(), "--only", "dct8x8"], &["cannot create", "file"]),
        (2, &["--threads", "0"], &["--threads"]),
        (2, &["--outt", out], &["--outt"]),
    ];
    for (code, arguments, words) in cases {
        let done = demo(arguments);
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {message}");
        for word in words {
            assert!(message.contains(word), "{arguments:?} does not say {word}: {message}");
        }
    }
    let help = demo(&["--help"]);
    assert!(help.status.success() && text(&help.stdout).contains("Examples:"));
}
