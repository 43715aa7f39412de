//! Logic, shifts, bit fields, comparison, selection and moves between registers.
//!
//! Predicate logic works on operands that may be complemented for free; comparisons of 64-bit integers are
//! a low and an extended high part.

use trace_format::isa::{
    BoolFloat, BoolOp as MBoolOp, FCmp, Ftz, ICmp, Kind, Lut, MemWidth, Op, PrmtMode as MPrmt, Sign,
};

use super::float::half_ty;
use super::int::sign_of;
use super::{Builder, Lowered};
use crate::lower::vir::{Func, PSrc, VOp, Val};
use crate::ptx::{
    BoolOp, CompareOp, Comparison, Inst, MovShape, Operand, PrmtMode, ScalarType, ShiftDirection, ShiftMode,
};

/// What is known of a value's size: with `true`, 0 <= v < 2^bits; with `false`, v fits `bits` bits signed.
pub(super) fn known_bits(f: &Func, v: Val, depth: u32) -> (u32, bool) {
    if let Some(x) = v.imm() {
        return if (x as i32) < 0 { (33 - x.leading_ones(), false) } else { (32 - x.leading_zeros(), true) };
    }
    let unknown = (32, false);
    let Some((id, _)) = f.def(v) else { return unknown };
    let inst = f.inst(id);
    let VOp::M(op) = inst.op else { return unknown };
    if inst.guard != PSrc::TRUE {
        return unknown;
    }
    let source = |i: usize| {
        if depth == 0 { (32, true) } else { known_bits(f, f.resolve(inst.src[i].v[0]), depth - 1) }
    };
    let info = op.info();
    if let (Kind::Load(_), Some(width)) = (info.kind, info.memory.and_then(|memory| memory.width())) {
        return match width {
            MemWidth::U8 => (8, true),
            MemWidth::U16 => (16, true),
            MemWidth::S8 => (8, false),
            MemWidth::S16 => (16, false),
            MemWidth::B32 | MemWidth::B64 | MemWidth::B128 => unknown,
        };
    }
    match op {
        Op::S2r { sr } => {
            use trace_format::isa::SpecialReg as S;
            match sr {
                S::TidX | S::TidY | S::TidZ => (11, true),
                S::LaneId | S::WarpId => (6, true),
                S::CtaidX => (31, true),
                S::CtaidY | S::CtaidZ => (16, true),
                _ => unknown,
            }
        }
        Op::Lop3 { lut: Lut(0xC0) } => {
            let (a, b) = (source(0), source(1));
            match (a.1, b.1) {
                (true, true) => (a.0.min(b.0), true),
                (true, false) => a,
                (false, true) => b,
                (false, false) => (a.0.max(b.0), false),
            }
        }
        Op::Sgxt { sign } => match inst.src[1].v[0].imm() {
            Some(n) => (n.clamp(1, 32), sign == Sign::U32),
            None => unknown,
        },
        Op::Prmt { .. } => match inst.src[1].v[0].imm() {
            Some(s) if inst.src[2].v[0] == Val::ZERO => match s & 0xFFFF {
                0x4440..=0x4443 => (8, true),
                0x8880 | 0x9991 | 0xAAA2 | 0xBBB3 => (8, false),
                0x9910 | 0xBB32 => (16, false),
                0x4400..=0x44FF => (16, true),
                _ => unknown,
            },
            _ => unknown,
        },
        Op::Sel {} | Op::Imnmx { .. } => {
            let (a, b) = (source(0), source(1));
            match (a.1, b.1) {
                (true, true) => (a.0.max(b.0), true),
                (false, false) => (a.0.max(b.0), false),
                (true, false) => ((a.0 + 1).max(b.0), false),
                (false, true) => (a.0.max(b.0 + 1), false),
            }
        }
        Op::ShfR { sign: Sign::U32, high, .. } if high.0 => match inst.src[1].v[0].imm() {
            Some(n @ 1..=31) => (32 - n, true),
            _ => unknown,
        },
        Op::Popc {} => (6, true),
        _ => unknown,
    }
}

impl Builder<'_> {
    /// `and`, `or`, `xor`, `not`, given by their truth tables.
    pub(crate) fn logic(&mut self, inst: &Inst, ty: ScalarType, lut: u8) -> Lowered {
        let second = inst.srcs().get(1);
        if ty == ScalarType::Pred {
            let a = self.pred(inst, &inst.srcs()[0])?;
            let b = second.map(|o| self.pred(inst, o)).transpose()?.unwrap_or(PSrc::TRUE);
            let r = self.asm.plop3(lut, a, b, PSrc::TRUE);
            self.set_pred(&inst.dsts()[0], r);
            return Ok(());
        }
        let a = self.value(inst, &inst.srcs()[0], ty)?;
        let b =
            second.map(|o| self.value(inst, o, ty)).transpose()?.unwrap_or_else(|| vec![Val::ZERO; a.len()]);
        let r: Vec<Val> = a.iter().zip(&b).map(|(&a, &b)| self.asm.lop3(lut, a, b, Val::ZERO)).collect();
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    /// `cnot`.
    pub(crate) fn cnot(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let p = if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let any = self.asm.or(a[0], a[1]);
            self.asm.isetp(ICmp::Eq, Sign::U32, any, Val::ZERO)
        } else {
            let unsigned = if ty.bits() == 16 { ScalarType::U16 } else { ScalarType::U32 };
            let a = self.int_operand(inst, &inst.srcs()[0], unsigned)?;
            self.asm.isetp(ICmp::Eq, Sign::U32, a, Val::ZERO)
        };
        let r = self.asm.sel(p, Val::Imm(1), Val::ZERO);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `lop3`.
    pub(crate) fn lop3(&mut self, inst: &Inst, lut: u8, combine: Option<BoolOp>) -> Lowered {
        let [a, b, c] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let r = self.asm.lop3(lut, a?, b?, c?);
        self.set_word(&inst.dsts()[0], r);
        if let Some(combine) = combine {
            let q = self.pred(inst, &inst.srcs()[3])?;
            let nonzero = self.asm.isetp(ICmp::Ne, Sign::U32, r, Val::ZERO);
            let p = self.combine(combine, nonzero, q);
            self.set_pred(&inst.dsts()[1], p);
        }
        Ok(())
    }

    fn combine(&mut self, how: BoolOp, p: PSrc, q: PSrc) -> PSrc {
        match how {
            BoolOp::And => self.asm.pand(p, q),
            BoolOp::Or => self.asm.por(p, q),
            BoolOp::Xor => self.asm.pxor(p, q),
        }
    }

    /// `shf`.
    pub(crate) fn shf(&mut self, inst: &Inst, direction: ShiftDirection, mode: ShiftMode) -> Lowered {
        let [lo, hi, n] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let (lo, hi, n) = (lo?, hi?, n?);
        let wrap = mode == ShiftMode::Wrap;
        let r = match direction {
            ShiftDirection::Left => self.asm.funnel_l(lo, hi, n, false, wrap, true),
            ShiftDirection::Right => self.asm.funnel_r(Sign::U32, lo, hi, n, false, wrap, false),
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// 64-bit a << n, amounts clamped.
    pub(crate) fn shl64(&mut self, a: [Val; 2], n: Val) -> [Val; 2] {
        match n.imm() {
            Some(64..) => super::int::ZERO64,
            Some(k @ 32..) => [Val::ZERO, self.asm.shl(a[0], Val::Imm(k - 32))],
            _ => {
                let high = self.asm.funnel_l(a[0], a[1], n, true, false, true);
                [self.asm.shl(a[0], n), high]
            }
        }
    }

    /// 64-bit a >> n, amounts clamped, arithmetic when signed.
    pub(crate) fn shr64(&mut self, sign: Sign, a: [Val; 2], n: Val) -> [Val; 2] {
        match n.imm() {
            Some(k @ 32..) => {
                let low = self.asm.shr(sign, a[1], Val::Imm((k - 32).min(32)));
                [low, self.asm.shr(sign, a[1], Val::Imm(32))]
            }
            _ => {
                let low = self.asm.funnel_r(sign, a[0], a[1], n, true, false, false);
                [low, self.asm.shr(sign, a[1], n)]
            }
        }
    }

    /// `shl`.
    pub(crate) fn shl(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let n = self.word(inst, &inst.srcs()[1])?;
        if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let r = self.shl64(a, n);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let a = self.word(inst, &inst.srcs()[0])?;
            let r = self.asm.shl(a, n);
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// `shr`.
    pub(crate) fn shr(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let n = self.word(inst, &inst.srcs()[1])?;
        if ty.bits() == 64 {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let r = self.shr64(sign_of(ty), a, n);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let unsigned = if ty.bits() == 16 { ScalarType::U16 } else { ScalarType::U32 };
            let ty = if ty.is_signed() { ty } else { unsigned };
            let a = self.int_operand(inst, &inst.srcs()[0], ty)?;
            let r = self.asm.shr(sign_of(ty), a, n);
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// Position and length of a bit field count modulo 256.
    fn field_operand(&mut self, inst: &Inst, i: usize) -> Lowered<Val> {
        let v = self.word(inst, &inst.srcs()[i])?;
        Ok(self.asm.and(v, Val::Imm(0xFF)))
    }

    /// `bfe`: shift down, then extend from the field's length.
    pub(crate) fn bfe(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let sign = sign_of(ty);
        let pos = self.field_operand(inst, 1)?;
        let len = self.field_operand(inst, 2)?;
        if ty.bits() == 32 {
            let a = self.word(inst, &inst.srcs()[0])?;
            let shifted = self.asm.shr(sign, a, pos);
            let r = self.asm.sgxt(sign, shifted, len);
            self.set_word(&inst.dsts()[0], r);
            return Ok(());
        }
        let a = self.pair(inst, &inst.srcs()[0])?;
        let shifted = self.shr64(sign, a, pos);
        let r = if sign == Sign::U32 {
            let mask = self.ones64(len);
            [self.asm.and(shifted[0], mask[0]), self.asm.and(shifted[1], mask[1])]
        } else {
            // Up and down again by 64 - len keeps the field and copies its top bit; an empty field is zero.
            let clamped = self.asm.imnmx(Sign::U32, false, len, Val::Imm(64));
            let room = self.asm.isub(Val::Imm(64), clamped);
            let up = self.shl64(shifted, room);
            self.shr64(sign, up, room)
        };
        self.set_pair(&inst.dsts()[0], r);
        Ok(())
    }

    /// 64 bits with the low `len` set.
    fn ones64(&mut self, len: Val) -> [Val; 2] {
        let ones = [Val::Imm(u32::MAX); 2];
        let above = self.shl64(ones, len);
        [self.asm.not(above[0]), self.asm.not(above[1])]
    }

    /// `bfi`: the field of `a` under a mask, the rest of `b`.
    pub(crate) fn bfi(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let pos = self.field_operand(inst, 2)?;
        let len = self.field_operand(inst, 3)?;
        // (b & !mask) | (a << pos & mask)
        let insert = (Lut::A & Lut::C) | (Lut::B & !Lut::C);
        if ty.bits() == 32 {
            let a = self.word(inst, &inst.srcs()[0])?;
            let b = self.word(inst, &inst.srcs()[1])?;
            let wrap = trace_format::isa::Wrap(false);
            let mask = self.asm.r1(Op::Bmsk { wrap }, &[pos.into(), len.into()]);
            let moved = self.asm.shl(a, pos);
            let r = self.asm.lop3(insert, moved, b, mask);
            self.set_word(&inst.dsts()[0], r);
        } else {
            let a = self.pair(inst, &inst.srcs()[0])?;
            let b = self.pair(inst, &inst.srcs()[1])?;
            let ones = self.ones64(len);
            let mask = self.shl64(ones, pos);
            let moved = self.shl64(a, pos);
            let r = [0, 1].map(|i| self.asm.lop3(insert, moved[i], b[i], mask[i]));
            self.set_pair(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// `prmt`.
    pub(crate) fn prmt(&mut self, inst: &Inst, mode: Option<PrmtMode>) -> Lowered {
        let [a, b, s] = [0, 1, 2].map(|i| self.word(inst, &inst.srcs()[i]));
        let mode = match mode {
            None => MPrmt::Index,
            Some(PrmtMode::F4e) => MPrmt::F4e,
            Some(PrmtMode::B4e) => MPrmt::B4e,
            Some(PrmtMode::Rc8) => MPrmt::Rc8,
            Some(PrmtMode::Ecl) => MPrmt::Ecl,
            Some(PrmtMode::Ecr) => MPrmt::Ecr,
            Some(PrmtMode::Rc16) => MPrmt::Rc16,
        };
        let r = self.asm.r1(Op::Prmt { mode }, &[a?.into(), s?.into(), b?.into()]);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// The comparison of `set` and `setp`, before it is combined with a predicate.
    fn compare(&mut self, inst: &Inst, op: CompareOp) -> Lowered<PSrc> {
        let (x, y) = (&inst.srcs()[0], &inst.srcs()[1]);
        if op.ty.is_float() {
            let cmp = float_comparison(op.comparison);
            return match op.ty {
                ScalarType::F32 => {
                    let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
                    Ok(self.asm.fsetp(cmp, Ftz(op.ftz), a, b))
                }
                ScalarType::F64 => {
                    let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
                    Ok(self.asm.dsetp(cmp, a, b))
                }
                _ => match half_ty(op.ty) {
                    Some(ty) => {
                        let (a, b) = (self.word(inst, x)?, self.word(inst, y)?);
                        Ok(self.asm.hsetp(ty, cmp, Ftz(op.ftz), a, b)[0])
                    }
                    None => Err(self.unsupported(inst, "a comparison of this type")),
                },
            };
        }
        let (cmp, sign) = int_comparison(op.comparison, op.ty);
        if op.ty.bits() == 64 {
            let (a, b) = (self.pair(inst, x)?, self.pair(inst, y)?);
            return Ok(self.asm.isetp64(cmp, sign, a, b));
        }
        let ty = match (op.ty.bits(), sign) {
            (16, Sign::S32) => ScalarType::S16,
            (16, Sign::U32) => ScalarType::U16,
            (32, _) => op.ty,
            _ => return Err(self.unsupported(inst, "a comparison of this type")),
        };
        let a = self.int_operand(inst, x, ty)?;
        // One value where both are one register: the result is known.
        let b = if x == y { a } else { self.int_operand(inst, y, ty)? };
        Ok(self.asm.isetp(cmp, sign, a, b))
    }

    /// `setp`.
    pub(crate) fn setp(&mut self, inst: &Inst, op: CompareOp) -> Lowered {
        if let (ScalarType::F16x2 | ScalarType::Bf16x2, Some(ty)) = (op.ty, half_ty(op.ty)) {
            let (a, b) = (self.word(inst, &inst.srcs()[0])?, self.word(inst, &inst.srcs()[1])?);
            let results = self.asm.hsetp(ty, float_comparison(op.comparison), Ftz(op.ftz), a, b);
            for (d, mut p) in inst.dsts().iter().zip(results) {
                if let Some(combine) = op.combine {
                    let c = self.pred(inst, &inst.srcs()[2])?;
                    p = self.combine(combine, p, c);
                }
                self.set_pred(d, p);
            }
            return Ok(());
        }
        let p = self.compare(inst, op)?;
        let (mut yes, mut no) = (p, p.negated());
        if let Some(combine) = op.combine {
            let c = self.pred(inst, &inst.srcs()[2])?;
            yes = self.combine(combine, yes, c);
            if inst.dsts().len() > 1 {
                no = self.combine(combine, no, c);
            }
        }
        self.set_pred(&inst.dsts()[0], yes);
        if let Some(q) = inst.dsts().get(1) {
            self.set_pred(q, no);
        }
        Ok(())
    }

    /// `set`.
    pub(crate) fn set(&mut self, inst: &Inst, dst_ty: ScalarType, op: CompareOp) -> Lowered {
        if matches!(op.ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
            return self.set_halves(inst, dst_ty, op);
        }
        let mut p = self.compare(inst, op)?;
        if let Some(combine) = op.combine {
            let c = self.pred(inst, &inst.srcs()[2])?;
            p = self.combine(combine, p, c);
        }
        let on = match dst_ty {
            ScalarType::F32 => 0x3F80_0000,
            ScalarType::F16 => 0x3C00,
            ScalarType::Bf16 => 0x3F80,
            ty if ty.is_float() => return Err(self.unsupported(inst, "a comparison into this type")),
            _ => u32::MAX,
        };
        let r = self.asm.sel(p, Val::Imm(on), Val::ZERO);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `set` of packed halves: a 1.0 or, for integer results, a mask in each half.
    fn set_halves(&mut self, inst: &Inst, dst_ty: ScalarType, op: CompareOp) -> Lowered {
        let Some(ty) = half_ty(op.ty) else {
            return Err(self.unsupported(inst, "a comparison of this type"));
        };
        let (a, b) = (self.word(inst, &inst.srcs()[0])?, self.word(inst, &inst.srcs()[1])?);
        let with = match op.combine {
            Some(_) => self.pred(inst, &inst.srcs()[2])?,
            None => PSrc::TRUE,
        };
        let bop = match op.combine {
            None | Some(BoolOp::And) => MBoolOp::And,
            Some(BoolOp::Or) => MBoolOp::Or,
            Some(BoolOp::Xor) => MBoolOp::Xor,
        };
        let cmp = float_comparison(op.comparison);
        let machine = Op::Hset2 { ty, cmp, ftz: Ftz(op.ftz), bop, bf: BoolFloat(dst_ty.is_float()) };
        let r = self.asm.r1_where(machine, &[a.into(), b.into()], with);
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// `selp`.
    pub(crate) fn selp(&mut self, inst: &Inst, ty: ScalarType) -> Lowered {
        let a = self.value(inst, &inst.srcs()[0], ty)?;
        let b = self.value(inst, &inst.srcs()[1], ty)?;
        let p = self.pred(inst, &inst.srcs()[2])?;
        let r: Vec<Val> = a.iter().zip(&b).map(|(&a, &b)| self.asm.sel(p, a, b)).collect();
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    /// `slct`.
    pub(crate) fn slct(
        &mut self,
        inst: &Inst,
        ty: ScalarType,
        selector_ty: ScalarType,
        ftz: bool,
    ) -> Lowered {
        let a = self.value(inst, &inst.srcs()[0], ty)?;
        let b = self.value(inst, &inst.srcs()[1], ty)?;
        let c = self.word(inst, &inst.srcs()[2])?;
        let p = if selector_ty.is_float() {
            self.asm.fsetp(FCmp::Ge, Ftz(ftz), c, Val::ZERO)
        } else {
            self.asm.isetp(ICmp::Ge, Sign::S32, c, Val::ZERO)
        };
        let r: Vec<Val> = a.iter().zip(&b).map(|(&a, &b)| self.asm.sel(p, a, b)).collect();
        self.set_words(&inst.dsts()[0], &r);
        Ok(())
    }

    /// `mov`: values change names; packing and unpacking words costs nothing.
    pub(crate) fn mov(&mut self, inst: &Inst, ty: ScalarType, shape: MovShape) -> Lowered {
        let (dst, src) = (&inst.dsts()[0], &inst.srcs()[0]);
        match shape {
            MovShape::Scalar if ty == ScalarType::Pred => {
                let p = self.pred(inst, src)?;
                self.set_pred(dst, p);
            }
            MovShape::Scalar => {
                let v = self.value(inst, src, ty)?;
                self.set_words(dst, &v);
            }
            MovShape::Vector => {
                let values: Vec<Vec<Val>> =
                    src.elements().iter().map(|e| self.value(inst, e, ty)).collect::<Lowered<_>>()?;
                for (d, v) in dst.elements().iter().zip(values) {
                    self.set_words(d, &v);
                }
            }
            MovShape::Pack => {
                let v = self.pack(inst, src.elements(), ty.bits())?;
                self.set_words(dst, &v);
            }
            MovShape::Unpack => {
                let v = self.value(inst, src, ty)?;
                let bits = ty.bits() / dst.elements().len().max(1) as u32;
                for (i, d) in dst.elements().iter().enumerate() {
                    if *d != Operand::Sink {
                        let part = self.part(&v, i as u32 * bits, bits);
                        self.set_words(d, &part);
                    }
                }
            }
        }
        Ok(())
    }

    /// Elements side by side, the first lowest.
    pub(crate) fn pack(&mut self, inst: &Inst, elements: &[Operand], bits: u32) -> Lowered<Vec<Val>> {
        let each = bits / elements.len().max(1) as u32;
        let mut words = Vec::new();
        if each >= 32 {
            let ty = if each == 32 { ScalarType::B32 } else { ScalarType::B64 };
            for e in elements {
                words.extend(self.value(inst, e, ty)?);
            }
            return Ok(words);
        }
        let per_word = (32 / each) as usize;
        for group in elements.chunks(per_word) {
            let parts: Vec<Val> = group.iter().map(|e| self.word(inst, e)).collect::<Lowered<_>>()?;
            words.push(self.pack_word(&parts, each));
        }
        Ok(words)
    }

    /// Up to four bytes or two halves in one word.
    pub(crate) fn pack_word(&mut self, parts: &[Val], bits: u32) -> Val {
        match (bits, parts) {
            (16, [a, b]) => self.asm.prmt(*a, Val::Imm(0x5410), *b),
            (8, [a, b]) => self.asm.prmt(*a, Val::Imm(0x0040), *b),
            (8, [a, b, c, d]) => {
                let low = self.asm.prmt(*a, Val::Imm(0x0040), *b);
                let high = self.asm.prmt(*c, Val::Imm(0x0040), *d);
                self.asm.prmt(low, Val::Imm(0x5410), high)
            }
            _ => parts.first().copied().unwrap_or(Val::ZERO),
        }
    }

    /// `bits` bits of a value from bit `at`; the parts of PTX's moves never cross words.
    fn part(&mut self, words: &[Val], at: u32, bits: u32) -> Vec<Val> {
        let first = (at / 32) as usize;
        if bits >= 32 {
            return words[first..first + (bits / 32) as usize].to_vec();
        }
        let selector = match (bits, at % 32) {
            (16, 0) => 0x3210,
            (16, _) => 0x4432,
            (_, within) => 0x4440 | (within / 8),
        };
        vec![self.asm.prmt(words[first], Val::Imm(selector), Val::ZERO)]
    }
}

/// Comparison and signedness of an integer comparison.
fn int_comparison(cmp: Comparison, ty: ScalarType) -> (ICmp, Sign) {
    let sign = sign_of(ty);
    match cmp {
        Comparison::Ne | Comparison::Neu => (ICmp::Ne, sign),
        Comparison::Lt | Comparison::Ltu => (ICmp::Lt, sign),
        Comparison::Le | Comparison::Leu => (ICmp::Le, sign),
        Comparison::Gt | Comparison::Gtu => (ICmp::Gt, sign),
        Comparison::Ge | Comparison::Geu => (ICmp::Ge, sign),
        Comparison::Lo => (ICmp::Lt, Sign::U32),
        Comparison::Ls => (ICmp::Le, Sign::U32),
        Comparison::Hi => (ICmp::Gt, Sign::U32),
        Comparison::Hs => (ICmp::Ge, Sign::U32),
        Comparison::Eq | Comparison::Equ | Comparison::Num | Comparison::Nan => (ICmp::Eq, sign),
    }
}

/// A floating-point comparison.
fn float_comparison(cmp: Comparison) -> FCmp {
    match cmp {
        Comparison::Eq => FCmp::Eq,
        Comparison::Ne => FCmp::Ne,
        Comparison::Lt | Comparison::Lo => FCmp::Lt,
        Comparison::Le | Comparison::Ls => FCmp::Le,
        Comparison::Gt | Comparison::Hi => FCmp::Gt,
        Comparison::Ge | Comparison::Hs => FCmp::Ge,
        Comparison::Equ => FCmp::Equ,
        Comparison::Neu => FCmp::Neu,
        Comparison::Ltu => FCmp::Ltu,
        Comparison::Leu => FCmp::Leu,
        Comparison::Gtu => FCmp::Gtu,
        Comparison::Geu => FCmp::Geu,
        Comparison::Num => FCmp::Num,
        Comparison::Nan => FCmp::Nan,
    }
}
