//! A replay without techniques regenerates only what decides where memory is accessed and which lanes take part. On the
//! bundled workloads that must be step by step what regenerating everything gives, and much less work.

#[allow(dead_code, reason = "each test file uses its part")]
mod study_kit;

use study_kit::record;
use trace_format::isa::{Kind, PlaceSlice};
use trace_format::reader::{MemAccess, Trace, WarpCursor};

/// Blocks of a launch that are compared: the first ones.
const BLOCKS: u64 = 3;
/// Launches of one program that are compared.
const LAUNCHES: usize = 6;

/// What lies in lanes that access memory; addresses of others mean nothing.
fn visible(access: Option<&MemAccess>) -> Option<MemAccess> {
    access.cloned().map(|mut access| {
        for (lane, address) in access.addresses.iter_mut().enumerate() {
            *address *= u64::from(access.mask >> lane & 1);
        }
        access
    })
}

fn compare(all: &mut WarpCursor, places: &mut WarpCursor) -> u64 {
    loop {
        assert_eq!(all.peek(), places.peek());
        let step = all.step().expect("the trace is sound");
        assert_eq!(places.step().expect("the trace is sound"), step);
        assert_eq!(visible(places.mem()), visible(all.mem()), "{step:?} of {:?}", all.place());
        let Some(step) = step else { return all.steps() };
        // What tells barriers apart and how many threads they wait for.
        let inst = &all.code().insts[step.pc.index()];
        if inst.kind == Kind::Barrier {
            for source in &inst.src[..2] {
                let lane = step.exec.trailing_zeros() as usize & 31;
                let read = |cursor: &WarpCursor| cursor.warp().row(source.row).0[lane];
                assert_eq!(read(places), read(all), "barrier at {}", step.pc.0);
            }
        }
    }
}

fn compare_launch(trace: &Trace, number: u32) -> u64 {
    let launch = &trace.launches()[number as usize];
    let open = || trace.warp_cursor(number, 0, 0).expect("the trace has the warp");
    // The same cursors for all warps: nothing of one may be left for the next.
    let (mut all, mut places) = (open(), open().places_only());
    let mut steps = 0;
    for block in 0..launch.blocks_recorded().min(BLOCKS) {
        for warp in 0..launch.geometry.warps_per_block() {
            for cursor in [&mut all, &mut places] {
                cursor.restart(number, block, warp).expect("the trace has the warp");
            }
            steps += compare(&mut all, &mut places);
        }
    }
    steps
}

#[test]
fn addresses_and_lanes_are_those_of_the_whole_regeneration() {
    let dir = tempfile::tempdir().unwrap();
    let manifests: Vec<_> = tests::workloads().iter().flat_map(tests::Workload::manifests).collect();
    assert!(manifests.len() > 20);
    let (mut left_out, mut of, mut steps) = (0, 0, 0);
    for manifest in manifests {
        let trace = record(&manifest, dir.path());
        for number in 0..trace.launches().len().min(LAUNCHES) {
            steps += compare_launch(&trace, number as u32);
            let kernel = trace.kernel(trace.launches()[number].kernel);
            let slice = PlaceSlice::of(kernel);
            let results = kernel.insts.iter().enumerate().filter(|(_, i)| i.dst_span().is_some());
            for (pc, _) in results {
                of += 1;
                left_out += usize::from(!slice.needs(trace_format::isa::Pc(pc as u32)));
            }
        }
    }
    assert!(steps > 100_000, "{steps} steps");
    // Half of what compiled kernels compute is data at least, or the slice takes in too much.
    assert!(left_out * 10 > of * 4, "{left_out} of {of} instructions are left out");
}
