//! The study `redundancy` on the bundled workloads: it must equal its brute-force twin at any number of threads,
//! and its outputs must agree with one another.

use crate::study_kit;
#[path = "../../timing/tests/redundancy/twin.rs"]
mod twin;

use std::path::Path;
use study_kit::FirstBlocks;
use tests::recording::record;
use timing::internals::of_launch;
use timing::studies::{self, Input};
use trace_format::reader::Launch;

/// The twin keeps every operand, so of a large launch it reads the first blocks only.
const TWIN_INSTRUCTIONS: u64 = 30_000;

#[test]
fn the_study_equals_its_twin_on_every_workload() {
    let dir = tempfile::tempdir().unwrap();
    let manifests: Vec<_> = tests::tabled_workloads().iter().flat_map(tests::Workload::manifests).collect();
    assert!(manifests.len() > 20);
    let (mut all, mut redundant) = (0, 0);
    for manifest in manifests {
        let trace = record(&manifest, dir.path());
        for number in 0..trace.launches().len() {
            let source = FirstBlocks::of(&trace, number as u32, TWIN_INSTRUCTIONS);
            let expected = twin::redundancy(&source);
            for threads in [1, 2] {
                let tally = of_launch(&source, threads, &|_| {}).unwrap();
                assert_eq!(tally, expected, "{} launch {number}, {threads} threads", manifest.display());
            }
            all += expected.warp_instructions;
            redundant += expected.block_redundant_total();
        }
    }
    // The comparison is meaningful only if both kinds are frequent.
    assert!(redundant > all / 20 && redundant < all / 2, "{redundant} of {all}");
}

#[test]
fn text_json_and_csv_say_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    let traces = [
        "cuda-samples/dct8x8/dct8x8.toml",
        "textbook/vectoradd/vectoradd.toml",
        "rodinia/gaussian/gaussian.toml",
    ]
    .map(|name| record(&folder.join(name), dir.path()));
    let inputs: Vec<Input<'_>> =
        ["dct", "add", "gauss"].iter().zip(&traces).map(|(label, trace)| Input { label, trace }).collect();
    let result = studies::run(&["redundancy"], &inputs, &studies::Options::default()).unwrap().remove(0);
    let json = result.to_json();
    assert_eq!(json["schema"], "warplab-study/1");
    assert_eq!(json["study"], "redundancy");
    let kernels = json["kernels"].as_array().unwrap();
    let number =
        |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
    for row in kernels.iter().chain(json["traces"].as_array().unwrap()) {
        let of = |key: &str| number(row, key);
        let shapes = ["block_uniform", "block_affine", "block_unstructured"];
        let sum: f64 = shapes.iter().map(|shape| of(&format!("{shape}_instructions"))).sum();
        assert_eq!(sum, of("block_redundant_instructions"));
        assert!(of("grid_redundant_instructions") <= of("warp_instructions"));
        let share = of("block_redundant_instructions") / of("warp_instructions");
        assert!((share - of("block_redundant_share")).abs() < 1e-12);
    }
    // Gaussian elimination launches kernels of one and of two dimensions, many times.
    let gauss: Vec<_> = kernels.iter().filter(|row| row["trace"] == "gauss").collect();
    assert_eq!(
        gauss.iter().map(|row| number(row, "launches")).sum::<f64>(),
        traces[2].launches().len() as f64
    );
    assert!(gauss.len() < traces[2].launches().len());
    let total: u64 = traces[2].launches().iter().map(Launch::warp_instructions).sum();
    assert_eq!(gauss.iter().map(|row| number(row, "warp_instructions")).sum::<f64>(), total as f64);

    let csv = result.to_csv();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(lines.count(), kernels.len());
    let study = studies::find("redundancy").unwrap();
    for key in study.counters.iter().map(|counter| counter.key).chain(study.shares.iter().map(|s| s.key)) {
        assert!(header.contains(&key), "`{key}` is not in {header:?}");
        assert!(!kernels[0][key].is_null(), "`{key}` is not in the JSON");
    }
    let text = result.to_text();
    for word in ["dct", "add", "gauss", "Arithmetic mean", "Diverged"] {
        assert!(text.contains(word), "no {word} in:\n{text}");
    }
}

#[test]
fn what_cannot_be_studied_is_refused_with_the_reason() {
    let options = studies::Options::default();
    let unknown = studies::run(&["redundanzy"], &[], &options).unwrap_err().to_string();
    assert!(unknown.contains("`redundanzy`") && unknown.contains("redundancy"), "{unknown}");
    let nothing = studies::run(&["redundancy"], &[], &options).unwrap_err().to_string();
    assert!(nothing.contains("no traces"), "{nothing}");
}
