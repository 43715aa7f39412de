//! Tests of this crate's command line: the technique appears in all outputs, its values are checked, and
//! without its mechanism the replay equals the baseline.

#[path = "../../../timing/tests/common/mod.rs"]
mod common;

use common::{Item, Launch};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn timing(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timing-latch"));
    command.args(arguments).current_dir(folder).output().expect("the binary runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A folder with the trace of two kernels.
fn recorded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = [common::mixed("mixed"), common::arithmetic("chain", 40)];
    let launch = |kernel| Item::Launch(Launch { kernel, stream: 0, blocks: 24, threads: 128 });
    common::record(&folder.path().join("t.wtrace"), &kernels, &[launch(0), launch(1)]);
    folder
}

/// The JSON of a replay with the technique under some settings.
fn replay(folder: &Path, set: &[&str]) -> Value {
    let mut arguments = vec!["replay", "t.wtrace", "--config", "gtx480", "--tech", "latch", "--json", "-"];
    arguments.extend(set.iter().flat_map(|item| ["--set", item]));
    let output = timing(&arguments, folder);
    assert!(output.status.success(), "{}", text(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value, path: &str) -> u64 {
    let found = path.split('/').fold(value, |value, key| &value[key]);
    found.as_u64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}

#[test]
fn what_the_crate_declares_is_listed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let all = text(&timing(&["list"], folder.path()));
    assert!(all.contains("latch") && all.contains("bow-wr"), "{all}");
    let one = text(&timing(&["list", "latch"], folder.path()));
    for word in ["read_ports", "1 to 16 (default 1)", "replaced_registers", "latch_reads", "another_register"]
    {
        assert!(one.contains(word), "{word} is missing in:\n{one}");
    }
}

#[test]
fn the_last_result_comes_from_the_latch_and_every_account_balances() {
    let folder = recorded();
    let value = replay(folder.path(), &[]);
    let latch = &value["technique"]["latch"];
    let supplied = number(latch, "supplied");
    assert!(supplied > 0 && number(latch, "checked") >= supplied);
    let lost: u64 = latch["lost"].as_object().expect("causes").values().filter_map(Value::as_u64).sum();
    assert_eq!(number(latch, "opportunities"), supplied + lost);
    assert_eq!(number(&value, "operand_reads"), number(&value, "rf_reads") + supplied);
    assert_eq!(number(&value, "operand_writes"), number(&value, "rf_writes"), "it is written through");
    assert_eq!(number(latch, "storage_bits_per_sm"), 48 * (32 * 32 + 8 + 32));
    assert!(value["energy_pj"]["technique_storage"].as_f64().expect("priced") > 0.0);
}

#[test]
fn without_its_mechanism_the_machine_is_the_plain_one() {
    let folder = recorded();
    let value = replay(folder.path(), &["technique.latch.mechanism=false"]);
    for key in ["cycles", "rf_reads", "rf_writes", "rf_bank_conflict_cycles", "stalls", "latency"] {
        assert_eq!(value[key], value["baseline"][key], "{key}");
    }
    assert_eq!(number(&value["technique"]["latch"], "supplied"), 0);
}

#[test]
fn bad_settings_are_refused_and_good_ones_compose() {
    let folder = recorded();
    let with = |arguments: &[&str]| {
        let all: Vec<&str> = ["replay", "t.wtrace"].iter().chain(arguments).copied().collect();
        let output = timing(&all, folder.path());
        (output.status.code(), text(&output))
    };
    let (code, message) = with(&["--tech", "latch", "--set", "technique.latch.read_ports=17"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("[technique.latch]: `read_ports`: 17 is refused"), "{message}");
    let (code, table) = with(&["--tech", "corf,latch"]);
    assert_eq!(code, Some(0), "{table}");
    assert!(table.contains("latch: supplied %") && table.contains("corf: opportunities"), "{table}");
}
