//! Asynchronous copies and shared-memory barriers of the oracle. A copy happens at once, which a program that
//! waits for it cannot detect; a barrier is a word with the pending count and a phase.

use super::memory::View;
use super::{Fault, atomic};
use emulator::ptx::{CpAsyncOp, CpAsyncTail, MbarrierAction, MbarrierOp, StateSpace};

/// The word of a barrier object.
#[derive(Clone, Copy)]
struct Barrier {
    /// Arrivals that the phase still needs.
    pending: u64,
    /// Arrivals that the next phase needs.
    expected: u64,
    /// Bytes that the phase still needs.
    bytes: u64,
    /// Parity of the phase.
    phase: u64,
}

const COUNT: u64 = (1 << 20) - 1;

impl Barrier {
    fn of(word: u64) -> Self {
        Self {
            pending: word & COUNT,
            expected: word >> 20 & COUNT,
            bytes: word >> 40 & COUNT,
            phase: word >> 63,
        }
    }

    fn word(self) -> u64 {
        self.pending & COUNT | (self.expected & COUNT) << 20 | (self.bytes & COUNT) << 40 | self.phase << 63
    }

    /// Begins the next phase if nothing is pending.
    fn settled(mut self) -> Self {
        if self.pending == 0 && self.bytes == 0 {
            self.phase ^= 1;
            self.pending = self.expected;
        }
        self
    }
}

/// Executes the copy of a `cp.async`; `sources` are its operands.
pub(super) fn copy(op: &CpAsyncOp, sources: &[u64], memory: &mut View<'_>) -> Result<(), Fault> {
    let size = usize::from(op.bytes);
    let read = match op.tail {
        CpAsyncTail::None => size,
        CpAsyncTail::SourceSize => (sources[2] as usize).min(size),
        CpAsyncTail::IgnoreSource => {
            if sources[2] != 0 {
                0
            } else {
                size
            }
        }
    };
    let mut bytes = vec![0u8; size];
    for (at, byte) in bytes.iter_mut().enumerate().take(read) {
        *byte = memory.load(StateSpace::Global, sources[1] + at as u64, 1)? as u8;
    }
    if !sources[0].is_multiple_of(size as u64) || !sources[1].is_multiple_of(size as u64) {
        return Err(Fault::new("cp.async between addresses that are not aligned to its size"));
    }
    for (at, byte) in bytes.iter().enumerate() {
        memory.store(StateSpace::Shared, sources[0] + at as u64, 1, u64::from(*byte))?;
    }
    Ok(())
}

/// `cp.async.mbarrier.arrive`: the copies before it are done, so it arrives at once.
pub(super) fn copied(
    space: StateSpace,
    noinc: bool,
    address: u64,
    memory: &mut View<'_>,
) -> Result<(), Fault> {
    let mut barrier = Barrier::of(memory.load(space, address, 8)?);
    // Without `.noinc` it raises the count that it then lowers.
    if noinc {
        barrier.pending -= 1;
        barrier = barrier.settled();
    }
    let bytes = memory.bytes(space, address, 8)?;
    atomic::put(bytes, 0, 8, barrier.word());
    Ok(())
}

/// The result of an `mbarrier` operation, if it has one.
pub(super) fn barrier(op: &MbarrierOp, sources: &[u64], memory: &mut View<'_>) -> Result<Option<u64>, Fault> {
    if op.action == MbarrierAction::PendingCount {
        return Ok(Some(sources[0] & COUNT));
    }
    let address = sources[0];
    let mut barrier = Barrier::of(memory.load(op.space, address, 8)?);
    let result = match op.action {
        MbarrierAction::Init => {
            barrier = Barrier { pending: sources[1], expected: sources[1], bytes: 0, phase: 0 };
            None
        }
        MbarrierAction::Inval | MbarrierAction::PendingCount => None,
        MbarrierAction::ExpectTx => {
            barrier.bytes = barrier.bytes.wrapping_add(sources[1]);
            None
        }
        MbarrierAction::CompleteTx => {
            barrier.bytes = barrier.bytes.wrapping_sub(sources[1]);
            barrier = barrier.settled();
            None
        }
        MbarrierAction::Arrive { drop, expect_tx, no_complete: _, count } => {
            let before = barrier.word();
            let arrivals = if count && !expect_tx { sources[1] } else { 1 };
            if expect_tx {
                barrier.bytes = barrier.bytes.wrapping_add(sources[1]);
            }
            if drop {
                barrier.expected = barrier.expected.wrapping_sub(arrivals);
            }
            if barrier.pending < arrivals {
                return Err(Fault::new("more arrivals at a barrier than it waits for"));
            }
            barrier.pending -= arrivals;
            barrier = barrier.settled();
            Some(before)
        }
        MbarrierAction::Wait { parity, .. } => {
            let asked = if parity { sources[1] & 1 } else { sources[1] >> 63 };
            Some(u64::from(barrier.phase != asked))
        }
    };
    memory.store(op.space, address, 8, barrier.word())?;
    Ok(result)
}
