//! A replay without techniques regenerates only values on which addresses, barriers and active lanes depend.
//! At every step these must equal the values of a full regeneration.

use trace_format::container::TraceError;
use trace_format::isa::Kind;
use trace_format::reader::{MemAccess, Trace, WarpCursor};

/// Steps the warps of a launch's first blocks in both ways, `of` being the same recording with or without values; the
/// number of steps.
///
/// # Errors
/// The step that differs, or the trace's error.
pub fn compare(trace: &Trace, of: &Trace, launch: u32, blocks: u64) -> Result<u64, String> {
    let what = |e: TraceError| e.to_string();
    let recorded = &trace.launches()[launch as usize];
    let blocks = blocks.min(recorded.blocks_recorded());
    if blocks == 0 {
        return Ok(0);
    }
    // The same cursors for all warps: no state of one may remain for the next.
    let mut all = trace.warp_cursor(launch, 0, 0).map_err(what)?;
    let mut slice = of.slice_cursor(launch, 0, 0).map_err(what)?;
    let mut steps = 0;
    for block in 0..blocks {
        for warp in 0..recorded.geometry.warps_per_block() {
            for cursor in [&mut all, &mut slice] {
                cursor.restart(launch, block, warp).map_err(what)?;
            }
            steps += compare_warp(&mut all, &mut slice)?;
        }
    }
    Ok(steps)
}

fn compare_warp(all: &mut WarpCursor, slice: &mut WarpCursor) -> Result<u64, String> {
    loop {
        let what = |e: TraceError| e.to_string();
        let (wanted, found) = (all.step().map_err(what)?, slice.step().map_err(what)?);
        if found != wanted || visible(slice.mem()) != visible(all.mem()) {
            let (at, access) = (all.place(), [slice.mem(), all.mem()]);
            return Err(format!(
                "{at:?}: the slice gives {found:?} instead of {wanted:?}, or another access: {access:?}"
            ));
        }
        let Some(step) = wanted else { return Ok(all.steps()) };
        // Numbers of barriers and their thread counts.
        let inst = &all.code().insts[step.pc.index()];
        let lane = step.exec.trailing_zeros() as usize & 31;
        let reads = |cursor: &WarpCursor| [0, 1].map(|i| cursor.warp().row(inst.src[i].row).0[lane]);
        if inst.kind == Kind::Barrier && step.exec != 0 && reads(slice) != reads(all) {
            return Err(format!("{:?}: another barrier {:?}", all.place(), reads(slice)));
        }
    }
}

/// What lies in lanes that access memory; addresses of others mean nothing.
fn visible(access: Option<&MemAccess>) -> Option<MemAccess> {
    access.cloned().map(|mut access| {
        for (lane, address) in access.addresses.iter_mut().enumerate() {
            *address *= u64::from(access.mask >> lane & 1);
        }
        access
    })
}
