//! LARF on the bundled workloads: every shared value is the recorded one, and where the table has no bound and serves
//! each block by itself, no more loads are shared than the study `sharing` finds.

use tests::recording::record;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use timing::studies::{self, Input};
use trace_format::reader::Trace;

/// Loads that LARF shares, alone or with LAS.
fn shared(trace: &Trace, techniques: &[&str], set: &[&str]) -> Result<u64, String> {
    // Some of the kernels do not fit the half register file of the paper.
    let set = std::iter::once(&"sm.registers=65536").chain(set);
    let set: Vec<String> = set.map(|item| (*item).to_owned()).collect();
    let config = load("larf-pascal", &set).map_err(|why| why.to_string())?.config;
    let names: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
    let techniques = timing::techniques::built_in().select(&names, &config).map_err(|why| why.to_string())?;
    let replayed = replay(trace, &config, &techniques, &ReplayOptions::default());
    Ok(replayed.map_err(|why| why.to_string())?.total.counters.satisfied_accesses)
}

#[test]
fn the_limit_of_a_block_is_never_below_the_replay() -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a folder");
    let unbounded = [
        "technique.larf.entries=0",
        "technique.larf.release='overwrite'",
        "technique.larf.across_blocks=false",
    ];
    let (mut at_most, mut in_blocks, mut with_order) = (0, 0, 0);
    for manifest in tests::tabled_workloads().iter().flat_map(tests::Workload::manifests) {
        let trace = record(&manifest, dir.path());
        let inputs = [Input { label: "it", trace: &trace }];
        let study = studies::run(&["sharing"], &inputs, &studies::Options::default());
        let json = study.map_err(|why| why.to_string())?.remove(0).to_json();
        let count = |key: &str| json["traces"][0][key].as_f64().unwrap_or_else(|| panic!("{key} in {json}"));
        let limit = (count("perfect_infinite") + count("partial_infinite")) as u64;
        let replayed = shared(&trace, &["larf"], &unbounded)?;
        assert!(replayed <= limit, "{}: {replayed} of {limit}", manifest.display());
        at_most += limit;
        in_blocks += replayed;
        with_order += shared(&trace, &["larf", "las"], &["technique.larf.strides=3"])?;
    }
    assert!(in_blocks > at_most / 2 && with_order > 0, "{in_blocks} and {with_order} of {at_most}");
    Ok(())
}
