//! Views of the machine for techniques: warps, instructions and memory accesses, read-only.

use crate::program::TimedInst;
use trace_format::isa::space::Space;
use trace_format::isa::{Kind, Pred, PredSrc};
use trace_format::semantics::Row;

/// The memory access of a step; lanes outside `mask` have no address.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MemAccess<'a> {
    /// Space, resolved if all lanes of the warp agree.
    pub space: Space,
    /// Bytes per lane.
    pub bytes: u8,
    /// Address per lane within the space.
    pub addresses: &'a [u64; 32],
    /// Lanes that access memory.
    pub mask: u32,
}

impl<'a> MemAccess<'a> {
    /// An access of `bytes` per lane by the lanes of `mask`.
    #[must_use]
    #[inline]
    pub fn new(space: Space, bytes: u8, addresses: &'a [u64; 32], mask: u32) -> MemAccess<'a> {
        MemAccess { space, bytes, addresses, mask }
    }
}

/// Identifier of an instruction in flight; outdated identifiers are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InFlightId {
    slot: u16,
    generation: u16,
}

impl InFlightId {
    /// The identifier of no instruction, or of one not yet in flight.
    pub const NONE: InFlightId = InFlightId { slot: u16::MAX, generation: 0 };

    /// The pipeline's identifier of a slot; techniques only pass it on.
    #[must_use]
    #[inline]
    pub fn new(slot: u16, generation: u16) -> InFlightId {
        InFlightId { slot, generation }
    }

    /// Slot in the pipeline's table.
    #[must_use]
    #[inline]
    pub fn slot(self) -> u16 {
        self.slot
    }

    /// Number of earlier uses of the slot.
    #[must_use]
    #[inline]
    pub fn generation(self) -> u16 {
        self.generation
    }
}

/// The warp of a hook call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WarpView<'a> {
    /// Warp slot of the SM, below `sm.max_warps`.
    pub slot: usize,
    /// Block slot of the SM.
    pub block_slot: usize,
    /// Linear block index within the grid.
    pub block: u32,
    /// Warp within the block.
    pub warp: u32,
    /// Lanes of the warp that hold threads of the block.
    pub threads: u32,
    /// Lanes whose threads have not exited.
    pub alive: u32,
    /// Index of the warp's next instruction of the program; `u32::MAX` at its end.
    pub next_pc: u32,
    /// Lanes that execute the warp's next instruction, and the micro-operations before it; none at its end.
    pub next_lanes: u32,
    /// Instructions of the program that the warp has issued, including those without operands: the position
    /// of the instruction in `issue` and `collect`, one more than the latest position in `write_back`.
    pub issued: u64,
    /// Architectural registers by number: before the instruction in `issue` and `collect`, after the warp's
    /// latest issued instruction in `write_back`, where the instruction's own results are in the writes.
    /// Empty if the recording has no values.
    pub rows: &'a [Row],
    /// Lanes in which the program has written each register, by its number, at the same time as the registers; a register
    /// without an entry counts as written in every lane.
    pub written: &'a [u32],
    /// Lanes in which each predicate is true, by its number, at the same time as the registers: P0 to P6, PT, and the
    /// uniform predicates, which are true in all lanes or in none.
    pub preds: &'a [u32; Pred::ALL],
    /// Uniform registers by number, at the same time as the registers; every lane holds the same word. Empty if the kernel
    /// has none or the recording has no values.
    pub uniforms: &'a [Row],
}

impl<'a> WarpView<'a> {
    /// The warp in a slot, with its registers: the first warp of block 0, in which every lane holds a thread and
    /// which has issued nothing.
    #[must_use]
    #[inline]
    pub fn new(slot: usize, rows: &'a [Row]) -> WarpView<'a> {
        WarpView {
            slot,
            block_slot: 0,
            block: 0,
            warp: 0,
            threads: u32::MAX,
            alive: u32::MAX,
            next_pc: u32::MAX,
            next_lanes: u32::MAX,
            issued: 0,
            rows,
            written: &[],
            preds: &Pred::AT_START,
            uniforms: &[],
        }
    }
}

impl WarpView<'_> {
    /// Lanes in which a predicate source is true.
    #[must_use]
    #[inline]
    pub fn pred(&self, source: PredSrc) -> u32 {
        let lanes = self.preds[usize::from(source.pred.0 & 15)];
        if source.not { !lanes } else { lanes }
    }

    /// Lanes in which an instruction takes effect, before it has been stepped.
    #[must_use]
    #[inline]
    pub fn effect(&self, inst: &InstView<'_>) -> u32 {
        inst.active & self.pred(inst.inst.inst.guard)
    }

    /// Lanes in which an instruction that has not been stepped reads a value of the program in a register: it takes effect in
    /// them, and the program has written the register. A technique that holds the register answers for all of them.
    #[must_use]
    #[inline]
    pub fn reads(&self, inst: &InstView<'_>, reg: u8) -> u32 {
        self.effect(inst) & self.written.get(usize::from(reg)).copied().unwrap_or(u32::MAX)
    }

    /// Lanes that go to the target of a branch, or end at an exit, before it has been stepped; lanes in which another
    /// instruction takes effect. Branches and exits of machine code may have a predicate besides their guard.
    #[must_use]
    #[inline]
    pub fn acting(&self, inst: &InstView<'_>) -> u32 {
        let own = match inst.inst.inst.kind() {
            Kind::Branch | Kind::Exit => self.pred(inst.inst.inst.psrc[0]),
            _ => u32::MAX,
        };
        self.effect(inst) & own
    }

    /// Whether an instruction takes effect in some lanes and leaves others that have not exited as they are.
    #[must_use]
    #[inline]
    pub fn leaves_lanes(&self, inst: &InstView<'_>) -> bool {
        let lanes = self.effect(inst);
        lanes != 0 && lanes & self.alive != self.alive
    }
}

/// The instruction of a hook call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InstView<'a> {
    /// Instruction index.
    pub pc: u32,
    /// The decoded instruction.
    pub inst: &'a TimedInst,
    /// Lanes on the recorded path.
    pub active: u32,
    /// Lanes in which it takes effect; equals `active` before the instruction has been stepped.
    pub exec: u32,
    /// Its identifier in flight, from `collect` to `write_back`.
    pub id: InFlightId,
}

impl<'a> InstView<'a> {
    /// The instruction at `pc`, on the path of the lanes of `active`, with effect in those of `exec`.
    #[must_use]
    #[inline]
    pub fn new(pc: u32, inst: &'a TimedInst, active: u32, exec: u32, id: InFlightId) -> InstView<'a> {
        InstView { pc, inst, active, exec, id }
    }
}

/// Reason for which a technique supplies the results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answered {
    /// It was never fetched.
    Skipped,
    /// It issued and did not execute.
    Reused,
    /// It did not access memory, or only in some lanes; the others are in the mask.
    Memory(u32),
}
