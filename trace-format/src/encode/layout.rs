//! Facts about a kernel that recorder and reader must share: its basic blocks with their branch targets, and
//! the instructions with recorded rows, each with a slot for the encoder's state.

use crate::isa::space::Space;
use crate::isa::{BlockId, Inst, Kind, MachineKernel, Need, Pc, TimingSlice};
use std::sync::Arc;

/// Recorded rows of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct External {
    /// Slot of the first row; further rows follow.
    pub slot: u32,
    /// Destination registers whose rows are recorded, in order.
    pub registers: u8,
    /// Destination predicates, the first ones, that are recorded too, each as one more (uniform) row: its lane mask.
    pub predicates: u8,
    /// Whether the byte addresses of a texture or surface access are recorded, after all others: two rows.
    pub address: bool,
}

impl External {
    /// Number of rows recorded per execution.
    #[must_use]
    pub const fn rows(self) -> u8 {
        self.registers + self.predicates + 2 * self.address as u8
    }
}

/// A basic block as path tokens see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayoutBlock {
    /// First instruction.
    pub first: Pc,
    /// One past the last.
    pub end: Pc,
    /// Block that its branch or call goes to; `u32::MAX` when it has none.
    pub target: u32,
}

/// The facts of one kernel.
#[derive(Clone, Debug)]
pub struct StreamLayout {
    /// Basic blocks in the order of [`crate::isa::Flow::blocks`].
    pub blocks: Vec<LayoutBlock>,
    /// Recorded rows, by program counter.
    pub externals: Vec<External>,
    /// Number of slots.
    pub slots: usize,
    /// The slice of a trace of addresses; none in traces of values.
    pub slice: Option<Arc<TimingSlice>>,
}

impl StreamLayout {
    /// The facts of a checked kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel) -> StreamLayout {
        StreamLayout::with(kernel, None)
    }

    /// The facts of a checked kernel in a trace of addresses.
    #[must_use]
    pub fn of_addresses(kernel: &MachineKernel) -> StreamLayout {
        StreamLayout::with(kernel, Some(Arc::new(TimingSlice::recorded(kernel))))
    }

    fn with(kernel: &MachineKernel, slice: Option<Arc<TimingSlice>>) -> StreamLayout {
        let flow = kernel.flow();
        let blocks = flow
            .blocks()
            .iter()
            .map(|b| {
                let last = &kernel.insts[b.end.index() - 1];
                let target = last.jumps_to().map_or(u32::MAX, |target| flow.block_of(target).0);
                LayoutBlock { first: b.first, end: b.end, target }
            })
            .collect();
        let mut slots = 0;
        let externals = kernel
            .insts
            .iter()
            .enumerate()
            .map(|(pc, inst)| {
                let need = slice.as_ref().map_or(Need::Results, |slice| slice.need(Pc(pc as u32)));
                let external = External { slot: slots, ..external_rows(inst, need) };
                slots += u32::from(external.rows());
                external
            })
            .collect();
        StreamLayout { blocks, externals, slots: slots as usize, slice }
    }

    /// The block with an index.
    #[must_use]
    #[inline]
    pub fn block(&self, id: BlockId) -> LayoutBlock {
        self.blocks[id.0 as usize]
    }
}

/// Rows that are recorded of an instruction, without their slot.
fn external_rows(inst: &Inst, need: Need) -> External {
    let address = inst.kind().space().is_some_and(Space::is_remote);
    let outside = matches!(inst.kind(), Kind::Load(_) | Kind::Atomic(_) | Kind::External | Kind::Barrier);
    let none = External { address, ..External::default() };
    match need {
        Need::Results if outside => External {
            registers: inst.dst_span().map_or(0, |span| span.count),
            predicates: u8::from(inst.info().pred_dsts > 0 && !inst.pdst[0].is_true()),
            ..none
        },
        Need::Recorded => External { predicates: inst.info().pred_dsts, ..none },
        Need::Results | Need::Nothing => none,
    }
}
