//! A memory instruction of a warp, and errors in its addresses.

use crate::memory::lanes::{Addresses, lanes_of};
use crate::view::access::Refusal;
use trace_format::semantics::ExecInst;

/// One memory instruction with the lanes that it takes effect in.
#[derive(Clone, Copy)]
pub(super) struct Request<'i> {
    pub inst: &'i ExecInst,
    pub warp: u32,
    pub pc: u32,
    pub exec: u32,
}

/// The first lane that is misaligned or outside of the bytes.
#[cold]
pub(super) fn blame(bytes: &[u8], at: &Addresses, exec: u32, width: u64) -> Refusal {
    for l in lanes_of(exec) {
        let (lane, address) = (l as u8, at[l]);
        if address & (width - 1) != 0 {
            return Refusal::Misaligned { lane, address };
        }
        if address.checked_add(width).is_none_or(|end| end > bytes.len() as u64) {
            return Refusal::OutOfBounds { lane, address };
        }
    }
    Refusal::OutOfBounds { lane: 0, address: at[0] }
}
