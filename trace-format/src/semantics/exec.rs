//! Execution of one pure instruction on a warp: the match that gives every row of the opcode table its
//! semantics, compiled once per vector level of the host.

use super::code::{Code, ExecInst, PredRef, SrcRow};
use super::warp::{Row, Warp, blend};
use super::{FULL_MASK, WARP_SIZE, convert, directed, double, float, half, int, lanes, matrix, mufu};
use crate::isa::space::Space;
use crate::isa::{IntTy, Op, Pc, Rnd, Sign, SpecialReg, VoteMode};

/// Vector instruction sets that the semantics are compiled for. Results are the same at every level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum VectorLevel {
    /// Whatever the target guarantees.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl VectorLevel {
    /// The highest level that this host supports.
    #[must_use]
    pub fn detect() -> VectorLevel {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx512 {
                return VectorLevel::Avx512;
            }
            if avx2 {
                return VectorLevel::Avx2;
            }
        }
        VectorLevel::Portable
    }
}

impl Code {
    /// Lanes of `active` in which the instruction's guard holds.
    #[must_use]
    #[inline]
    pub fn exec_mask(&self, pc: Pc, warp: &Warp, active: u32) -> u32 {
        read_pred(warp, self.insts[pc.index()].guard) & active
    }

    /// As [`addresses`], at the vector level of the code.
    #[inline]
    pub fn addresses(&self, inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `execute`.
            VectorLevel::Avx512 => unsafe { addresses_avx512(inst, warp, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `execute`.
            VectorLevel::Avx2 => unsafe { addresses_avx2(inst, warp, out) },
            _ => addresses(inst, warp, out),
        }
    }
}

/// Executes a [`crate::isa::Kind::Pure`] instruction in the lanes of `exec`; other kinds change nothing.
#[inline]
pub fn execute(code: &Code, inst: &ExecInst, warp: &mut Warp, exec: u32) {
    match code.level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Code::prepare_at` never sets a level above `VectorLevel::detect()` of this host.
        VectorLevel::Avx512 => unsafe { execute_avx512(inst, warp, exec) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        VectorLevel::Avx2 => unsafe { execute_avx2(inst, warp, exec) },
        _ => execute_body(inst, warp, exec),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn execute_avx512(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    execute_body(inst, warp, exec);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn execute_avx2(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    execute_body(inst, warp, exec);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn addresses_avx512(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    addresses(inst, warp, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn addresses_avx2(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    addresses(inst, warp, out);
}

/// Byte addresses of a memory instruction in every lane: base times scale plus offset, 32 bits wide for
/// shared, local and constant accesses, 64 for global and generic ones; for textures and surfaces what
/// [`Warp::set_addresses`] was told.
#[inline(always)]
pub fn addresses(inst: &ExecInst, warp: &Warp, out: &mut [u64; WARP_SIZE]) {
    if inst.kind.space().is_some_and(Space::is_remote) {
        return warp.addresses(out);
    }
    let base = inst.src[0].row;
    let wide = matches!(
        inst.op,
        Op::Ldg { .. } | Op::Stg { .. } | Op::Ld { .. } | Op::St { .. } | Op::Atomg { .. } | Op::Red { .. }
    );
    let low = warp.row(base);
    if wide {
        let high = warp.row(base + 1);
        let offset = i64::from(inst.offset) as u64;
        for l in 0..WARP_SIZE {
            out[l] = (u64::from(low.0[l]) | u64::from(high.0[l]) << 32).wrapping_add(offset);
        }
    } else {
        let shift = match inst.op {
            Op::Lds { scale, .. } | Op::Sts { scale, .. } => scale.shift(),
            _ => 0,
        };
        let offset = inst.offset as u32;
        for l in 0..WARP_SIZE {
            out[l] = u64::from((low.0[l] << shift).wrapping_add(offset));
        }
    }
}

#[inline(always)]
pub(super) fn read_pred(warp: &Warp, p: PredRef) -> u32 {
    let v = warp.pred(p.index);
    if p.not { !v } else { v }
}

/// An integer source: two's complement negation when the source is negated.
#[inline(always)]
fn int_src(warp: &Warp, s: SrcRow) -> Row {
    let row = *warp.row(s.row);
    if s.neg { int::map1(&row, u32::wrapping_neg) } else { row }
}

/// An integer source whose negation is the bitwise complement.
#[inline(always)]
fn logic_src(warp: &Warp, s: SrcRow) -> Row {
    let row = *warp.row(s.row);
    if s.neg { int::map1(&row, |x| !x) } else { row }
}

/// A single-precision source with its modifiers.
#[inline(always)]
fn float_src(warp: &Warp, s: SrcRow) -> float::Single<'_> {
    float::Single::new(warp.row(s.row), s.neg, s.abs)
}

/// A double-precision source with its modifiers.
#[inline(always)]
fn double_src(warp: &Warp, s: SrcRow) -> double::Double<'_> {
    double::Double::new(warp.row(s.row), warp.row(s.row + 1), s.neg, s.abs)
}

/// A double-precision zero in every lane, for operations of two operands.
#[inline(always)]
fn double_zero(_: &Warp) -> double::Double<'_> {
    double::Double::new(&Row::ZERO, &Row::ZERO, false, false)
}

#[inline(always)]
pub(super) fn put(warp: &mut Warp, inst: &ExecInst, value: &Row, exec: u32) {
    blend(&mut warp.rows[usize::from(inst.dst)], value, exec);
}

#[inline(always)]
fn put_pair(warp: &mut Warp, inst: &ExecInst, low: &Row, high: &Row, exec: u32) {
    blend(&mut warp.rows[usize::from(inst.dst)], low, exec);
    blend(&mut warp.rows[usize::from(inst.dst) + 1], high, exec);
}

#[inline(always)]
pub(super) fn combine(bop: crate::isa::BoolOp, a: u32, b: u32) -> u32 {
    match bop {
        crate::isa::BoolOp::And => a & b,
        crate::isa::BoolOp::Or => a | b,
        crate::isa::BoolOp::Xor => a ^ b,
    }
}

/// Writes a comparison and its complement, each combined with the first predicate source.
#[inline(always)]
fn put_compare(warp: &mut Warp, inst: &ExecInst, bop: crate::isa::BoolOp, cmp: u32, exec: u32) {
    let with = read_pred(warp, inst.psrc[0]);
    warp.write_pred(inst.pdst[0], combine(bop, cmp, with), exec);
    warp.write_pred(inst.pdst[1], combine(bop, !cmp, with), exec);
}

#[inline(always)]
fn special(warp: &Warp, sr: SpecialReg, exec: u32) -> Row {
    match sr {
        SpecialReg::TidX => warp.tid[0],
        SpecialReg::TidY => warp.tid[1],
        SpecialReg::TidZ => warp.tid[2],
        SpecialReg::CtaidX => Row::splat(warp.ctaid[0]),
        SpecialReg::CtaidY => Row::splat(warp.ctaid[1]),
        SpecialReg::CtaidZ => Row::splat(warp.ctaid[2]),
        SpecialReg::LaneId => Row::from_fn(|l| l as u32),
        SpecialReg::WarpId => Row::splat(warp.warp_in_block),
        SpecialReg::LaneMaskEq => Row::from_fn(|l| 1 << l),
        SpecialReg::LaneMaskLt => Row::from_fn(|l| (1 << l) - 1),
        SpecialReg::LaneMaskLe => Row::from_fn(|l| FULL_MASK >> (31 - l)),
        SpecialReg::LaneMaskGt => Row::from_fn(|l| !(FULL_MASK >> (31 - l))),
        SpecialReg::LaneMaskGe => Row::from_fn(|l| FULL_MASK << l),
        SpecialReg::ActiveMask => Row::splat(exec),
        SpecialReg::SmId
        | SpecialReg::NSmId
        | SpecialReg::ClockLo
        | SpecialReg::ClockHi
        | SpecialReg::GlobalTimerLo
        | SpecialReg::GlobalTimerHi
        | SpecialReg::GridId => Row::ZERO,
    }
}

#[inline(always)]
fn wide_product(a: &Row, b: &Row, c: &[Row; 2], signed: bool) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        let product = if signed {
            (i64::from(a.0[l] as i32) * i64::from(b.0[l] as i32)) as u64
        } else {
            u64::from(a.0[l]) * u64::from(b.0[l])
        };
        let sum = product.wrapping_add(u64::from(c[0].0[l]) | u64::from(c[1].0[l]) << 32);
        low.0[l] = sum as u32;
        high.0[l] = (sum >> 32) as u32;
    }
    (low, high)
}

#[inline(always)]
fn execute_body(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    let [s0, s1, s2] = inst.src;
    match inst.op {
        Op::Fadd { .. }
        | Op::Fmul { .. }
        | Op::Ffma { .. }
        | Op::Fmnmx { .. }
        | Op::Fsetp { .. }
        | Op::Fset { .. }
        | Op::Fchk {}
        | Op::Mufu { .. } => single_precision(inst, warp, exec),
        Op::Hadd2 { .. }
        | Op::Hmul2 { .. }
        | Op::Hfma2 { .. }
        | Op::Hmnmx2 { .. }
        | Op::Hsetp2 { .. }
        | Op::Hset2 { .. } => half::execute(inst, warp, exec),
        Op::Dadd { rnd } => {
            let (a, b) = (double_src(warp, s0), double_src(warp, s1));
            let r = if rnd == Rnd::Rn {
                double::arithmetic([a, b, double_zero(warp)], |x, y, _| x + y)
            } else {
                double::split(&directed::dadd(rnd, &a.resolve(), &b.resolve()))
            };
            put_pair(warp, inst, &r.0, &r.1, exec);
        }
        Op::Dmul { rnd } => {
            let (a, b) = (double_src(warp, s0), double_src(warp, s1));
            let r = if rnd == Rnd::Rn {
                double::arithmetic([a, b, double_zero(warp)], |x, y, _| x * y)
            } else {
                double::split(&directed::dmul(rnd, &a.resolve(), &b.resolve()))
            };
            put_pair(warp, inst, &r.0, &r.1, exec);
        }
        Op::Dfma { rnd } => {
            let (a, b, c) = (double_src(warp, s0), double_src(warp, s1), double_src(warp, s2));
            let r = if rnd == Rnd::Rn {
                double::arithmetic([a, b, c], f64::mul_add)
            } else {
                double::split(&directed::dfma(rnd, &a.resolve(), &b.resolve(), &c.resolve()))
            };
            put_pair(warp, inst, &r.0, &r.1, exec);
        }
        Op::Dsetp { cmp, bop } => {
            let (a, b) = (double_src(warp, s0), double_src(warp, s1));
            let m = float::compare(cmp, |l| a.lane(l), |l| b.lane(l));
            put_compare(warp, inst, bop, m, exec);
        }
        Op::F2f { .. } | Op::F2i { .. } | Op::I2f { .. } | Op::Frnd { .. } | Op::I2i { .. } => {
            conversion(inst, warp, exec);
        }
        Op::F2fp { dst, rnd, relu, fin } => {
            let (a, b) = (float_src(warp, s0).resolve(false), float_src(warp, s1).resolve(false));
            put(warp, inst, &convert::pack(dst, &a, &b, rnd, relu.0, fin.0), exec);
        }
        Op::Shfl { mode } => {
            let (r, p) = lanes::shuffle(mode, warp.row(s0.row), warp.row(s1.row), warp.row(s2.row), exec);
            put(warp, inst, &r, exec);
            warp.write_pred(inst.pdst[0], p, exec);
        }
        Op::Vote { mode } => {
            let pred = read_pred(warp, inst.psrc[0]);
            let (ballot, p) = lanes::vote(mode, pred, exec, warp.row(s0.row));
            if mode == VoteMode::Ballot {
                put(warp, inst, &ballot, exec);
            }
            warp.write_pred(inst.pdst[0], p, exec);
        }
        Op::Match { mode, wide } => {
            let (low, high, members) = (*warp.row(s0.row), *warp.row(s0.row + 1), *warp.row(s1.row));
            let upper = |l: usize| if wide.0 { u64::from(high.0[l]) << 32 } else { 0 };
            let (r, p) = lanes::find_equal(mode, exec, &members, |l| u64::from(low.0[l]) | upper(l));
            put(warp, inst, &r, exec);
            warp.write_pred(inst.pdst[0], p, exec);
        }
        Op::Hmma { .. }
        | Op::Hmma884 { .. }
        | Op::Imma { .. }
        | Op::Bmma { .. }
        | Op::Dmma { .. }
        | Op::Movm {} => matrix::execute(inst, warp, exec),
        Op::Redux { op, ty, nan } => {
            let (a, members) = (float_src(warp, s0).resolve(false), *warp.row(s1.row));
            put(warp, inst, &lanes::reduce(op, ty, nan.0, &a, exec, &members), exec);
        }
        Op::Iadd3 { .. }
        | Op::Imad {}
        | Op::ImadHi { .. }
        | Op::ImadWide { .. }
        | Op::Idp { .. }
        | Op::Imnmx { .. }
        | Op::Iabs {}
        | Op::Vabsdiff { .. }
        | Op::Isetp { .. }
        | Op::Lea { .. }
        | Op::LeaHi { .. } => integer(inst, warp, exec),
        Op::Lop3 { .. }
        | Op::ShfL { .. }
        | Op::ShfR { .. }
        | Op::Sgxt { .. }
        | Op::Bmsk { .. }
        | Op::Prmt { .. }
        | Op::Popc {}
        | Op::Flo { .. }
        | Op::Brev {}
        | Op::Sel {}
        | Op::Mov {}
        | Op::Plop3 { .. }
        | Op::S2r { .. } => logic(inst, warp, exec),
        // Effects outside the warp's registers: the caller's business.
        Op::Ldg { .. }
        | Op::Stg { .. }
        | Op::Lds { .. }
        | Op::Sts { .. }
        | Op::Ldsm { .. }
        | Op::Stsm { .. }
        | Op::Ldl { .. }
        | Op::Stl { .. }
        | Op::Ld { .. }
        | Op::St { .. }
        | Op::Ldc { .. }
        | Op::Atomg { .. }
        | Op::Atoms { .. }
        | Op::Syncs { .. }
        | Op::Red { .. }
        | Op::Tex { .. }
        | Op::Txq { .. }
        | Op::Syscall { .. }
        | Op::Suld { .. }
        | Op::Sust { .. }
        | Op::Sured { .. }
        | Op::Membar { .. }
        | Op::Bra {}
        | Op::Call {}
        | Op::CallInd {}
        | Op::Ret {}
        | Op::Exit {}
        | Op::Bar { .. }
        | Op::Warpsync {}
        | Op::Nanosleep {}
        | Op::Nop {}
        | Op::Bpt {} => {}
    }
}

#[inline(always)]
fn single_precision(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    let [s0, s1, s2] = inst.src;
    match inst.op {
        Op::Fadd { rnd, ftz, sat } => {
            let (a, b) = (float_src(warp, s0), float_src(warp, s1));
            let r = if rnd == Rnd::Rn {
                float::arithmetic([a, b, b], ftz.0, sat.0, |x, y, _| x + y)
            } else {
                directed::add(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), ftz.0, sat.0)
            };
            put(warp, inst, &r, exec);
        }
        Op::Fmul { rnd, ftz, sat } => {
            let (a, b) = (float_src(warp, s0), float_src(warp, s1));
            let r = if rnd == Rnd::Rn {
                float::arithmetic([a, b, b], ftz.0, sat.0, |x, y, _| x * y)
            } else {
                directed::mul(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), ftz.0, sat.0)
            };
            put(warp, inst, &r, exec);
        }
        Op::Ffma { rnd, ftz, sat } => {
            let (a, b, c) = (float_src(warp, s0), float_src(warp, s1), float_src(warp, s2));
            let r = if rnd == Rnd::Rn {
                float::arithmetic([a, b, c], ftz.0, sat.0, f32::mul_add)
            } else {
                directed::fma(rnd, &a.resolve(ftz.0), &b.resolve(ftz.0), &c.resolve(ftz.0), ftz.0, sat.0)
            };
            put(warp, inst, &r, exec);
        }
        Op::Fmnmx { max, ftz, nan } => {
            let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
            put(warp, inst, &float::min_max(&a, &b, max.0, nan.0), exec);
        }
        Op::Fsetp { cmp, ftz, bop } => {
            let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
            let m = float::compare(cmp, |l| float::f(a.0[l]), |l| float::f(b.0[l]));
            put_compare(warp, inst, bop, m, exec);
        }
        Op::Fset { cmp, ftz, bop, bf } => {
            let (a, b) = (float_src(warp, s0).resolve(ftz.0), float_src(warp, s1).resolve(ftz.0));
            let m = float::compare(cmp, |l| float::f(a.0[l]), |l| float::f(b.0[l]));
            let m = combine(bop, m, read_pred(warp, inst.psrc[0]));
            let on = if bf.0 { 0x3F80_0000 } else { u32::MAX };
            put(warp, inst, &Row::from_fn(|l| if m >> l & 1 != 0 { on } else { 0 }), exec);
        }
        Op::Fchk {} => {
            let m = float::needs_slow_division(warp.row(s0.row), warp.row(s1.row));
            warp.write_pred(inst.pdst[0], m, exec);
        }
        Op::Mufu { func, ftz } => {
            let a = float_src(warp, s0).resolve(false);
            put(warp, inst, &mufu::apply(func, &a, ftz.0), exec);
        }
        _ => {}
    }
}

#[inline(always)]
fn integer(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    let [s0, s1, s2] = inst.src;
    match inst.op {
        Op::Iadd3 { x } => {
            if !x.0 && inst.pdst[0] == 7 {
                let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
                put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| x.wrapping_add(y).wrapping_add(z)), exec);
            } else {
                let (a, b, c) = (logic_src(warp, s0), logic_src(warp, s1), logic_src(warp, s2));
                let negated = u64::from(s0.neg) + u64::from(s1.neg) + u64::from(s2.neg);
                let carry = if x.0 { read_pred(warp, inst.psrc[0]) } else { 0 };
                let (r, out) = int::add3_carry(&a, &b, &c, if x.0 { 0 } else { negated }, carry);
                put(warp, inst, &r, exec);
                warp.write_pred(inst.pdst[0], out, exec);
            }
        }
        Op::Imad {} => {
            let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
            put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| x.wrapping_mul(y).wrapping_add(z)), exec);
        }
        Op::ImadHi { sign } => {
            let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
            let (_, high) = wide_product(&a, &b, &[Row::ZERO, Row::ZERO], sign == Sign::S32);
            put(warp, inst, &int::map2(&high, &c, u32::wrapping_add), exec);
        }
        Op::ImadWide { sign } => {
            let (a, b) = (int_src(warp, s0), int_src(warp, s1));
            let c = [*warp.row(s2.row), *warp.row(s2.row + 1)];
            let (low, high) = wide_product(&a, &b, &c, sign == Sign::S32);
            put_pair(warp, inst, &low, &high, exec);
        }
        Op::Idp { dot, a, b } => {
            let rows = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
            put(warp, inst, &int::dot(dot, a, b, &rows.0, &rows.1, &rows.2), exec);
        }
        Op::Imnmx { sign, max } => {
            let (a, b) = (int_src(warp, s0), int_src(warp, s1));
            let r = match (sign, max.0) {
                (Sign::S32, false) => int::map2(&a, &b, |x, y| (x as i32).min(y as i32) as u32),
                (Sign::S32, true) => int::map2(&a, &b, |x, y| (x as i32).max(y as i32) as u32),
                (Sign::U32, false) => int::map2(&a, &b, u32::min),
                (Sign::U32, true) => int::map2(&a, &b, u32::max),
            };
            put(warp, inst, &r, exec);
        }
        Op::Iabs {} => {
            let a = int_src(warp, s0);
            put(warp, inst, &int::map1(&a, |x| (x as i32).unsigned_abs()), exec);
        }
        Op::Vabsdiff { sign } => {
            let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
            let r = int::map3(&a, &b, &c, |x, y, z| {
                let d = if sign == Sign::S32 { (x as i32).abs_diff(y as i32) } else { x.abs_diff(y) };
                d.wrapping_add(z)
            });
            put(warp, inst, &r, exec);
        }
        Op::Isetp { cmp, sign, bop, ex } => {
            let (a, b) = (int_src(warp, s0), int_src(warp, s1));
            let mut m = if sign == Sign::S32 {
                int::compare(cmp, |l| a.0[l] as i32, |l| b.0[l] as i32)
            } else {
                int::compare(cmp, |l| a.0[l], |l| b.0[l])
            };
            if ex.0 {
                let equal = int::mask_of(|l| a.0[l] == b.0[l]);
                m = int::extend_compare(cmp, m, equal, read_pred(warp, inst.psrc[1]));
            }
            put_compare(warp, inst, bop, m, exec);
        }
        Op::Lea { shift } => {
            let (a, b) = (int_src(warp, s0), int_src(warp, s1));
            let n = u32::from(shift.0 & 31);
            let shifted = int::map1(&a, |x| x << n);
            let (r, carry) = int::add3_carry(&shifted, &b, &Row::ZERO, 0, 0);
            put(warp, inst, &r, exec);
            warp.write_pred(inst.pdst[0], carry, exec);
        }
        Op::LeaHi { shift, x } => {
            let (a, b, c) = (int_src(warp, s0), int_src(warp, s1), int_src(warp, s2));
            let n = u32::from(shift.0 & 31);
            let upper =
                int::map2(&a, &c, |lo, hi| (((u64::from(hi) << 32 | u64::from(lo)) << n) >> 32) as u32);
            let carry = if x.0 { read_pred(warp, inst.psrc[0]) } else { 0 };
            let (r, _) = int::add3_carry(&upper, &b, &Row::ZERO, 0, carry);
            put(warp, inst, &r, exec);
        }
        _ => {}
    }
}

#[inline(always)]
fn logic(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    let [s0, s1, s2] = inst.src;
    match inst.op {
        Op::Lop3 { lut } => {
            let (a, b, c) = (logic_src(warp, s0), logic_src(warp, s1), logic_src(warp, s2));
            let r = int::lop3(&a, &b, &c, lut);
            put(warp, inst, &r, exec);
            if inst.pdst[0] != 7 {
                warp.write_pred(inst.pdst[0], int::mask_of(|l| r.0[l] != 0), exec);
            }
        }
        Op::ShfL { wide, wrap, high } => {
            let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
            let r = if high.0 || wide.0 || wrap.0 {
                int::funnel_left(&a, &b, &c, wide.0, wrap.0, high.0)
            } else {
                int::map2(&a, &b, int::shl)
            };
            put(warp, inst, &r, exec);
        }
        Op::ShfR { sign, wide, wrap, high } => {
            let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
            let signed = sign == Sign::S32;
            let r = match (high.0 && !wide.0 && !wrap.0, signed) {
                (true, true) => int::map2(&c, &b, |x, n| ((x as i32) >> n.min(31)) as u32),
                (true, false) => int::map2(&c, &b, int::shr),
                _ => int::funnel_right(&a, &b, &c, signed, wide.0, wrap.0, high.0),
            };
            put(warp, inst, &r, exec);
        }
        Op::Sgxt { sign } => {
            let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
            put(warp, inst, &int::map2(&a, &b, |x, n| int::extend(x, n, sign == Sign::S32)), exec);
        }
        Op::Bmsk { wrap } => {
            let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
            put(warp, inst, &int::map2(&a, &b, |x, n| int::bit_mask(x, n, wrap.0)), exec);
        }
        Op::Prmt { mode } => {
            let (a, b, c) = (*warp.row(s0.row), *warp.row(s1.row), *warp.row(s2.row));
            put(warp, inst, &int::map3(&a, &b, &c, |x, y, z| int::permute(x, y, z, mode)), exec);
        }
        Op::Popc {} => {
            let a = logic_src(warp, s0);
            put(warp, inst, &int::map1(&a, u32::count_ones), exec);
        }
        Op::Flo { sign, sh } => {
            let a = logic_src(warp, s0);
            put(warp, inst, &int::map1(&a, |x| int::find_leading(x, sign == Sign::S32, sh.0)), exec);
        }
        Op::Brev {} => {
            let a = *warp.row(s0.row);
            put(warp, inst, &int::map1(&a, u32::reverse_bits), exec);
        }
        Op::Sel {} => {
            let (a, b) = (*warp.row(s0.row), *warp.row(s1.row));
            let p = read_pred(warp, inst.psrc[0]);
            let mut r = Row::ZERO;
            for l in 0..WARP_SIZE {
                r.0[l] = if p >> l & 1 != 0 { a.0[l] } else { b.0[l] };
            }
            put(warp, inst, &r, exec);
        }
        Op::Mov {} => {
            let a = *warp.row(s0.row);
            put(warp, inst, &a, exec);
        }
        Op::Plop3 { lut } => {
            let [x, y, z] = inst.psrc.map(|p| read_pred(warp, p));
            let r = int::lop3_bits(x, y, z, lut);
            warp.write_pred(inst.pdst[0], r, exec);
            warp.write_pred(inst.pdst[1], !r, exec);
        }
        Op::S2r { sr } if !sr.is_external() => {
            let r = special(warp, sr, exec);
            put(warp, inst, &r, exec);
        }
        _ => {}
    }
}

#[inline(always)]
fn conversion(inst: &ExecInst, warp: &mut Warp, exec: u32) {
    let s = inst.src[0];
    let (low, high) = (*warp.row(s.row), *warp.row(s.row + 1));
    let (r_low, r_high) = match inst.op {
        Op::F2f { dst, src, rnd, ftz, sat } => {
            let v = convert::widen(src, &low, &high, s.neg, s.abs, ftz.0);
            convert::narrow(dst, &v, rnd, ftz.0, sat.0)
        }
        Op::F2i { dst, src, rnd, ftz } => {
            let v = convert::widen(src, &low, &high, s.neg, s.abs, ftz.0);
            convert::to_int(dst, src, &v, rnd)
        }
        Op::I2f { dst, src, rnd } => convert::from_int(dst, src, &low, &high, s.neg, rnd),
        Op::Frnd { ty, rnd, ftz, sat } => {
            let v = convert::widen(ty, &low, &high, s.neg, s.abs, ftz.0);
            convert::narrow(ty, &convert::round_float(&v, rnd), Rnd::Rn, ftz.0, sat.0)
        }
        Op::I2i { dst, src } => {
            let signed = src == Sign::S32;
            (int::map1(&low, |x| convert::saturate_int(dst, x, signed)), Row::ZERO)
        }
        _ => return,
    };
    let pair = match inst.op {
        Op::F2f { dst, .. } | Op::I2f { dst, .. } => dst.regs() == 2,
        Op::Frnd { ty, .. } => ty.regs() == 2,
        Op::F2i { dst, .. } => matches!(dst, IntTy::U64 | IntTy::S64),
        _ => false,
    };
    if pair {
        put_pair(warp, inst, &r_low, &r_high, exec);
    } else {
        put(warp, inst, &r_low, exec);
    }
}
