//! Video instructions: sums, differences, extremes, shifts, comparisons and products of bytes and halves.
//!
//! Hardware since Maxwell has none of them but VABSDIFF4, so they become sequences of ordinary instructions.
//! Scalar forms compute in 64 bits, which hold every intermediate of the PTX ISA's definition; SIMD forms work
//! lane by lane in 32.

use trace_format::isa::{Accumulate, ICmp, IntTy, Op, Sign};

use super::int::{ZERO64, sign_of};
use super::{Builder, Lowered};
use crate::lower::vir::{PSrc, Src, Val};
use crate::ptx::{
    Comparison, Inst, Operand, ScalarType, ShiftMode, VideoKind, VideoOp, VideoSecond, VideoSelector,
};

/// Lanes and bits per lane of a SIMD form.
const fn simd(kind: VideoKind) -> Option<(u32, u32)> {
    use VideoKind as K;
    match kind {
        K::Vadd2 | K::Vsub2 | K::Vavrg2 | K::Vabsdiff2 | K::Vmin2 | K::Vmax2 | K::Vset2 => Some((2, 16)),
        K::Vadd4 | K::Vsub4 | K::Vavrg4 | K::Vabsdiff4 | K::Vmin4 | K::Vmax4 | K::Vset4 => Some((4, 8)),
        _ => None,
    }
}

/// Whether VABSDIFF4 computes it: all bytes, each with the byte at its place, not saturated. ptxas takes it for
/// these types.
fn is_vabsdiff4(op: VideoOp) -> bool {
    let in_place = op.lanes.mask == 0xF && op.lanes.a == [0, 1, 2, 3] && op.lanes.b == [4, 5, 6, 7];
    op.kind == VideoKind::Vabsdiff4 && in_place && !op.sat && !op.dst_ty.is_signed() && op.a_ty == op.b_ty
}

/// A comparison of integers that are extended already.
const fn comparison(cmp: Option<Comparison>) -> ICmp {
    match cmp {
        Some(Comparison::Ne) => ICmp::Ne,
        Some(Comparison::Lt | Comparison::Lo) => ICmp::Lt,
        Some(Comparison::Le | Comparison::Ls) => ICmp::Le,
        Some(Comparison::Gt | Comparison::Hi) => ICmp::Gt,
        Some(Comparison::Ge | Comparison::Hs) => ICmp::Ge,
        _ => ICmp::Eq,
    }
}

/// The range of a type of `bits` bits.
const fn range(bits: u32, signed: bool) -> (i64, i64) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

const fn literal64(x: i64) -> [Val; 2] {
    [Val::Imm(x as u32), Val::Imm((x >> 32) as u32)]
}

impl Builder<'_> {
    /// Every video instruction.
    pub(crate) fn video(&mut self, inst: &Inst, op: VideoOp) -> Lowered {
        let r = match (simd(op.kind), op.kind) {
            (Some((lanes, bits)), _) => self.video_simd(inst, op, lanes, bits)?,
            (None, VideoKind::Vmad) => self.video_mad(inst, op)?,
            _ => self.video_scalar(inst, op)?,
        };
        self.set_word(&inst.dsts()[0], r);
        Ok(())
    }

    /// A part of a word, extended to 32 bits.
    fn video_part(&mut self, v: Val, part: Option<VideoSelector>, signed: bool) -> Val {
        match part {
            None => v,
            Some(VideoSelector::H0) => self.half_of(v, 0, signed),
            Some(VideoSelector::H1) => self.half_of(v, 1, signed),
            Some(VideoSelector::B0) => self.byte_of(v, 0, signed),
            Some(VideoSelector::B1) => self.byte_of(v, 1, signed),
            Some(VideoSelector::B2) => self.byte_of(v, 2, signed),
            Some(VideoSelector::B3) => self.byte_of(v, 3, signed),
        }
    }

    /// A word extended to 64 bits.
    fn widened(&mut self, v: Val, signed: bool) -> [Val; 2] {
        [v, if signed { self.asm.shr(Sign::S32, v, Val::Imm(31)) } else { Val::ZERO }]
    }

    fn video_source(
        &mut self,
        inst: &Inst,
        operand: &Operand,
        part: Option<VideoSelector>,
        ty: ScalarType,
    ) -> Lowered<[Val; 2]> {
        let v = self.word(inst, operand)?;
        let v = self.video_part(v, part, ty.is_signed());
        Ok(self.widened(v, ty.is_signed()))
    }

    /// `p ? a : b`, minimum or maximum of signed 64-bit values.
    fn extreme64(&mut self, max: bool, a: [Val; 2], b: [Val; 2]) -> [Val; 2] {
        let p = self.asm.isetp64(if max { ICmp::Gt } else { ICmp::Lt }, Sign::S32, a, b);
        self.sel64(p, a, b)
    }

    /// A 64-bit value, signed or not, clamped to a range.
    fn clamped64(&mut self, mut v: [Val; 2], sign: Sign, (min, max): (i64, i64)) -> [Val; 2] {
        if sign == Sign::S32 {
            let below = self.asm.isetp64(ICmp::Lt, sign, v, literal64(min));
            v = self.sel64(below, literal64(min), v);
        }
        let above = self.asm.isetp64(ICmp::Gt, sign, v, literal64(max));
        self.sel64(above, literal64(max), v)
    }

    fn video_scalar(&mut self, inst: &Inst, op: VideoOp) -> Lowered<Val> {
        let srcs = inst.srcs();
        let a = self.video_source(inst, &srcs[0], op.a_part, op.a_ty)?;
        let b = self.video_source(inst, &srcs[1], op.b_part, op.b_ty)?;
        let c = srcs.get(2).map(|c| self.word(inst, c)).transpose()?.unwrap_or(Val::ZERO);
        // Shifted unsigned values need all 64 bits; everything else is signed.
        let mut sign = Sign::S32;
        let t = match op.kind {
            VideoKind::Vadd => self.asm.add64(a, b),
            VideoKind::Vsub => self.asm.add64(a, Src::two(b).negated()),
            VideoKind::Vabsdiff => {
                let less = self.asm.isetp64(ICmp::Lt, Sign::S32, a, b);
                let (max, min) = (self.sel64(less, b, a), self.sel64(less, a, b));
                self.asm.add64(max, Src::two(min).negated())
            }
            VideoKind::Vmin => self.extreme64(false, a, b),
            VideoKind::Vmax => self.extreme64(true, a, b),
            VideoKind::Vset => {
                let p = self.asm.isetp64(comparison(op.comparison), Sign::S32, a, b);
                [self.asm.sel(p, Val::Imm(1), Val::ZERO), Val::ZERO]
            }
            _ => {
                let n = match op.shift_mode {
                    Some(ShiftMode::Wrap) => self.asm.and(b[0], Val::Imm(31)),
                    _ => self.asm.imnmx(Sign::U32, false, b[0], Val::Imm(32)),
                };
                sign = sign_of(op.a_ty);
                if op.kind == VideoKind::Vshl { self.shl64(a, n) } else { self.shr64(sign, a, n) }
            }
        };
        let bits = match op.second {
            VideoSecond::Merge(VideoSelector::H0 | VideoSelector::H1) => 16,
            VideoSecond::Merge(_) => 8,
            _ => 32,
        };
        let t = if op.sat { self.clamped64(t, sign, range(bits, op.dst_ty.is_signed())) } else { t };
        Ok(match op.second {
            VideoSecond::None => t[0],
            VideoSecond::Add => self.asm.iadd(t[0], c),
            VideoSecond::Min | VideoSecond::Max => {
                let c = self.widened(c, op.dst_ty.is_signed());
                self.extreme64(op.second == VideoSecond::Max, t, c)[0]
            }
            VideoSecond::Merge(part) => {
                let selector = match part {
                    VideoSelector::H0 => 0x3254,
                    VideoSelector::H1 => 0x5410,
                    VideoSelector::B0 => 0x3214,
                    VideoSelector::B1 => 0x3240,
                    VideoSelector::B2 => 0x3410,
                    VideoSelector::B3 => 0x4210,
                };
                self.asm.prmt(c, Val::Imm(selector), t[0])
            }
        })
    }

    /// `vmad`: a·b + c, either of them negated, plus one, shifted right, saturated. A third word keeps the
    /// sign of a negated unsigned product.
    fn video_mad(&mut self, inst: &Inst, op: VideoOp) -> Lowered<Val> {
        let srcs = inst.srcs();
        let a = self.video_source(inst, &srcs[0], op.a_part, op.a_ty)?;
        let b = self.video_source(inst, &srcs[1], op.b_part, op.b_ty)?;
        let c = self.word(inst, &srcs[2])?;
        let negate_product = op.negate[0] ^ op.negate[1];
        let signed = op.a_ty.is_signed() || op.b_ty.is_signed() || negate_product || op.negate[2];
        // Product of the words; a negative operand counts 2^32 too much of the other one.
        let p = self.asm.imad_wide(Sign::U32, a[0], b[0], ZERO64);
        let excess_a = self.asm.and(a[1], b[0]);
        let excess_b = self.asm.and(b[1], a[0]);
        let high = self.asm.iadd3(p[1], Src::one(excess_a).negated(), Src::one(excess_b).negated());
        let top = if op.a_ty.is_signed() || op.b_ty.is_signed() {
            self.asm.shr(Sign::S32, high, Val::Imm(31))
        } else {
            Val::ZERO
        };
        let mut t = [p[0], high, top];
        let mut carry = if op.plus_one { PSrc::TRUE } else { PSrc::FALSE };
        if negate_product {
            t = t.map(|w| self.asm.not(w));
            carry = PSrc::TRUE;
        }
        let mut c = self.widened(c, signed);
        if op.negate[2] && !negate_product {
            c = c.map(|w| self.asm.not(w));
            carry = PSrc::TRUE;
        }
        let mut sum = [Val::ZERO; 3];
        for i in 0..3 {
            let (r, out) = self.asm.iadd_x_cc(t[i], c[i.min(1)], carry);
            sum[i] = r;
            carry = out;
        }
        let n = Val::Imm(u32::from(op.scale));
        let r = [0, 1].map(|i| self.asm.funnel_r(Sign::U32, sum[i], sum[i + 1], n, false, false, false));
        if !op.sat {
            return Ok(r[0]);
        }
        let sign = if signed { Sign::S32 } else { Sign::U32 };
        Ok(self.clamped64(r, sign, range(32, signed))[0])
    }

    fn video_simd(&mut self, inst: &Inst, op: VideoOp, lanes: u32, bits: u32) -> Lowered<Val> {
        let srcs = inst.srcs();
        let sources = [self.word(inst, &srcs[0])?, self.word(inst, &srcs[1])?];
        let mut d = srcs.get(2).map(|c| self.word(inst, c)).transpose()?.unwrap_or(Val::ZERO);
        if is_vabsdiff4(op) {
            let acc = Accumulate(op.second == VideoSecond::Add);
            let c = if acc.0 { d } else { Val::ZERO };
            let [a, b] = sources.map(Src::from);
            return Ok(self.asm.r1(Op::Vabsdiff4 { sign: sign_of(op.a_ty), acc }, &[a, b, c.into()]));
        }
        let element = |s: &mut Self, choice: u8, ty: ScalarType| {
            let (word, lane) = (sources[(u32::from(choice) / lanes) as usize & 1], u32::from(choice) % lanes);
            if bits == 8 {
                s.byte_of(word, lane, ty.is_signed())
            } else {
                s.half_of(word, lane, ty.is_signed())
            }
        };
        for lane in (0..lanes).filter(|l| op.lanes.mask >> l & 1 != 0) {
            let a = element(self, op.lanes.a[lane as usize], op.a_ty);
            let b = element(self, op.lanes.b[lane as usize], op.b_ty);
            let t = self.video_lane(op, bits, a, b);
            d = if op.second == VideoSecond::Add {
                self.asm.iadd(d, t)
            } else {
                let selector = match (bits, lane) {
                    (8, lane) => 0x3210 & !(0xF << (4 * lane)) | 4 << (4 * lane),
                    (_, 0) => 0x3254,
                    _ => 0x5410,
                };
                self.asm.prmt(d, Val::Imm(selector), t)
            };
        }
        Ok(d)
    }

    /// One lane of a SIMD form on extended operands.
    fn video_lane(&mut self, op: VideoOp, bits: u32, a: Val, b: Val) -> Val {
        use VideoKind as K;
        let t = match op.kind {
            K::Vadd2 | K::Vadd4 => self.asm.iadd(a, b),
            K::Vsub2 | K::Vsub4 => self.asm.isub(a, b),
            K::Vavrg2 | K::Vavrg4 => {
                // Halves are rounded away from zero.
                let sum = self.asm.iadd(a, b);
                let negative = self.asm.shr(Sign::U32, sum, Val::Imm(31));
                let one_more = self.asm.xor(negative, Val::Imm(1));
                let rounded = self.asm.iadd(sum, one_more);
                self.asm.shr(Sign::S32, rounded, Val::Imm(1))
            }
            K::Vabsdiff2 | K::Vabsdiff4 => {
                self.asm.r1(Op::Vabsdiff { sign: Sign::S32 }, &[a.into(), b.into(), Src::RZ])
            }
            K::Vmin2 | K::Vmin4 => self.asm.imnmx(Sign::S32, false, a, b),
            K::Vmax2 | K::Vmax4 => self.asm.imnmx(Sign::S32, true, a, b),
            _ => {
                let p = self.asm.isetp(comparison(op.comparison), Sign::S32, a, b);
                return self.asm.sel(p, Val::Imm(1), Val::ZERO);
            }
        };
        if !op.sat {
            return t;
        }
        let dst = match (bits, op.dst_ty.is_signed()) {
            (8, false) => IntTy::U8,
            (8, true) => IntTy::S8,
            (_, false) => IntTy::U16,
            (_, true) => IntTy::S16,
        };
        self.asm.r1(Op::I2i { dst, src: Sign::S32 }, &[t.into()])
    }
}
