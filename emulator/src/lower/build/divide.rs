//! Integer division and remainder, which the hardware lacks.
//!
//! 32 bits: a reciprocal estimate from the multi-function unit that never exceeds 2^32 / b, one Newton step
//! in integers, the quotient by multiply-high and two corrections, all inline. 64 bits: the same with wide
//! products as a shared subroutine. A divisor of zero gives all ones, as on hardware.

use trace_format::isa::{ICmp, IntTy, MufuFn, Op, Rnd, Sign};

use super::int::{ZERO64, sign_of};
use super::ops::KEEP;
use super::{Builder, Lowered};
use crate::lower::vir::{PSrc, Src, SubId, Val};
use crate::ptx::{Inst, ScalarType};

impl Builder<'_> {
    /// Integer `div` and `rem`.
    pub(crate) fn int_div(&mut self, inst: &Inst, ty: ScalarType, remainder: bool) -> Lowered {
        let (x, y) = (&inst.srcs()[0], &inst.srcs()[1]);
        if ty.bits() == 64 {
            let a = self.pair(inst, x)?;
            let b = self.pair(inst, y)?;
            let r = self.div64(a, b, ty.is_signed(), remainder);
            self.set_pair(&inst.dsts()[0], r);
        } else {
            let a = self.int_operand(inst, x, ty)?;
            let b = self.int_operand(inst, y, ty)?;
            let r = match b.imm() {
                Some(d) if d.is_power_of_two() && !ty.is_signed() => {
                    if remainder {
                        self.asm.and(a, Val::Imm(d - 1))
                    } else {
                        self.asm.shr(Sign::U32, a, Val::Imm(d.trailing_zeros()))
                    }
                }
                _ if ty.is_signed() => self.div_s32(a, b, remainder),
                _ => self.div_u32(a, b, remainder),
            };
            self.set_word(&inst.dsts()[0], r);
        }
        Ok(())
    }

    /// Unsigned 32-bit quotient or remainder.
    fn div_u32(&mut self, a: Val, b: Val, remainder: bool) -> Val {
        let r = self.div_u32_raw(a, b, remainder);
        let zero = self.asm.isetp(ICmp::Eq, Sign::U32, b, Val::ZERO);
        self.asm.sel(zero, Val::Imm(u32::MAX), r)
    }

    /// Unsigned 32-bit division for divisors other than zero.
    fn div_u32_raw(&mut self, a: Val, b: Val, remainder: bool) -> Val {
        // 2^32 / b less two units in the last place, so that rounding never makes the estimate too large.
        let f = self.asm.i2f(IntTy::U32, Rnd::Rp, &[b]);
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, f);
        let scaled = self.asm.iadd(r, Val::Imm((32 << 23) - 2));
        let x = self.asm.f2i_u32(scaled);
        // Newton step: x += x * (2^32 - b x) / 2^32.
        let minus_b = self.asm.ineg(b);
        let e = self.asm.imad(minus_b, x, Val::ZERO);
        let x = self.asm.r1(Op::ImadHi { sign: Sign::U32 }, &[x.into(), e.into(), x.into()]);
        let q = self.asm.imad_hi(Sign::U32, a, x);
        let rem = self.asm.imad(minus_b, q, a);
        let (mut q, mut rem) = (q, rem);
        // The estimate is at most two too small.
        for step in 0..2 {
            let more = self.asm.isetp(ICmp::Ge, Sign::U32, rem, b);
            if remainder || step == 0 {
                rem = self.guarded_add(more, rem, Src::one(b).negated());
            }
            if !remainder {
                q = self.guarded_add(more, q, Src::one(Val::Imm(1)));
            }
        }
        if remainder { rem } else { q }
    }

    /// x + y in the lanes where `p` holds, x elsewhere.
    fn guarded_add(&mut self, p: PSrc, x: Val, y: Src) -> Val {
        let op = Op::Iadd3 { x: trace_format::isa::Extended(false) };
        self.asm.guarded_r1(p, op, &[x.into(), y, Src::RZ], x)
    }

    /// Signed 32-bit quotient or remainder, from magnitudes; the remainder takes the sign of a.
    fn div_s32(&mut self, a: Val, b: Val, remainder: bool) -> Val {
        let (ua, ub) = (self.asm.r1(Op::Iabs {}, &[a.into()]), self.asm.r1(Op::Iabs {}, &[b.into()]));
        let r = self.div_u32_raw(ua, ub, remainder);
        let sign = if remainder { a } else { self.asm.xor(a, b) };
        let negative = self.asm.isetp(ICmp::Lt, Sign::S32, sign, Val::ZERO);
        let op = Op::Iadd3 { x: trace_format::isa::Extended(false) };
        let r = self.asm.guarded_r1(negative, op, &[Src::one(r).negated(), Src::RZ, Src::RZ], r);
        let zero = self.asm.isetp(ICmp::Eq, Sign::U32, b, Val::ZERO);
        self.asm.sel(zero, Val::Imm(u32::MAX), r)
    }

    /// 64-bit division: a call, or a shift for powers of two.
    fn div64(&mut self, a: [Val; 2], b: [Val; 2], signed: bool, remainder: bool) -> [Val; 2] {
        if let (Some(lo), Some(hi), false) = (b[0].imm(), b[1].imm(), signed) {
            let d = u64::from(lo) | u64::from(hi) << 32;
            if d.is_power_of_two() {
                let n = Val::Imm(d.trailing_zeros());
                return if remainder {
                    let m = d - 1;
                    [self.asm.and(a[0], Val::Imm(m as u32)), self.asm.and(a[1], Val::Imm((m >> 32) as u32))]
                } else {
                    self.shr64(Sign::U32, a, n)
                };
            }
        }
        let name = match (signed, remainder) {
            (false, false) => "div_u64",
            (false, true) => "rem_u64",
            (true, false) => "div_s64",
            (true, true) => "rem_s64",
        };
        let sub = self.subroutine(name, 4, |s, p| {
            let r = s.div64_body([p[0], p[1]], [p[2], p[3]], signed, remainder);
            r.to_vec()
        });
        let r = self.asm.call(sub, &[a[0], a[1], b[0], b[1]], 2);
        [r[0], r[1]]
    }

    fn div64_body(&mut self, a: [Val; 2], b: [Val; 2], signed: bool, remainder: bool) -> [Val; 2] {
        let magnitude = |s: &mut Self, v: [Val; 2]| {
            let negative = s.asm.isetp(ICmp::Lt, Sign::S32, v[1], Val::ZERO);
            let minus = s.asm.add64(ZERO64, Src::two(v).negated());
            s.sel64(negative, minus, v)
        };
        let (ua, ub) = if signed { (magnitude(self, a), magnitude(self, b)) } else { (a, b) };
        let mut r = self.div_u64_raw(ua, ub, remainder);
        if signed {
            let sign = if remainder { a[1] } else { self.asm.xor(a[1], b[1]) };
            let negative = self.asm.isetp(ICmp::Lt, Sign::S32, sign, Val::ZERO);
            let minus = self.asm.add64(ZERO64, Src::two(r).negated());
            r = self.sel64(negative, minus, r);
        }
        let zero = self.asm.isetp64(ICmp::Eq, sign_of(ScalarType::U64), b, ZERO64);
        self.sel64(zero, [Val::Imm(u32::MAX); 2], r)
    }

    /// Unsigned 64-bit division for divisors other than zero.
    fn div_u64_raw(&mut self, a: [Val; 2], b: [Val; 2], remainder: bool) -> [Val; 2] {
        let f = self.asm.i2f(IntTy::U64, Rnd::Rp, &b);
        let r = self.asm.mufu(MufuFn::Rcp, KEEP, f);
        let scaled = self.asm.iadd(r, Val::Imm((64 << 23) - 2));
        let to_int = Op::F2i {
            dst: IntTy::U64,
            src: trace_format::isa::FloatTy::F32,
            rnd: trace_format::isa::IntRnd::Trunc,
            ftz: KEEP,
        };
        let mut x = self.asm.r2(to_int, &[scaled.into()]);
        // Two Newton steps: x += x * (2^64 - b x) / 2^64.
        for _ in 0..2 {
            let product = self.mul64(b, x, ZERO64);
            let e = self.asm.add64(ZERO64, Src::two(product).negated());
            let more = self.mul64_high(Sign::U32, x, e);
            x = self.asm.add64(x, more);
        }
        let mut q = self.mul64_high(Sign::U32, a, x);
        let product = self.mul64(q, b, ZERO64);
        let mut rem = self.asm.add64(a, Src::two(product).negated());
        for step in 0..2 {
            let more = self.asm.isetp64(ICmp::Ge, Sign::U32, rem, b);
            if remainder || step == 0 {
                let less = self.asm.add64(rem, Src::two(b).negated());
                rem = self.sel64(more, less, rem);
            }
            if !remainder {
                let next = self.asm.add64(q, [Val::Imm(1), Val::ZERO]);
                q = self.sel64(more, next, q);
            }
        }
        if remainder { rem } else { q }
    }

    /// The subroutine of a name, built on first use: `body` gets the parameters and returns the results.
    pub(crate) fn subroutine(
        &mut self,
        name: &'static str,
        params: usize,
        body: impl FnOnce(&mut Self, &[Val]) -> Vec<Val>,
    ) -> SubId {
        use crate::lower::vir::{Def, Sub, Term};
        if let Some(&sub) = self.subs.get(name) {
            return sub;
        }
        let sub = SubId(self.asm.f.subs.len() as u32);
        self.subs.insert(name, sub);
        let (caller_block, caller_sub) = (self.asm.cur, self.asm.sub);
        self.asm.sub = Some(sub);
        let entry = self.asm.new_block();
        self.ssa.set_entry(entry);
        let regs: Vec<_> = (0..params).map(|_| self.asm.f.new_reg()).collect();
        for r in &regs {
            self.asm.f.defs[r.index()] = Def::Param(sub);
        }
        self.asm.f.subs.push(Sub { name: name.to_owned(), entry, params: regs.clone(), results: Vec::new() });
        self.asm.cur = Some(entry);
        let values: Vec<Val> = regs.into_iter().map(Val::Reg).collect();
        let results = body(self, &values);
        self.asm.f.subs[sub.index()].results = results;
        self.asm.end(Term::Return);
        (self.asm.cur, self.asm.sub) = (caller_block, caller_sub);
        sub
    }
}
