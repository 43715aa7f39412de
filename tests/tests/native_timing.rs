//! Machine code on sub-cores that obey its control bits: recordings of ptxas's code replay on `rtxa6000` with the same result at any
//! number of threads, and with a scoreboard under techniques, whose values are compared.

use test_kit::{Tool, skipped};
use tests::oracle::native::Assembler;
use tests::recording::record_machine_code;
use tests::workloads;
use timing::config::{GpuConfig, load};
use timing::replay::{ReplayOptions, replay};
use timing::stats::{Stall, Stats};
use timing::techniques::Catalogue;
use trace_format::reader::{Launch, Trace};

fn machine(set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load("rtxa6000", &set).expect("a configuration").config
}

fn run(trace: &Trace, config: &GpuConfig, techniques: &[&str], threads: usize) -> Result<Stats, String> {
    let names: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
    let chosen = Catalogue::built_in().select(&names, config).map_err(|why| why.to_string())?;
    let options = ReplayOptions { threads, ..ReplayOptions::default() };
    let replayed = replay(trace, config, &chosen, &options).map_err(|why| why.to_string())?;
    Ok(replayed.total)
}

#[test]
fn machine_code_replays_on_sub_cores_that_obey_its_control_bits() {
    let Some(assembler) = Assembler::installed("sm_86") else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    let dir = tempfile::tempdir().expect("a folder");
    let (bits, scoreboard) = (machine(&[]), machine(&["sub_core.dependences=scoreboard"]));
    let (mut kept, mut checked, mut faster, mut uniform, mut missed) = (0, 0, 0, 0, 0);
    let chosen: Vec<_> = workloads().into_iter().step_by(9).collect();
    for workload in &chosen {
        let manifest = &workload.manifests()[0];
        let at = |why: String| panic!("{}: {why}", manifest.display());
        let trace = record_machine_code(manifest, &assembler, dir.path());
        let one = run(&trace, &bits, &[], 1).unwrap_or_else(at);
        let three = run(&trace, &bits, &[], 3).unwrap_or_else(at);
        assert_eq!(
            format!("{:?} {:?}", one.counters, one.stalls),
            format!("{:?} {:?}", three.counters, three.stalls)
        );
        let instructions: u64 = trace.launches().iter().map(Launch::warp_instructions).sum();
        assert_eq!(one.counters.warp_instructions, instructions);
        assert_eq!(one.counters.rf_reads + one.counters.register_cache_reads, one.counters.operand_reads);
        kept += one.counters.register_cache_reads;
        uniform += one.counters.uniform_reads.min(one.counters.uniform_writes);
        missed += one.stalls.get(Stall::ConstantMiss);

        let plain = run(&trace, &scoreboard, &[], 2).unwrap_or_else(at);
        faster += u32::from(plain.counters.kernel_cycles <= one.counters.kernel_cycles);
        for techniques in [&["corf++"][..], &["regmutex"], &["uv-token", "uv-reuse"], &["larf"]] {
            let stats = run(&trace, &scoreboard, techniques, 2).unwrap_or_else(at);
            assert_eq!(stats.counters.thread_instructions, plain.counters.thread_instructions);
            checked += stats.counters.checked_values;
            let why = run(&trace, &bits, techniques, 2).expect_err("refused");
            assert!(why.contains("sub_core.dependences=scoreboard"), "{why}");
        }
        for technique in ["bow", "bow-wr"] {
            let why = run(&trace, &scoreboard, &[technique], 2).expect_err("refused");
            assert!(why.contains(technique) && why.contains("operand collectors"), "{why}");
        }
    }
    assert!(uniform > 1_000, "{uniform} uniform registers were read and written");
    assert!(missed > 1_000, "{missed} slots waited for constants");
    assert!(kept > 1_000, "{kept} operands came from the register file cache");
    assert!(checked > 100_000, "{checked} values were compared");
    assert!(faster as usize > chosen.len() / 2, "a scoreboard waits for no more than stall counts do");
}
