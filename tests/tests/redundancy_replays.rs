//! DARSIE on every bundled workload: its marks are a static analysis, and each instruction that a warp skips is compared
//! with the recording. Two-level scheduling keeps most warps from issuing, so that waits for one another show.

use tests::recording::record;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use timing::techniques::Catalogue;

#[test]
fn every_skipped_instruction_of_every_workload_has_its_leader_s_values() -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a folder");
    // Some of the kernels do not fit the paper's register file.
    let set = ["sm.registers=65536".to_owned()];
    let config = load("dac-fermi", &set).map_err(|why| why.to_string())?.config;
    let techniques =
        Catalogue::built_in().select(&["darsie".to_owned()], &config).map_err(|why| why.to_string())?;
    let (mut skipped, mut compared) = (0, 0);
    for manifest in tests::tabled_workloads().iter().flat_map(tests::Workload::manifests) {
        let trace = record(&manifest, dir.path());
        let replayed = replay(&trace, &config, &techniques, &ReplayOptions::default())
            .map_err(|why| format!("{}: {why}", manifest.display()))?;
        skipped += replayed.total.counters.skipped_instructions;
        compared += replayed.total.counters.checked_values;
    }
    assert!(skipped > 100_000 && compared > skipped, "{skipped} skipped, {compared} values compared");
    Ok(())
}
