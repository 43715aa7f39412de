//! Machine code on sub-cores that obey its control bits: recordings of ptxas's code replay on `rtxa6000` with the same result at any
//! number of threads, and under techniques, whose values are compared, with a scoreboard alone and with one behind the bits. Techniques that decide by operands replay
//! it with uniform registers.

use test_kit::{Tool, skipped};
use tests::oracle::native::Assembler;
use tests::recording::record_machine_code;
use tests::workloads;
use timing::config::{GpuConfig, load};
use timing::replay::{ReplayOptions, replay};
use timing::stats::{Stall, Stats};
use trace_format::reader::{Launch, Trace};

fn machine(set: &[&str]) -> GpuConfig {
    built_in("rtxa6000", set)
}

fn built_in(name: &str, set: &[&str]) -> GpuConfig {
    let set: Vec<String> = set.iter().map(|item| (*item).to_owned()).collect();
    load(name, &set).expect("a configuration").config
}

fn run(trace: &Trace, config: &GpuConfig, techniques: &[&str], threads: usize) -> Result<Stats, String> {
    let names: Vec<String> = techniques.iter().map(|name| (*name).to_owned()).collect();
    let chosen = timing::techniques::built_in().select(&names, config).map_err(|why| why.to_string())?;
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
            // With control bits a scoreboard stands behind them.
            let both = run(&trace, &bits, techniques, 2).unwrap_or_else(at);
            assert_eq!(both.counters.thread_instructions, plain.counters.thread_instructions);
            checked += both.counters.checked_values;
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

/// Techniques that decide by operands, some of which are in uniform registers.
const BY_OPERANDS: [&str; 5] = ["darsie", "dac-ideal", "dac", "cae", "mta"];

/// Replays machine code of every so manyth manifest of the workloads; returns how many recordings agree, and what each technique
/// compared and did in them all.
fn agree(target: &str, every: usize) -> Option<(usize, [(u64, u64); BY_OPERANDS.len()])> {
    let assembler = Assembler::installed(target)?;
    let dir = tempfile::tempdir().expect("a folder");
    let config = built_in("darsie-pascal", &[]);
    let manifests: Vec<_> = workloads().iter().flat_map(tests::Workload::manifests).step_by(every).collect();
    let (mut done, mut wrong) = ([(0, 0); BY_OPERANDS.len()], Vec::new());
    for manifest in &manifests {
        let trace = record_machine_code(manifest, &assembler, dir.path());
        for (technique, (checked, skipped)) in BY_OPERANDS.into_iter().zip(&mut done) {
            match run(&trace, &config, &[technique], 2) {
                Ok(stats) => {
                    *checked += stats.counters.checked_values;
                    *skipped += stats.counters.skipped_instructions;
                }
                Err(why) => wrong.push(format!("{} under {technique}: {why}", manifest.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{target}: {} differ:\n{}", wrong.len(), wrong.join("\n"));
    Some((manifests.len(), done))
}

#[test]
fn techniques_that_decide_by_operands_know_uniform_registers() {
    let Some((recordings, done)) = agree("sm_80", 11) else {
        return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
    };
    assert!(recordings > 5, "{recordings} recordings");
    for (technique, (checked, skipped)) in BY_OPERANDS.iter().zip(done) {
        let skips = !matches!(*technique, "cae" | "mta");
        assert!(!skips || skipped > 1_000, "{technique} skipped {skipped} instructions");
        assert!(*technique == "mta" || checked > 10_000, "{technique} compared {checked} values");
    }
}

#[test]
#[ignore = "every workload for three targets: minutes"]
fn techniques_agree_on_the_machine_code_of_every_workload() {
    for target in ["sm_75", "sm_80", "sm_86"] {
        let Some((recordings, done)) = agree(target, 1) else {
            return skipped(Tool::Nvcc, "no ptxas; tools/scripts/cuda-toolkit.sh installs it");
        };
        for (technique, (checked, skipped)) in BY_OPERANDS.iter().zip(done) {
            println!(
                "{target} {technique}: {recordings} recordings, {checked} values compared, {skipped} instructions skipped"
            );
        }
    }
}
