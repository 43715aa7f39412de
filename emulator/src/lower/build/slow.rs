//! Slow paths of single-precision division, reciprocal and square root: shared subroutines for subnormal,
//! zero, infinite and NaN operands and for results near the ends of the range.
//!
//! Division brings both magnitudes into [1, 2), divides them exactly as the fast path does, and puts the
//! exponents back; a subnormal result is rounded once, in integers, from the truncated quotient and the sign
//! of its exact remainder.

use trace_format::isa::{FCmp, ICmp, Lut, MufuFn, Rnd, Sign};

use super::Builder;
use super::float::{TWO_24, neg};
use super::ops::KEEP;
use crate::lower::vir::{PSrc, Val};

const SIGN: Val = Val::Imm(0x8000_0000);
const MAGNITUDE: Val = Val::Imm(0x7FFF_FFFF);

/// Name of a subroutine in a rounding.
fn named(names: [&'static str; 4], rnd: Rnd) -> &'static str {
    names[rnd as usize]
}

impl Builder<'_> {
    /// a / b of any operands.
    pub(crate) fn slow_div_f32(&mut self, a: Val, b: Val, rnd: Rnd) -> Val {
        let name = named(["div_f32_rn", "div_f32_rz", "div_f32_rm", "div_f32_rp"], rnd);
        let sub = self.subroutine(name, 2, |s, p| vec![s.div_f32_body(p[0], p[1], rnd)]);
        self.asm.call(sub, &[a, b], 1)[0]
    }

    fn div_f32_body(&mut self, a: Val, b: Val, rnd: Rnd) -> Val {
        let sign = self.asm.lop3((Lut::A ^ Lut::B) & Lut::C, a, b, SIGN);
        let (ua, ub) = (self.asm.and(a, MAGNITUDE), self.asm.and(b, MAGNITUDE));
        let a_ordinary = self.ordinary_f32(ua);
        let b_ordinary = self.ordinary_f32(ub);
        let ordinary = self.asm.pand(a_ordinary, b_ordinary);
        // Zero, infinity, NaN: multiply by the reciprocal of b's class.
        let unit = self.asm.lop3((Lut::A & Lut::B) | Lut::C, b, SIGN, super::float::ONE);
        let class = self.asm.sel(b_ordinary, unit, b);
        let inverse = self.asm.mufu(MufuFn::Rcp, KEEP, class);
        let special = self.asm.fmul(KEEP, a, inverse);

        let (ma, ea) = self.normalised_f32(ua);
        let (mb, eb) = self.normalised_f32(ub);
        let e = self.asm.isub(ea, eb);
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, mb);
        let mut q = self.asm.fmul(KEEP, ma, r);
        for _ in 0..2 {
            let rest = self.asm.ffma(KEEP, neg(mb), q, ma);
            q = self.asm.ffma(KEEP, r, rest, q);
        }
        let rest = self.asm.ffma(KEEP, neg(mb), q, ma);
        let negative = self.asm.isetp(ICmp::Lt, Sign::S32, sign, Val::ZERO);
        let rounded = match rnd {
            Rnd::Rn => q,
            Rnd::Rz => self.asm.ffma_rnd(Rnd::Rz, KEEP, r, rest, q),
            Rnd::Rp | Rnd::Rm => {
                let up = self.asm.ffma_rnd(Rnd::Rp, KEEP, r, rest, q);
                let down = self.asm.ffma_rnd(Rnd::Rm, KEEP, r, rest, q);
                let grows = if rnd == Rnd::Rp { negative.negated() } else { negative };
                self.asm.sel(grows, up, down)
            }
        };
        let normal = self.normal_f32(rounded, e, rnd, negative);

        let below = self.asm.fsetp(FCmp::Lt, KEEP, rest, Val::ZERO);
        let step = self.asm.sel(below, Val::Imm(u32::MAX), Val::ZERO);
        let truncated = self.asm.iadd(q, step);
        let inexact = self.asm.fsetp(FCmp::Neu, KEEP, rest, Val::ZERO);
        let exponent = self.asm.shr(Sign::U32, truncated, Val::Imm(23));
        let exponent = self.asm.iadd(exponent, e);
        let subnormal = self.subnormal_f32(truncated, inexact, exponent, rnd, negative);
        let is_normal = self.asm.isetp(ICmp::Ge, Sign::S32, exponent, Val::Imm(1));
        let magnitude = self.asm.sel(is_normal, normal, subnormal);
        let result = self.asm.or(magnitude, sign);
        self.asm.sel(ordinary, result, special)
    }

    /// Whether a magnitude is a number other than zero.
    fn ordinary_f32(&mut self, magnitude: Val) -> PSrc {
        let less = self.asm.iadd(magnitude, Val::Imm(u32::MAX));
        self.asm.isetp(ICmp::Lt, Sign::U32, less, Val::Imm(0x7F7F_FFFF))
    }

    /// Significand in [1, 2) and biased exponent of a magnitude.
    fn normalised_f32(&mut self, magnitude: Val) -> (Val, Val) {
        let tiny = self.asm.isetp(ICmp::Lt, Sign::U32, magnitude, Val::Imm(0x0080_0000));
        let scaled = self.scaled_where(tiny, magnitude, TWO_24);
        let shift = self.asm.sel(tiny, Val::Imm(24u32.wrapping_neg()), Val::ZERO);
        let field = self.asm.shr(Sign::U32, scaled, Val::Imm(23));
        let exponent = self.asm.iadd(field, shift);
        let fraction = self.asm.and(scaled, Val::Imm(0x007F_FFFF));
        (self.asm.or(fraction, super::float::ONE), exponent)
    }

    /// A significand with the exponent difference added, or what overflow gives.
    fn normal_f32(&mut self, significand: Val, e: Val, rnd: Rnd, negative: PSrc) -> Val {
        let moved = self.asm.shl(e, Val::Imm(23));
        let value = self.asm.iadd(significand, moved);
        let field = self.asm.shr(Sign::U32, significand, Val::Imm(23));
        let exponent = self.asm.iadd(field, e);
        let over = self.asm.isetp(ICmp::Gt, Sign::S32, exponent, Val::Imm(254));
        let limit = self.overflow(rnd, negative, Val::Imm(0x7F80_0000), Val::Imm(0x7F7F_FFFF));
        self.asm.sel(over, limit, value)
    }

    /// Infinity or the largest number, by rounding and sign.
    pub(crate) fn overflow(&mut self, rnd: Rnd, negative: PSrc, infinity: Val, largest: Val) -> Val {
        match rnd {
            Rnd::Rn => infinity,
            Rnd::Rz => largest,
            Rnd::Rp => self.asm.sel(negative, largest, infinity),
            Rnd::Rm => self.asm.sel(negative, infinity, largest),
        }
    }

    /// A truncated significand shifted below the smallest exponent and rounded once.
    fn subnormal_f32(
        &mut self,
        truncated: Val,
        inexact: PSrc,
        exponent: Val,
        rnd: Rnd,
        negative: PSrc,
    ) -> Val {
        let fraction = self.asm.and(truncated, Val::Imm(0x007F_FFFF));
        let whole = self.asm.or(fraction, Val::Imm(0x0080_0000));
        let doubled = self.asm.shl(whole, Val::Imm(1));
        let sticky = self.asm.sel(inexact, Val::Imm(1), Val::ZERO);
        let digits = self.asm.or(doubled, sticky);
        let distance = self.asm.isub(Val::Imm(2), exponent);
        let distance = self.asm.imnmx(Sign::S32, false, distance, Val::Imm(31));
        let kept = self.asm.shr(Sign::U32, digits, distance);
        let room = self.asm.isub(Val::Imm(32), distance);
        let lost = self.asm.shl(digits, room);
        let up = self.rounds_up(kept, lost, rnd, negative);
        let one = self.asm.sel(up, Val::Imm(1), Val::ZERO);
        self.asm.iadd(kept, one)
    }

    /// Whether kept digits are incremented, given the lost ones left-justified in a word.
    pub(crate) fn rounds_up(&mut self, kept: Val, lost: Val, rnd: Rnd, negative: PSrc) -> PSrc {
        match rnd {
            Rnd::Rn => {
                // More than half, or half of an odd number.
                let odd = self.asm.lop3(Lut::A | (Lut::B & Lut::C), lost, kept, Val::Imm(1));
                self.asm.isetp(ICmp::Gt, Sign::U32, odd, SIGN)
            }
            Rnd::Rz => PSrc::FALSE,
            Rnd::Rp | Rnd::Rm => {
                let any = self.asm.isetp(ICmp::Ne, Sign::U32, lost, Val::ZERO);
                let grows = if rnd == Rnd::Rp { negative.negated() } else { negative };
                self.asm.pand(any, grows)
            }
        }
    }

    /// sqrt(x) of any operand: small numbers are scaled by 2^64, the others are special.
    pub(crate) fn slow_sqrt_f32(&mut self, x: Val, rnd: Rnd) -> Val {
        let name = named(["sqrt_f32_rn", "sqrt_f32_rz", "sqrt_f32_rm", "sqrt_f32_rp"], rnd);
        let sub = self.subroutine(name, 1, |s, p| {
            let x = p[0];
            let special = s.asm.mufu(MufuFn::Sqrt, KEEP, x);
            let scaled = s.asm.fmul(KEEP, x, Val::Imm((127 + 64) << 23));
            let root = s.sqrt_f32_core(scaled, rnd);
            let small = s.asm.fmul(KEEP, root, Val::Imm((127 - 32) << 23));
            let ordinary = s.ordinary_f32(x);
            vec![s.asm.sel(ordinary, small, special)]
        });
        self.asm.call(sub, &[x], 1)[0]
    }
}
