//! Integer arithmetic: additions with and without carry flags, products of every width, minima, bit counts.
//!
//! 64-bit values are pairs of words: additions are one pseudo-operation until addresses have been folded,
//! products are chains of wide multiply-adds, comparisons a low and an extended high part.

use trace_format::isa::{Dot, ICmp, IntTy, Lut, Op, ShiftAmount, Sign};

use super::{Builder, Lowered};
use crate::lower::vir::{PSrc, Src, Val};
use crate::ptx::{AddOp, Inst, MadOp, MinMaxOp, MulMode, MulOp, ScalarType, ShiftMode};

/// Signedness as the machine names it.
pub(super) const fn sign_of(ty: ScalarType) -> Sign {
    if ty.is_signed() { Sign::S32 } else { Sign::U32 }
}

/// 64 zero bits.
pub(super) const ZERO64: [Val; 2] = [Val::ZERO, Val::ZERO];

/// The type of a part of a word that holds halves or bytes.
const fn part_of(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::U16x2 => Some(ScalarType::U16),
        ScalarType::S16x2 => Some(ScalarType::S16),
        ScalarType::U8x4 => Some(ScalarType::U8),
        ScalarType::S8x4 => Some(ScalarType::S8),
        _ => None,
    }
}

impl Builder<'_> {
    /// `add`, `addc`, `sub`, `subc`.
    pub(crate) fn add(&mut self, inst: &Inst, op: AddOp, sub: bool) -> Lowered {
        if op.ty.is_float() {
            return self.float_add(inst, op, sub);
        }
        let [x, y] = [&inst.srcs()[0], &inst.srcs()[1]];
        match op.ty.bits() {
            64 => {
                let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
                let r = if op.carry_in || op.carry_out {
                    self.carry_words(sub, a, b, op.carry_in, op.carry_out)
                } else {
                    let b = Src::two(b);
                    self.asm.add64(a, if sub { b.negated() } else { b })
                };
                self.set_pair(&inst.dsts()[0], r);
            }
            16 | 32 if part_of(op.ty).is_none() => {
                let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
                let r = if op.sat && !op.ty.is_signed() {
                    let (sum, carry) = self.asm.iadd_cc(a, b);
                    self.asm.sel(carry, Val::Imm(u32::MAX), sum)
                } else if op.sat {
                    self.saturating_add(a, b, sub)
                } else if op.carry_in || op.carry_out {
                    self.carry_words(sub, [a], [b], op.carry_in, op.carry_out)[0]
                } else {
                    let b = Src::one(b);
                    self.asm.iadd(a, if sub { b.negated() } else { b })
                };
                self.set_word(&inst.dsts()[0], r);
            }
            _ => {
                let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
                let r = self.add_parts(op, sub, a, b);
                self.set_word(&inst.dsts()[0], r);
            }
        }
        Ok(())
    }

    /// Sum or difference of the parts of a word, clamped to their type where it saturates.
    fn add_parts(&mut self, op: AddOp, sub: bool, a: Val, b: Val) -> Val {
        let part = part_of(op.ty).unwrap_or(op.ty);
        if op.sat {
            let dst = match part {
                ScalarType::U8 => IntTy::U8,
                ScalarType::S8 => IntTy::S8,
                ScalarType::S16 => IntTy::S16,
                _ => IntTy::U16,
            };
            return self.by_parts(part, [a, b], |s, [x, y]| {
                let y = if sub { Src::one(y).negated() } else { Src::one(y) };
                let sum = s.asm.iadd(x, y);
                s.asm.r1(Op::I2i { dst, src: Sign::S32 }, &[sum.into()])
            });
        }
        // The top bits stay out of the word-wide addition, so that a part's carry (or borrow) ends there.
        let table = |f: fn(u8, u8, u8) -> u8| f(Lut::A, Lut::B, Lut::C);
        let tops = if part.bits() == 8 { 0x8080_8080 } else { 0x8000_8000 };
        let top = Val::Imm(tops);
        let y = self.asm.and(b, Val::Imm(!tops));
        let (sum, fix) = if sub {
            let x = self.asm.or(a, top);
            (self.asm.isub(x, y), self.asm.lop3(table(|a, b, t| (a ^ !b) & t), a, b, top))
        } else {
            let x = self.asm.and(a, Val::Imm(!tops));
            (self.asm.iadd(x, y), self.asm.lop3(table(|a, b, t| (a ^ b) & t), a, b, top))
        };
        self.asm.xor(sum, fix)
    }

    /// A function of the halves or bytes of two words, each extended from its type.
    fn by_parts(&mut self, ty: ScalarType, words: [Val; 2], f: impl Fn(&mut Self, [Val; 2]) -> Val) -> Val {
        let count = 32 / ty.bits();
        let parts: Vec<Val> = (0..count)
            .map(|number| {
                let part = words.map(|word| match ty.bits() {
                    16 => self.half_of(word, number, ty.is_signed()),
                    _ => self.byte_of(word, number, ty.is_signed()),
                });
                f(self, part)
            })
            .collect();
        self.pack_word(&parts, ty.bits())
    }

    /// A half of a word, extended.
    pub(crate) fn half_of(&mut self, v: Val, half: u32, signed: bool) -> Val {
        let selector = match (half, signed) {
            (0, false) => 0x4410,
            (0, true) => 0x9910,
            (_, false) => 0x4432,
            (_, true) => 0xBB32,
        };
        self.asm.prmt(v, Val::Imm(selector), Val::ZERO)
    }

    /// An addition or subtraction of words, lowest first, with the carries that it takes and leaves. There is one flag,
    /// as in hardware: a subtraction adds the complement of `b`, so that its carry out is the inverted borrow, and
    /// `subc` adds the flag as `addc` does.
    fn carry_words<const N: usize>(
        &mut self,
        sub: bool,
        a: [Val; N],
        b: [Val; N],
        carry_in: bool,
        carry_out: bool,
    ) -> [Val; N] {
        let blk = self.asm.block();
        let mut flag = carry_in.then(|| self.ssa.pread(&mut self.asm.f, blk, self.carry));
        let sum = std::array::from_fn(|i| {
            let b = if sub { Src::one(b[i]).negated() } else { Src::one(b[i]) };
            let (word, carry) = match flag {
                Some(flag) => self.asm.iadd_x_cc(a[i], b, flag),
                None => self.asm.iadd_cc(a[i], b),
            };
            flag = Some(carry);
            word
        });
        if let (true, Some(flag)) = (carry_out, flag) {
            self.ssa.pwrite(blk, self.carry, flag);
        }
        sum
    }

    /// Signed addition clamped to the 32-bit range.
    fn saturating_add(&mut self, a: Val, b: Val, sub: bool) -> Val {
        let operand = if sub { Src::one(b).negated() } else { Src::one(b) };
        let sum = self.asm.iadd(a, operand);
        // Overflow where both operands have the sign that the sum lacks: (a ^ sum) & (b ^ sum), with b
        // complemented for subtractions.
        let lut = |f: fn(u8, u8, u8) -> u8| f(Lut::A, Lut::B, Lut::C);
        let table = if sub { lut(|a, b, r| (a ^ r) & (!b ^ r)) } else { lut(|a, b, r| (a ^ r) & (b ^ r)) };
        let overflow = self.asm.lop3(table, a, b, sum);
        let p = self.asm.isetp(ICmp::Lt, Sign::S32, overflow, Val::ZERO);
        let sign = self.asm.shr(Sign::S32, a, Val::Imm(31));
        let limit = self.asm.xor(sign, Val::Imm(0x7FFF_FFFF));
        self.asm.sel(p, limit, sum)
    }

    /// `mul`.
    pub(crate) fn mul(&mut self, inst: &Inst, op: MulOp) -> Lowered {
        let Some(mode) = op.mode else { return self.float_mul(inst, op) };
        self.multiply(inst, op.ty, mode, None)
    }

    /// Integer `mad`, `madc`.
    pub(crate) fn mad(&mut self, inst: &Inst, op: MadOp) -> Lowered {
        if op.sat {
            let [a, b, c] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
            let high = self.asm.imad_hi(Sign::S32, a?, b?);
            let r = self.saturating_add(high, c?, false);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        if op.carry_in || op.carry_out {
            return self.mad_carry(inst, op);
        }
        self.multiply(inst, op.ty, op.mode, Some(2))
    }

    /// `mad.cc`, `madc`: the product, then an addition with carry.
    fn mad_carry(&mut self, inst: &Inst, op: MadOp) -> Lowered {
        if op.ty.bits() == 64 {
            let [a, b, c] = [0, 1, 2].map(|i| self.pair(inst, &inst.srcs()[i]));
            let (a, b, c) = (a?, b?, c?);
            let product = match op.mode {
                MulMode::Lo => self.mul64(a, b, ZERO64),
                MulMode::Hi => self.mul64_high(sign_of(op.ty), a, b),
                MulMode::Wide => return Err(self.unsupported(inst, "wide mad with carry")),
            };
            let sum = self.carry_words(false, product, c, op.carry_in, op.carry_out);
            self.set_pair(&inst.dsts()[0], sum);
            return Ok(());
        }
        let a = self.word(inst, &inst.srcs()[0])?;
        let b = self.word(inst, &inst.srcs()[1])?;
        let c = self.word(inst, &inst.srcs()[2])?;
        let product = match op.mode {
            MulMode::Lo => self.asm.imad(a, b, Val::ZERO),
            MulMode::Hi => self.asm.imad_hi(sign_of(op.ty), a, b),
            MulMode::Wide => return Err(self.unsupported(inst, "wide mad with carry")),
        };
        let [r] = self.carry_words(false, [product], [c], op.carry_in, op.carry_out);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// a * b (+ source `c`), in the half that `mode` names.
    fn multiply(&mut self, inst: &Inst, ty: ScalarType, mode: MulMode, c: Option<usize>) -> Lowered {
        let dst = &inst.dsts()[0];
        let sign = sign_of(ty);
        match (ty.bits(), mode) {
            (16, _) => {
                let a = self.int_operand(inst, &inst.srcs()[0], ty)?;
                let b = self.int_operand(inst, &inst.srcs()[1], ty)?;
                let c = c.map(|i| self.word(inst, &inst.srcs()[i])).transpose()?.unwrap_or(Val::ZERO);
                let r = match mode {
                    MulMode::Lo | MulMode::Wide => self.asm.imad(a, b, c),
                    MulMode::Hi => {
                        let product = self.asm.imad(a, b, Val::ZERO);
                        let high = self.asm.shr(sign, product, Val::Imm(16));
                        self.asm.iadd(high, c)
                    }
                };
                self.set_word(dst, r);
            }
            (32, MulMode::Wide) => {
                let a = self.word(inst, &inst.srcs()[0])?;
                let b = self.word(inst, &inst.srcs()[1])?;
                let c = c.map(|i| self.pair(inst, &inst.srcs()[i])).transpose()?.unwrap_or(ZERO64);
                let r = self.asm.imad_wide(sign, a, b, c);
                self.set_pair(dst, r);
            }
            (32, _) => {
                let a = self.word(inst, &inst.srcs()[0])?;
                let b = self.word(inst, &inst.srcs()[1])?;
                let c = c.map(|i| self.word(inst, &inst.srcs()[i])).transpose()?.unwrap_or(Val::ZERO);
                let r = if mode == MulMode::Lo {
                    self.asm.imad(a, b, c)
                } else {
                    self.asm.r1(Op::ImadHi { sign }, &[a.into(), b.into(), c.into()])
                };
                self.set_word(dst, r);
            }
            (64, MulMode::Lo | MulMode::Hi) => {
                let a = self.pair(inst, &inst.srcs()[0])?;
                let b = self.pair(inst, &inst.srcs()[1])?;
                let c = c.map(|i| self.pair(inst, &inst.srcs()[i])).transpose()?.unwrap_or(ZERO64);
                let r = if mode == MulMode::Lo {
                    self.mul64(a, b, c)
                } else {
                    let high = self.mul64_high(sign, a, b);
                    self.asm.add64(high, c)
                };
                self.set_pair(dst, r);
            }
            _ => return Err(self.unsupported(inst, "a product of this width")),
        }
        Ok(())
    }

    /// Low 64 bits of a * b + c.
    pub(crate) fn mul64(&mut self, a: [Val; 2], b: [Val; 2], c: [Val; 2]) -> [Val; 2] {
        let low = self.asm.imad_wide(Sign::U32, a[0], b[0], c);
        let cross = self.asm.imad(a[0], b[1], low[1]);
        let high = self.asm.imad(a[1], b[0], cross);
        [low[0], high]
    }

    /// Upper 64 bits of a * b.
    pub(crate) fn mul64_high(&mut self, sign: Sign, a: [Val; 2], b: [Val; 2]) -> [Val; 2] {
        let low = self.asm.imad_wide(Sign::U32, a[0], b[0], ZERO64);
        let cross0 = self.asm.imad_wide(Sign::U32, a[0], b[1], [low[1], Val::ZERO]);
        let cross1 = self.asm.imad_wide(Sign::U32, a[1], b[0], [cross0[0], Val::ZERO]);
        let top = self.asm.imad_wide(Sign::U32, a[1], b[1], [cross0[1], Val::ZERO]);
        let unsigned = self.asm.add64(top, [cross1[1], Val::ZERO]);
        if sign == Sign::U32 {
            return unsigned;
        }
        // A negative operand counts 2^64 too much of the other one.
        let mut r = unsigned;
        for (x, y) in [(a, b), (b, a)] {
            let mask = self.asm.shr(Sign::S32, x[1], Val::Imm(31));
            let excess = [self.asm.and(y[0], mask), self.asm.and(y[1], mask)];
            r = self.asm.add64(r, Src::two(excess).negated());
        }
        r
    }

    /// `mul24`, `mad24`.
    pub(crate) fn mul24(&mut self, inst: &Inst, ty: ScalarType, high: bool, add: bool, sat: bool) -> Lowered {
        let sign = sign_of(ty);
        let a = self.word(inst, &inst.srcs()[0])?;
        let b = self.word(inst, &inst.srcs()[1])?;
        let a = self.asm.sgxt(sign, a, Val::Imm(24));
        let b = self.asm.sgxt(sign, b, Val::Imm(24));
        let c = if add { self.word(inst, &inst.srcs()[2])? } else { Val::ZERO };
        let r = if high {
            let p = self.asm.imad_wide(sign, a, b, ZERO64);
            let middle = self.asm.funnel_r(Sign::U32, p[0], p[1], Val::Imm(16), false, false, false);
            if sat { self.saturating_add(middle, c, false) } else { self.asm.iadd(middle, c) }
        } else {
            self.asm.imad(a, b, c)
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `sad`.
    pub(crate) fn sad(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let sign = sign_of(ty);
        if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let b = self.pair(inst, &inst.srcs()[1])?;
            let c = self.pair(inst, &inst.srcs()[2])?;
            let less = self.asm.isetp64(ICmp::Lt, sign, a, b);
            let (max, min) = (self.sel64(less, b, a), self.sel64(less, a, b));
            let diff = self.asm.add64(max, Src::two(min).negated());
            let r = self.asm.add64(diff, c);
            self.set_pair(&inst.dsts()[0], r);
            return Ok(());
        }
        let a = self.int_operand(inst, &inst.srcs()[0], ty)?;
        let b = self.int_operand(inst, &inst.srcs()[1], ty)?;
        let c = self.word(inst, &inst.srcs()[2])?;
        let r = self.asm.r1(Op::Vabsdiff { sign }, &[a.into(), b.into(), c.into()]);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// p ? a : b for 64 bits.
    pub(crate) fn sel64(&mut self, p: PSrc, a: [Val; 2], b: [Val; 2]) -> [Val; 2] {
        [self.asm.sel(p, a[0], b[0]), self.asm.sel(p, a[1], b[1])]
    }

    /// Integer `abs`.
    pub(crate) fn int_abs(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let negative = self.asm.isetp(ICmp::Lt, Sign::S32, a[1], Val::ZERO);
            let minus = self.asm.add64(ZERO64, Src::two(a).negated());
            let r = self.sel64(negative, minus, a);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let a = self.int_operand(inst, &inst.srcs()[0], ty)?;
            let r = self.asm.r1(Op::Iabs {}, &[a.into()]);
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// Integer `neg`.
    pub(crate) fn int_neg(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let r = self.asm.add64(ZERO64, Src::two(a).negated());
            self.set_pair(&inst.dsts()[0], r);
        } else if part_of(ty).is_some() {
            let a = self.word(inst, &inst.srcs()[0])?;
            let op = AddOp {
                ty,
                narrow: None,
                rounding: None,
                ftz: false,
                sat: false,
                carry_in: false,
                carry_out: false,
            };
            let r = self.add_parts(op, true, Val::ZERO, a);
            self.set_word(&inst.dsts()[0], r);
        } else {
            let a = self.word(inst, &inst.srcs()[0])?;
            let r = self.asm.ineg(a);
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// Integer `min` and `max`.
    pub(crate) fn int_min_max(&mut self, inst: &Inst, op: MinMaxOp, max: bool) -> Lowered {
        let sign = sign_of(op.ty);
        if let Some(ty) = part_of(op.ty) {
            let a = self.word(inst, &inst.srcs()[0])?;
            let b = self.word(inst, &inst.srcs()[1])?;
            let r = self.by_parts(ty, [a, b], |s, [x, y]| {
                let r = s.asm.imnmx(sign, max, x, y);
                if op.relu { s.asm.imnmx(Sign::S32, true, r, Val::ZERO) } else { r }
            });
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        if op.ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let b = self.pair(inst, &inst.srcs()[1])?;
            let p = self.asm.isetp64(if max { ICmp::Gt } else { ICmp::Lt }, sign, a, b);
            let r = self.sel64(p, a, b);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let a = self.int_operand(inst, &inst.srcs()[0], op.ty)?;
            let b = self.int_operand(inst, &inst.srcs()[1], op.ty)?;
            let mut r = self.asm.imnmx(sign, max, a, b);
            if op.relu {
                r = self.asm.imnmx(Sign::S32, true, r, Val::ZERO);
            }
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// `popc`.
    pub(crate) fn popc(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let words = self.value(inst, &inst.srcs()[0], ty)?;
        let mut r = self.asm.r1(Op::Popc {}, &[words[0].into()]);
        for w in &words[1..] {
            let more = self.asm.r1(Op::Popc {}, &[(*w).into()]);
            r = self.asm.iadd(r, more);
        }
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// Position of the leading one of a 64-bit value, all ones for zero.
    fn leading64(&mut self, a: [Val; 2]) -> Val {
        let flo = Op::Flo { sign: Sign::U32, sh: ShiftAmount(false) };
        let (low, high) = (self.asm.r1(flo, &[a[0].into()]), self.asm.r1(flo, &[a[1].into()]));
        let in_high = self.asm.isetp(ICmp::Ne, Sign::U32, a[1], Val::ZERO);
        let above = self.asm.iadd(high, Val::Imm(32));
        self.asm.sel(in_high, above, low)
    }

    /// `clz`: 31 - position, and the position of nothing is -1.
    pub(crate) fn clz(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let r = if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let at = self.leading64(a);
            self.asm.isub(Val::Imm(63), at)
        } else {
            let a = self.word(inst, &inst.srcs()[0])?;
            let at = self.asm.r1(Op::Flo { sign: Sign::U32, sh: ShiftAmount(false) }, &[a.into()]);
            self.asm.isub(Val::Imm(31), at)
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `bfind`.
    pub(crate) fn bfind(&mut self, inst: &Inst, ty: ScalarType, shiftamt: bool) -> Lowered {
        let r = if ty.bits() == 64 {
            let mut a = self.pair(inst, &inst.srcs()[0])?;
            if ty.is_signed() {
                let sign = self.asm.shr(Sign::S32, a[1], Val::Imm(31));
                a = [self.asm.xor(a[0], sign), self.asm.xor(a[1], sign)];
            }
            let at = self.leading64(a);
            if shiftamt {
                let none = self.asm.isetp(ICmp::Eq, Sign::U32, at, Val::Imm(u32::MAX));
                let amount = self.asm.isub(Val::Imm(63), at);
                self.asm.sel(none, Val::Imm(u32::MAX), amount)
            } else {
                at
            }
        } else {
            let a = self.word(inst, &inst.srcs()[0])?;
            self.asm.r1(Op::Flo { sign: sign_of(ty), sh: ShiftAmount(shiftamt) }, &[a.into()])
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `brev`.
    pub(crate) fn brev(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let words = self.value(inst, &inst.srcs()[0], ty)?;
        let r: Vec<Val> = words.iter().rev().map(|w| self.asm.r1(Op::Brev {}, &[(*w).into()])).collect();
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    /// `bmsk`.
    pub(crate) fn bmsk(&mut self, inst: &Inst, mode: ShiftMode) -> Lowered {
        let a = self.word(inst, &inst.srcs()[0])?;
        let b = self.word(inst, &inst.srcs()[1])?;
        let wrap = trace_format::isa::Wrap(mode == ShiftMode::Wrap);
        let r = self.asm.r1(Op::Bmsk { wrap }, &[a.into(), b.into()]);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `szext`.
    pub(crate) fn szext(&mut self, inst: &Inst, ty: ScalarType, mode: ShiftMode) -> Lowered {
        let a = self.word(inst, &inst.srcs()[0])?;
        let mut n = self.word(inst, &inst.srcs()[1])?;
        if mode == ShiftMode::Wrap {
            n = self.asm.and(n, Val::Imm(31));
        }
        let r = self.asm.sgxt(sign_of(ty), a, n);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `dp4a`, `dp2a`.
    pub(crate) fn dot(&mut self, inst: &Inst, dot: Dot, a_ty: ScalarType, b_ty: ScalarType) -> Lowered {
        let [a, b, c] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let machine = Op::Idp { dot, a: sign_of(a_ty), b: sign_of(b_ty) };
        let r = self.asm.r1(machine, &[a?.into(), b?.into(), c?.into()]);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `fns`: the n-th set bit from `base` up (or down, on reversed bits), by bisection on counts of ones.
    pub(crate) fn fns(&mut self, inst: &Inst) -> Lowered {
        let [mask, base, offset] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let (mask, base, offset) = (mask?, base?, offset?);
        let down = self.asm.isetp(ICmp::Lt, Sign::S32, offset, Val::ZERO);
        let here = self.asm.isetp(ICmp::Eq, Sign::U32, offset, Val::ZERO);
        let reversed = self.asm.r1(Op::Brev {}, &[mask.into()]);
        let bits = self.asm.sel(down, reversed, mask);
        let mirrored = self.asm.isub(Val::Imm(31), base);
        let first = self.asm.sel(down, mirrored, base);
        // An offset of zero asks for the bit at `base` alone.
        let length = self.asm.sel(here, Val::Imm(1), Val::Imm(32));
        let window =
            self.asm.r1(Op::Bmsk { wrap: trace_format::isa::Wrap(false) }, &[first.into(), length.into()]);
        let bits = self.asm.and(bits, window);
        let count = self.asm.r1(Op::Iabs {}, &[offset.into()]);
        let wanted = self.asm.imnmx(Sign::U32, true, count, Val::Imm(1));
        let all = self.asm.r1(Op::Popc {}, &[bits.into()]);
        let missing = self.asm.isetp(ICmp::Gt, Sign::U32, wanted, all);
        let (mut at, mut left) = (Val::ZERO, wanted);
        for width in [16, 8, 4, 2, 1] {
            let rest = self.asm.shr(Sign::U32, bits, at);
            let low = self.asm.and(rest, Val::Imm((1 << width) - 1));
            let ones = self.asm.r1(Op::Popc {}, &[low.into()]);
            let above = self.asm.isetp(ICmp::Gt, Sign::U32, left, ones);
            let less = self.asm.isub(left, ones);
            left = self.asm.sel(above, less, left);
            let further = self.asm.iadd(at, Val::Imm(width));
            at = self.asm.sel(above, further, at);
        }
        let mirrored = self.asm.isub(Val::Imm(31), at);
        let found = self.asm.sel(down, mirrored, at);
        let r = self.asm.sel(missing, Val::Imm(u32::MAX), found);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// A byte of a word, extended.
    pub(crate) fn byte_of(&mut self, v: Val, byte: u32, signed: bool) -> Val {
        let fill = if signed { 0x888 + byte * 0x111 } else { 0x444 };
        self.asm.prmt(v, Val::Imm(fill << 4 | byte), Val::ZERO)
    }

    /// The machine's name for an integer type.
    pub(crate) const fn int_ty(ty: ScalarType) -> Option<IntTy> {
        Some(match (ty.bits(), ty.is_signed()) {
            (8, false) => IntTy::U8,
            (8, true) => IntTy::S8,
            (16, false) => IntTy::U16,
            (16, true) => IntTy::S16,
            (32, false) => IntTy::U32,
            (32, true) => IntTy::S32,
            (64, false) => IntTy::U64,
            (64, true) => IntTy::S64,
            _ => return None,
        })
    }
}
