//! Instructions of the oracle that only compute: results from source bits, one thread at a time.

use super::float::{self, Ieee, MinMax, Mode, ieee, single};
use super::results::Results;
use super::{convert, half, integer, simd};
use emulator::ptx::{
    Accuracy, AddOp, BoolOp, CompareOp, Comparison, FmaOp, MadOp, MathOp, MinMaxOp, MulMode, MulOp, Op,
    Rounding, ScalarType,
};

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Undefined {
    /// The oracle does not know the instruction.
    Unknown,
    /// An integer division by zero.
    DivisionByZero,
}

/// Computes an instruction from its sources (predicates are 0 or 1) and the carry flag.
///
/// # Errors
/// If PTX leaves the result undefined, or the oracle does not know the instruction.
pub(super) fn evaluate(op: &Op, s: &[u64], carry: &mut bool) -> Result<Results, Undefined> {
    if let Some(results) = half::evaluate(op, s) {
        return Ok(results);
    }
    if let Some(value) = simd::evaluate(op, s) {
        return Ok([value, 0]);
    }
    if let Op::Setp(compare) = op {
        return setp(compare, s).ok_or(Undefined::Unknown);
    }
    if let Op::Lop3 { lut, combine: Some(combine) } = *op {
        let d = integer::lop3(lut, s[0], s[1], s[2]);
        return Ok([d, u64::from(combined(Some(combine), d != 0, &s[3..]))]);
    }
    if let Op::Div(MathOp { ty, accuracy: Accuracy::Integer, .. }) = *op {
        return integer::div(ty, s[0], s[1]).map(|q| [q, 0]).ok_or(Undefined::DivisionByZero);
    }
    if let Op::Rem(ty) = *op {
        return integer::rem(ty, s[0], s[1]).map(|r| [r, 0]).ok_or(Undefined::DivisionByZero);
    }
    let value = arithmetic(op, s, carry).or_else(|| bits(op, s)).or_else(|| movement(op, s));
    value.map(|value| [value, 0]).ok_or(Undefined::Unknown)
}

/// The integer types and the two float types that the oracle computes with.
fn plain(ty: ScalarType) -> bool {
    use ScalarType as T;
    let integer = matches!(ty, T::U16 | T::U32 | T::U64 | T::S16 | T::S32 | T::S64);
    integer || matches!(ty, T::F32 | T::F64 | T::B16 | T::B32 | T::B64 | T::Pred)
}

fn arithmetic(op: &Op, s: &[u64], carry: &mut bool) -> Option<u64> {
    use ScalarType as T;
    Some(match *op {
        Op::Add(add) => add_sub(Ieee::Add, &add, s, carry)?,
        Op::Sub(sub) => add_sub(Ieee::Sub, &sub, s, carry)?,
        Op::Mul(mul) => multiply(&mul, s)?,
        Op::Mad(mad) => multiply_add(&mad, s, carry),
        Op::Fma(FmaOp { ty: ty @ (T::F32 | T::F64), narrow: None, rounding, ftz, sat, .. }) => {
            ieee(Ieee::Fma, ty, rounding, Mode { ftz, sat }, s)
        }
        Op::Mul24 { ty, high } => integer::mul24(ty, high, s[0], s[1]),
        Op::Mad24 { ty, high, sat } => {
            let product = integer::mul24(ty, high, s[0], s[1]);
            integer::add(ty, product, s[2], false, sat).0
        }
        Op::Sad(ty) => {
            let distance = integer::number(ty, s[0]) - integer::number(ty, s[1]);
            s[2].wrapping_add(distance.unsigned_abs() as u64)
        }
        Op::Div(math) => division(&math, s),
        Op::Rcp(math) => division(&math, &[one(math.ty), s[0]]),
        Op::Sqrt(MathOp { ty, accuracy: Accuracy::Ieee(rounding), ftz }) => {
            ieee(Ieee::Sqrt, ty, rounding, Mode { ftz, sat: false }, s)
        }
        Op::Sqrt(math) => float::approximate(math.ty, math.ftz, s, |a, _| a.sqrt()),
        Op::Rsqrt(math) => float::approximate(math.ty, math.ftz, s, |a, _| 1.0 / a.sqrt()),
        Op::Sin { ftz } => float::approximate(T::F32, ftz, s, |a, _| a.sin()),
        Op::Cos { ftz } => float::approximate(T::F32, ftz, s, |a, _| a.cos()),
        Op::Lg2 { ftz } => float::approximate(T::F32, ftz, s, |a, _| a.log2()),
        Op::Ex2 { ty: T::F32, ftz } => float::approximate(T::F32, ftz, s, |a, _| a.exp2()),
        Op::Tanh(T::F32) => float::approximate(T::F32, false, s, |a, _| a.tanh()),
        Op::Abs { ty, ftz } if plain(ty) => absolute(ty, ftz, s[0]),
        Op::Neg { ty, ftz } if plain(ty) => negative(ty, ftz, s[0]),
        Op::Min(op) => minimum(&op, false, s)?,
        Op::Max(op) => minimum(&op, true, s)?,
        Op::Testp { ty, op } => u64::from(float::testp(ty, op, s[0])),
        Op::Copysign(ty) => {
            let sign = 1 << (ty.bits() - 1);
            s[0] & sign | s[1] & (sign - 1)
        }
        _ => return None,
    })
}

fn one(ty: ScalarType) -> u64 {
    if ty == ScalarType::F64 { 1f64.to_bits() } else { u64::from(1f32.to_bits()) }
}

fn add_sub(kind: Ieee, op: &AddOp, s: &[u64], carry: &mut bool) -> Option<u64> {
    if !plain(op.ty) || op.narrow.is_some() {
        return None;
    }
    if op.ty.is_float() {
        let mode = Mode { ftz: op.ftz, sat: op.sat };
        return Some(ieee(kind, op.ty, op.rounding.unwrap_or(Rounding::Rn), mode, s));
    }
    // One flag serves both families: after a subtraction it is clear where there was a borrow.
    let (value, carry_out) = match kind {
        Ieee::Sub => {
            let (value, borrow) = integer::sub(op.ty, s[0], s[1], op.carry_in && !*carry, op.sat);
            (value, !borrow)
        }
        _ => integer::add(op.ty, s[0], s[1], op.carry_in && *carry, op.sat),
    };
    if op.carry_out {
        *carry = carry_out;
    }
    Some(value)
}

fn multiply(op: &MulOp, s: &[u64]) -> Option<u64> {
    if !plain(op.ty) {
        return None;
    }
    Some(match op.mode {
        Some(mode) => integer::mul(op.ty, mode, s[0], s[1]),
        None => {
            let mode = Mode { ftz: op.ftz, sat: op.sat };
            ieee(Ieee::Mul, op.ty, op.rounding.unwrap_or(Rounding::Rn), mode, s)
        }
    })
}

fn multiply_add(op: &MadOp, s: &[u64], carry: &mut bool) -> u64 {
    let product = integer::mul(op.ty, op.mode, s[0], s[1]);
    if op.mode == MulMode::Wide {
        return product.wrapping_add(s[2]);
    }
    let (value, carry_out) = integer::add(op.ty, product, s[2], op.carry_in && *carry, op.sat);
    if op.carry_out {
        *carry = carry_out;
    }
    value
}

fn division(op: &MathOp, s: &[u64]) -> u64 {
    match op.accuracy {
        Accuracy::Ieee(rounding) => ieee(Ieee::Div, op.ty, rounding, Mode { ftz: op.ftz, sat: false }, s),
        _ => float::approximate(op.ty, op.ftz, s, |a, b| a / b),
    }
}

fn absolute(ty: ScalarType, ftz: bool, a: u64) -> u64 {
    match ty {
        ScalarType::F64 => a & !(1 << 63),
        ScalarType::F32 => u64::from(single(a, ftz).abs().to_bits()),
        _ => integer::number(ty, a).unsigned_abs() as u64,
    }
}

fn negative(ty: ScalarType, ftz: bool, a: u64) -> u64 {
    match ty {
        ScalarType::F64 => a ^ 1 << 63,
        ScalarType::F32 => u64::from((-single(a, ftz)).to_bits()),
        _ => a.wrapping_neg(),
    }
}

fn minimum(op: &MinMaxOp, max: bool, s: &[u64]) -> Option<u64> {
    if !plain(op.ty) {
        return None;
    }
    if op.ty.is_float() {
        let how = MinMax { max, nan: op.nan, ftz: op.ftz, xorsign_abs: op.xorsign_abs };
        let two = float::min_max(op.ty, how, s[0], s[1]);
        return Some(if op.three { float::min_max(op.ty, how, two, s[2]) } else { two });
    }
    let (a, b) = (integer::number(op.ty, s[0]), integer::number(op.ty, s[1]));
    let picked = if max { a.max(b) } else { a.min(b) };
    Some(if op.relu { picked.max(0) } else { picked } as u64)
}

fn bits(op: &Op, s: &[u64]) -> Option<u64> {
    Some(match *op {
        Op::Popc(_) => u64::from(s[0].count_ones()),
        Op::Clz(ty) => u64::from(s[0].leading_zeros() - (64 - ty.bits())),
        Op::Bfind { ty, shiftamt } => integer::bfind(ty, shiftamt, s[0]),
        Op::Fns => integer::fns(s[0], s[1], s[2]),
        Op::Brev(ty) => integer::brev(ty, s[0]),
        Op::Bfe(ty) => integer::bfe(ty, s[0], s[1], s[2]),
        Op::Bfi(ty) => integer::bfi(ty, s[0], s[1], s[2], s[3]),
        Op::Bmsk(mode) => integer::bmsk(mode, s[0], s[1]),
        Op::Szext { ty, mode } => integer::szext(ty, mode, s[0], s[1]),
        Op::Dp4a { a_ty, b_ty } => integer::dp4a(a_ty, b_ty, s[0], s[1], s[2]),
        Op::Dp2a { a_ty, b_ty, high } => integer::dp2a(a_ty, b_ty, high, s[0], s[1], s[2]),
        Op::And(_) => s[0] & s[1],
        Op::Or(_) => s[0] | s[1],
        Op::Xor(_) => s[0] ^ s[1],
        Op::Not(ScalarType::Pred) => s[0] ^ 1,
        Op::Not(_) => !s[0],
        Op::Cnot(_) => u64::from(s[0] == 0),
        Op::Lop3 { lut, .. } => integer::lop3(lut, s[0], s[1], s[2]),
        Op::Shf { direction, mode } => integer::shf(direction, mode, s[0], s[1], s[2]),
        Op::Shl(ty) => integer::shl(ty, s[0], s[1]),
        Op::Shr(ty) => integer::shr(ty, s[0], s[1]),
        Op::Prmt(mode) => integer::prmt(mode, s[0], s[1], s[2]),
        _ => return None,
    })
}

fn movement(op: &Op, s: &[u64]) -> Option<u64> {
    Some(match op {
        Op::Selp(_) => {
            if s[2] != 0 {
                s[0]
            } else {
                s[1]
            }
        }
        Op::Slct { selector_ty, ftz, .. } => {
            let at_least_zero = match selector_ty {
                ScalarType::F32 => single(s[2], *ftz) >= 0.0,
                _ => s[2] as u32 as i32 >= 0,
            };
            if at_least_zero { s[0] } else { s[1] }
        }
        Op::Set { dst_ty, compare } => {
            let holds = combined(compare.combine, compared(compare, s)?, &s[2..]);
            match (dst_ty, holds) {
                (_, false) => 0,
                (ScalarType::F32, true) => one(ScalarType::F32),
                (ScalarType::U32 | ScalarType::S32, true) => u64::MAX,
                _ => return None,
            }
        }
        Op::Cvt(cvt) => convert::cvt(cvt, s)?,
        Op::CvtPack { dst_ty, merge, .. } => convert::pack(*dst_ty, *merge, s),
        _ => return None,
    })
}

fn setp(op: &CompareOp, s: &[u64]) -> Option<Results> {
    let holds = compared(op, s)?;
    let p = combined(op.combine, holds, &s[2..]);
    let q = combined(op.combine, !holds, &s[2..]);
    Some([u64::from(p), u64::from(q)])
}

fn combined(op: Option<BoolOp>, holds: bool, rest: &[u64]) -> bool {
    let Some(op) = op else { return holds };
    let other = rest[0] != 0;
    match op {
        BoolOp::And => holds & other,
        BoolOp::Or => holds | other,
        BoolOp::Xor => holds ^ other,
    }
}

fn compared(op: &CompareOp, s: &[u64]) -> Option<bool> {
    if !plain(op.ty) {
        return None;
    }
    if op.ty.is_float() {
        return Some(float::compare(op.ty, op.comparison, op.ftz, s[0], s[1]));
    }
    let (a, b) = (integer::number(op.ty, s[0]), integer::number(op.ty, s[1]));
    Some(match op.comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt | Comparison::Lo => a < b,
        Comparison::Le | Comparison::Ls => a <= b,
        Comparison::Gt | Comparison::Hi => a > b,
        Comparison::Ge | Comparison::Hs => a >= b,
        _ => return None,
    })
}
