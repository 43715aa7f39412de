//! Tests of `timing explore`: points beside the plain machine, files, mistakes.

use crate::common;

use common::{Item, Launch, json, labels, text};
use std::path::Path;
use std::process::Output;

fn timing(arguments: &[&str], folder: &Path) -> Output {
    common::run(env!("CARGO_BIN_EXE_timing"), arguments, folder)
}

/// A folder with two traces.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, kernel) in [("a", common::mixed("mixed")), ("b", common::arithmetic("chain", 40))] {
        let launch = Item::Launch(Launch { kernel: 0, stream: 0, blocks: 24, threads: 128 });
        common::record(&folder.path().join(format!("{name}.wtrace")), &[kernel], &[launch]);
    }
    folder
}

#[test]
fn points_are_those_of_replays_and_do_not_depend_on_threads() {
    let folder = recorded();
    let explore = |threads: &str| {
        let vary = ["--vary", "technique.bow.window=2,3", "--vary", "collectors.ports=1,2"];
        let rest = ["--tech", "bow", "--config", "titanx-pascal", "--threads", threads, "--json", "-"];
        timing(&[&["explore", "a.wtrace", "b.wtrace"][..], &vary, &rest].concat(), folder.path())
    };
    let (one, three) = (explore("1"), explore("3"));
    assert_eq!(one.stdout, three.stdout);
    let value = json(&one);
    let points = value["points"].as_array().expect("points");
    let labels = labels(&value);
    assert_eq!(labels.len(), 6, "{labels:?}");
    assert_eq!(labels[0], "machine collectors.ports=1");
    let point =
        points.iter().find(|point| point["label"] == "bow window=3 collectors.ports=2").expect("the point");
    let mut product = 1.0;
    for trace in ["a", "b"] {
        let file = format!("{trace}.wtrace");
        let cycles = |more: &[&str]| {
            let base = ["replay", file.as_str(), "--config", "titanx-pascal", "--json", "-"];
            let value = json(&timing(&[&base[..], more].concat(), folder.path()));
            value["kernel_cycles"].as_f64().expect("cycles without launch latency")
        };
        let with = ["--tech", "bow", "--set", "collectors.ports=2", "--set", "technique.bow.window=3"];
        let ratio = cycles(&[]) / cycles(&with);
        let found = point["ipc_ratio_by_trace"][trace].as_f64().expect("a ratio");
        assert!((found - ratio).abs() < 1e-12, "{found} {ratio}");
        product *= ratio;
    }
    let mean = point["ipc_ratio"].as_f64().expect("a mean");
    assert!((mean - f64::sqrt(product)).abs() < 1e-12);
    assert!(point["storage_bits_per_sm"].as_u64() > Some(0));
    assert!(points.iter().any(|point| point["front"] == true));
}

#[test]
fn named_machines_are_explored_beside_their_configurations() {
    let folder = recorded();
    let machines = [
        "--machine",
        "w5: bow, technique.bow.window=5",
        "--machine",
        "gtx480",
        "--machine",
        "few: qv100, sm.max_warps=32",
    ];
    let start = ["explore", "a.wtrace", "--tech", "corf", "--json", "-"];
    let value = json(&timing(&[&start[..], &machines].concat(), folder.path()));
    let points = value["points"].as_array().expect("points");
    let named: Vec<(&str, &str)> = points
        .iter()
        .map(|point| {
            (point["label"].as_str().expect("a label"), point["config"].as_str().expect("its machine"))
        })
        .collect();
    let expected = [
        ("w5", "titanx-pascal"),
        ("w5 corf", "titanx-pascal"),
        ("gtx480 corf", "gtx480"),
        ("few", "qv100"),
        ("few corf", "qv100"),
    ];
    assert_eq!(named, expected);
    let cycles = |more: &[&str]| {
        let replay = timing(&[&["replay", "a.wtrace", "--json", "-"][..], more].concat(), folder.path());
        json(&replay)["kernel_cycles"].as_f64().expect("cycles without launch latency")
    };
    for (label, base, own) in [
        ("w5 corf", "titanx-pascal", &["--tech", "bow,corf", "--set", "technique.bow.window=5"][..]),
        ("gtx480 corf", "gtx480", &["--tech", "corf"]),
        ("few", "qv100", &["--set", "sm.max_warps=32"]),
    ] {
        let ratio = cycles(&["--config", base]) / cycles(&[&["--config", base], own].concat());
        let point = points.iter().find(|point| point["label"] == label).expect("the point");
        let found = point["ipc_ratio"].as_f64().expect("a ratio");
        assert!((found - ratio).abs() < 1e-12, "{label}: {found} {ratio}");
    }
    let names: Vec<&str> = value["produced_by"]["machines"]
        .as_array()
        .expect("machines")
        .iter()
        .filter_map(|machine| machine["name"].as_str())
        .collect();
    assert_eq!(names, ["w5", "gtx480", "few"]);
    let kept = timing(
        &[&["explore", "a.wtrace", "--tech", "corf", "-o", "out"][..], &machines].concat(),
        folder.path(),
    );
    assert!(kept.status.success(), "{}", text(&kept));
    let page = std::fs::read_to_string(folder.path().join("out/index.html")).expect("written");
    assert!(page.contains("w5; gtx480; few") && page.contains("gtx480 corf"));
    assert!(page.contains(&format!("<dd>{}</dd>", timing::provenance::VERSION)));
}

#[test]
fn values_are_taken_by_position_on_request() {
    let folder = recorded();
    let explore = |vary: &[&str]| {
        let start = ["explore", "a.wtrace", "--tech", "bow", "--zip", "--json", "-"];
        timing(&[&start[..], vary].concat(), folder.path())
    };
    let value = json(&explore(&["--vary", "technique.bow.window=2,3", "--vary", "collectors.ports=1,2"]));
    let labels = labels(&value);
    let expected = [
        "machine collectors.ports=1",
        "machine collectors.ports=2",
        "bow window=2 collectors.ports=1",
        "bow window=3 collectors.ports=2",
    ];
    assert_eq!(labels, expected);
    let uneven = explore(&["--vary", "technique.bow.window=2,3", "--vary", "collectors.ports=1"]);
    assert_eq!(uneven.status.code(), Some(1));
    assert!(text(&uneven).contains("window has 2 values and collectors.ports has 1"), "{}", text(&uneven));
}

#[test]
fn a_folder_has_a_page_with_chart_and_tables() {
    let folder = recorded();
    let arguments = ["explore", "a.wtrace", "--tech", "bow", "--tech", "corf", "--pairs", "-o", "out"];
    let output = timing(&arguments, folder.path());
    assert!(output.status.success(), "{}", text(&output));
    for word in ["plain machine", "bow+corf", "front"] {
        assert!(text(&output).contains(word), "{word} is missing in:\n{}", text(&output));
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name)).expect("written");
    assert!(read("index.html").contains("Pareto front"));
    let points = read("csv/points.csv").lines().count();
    assert_eq!(points, 5, "a head, the plain machine, three points");
    assert!(folder.path().join("out/figures/front.svg").is_file());
}

#[test]
fn mistakes_are_named_before_the_work_and_bad_traces_are_left_out() {
    let folder = recorded();
    std::fs::write(folder.path().join("bad.wtrace"), b"no trace").expect("written");
    let refused = |arguments: &[&str]| {
        let output = timing(&[&["explore", "a.wtrace"][..], arguments].concat(), folder.path());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        text(&output)
    };
    assert!(refused(&[]).contains("nothing to explore"));
    assert!(refused(&["--tech", "bow,bow-wr"]).contains("contradict"));
    assert!(refused(&["--tech", "bow", "--vary", "technique.bow.windows=2"]).contains("windows"));
    assert!(refused(&["--tech", "bow", "-o", "a.wtrace/out"]).contains("is a file"));
    assert!(refused(&["--machine", "x: bwo"]).contains("did you mean `bow`"));
    assert!(refused(&["--machine", "gtx480"]).contains("nothing to explore"));
    assert!(refused(&["--machine", "w: technique.bow.window=5"]).contains("`bow` is not switched on"));
    let output = timing(&["explore", "a.wtrace", "bad.wtrace", "--tech", "bow"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("bad.wtrace") && text(&output).contains("plain machine"),
        "{}",
        text(&output)
    );
}
