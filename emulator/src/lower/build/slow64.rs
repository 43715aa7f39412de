//! Slow paths of double-precision division, reciprocal and square root: the same scheme as in `slow`, on
//! register pairs.

use trace_format::isa::{FCmp, ICmp, Lut, MufuFn, Op, Rnd, Sign};

use super::Builder;
use super::float::neg;
use super::int::ZERO64;
use super::ops::KEEP;
use super::roots::ONE64;
use crate::lower::vir::{PSrc, Val};

const SIGN: Val = Val::Imm(0x8000_0000);
const MAGNITUDE: Val = Val::Imm(0x7FFF_FFFF);

/// 2^n as a double.
const fn power(n: i32) -> [Val; 2] {
    [Val::ZERO, Val::Imm(((1023 + n) as u32) << 20)]
}

impl Builder<'_> {
    /// a / b of any operands.
    pub(crate) fn slow_div_f64(&mut self, a: [Val; 2], b: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let name = ["div_f64_rn", "div_f64_rz", "div_f64_rm", "div_f64_rp"][rnd as usize];
        let sub = self.subroutine(name, 4, |s, p| s.div_f64_body([p[0], p[1]], [p[2], p[3]], rnd).to_vec());
        let r = self.asm.call(sub, &[a[0], a[1], b[0], b[1]], 2);
        [r[0], r[1]]
    }

    fn div_f64_body(&mut self, a: [Val; 2], b: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let sign = self.asm.lop3((Lut::A ^ Lut::B) & Lut::C, a[1], b[1], SIGN);
        let (ua, ub) = ([a[0], self.asm.and(a[1], MAGNITUDE)], [b[0], self.asm.and(b[1], MAGNITUDE)]);
        let a_ordinary = self.ordinary_f64(ua);
        let b_ordinary = self.ordinary_f64(ub);
        let ordinary = self.asm.pand(a_ordinary, b_ordinary);
        let special = self.special_quotient(a, b, b_ordinary);

        let (ma, ea) = self.normalised_f64(ua);
        let (mb, eb) = self.normalised_f64(ub);
        let e = self.asm.isub(ea, eb);
        let r = self.rcp_f64_core(mb);
        let mut q = self.asm.dmul(Rnd::Rn, ma, r);
        for _ in 0..2 {
            let rest = self.asm.dfma(Rnd::Rn, neg(mb), q, ma);
            q = self.asm.dfma(Rnd::Rn, r, rest, q);
        }
        let rest = self.asm.dfma(Rnd::Rn, neg(mb), q, ma);
        let negative = self.asm.isetp(ICmp::Lt, Sign::S32, sign, Val::ZERO);
        let rounded = match rnd {
            Rnd::Rn => q,
            Rnd::Rz => self.asm.dfma(Rnd::Rz, r, rest, q),
            Rnd::Rp | Rnd::Rm => {
                let up = self.asm.dfma(Rnd::Rp, r, rest, q);
                let down = self.asm.dfma(Rnd::Rm, r, rest, q);
                let grows = if rnd == Rnd::Rp { negative.negated() } else { negative };
                self.sel64(grows, up, down)
            }
        };
        let normal = self.normal_f64(rounded, e, rnd, negative);

        let below = self.asm.dsetp(FCmp::Lt, rest, ZERO64);
        let step = self.asm.sel(below, Val::Imm(u32::MAX), Val::ZERO);
        let truncated = self.asm.add64(q, [step, step]);
        let inexact = self.asm.dsetp(FCmp::Neu, rest, ZERO64);
        let exponent = self.asm.shr(Sign::U32, truncated[1], Val::Imm(20));
        let exponent = self.asm.iadd(exponent, e);
        let subnormal = self.subnormal_f64(truncated, inexact, exponent, rnd, negative);
        let is_normal = self.asm.isetp(ICmp::Ge, Sign::S32, exponent, Val::Imm(1));
        let magnitude = self.sel64(is_normal, normal, subnormal);
        let result = [magnitude[0], self.asm.or(magnitude[1], sign)];
        self.sel64(ordinary, result, special)
    }

    /// The quotient where an operand is zero, infinite or NaN.
    fn special_quotient(&mut self, a: [Val; 2], b: [Val; 2], b_ordinary: PSrc) -> [Val; 2] {
        let unit = self.asm.lop3((Lut::A & Lut::B) | Lut::C, b[1], SIGN, Val::Imm(0x3FF0_0000));
        let class = self.asm.sel(b_ordinary, unit, b[1]);
        let inverse = [Val::ZERO, self.asm.mufu(MufuFn::Rcp64h, KEEP, class)];
        let product = self.asm.dmul(Rnd::Rn, a, inverse);
        let sum = self.asm.r2(Op::Dadd { rnd: Rnd::Rn }, &[a.into(), b.into()]);
        let nan = self.asm.dsetp(FCmp::Nan, a, b);
        self.sel64(nan, sum, product)
    }

    /// Whether a magnitude is a number other than zero.
    fn ordinary_f64(&mut self, magnitude: [Val; 2]) -> PSrc {
        let finite = self.asm.isetp(ICmp::Lt, Sign::U32, magnitude[1], Val::Imm(0x7FF0_0000));
        let any = self.asm.or(magnitude[0], magnitude[1]);
        let nonzero = self.asm.isetp(ICmp::Ne, Sign::U32, any, Val::ZERO);
        self.asm.pand(finite, nonzero)
    }

    /// Significand in [1, 2) and biased exponent of a magnitude.
    fn normalised_f64(&mut self, magnitude: [Val; 2]) -> ([Val; 2], Val) {
        let tiny = self.asm.isetp(ICmp::Lt, Sign::U32, magnitude[1], Val::Imm(0x0010_0000));
        let scaled = self.asm.dmul(Rnd::Rn, magnitude, power(54));
        let n = self.sel64(tiny, scaled, magnitude);
        let shift = self.asm.sel(tiny, Val::Imm(54u32.wrapping_neg()), Val::ZERO);
        let field = self.asm.shr(Sign::U32, n[1], Val::Imm(20));
        let exponent = self.asm.iadd(field, shift);
        let fraction = self.asm.and(n[1], Val::Imm(0x000F_FFFF));
        ([n[0], self.asm.or(fraction, ONE64[1])], exponent)
    }

    fn normal_f64(&mut self, significand: [Val; 2], e: Val, rnd: Rnd, negative: PSrc) -> [Val; 2] {
        let moved = self.asm.shl(e, Val::Imm(20));
        let value = [significand[0], self.asm.iadd(significand[1], moved)];
        let field = self.asm.shr(Sign::U32, significand[1], Val::Imm(20));
        let exponent = self.asm.iadd(field, e);
        let over = self.asm.isetp(ICmp::Gt, Sign::S32, exponent, Val::Imm(2046));
        let low = self.overflow(rnd, negative, Val::ZERO, Val::Imm(u32::MAX));
        let high = self.overflow(rnd, negative, Val::Imm(0x7FF0_0000), Val::Imm(0x7FEF_FFFF));
        self.sel64(over, [low, high], value)
    }

    fn subnormal_f64(
        &mut self,
        truncated: [Val; 2],
        inexact: PSrc,
        exponent: Val,
        rnd: Rnd,
        negative: PSrc,
    ) -> [Val; 2] {
        let fraction = self.asm.and(truncated[1], Val::Imm(0x000F_FFFF));
        let whole = [truncated[0], self.asm.or(fraction, Val::Imm(0x0010_0000))];
        let doubled = self.shl64(whole, Val::Imm(1));
        let sticky = self.asm.sel(inexact, Val::Imm(1), Val::ZERO);
        let digits = [self.asm.or(doubled[0], sticky), doubled[1]];
        let distance = self.asm.isub(Val::Imm(2), exponent);
        let distance = self.asm.imnmx(Sign::S32, false, distance, Val::Imm(63));
        let kept = self.shr64(Sign::U32, digits, distance);
        let room = self.asm.isub(Val::Imm(64), distance);
        let lost = self.shl64(digits, room);
        let low = self.asm.isetp(ICmp::Ne, Sign::U32, lost[0], Val::ZERO);
        let low = self.asm.sel(low, Val::Imm(1), Val::ZERO);
        let lost = self.asm.or(lost[1], low);
        let up = self.rounds_up(kept[0], lost, rnd, negative);
        let one = self.asm.sel(up, Val::Imm(1), Val::ZERO);
        self.asm.add64(kept, [one, Val::ZERO])
    }

    /// sqrt(x) of any operand: small numbers are scaled by 2^128, huge ones by 2^-128, the others are
    /// special.
    pub(crate) fn slow_sqrt_f64(&mut self, x: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let name = ["sqrt_f64_rn", "sqrt_f64_rz", "sqrt_f64_rm", "sqrt_f64_rp"][rnd as usize];
        let sub = self.subroutine(name, 2, |s, p| s.sqrt_f64_body([p[0], p[1]], rnd).to_vec());
        let r = self.asm.call(sub, &x, 2);
        [r[0], r[1]]
    }

    fn sqrt_f64_body(&mut self, x: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let huge = self.asm.isetp(ICmp::Ge, Sign::U32, x[1], Val::Imm(0x4000_0000));
        let factor = self.sel64(huge, power(-128), power(128));
        let scaled = self.asm.dmul(Rnd::Rn, x, factor);
        let root = self.sqrt_f64_core(scaled, rnd);
        let back = self.sel64(huge, power(64), power(-64));
        let ordinary_root = self.asm.dmul(Rnd::Rn, root, back);
        // +-0 and +inf are their own roots, NaN stays, negative numbers give NaN.
        let ordinary = self.ordinary_f64(x);
        let own = self.asm.r2(Op::Dadd { rnd: Rnd::Rn }, &[x.into(), x.into()]);
        let zero = self.asm.dsetp(FCmp::Eq, x, ZERO64);
        let negative = self.asm.dsetp(FCmp::Lt, x, ZERO64);
        let mut special = self.sel64(zero, x, own);
        special = self.sel64(negative, [Val::ZERO, Val::Imm(0xFFF8_0000)], special);
        let positive = self.asm.isetp(ICmp::Ge, Sign::S32, x[1], Val::ZERO);
        let ordinary = self.asm.pand(ordinary, positive);
        self.sel64(ordinary, ordinary_root, special)
    }
}
