//! DARSIE, DAC and DAC-IDEAL on every bundled workload: what they leave out rests on static analyses, and every value that
//! they supply is compared with the recording. Two-level scheduling keeps most warps from issuing, so that waits for one
//! another show.

use std::path::PathBuf;
use std::sync::Mutex;
use tests::recording::record;
use timing::config::load;
use timing::replay::{ReplayOptions, replay};
use trace_format::reader::Trace;

/// Warp instructions that a technique lets warps skip, on a machine with enough registers for every kernel.
fn skipped(trace: &Trace, technique: &str) -> Result<u64, String> {
    let set = ["sm.registers=65536".to_owned(), "sm.max_registers_per_thread=255".to_owned()];
    let config = load("dac-fermi", &set).map_err(|why| why.to_string())?.config;
    let techniques = timing::techniques::built_in().select(&[technique.to_owned()], &config);
    let techniques = techniques.map_err(|why| why.to_string())?;
    let replayed = replay(trace, &config, &techniques, &ReplayOptions::default());
    let counters = replayed.map_err(|why| format!("{technique}: {why}"))?.total.counters;
    if counters.skipped_instructions > 0 && counters.checked_values == 0 {
        return Err(format!("{technique}: no value was compared"));
    }
    Ok(counters.skipped_instructions)
}

/// What each technique lets warps skip on some workloads.
fn skipped_on(manifests: &[PathBuf]) -> Result<[u64; 3], String> {
    let dir = tempfile::tempdir().expect("a folder");
    let mut all = [0; 3];
    for manifest in manifests {
        let trace = record(manifest, dir.path());
        for (sum, technique) in all.iter_mut().zip(["darsie", "dac", "dac-ideal"]) {
            *sum += skipped(&trace, technique).map_err(|why| format!("{}: {why}", manifest.display()))?;
        }
    }
    Ok(all)
}

#[test]
fn every_workload_replays_with_the_techniques_that_leave_instructions_out() -> Result<(), String> {
    let workloads = tests::workloads();
    assert!(workloads.len() > 70, "{} workloads", workloads.len());
    let manifests: Vec<PathBuf> =
        workloads.iter().filter_map(|workload| workload.manifests().into_iter().next()).collect();
    // Small parts, so that all cores have work until the end.
    let parts = Mutex::new(manifests.chunks(4));
    let worker = || -> Result<[u64; 3], String> {
        let mut all = [0; 3];
        loop {
            let Some(part) = parts.lock().map_err(|e| e.to_string())?.next() else { return Ok(all) };
            let some = skipped_on(part)?;
            all.iter_mut().zip(some).for_each(|(sum, some)| *sum += some);
        }
    };
    let [mut darsie, mut dac, mut ideal] = [0; 3];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| {
            let [a, b, c] = worker.join().map_err(|_| "a worker panicked")??;
            (darsie, dac, ideal) = (darsie + a, dac + b, ideal + c);
            Ok::<(), String>(())
        })
    })?;
    // DAC decouples what addresses and predicates need, its ideal everything that is affine.
    assert!(darsie > 1_000_000 && 0 < dac && dac < ideal, "{darsie}, {dac} and {ideal} skipped");
    Ok(())
}
