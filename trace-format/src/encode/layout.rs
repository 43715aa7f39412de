//! Facts about a kernel that recorder and reader must share: its basic blocks with their branch targets, and
//! the instructions with recorded rows, each with a slot for the encoder's state.
//!
//! Every destination of an instruction ([`Inst::results`]) is either regenerated, which the semantics of a pure
//! instruction do, or recorded: all destinations of any other instruction are.

use crate::isa::space::Space;
use crate::isa::{BlockId, Inst, Kind, MachineKernel, Need, Pc, Results, TimingSlice};
use std::sync::Arc;

/// Recorded rows of one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct External {
    /// Slot of the first row; further rows follow.
    pub slot: u32,
    /// Destinations that are recorded: the rows of the registers in order, then for each predicate, in ascending order,
    /// one more (uniform) row: its lane mask.
    pub results: Results,
    /// Whether the byte addresses of the access are recorded, after all others: two rows. Those of textures and
    /// surfaces are, and in imported traces those of every memory instruction.
    pub address: bool,
}

impl External {
    /// Number of rows recorded per execution.
    #[must_use]
    pub const fn rows(self) -> u8 {
        self.result_rows() + 2 * self.address as u8
    }

    /// Number of these that hold results.
    #[must_use]
    pub const fn result_rows(self) -> u8 {
        self.results.registers + self.results.predicates.count_ones() as u8
    }

    /// The predicates that are recorded, each with its slot.
    pub fn predicates(self) -> impl Iterator<Item = (usize, u8)> {
        (self.slot as usize + usize::from(self.results.registers)..).zip(self.results.predicate_numbers())
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
    /// Basic blocks in the order of [`crate::isa::Flow::blocks`]; in imported traces the instructions.
    pub blocks: Vec<LayoutBlock>,
    /// Recorded rows, by program counter.
    pub externals: Vec<External>,
    /// Number of slots.
    pub slots: usize,
    /// The slice of a trace of addresses, which is empty if it was imported; none in traces of values.
    pub slice: Option<Arc<TimingSlice>>,
    /// Whether the trace was imported: an instruction is a block of its own, whose lanes are those in which it took
    /// effect, possibly none.
    pub imported: bool,
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

    /// The facts of a checked kernel in an imported trace. Its control flow is only known as far as it was seen, and
    /// guards are not known, so that paths name every instruction.
    #[must_use]
    pub fn of_imported(kernel: &MachineKernel) -> StreamLayout {
        let block = |(pc, inst): (u32, &Inst)| LayoutBlock {
            first: Pc(pc),
            end: Pc(pc + 1),
            target: inst.jumps_to().map_or(u32::MAX, |target| target.0),
        };
        let mut slots = 0;
        let external = |inst: &Inst| {
            let external = External { slot: slots, address: inst.kind().is_memory(), ..External::default() };
            slots += u32::from(external.rows());
            external
        };
        let externals = kernel.insts.iter().map(external).collect();
        let slice = Some(Arc::new(TimingSlice::empty(kernel)));
        let blocks = (0..).zip(&kernel.insts).map(block).collect();
        StreamLayout { blocks, externals, slots: slots as usize, slice, imported: true }
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
        StreamLayout { blocks, externals, slots: slots as usize, slice, imported: false }
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
    let is_recorded = match need {
        Need::Nothing => false,
        Need::Results => inst.kind() != Kind::Pure,
        Need::Recorded => true,
    };
    External {
        slot: 0,
        results: if is_recorded { inst.results() } else { Results::default() },
        address: inst.kind().space().is_some_and(Space::is_remote),
    }
}
