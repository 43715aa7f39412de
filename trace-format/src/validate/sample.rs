//! Reads back a sample of a trace that has just been written: a fault of recorder or reader then shows at once and not in
//! results. The first block of each kernel's first launch and blocks of launches at even distances are regenerated.

use super::replay::check_warp;
use super::report::{Progress, Report};
use crate::container::TraceError;
use crate::reader::Trace;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Warp instructions that are regenerated at most, about: a fraction of a second.
const MOST_INSTRUCTIONS: u64 = 4 << 20;
/// Launches at even distances.
const LAUNCHES: usize = 64;

/// Regenerates a sample of a complete trace; returns the number of warps that were read.
///
/// # Errors
/// A warp cannot be read, or its values, addresses or lanes differ from those of the program; the error says where.
pub fn read_back(path: &Path) -> Result<u64, String> {
    let sampled = Trace::open(path).and_then(|trace| sample(&trace));
    sampled.map_err(|why| {
        format!(
            "{why}\n  help: the file was written, but what it says cannot be read back, which is a fault of Warplab; `trace \
             verify` names all launches that cannot be read, and `timing` leaves them out"
        )
    })
}

fn sample(trace: &Trace) -> Result<u64, TraceError> {
    let launches = trace.launches();
    let mut seen = HashSet::new();
    let firsts = (0..launches.len()).filter(|number| seen.insert(launches[*number].kernel));
    let firsts: Vec<usize> = firsts.collect();
    let distance = launches.len().div_ceil(LAUNCHES).max(1);
    let spread = (0..launches.len()).step_by(distance);
    let (mut left, mut warps, mut cursor) = (MOST_INSTRUCTIONS, 0, None);
    let last = |number: usize| launches[number].blocks_recorded().saturating_sub(1);
    let wanted =
        firsts.into_iter().map(|number| (number, 0)).chain(spread.map(|number| (number, last(number))));
    let mut done = BTreeSet::new();
    for (number, block) in wanted {
        let launch = &launches[number];
        let per_block = launch.warp_instructions() / launch.blocks_recorded().max(1);
        if launch.blocks_recorded() == 0 || per_block > left || !done.insert((number, block)) {
            continue;
        }
        for warp in 0..launch.geometry.warps_per_block() {
            let mut report = Report::default();
            let place = (number as u32, block, warp);
            check_warp(trace, &mut cursor, place, &Progress::default(), &mut report)?;
            if let Some(problem) = report.problems.first() {
                return Err(trace.unsound(&problem.place, &problem.what));
            }
            warps += 1;
        }
        left = left.saturating_sub(per_block.max(1));
    }
    Ok(warps)
}
