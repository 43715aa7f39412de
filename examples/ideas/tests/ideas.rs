//! Tests of this crate's command line: what it adds is listed, named by configurations, checked, and counted like Warplab's own.

#[path = "../../../timing/tests/common/mod.rs"]
mod common;

use common::{Item, Launch, json, number, record, rounds, text, two_kernels};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn timing(arguments: &[&str], folder: &Path) -> Output {
    common::run(env!("CARGO_BIN_EXE_timing-ideas"), arguments, folder)
}

fn replay(folder: &Path, set: &[&str]) -> Value {
    let set = set.iter().flat_map(|set| ["--set", *set]);
    let arguments: Vec<&str> =
        ["replay", "t.wtrace", "--config", "gtx480", "--json", "-"].into_iter().chain(set).collect();
    json(&timing(&arguments, folder))
}

#[test]
fn what_the_crate_adds_is_listed_and_explained() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let of = |arguments: &[&str]| text(&timing(arguments, folder.path()));
    let all = of(&["list"]);
    for name in ["youngest", "mru", "zeros", "two_level", "srrip", "redundancy"] {
        assert!(all.contains(name), "{name} is missing in:\n{all}");
    }
    assert!(of(&["list", "youngest"]).contains("It is a value of scheduler.policy."));
    let mru = of(&["list", "mru"]);
    assert!(mru.contains("Chou and DeWitt") && mru.contains("policy.mru.NAME=VALUE"), "{mru}");
    assert!(
        of(&["study", "zeros", "--explain"]).contains("zero_share         = zero_reads / register_reads")
    );
}

#[test]
fn configurations_name_its_policies_and_results_change() {
    let folder = two_kernels();
    let cycles = |set: &[&str]| number(&replay(folder.path(), set), "cycles");
    let own = ["scheduler.policy=gto", "scheduler.policy=oldest"].map(|set| cycles(&[set]));
    let youngest = cycles(&["scheduler.policy=youngest"]);
    assert!(!own.contains(&youngest), "it is another order: {youngest} and {own:?}");
}

#[test]
fn a_replacement_policy_keeps_other_lines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let launch = Item::Launch(Launch { kernel: 0, stream: 0, blocks: 1, threads: 32 });
    // Five lines in turns, in a cache of four.
    record(&folder.path().join("t.wtrace"), &[rounds("rounds", 5, 4)], &[launch]);
    let hits = |policy: &str| {
        let small = ["l1.sets=1", "l1.ways=4", "l1.size_bytes=512", "l1.set_hash=linear"];
        let policy = format!("l1.replacement={policy}");
        number(&replay(folder.path(), &[&small[..], &[policy.as_str()]].concat()), "l1_hits")
    };
    assert_eq!(hits("lru"), 0, "each line leaves before it is loaded again");
    assert!(hits("mru") > 0, "three lines stay");
}

#[test]
fn bad_settings_name_the_key_and_the_remedy() {
    let folder = two_kernels();
    let message = |set: &str| {
        let output = timing(&["replay", "t.wtrace", "--set", set], folder.path());
        assert_eq!(output.status.code(), Some(1), "{set}");
        text(&output)
    };
    let unknown = message("scheduler.policy=yungest");
    assert!(unknown.contains("scheduler.policy") && unknown.contains("youngest"), "{unknown}");
    assert!(message("l1.replacement=youngest").contains("there is no such policy"), "another kind");
    assert!(message("policy.mru.hits=3").contains("3 is neither true nor false"));
}

#[test]
fn its_study_counts_alone_and_beside_others_with_any_number_of_threads() {
    let folder = two_kernels();
    let of = |names: &str, threads: &str| {
        let output =
            timing(&["study", names, "t.wtrace", "--threads", threads, "--json", "-"], folder.path());
        let value = json(&output);
        let results = value["studies"].as_array().cloned().unwrap_or_else(|| vec![value]);
        results.into_iter().find(|result| result["study"] == "zeros").expect("it ran")
    };
    let alone = of("zeros", "1");
    let row = &alone["kernels"][0];
    let (reads, zeros) = (number(row, "register_reads"), number(row, "zero_reads"));
    assert!(reads > 0 && zeros > 0 && zeros < reads, "{zeros} of {reads}");
    for (names, threads) in [("zeros", "3"), ("redundancy,zeros", "1"), ("zeros,uniform", "2"), ("all", "2")]
    {
        assert_eq!(of(names, threads)["kernels"], alone["kernels"], "{names} with {threads} threads");
    }
}
