//! Division, reciprocal and roots in floating point: the fast paths.
//!
//! An estimate from the multi-function unit is refined by fused multiply-adds until the last one, whose
//! addend is the exact remainder, rounds correctly (Markstein's theorem). Operands outside the range where
//! every intermediate is exact branch to a shared subroutine (`slow`, `slow64`).

use trace_format::isa::{FCmp, Ftz, ICmp, MufuFn, Rnd, Sign};

use super::float::{ONE, abs, neg, rnd};
use super::ops::KEEP;
use super::{Builder, Lowered};
use crate::lower::vir::{PSrc, Val};
use crate::ptx::{Accuracy, Inst, MathOp, ScalarType};

/// 1.0 in double precision.
pub(super) const ONE64: [Val; 2] = [Val::ZERO, Val::Imm(0x3FF0_0000)];

impl Builder<'_> {
    /// Floating-point `div`.
    pub(crate) fn float_div(&mut self, inst: &Inst, op: MathOp) -> Lowered {
        match (op.ty, op.accuracy) {
            (ScalarType::F32, accuracy) => {
                let a = self.word(inst, &inst.srcs()[0])?;
                let b = self.word(inst, &inst.srcs()[1])?;
                let r = match accuracy {
                    Accuracy::Ieee(r) => self.div_f32(a, b, rnd(Some(r)), op.ftz),
                    Accuracy::Approx => self.approx_div(a, b, op.ftz),
                    Accuracy::Full | Accuracy::Integer => self.full_div(a, b, op.ftz),
                };
                self.set_word(&inst.dsts()[0], r);
            }
            (ScalarType::F64, Accuracy::Ieee(r)) => {
                let a = self.pair(inst, &inst.srcs()[0])?;
                let b = self.pair(inst, &inst.srcs()[1])?;
                let r = self.div_f64(a, b, rnd(Some(r)));
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "division of this type")),
        }
        Ok(())
    }

    /// `rcp`.
    pub(crate) fn rcp(&mut self, inst: &Inst, op: MathOp) -> Lowered {
        match (op.ty, op.accuracy) {
            (ScalarType::F32, accuracy) => {
                let x = self.word(inst, &inst.srcs()[0])?;
                let r = match accuracy {
                    Accuracy::Ieee(r) => self.rcp_f32(x, rnd(Some(r)), op.ftz),
                    _ => self.approx_rcp(x, op.ftz),
                };
                self.set_word(&inst.dsts()[0], r);
            }
            (ScalarType::F64, Accuracy::Ieee(r)) => {
                let x = self.pair(inst, &inst.srcs()[0])?;
                let r = self.rcp_f64(x, rnd(Some(r)));
                self.set_pair(&inst.dsts()[0], r);
            }
            (ScalarType::F64, _) => {
                let x = self.pair(inst, &inst.srcs()[0])?;
                let high = self.asm.mufu(MufuFn::Rcp64h, Ftz(op.ftz), x[1]);
                self.set_pair(&inst.dsts()[0], [Val::ZERO, high]);
            }
            _ => return Err(self.unsupported(inst, "rcp of this type")),
        }
        Ok(())
    }

    /// `sqrt`.
    pub(crate) fn sqrt(&mut self, inst: &Inst, op: MathOp) -> Lowered {
        match (op.ty, op.accuracy) {
            (ScalarType::F32, accuracy) => {
                let x = self.word(inst, &inst.srcs()[0])?;
                let r = match accuracy {
                    Accuracy::Ieee(r) => self.sqrt_f32(x, rnd(Some(r)), op.ftz),
                    _ => self.approx_sqrt(x, op.ftz),
                };
                self.set_word(&inst.dsts()[0], r);
            }
            (ScalarType::F64, Accuracy::Ieee(r)) => {
                let x = self.pair(inst, &inst.srcs()[0])?;
                let r = self.sqrt_f64(x, rnd(Some(r)));
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "sqrt of this type")),
        }
        Ok(())
    }

    /// `rsqrt`, approximate in all its forms.
    pub(crate) fn rsqrt(&mut self, inst: &Inst, op: MathOp) -> Lowered {
        match op.ty {
            ScalarType::F32 => {
                let x = self.word(inst, &inst.srcs()[0])?;
                let r = self.approx_rsqrt(x, op.ftz);
                self.set_word(&inst.dsts()[0], r);
            }
            ScalarType::F64 => {
                let x = self.pair(inst, &inst.srcs()[0])?;
                let r = if op.ftz {
                    [Val::ZERO, self.asm.mufu(MufuFn::Rsq64h, Ftz(true), x[1])]
                } else {
                    self.rsqrt_f64(x)
                };
                self.set_pair(&inst.dsts()[0], r);
            }
            _ => return Err(self.unsupported(inst, "rsqrt of this type")),
        }
        Ok(())
    }

    /// Flushes subnormal operands and results of a slow path that keeps them; fast paths meet none.
    fn flushing(&mut self, ftz: bool, args: &[Val], f: impl FnOnce(&mut Self, &[Val]) -> Val) -> Val {
        if !ftz {
            return f(self, args);
        }
        let args: Vec<Val> = args.iter().map(|&v| self.flushed(v)).collect();
        let r = f(self, &args);
        self.flushed(r)
    }

    /// a / b in single precision. To the nearest, one correction by the exact remainder is enough where the
    /// reciprocal is correctly rounded; the directed roundings start from the nearest quotient.
    fn div_f32(&mut self, a: Val, b: Val, rnd: Rnd, ftz: bool) -> Val {
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, b);
        let slow = self.asm.fchk(a, b);
        let e = self.asm.ffma(KEEP, neg(b), r, ONE);
        let r = self.asm.ffma(KEEP, r, e, r);
        let mut q = self.asm.ffma(KEEP, a, r, Val::ZERO);
        if rnd != Rnd::Rn {
            let rest = self.asm.ffma(KEEP, neg(b), q, a);
            q = self.asm.ffma(KEEP, r, rest, q);
        }
        let rest = self.asm.ffma(KEEP, neg(b), q, a);
        let q = self.asm.ffma_rnd(rnd, KEEP, r, rest, q);
        self.slow_path(slow, [q], |s| [s.flushing(ftz, &[a, b], |s, v| s.slow_div_f32(v[0], v[1], rnd))])[0]
    }

    /// 1 / x in single precision; the fast path needs a biased exponent in 1..=252.
    fn rcp_f32(&mut self, x: Val, rnd: Rnd, ftz: bool) -> Val {
        let shifted = self.asm.iadd(x, Val::Imm(3 << 23));
        let exponent = self.asm.and(shifted, Val::Imm(0x7F80_0000));
        let slow = self.asm.isetp(ICmp::Lt, Sign::U32, exponent, Val::Imm(4 << 23));
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, x);
        let e = self.asm.ffma(KEEP, neg(x), r, ONE);
        let r = self.asm.ffma_rnd(rnd, KEEP, r, e, r);
        self.slow_path(slow, [r], |s| [s.flushing(ftz, &[x], |s, v| s.slow_div_f32(ONE, v[0], rnd))])[0]
    }

    /// sqrt(x) in single precision; the fast path needs a biased exponent of at least 26.
    fn sqrt_f32(&mut self, x: Val, rnd: Rnd, ftz: bool) -> Val {
        let shifted = self.asm.iadd(x, Val::Imm((26u32 << 23).wrapping_neg()));
        let slow = self.asm.isetp(ICmp::Gt, Sign::U32, shifted, Val::Imm((229 << 23) - 1));
        let fast = self.sqrt_f32_core(x, rnd);
        self.slow_path(slow, [fast], |s| [s.flushing(ftz, &[x], |s, v| s.slow_sqrt_f32(v[0], rnd))])[0]
    }

    /// sqrt(x) from the reciprocal root: one step with the exact remainder x - g * g.
    pub(crate) fn sqrt_f32_core(&mut self, x: Val, rnd: Rnd) -> Val {
        let r = self.asm.mufu(MufuFn::Rsq, KEEP, x);
        let g = self.asm.fmul(KEEP, x, r);
        let half = self.asm.fmul(KEEP, r, Val::Imm(0.5f32.to_bits()));
        let mut g = g;
        if rnd != Rnd::Rn {
            // Directed roundings start from the nearest result, so that exact roots have no remainder.
            let rest = self.asm.ffma(KEEP, neg(g), g, x);
            g = self.asm.ffma(KEEP, rest, half, g);
        }
        let rest = self.asm.ffma(KEEP, neg(g), g, x);
        self.asm.ffma_rnd(rnd, KEEP, rest, half, g)
    }

    /// 1 / x for a double whose reciprocal is normal, to within a unit in the last place or better.
    pub(crate) fn rcp_f64_core(&mut self, x: [Val; 2]) -> [Val; 2] {
        let estimate = self.asm.mufu(MufuFn::Rcp64h, KEEP, x[1]);
        // The one in the lower word puts the estimate of 1 / (2 - ulp) above the midpoint that it is next to,
        // the one case in which the last step would round the wrong way.
        let r = [Val::Imm(1), estimate];
        // Cubic step: r (1 + e + e^2), then a quadratic one.
        let e = self.asm.dfma(Rnd::Rn, neg(x), r, ONE64);
        let e = self.asm.dfma(Rnd::Rn, e, e, e);
        let r = self.asm.dfma(Rnd::Rn, r, e, r);
        let e = self.asm.dfma(Rnd::Rn, neg(x), r, ONE64);
        self.asm.dfma(Rnd::Rn, r, e, r)
    }

    /// a / b for doubles in the safe range.
    pub(crate) fn div_f64_core(&mut self, a: [Val; 2], b: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let r = self.rcp_f64_core(b);
        let mut q = self.asm.dmul(Rnd::Rn, a, r);
        if rnd != Rnd::Rn {
            let rest = self.asm.dfma(Rnd::Rn, neg(b), q, a);
            q = self.asm.dfma(Rnd::Rn, r, rest, q);
        }
        let rest = self.asm.dfma(Rnd::Rn, neg(b), q, a);
        self.asm.dfma(rnd, r, rest, q)
    }

    /// a / b in double precision. Upper words compare like single-precision numbers: the range check asks
    /// for exponents of at least 55 (a), 1 (b) and 2 (quotient), none of them huge.
    fn div_f64(&mut self, a: [Val; 2], b: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let q = self.div_f64_core(a, b, rnd);
        let fast = self.all_at_least(&[(a[1], 0x0370_0000), (b[1], 0x0010_0000), (q[1], 0x0020_0000)]);
        self.slow_path(fast.negated(), q, |s| s.slow_div_f64(a, b, rnd))
    }

    /// 1 / x in double precision.
    fn rcp_f64(&mut self, x: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let q = if rnd == Rnd::Rn { self.rcp_f64_core(x) } else { self.div_f64_core(ONE64, x, rnd) };
        let fast = self.all_at_least(&[(x[1], 0x0010_0000), (q[1], 0x0020_0000)]);
        self.slow_path(fast.negated(), q, |s| s.slow_div_f64(ONE64, x, rnd))
    }

    /// Whether the magnitudes of upper words, read as single precision, reach bounds (false for NaN
    /// patterns, i.e. doubles with exponents beyond 2040).
    fn all_at_least(&mut self, bounds: &[(Val, u32)]) -> PSrc {
        let mut all = PSrc::TRUE;
        for &(v, bound) in bounds {
            let p = self.asm.fsetp(FCmp::Ge, KEEP, abs(v), Val::Imm(bound));
            all = self.asm.pand(p, all);
        }
        all
    }

    /// sqrt(x) in double precision; the fast path needs a positive number with an exponent in 55..=2040.
    fn sqrt_f64(&mut self, x: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let shifted = self.asm.iadd(x[1], Val::Imm(0x0370_0000u32.wrapping_neg()));
        let slow = self.asm.isetp(ICmp::Gt, Sign::U32, shifted, Val::Imm(0x7F80_0000 - 0x0370_0000));
        let fast = self.sqrt_f64_core(x, rnd);
        self.slow_path(slow, fast, |s| s.slow_sqrt_f64(x, rnd))
    }

    /// 1 / sqrt(x), accurate to about the last bit, for doubles in the safe range.
    fn rsqrt_f64_core(&mut self, x: [Val; 2]) -> [Val; 2] {
        let estimate = self.asm.mufu(MufuFn::Rsq64h, KEEP, x[1]);
        let r = [Val::ZERO, estimate];
        let half = [Val::ZERO, Val::Imm(0x3FE0_0000)];
        let three_eighths = [Val::ZERO, Val::Imm(0x3FD8_0000)];
        // r (1 + e/2 + 3/8 e^2) with e = 1 - x r^2, twice: about 20, 60, then all bits.
        let square = self.asm.dmul(Rnd::Rn, r, r);
        let e = self.asm.dfma(Rnd::Rn, neg(x), square, ONE64);
        let t = self.asm.dfma(Rnd::Rn, e, three_eighths, half);
        let step = self.asm.dmul(Rnd::Rn, r, e);
        self.asm.dfma(Rnd::Rn, t, step, r)
    }

    /// sqrt(x) for doubles in the safe range: g = x r, then corrections by the exact remainder x - g * g.
    pub(crate) fn sqrt_f64_core(&mut self, x: [Val; 2], rnd: Rnd) -> [Val; 2] {
        let r = self.rsqrt_f64_core(x);
        let mut g = self.asm.dmul(Rnd::Rn, x, r);
        // r / 2, by its exponent.
        let half = [r[0], self.asm.iadd(r[1], Val::Imm(0xFFF0_0000))];
        if rnd != Rnd::Rn {
            let rest = self.asm.dfma(Rnd::Rn, neg(g), g, x);
            g = self.asm.dfma(Rnd::Rn, rest, half, g);
        }
        let rest = self.asm.dfma(Rnd::Rn, neg(g), g, x);
        self.asm.dfma(rnd, rest, half, g)
    }

    /// `rsqrt.approx.f64`: refined where the argument is an ordinary number, scaled where it is subnormal.
    fn rsqrt_f64(&mut self, x: [Val; 2]) -> [Val; 2] {
        // Negative subnormals are scaled too: the estimate takes their upper word for a zero, but the root is NaN.
        let magnitude = self.asm.and(x[1], Val::Imm(0x7FFF_FFFF));
        let tiny = self.asm.isetp(ICmp::Lt, Sign::U32, magnitude, Val::Imm(0x0010_0000));
        let scaled = self.asm.dmul(Rnd::Rn, x, [Val::ZERO, Val::Imm((1023 + 54) << 20)]);
        let y = self.sel64(tiny, scaled, x);
        let estimate = self.asm.mufu(MufuFn::Rsq64h, KEEP, y[1]);
        let refined = self.rsqrt_f64_core(y);
        let shifted = self.asm.iadd(y[1], Val::Imm(0x0010_0000u32.wrapping_neg()));
        let ordinary = self.asm.isetp(ICmp::Lt, Sign::U32, shifted, Val::Imm(0x7FE0_0000));
        let r = self.sel64(ordinary, refined, [Val::ZERO, estimate]);
        let back = self.asm.dmul(Rnd::Rn, r, [Val::ZERO, Val::Imm((1023 + 27) << 20)]);
        self.sel64(tiny, back, r)
    }
}
