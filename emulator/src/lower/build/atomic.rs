//! Atomics: one instruction each, but for floating-point sums in shared memory.
//!
//! Those have no instruction on any GPU: a loop loads the word, adds, and stores by compare-and-swap; lanes whose
//! word another one has changed in between repeat it. The loaded word is compared as bits, so NaN ends the loop too.

use trace_format::isa::{
    AddrMode, AtomOp as MAtom, AtomTy, Ftz, HalfTy, ICmp, MemOrder as MOrder, MemWidth, Op, Rnd, Sat, Scale,
    Sign,
};

use super::memory::{MachineAddress, scope_of};
use super::ops::KEEP;
use super::{Builder, Lowered};
use crate::lower::vir::{Inst as VInst, Src, Term, VOp, Val};
use crate::ptx::{AtomOp, AtomicOp, Inst, MemOrder, ScalarType, StateSpace};

/// The addition of a floating-point type that hardware sums in shared memory by compare-and-swap.
fn shared_sum(ty: AtomTy) -> Option<Op> {
    let halves = |ty: HalfTy| Op::Hadd2 { ty, ftz: Ftz(false), sat: Sat(false) };
    match ty {
        AtomTy::F32 => Some(Op::Fadd { rnd: Rnd::Rn, ftz: KEEP, sat: Sat(false) }),
        AtomTy::F64 => Some(Op::Dadd { rnd: Rnd::Rn }),
        AtomTy::F16x2 => Some(halves(HalfTy::F16)),
        AtomTy::Bf16x2 => Some(halves(HalfTy::Bf16)),
        _ => None,
    }
}

impl Builder<'_> {
    /// `atom`, `red`.
    pub(crate) fn atom(&mut self, inst: &Inst, op: AtomicOp, reduction: bool) -> Lowered {
        let ty = match op.ty {
            ScalarType::B32 | ScalarType::U32 => AtomTy::U32,
            ScalarType::S32 => AtomTy::S32,
            ScalarType::B64 | ScalarType::U64 => AtomTy::U64,
            ScalarType::S64 => AtomTy::S64,
            ScalarType::F32 => AtomTy::F32,
            ScalarType::F64 => AtomTy::F64,
            ScalarType::B16 | ScalarType::U16 => AtomTy::U16,
            ScalarType::F16 => AtomTy::F16,
            ScalarType::Bf16 => AtomTy::Bf16,
            ScalarType::F16x2 => AtomTy::F16x2,
            ScalarType::Bf16x2 => AtomTy::Bf16x2,
            ScalarType::B128 => AtomTy::B128,
            _ => return Err(self.unsupported(inst, "an atomic of this type")),
        };
        let address = self.memory_operand(inst, 0)?;
        let op = AtomicOp { space: self.space_of(op.space, address), ..op };
        let machine_op = match op.op {
            AtomOp::And => MAtom::And,
            AtomOp::Or => MAtom::Or,
            AtomOp::Xor => MAtom::Xor,
            AtomOp::Cas => MAtom::Cas,
            AtomOp::Exch => MAtom::Exch,
            AtomOp::Add => MAtom::Add,
            AtomOp::Inc => MAtom::Inc,
            AtomOp::Dec => MAtom::Dec,
            AtomOp::Min => MAtom::Min,
            AtomOp::Max => MAtom::Max,
        };
        let order = match op.order {
            MemOrder::Acquire => MOrder::Acquire,
            MemOrder::Release => MOrder::Release,
            MemOrder::AcqRel | MemOrder::Sc => MOrder::AcqRel,
            _ => MOrder::Strong,
        };
        let scope = scope_of(op.scope);
        let mode = if op.space == StateSpace::Generic { AddrMode::Generic } else { AddrMode::Global };
        let wide = match op.space {
            StateSpace::Shared | StateSpace::SharedCluster => false,
            StateSpace::Global | StateSpace::Generic => true,
            _ => return Err(self.unsupported(inst, "an atomic on this space")),
        };
        let red = reduction && wide && machine_op != MAtom::Cas && machine_op != MAtom::Exch;
        let machine = match (wide, red) {
            (false, _) => Op::Atoms { op: machine_op, ty, scale: Scale::X1 },
            (true, false) => Op::Atomg { op: machine_op, ty, mode, order, scope },
            (true, true) => Op::Red { op: machine_op, ty, mode, order, scope },
        };
        let add = shared_sum(ty).filter(|_| !wide && machine_op == MAtom::Add);
        let place = self.place(inst, address, op.space)?;
        // The elements of a vector are modified one after the other: only each by itself is atomic.
        let (source, result) = (&inst.srcs()[1], inst.dsts().first());
        let elements = if op.vec == 1 { std::slice::from_ref(source) } else { source.elements() };
        let values: Vec<Vec<Val>> =
            elements.iter().map(|e| self.value(inst, e, op.ty)).collect::<Lowered<_>>()?;
        for (i, b) in values.iter().enumerate() {
            let mut atom = VInst::new(VOp::M(machine), self.asm.line);
            atom.src[0] = if wide { Src::two(place.base) } else { Src::one(place.base[0]) };
            atom.src[1] = Src::many(b);
            atom.offset = place.offset + i as i32 * i32::from(ty.bytes());
            if let Some(add) = add {
                let at = MachineAddress { base: place.base, offset: atom.offset };
                let old = self.compare_and_swap(&at, ty, add, b);
                if let Some(dst) = result {
                    let dst = if op.vec == 1 { dst } else { &dst.elements()[i] };
                    self.set_words(dst, &old);
                }
                continue;
            }
            if machine_op == MAtom::Cas {
                atom.src[2] = Src::many(&self.value(inst, &inst.srcs()[2], op.ty)?);
            }
            if red {
                self.asm.append(atom);
                continue;
            }
            let r = self.asm.put(atom, 0).dst;
            match result {
                Some(dst) if op.vec == 1 => self.set_words(dst, &r[..usize::from(ty.regs())]),
                Some(dst) => self.set_words(&dst.elements()[i], &r[..usize::from(ty.regs())]),
                None => {}
            }
        }
        Ok(())
    }

    /// Adds to a word or double word of shared memory; its former value.
    fn compare_and_swap(&mut self, place: &MachineAddress, ty: AtomTy, add: Op, b: &[Val]) -> Vec<Val> {
        let before = self.asm.block();
        let (head, join) = (self.asm.new_block(), self.asm.new_block());
        self.asm.end(Term::Goto(head));
        // No PTX variable changes in the loop.
        self.ssa.set_single_pred(head, before);
        self.ssa.set_single_pred(join, head);
        self.open(head);
        let regs = usize::from(ty.regs());
        let (width, bits) =
            if regs == 2 { (MemWidth::B64, AtomTy::U64) } else { (MemWidth::B32, AtomTy::U32) };
        let old = self.memory_result(Op::Lds { width, scale: Scale::X1 }, place, false, regs);
        let [a, b] = [&old[..], b].map(Src::many);
        let sum =
            if regs == 2 { self.asm.r2(add, &[a, b]).to_vec() } else { vec![self.asm.r1(add, &[a, b])] };
        let mut swap =
            VInst::new(VOp::M(Op::Atoms { op: MAtom::Cas, ty: bits, scale: Scale::X1 }), self.asm.line);
        swap.src = [Src::one(place.base[0]), Src::many(&old), Src::many(&sum)];
        swap.offset = place.offset;
        let found = self.asm.put(swap, 0).dst;
        let changed = if regs == 2 {
            self.asm.isetp64(ICmp::Ne, Sign::U32, [found[0], found[1]], [old[0], old[1]])
        } else {
            self.asm.isetp(ICmp::Ne, Sign::U32, found[0], old[0])
        };
        self.asm.end(Term::If(changed, head, join));
        self.open(join);
        old
    }
}
