//! Floating-point arithmetic that the hardware does in one or a few instructions: sums, products, fused
//! multiply-adds, minima, signs, classes, and the approximate functions of the multi-function unit.

use trace_format::isa::{FCmp, Ftz, HalfTy, ICmp, Lut, Max, MufuFn, NanProp, Op, Relu, Rnd, Sat, Sign};

use super::ops::KEEP;
use super::{Builder, Lowered};
use crate::lower::vir::{PSrc, Src, Val};
use crate::ptx::{AddOp, FmaOp, Inst, MinMaxOp, MulOp, Operand, Rounding, ScalarType, TestpOp};

/// 2^24 and 2^-24 as single precision.
pub(super) const TWO_24: Val = Val::Imm(0x4B80_0000);
/// 2^12.
const TWO_12: Val = Val::Imm(0x4580_0000);
/// 2^-12.
const TWO_M12: Val = Val::Imm(0x3980_0000);
/// Smallest normal single-precision number.
const MIN_NORMAL: Val = Val::Imm(0x0080_0000);
/// 1.0.
pub(super) const ONE: Val = Val::Imm(0x3F80_0000);
/// 0.25.
const QUARTER: Val = Val::Imm(0x3E80_0000);

/// The machine's rounding; nearest where none is named.
pub(super) const fn rnd(r: Option<Rounding>) -> Rnd {
    match r {
        Some(Rounding::Rz | Rounding::Rzi) => Rnd::Rz,
        Some(Rounding::Rm | Rounding::Rmi) => Rnd::Rm,
        Some(Rounding::Rp | Rounding::Rpi) => Rnd::Rp,
        _ => Rnd::Rn,
    }
}

/// |x|.
pub(super) fn abs(v: impl Into<Src>) -> Src {
    Src { abs: true, ..v.into() }
}

/// -x.
pub(super) fn neg(v: impl Into<Src>) -> Src {
    v.into().negated()
}

/// The format of half-precision arithmetic, scalar or packed.
pub(crate) const fn half_ty(ty: ScalarType) -> Option<HalfTy> {
    match ty {
        ScalarType::F16 | ScalarType::F16x2 => Some(HalfTy::F16),
        ScalarType::Bf16 | ScalarType::Bf16x2 => Some(HalfTy::Bf16),
        _ => None,
    }
}

impl Builder<'_> {
    /// Floating-point `add` and `sub`.
    pub(crate) fn float_add(&mut self, inst: &Inst, op: AddOp, sub: bool) -> Lowered {
        let fuse = self.fusible(op.ty).filter(|_| op.rounding.is_none() && op.narrow.is_none());
        if let Some(ty) = half_ty(op.ty) {
            let b = Src::one(self.word(inst, &inst.srcs()[1])?);
            let a = self.word(inst, &inst.srcs()[0])?;
            let b = if sub { b.negated() } else { b };
            let machine = Op::Hadd2 { ty, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
            let r = self.asm.fusible_r1(fuse, machine, &[a.into(), b]);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        let (x, y) = (&inst.srcs()[0], &inst.srcs()[1]);
        let rnd = rnd(op.rounding);
        match op.ty {
            ScalarType::F32 => {
                let a = match op.narrow {
                    Some(ty) => self.half_to_f32(inst, x, ty)?,
                    None => self.word(inst, x)?,
                };
                let b = Src::one(self.word(inst, y)?);
                let b = if sub { b.negated() } else { b };
                let machine = Op::Fadd { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = self.asm.fusible_r1(fuse, machine, &[a.into(), b]);
                self.set_word(&inst.dsts()[0], r);
            }
            ScalarType::F32x2 => {
                let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
                let machine = Op::Fadd { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = [0, 1].map(|i| {
                    let b = Src::one(b[i]);
                    self.asm.fusible_r1(fuse, machine, &[a[i].into(), if sub { b.negated() } else { b }])
                });
                self.set_pair(&inst.dsts()[0], r);
            }
            ScalarType::F64 => {
                let (a, b) = (self.pair(inst, x)?, Src::two(self.pair(inst, y)?));
                let b = if sub { b.negated() } else { b };
                let r = self.asm.fusible_r2(fuse, Op::Dadd { rnd }, &[a.into(), b]);
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "arithmetic of this type")),
        }
        Ok(())
    }

    /// Floating-point `mul`.
    pub(crate) fn float_mul(&mut self, inst: &Inst, op: MulOp) -> Lowered {
        let (x, y) = (&inst.srcs()[0], &inst.srcs()[1]);
        let fuse = self.fusible(op.ty).filter(|_| op.rounding.is_none() && !op.sat);
        if let Some(ty) = half_ty(op.ty) {
            let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
            let machine = Op::Hmul2 { ty, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
            let r = self.asm.fusible_r1(fuse, machine, &[a.into(), b.into()]);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        let rnd = rnd(op.rounding);
        match op.ty {
            ScalarType::F32 => {
                let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
                let machine = Op::Fmul { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = self.asm.fusible_r1(fuse, machine, &[a.into(), b.into()]);
                self.set_word(&inst.dsts()[0], r);
            }
            ScalarType::F32x2 => {
                let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
                let machine = Op::Fmul { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = [0, 1].map(|i| self.asm.fusible_r1(fuse, machine, &[a[i].into(), b[i].into()]));
                self.set_pair(&inst.dsts()[0], r);
            }
            ScalarType::F64 => {
                let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
                let r = self.asm.fusible_r2(fuse, Op::Dmul { rnd }, &[a.into(), b.into()]);
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "arithmetic of this type")),
        }
        Ok(())
    }

    /// `fma`.
    pub(crate) fn fma(&mut self, inst: &Inst, op: FmaOp) -> Lowered {
        if op.oob {
            return Err(self.unsupported(inst, "fma.oob"));
        }
        if let Some(ty) = half_ty(op.ty) {
            let [a, b, c] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
            let machine = Op::Hfma2 { ty, ftz: Ftz(op.ftz), sat: Sat(op.sat), relu: Relu(op.relu) };
            let r = self.asm.r1(machine, &[a?.into(), b?.into(), c?.into()]);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        let rnd = rnd(Some(op.rounding));
        match op.ty {
            ScalarType::F32 => {
                let [a, b, c] = [0, 1, 2].map(|i| match op.narrow {
                    Some(ty) if i < 2 => self.half_to_f32(inst, &inst.srcs()[i], ty),
                    _ => self.word(inst, &inst.srcs()[i]),
                });
                let machine = Op::Ffma { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = self.asm.r1(machine, &[a?.into(), b?.into(), c?.into()]);
                self.set_word(&inst.dsts()[0], r);
            }
            ScalarType::F32x2 => {
                let [a, b, c] = [0, 1, 2].map(|i| self.pair(inst, &inst.srcs()[i]));
                let (a, b, c) = (a?, b?, c?);
                let machine = Op::Ffma { rnd, ftz: Ftz(op.ftz), sat: Sat(op.sat) };
                let r = [0, 1].map(|i| self.asm.r1(machine, &[a[i].into(), b[i].into(), c[i].into()]));
                self.set_pair(&inst.dsts()[0], r);
            }
            ScalarType::F64 => {
                let [a, b, c] = [0, 1, 2].map(|i| self.pair(inst, &inst.srcs()[i]));
                let r = self.asm.dfma(rnd, a?, b?, c?);
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "arithmetic of this type")),
        }
        Ok(())
    }

    /// `abs`.
    pub(crate) fn abs(&mut self, inst: &Inst, ty: ScalarType, ftz: bool) -> Lowered {
        if !ty.is_float() {
            return self.int_abs(inst, ty);
        }
        self.sign_op(inst, ty, ftz, true)
    }

    /// `neg`.
    pub(crate) fn neg(&mut self, inst: &Inst, ty: ScalarType, ftz: bool) -> Lowered {
        if !ty.is_float() {
            return self.int_neg(inst, ty);
        }
        self.sign_op(inst, ty, ftz, false)
    }

    /// Clears or flips the sign; consumers take it in as a modifier of their operand where they can.
    fn sign_op(&mut self, inst: &Inst, ty: ScalarType, ftz: bool, clear: bool) -> Lowered {
        let mut words = self.value(inst, &inst.srcs()[0], ty)?;
        let top = words.len() - 1;
        let sign = match ty {
            ScalarType::F32 | ScalarType::F32x2 | ScalarType::F64 => 0x8000_0000,
            // What a scalar's upper half holds does not matter, and both signs fold into operands.
            _ if half_ty(ty).is_some() => 0x8000_8000u32,
            _ => return Err(self.unsupported(inst, "a sign operation on this type")),
        };
        let first = if ty == ScalarType::F32x2 { 0 } else { top };
        for word in &mut words[first..] {
            *word = if clear {
                self.asm.and(*word, Val::Imm(!sign))
            } else {
                self.asm.xor(*word, Val::Imm(sign))
            };
            if ftz && matches!(ty, ScalarType::F32 | ScalarType::F32x2) {
                *word = self.flushed(*word);
            }
        }
        if let (true, Some(ty)) = (ftz, half_ty(ty)) {
            let add = Op::Hadd2 { ty, ftz: Ftz(true), sat: Sat(false) };
            words[0] = self.asm.r1(add, &[words[0].into(), Src::one(Val::Imm(0x8000_8000))]);
        }
        self.set_words(&inst.dsts()[0], &words);
        Ok(())
    }

    /// A subnormal replaced by zero of its sign.
    pub(crate) fn flushed(&mut self, v: Val) -> Val {
        self.asm.fadd(Ftz(true), v, neg(Val::ZERO))
    }

    /// `min` and `max`.
    pub(crate) fn min_max(&mut self, inst: &Inst, op: MinMaxOp, max: bool) -> Lowered {
        if op.ty.is_integer() {
            return self.int_min_max(inst, op, max);
        }
        if op.ty == ScalarType::F64 && !op.three {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let b = self.pair(inst, &inst.srcs()[1])?;
            let r = self.double_min_max(a, b, max);
            self.set_pair(&inst.dsts()[0], r);
            return Ok(());
        }
        let (ftz, nan, max) = (Ftz(op.ftz), NanProp(op.nan), Max(max));
        let machine = match half_ty(op.ty) {
            Some(ty) => Op::Hmnmx2 { ty, max, ftz, nan },
            None if op.ty == ScalarType::F32 => Op::Fmnmx { max, ftz, nan },
            None => return Err(self.unsupported(inst, "min or max of this type")),
        };
        let sources: Vec<Val> = inst.srcs().iter().map(|s| self.word(inst, s)).collect::<Lowered<_>>()?;
        let operand = |v: Val| if op.xorsign_abs { abs(v) } else { v.into() };
        let mut r = self.asm.r1(machine, &[operand(sources[0]), operand(sources[1])]);
        for &c in &sources[2..] {
            r = self.asm.r1(machine, &[r.into(), operand(c)]);
        }
        if op.xorsign_abs {
            r = self.with_signs(op.ty, r, &sources);
        }
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// A non-negative result with the exclusive or of the operands' signs, unless it is NaN.
    fn with_signs(&mut self, ty: ScalarType, r: Val, operands: &[Val]) -> Val {
        let mut signs = self.asm.xor(operands[0], operands[1]);
        for &c in &operands[2..] {
            signs = self.asm.xor(signs, c);
        }
        let merge = |lut: fn(u8, u8, u8) -> u8| lut(Lut::A, Lut::B, Lut::C);
        if let Some(ty) = half_ty(ty) {
            let numbers = self.asm.hset_mask(ty, FCmp::Num, r, r);
            let signs = self.asm.lop3(merge(|a, b, c| a & b & c), signs, numbers, Val::Imm(0x8000_8000));
            return self.asm.or(r, signs);
        }
        let signed = self.asm.lop3(merge(|a, b, c| a | (b & c)), r, signs, Val::Imm(0x8000_0000));
        let number = self.asm.fsetp(FCmp::Num, KEEP, r, r);
        self.asm.sel(number, signed, r)
    }

    /// The smaller or larger double: a number beats NaN, and -0 is below +0.
    fn double_min_max(&mut self, a: [Val; 2], b: [Val; 2], max: bool) -> [Val; 2] {
        let wins = self.asm.dsetp(if max { FCmp::Gt } else { FCmp::Lt }, a, b);
        let b_nan = self.asm.dsetp(FCmp::Nan, b, b);
        let pick_a = self.asm.por(wins, b_nan);
        let equal = self.asm.dsetp(FCmp::Eq, a, b);
        let r = self.sel64(pick_a, a, b);
        // Equal numbers differ at most in the sign of zero.
        let sign = if max { self.asm.and(a[1], b[1]) } else { self.asm.or(a[1], b[1]) };
        [r[0], self.asm.sel(equal, sign, r[1])]
    }

    /// `copysign`: the sign of a, the magnitude of b.
    pub(crate) fn copysign(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let a = self.value(inst, &inst.srcs()[0], ty)?;
        let mut b = self.value(inst, &inst.srcs()[1], ty)?;
        let top = b.len() - 1;
        let pick = (Lut::A & Lut::C) | (Lut::B & !Lut::C);
        b[top] = self.asm.lop3(pick, a[top], b[top], Val::Imm(0x8000_0000));
        self.set_words(&inst.dsts()[0], &b);
        Ok(())
    }

    /// `testp`, on the upper word: its exponent field starts at bit 23 or 20.
    pub(crate) fn testp(&mut self, inst: &Inst, ty: ScalarType, op: TestpOp) -> Lowered {
        let words = self.value(inst, &inst.srcs()[0], ty)?;
        let double = ty == ScalarType::F64;
        let (infinite, least): (u32, u32) =
            if double { (0x7FF0_0000, 0x0010_0000) } else { (0x7F80_0000, 0x0080_0000) };
        let upper = words[words.len() - 1];
        let magnitude = self.asm.and(upper, Val::Imm(0x7FFF_FFFF));
        let below = |s: &mut Self, v: Val, bound: u32| s.asm.isetp(ICmp::Lt, Sign::U32, v, Val::Imm(bound));
        let low_zero = |s: &mut Self| match double {
            true => s.asm.isetp(ICmp::Eq, Sign::U32, words[0], Val::ZERO),
            false => PSrc::TRUE,
        };
        let is_nan = |s: &mut Self| match double {
            true => s.asm.dsetp(FCmp::Nan, [words[0], words[1]], [words[0], words[1]]),
            false => s.asm.fsetp(FCmp::Nan, KEEP, words[0], words[0]),
        };
        let p = match op {
            TestpOp::Finite => below(self, magnitude, infinite),
            TestpOp::Infinite => {
                let top = self.asm.isetp(ICmp::Eq, Sign::U32, magnitude, Val::Imm(infinite));
                let low = low_zero(self);
                self.asm.pand(top, low)
            }
            TestpOp::Number => is_nan(self).negated(),
            TestpOp::NotANumber => is_nan(self),
            TestpOp::Normal => {
                // Zero counts as normal (PTX ISA, `testp`).
                let from_least = self.asm.iadd(magnitude, Val::Imm(least.wrapping_neg()));
                let normal = below(self, from_least, infinite - least);
                let any = if double { self.asm.or(magnitude, words[0]) } else { magnitude };
                let zero = self.asm.isetp(ICmp::Eq, Sign::U32, any, Val::ZERO);
                self.asm.por(normal, zero)
            }
            TestpOp::Subnormal => {
                let small = below(self, magnitude, least);
                let any = if double { self.asm.or(magnitude, words[0]) } else { magnitude };
                let nonzero = self.asm.isetp(ICmp::Ne, Sign::U32, any, Val::ZERO);
                self.asm.pand(small, nonzero)
            }
        };
        self.set_pred(&inst.dsts()[0], p);
        Ok(())
    }

    /// A half-precision operand in single precision.
    pub(crate) fn half_to_f32(&mut self, inst: &Inst, operand: &Operand, ty: ScalarType) -> Lowered<Val> {
        let v = self.word(inst, operand)?;
        let Some(half) = half_ty(ty) else {
            return Err(self.unsupported(inst, "arithmetic of this type"));
        };
        Ok(self.asm.widened_half(half, v))
    }

    /// x * factor in the lanes where `p` holds, x elsewhere: one predicated multiplication.
    pub(crate) fn scaled_where(&mut self, p: PSrc, x: Val, factor: Val) -> Val {
        self.asm.guarded_r1(
            p,
            Op::Fmul { rnd: Rnd::Rn, ftz: KEEP, sat: Sat(false) },
            &[x.into(), factor.into()],
            x,
        )
    }

    /// Whether a single-precision number is subnormal or zero.
    pub(crate) fn is_tiny(&mut self, x: Val) -> PSrc {
        self.asm.fsetp(FCmp::Geu, KEEP, abs(x), MIN_NORMAL).negated()
    }

    /// Whether the reciprocal of a single-precision number may be subnormal.
    fn is_huge(&mut self, x: Val) -> PSrc {
        self.asm.fsetp(FCmp::Gt, KEEP, abs(x), Val::Imm(0x7E80_0000))
    }

    /// `ex2`: subnormal results come from squaring the half power.
    pub(crate) fn ex2(&mut self, inst: &Inst, ty: ScalarType, ftz: bool) -> Lowered {
        if let Some(half) = half_ty(ty) {
            return self.half_function(inst, half, ty, MufuFn::Ex2);
        }
        let x = self.word(inst, &inst.srcs()[0])?;
        let r = if ftz {
            self.asm.mufu(MufuFn::Ex2, Ftz(true), x)
        } else {
            let far = self.asm.fsetp(FCmp::Geu, KEEP, x, Val::Imm((-126.0f32).to_bits())).negated();
            let half = self.scaled_where(far, x, Val::Imm(0.5f32.to_bits()));
            let power = self.asm.mufu(MufuFn::Ex2, KEEP, half);
            self.scaled_where(far, power, power)
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// A function of the multi-function unit on one or two halves, in single precision. Its flushing at 2^-126
    /// touches no half-precision result, and is what `.ftz` asks for with bfloat16.
    fn half_function(&mut self, inst: &Inst, half: HalfTy, ty: ScalarType, func: MufuFn) -> Lowered {
        let v = self.word(inst, &inst.srcs()[0])?;
        let apply = |s: &mut Self, v: Val| {
            let x = s.asm.widened_half(half, v);
            s.asm.mufu(func, Ftz(func == MufuFn::Ex2), x)
        };
        let low = apply(self, v);
        let high = if matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
            let upper = self.asm.shr(Sign::U32, v, Val::Imm(16));
            apply(self, upper)
        } else {
            Val::ZERO
        };
        let r = self.asm.f2fp(half.into(), high, low);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `lg2`: subnormal arguments are scaled by 2^24.
    pub(crate) fn lg2(&mut self, inst: &Inst, ftz: bool) -> Lowered {
        let x = self.word(inst, &inst.srcs()[0])?;
        let r = if ftz {
            self.asm.mufu(MufuFn::Lg2, Ftz(true), x)
        } else {
            let tiny = self.is_tiny(x);
            let scaled = self.scaled_where(tiny, x, TWO_24);
            let log = self.asm.mufu(MufuFn::Lg2, KEEP, scaled);
            let add = Op::Fadd { rnd: Rnd::Rn, ftz: KEEP, sat: Sat(false) };
            self.asm.guarded_r1(tiny, add, &[log.into(), Val::Imm((-24.0f32).to_bits()).into()], log)
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `sin` and `cos`: the unit takes revolutions.
    pub(crate) fn trig(&mut self, inst: &Inst, cosine: bool, ftz: bool) -> Lowered {
        let x = self.word(inst, &inst.srcs()[0])?;
        let turns = Val::Imm((0.5 / std::f32::consts::PI).to_bits());
        let x =
            self.asm.r1(Op::Fmul { rnd: Rnd::Rz, ftz: Ftz(ftz), sat: Sat(false) }, &[x.into(), turns.into()]);
        let r = self.asm.mufu(if cosine { MufuFn::Cos } else { MufuFn::Sin }, Ftz(ftz), x);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `tanh`.
    pub(crate) fn tanh(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        if let Some(half) = half_ty(ty) {
            return self.half_function(inst, half, ty, MufuFn::Tanh);
        }
        let x = self.word(inst, &inst.srcs()[0])?;
        let r = self.asm.mufu(MufuFn::Tanh, KEEP, x);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// Approximate reciprocal: the argument is scaled to where its reciprocal is normal, and the result with it.
    pub(crate) fn approx_rcp(&mut self, x: Val, ftz: bool) -> Val {
        if ftz {
            return self.asm.mufu(MufuFn::Rcp, Ftz(true), x);
        }
        let (tiny, huge) = (self.is_tiny(x), self.is_huge(x));
        let scale = self.asm.sel(tiny, TWO_24, ONE);
        let scale = self.asm.sel(huge, QUARTER, scale);
        let scaled = self.asm.fmul(KEEP, x, scale);
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, scaled);
        self.asm.fmul(KEEP, r, scale)
    }

    /// Approximate square root.
    pub(crate) fn approx_sqrt(&mut self, x: Val, ftz: bool) -> Val {
        if ftz {
            return self.asm.mufu(MufuFn::Sqrt, Ftz(true), x);
        }
        let tiny = self.is_tiny(x);
        let scaled = self.scaled_where(tiny, x, TWO_24);
        let r = self.asm.mufu(MufuFn::Sqrt, KEEP, scaled);
        self.scaled_where(tiny, r, TWO_M12)
    }

    /// Approximate reciprocal square root.
    pub(crate) fn approx_rsqrt(&mut self, x: Val, ftz: bool) -> Val {
        if ftz {
            return self.asm.mufu(MufuFn::Rsq, Ftz(true), x);
        }
        let tiny = self.is_tiny(x);
        let scaled = self.scaled_where(tiny, x, TWO_24);
        let r = self.asm.mufu(MufuFn::Rsq, KEEP, scaled);
        self.scaled_where(tiny, r, TWO_12)
    }

    /// Approximate quotient: zero where the reciprocal of the divisor is subnormal, as the PTX ISA says.
    pub(crate) fn approx_div(&mut self, a: Val, b: Val, ftz: bool) -> Val {
        if ftz {
            let r = self.asm.mufu(MufuFn::Rcp, Ftz(true), b);
            return self.asm.fmul(Ftz(true), a, r);
        }
        let tiny = self.is_tiny(b);
        let (a, b) = (self.scaled_where(tiny, a, TWO_24), self.scaled_where(tiny, b, TWO_24));
        let r = self.asm.mufu(MufuFn::Rcp, Ftz(true), b);
        self.asm.fmul(KEEP, r, a)
    }

    /// Approximate quotient over the full range: the divisor is kept where its reciprocal is normal.
    pub(crate) fn full_div(&mut self, a: Val, b: Val, ftz: bool) -> Val {
        let huge = self.is_huge(b);
        let b = self.scaled_where(huge, b, QUARTER);
        let (b, tiny) = if ftz {
            (b, None)
        } else {
            let tiny = self.is_tiny(b);
            (self.scaled_where(tiny, b, TWO_24), Some(tiny))
        };
        let r = self.asm.mufu(MufuFn::Rcp, Ftz(ftz), b);
        let mut q = self.asm.fmul(Ftz(ftz), a, r);
        if let Some(tiny) = tiny {
            q = self.scaled_where(tiny, q, TWO_24);
        }
        self.scaled_where(huge, q, QUARTER)
    }
}
