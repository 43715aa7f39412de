//! Single-precision arithmetic: flushing, saturation, canonical NaN, comparison, minimum and maximum.
//!
//! Single-precision instructions return the canonical NaN 0x7fffffff for every NaN result, keep subnormals
//! unless `.FTZ`, and round to nearest here; directed roundings are in `directed`.

use super::WARP_SIZE;
use super::row::Row;
use crate::isa::FCmp;

/// The NaN that single-precision instructions return.
pub(super) const CANONICAL_NAN: u32 = 0x7FFF_FFFF;

#[inline(always)]
pub(super) fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

/// Replaces a subnormal by zero of the same sign.
#[inline(always)]
pub(super) fn flush(x: u32) -> u32 {
    if x & 0x7F80_0000 == 0 { x & 0x8000_0000 } else { x }
}

/// A single-precision source: a row and the bit masks that its absolute value and negation amount to.
#[derive(Clone, Copy)]
pub(super) struct Single<'a> {
    row: &'a Row,
    keep: u32,
    flip: u32,
}

impl<'a> Single<'a> {
    #[inline(always)]
    pub(super) fn new(row: &'a Row, neg: bool, abs: bool) -> Single<'a> {
        Single {
            row,
            keep: if abs { 0x7FFF_FFFF } else { u32::MAX },
            flip: if neg { 0x8000_0000 } else { 0 },
        }
    }

    /// The lane's bits with modifiers applied.
    #[inline(always)]
    pub(super) fn lane<const FTZ: bool>(&self, l: usize) -> u32 {
        let x = (self.row.0[l] & self.keep) ^ self.flip;
        if FTZ { flush(x) } else { x }
    }

    /// The row with modifiers applied.
    #[inline(always)]
    pub(super) fn resolve(&self, ftz: bool) -> Row {
        let mut out = Row::ZERO;
        for l in 0..WARP_SIZE {
            out.0[l] = if ftz { self.lane::<true>(l) } else { self.lane::<false>(l) };
        }
        out
    }
}

/// Clamps to [0, 1]; NaN becomes +0.
#[inline(always)]
pub(super) fn saturate(x: u32) -> u32 {
    let v = f(x);
    if v >= 1.0 {
        0x3F80_0000
    } else if v > 0.0 {
        x
    } else {
        0
    }
}

/// Doubles rounded to nearest.
#[inline(always)]
pub(super) fn rounded(of: impl Fn(usize) -> f64, ftz: bool, sat: bool) -> Row {
    Row::from_fn(|l| {
        let v = of(l) as f32;
        match (ftz, sat) {
            (false, false) => finish::<false, false>(v),
            (false, true) => finish::<false, true>(v),
            (true, false) => finish::<true, false>(v),
            (true, true) => finish::<true, true>(v),
        }
    })
}

/// Canonicalises NaN, flushes and saturates one result.
#[inline(always)]
pub(super) fn finish<const FTZ: bool, const SAT: bool>(v: f32) -> u32 {
    let x = if v.is_nan() { CANONICAL_NAN } else { v.to_bits() };
    let x = if FTZ { flush(x) } else { x };
    if SAT { saturate(x) } else { x }
}

/// One loop over the lanes per combination of flushing and saturation, so that none of them branches inside.
#[inline(always)]
pub(super) fn arithmetic(s: [Single<'_>; 3], ftz: bool, sat: bool, op: impl Fn(f32, f32, f32) -> f32) -> Row {
    match (ftz, sat) {
        (false, false) => arithmetic_as::<false, false>(s, op),
        (true, false) => arithmetic_as::<true, false>(s, op),
        (false, true) => arithmetic_as::<false, true>(s, op),
        (true, true) => arithmetic_as::<true, true>(s, op),
    }
}

#[inline(always)]
fn arithmetic_as<const FTZ: bool, const SAT: bool>(
    s: [Single<'_>; 3],
    op: impl Fn(f32, f32, f32) -> f32,
) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        let r = op(f(s[0].lane::<FTZ>(l)), f(s[1].lane::<FTZ>(l)), f(s[2].lane::<FTZ>(l)));
        out.0[l] = finish::<FTZ, SAT>(r);
    }
    out
}

/// Minimum or maximum with -0 below +0; a NaN operand yields the other one, or NaN when it propagates.
#[inline(always)]
pub(super) fn min_max(a: &Row, b: &Row, max: bool, nan: bool) -> Row {
    let mut out = Row::ZERO;
    for l in 0..WARP_SIZE {
        let (x, y) = (a.0[l], b.0[l]);
        // Order-preserving map from float bits to signed integers, so that -0 < +0.
        let key = |v: u32| (v ^ (((v as i32) >> 31) as u32 >> 1)) as i32;
        let x_wins = if max { key(x) > key(y) } else { key(x) < key(y) };
        let picked = if x_wins { x } else { y };
        let x_nan = f(x).is_nan();
        let y_nan = f(y).is_nan();
        let quiet = if x_nan { y } else { x };
        let any = if nan || (x_nan && y_nan) { CANONICAL_NAN } else { quiet };
        out.0[l] = if x_nan || y_nan { any } else { picked };
    }
    out
}

/// Evaluates a comparison on any partially ordered lanes.
#[inline(always)]
pub(super) fn compare<T: PartialOrd + Copy>(
    cmp: FCmp,
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
) -> u32 {
    use super::int::mask_of as m;
    #[allow(clippy::eq_op, reason = "x != x is the NaN test, generic over the float type")]
    let nan = |x: T| x != x;
    #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "the U comparisons are true when unordered")]
    match cmp {
        FCmp::Lt => m(|l| a(l) < b(l)),
        FCmp::Eq => m(|l| a(l) == b(l)),
        FCmp::Le => m(|l| a(l) <= b(l)),
        FCmp::Gt => m(|l| a(l) > b(l)),
        FCmp::Ne => m(|l| (a(l) < b(l)) | (a(l) > b(l))),
        FCmp::Ge => m(|l| a(l) >= b(l)),
        FCmp::Num => m(|l| !nan(a(l)) & !nan(b(l))),
        FCmp::Nan => m(|l| nan(a(l)) | nan(b(l))),
        FCmp::Ltu => m(|l| !(a(l) >= b(l))),
        FCmp::Equ => m(|l| !((a(l) < b(l)) | (a(l) > b(l)))),
        FCmp::Leu => m(|l| !(a(l) > b(l))),
        FCmp::Gtu => m(|l| !(a(l) <= b(l))),
        FCmp::Neu => m(|l| a(l) != b(l)),
        FCmp::Geu => m(|l| !(a(l) < b(l))),
    }
}

/// Lanes in which the fast path of division (reciprocal and two corrections) could leave the range in which
/// every intermediate is exact: zero, subnormal, infinite or NaN operands, extreme exponents.
#[inline(always)]
pub(super) fn needs_slow_division(a: &Row, b: &Row) -> u32 {
    super::int::mask_of(|l| {
        let ea = (a.0[l] >> 23 & 0xFF) as i32;
        let eb = (b.0[l] >> 23 & 0xFF) as i32;
        let safe = (1..=252).contains(&eb) & (26..=254).contains(&ea) & (-124..=125).contains(&(ea - eb));
        !safe
    })
}
