//! All limit studies on the bundled workloads: every count of every instruction must equal that of the study's
//! brute-force twin, at any number of threads, and the command's outputs must agree with one another.

#[path = "../../timing/tests/studies/agree.rs"]
mod agree;
#[path = "../../timing/tests/studies/decode.rs"]
mod decode;
use crate::study_kit;
#[path = "../../timing/tests/studies/twins/mod.rs"]
mod twins;

use std::collections::BTreeSet;
use std::path::Path;
use study_kit::FirstBlocks;
use tests::Workload;
use tests::recording::record;
use timing::internals::TraceLaunch;
use timing::studies::{self, By, Input, Selection};
use trace_format::isa::Operand;
use trace_format::reader::{Launch, Trace};

/// Twins keep every value, so of a large launch they read the first blocks only.
const TWIN_INSTRUCTIONS: u64 = 6_000;
/// Launches of one program that are compared: the first ones.
const TWIN_LAUNCHES: usize = 4;

#[test]
fn every_study_equals_its_twin_on_every_workload() {
    let dir = tempfile::tempdir().unwrap();
    // Large straight-line kernels have the rare distances between writes of a register.
    let large = |one: &Workload| {
        ["aes", "lud", "minibude", "heartwall", "scalarproduct", "binomial"].contains(&one.name)
    };
    let workloads = tests::tabled_workloads().into_iter().chain(tests::workloads().into_iter().filter(large));
    let manifests: Vec<_> = workloads.flat_map(|one| one.manifests()).collect();
    assert!(manifests.len() > 20);
    let sums = compare(&manifests, dir.path());
    // The comparison is meaningful only if every counter occurs in the workloads.
    let mut never = Vec::new();
    for ((name, _), sum) in twins::TWINS.iter().zip(&sums) {
        let counters = studies::find(name).unwrap().counters.iter().zip(sum);
        let missing = counters.filter(|(c, count)| **count == 0 && c.join != studies::Join::Min);
        never.extend(missing.map(|(c, _)| format!("{name}: {}", c.key)));
    }
    // Counters that only sampling, machine code or other programs reach.
    let excused = [
        "sampled_level",
        "uniform_reads",
        "uniform_writes",
        "given_up_bytes",
        "overwritten_bytes",
        "lost_bytes",
        "distance_256_to_1023",
        "distance_1024_or_more",
    ];
    never.retain(|name| !excused.iter().any(|key| name.ends_with(key)));
    assert!(never.is_empty(), "never counted: {never:?}");
}

/// All other workloads too, which takes longer: `cargo test --release -p tests --test suite studies:: -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn every_study_equals_its_twin_on_all_workloads() {
    let dir = tempfile::tempdir().unwrap();
    let manifests: Vec<_> = tests::workloads().into_iter().flat_map(|one| one.manifests()).collect();
    compare(&manifests, dir.path());
}

/// Compares every study with its twin on some manifests; returns the sums of the counts of each study.
fn compare(manifests: &[std::path::PathBuf], dir: &Path) -> Vec<Vec<u64>> {
    let mut sums: Vec<Vec<u64>> = Vec::new();
    for manifest in manifests {
        let trace = record(manifest, dir);
        for number in 0..trace.launches().len().min(TWIN_LAUNCHES) {
            let source = FirstBlocks::of(&trace, number as u32, TWIN_INSTRUCTIONS);
            let checked = agree::check(&source, &[1, 2]);
            assert!(checked.is_ok(), "{} launch {number}: {}", manifest.display(), checked.unwrap_err());
            let names: Vec<&str> = twins::TWINS.iter().map(|(name, _)| *name).collect();
            let outcomes = studies::of_launch(&source, &names, 1).unwrap();
            sums.resize(names.len(), Vec::new());
            for ((name, outcome), sum) in names.iter().zip(outcomes).zip(&mut sums) {
                let study = studies::find(name).unwrap();
                sum.resize(study.counters.len(), 0);
                study.add(sum, &study.sum(&outcome.counts));
            }
        }
    }
    sums
}

/// A few workloads of one and two dimensions, with several launches.
fn some_traces(dir: &Path) -> [Trace; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    ["cuda-samples/dct8x8/dct8x8.toml", "textbook/vectoradd/vectoradd.toml", "rodinia/gaussian/gaussian.toml"]
        .map(|name| record(&folder.join(name), dir))
}

#[test]
fn operands_repeat_across_launches_only_with_the_same_constants() {
    let dir = tempfile::tempdir().unwrap();
    let trace = &some_traces(dir.path())[2];
    let select = Selection::parse(None, Some("0-5")).unwrap();
    let options = studies::Options { select: &select, ..studies::Options::default() };
    let result = studies::run(&["memo"], &[Input { label: "gauss", trace }], &options).unwrap().remove(0);
    let json = result.to_json();
    let sum = |key: &str| json["traces"][0][key].as_u64().unwrap();
    let mut seen = BTreeSet::new();
    let mut repeated = 0;
    for number in 0..6 {
        let launch = &trace.launches()[number as usize];
        let banks = trace.launch_record(number).expect("a launch").banks;
        let source = TraceLaunch::new(trace, number).expect("a launch");
        for event in decode::decode(&source).events() {
            let Some(operands) = twins::values::memo_operands(event) else { continue };
            let mut constants = Vec::new();
            for (i, source) in event.inst.src.iter().enumerate() {
                if let Operand::Const { bank, offset } = source.operand {
                    let words = 0..usize::from(event.inst.info().src_regs[i]);
                    constants.extend(words.map(|w| banks.word(bank, usize::from(offset) + 4 * w)));
                }
            }
            repeated += u64::from(!seen.insert((launch.kernel, launch.geometry.block, operands, constants)));
        }
    }
    assert_eq!(sum("sampled_level"), 0);
    assert_eq!(sum("repeated_in_program"), repeated);
    assert!(repeated > sum("repeated_in_launch"), "some repeat across launches");
}

#[test]
fn one_pass_gives_what_single_passes_give() {
    let dir = tempfile::tempdir().unwrap();
    let traces = some_traces(dir.path());
    let inputs: Vec<Input<'_>> =
        ["dct", "add", "gauss"].iter().zip(&traces).map(|(label, trace)| Input { label, trace }).collect();
    let names = studies::choose("all").unwrap();
    assert_eq!(names.len(), studies::registry().count());
    let json = |threads: usize, names: &[&str]| -> Vec<String> {
        let options = studies::Options { threads, by: Some(By::Pc), ..studies::Options::default() };
        let results = studies::run(names, &inputs, &options).unwrap();
        results.iter().map(|result| result.to_json().to_string()).collect()
    };
    let together = json(1, &names);
    assert!(together == json(2, &names), "two threads give something else");
    for (name, text) in names.iter().zip(&together) {
        assert!(json(1, &[*name])[0] == *text, "{name} alone gives something else");
    }
}

#[test]
fn breakdowns_add_up_to_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let traces = some_traces(dir.path());
    let inputs: Vec<Input<'_>> =
        ["dct", "add", "gauss"].iter().zip(&traces).map(|(label, trace)| Input { label, trace }).collect();
    let names = studies::choose("all").unwrap();
    for (by, key) in [(By::Kernel, "kernels"), (By::Line, "lines"), (By::Class, "classes"), (By::Pc, "pcs")] {
        let options = studies::Options { by: Some(by), ..studies::Options::default() };
        for result in studies::run(&names, &inputs, &options).unwrap() {
            let study = studies::find(result.study).unwrap();
            let json = result.to_json();
            let sums = |key: &str, counter: &str| -> u64 {
                json[key].as_array().unwrap().iter().filter_map(|row| row[counter].as_u64()).sum()
            };
            for counter in study.counters.iter().filter(|c| c.join == studies::Join::Sum) {
                assert_eq!(
                    sums(key, counter.key),
                    sums("traces", counter.key),
                    "{} {key} {}",
                    result.study,
                    counter.key
                );
            }
            assert_eq!(result.listings.is_empty(), by != By::Line);
            assert!(!result.to_text().is_empty() && result.to_csv().lines().count() > 1);
            assert!(!result.charts.is_empty());
        }
    }
    let options = studies::Options { by: Some(By::Line), top: Some(3), ..studies::Options::default() };
    let result = studies::run(&["width"], &inputs, &options).unwrap().remove(0);
    let counts: Vec<u64> = result.to_json()["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["unused_read_bytes"].as_u64().unwrap())
        .collect();
    assert!(counts.len() == 3 && counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
}

#[test]
fn launches_are_selected_by_kernel_and_number() {
    let dir = tempfile::tempdir().unwrap();
    let traces = some_traces(dir.path());
    let inputs = [Input { label: "gauss", trace: &traces[2] }];
    let instructions = |kernels: Option<&str>, launches: Option<&str>| {
        let select = Selection::parse(kernels, launches).unwrap();
        let options = studies::Options { select: &select, ..studies::Options::default() };
        let results = studies::run(&["divergence"], &inputs, &options)?;
        Ok::<u64, studies::StudyError>(
            results[0].to_json()["traces"][0]["warp_instructions"].as_u64().unwrap(),
        )
    };
    let all = instructions(None, None).unwrap();
    let launches = traces[2].launches();
    assert_eq!(
        instructions(None, Some("0,2-3")),
        Ok([0, 2, 3].map(|i| launches[i].warp_instructions()).iter().sum())
    );
    let name = traces[2].kernel_of(0).name.clone();
    let one = instructions(Some(&name), None).unwrap();
    assert!(one > 0 && one < all);
    assert_eq!(instructions(Some(".*"), Some("0-")), Ok(all));
    let behind: u64 = launches.iter().skip(3).map(Launch::warp_instructions).sum();
    assert_eq!(instructions(None, Some("3-")), Ok(behind));
    let unknown = instructions(Some("nothing"), None).unwrap_err().to_string();
    assert!(unknown.contains("--kernels nothing") && unknown.contains(&name), "{unknown}");
    let none = instructions(None, Some("99999")).unwrap_err().to_string();
    assert!(none.contains("no launch 99999") && none.contains(&name), "{none}");
}
