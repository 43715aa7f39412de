//! Repeats loads out of bounds that a launch tolerates (see [`super::Options::lenient`]).

use super::executable::Worker;
use super::fault::Location;
use super::request::Request;
use super::state::BlockShared;
use super::tolerated::Site;
use crate::memory::lanes::{Addresses, lanes_of};
use crate::record::BlockSink;
use crate::view::access::Refusal;
use crate::view::global::GlobalView;

/// Repeats a refused load of global memory, with zeros for bytes that are not allocated.
///
/// # Errors
/// Tolerance is off, or hardware would not tolerate the access.
#[cold]
#[inline(never)]
pub(super) fn load<V: GlobalView, S: BlockSink>(
    worker: &mut Worker<'_, V, S>,
    block: &mut BlockShared,
    request: &Request<'_>,
    at: &Addresses,
    refusal: Refusal,
) -> Result<(), Refusal> {
    let Refusal::OutOfBounds { .. } = refusal else { return Err(refusal) };
    if !worker.executable.lenient {
        return Err(refusal);
    }
    let width = request.inst.width();
    let outside = worker.memory.load_leniently(at, request.exec, width, &mut block.rows)?;
    let Some(lane) = lanes_of(outside).next() else { return Ok(()) };
    let place = Location { pc: request.pc, warp: request.warp, lane: Some(lane as u8) };
    let loads = u64::from(outside.count_ones());
    match block.tolerated.iter_mut().find(|site| site.place.pc == request.pc) {
        Some(site) => site.loads += loads,
        None => {
            let (address, width) = (at[lane], width.bytes());
            block.tolerated.push(Site { place, block: block.linear, address, width, loads });
        }
    }
    Ok(())
}
