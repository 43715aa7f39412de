//! Layout and addressing of the stack frame of a machine function.
//!
//! Until registers are allocated, local memory accesses at known places name offsets: from the start of the
//! frame, or, marked by [`INCOMING`], from the start of the function's arguments. Emission makes them relative
//! to the stack pointer.

use trace_format::isa::{Reg, Src};

use super::ra::assign::STACK_POINTER;

/// Added to the offset of a place among the arguments and results of the function itself.
pub(super) const INCOMING: i32 = 1 << 28;

/// How a machine function addresses local memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Addressing {
    /// A kernel without calls: known places are addresses, and the stack pointer holds the size of local memory.
    Fixed {
        /// Size of local memory.
        local_bytes: u32,
    },
    /// The stack pointer is the start of the frame.
    Framed {
        /// Size of the frame, a multiple of 16.
        frame_bytes: u32,
    },
}

impl Addressing {
    /// Base register and offset of a known place.
    #[must_use]
    pub(super) const fn reach(self, place: i32) -> (Reg, i32) {
        let stack = Reg(STACK_POINTER);
        match self {
            Addressing::Fixed { local_bytes } => (stack, place.wrapping_sub(local_bytes as i32)),
            Addressing::Framed { frame_bytes } if place >= INCOMING => {
                (stack, place - INCOMING + frame_bytes as i32)
            }
            Addressing::Framed { .. } => (stack, place),
        }
    }

    /// The same as an operand and an offset.
    #[must_use]
    pub(super) const fn operand(self, place: i32) -> (Src, i32) {
        let (base, offset) = self.reach(place);
        (Src::reg(base), offset)
    }
}
