//! `cp.async`: copies from global to shared memory, complete as soon as they are issued.
//!
//! PTX lets a copy complete at any time until it is waited for, so a load and a store are one of its executions;
//! groups and waits then have nothing to do.

use trace_format::isa::{ICmp, MemOrder, MemWidth, Op, ReadOnly, Sign};

use super::memory::MachineAddress;
use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, PSrc, Src, VOp, Val};
use crate::ptx::{CpAsyncOp, CpAsyncTail, Inst, Operand, StateSpace};

impl Builder<'_> {
    /// `cp.async.ca`, `cp.async.cg`.
    pub(crate) fn cp_async(&mut self, inst: &Inst, op: CpAsyncOp) -> Lowered {
        let bytes = u32::from(op.bytes);
        let (to, from) = (self.memory_operand(inst, 0)?, self.memory_operand(inst, 1)?);
        let from = self.place(inst, from, StateSpace::Global)?;
        let words = match (op.tail, inst.srcs().get(2)) {
            (CpAsyncTail::IgnoreSource, Some(ignore)) => {
                let ignore = self.pred(inst, ignore)?;
                self.load_where(ignore.negated(), &from, op.bytes)
            }
            (CpAsyncTail::SourceSize, Some(size)) => {
                let size = self.word(inst, size)?;
                self.load_part(&from, op.bytes, size)
            }
            _ => self.load_where(PSrc::TRUE, &from, op.bytes),
        };
        let to = self.place(inst, to, StateSpace::Shared)?;
        self.store_at(inst, StateSpace::Shared, &to, bytes, &words)
    }

    /// Words from global memory where `p` holds, elsewhere zeros.
    fn load_where(&mut self, p: PSrc, from: &MachineAddress, bytes: u8) -> Vec<Val> {
        let (width, regs) = match bytes {
            4 => (MemWidth::B32, 1),
            8 => (MemWidth::B64, 2),
            _ => (MemWidth::B128, 4),
        };
        if p.constant() == Some(false) {
            return vec![Val::ZERO; regs];
        }
        let op = Op::Ldg { width, order: MemOrder::Weak, ro: ReadOnly(false) };
        let mut load = VInst::new(VOp::M(op), self.asm.line);
        load.src[0] = Src::two(from.base);
        load.offset = from.offset;
        if p.constant().is_none() {
            load.guard = p;
            load.tied[..regs].fill(Val::ZERO);
        }
        self.asm.put(load, 0).dst[..regs].to_vec()
    }

    /// The first `size` of `bytes` bytes from global memory, followed by zeros. Nothing after them is read.
    fn load_part(&mut self, from: &MachineAddress, bytes: u8, size: Val) -> Vec<Val> {
        let all = Val::Imm(bytes.into());
        let whole = match size.imm() {
            Some(size) if size >= bytes.into() => PSrc::TRUE,
            Some(_) => PSrc::FALSE,
            None => self.asm.isetp(ICmp::Ge, Sign::U32, size, all),
        };
        let words = self.load_where(whole, from, bytes);
        // Sizes between nothing and everything: 1 to bytes - 1.
        let less_one = self.asm.iadd(size, Val::Imm(u32::MAX));
        let some = match size.imm() {
            Some(0) => PSrc::FALSE,
            Some(_) => whole.negated(),
            None => self.asm.isetp(ICmp::Lt, Sign::U32, less_one, Val::Imm(u32::from(bytes) - 1)),
        };
        if some.constant() == Some(false) {
            return words;
        }
        let address =
            self.asm.add64(from.base, [Val::Imm(from.offset as u32), Val::Imm((from.offset >> 31) as u32)]);
        let fast: [Val; 4] = std::array::from_fn(|i| words.get(i).copied().unwrap_or(Val::ZERO));
        let merged = self.slow_path(some, fast, |s| {
            let sub = s.subroutine("cp_async_part", 3, |s, p| s.load_bytes([p[0], p[1]], p[2]));
            let words = s.asm.call(sub, &[address[0], address[1], size], 4);
            std::array::from_fn(|i| words[i])
        });
        merged[..words.len()].to_vec()
    }

    /// Four words of which the first `size` bytes come from global memory, one by one.
    fn load_bytes(&mut self, address: [Val; 2], size: Val) -> Vec<Val> {
        let mut words = Vec::new();
        for w in 0..4 {
            let mut word = Val::ZERO;
            for b in 0..4u32 {
                let at = 4 * w + b;
                let op = Op::Ldg { width: MemWidth::U8, order: MemOrder::Weak, ro: ReadOnly(false) };
                let mut load = VInst::new(VOp::M(op), self.asm.line);
                load.src[0] = Src::two(address);
                load.offset = at as i32;
                load.guard = self.asm.isetp(ICmp::Gt, Sign::U32, size, Val::Imm(at));
                load.tied[0] = Val::ZERO;
                let byte = self.asm.put(load, 0).dst[0];
                let selector = [0x4440, 0x7740, 0x7410, 0x4210][b as usize];
                word = if b == 0 { byte } else { self.asm.prmt(word, Val::Imm(selector), byte) };
            }
            words.push(word);
        }
        words
    }

    /// `cp.async.mbarrier.arrive`: the copies are complete. Without `.noinc` the pending count is increased
    /// by one for their arrival, which leaves the barrier unchanged.
    pub(crate) fn cp_async_arrive(&mut self, inst: &Inst, noinc: bool) -> Lowered {
        if noinc {
            self.barrier_update(inst, 0, trace_format::isa::BarrierUpdate::Arrive, Val::Imm(1))?;
        }
        Ok(())
    }

    /// Assigns the opaque result of `createpolicy`, which is not used.
    pub(crate) fn create_policy(&mut self, inst: &Inst) -> Lowered {
        if let Some(dst @ Operand::Reg(_)) = inst.dsts().first() {
            self.set_pair(dst, [Val::ZERO; 2]);
        }
        Ok(())
    }
}
