//! Parts of accesses to any memory: refusals, and read-modify-write operations.

use crate::memory::lanes::{BytesMut, Rows};
use crate::memory::{AllocationId, GlobalMemory, atomic};
use trace_format::isa::{AtomOp, AtomTy};
use trace_format::semantics::Row;

/// Reason for which an access was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// A lane's access lies in no allocation.
    OutOfBounds {
        /// The first such lane.
        lane: u8,
        /// Its address.
        address: u64,
    },
    /// A lane's address is no multiple of the width.
    Misaligned {
        /// The first such lane.
        lane: u8,
        /// Its address.
        address: u64,
    },
    /// The result may depend on the order of blocks: an allocation is written that was not known to be.
    NewlyWritten(AllocationId),
    /// The result may depend on the order of blocks: a written allocation is read, or an atomic returns a value.
    Order,
}

/// A read-modify-write access of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modify<'a> {
    /// Operation.
    pub op: AtomOp,
    /// Type.
    pub ty: AtomTy,
    /// Operand, lowest word first; words beyond the type are ignored.
    pub b: [&'a Row; 4],
    /// New value of a compare-and-swap, likewise.
    pub c: [&'a Row; 4],
}

/// Modifies one lane's location and returns what it held.
pub(crate) fn modify_in_place(
    memory: &mut GlobalMemory,
    id: AllocationId,
    address: u64,
    l: usize,
    m: &Modify<'_>,
) -> u128 {
    let a = memory.allocation_mut(id);
    modify_bytes(&mut a.bytes, (address - a.base) as usize, l, m, true)
}

/// Modifies one lane's location and returns what the operation gives back; lanes outside of the bytes have no effect.
pub(crate) fn modify_bytes<B: BytesMut + ?Sized>(
    bytes: &mut B,
    at: usize,
    l: usize,
    m: &Modify<'_>,
    flush: bool,
) -> u128 {
    let words = usize::from(m.ty.regs());
    let wide = |r: &[&Row; 4]| (0..words).fold(0, |v, i| v | u128::from(r[i].0[l]) << (32 * i));
    let apply = |old| atomic::apply(m.op, m.ty, flush, old, wide(&m.b), wide(&m.c));
    let old = match m.ty.bytes() {
        2 => {
            let old = u128::from(u16::from_le_bytes(bytes.word(at)));
            bytes.put(at, (apply(old) as u16).to_le_bytes());
            old
        }
        4 => {
            let old = u128::from(u32::from_le_bytes(bytes.word(at)));
            bytes.put(at, (apply(old) as u32).to_le_bytes());
            old
        }
        8 => {
            let old = u128::from(u64::from_le_bytes(bytes.word(at)));
            bytes.put(at, (apply(old) as u64).to_le_bytes());
            old
        }
        _ => {
            let old = u128::from_le_bytes(bytes.word(at));
            bytes.put(at, apply(old).to_le_bytes());
            old
        }
    };
    atomic::result(m.op, old, wide(&m.b))
}

/// Puts a value into the lane's words of rows.
pub(crate) fn put_words(rows: &mut Rows, l: usize, value: u128) {
    for (i, row) in rows.iter_mut().enumerate() {
        row.0[l] = (value >> (32 * i)) as u32;
    }
}
