//! Register state of one warp: rows of 32 words, predicate masks, and the indices that special registers
//! return.

use super::code::{Code, ExecInst};
use super::row::{Geometry, Row};
use super::{FULL_MASK, WARP_SIZE};
use crate::isa::{Kind, Op, Pred};

/// Register state of one warp, laid out for one [`Code`].
#[derive(Clone, Debug)]
pub struct Warp {
    pub(super) rows: Vec<Row>,
    /// P0 to P6, PT, then the uniform predicates.
    pub(super) preds: [u32; Pred::ALL],
    pub(super) tid: [Row; 3],
    pub(super) ctaid: [u32; 3],
    pub(super) warp_in_block: u32,
}

impl Warp {
    /// A warp with zeroed registers whose constants are those of `code`.
    #[must_use]
    pub fn new(code: &Code) -> Warp {
        Warp {
            rows: code.initial_rows().to_vec(),
            preds: Pred::AT_START,
            tid: [Row::ZERO; 3],
            ctaid: [0; 3],
            warp_in_block: 0,
        }
    }

    /// Makes this the given warp of a block at its first instruction: registers and predicates zero.
    pub fn reset(&mut self, code: &Code, geometry: &Geometry, ctaid: [u32; 3], warp_in_block: u32) {
        if self.rows.len() == code.initial_rows().len() {
            self.rows[..code.state_rows()].fill(Row::ZERO);
        } else {
            self.rows = code.initial_rows().to_vec();
        }
        self.preds = Pred::AT_START;
        let [bx, by, _] = geometry.block.map(|n| n.max(1));
        let first = warp_in_block * WARP_SIZE as u32;
        let [mut x, mut y, mut z] = [first % bx, first / bx % by, first / bx / by];
        for lane in 0..WARP_SIZE {
            [self.tid[0].0[lane], self.tid[1].0[lane], self.tid[2].0[lane]] = [x, y, z];
            x += 1;
            if x == bx {
                (x, y) = (0, y + 1);
            }
            if y == by {
                (y, z) = (0, z + 1);
            }
        }
        self.ctaid = ctaid;
        self.warp_in_block = warp_in_block;
    }

    /// Like [`Warp::reset`] for the same warp of another block of the same launch, which keeps the thread
    /// indices.
    pub fn restart(&mut self, code: &Code, ctaid: [u32; 3]) {
        self.rows[..code.state_rows()].fill(Row::ZERO);
        self.preds = Pred::AT_START;
        self.ctaid = ctaid;
    }

    /// Replaces the constant rows by those of another launch of the same kernel.
    pub fn rebind(&mut self, code: &Code) {
        self.rows = code.initial_rows().to_vec();
    }

    /// The row with an index (register n is row n; see [`Code`] for the rest).
    #[must_use]
    #[inline]
    pub fn row(&self, index: u16) -> &Row {
        &self.rows[usize::from(index)]
    }

    /// A row to be written whole.
    #[inline]
    pub(crate) fn row_mut(&mut self, index: u16) -> &mut Row {
        &mut self.rows[usize::from(index)]
    }

    /// Rows of registers R0.. in order.
    #[must_use]
    #[inline]
    pub fn registers<'a>(&'a self, code: &Code) -> &'a [Row] {
        &self.rows[..code.register_rows()]
    }

    /// Lanes in which a predicate is true.
    #[must_use]
    #[inline]
    pub const fn pred(&self, index: u8) -> u32 {
        self.preds[(index & 15) as usize]
    }

    /// Lanes in which each predicate is true, by its number: P0 to P6, PT, then the uniform predicates.
    #[must_use]
    #[inline]
    pub fn preds(&self) -> &[u32; Pred::ALL] {
        &self.preds
    }

    /// Rows of the uniform registers UR0.. in order, whose lanes all hold the same word.
    #[must_use]
    #[inline]
    pub fn uniforms<'a>(&'a self, code: &Code) -> &'a [Row] {
        self.rows.get(code.uniform_rows()).unwrap_or(&[])
    }

    /// The lanes, of those in which the guard of a branch or exit holds, that jump or end: of machine code, those in which its
    /// own predicate is true as well, which is PT elsewhere. A branch on divergence is taken by lanes whose mask has lanes
    /// that are not here, of those that are `alive`: launched, and not exited.
    #[must_use]
    #[inline]
    pub fn acting(&self, inst: &ExecInst, exec: u32, alive: u32) -> u32 {
        if matches!(inst.op, Op::BraDiv {}) {
            let members = &self.row(inst.src[0].row).0;
            return (0..WARP_SIZE)
                .filter(|lane| members[*lane] & alive & !exec != 0)
                .fold(0, |all, lane| all | 1 << lane)
                & exec;
        }
        let has_predicate = match inst.kind {
            Kind::Branch | Kind::Exit => true,
            Kind::Sync => matches!(inst.op, Op::BreakIf { .. }),
            _ => false,
        };
        if !has_predicate {
            return exec;
        }
        let lanes = self.pred(inst.psrc[0].index);
        exec & if inst.psrc[0].not { !lanes } else { lanes }
    }

    /// Row of the low words of the last texture or surface addresses; the high words are in the next one.
    #[must_use]
    pub fn address_row(&self) -> u16 {
        (self.rows.len() - 2) as u16
    }

    /// Sets the byte address of each lane's texture or surface access (see
    /// [`crate::isa::space::NO_ADDRESS`]); it is not part of the architectural state.
    pub fn set_addresses(&mut self, addresses: &[u64; WARP_SIZE]) {
        let at = usize::from(self.address_row());
        self.rows[at] = Row::from_fn(|l| addresses[l] as u32);
        self.rows[at + 1] = Row::from_fn(|l| (addresses[l] >> 32) as u32);
    }

    /// The addresses set last.
    pub fn addresses(&self, out: &mut [u64; WARP_SIZE]) {
        let at = self.address_row();
        let (low, high) = (self.row(at), self.row(at + 1));
        for l in 0..WARP_SIZE {
            out[l] = u64::from(low.0[l]) | u64::from(high.0[l]) << 32;
        }
    }

    /// Writes a row in the lanes of a mask.
    #[inline]
    pub fn write_row(&mut self, index: u16, value: &Row, mask: u32) {
        blend(&mut self.rows[usize::from(index)], value, mask);
    }

    /// Writes a predicate in the lanes of a mask; PT keeps its value.
    #[inline]
    pub fn write_pred(&mut self, index: u8, value: u32, mask: u32) {
        if index != 7 {
            let p = &mut self.preds[usize::from(index & 15)];
            *p = (*p & !mask) | (value & mask);
        }
    }
}

/// Copies the lanes of a mask.
#[inline(always)]
pub(super) fn blend(to: &mut Row, from: &Row, mask: u32) {
    if mask == FULL_MASK {
        *to = *from;
    } else {
        for l in 0..WARP_SIZE {
            to.0[l] = if mask >> l & 1 != 0 { from.0[l] } else { to.0[l] };
        }
    }
}
