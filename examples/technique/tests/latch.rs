//! Tests of this crate's command line: the technique appears in all outputs, its values are checked, and
//! without its mechanism the replay equals the baseline.

#[path = "../../../timing/tests/common/mod.rs"]
mod common;

use common::{number, text, two_kernels};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const TIMING: &str = env!("CARGO_BIN_EXE_timing-latch");

fn timing(arguments: &[&str], folder: &Path) -> Output {
    common::run(TIMING, arguments, folder)
}

fn replay(folder: &Path, set: &[&str]) -> Value {
    common::replay_with(TIMING, "latch", folder, set)
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
    let folder = two_kernels();
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
    let folder = two_kernels();
    let value = replay(folder.path(), &["technique.latch.mechanism=false"]);
    for key in ["cycles", "rf_reads", "rf_writes", "rf_bank_conflict_cycles", "stalls", "latency"] {
        assert_eq!(value[key], value["baseline"][key], "{key}");
    }
    assert_eq!(number(&value["technique"]["latch"], "supplied"), 0);
}

#[test]
fn bad_settings_are_refused_and_good_ones_compose() {
    let folder = two_kernels();
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
