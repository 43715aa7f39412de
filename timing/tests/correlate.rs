//! Tests of `timing correlate` from files to output: formats, matching, exit codes, errors.

use crate::common;

use common::{Item, Launch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn timing(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
    command.args(arguments).current_dir(folder).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn passes(folder: &Path, arguments: &[&str]) -> String {
    let output = timing(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn fails(folder: &Path, arguments: &[&str]) -> String {
    let output = timing(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// A folder with the result of a program `heat`: two launches of `step`, one of `sum`.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let keep = tempfile::tempdir().expect("a folder");
    let path = keep.path().to_path_buf();
    let launch = |kernel, blocks| Item::Launch(Launch { kernel, stream: 0, blocks, threads: 64 });
    let kernels = [common::mixed("_Z4stepPKfPfi"), common::arithmetic("sum", 50)];
    common::record(&path.join("heat.wtrace"), &kernels, &[launch(0, 8), launch(1, 4), launch(0, 8)]);
    passes(&path, &["replay", "heat.wtrace", "--config", "gtx480", "--json", "heat.json"]);
    (keep, path)
}

fn cycles(folder: &Path) -> Vec<f64> {
    let result = std::fs::read_to_string(folder.join("heat.json")).expect("the result");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    let launches = result["traces"][0]["launches"].as_array().expect("launches");
    launches.iter().map(|launch| launch["cycles"].as_f64().expect("cycles")).collect()
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = passes(folder, &[arguments, &["--json", "-"]].concat());
    serde_json::from_str(&output).unwrap_or_else(|why| panic!("{why}: {output}"))
}

#[test]
fn a_profile_of_every_format_is_matched() {
    let (_keep, path) = folder();
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles");
    for (file, kernels) in [
        ("ncu_raw.csv", 3),
        ("ncu_details.csv", 2),
        ("nvprof_trace.csv", 3),
        ("nvprof_launches.csv", 2),
        ("nvprof_metrics.csv", 2),
        ("nvprof_summary.csv", 1),
    ] {
        let profile = profiles.join(file).display().to_string();
        let found = json(&path, &["correlate", "heat.json", &profile]);
        assert_eq!(found["kernels"].as_array().map(Vec::len), Some(kernels), "{file}: {found}");
        assert_eq!(found["schema"], "warplab-correlate/1");
        assert_eq!(found["config"], "gtx480");
        assert_eq!(found["only_in_reference"].as_array().map(Vec::len), Some(0), "{file}");
    }
    // A profile of one kernel leaves the others of ours.
    let profile = profiles.join("nvprof_summary.csv").display().to_string();
    let found = json(&path, &["correlate", "heat.json", &profile]);
    assert_eq!(found["only_in_results"][0]["kernel"], "sum");
    assert_eq!(found["kernels"][0]["launches"], 2);
    assert_eq!(found["kernels"][0]["launch"], "mean");
}

#[test]
fn errors_are_those_of_hand() {
    let (_keep, path) = folder();
    let ours = cycles(&path);
    // Half, equal and double: the geometric mean hides what the mean absolute error shows.
    let table = format!(
        "kernel,launch,cycles\nstep,0,{}\nstep,1,{}\nsum,0,{}\n",
        ours[0] * 2.0,
        ours[2] * 0.5,
        ours[1]
    );
    std::fs::write(path.join("table.csv"), table).expect("written");
    let found = json(&path, &["correlate", "heat.json", "table.csv"]);
    let metric = &found["metrics"][0];
    let of = |key: &str| metric[key].as_f64().unwrap_or_else(|| panic!("{key}: {metric}"));
    assert!((of("mean_absolute_error") - 0.5).abs() < 1e-9 && (of("bias") - 1.0).abs() < 1e-9, "{metric}");
    assert_eq!((metric["kernels"].as_u64(), metric["within"].as_u64()), (Some(3), Some(1)));
    let error =
        |kernel: usize| found["kernels"][kernel]["metrics"]["cycles"]["error"].as_f64().expect("an error");
    assert!((error(0) + 0.5).abs() < 1e-9 && (error(1) - 1.0).abs() < 1e-9 && error(2).abs() < 1e-9);
    // The text has the kernels, the agreement, and what the slots of the farthest went to.
    let shown = passes(&path, &["correlate", "heat.json", "table.csv"]);
    for part in
        ["step #0", "step #1", "+100.0", "−50.0", "Geometric", "Farthest", "slots:", "waiting for loads"]
    {
        assert!(shown.contains(part), "{shown}\nlacks {part}");
    }
    // Tolerances.
    let told = fails(&path, &["correlate", "heat.json", "table.csv", "--tolerance", "60%"]);
    assert!(told.contains("step #1: cycles +100.0 %, tolerance ±60.0 %") && !told.contains("#0"), "{told}");
    passes(&path, &["correlate", "heat.json", "table.csv", "--tolerance", "100.1%"]);
    let told = fails(&path, &["correlate", "heat.json", "table.csv", "--tolerance", "dram_write_sectors=1%"]);
    assert!(told.contains("no kernel has that metric"), "{told}");
}

#[test]
fn an_earlier_state_stands_beside_and_csv_is_read_again() {
    let (_keep, path) = folder();
    let ours = cycles(&path);
    let table = format!("kernel,launch,cycles\nstep,0,{}\nstep,1,{}\nsum,0,{}\n", ours[0], ours[2], ours[1]);
    std::fs::write(path.join("table.csv"), &table).expect("written");
    passes(&path, &["correlate", "heat.json", "table.csv", "--csv", "then.csv"]);
    let then = std::fs::read_to_string(path.join("then.csv")).expect("the table");
    let header = then.lines().next().unwrap_or_default();
    assert!(
        header.starts_with("program,kernel,launch,cycles,cycles_reference,cycles_ratio,warp_instructions,"),
        "{then}"
    );
    // The table of ours gives the same figures as the result.
    let again = json(&path, &["correlate", "then.csv", "table.csv"]);
    let first = json(&path, &["correlate", "heat.json", "table.csv"]);
    assert_eq!(again["metrics"], first["metrics"]);
    // An earlier state with errors that cancelled.
    let before = format!(
        "program,kernel,launch,cycles\nheat,step,0,{}\nheat,step,1,{}\n",
        ours[0] * 2.0,
        ours[2] / 2.0
    );
    std::fs::write(path.join("before.csv"), before).expect("written");
    let arguments = ["correlate", "heat.json", "table.csv", "--before", "before.csv"];
    let found = json(&path, &arguments);
    let before = &found["metrics"][0]["before"];
    assert!((before["bias"].as_f64().expect("a bias") - 1.0).abs() < 1e-6, "{before}");
    assert!((before["mean_absolute_error"].as_f64().expect("an error") - 0.75).abs() < 1e-6, "{before}");
    let shown = passes(&path, &arguments);
    assert!(
        shown.contains("2 kernels are closer")
            && shown.contains("1 of 3 kernels are not in the earlier results")
    );
}

#[test]
fn folders_hold_results_and_profiles_of_programs() {
    let (_keep, path) = folder();
    for folder in ["results", "profiles"] {
        std::fs::create_dir(path.join(folder)).expect("a folder");
    }
    let result = std::fs::read_to_string(path.join("heat.json")).expect("the result");
    std::fs::write(path.join("results/heat.json"), &result).expect("written");
    std::fs::write(path.join("results/cold.json"), result.replace("heat.wtrace", "cold.wtrace"))
        .expect("written");
    std::fs::write(path.join("results/other.json"), "{\"schema\": \"warplab-study/1\"}").expect("written");
    std::fs::write(path.join("profiles/heat.csv"), "kernel,cycles\nsum,1000\n").expect("written");
    std::fs::write(path.join("profiles/cold.csv"), "kernel,cycles\nsum,2000\n").expect("written");
    let found = json(&path, &["correlate", "results", "profiles"]);
    let of = |kernel: usize| {
        (&found["kernels"][kernel]["program"], &found["kernels"][kernel]["metrics"]["cycles"])
    };
    assert_eq!((of(0).0.as_str(), of(0).1["reference"].as_f64()), (Some("cold"), Some(2000.0)));
    assert_eq!((of(1).0.as_str(), of(1).1["reference"].as_f64()), (Some("heat"), Some(1000.0)));
}

#[test]
fn a_page_has_the_charts_and_needs_nothing_else() {
    let (_keep, path) = folder();
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles");
    let profile = profiles.join("ncu_raw.csv").display().to_string();
    passes(&path, &["correlate", "heat.json", &profile, "--html", "page.html"]);
    let page = std::fs::read_to_string(path.join("page.html")).expect("the page");
    for part in [
        "Correlation with hardware",
        "Scatter chart of Ours over Reference",
        "diagonal",
        "Farthest",
        "lts__t_sectors_op_read.sum",
    ] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert!(["src=\"http", "href=\"http", "<script src"].iter().all(|outside| !page.contains(outside)));
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let (_keep, path) = folder();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).expect("written");
    write("empty.csv", "");
    write("names.csv", "kernel,cycles\nnobody,5\n");
    write("cut.csv", "kernel,cycles\nstep,5\nsum\n");
    write("nothing.csv", "kernel,furlongs\nsum,5\n");
    write("study.json", "{\"schema\": \"warplab-study/1\"}");
    write("broken.json", "{\"schema\": ");
    write("hollow.json", "{\"schema\": \"warplab-replay/2\", \"traces\": [{\"trace\": \"a\"}]}");
    std::fs::create_dir(path.join("void")).expect("a folder");
    for (arguments, parts) in [
        (["heat.json", "empty.csv"], &["empty.csv: it is empty"][..]),
        (["heat.json", "missing.csv"], &["cannot read missing.csv"]),
        (["heat.json", "names.csv"], &["nobody (no launch of ours has that name)", "step, sum", "--match"]),
        (["heat.json", "cut.csv"], &["cut.csv: line 3 has 1 of 2 columns"]),
        (["heat.json", "nothing.csv"], &["no metric that ours counts; it has furlongs", "dram_read_sectors"]),
        (["heat.json", "heat.json"], &["expected CSV of Nsight Compute"]),
        (["heat.json", "void"], &["void: there is no profile"]),
        (["void", "names.csv"], &["void: there is no result"]),
        (
            ["study.json", "names.csv"],
            &["study.json: it is no result of `timing replay --json` (warplab-study/1)"],
        ),
        (["broken.json", "names.csv"], &["broken.json", "timing replay --json"]),
        (["hollow.json", "names.csv"], &["hollow.json: the result is damaged: trace a has no launches"]),
    ] {
        let told = fails(&path, &[&["correlate"][..], &arguments[..]].concat());
        assert!(parts.iter().all(|part| told.contains(part)), "{arguments:?}: {told}");
    }
    // A name for it.
    write("match.csv", "reference,kernel\nnobody,sum\n");
    let found = json(&path, &["correlate", "heat.json", "names.csv", "--match", "match.csv"]);
    assert_eq!(found["kernels"][0]["kernel"], "sum");
    write("match.csv", "a,b\nnobody,sum\n");
    let told = fails(&path, &["correlate", "heat.json", "names.csv", "--match", "match.csv"]);
    assert!(told.contains("match.csv: it has no column reference"), "{told}");
}
