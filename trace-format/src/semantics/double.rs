//! Double-precision arithmetic on register pairs: low words in one row, high words in the next.
//!
//! NaN operands propagate (the first NaN source, quieted); an invalid operation returns 0xfff8000000000000.

use super::WARP_SIZE;
use super::row::Row;

/// A row of 32 doubles.
pub(super) type Doubles = [f64; WARP_SIZE];

/// The NaN that invalid double-precision operations return.
pub(super) const INVALID: u64 = 0xFFF8_0000_0000_0000;
const QUIET: u64 = 0x0008_0000_0000_0000;

#[inline(always)]
pub(super) fn join(low: &Row, high: &Row, neg: bool, abs: bool) -> Doubles {
    let mut out = [0.0; WARP_SIZE];
    let flip = if neg { 1u64 << 63 } else { 0 };
    let keep = if abs { u64::MAX >> 1 } else { u64::MAX };
    for l in 0..WARP_SIZE {
        out[l] = f64::from_bits(((u64::from(low.0[l]) | u64::from(high.0[l]) << 32) & keep) ^ flip);
    }
    out
}

#[inline(always)]
pub(super) fn split(v: &Doubles) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        low.0[l] = v[l].to_bits() as u32;
        high.0[l] = (v[l].to_bits() >> 32) as u32;
    }
    (low, high)
}

/// A double-precision source: two rows and the bit masks that its modifiers amount to.
#[derive(Clone, Copy)]
pub(super) struct Double<'a> {
    low: &'a Row,
    high: &'a Row,
    keep: u32,
    flip: u32,
}

impl<'a> Double<'a> {
    #[inline(always)]
    pub(super) fn new(low: &'a Row, high: &'a Row, neg: bool, abs: bool) -> Double<'a> {
        let keep = if abs { 0x7FFF_FFFF } else { u32::MAX };
        Double { low, high, keep, flip: if neg { 0x8000_0000 } else { 0 } }
    }

    /// The lane's value with modifiers applied.
    #[inline(always)]
    pub(super) fn lane(&self, l: usize) -> f64 {
        let high = (self.high.0[l] & self.keep) ^ self.flip;
        f64::from_bits(u64::from(self.low.0[l]) | u64::from(high) << 32)
    }

    /// Every lane's value.
    #[inline(always)]
    pub(super) fn resolve(&self) -> Doubles {
        let mut out = [0.0; WARP_SIZE];
        for l in 0..WARP_SIZE {
            out[l] = self.lane(l);
        }
        out
    }
}

/// The NaN result for a list of operands, given that the raw result is NaN.
#[inline(always)]
fn nan_of(operands: [f64; 3]) -> u64 {
    let mut bits = INVALID;
    for v in operands.iter().rev() {
        bits = if v.is_nan() { v.to_bits() | QUIET } else { bits };
    }
    bits
}

/// Lane-wise arithmetic to nearest; a third operand that is not used must not be NaN.
#[inline(always)]
pub(super) fn arithmetic(s: [Double<'_>; 3], op: impl Fn(f64, f64, f64) -> f64) -> (Row, Row) {
    let (mut low, mut high) = (Row::ZERO, Row::ZERO);
    for l in 0..WARP_SIZE {
        let v = [s[0].lane(l), s[1].lane(l), s[2].lane(l)];
        let r = op(v[0], v[1], v[2]);
        let bits = if r.is_nan() { nan_of(v) } else { r.to_bits() };
        low.0[l] = bits as u32;
        high.0[l] = (bits >> 32) as u32;
    }
    (low, high)
}
