//! Control bits of our own, on every machine whose sub-cores obey them: the kernels of all bundled workloads have no hazard by the
//! checker that machine code is held to, and the checker finds bits that are taken away.

use emulator::native::hazards::{Assigned, Hazard, check_assigned};
use emulator::session::{Session, Setup};
use tests::workloads;
use timing::config::{GpuConfig, Organisation, builtin, load};
use timing::program::Program;
use trace_format::isa::{ControlBits, MachineKernel};

/// The machines whose sub-cores obey control bits.
fn machines() -> Vec<GpuConfig> {
    let all = builtin::GPUS.iter().map(|gpu| load(gpu.name, &[]).expect("a built-in configuration").config);
    let all: Vec<GpuConfig> = all.filter(|gpu| gpu.sm.organisation == Organisation::ControlBits).collect();
    assert!(all.len() >= 3, "of Volta, Turing and Ampere");
    all
}

/// The kernels of all bundled workloads.
fn kernels() -> Vec<MachineKernel> {
    let mut all = Vec::new();
    for workload in workloads() {
        let manifest = &workload.manifests()[0];
        let session = Session::open_manifest(manifest, &Setup::default());
        let session = session.unwrap_or_else(|why| panic!("{}: {why}", manifest.display()));
        all.extend(session.kernels().cloned());
    }
    all
}

/// A kernel's instructions with their bits on a machine.
fn assigned(kernel: &MachineKernel, gpu: &GpuConfig) -> Vec<Assigned> {
    let program = Program::new(kernel, gpu).unwrap_or_else(|why| panic!("{}: {why}", gpu.name));
    let of = |inst: &timing::program::TimedInst| Assigned {
        bits: inst.control.expect("bits of every instruction"),
        latency: inst.known_cycles(),
        guard_cycles: gpu.register_file.guard_delay_cycles.min(15) as u8,
    };
    program.insts.iter().map(of).collect()
}

fn found(hazards: &[Hazard]) -> String {
    hazards.iter().take(5).map(|hazard| format!("\n  {hazard}")).collect()
}

#[test]
fn no_kernel_has_a_hazard_on_any_machine() {
    let kernels = kernels();
    assert!(kernels.len() > 100, "{} kernels", kernels.len());
    for gpu in machines() {
        let (mut instructions, mut stalls, mut counters, mut reused) = (0u64, 0u64, 0u64, 0u64);
        for kernel in &kernels {
            let bits = assigned(kernel, &gpu);
            let hazards = check_assigned(kernel, &bits);
            assert!(hazards.is_empty(), "{}, {}: {}", gpu.name, kernel.name, found(&hazards));
            for Assigned { bits, .. } in &bits {
                bits.check().expect("counters and places that exist");
                instructions += 1;
                stalls += u64::from(bits.stall_cycles);
                counters += u64::from(bits.write_counter.is_some());
                reused += u64::from(bits.reuse.count_ones());
            }
        }
        let mean = stalls as f64 / instructions as f64;
        println!(
            "{}: {instructions} instructions, mean stall {mean:.2}, {counters} counters, {reused} reused",
            gpu.name
        );
        assert!(mean < 4.0 && counters > 0 && reused > 0);
    }
}

/// Of the bits of some kernels, one is taken away at a time. Nearly all are needed by one of the paths: a stall count may be longer
/// than one path needs, and memory that answers in order needs fewer counters.
#[test]
fn the_checker_finds_bits_that_are_taken_away() {
    let gpu = load("qv100", &[]).expect("a built-in configuration").config;
    let (mut cycles, mut waits, mut counters) = ([0u32; 2], [0u32; 2], [0u32; 2]);
    for kernel in kernels().iter().filter(|kernel| kernel.insts.len() < 200) {
        let all = assigned(kernel, &gpu);
        let without = |at: usize, tally: &mut [u32; 2], change: &dyn Fn(&mut ControlBits)| {
            let mut damaged = all.clone();
            change(&mut damaged[at].bits);
            tally[1] += 1;
            tally[0] += u32::from(!check_assigned(kernel, &damaged).is_empty());
        };
        for (at, Assigned { bits, .. }) in all.iter().enumerate() {
            if bits.stall_cycles > 2 {
                without(at, &mut cycles, &|bits| bits.stall_cycles -= 1);
            }
            if bits.waits_for != 0 {
                without(at, &mut waits, &|bits| bits.waits_for = 0);
            }
            if bits.write_counter.is_some() {
                without(at, &mut counters, &|bits| bits.write_counter = None);
            }
        }
    }
    println!("found of taken away: cycles {cycles:?}, waits {waits:?}, counters {counters:?}");
    let share = |[found, of]: [u32; 2]| f64::from(found) / f64::from(of.max(1));
    assert!(cycles[1] > 500 && waits[1] > 500 && counters[1] > 500);
    assert!(share(cycles) > 0.9 && share(waits) > 0.9 && share(counters) > 0.85);
}
