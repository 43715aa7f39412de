//! Legalisation: converts every instruction to machine form. 64-bit additions become carry chains,
//! instructions get at most one literal or constant, and operands become register tuples where required.

use rustc_hash::FxHashMap;

use trace_format::isa::space::Space;
use trace_format::isa::{Extended, Kind, Op, ShiftBy, space};

use super::fold::SHL;
use super::layout::Frame;
use super::vir::{Func, Inst, InstId, PSrc, Src, VOp, Val};

/// Legalises all instructions.
pub(super) fn run(f: &mut Func, frame: &mut Frame) {
    for b in f.order.clone() {
        let old = std::mem::take(&mut f.block_mut(b).insts);
        let mut pass =
            Pass { f, frame, out: Vec::with_capacity(old.len() * 5 / 4), moved: FxHashMap::default() };
        for id in old {
            pass.instruction(id);
        }
        let out = pass.out;
        f.block_mut(b).insts = out;
    }
}

struct Pass<'a> {
    f: &'a mut Func,
    frame: &'a mut Frame,
    out: Vec<InstId>,
    /// Literals and constants that a register of this block holds already.
    moved: FxHashMap<Val, Val>,
}

impl Pass<'_> {
    fn instruction(&mut self, id: InstId) {
        if self.f.inst(id).op == VOp::Add64 {
            self.add64(id);
            return;
        }
        let mut inst = self.f.inst(id).clone();
        self.tuples(&mut inst);
        self.literals(&mut inst);
        for k in 0..4 {
            if inst.dst[k].is_some() && inst.tied[k] != Val::Undef && inst.tied[k].reg().is_none() {
                // Tied registers are written, so every use needs a copy of its own.
                inst.tied[k] = self.fresh(inst.tied[k], &inst);
            }
        }
        self.f.insts[id.index()] = inst;
        self.out.push(id);
    }

    /// (x << k) + b as two shift-adds, the upper one with a carry in; `None` if no operand is a shifted pair.
    fn shift_add64(&mut self, inst: &Inst) -> Option<()> {
        let [low_dst, high_dst] = [inst.dst[0]?, inst.dst[1]?];
        let (shifted, b) = [(0, 1), (1, 0)]
            .into_iter()
            .filter(|&(i, j)| !inst.src[i].neg && !inst.src[j].neg)
            .find_map(|(i, j)| Some((self.shifted_pair(&inst.src[i])?, &inst.src[j])))?;
        let ([x, upper], shift) = shifted;
        let carry = self.f.new_pred();
        let mut low = Inst::new(VOp::M(Op::Lea { shift }), inst.line);
        low.dst[0] = Some(low_dst);
        (low.src[0], low.src[1]) = (Src::one(x), Src::one(b.v[0]));
        low.pdst[0] = Some(carry);
        let mut high = Inst::new(VOp::M(Op::LeaHi { shift, x: Extended(true) }), inst.line);
        high.dst[0] = Some(high_dst);
        high.src = [Src::one(x), Src::one(b.v[1]), Src::one(upper)];
        high.psrc[0] = PSrc::of(carry);
        for mut part in [low, high] {
            self.literals(&mut part);
            let id = self.f.add_inst(part);
            self.out.push(id);
        }
        Some(())
    }

    /// x and k of a pair x << k in registers.
    fn shifted_pair(&self, pair: &Src) -> Option<([Val; 2], ShiftBy)> {
        let plain = |v: Val| {
            let (id, word) = self.f.def(v)?;
            let inst = self.f.inst(id);
            (word == 0 && inst.guard == PSrc::TRUE).then_some(inst)
        };
        let (low, high) = (plain(pair.v[0])?, plain(pair.v[1])?);
        let VOp::M(Op::ShfL { wide, high: upper, .. }) = high.op else { return None };
        let k = low.src[1].v[0].imm().filter(|k| (1..32).contains(k))?;
        let (x, y) = (low.src[0].v[0], high.src[2].v[0]);
        let same = high.src[0].v[0] == x && high.src[1].v[0].imm() == Some(k);
        let both = low.op == VOp::M(SHL) && wide.0 && upper.0 && same;
        (both && x.reg().is_some() && y.reg().is_some()).then_some(([x, y], ShiftBy(k as u8)))
    }

    /// a + b as low words with a carry out and high words with a carry in.
    fn add64(&mut self, id: InstId) {
        let inst = self.f.inst(id).clone();
        if self.shift_add64(&inst).is_some() {
            return;
        }
        let [low_dst, high_dst] = [inst.dst[0], inst.dst[1]];
        let half = |k: usize| {
            let of =
                |s: &Src| Src { v: [s.v[k], Val::Undef, Val::Undef, Val::Undef], neg: s.neg, abs: false };
            [of(&inst.src[0]), of(&inst.src[1]), Src::RZ]
        };
        let carry = self.f.new_pred();
        let mut low = Inst::new(VOp::M(Op::Iadd3 { x: Extended(false) }), inst.line);
        low.dst[0] = low_dst;
        low.src = half(0);
        low.pdst[0] = Some(carry);
        let mut high = Inst::new(VOp::M(Op::Iadd3 { x: Extended(true) }), inst.line);
        high.dst[0] = high_dst;
        high.src = half(1);
        high.psrc[0] = PSrc::of(carry);
        for mut part in [low, high] {
            self.literals(&mut part);
            let id = self.f.add_inst(part);
            self.out.push(id);
        }
    }

    /// Leaves one literal or constant per instruction (memory instructions: none as address).
    fn literals(&mut self, inst: &mut Inst) {
        let kind = inst.op.kind();
        let shape = inst.op.shape();
        let free = matches!(kind, Kind::Barrier | Kind::Sync) || matches!(inst.op, VOp::M(Op::Shfl { .. }));
        let mut room = match kind {
            // Handles (and single coordinates) of texture and surface accesses may be constants.
            _ if kind.space().is_some_and(Space::is_remote) => 1,
            _ if kind.is_memory() => 0,
            _ if free => 3,
            _ => 1,
        };
        // Literals stay, constants move: others are more likely to need the same constant in a register.
        let mut order: Vec<usize> = (0..3).collect();
        order.sort_by_key(|&i| {
            (std::cmp::Reverse(shape.src[i]), matches!(inst.src[i].v[0], Val::Const { .. }))
        });
        for i in order {
            if shape.src[i] != 1 {
                if shape.src[i] > 1 && inst.src[i].v[0].is_literal_tuple(&inst.src[i].v, shape.src[i]) {
                    room -= 1;
                }
                continue;
            }
            if inst.src[i].v[0] == Val::Undef {
                inst.src[i].v[0] = Val::ZERO;
            }
            if inst.src[i].v[0].is_literal() {
                if room > 0 {
                    room -= 1;
                } else {
                    inst.src[i].v[0] = self.in_register(inst.src[i].v[0], inst);
                }
            }
        }
    }

    /// Tuple operands: all zero, one constant or literal of the right kind, or all registers.
    fn tuples(&mut self, inst: &mut Inst) {
        let shape = inst.op.shape();
        let kind = inst.op.kind();
        let mut literal_used = false;
        for i in 0..3 {
            let n = shape.src[i] as usize;
            if n < 2 {
                continue;
            }
            for v in &mut inst.src[i].v[..n] {
                if *v == Val::Undef {
                    *v = Val::ZERO;
                }
            }
            if inst.src[i].v[..n].iter().all(|v| *v == Val::ZERO) {
                continue;
            }
            if n == 2
                && !kind.is_memory()
                && !literal_used
                && let Some(v) = self.wide_literal(inst, i)
            {
                inst.src[i].v[..2].copy_from_slice(&v);
                literal_used = true;
                continue;
            }
            for k in 0..n {
                let v = inst.src[i].v[k];
                if v.reg().is_none() {
                    inst.src[i].v[k] = self.in_register(v, inst);
                }
            }
        }
        if literal_used {
            // The other operands must be registers then.
            for i in 0..3 {
                if shape.src[i] == 1 && inst.src[i].v[0].is_literal() {
                    inst.src[i].v[0] = self.in_register(inst.src[i].v[0], inst);
                }
            }
        }
    }

    /// A pair as one literal or constant operand, if the machine can read it so.
    fn wide_literal(&mut self, inst: &Inst, i: usize) -> Option<[Val; 2]> {
        let v = &inst.src[i].v;
        match (v[0], v[1]) {
            (Val::Const { bank, offset }, Val::Const { bank: b1, offset: o1 })
                if bank == b1 && offset % 8 == 0 && o1 == offset + 4 =>
            {
                Some([v[0], v[1]])
            }
            (Val::Imm(lo), Val::Imm(hi)) => {
                let fits = match inst.op {
                    VOp::M(op) => op.literal_of_pair([lo, hi]).is_some(),
                    _ => hi == 0,
                };
                if fits {
                    return Some([v[0], v[1]]);
                }
                let at = self.frame.literal64(u64::from(lo) | u64::from(hi) << 32)?;
                let word = |k: u16| Val::Const { bank: space::BANK_LITERAL, offset: at + k };
                Some([word(0), word(4)])
            }
            _ => None,
        }
    }

    /// A register of this block that holds a literal or constant.
    fn in_register(&mut self, v: Val, near: &Inst) -> Val {
        if let Some(&r) = self.moved.get(&v) {
            return r;
        }
        let r = self.fresh(v, near);
        self.moved.insert(v, r);
        r
    }

    /// A new register that holds a literal or constant.
    fn fresh(&mut self, v: Val, near: &Inst) -> Val {
        let mut mov = Inst::new(VOp::M(Op::Mov {}), near.line);
        mov.src[0] = Src::one(v);
        let d = self.f.new_reg();
        mov.dst[0] = Some(d);
        let id = self.f.add_inst(mov);
        self.out.push(id);
        Val::Reg(d)
    }
}

impl Val {
    /// Whether a tuple is one literal or constant operand.
    fn is_literal_tuple(self, v: &[Val; 4], n: u8) -> bool {
        v[..n as usize].iter().all(|x| x.reg().is_none()) && v[..n as usize].iter().any(|x| *x != Val::ZERO)
    }
}
