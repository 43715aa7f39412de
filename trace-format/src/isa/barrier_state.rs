//! The 64 bits of a barrier object (`mbarrier`) and how SYNCS changes them.
//!
//! Bits 0 to 19 count the arrivals that the phase still awaits, bits 20 to 39 those that later phases expect,
//! bits 40 to 62 hold the bytes of transactions that the phase awaits (two's complement), bit 63 is the
//! parity of the phase. PTX does not define the layout; the hardware's is not published.

use super::modifiers::BarrierUpdate;

/// Bits of a count of arrivals.
pub const PENDING_BITS: u32 = 20;
const COUNT: u64 = (1 << PENDING_BITS) - 1;
const TX_AT: u32 = 2 * PENDING_BITS;
const TX_BITS: u32 = 63 - TX_AT;
const TX: u64 = (1 << TX_BITS) - 1;
const PHASE: u64 = 1 << 63;

/// A barrier whose phases await `count` arrivals.
#[must_use]
pub const fn initial(count: u32) -> u64 {
    let count = count as u64 & COUNT;
    count | count << PENDING_BITS
}

/// The state of a barrier after an update. A phase ends when it awaits neither arrivals nor bytes. Counts
/// that leave their range, which PTX leaves undefined, wrap.
#[must_use]
pub const fn updated(state: u64, update: BarrierUpdate, operand: u32) -> u64 {
    let operand = operand as u64;
    let (mut pending, mut expected) = (state & COUNT, state >> PENDING_BITS & COUNT);
    let mut tx = state >> TX_AT & TX;
    let mut phase = state & PHASE;
    match update {
        BarrierUpdate::Arrive => pending = pending.wrapping_sub(operand) & COUNT,
        BarrierUpdate::ArriveDrop => {
            pending = pending.wrapping_sub(operand) & COUNT;
            expected = expected.wrapping_sub(operand) & COUNT;
        }
        BarrierUpdate::ExpectTx => tx = tx.wrapping_add(operand) & TX,
        BarrierUpdate::CompleteTx => tx = tx.wrapping_sub(operand) & TX,
    }
    if pending == 0 && tx == 0 {
        pending = expected;
        phase ^= PHASE;
    }
    pending | expected << PENDING_BITS | tx << TX_AT | phase
}
