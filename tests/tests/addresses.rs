//! Traces of addresses of the bundled workloads: smaller than those with values, sound, the same step by step, and with
//! the same statistics on the plain machine at any number of threads.

use emulator::exec::{Options, Unobserved};
use emulator::session::{Session, Setup};
use std::path::{Path, PathBuf};
use tests::timing_slice;
use timing::replay::{ReplayOptions, replay};
use timing::stats::EnergyTable;
use trace_format::container::{Contents, Header};
use trace_format::reader::Trace;
use trace_format::validate::{Progress, validate};
use trace_format::writer::WriterOptions;

/// Bytes by which the packed index may differ, since it holds the offsets and sizes of other frames.
const PACKING_BYTES: u64 = 16;

fn record(manifest: &Path, dir: &Path, contents: Contents) -> Trace {
    let mut session = Session::open_manifest(manifest, &Setup::default()).expect("a manifest");
    let path = dir.join(manifest.file_stem().expect("a name")).with_extension(format!("{contents:?}"));
    let writing = WriterOptions::default().with_header(Header { contents, ..Header::default() });
    session.record_as(&path, &Options::default(), &Unobserved, &writing).expect("a recording");
    Trace::open(&path).expect("a trace")
}

fn manifests() -> Vec<PathBuf> {
    tests::tabled_workloads().iter().flat_map(tests::Workload::manifests).collect()
}

#[test]
fn steps_and_accesses_are_those_of_the_trace_with_values() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut steps, mut bytes) = (0, [0, 0]);
    for manifest in manifests() {
        let [values, addresses] =
            [Contents::Values, Contents::Addresses].map(|contents| record(&manifest, dir.path(), contents));
        let report = validate(addresses.path(), 2, &Progress::default()).expect("a trace");
        assert!(report.is_sound() && report.warps > 0, "{}: {:?}", manifest.display(), report.problems);
        for launch in 0..values.launches().len().min(4) {
            let compared = timing_slice::compare(&values, &addresses, launch as u32, 3);
            steps += compared.unwrap_or_else(|why| panic!("{} launch {launch}: {why}", manifest.display()));
        }
        let sizes = [values.file_bytes(), addresses.file_bytes()];
        // Where paths depend on every value, nothing is left out.
        assert!(sizes[1] <= sizes[0] + PACKING_BYTES, "{}: {sizes:?} bytes", manifest.display());
        bytes = [bytes[0] + sizes[0], bytes[1] + sizes[1]];
    }
    assert!(steps > 100_000, "{steps} steps");
    assert!(bytes[1] * 2 < bytes[0], "{bytes:?} bytes with and without values");
}

#[test]
fn the_plain_machine_gives_the_same_statistics() {
    let dir = tempfile::tempdir().expect("a folder");
    let config = timing::config::load("titanx-pascal", &[]).expect("a configuration");
    let energy = EnergyTable::load(&config.config.energy).expect("prices");
    let mut replayed = 0;
    for name in ["bfs", "bitonic", "histogram", "matmul_tiled", "reduction", "spmv"] {
        let of_name = |path: &&PathBuf| path.parent().is_some_and(|folder| folder.ends_with(name));
        let all = manifests();
        let manifest = all.iter().find(of_name).unwrap_or_else(|| panic!("no workload {name}"));
        let [values, addresses] =
            [Contents::Values, Contents::Addresses].map(|contents| record(manifest, dir.path(), contents));
        let statistics = |trace: &Trace, threads, checked| {
            let options = ReplayOptions { threads, checked, ..Default::default() };
            let replayed = replay(trace, &config.config, &[], &options);
            replayed.unwrap_or_else(|e| panic!("{name}: {e}")).to_json(&energy).to_string()
        };
        let wanted = statistics(&values, 1, false);
        for (threads, checked) in [(1, false), (2, true), (4, false)] {
            assert_eq!(statistics(&addresses, threads, checked), wanted, "{name} on {threads} threads");
            replayed += 1;
        }
    }
    assert_eq!(replayed, 18);
}

#[test]
fn a_technique_that_checks_values_refuses_it_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let all = manifests();
    let manifest = all.iter().find(|path| path.ends_with("vectoradd.toml")).expect("a workload");
    let trace = record(manifest, dir.path(), Contents::Addresses);
    let config = timing::config::load("gtx480", &[]).expect("a configuration");
    let techniques = timing::techniques::built_in().select(&["bow".to_owned()], &config.config).expect("bow");
    let refused = replay(&trace, &config.config, &techniques, &ReplayOptions::default());
    let text = refused.expect_err("a refusal").to_string();
    for part in ["bow", "vectoradd", "--addresses-only", "record it without"] {
        assert!(text.contains(part), "{text}");
    }
}
