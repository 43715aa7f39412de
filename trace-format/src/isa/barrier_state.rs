//! The 64 bits of a barrier object (`mbarrier`) and how SYNCS changes them.
//!
//! In our own layout, bits 0 to 19 count the arrivals that the phase still awaits, bits 20 to 39 those that later phases expect,
//! bits 40 to 62 hold the bytes of transactions that the phase awaits (two's complement), bit 63 is the
//! parity of the phase. PTX does not define the layout. Machine code initialises and reads objects itself, so its barriers have
//! the layouts that this code shows.

use super::modifiers::{BarrierLayout, BarrierUpdate};

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
pub const fn updated(layout: BarrierLayout, state: u64, update: BarrierUpdate, operand: u32) -> u64 {
    let operand = operand as u64;
    let Counts { mut pending, mut expected, mut tx, mut phase } = Counts::of(layout, state);
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
    Counts { pending, expected, tx, phase }.stored(layout, state)
}

/// What a barrier object holds, in any layout.
struct Counts {
    /// Arrivals that the phase still awaits.
    pending: u64,
    /// Arrivals that later phases await.
    expected: u64,
    /// Bytes that the phase awaits, modulo 2 to the power of [`TX_BITS`].
    tx: u64,
    /// The highest bit, or zero.
    phase: u64,
}

/// The layout of sm_80 and sm_86: negative expected arrivals in bits 0 to 29, negative pending ones in bits 32 to 62.
const AMPERE_EXPECTED: u64 = (1 << 30) - 1;
const AMPERE_PENDING: u64 = (1 << 31) - 1;
/// The layout of sm_90 and later targets: negative expected arrivals in bits 1 to 20, bytes in bits 21 to 42, negative pending
/// arrivals in bits 43 to 62. The code of ptxas shows the counts and the phase; where the bytes are, nothing shows.
const HOPPER_TX_AT: u32 = 1 + PENDING_BITS;
const HOPPER_TX_BITS: u32 = 22;
const HOPPER_TX: u64 = (1 << HOPPER_TX_BITS) - 1;
const HOPPER_PENDING_AT: u32 = HOPPER_TX_AT + HOPPER_TX_BITS;

impl Counts {
    const fn of(layout: BarrierLayout, state: u64) -> Counts {
        let phase = state & PHASE;
        match layout {
            BarrierLayout::Portable => Counts {
                pending: state & COUNT,
                expected: state >> PENDING_BITS & COUNT,
                tx: state >> TX_AT & TX,
                phase,
            },
            BarrierLayout::Ampere => Counts {
                pending: (state >> 32).wrapping_neg() & COUNT,
                expected: state.wrapping_neg() & COUNT,
                tx: 0,
                phase,
            },
            BarrierLayout::Hopper => {
                let tx = state >> HOPPER_TX_AT & HOPPER_TX;
                let sign = tx >> (HOPPER_TX_BITS - 1) << HOPPER_TX_BITS;
                Counts {
                    pending: (state >> HOPPER_PENDING_AT).wrapping_neg() & COUNT,
                    expected: (state >> 1).wrapping_neg() & COUNT,
                    tx: (tx | sign) & TX,
                    phase,
                }
            }
        }
    }

    /// The state; bits without a meaning stay as they were.
    const fn stored(&self, layout: BarrierLayout, before: u64) -> u64 {
        match layout {
            BarrierLayout::Portable => {
                self.pending | self.expected << PENDING_BITS | self.tx << TX_AT | self.phase
            }
            BarrierLayout::Ampere => {
                let expected = self.expected.wrapping_neg() & AMPERE_EXPECTED;
                let pending = self.pending.wrapping_neg() & AMPERE_PENDING;
                before & 0xC000_0000 | expected | pending << 32 | self.phase
            }
            BarrierLayout::Hopper => {
                let expected = self.expected.wrapping_neg() & COUNT;
                let pending = self.pending.wrapping_neg() & COUNT;
                let tx = self.tx & HOPPER_TX;
                before & 1 | expected << 1 | tx << HOPPER_TX_AT | pending << HOPPER_PENDING_AT | self.phase
            }
        }
    }
}
