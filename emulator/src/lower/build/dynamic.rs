//! Dynamic stack allocation: a region of its own at the end of local memory, which grows upwards. Its first
//! word holds the number of used bytes; a function that allocates restores it when it returns.

use trace_format::isa::{Lut, MemWidth, Op, Sign, space};

use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, Src, VOp, Val};
use crate::ptx::Inst;

/// Bytes before the first allocation: the word with the number of used bytes, padded to 16.
const HEADER_BYTES: u32 = 16;

/// The end of local memory.
const END: Val = Val::Const { bank: space::BANK_PARAM, offset: space::PARAM_STACK };

impl Builder<'_> {
    /// Distance of the region's start from the end of local memory, as an offset.
    fn region_offset(&self) -> i32 {
        -(self.inlining.dynamic_bytes as i32)
    }

    /// Used bytes of the region.
    pub(crate) fn dynamic_used(&mut self) -> Val {
        let mut load = VInst::new(VOp::M(Op::Ldl { width: MemWidth::B32 }), self.asm.line);
        load.src[0] = Src::one(END);
        load.offset = self.region_offset();
        self.asm.put(load, 0).dst[0]
    }

    /// Sets the number of used bytes of the region.
    pub(crate) fn set_dynamic_used(&mut self, used: Val) {
        let mut store = VInst::new(VOp::M(Op::Stl { width: MemWidth::B32 }), self.asm.line);
        store.src[0] = Src::one(END);
        store.src[1] = used.into();
        store.offset = self.region_offset();
        self.asm.append(store);
    }

    /// `alloca`: the address of newly allocated bytes in local memory. An allocation that does not fit lies
    /// past the end of local memory, where every access faults.
    pub(crate) fn alloca(&mut self, inst: &Inst) -> Lowered {
        let bytes = self.word(inst, &inst.srcs()[0])?;
        let align = match inst.srcs().get(1) {
            Some(operand) => self.word(inst, operand)?.imm(),
            None => Some(HEADER_BYTES),
        };
        let align = align.filter(|a| a.is_power_of_two() && *a <= 1 << 16);
        let Some(align) = align else {
            return Err(self.unsupported(inst, "alloca with this alignment"));
        };
        // Local memory ends at a multiple of 16: beyond that alignment the start has to be looked at.
        let used = self.dynamic_used();
        let taken = self.asm.iadd(used, Val::Imm(HEADER_BYTES));
        let base = self.asm.iadd(END, Val::Imm(self.region_offset() as u32));
        let free = self.asm.iadd(base, taken);
        let mask = align.max(HEADER_BYTES) - 1;
        let raised = self.asm.iadd(free, Val::Imm(mask));
        let address = self.asm.lop3(Lut::A & Lut::B, raised, Val::Imm(!mask), Val::ZERO);
        let limit = Val::Imm(self.inlining.dynamic_bytes.saturating_add(HEADER_BYTES));
        let bounded = self.asm.imnmx(Sign::U32, false, bytes, limit);
        let end = self.asm.iadd3(address, bounded, Val::Imm(HEADER_BYTES - 1));
        let end = self.asm.and(end, Val::Imm(!(HEADER_BYTES - 1)));
        let first = self.asm.iadd(base, Val::Imm(HEADER_BYTES));
        let used = self.asm.isub(end, first);
        self.set_dynamic_used(used);
        self.set_pair(&inst.dsts()[0], [address, Val::ZERO]);
        Ok(())
    }
}
