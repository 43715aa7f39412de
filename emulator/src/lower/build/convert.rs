//! Conversions between integer and floating-point types, and between address spaces.

use trace_format::isa::{
    FloatTy, Ftz, ICmp, IntRnd, IntTy, Op, PackRnd, Relu, Rnd, Sat, SatFinite, Sign, space,
};

use super::float::{neg, rnd};
use super::int::sign_of;
use super::ops::KEEP;
use super::{Builder, Lowered};
use crate::lower::vir::{Src, Val};
use crate::ptx::{CvtOp, Inst, Rounding, ScalarType, StateSpace};

/// The machine's name for a floating-point type, if it converts it.
pub(super) const fn float_ty(ty: ScalarType) -> Option<FloatTy> {
    match ty {
        ScalarType::F16 => Some(FloatTy::F16),
        ScalarType::Bf16 => Some(FloatTy::Bf16),
        ScalarType::F32 => Some(FloatTy::F32),
        ScalarType::F64 => Some(FloatTy::F64),
        ScalarType::Tf32 => Some(FloatTy::Tf32),
        _ => None,
    }
}

/// The machine's name for the two elements of a packed floating-point type.
const fn packed_ty(ty: ScalarType) -> Option<FloatTy> {
    Some(match ty {
        ScalarType::F16x2 => FloatTy::F16,
        ScalarType::Bf16x2 => FloatTy::Bf16,
        ScalarType::E4m3x2 => FloatTy::E4m3,
        ScalarType::E5m2x2 => FloatTy::E5m2,
        ScalarType::E3m2x2 => FloatTy::E3m2,
        ScalarType::E2m3x2 => FloatTy::E2m3,
        ScalarType::E2m1x2 => FloatTy::E2m1,
        _ => return None,
    })
}

/// Rounding to an integer value, if one is named.
const fn int_rnd(r: Option<Rounding>) -> Option<IntRnd> {
    match r {
        Some(Rounding::Rni) => Some(IntRnd::Nearest),
        Some(Rounding::Rzi) => Some(IntRnd::Trunc),
        Some(Rounding::Rmi) => Some(IntRnd::Floor),
        Some(Rounding::Rpi) => Some(IntRnd::Ceil),
        _ => None,
    }
}

impl Builder<'_> {
    /// `cvt`.
    pub(crate) fn cvt(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        if op.rounding == Some(Rounding::Rs) {
            return Err(self.unsupported(inst, "stochastic rounding"));
        }
        match (op.dst_ty.is_float(), op.src_ty.is_float()) {
            (false, false) => self.cvt_int(inst, op),
            (true, false) => self.cvt_int_to_float(inst, op),
            (false, true) => self.cvt_float_to_int(inst, op),
            (true, true) => self.cvt_float(inst, op),
        }
    }

    fn cvt_int(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        let (dst, src) = (&inst.dsts()[0], &inst.srcs()[0]);
        let (to, from) = (op.dst_ty, op.src_ty);
        if op.sat {
            return self.cvt_int_sat(inst, op);
        }
        if from.bits() == 64 {
            let v = self.pair(inst, src)?;
            if to.bits() == 64 {
                self.set_pair(dst, v);
            } else {
                self.set_narrow(dst, v[0], to);
            }
            return Ok(());
        }
        let raw = self.word(inst, src)?;
        if to.bits() < from.bits() || (to.bits() == from.bits() && to.bits() >= 32) {
            self.set_narrow(dst, raw, to);
        } else {
            let v = self.extended(raw, from);
            if to.bits() > 32 {
                let high =
                    if from.is_signed() { self.asm.shr(Sign::S32, v, Val::Imm(31)) } else { Val::ZERO };
                self.set_pair(dst, [v, high]);
            } else {
                self.set_narrow(dst, v, to);
            }
        }
        Ok(())
    }

    /// Assigns a value of a narrow type, extended where the register is wider than the type.
    fn set_narrow(&mut self, dst: &crate::ptx::Operand, v: Val, ty: ScalarType) {
        let wider = dst.reg().is_some_and(|r| self.reg_type(r).bits() > ty.bits());
        let v = if wider { self.extended(v, ty) } else { v };
        self.set_extended(dst, &[v], ty);
    }

    /// Conversion with saturation to the range of the result.
    fn cvt_int_sat(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        let (dst, src) = (&inst.dsts()[0], &inst.srcs()[0]);
        let (to, from) = (op.dst_ty, op.src_ty);
        let Some(int) = Self::int_ty(to) else { return Err(self.unsupported(inst, "this form of cvt")) };
        if from.bits() < 64 && to.bits() < 64 {
            let v = self.int_operand(inst, src, from)?;
            let r = self.asm.r1(Op::I2i { dst: int, src: sign_of(from) }, &[v.into()]);
            self.set_extended(dst, &[r], to);
            return Ok(());
        }
        let v = if from.bits() == 64 {
            self.pair(inst, src)?
        } else {
            let v = self.int_operand(inst, src, from)?;
            [v, if from.is_signed() { self.asm.shr(Sign::S32, v, Val::Imm(31)) } else { Val::ZERO }]
        };
        let sign = sign_of(from);
        let bits = to.bits();
        let (low, high): (i128, i128) =
            if to.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let word64 = |x: i128| [Val::Imm(x as u32), Val::Imm((x >> 32) as u32)];
        let (source_low, source_high): (i128, i128) =
            if from.is_signed() { (-(1 << 63), (1 << 63) - 1) } else { (0, (1 << 64) - 1) };
        let mut r = v;
        if low > source_low {
            let p = self.asm.isetp64(ICmp::Lt, sign, v, word64(low));
            r = self.sel64(p, word64(low), r);
        }
        if high < source_high {
            let p = self.asm.isetp64(ICmp::Gt, sign, v, word64(high));
            r = self.sel64(p, word64(high), r);
        }
        if bits == 64 {
            self.set_pair(dst, r);
        } else {
            self.set_extended(dst, &[r[0]], to);
        }
        Ok(())
    }

    fn cvt_int_to_float(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        let (Some(dst), Some(src)) = (float_ty(op.dst_ty), Self::int_ty(op.src_ty)) else {
            return Err(self.unsupported(inst, "this form of cvt"));
        };
        let v = self.value(inst, &inst.srcs()[0], op.src_ty)?;
        let machine = Op::I2f { dst, src, rnd: rnd(op.rounding) };
        let mut r = self.float_result(machine, dst, &v);
        if op.sat {
            r = self.saturated(dst, &r);
        }
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    fn float_result(&mut self, op: Op, ty: FloatTy, srcs: &[Val]) -> Vec<Val> {
        if ty == FloatTy::F64 {
            self.asm.r2(op, &[Src::many(srcs)]).to_vec()
        } else {
            vec![self.asm.r1(op, &[Src::many(srcs)])]
        }
    }

    fn saturated(&mut self, ty: FloatTy, v: &[Val]) -> Vec<Val> {
        let op = Op::F2f { dst: ty, src: ty, rnd: Rnd::Rn, ftz: KEEP, sat: Sat(true) };
        self.float_result(op, ty, v)
    }

    fn cvt_float_to_int(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        let (Some(src), Some(dst)) = (float_ty(op.src_ty), Self::int_ty(op.dst_ty)) else {
            return Err(self.unsupported(inst, "this form of cvt"));
        };
        let v = self.value(inst, &inst.srcs()[0], op.src_ty)?;
        let rnd = int_rnd(op.rounding).unwrap_or(IntRnd::Trunc);
        let machine = Op::F2i { dst, src, rnd, ftz: Ftz(op.ftz) };
        if dst.regs() == 2 {
            let r = self.asm.r2(machine, &[Src::many(&v)]);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let r = self.asm.r1(machine, &[Src::many(&v)]);
            let ty = if matches!(dst, IntTy::U8 | IntTy::U16) { ScalarType::U32 } else { op.dst_ty };
            self.set_extended(&inst.dsts()[0], &[r], ty);
        }
        Ok(())
    }

    fn cvt_float(&mut self, inst: &Inst, op: CvtOp) -> Lowered {
        if let Some(dst) = packed_ty(op.dst_ty) {
            return self.cvt_pack_floats(inst, op, dst);
        }
        let special = op.relu || op.satfinite || op.rounding == Some(Rounding::Rna);
        let (Some(dst), Some(src)) = (float_ty(op.dst_ty), float_ty(op.src_ty)) else {
            return Err(self.unsupported(inst, "this form of cvt"));
        };
        if special || dst == FloatTy::Tf32 {
            let v = self.word(inst, &inst.srcs()[0])?;
            let r = self.packed(op, dst, [Val::ZERO, v]);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        let v = self.value(inst, &inst.srcs()[0], op.src_ty)?;
        let ftz = Ftz(op.ftz && (src == FloatTy::F32 || dst == FloatTy::F32));
        let sat = Sat(op.sat);
        let r = match int_rnd(op.rounding) {
            Some(rnd) if dst == src => self.float_result(Op::Frnd { ty: dst, rnd, ftz, sat }, dst, &v),
            Some(_) => return Err(self.unsupported(inst, "this form of cvt")),
            None if dst == src && dst == FloatTy::F32 && (ftz.0 || sat.0) => {
                let add = Op::Fadd { rnd: Rnd::Rn, ftz, sat };
                vec![self.asm.r1(add, &[v[0].into(), neg(Val::ZERO)])]
            }
            None if dst == src && !sat.0 => v,
            None => self.float_result(Op::F2f { dst, src, rnd: rnd(op.rounding), ftz, sat }, dst, &v),
        };
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    /// Single-precision values in a narrow format, the first in the upper place.
    fn packed(&mut self, op: CvtOp, dst: FloatTy, [high, low]: [Val; 2]) -> Val {
        let rnd = match op.rounding {
            Some(Rounding::Rz) => PackRnd::Zero,
            Some(Rounding::Rm) => PackRnd::Down,
            Some(Rounding::Rp) => PackRnd::Up,
            Some(Rounding::Rna) => PackRnd::Away,
            _ => PackRnd::Nearest,
        };
        let machine = Op::F2fp { dst, rnd, relu: Relu(op.relu), fin: SatFinite(op.satfinite) };
        self.asm.r1(machine, &[high.into(), low.into()])
    }

    /// Conversions to two floats in a register: from two single-precision values, or from another packed
    /// format by way of single precision, which holds every value of theirs.
    fn cvt_pack_floats(&mut self, inst: &Inst, op: CvtOp, dst: FloatTy) -> Lowered {
        let parts = match packed_ty(op.src_ty) {
            None if op.src_ty == ScalarType::F32 => {
                [self.word(inst, &inst.srcs()[0])?, self.word(inst, &inst.srcs()[1])?]
            }
            Some(src) => {
                let v = self.word(inst, &inst.srcs()[0])?;
                let bits = match src {
                    FloatTy::F16 | FloatTy::Bf16 => 16,
                    FloatTy::E2m1 => 4,
                    _ => 8,
                };
                let widen = Op::F2f { dst: FloatTy::F32, src, rnd: Rnd::Rn, ftz: KEEP, sat: Sat(false) };
                let upper = self.asm.shr(Sign::U32, v, Val::Imm(bits));
                [upper, v].map(|v| self.asm.r1(widen, &[v.into()]))
            }
            _ => return Err(self.unsupported(inst, "this form of cvt")),
        };
        let r = self.packed(op, dst, parts);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `cvt.pack`: `a` above `b`, each saturated to the narrow type, and `c` above both.
    pub(crate) fn cvt_pack(&mut self, inst: &Inst, ty: ScalarType, merge: bool) -> Lowered {
        let [a, b] = [0, 1].map(|i| self.word(inst, &inst.srcs()[i]));
        let [a, b] = [a?, b?].map(|v| self.saturated_int(v, ty));
        let both = match ty.bits() {
            bits @ (8 | 16) => self.pack_word(&[b, a], bits),
            bits => {
                let mask = Val::Imm((1 << bits) - 1);
                let (a, b) = (self.asm.and(a, mask), self.asm.and(b, mask));
                let a = self.asm.shl(a, Val::Imm(bits));
                self.asm.or(a, b)
            }
        };
        let r = if !merge {
            both
        } else {
            let c = self.word(inst, &inst.srcs()[2])?;
            match ty.bits() {
                16 => both,
                8 => self.pack_word(&[both, c], 16),
                bits => {
                    let c = self.asm.shl(c, Val::Imm(2 * bits));
                    self.asm.or(both, c)
                }
            }
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// A signed word clamped to a type of at most 16 bits.
    fn saturated_int(&mut self, v: Val, ty: ScalarType) -> Val {
        if let Some(dst) = Self::int_ty(ty) {
            return self.asm.r1(Op::I2i { dst, src: Sign::S32 }, &[v.into()]);
        }
        let (min, max) = if ty.is_signed() {
            (-(1i32 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1)
        } else {
            (0, (1 << ty.bits()) - 1)
        };
        let v = self.asm.imnmx(Sign::S32, true, v, Val::Imm(min as u32));
        self.asm.imnmx(Sign::S32, false, v, Val::Imm(max as u32))
    }

    /// `cvta`: only the upper word of an address tells its space.
    pub(crate) fn cvta(&mut self, inst: &Inst, to: bool, space: StateSpace, ty: ScalarType) -> Lowered {
        let v = if ty.bits() == 64 {
            self.pair(inst, &inst.srcs()[0])?
        } else {
            return Err(self.unsupported(inst, "a 32-bit generic address"));
        };
        let window = match space {
            StateSpace::Global => None,
            StateSpace::Shared | StateSpace::SharedCluster => Some(space::SHARED_WINDOW_HI),
            StateSpace::Local => Some(space::LOCAL_WINDOW_HI),
            StateSpace::Const => Some(space::CONST_WINDOW_HI),
            // The parameters of functions lie on the stack.
            StateSpace::ParamFunc => Some(space::LOCAL_WINDOW_HI),
            StateSpace::Param if !self.in_kernel() => Some(space::LOCAL_WINDOW_HI),
            StateSpace::Param | StateSpace::ParamEntry => Some(space::PARAM_WINDOW_HI),
            _ => return Err(self.unsupported(inst, "a generic address of this space")),
        };
        let r = match window {
            None => v,
            Some(_) if to => [v[0], Val::ZERO],
            Some(high) => [v[0], Val::Imm(high)],
        };
        self.set_pair(&inst.dsts()[0], r);
        Ok(())
    }

    /// `isspacep`.
    pub(crate) fn isspacep(&mut self, inst: &Inst, space: StateSpace) -> Lowered {
        let v = self.pair(inst, &inst.srcs()[0])?;
        let is = |s: &mut Self, high: u32| s.asm.isetp(ICmp::Eq, Sign::U32, v[1], Val::Imm(high));
        let p = match space {
            StateSpace::Shared | StateSpace::SharedCluster => is(self, space::SHARED_WINDOW_HI),
            StateSpace::Local => is(self, space::LOCAL_WINDOW_HI),
            StateSpace::Const => is(self, space::CONST_WINDOW_HI),
            StateSpace::Param | StateSpace::ParamEntry => is(self, space::PARAM_WINDOW_HI),
            StateSpace::Global => {
                self.asm.isetp(ICmp::Lt, Sign::U32, v[1], Val::Imm(space::SHARED_WINDOW_HI))
            }
            _ => return Err(self.unsupported(inst, "isspacep of this space")),
        };
        self.set_pred(&inst.dsts()[0], p);
        Ok(())
    }
}
