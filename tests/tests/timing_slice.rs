//! Regenerating only the timing slice gives the addresses, barriers and lanes that regenerating everything gives,
//! on the bundled workloads, and leaves out much of the work.

use tests::recording::record;
use tests::timing_slice;
use trace_format::isa::{Pc, TimingSlice};

/// Blocks of a launch that are compared: the first ones.
const BLOCKS: u64 = 3;
/// Launches of one program that are compared.
const LAUNCHES: usize = 6;

#[test]
fn addresses_and_lanes_are_those_of_the_whole_regeneration() {
    let dir = tempfile::tempdir().unwrap();
    let manifests: Vec<_> = tests::tabled_workloads().iter().flat_map(tests::Workload::manifests).collect();
    assert!(manifests.len() > 20);
    let (mut left_out, mut of, mut steps) = (0, 0, 0);
    for manifest in manifests {
        let trace = record(&manifest, dir.path());
        for number in 0..trace.launches().len().min(LAUNCHES) {
            let compared = timing_slice::compare(&trace, &trace, number as u32, BLOCKS);
            steps += compared.unwrap_or_else(|why| panic!("{} launch {number}: {why}", manifest.display()));
            let kernel = trace.kernel(trace.launches()[number].kernel);
            let slice = TimingSlice::of(kernel);
            let results = kernel.insts.iter().enumerate().filter(|(_, i)| i.dst_span().is_some());
            for (pc, _) in results {
                of += 1;
                left_out += usize::from(!slice.needs(Pc(pc as u32)));
            }
        }
    }
    assert!(steps > 100_000, "{steps} steps");
    // At least 40 % of the results of compiled kernels are data; otherwise the slice is too large.
    assert!(left_out * 10 > of * 4, "{left_out} of {of} instructions are left out");
}
