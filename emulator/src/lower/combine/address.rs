//! Rules for 64-bit sums and memory operands: wide multiply-adds with a 64-bit addend, offsets in the
//! instruction, scaled shared-memory addresses.

use super::Combiner;
use crate::lower::fold::SHL;
use crate::lower::vir::{Inst, InstId, Src, VOp, VReg, Val};
use trace_format::isa::{Extended, Kind, Op, Scale, ShiftBy, Sign};

/// Largest offset that a memory instruction carries.
const OFFSET_LIMIT: i64 = 1 << 23;

impl Combiner<'_> {
    /// Tries the rules on one instruction.
    pub(super) fn address_rules(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        if inst.op == VOp::Add64 {
            return self.sum_of_product(id) || self.sum_of_sum(id);
        }
        let Some(op) = inst.machine() else { return false };
        if matches!(op, Op::ImadWide { .. }) {
            return self.product_on_sum(id);
        }
        if matches!(op, Op::ShfL { wide, high, .. } if wide.0 && high.0) {
            return self.wide_shift(id);
        }
        if !op.takes_address() {
            return false;
        }
        if op.info().src_regs[0] == 2 {
            self.wide_offset(id)
        } else {
            self.narrow_offset(id) || self.scaled(id)
        }
    }

    /// The pair that an operand of an addition names.
    fn pair(s: &Src) -> [Val; 2] {
        [s.v[0], s.v[1]]
    }

    /// The instruction that defines both halves of a pair.
    fn pair_def(&self, v: [Val; 2]) -> Option<InstId> {
        let (low, 0) = self.f.def(v[0])? else { return None };
        let (high, 1) = self.f.def(v[1])? else { return None };
        (low == high).then_some(low)
    }

    /// x + a * b becomes a wide multiply-add, for every sum that the product takes part in.
    fn sum_of_product(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        for (p, x) in [(inst.src[0], inst.src[1]), (inst.src[1], inst.src[0])] {
            if p.neg || x.neg || (x.v[0].imm().is_some() && x.v[1].imm().is_some()) {
                continue;
            }
            let Some(def) = self.pair_def(Self::pair(&p)) else { continue };
            let product = self.f.inst(def).clone();
            let VOp::M(Op::ImadWide { sign }) = product.op else { continue };
            let zero = product.src[2].v[0] == Val::ZERO && product.src[2].v[1] == Val::ZERO;
            // One multiply-add is less work than the two additions, even in a deeper loop.
            if !zero || !self.only_sums(&product) {
                continue;
            }
            let inst = &mut self.f.insts[id.index()];
            inst.op = VOp::M(Op::ImadWide { sign });
            inst.src = [product.src[0], product.src[1], Src::two(Self::pair(&x))];
            return true;
        }
        false
    }

    /// Whether both words of a product are only used in 64-bit sums.
    fn only_sums(&self, product: &Inst) -> bool {
        product.dst[..2].iter().flatten().all(|d: &VReg| {
            let Some(users) = self.users.get(d.index()) else { return false };
            users.others == 0
                && users.insts.iter().all(|&u| match self.f.inst(u).op {
                    VOp::Add64 => true,
                    VOp::M(Op::ImadWide { .. }) => {
                        let s = &self.f.inst(u).src[2];
                        s.v[0] != Val::Reg(*d) && s.v[1] != Val::Reg(*d)
                    }
                    _ => false,
                })
        })
    }

    /// a * b + (x + k) becomes (a * b + x) + k where only addresses use it, which then carry k as an offset.
    fn product_on_sum(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id).clone();
        let Some(def) = self.pair_def(Self::pair(&inst.src[2])) else { return false };
        let sum = self.f.inst(def);
        let literal = |v: Val| v.imm().is_some();
        if sum.op != VOp::Add64
            || sum.src[0].neg
            || sum.src[1].neg
            || !sum.src[1].v[..2].iter().all(|v| literal(*v))
            || !self.only_wide_addresses(&inst)
        {
            return false;
        }
        let (x, k) = (sum.src[0], sum.src[1]);
        let (low, high) = (self.f.new_reg(), self.f.new_reg());
        let mut product = inst.clone();
        product.src[2] = x;
        product.dst = [Some(low), Some(high), None, None];
        self.insert_before(id, product);
        let inst = &mut self.f.insts[id.index()];
        inst.op = VOp::Add64;
        inst.src = [Src::two([Val::Reg(low), Val::Reg(high)]), k, Src::NONE];
        true
    }

    /// Whether both words of a value are only used as the address of memory accesses.
    fn only_wide_addresses(&self, value: &Inst) -> bool {
        value.dst[..2].iter().flatten().zip(0..).all(|(d, word): (&VReg, usize)| {
            let Some(users) = self.users.get(d.index()) else { return false };
            users.others == 0
                && users.insts.iter().all(|&u| {
                    let user = self.f.inst(u);
                    let mut mentions = 0;
                    user.for_each_val(|v| mentions += usize::from(v == Val::Reg(*d)));
                    user.machine().is_some_and(|op| op.takes_address() && op.info().src_regs[0] == 2)
                        && user.src[0].v[word] == Val::Reg(*d)
                        && mentions == 1
                })
        })
    }

    /// Literals move outwards and add up: (x + k) + l, (x + k) + y.
    fn sum_of_sum(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id).clone();
        let literal = |s: &Src| -> Option<u64> {
            let v = u64::from(s.v[0].imm()?) | u64::from(s.v[1].imm()?) << 32;
            Some(if s.neg { v.wrapping_neg() } else { v })
        };
        let word64 = |v: u64| Src::two([Val::Imm(v as u32), Val::Imm((v >> 32) as u32)]);
        for (i, j) in [(0, 1), (1, 0)] {
            let (s, other) = (inst.src[i], inst.src[j]);
            if s.neg {
                continue;
            }
            let Some(def) = self.pair_def(Self::pair(&s)) else { continue };
            let inner = self.f.inst(def).clone();
            if inner.op != VOp::Add64 {
                continue;
            }
            let Some(k) = literal(&inner.src[1]) else { continue };
            if let Some(l) = literal(&other) {
                self.f.insts[id.index()].src = [inner.src[0], word64(k.wrapping_add(l)), Src::NONE];
                return true;
            }
            let once = inner.dst[..2].iter().flatten().all(|d| self.uses(*d) == 1);
            // -x - y carries up to twice out of its low word, which one predicate cannot hold.
            if !once || (inner.src[0].neg && other.neg) || !self.no_deeper(id, def) {
                continue;
            }
            let mut sum = Inst::new(VOp::Add64, inst.line);
            sum.src = [inner.src[0], other, Src::NONE];
            let (low, high) = (self.f.new_reg(), self.f.new_reg());
            sum.dst = [Some(low), Some(high), None, None];
            self.insert_before(id, sum);
            self.f.insts[id.index()].src = [Src::two([Val::Reg(low), Val::Reg(high)]), word64(k), Src::NONE];
            return true;
        }
        false
    }

    /// An address x + k becomes address x with an offset.
    fn wide_offset(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        let Some(def) = self.pair_def(Self::pair(&inst.src[0])) else { return false };
        let sum = self.f.inst(def);
        if sum.op != VOp::Add64 || sum.src[0].neg || sum.src[1].neg {
            return false;
        }
        let (Some(low), Some(high)) = (sum.src[1].v[0].imm(), sum.src[1].v[1].imm()) else { return false };
        let k = (u64::from(low) | u64::from(high) << 32) as i64;
        let Some(offset) = k.checked_add(i64::from(inst.offset)).filter(|o| o.abs() < OFFSET_LIMIT) else {
            return false;
        };
        let base = sum.src[0];
        let inst = &mut self.f.insts[id.index()];
        inst.src[0] = base;
        inst.offset = offset as i32;
        true
    }

    /// The factor on the address of a load or store whose opcode has one.
    fn scale(inst: &Inst) -> Option<Scale> {
        let op = inst.machine().filter(|op| matches!(op.info().kind, Kind::Load(_) | Kind::Store(_)))?;
        op.with(Scale::X1)?;
        op.info().memory.map(|memory| memory.scale())
    }

    /// The same for 32-bit addresses.
    fn narrow_offset(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        // A scaled base cannot take an offset in before scaling.
        if Self::scale(inst).is_some_and(|scale| scale != Scale::X1) {
            return self.scaled_offset(id);
        }
        let base = inst.src[0].v[0];
        if let Some(k) = base.imm().filter(|&k| k != 0) {
            let inst = &mut self.f.insts[id.index()];
            inst.offset = inst.offset.wrapping_add(k as i32);
            inst.src[0].v[0] = Val::ZERO;
            return true;
        }
        let Some((def, op)) = self.definition(base) else { return false };
        if let Op::Lea { shift } = op {
            return self.shift_and_offset(id, def, shift);
        }
        if op != (Op::Iadd3 { x: Extended(false) }) {
            return false;
        }
        let Some((x, k)) = self.base_and_literal(def) else { return false };
        let inst = &mut self.f.insts[id.index()];
        let offset = inst.offset.wrapping_add(k as i32);
        inst.src[0].v[0] = x;
        inst.offset = offset;
        true
    }

    /// An address (x << s) + k becomes the shifted value with an offset, if the sum is only an address.
    fn shift_and_offset(&mut self, id: InstId, def: InstId, shift: ShiftBy) -> bool {
        let lea = self.f.inst(def).clone();
        let (Some(sum), Some(k)) = (lea.dst[0], lea.src[1].v[0].imm().filter(|&k| k != 0)) else {
            return false;
        };
        if lea.src[0].neg
            || lea.src[0].v[0].reg().is_none()
            || lea.pdst[0].is_some()
            || !self.only_addresses(sum)
        {
            return false;
        }
        let k = if lea.src[1].neg { k.wrapping_neg() } else { k };
        let shifted = self.f.new_reg();
        let mut shl = Inst::new(VOp::M(SHL), lea.line);
        shl.src = [lea.src[0], Src::one(Val::Imm(u32::from(shift.0))), Src::RZ];
        shl.dst[0] = Some(shifted);
        self.insert_before(def, shl);
        let inst = &mut self.f.insts[id.index()];
        inst.src[0].v[0] = Val::Reg(shifted);
        inst.offset = inst.offset.wrapping_add(k as i32);
        true
    }

    /// x and k of an addition x + k.
    fn base_and_literal(&self, def: InstId) -> Option<(Val, u32)> {
        let sum = self.f.inst(def);
        let literal = sum.src.iter().position(|s| s.v[0].imm().is_some_and(|k| k != 0))?;
        let mut rest = (0..3).filter(|&i| i != literal && sum.src[i].v[0].imm() != Some(0));
        let (base, None) = (rest.next()?, rest.next()) else { return None };
        let k = sum.src[literal].v[0].imm()?;
        let k = if sum.src[literal].neg { k.wrapping_neg() } else { k };
        (!sum.src[base].neg && sum.src[base].v[0].reg().is_some()).then_some((sum.src[base].v[0], k))
    }

    /// [(x + k) * s + o] becomes [x * s + (k * s + o)].
    fn scaled_offset(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        let Some(scale) = Self::scale(inst) else { return false };
        let Some((def, op)) = self.definition(inst.src[0].v[0]) else { return false };
        if op != (Op::Iadd3 { x: Extended(false) }) || self.single(inst.src[0].v[0]).is_none() {
            return false;
        }
        let Some((x, k)) = self.base_and_literal(def) else { return false };
        let inst = &mut self.f.insts[id.index()];
        inst.offset = inst.offset.wrapping_add((k << scale.shift()) as i32);
        inst.src[0].v[0] = x;
        true
    }

    /// A shared-memory address that is a shifted value becomes a scaled one, where the shift then dies.
    fn scaled(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        if Self::scale(inst) != Some(Scale::X1) {
            return false;
        }
        let base = inst.src[0].v[0];
        let Some((def, op)) = self.definition(base) else { return false };
        let shift = self.f.inst(def);
        let scale = match (op == SHL, shift.src[1].v[0].imm()) {
            (true, Some(2)) => Scale::X4,
            (true, Some(3)) => Scale::X8,
            (true, Some(4)) => Scale::X16,
            _ => return false,
        };
        let Some(r) = base.reg() else { return false };
        let Some(users) = self.users.get(r.index()) else { return false };
        let only = users.others == 0
            && users.insts.iter().all(|&u| {
                let user = self.f.inst(u);
                Self::scale(user).is_some() && user.src[1].v[0] != base
            });
        let x = shift.src[0].v[0];
        if !only || x.reg().is_none() {
            return false;
        }
        let inst = &mut self.f.insts[id.index()];
        let Some(scaled) = inst.machine().and_then(|op| op.with(scale)) else { return false };
        inst.op = VOp::M(scaled);
        inst.src[0].v[0] = x;
        true
    }

    /// A 64-bit left shift of an extended word becomes a wide product with a power of two.
    fn wide_shift(&mut self, id: InstId) -> bool {
        let inst = self.f.inst(id);
        let (a, n, upper) = (inst.src[0].v[0], inst.src[1].v[0], inst.src[2].v[0]);
        let (Some(k), Some(r)) = (n.imm().filter(|k| (1..31).contains(k)), a.reg()) else { return false };
        let sign = if upper == Val::ZERO {
            Sign::U32
        } else {
            let Some((def, Op::ShfR { sign: Sign::S32, high, .. })) = self.definition(upper) else {
                return false;
            };
            let shift = self.f.inst(def);
            if !high.0 || shift.src[2].v[0] != a || shift.src[1].v[0] != Val::Imm(31) {
                return false;
            }
            Sign::S32
        };
        // The low word's shift, behind this instruction in the same block.
        let low = self.users[r.index()].insts.iter().copied().find(|&u| {
            let user = self.f.inst(u);
            user.op == VOp::M(SHL)
                && self.is_plain(u)
                && user.src[0].v[0] == a
                && user.src[1].v[0] == n
                && self.block(u) == self.block(id)
                && self.position[u.index()] > self.position[id.index()]
        });
        let Some(low) = low else { return false };
        let Some(low_dst) = self.f.inst(low).dst[0] else { return false };
        let fresh = self.f.new_reg();
        self.f.replace(low_dst, Val::Reg(fresh));
        let inst = &mut self.f.insts[id.index()];
        inst.op = VOp::M(Op::ImadWide { sign });
        inst.src = [Src::one(a), Src::one(Val::Imm(1 << k)), Src::two([Val::ZERO; 2])];
        inst.dst = [Some(fresh), inst.dst[0], None, None];
        self.f.note_defs(id);
        true
    }
}
