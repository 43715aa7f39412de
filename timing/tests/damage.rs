//! Traces with a byte changed, or cut off: a replay either fails with an error that names the position, or
//! gives the results of the undamaged trace; incomplete launches are reported.

use crate::common;

use common::{Item, Launch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn replay(folder: &Path, name: &str) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing"));
    command.args(["replay", name, "--config", "gtx480", "--checked", "--threads", "1", "--json", "-"]);
    let output = command.current_dir(folder).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn launches(output: &Output) -> Vec<Value> {
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    value["traces"][0]["launches"].as_array().expect("launches").clone()
}

/// Outcome for a damaged file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// An error that names the position.
    Refused,
    /// The results of the undamaged file.
    Equal,
    /// Results of its first launches, and a warning.
    Part,
    /// Results of the launches that can be read, and an error for the others.
    Others,
}

fn outcome(folder: &Path, name: &str, whole: &[Value]) -> Outcome {
    let (output, said) = replay(folder, name);
    if output.status.code() == Some(1) {
        let place =
            ["at byte ", "up to byte ", "kernel ", "damaged header", "not a Warplab trace", "trace format "];
        let placed = said.contains(name) && place.iter().any(|place| said.contains(place));
        assert!(placed, "{name} is refused without a place: {said}");
        if output.stdout.is_empty() {
            return Outcome::Refused;
        }
        let found = launches(&output);
        assert!(!found.is_empty() && found.len() < whole.len(), "{name}: {said}");
        for launch in &found {
            let number = launch["launch"].as_u64().expect("a number") as usize;
            for key in ["kernel", "warp_instructions", "thread_instructions", "rf_reads"] {
                assert_eq!(launch[key], whole[number][key], "{name}: {key}");
            }
        }
        assert!(said.contains("cannot be read") && said.contains("--launches"), "{name}: {said}");
        return Outcome::Others;
    }
    assert_eq!(output.status.code(), Some(0), "{name}: {said}");
    let found = launches(&output);
    assert!(found.len() <= whole.len(), "{name}: {said}");
    let is_whole = |launch: &Value| launch["replayed_blocks"] == launch["grid_blocks"];
    for (launch, expected) in found.iter().zip(whole).filter(|(launch, _)| is_whole(launch)) {
        assert_eq!(launch, expected, "{name}: other results");
    }
    // Only the launch that was cut off may lack blocks.
    assert!(found.iter().rev().skip(1).all(is_whole), "{name}: {said}");
    if found.len() == whole.len() && found.iter().all(is_whole) {
        return Outcome::Equal;
    }
    assert!(
        said.contains("cut off or damaged") && said.contains("only the recorded part is used"),
        "{name}: {said}"
    );
    Outcome::Part
}

#[test]
fn damaged_traces_are_refused_or_give_the_same_results() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = [common::mixed("mixed"), common::arithmetic("chain", 20)];
    let launch = |kernel, blocks| Item::Launch(Launch { kernel, stream: 0, blocks, threads: 64 });
    let items = [launch(0, 9), Item::Copy(0), launch(1, 5), Item::Wait(0), launch(0, 3)];
    common::record(&folder.path().join("whole.wtrace"), &kernels, &items);
    let (output, said) = replay(folder.path(), "whole.wtrace");
    assert!(output.status.success(), "{said}");
    let whole = launches(&output);
    assert_eq!(whole.len(), 3);
    let bytes = std::fs::read(folder.path().join("whole.wtrace")).expect("the trace");
    let mut outcomes = Vec::new();
    const PLACES: usize = 150;
    for place in 0..PLACES {
        let at = place * bytes.len() / PLACES;
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (place % 8);
        for (name, contents) in [("changed.wtrace", &changed[..]), ("short.wtrace", &bytes[..at])] {
            std::fs::write(folder.path().join(name), contents).expect("a file");
            outcomes.push(outcome(folder.path(), name, &whole));
        }
    }
    // Every kind of outcome occurred.
    for kind in [Outcome::Refused, Outcome::Equal, Outcome::Part, Outcome::Others] {
        assert!(outcomes.contains(&kind), "{kind:?} never happened");
    }
}
