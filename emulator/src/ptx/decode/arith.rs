//! Integer and floating-point arithmetic.

use super::super::op::Op;
use super::super::op_data::{Accuracy, AddOp, FmaOp, MadOp, MathOp, MinMaxOp, MulOp};
use super::super::types::{MulMode, Rounding, ScalarType, ScalarType as T, TestpOp};
use super::cursor::Decoder;
use super::raw::Decode;

/// The integer types of ordinary arithmetic.
pub(super) const INT: &[T] = &[T::U16, T::U32, T::U64, T::S16, T::S32, T::S64];
const HALVES: [T; 2] = [T::F16, T::Bf16];
const ADD: &[T] = &[
    T::U16,
    T::U32,
    T::U64,
    T::S16,
    T::S32,
    T::S64,
    T::U16x2,
    T::S16x2,
    T::U8x4,
    T::S8x4,
    T::F16,
    T::F16x2,
    T::Bf16,
    T::Bf16x2,
    T::F32,
    T::F32x2,
    T::F64,
];
const MUL: &[T] = &[
    T::U16,
    T::U32,
    T::U64,
    T::S16,
    T::S32,
    T::S64,
    T::F16,
    T::F16x2,
    T::Bf16,
    T::Bf16x2,
    T::F32,
    T::F32x2,
    T::F64,
];
const FLOAT: &[T] = &[T::F16, T::F16x2, T::Bf16, T::Bf16x2, T::F32, T::F32x2, T::F64];
/// Types of `ex2` and `tanh`.
const SMALL_FLOAT: &[T] = &[T::F16, T::F16x2, T::Bf16, T::Bf16x2, T::F32];
const MIN_MAX: &[T] = &[
    T::U16,
    T::U32,
    T::U64,
    T::S16,
    T::S32,
    T::S64,
    T::U16x2,
    T::S16x2,
    T::U8x4,
    T::S8x4,
    T::F16,
    T::F16x2,
    T::Bf16,
    T::Bf16x2,
    T::F32,
    T::F64,
];
const SIGNED_OR_FLOAT: &[T] =
    &[T::S16, T::S32, T::S64, T::S8x4, T::F16, T::F16x2, T::Bf16, T::Bf16x2, T::F32, T::F32x2, T::F64];

/// One of the four IEEE rounding modes.
fn ieee(word: &str) -> Option<Rounding> {
    Rounding::from_keyword(word)
        .filter(|mode| matches!(mode, Rounding::Rn | Rounding::Rz | Rounding::Rm | Rounding::Rp))
}

/// The rounding of a float type: `.f16` and `.bf16` have only `.rn`.
fn rounding(d: &mut Decoder<'_, '_>, ty: T) -> Option<Rounding> {
    let nearest_only = matches!(ty, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2);
    d.take(|word| ieee(word).filter(|&mode| mode == Rounding::Rn || !nearest_only))
}

/// The narrow source type of a mixed-precision form (`.f32.f16`).
fn narrow_type(d: &mut Decoder<'_, '_>, ty: T) -> Decode<Option<T>> {
    if ty != T::F32 {
        return Ok(None);
    }
    let narrow = d.take(|word| ScalarType::from_keyword(word).filter(|ty| HALVES.contains(ty)));
    Ok(narrow)
}

/// Whether `.ftz` means something for a type.
pub(super) fn has_ftz(ty: T) -> bool {
    matches!(ty, T::F32 | T::F32x2 | T::F16 | T::F16x2)
}

/// Whether a float type can saturate to [0, 1].
fn has_sat(ty: T) -> bool {
    matches!(ty, T::F32 | T::F16 | T::F16x2)
}

pub(super) fn add(d: &mut Decoder<'_, '_>) -> Decode<AddOp> {
    let carry_in = matches!(d.opcode(), "addc" | "subc");
    let carry_out = d.flag("cc");
    let carries = carry_in || carry_out;
    let ty = d.ty(if carries { &[T::U32, T::S32, T::U64, T::S64] } else { ADD })?;
    let narrow = narrow_type(d, ty)?;
    let rounding = if ty.is_float() { rounding(d, ty) } else { None };
    let ftz = has_ftz(ty) && d.flag("ftz");
    let clamps = matches!(ty, T::U32 | T::S32 | T::S16x2 | T::U16x2 | T::U8x4 | T::S8x4);
    let sat = (has_sat(ty) || clamps) && !carries && d.flag("sat");
    d.dst(ty)?;
    d.src(narrow.unwrap_or(ty))?;
    d.src(ty)?;
    Ok(AddOp { ty, narrow, rounding, ftz, sat, carry_in, carry_out })
}

pub(super) fn mul(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ty = d.ty(MUL)?;
    let mut op = MulOp { ty, mode: None, rounding: None, ftz: false, sat: false };
    let mut result = ty;
    if ty.is_float() {
        op.rounding = rounding(d, ty);
        op.ftz = has_ftz(ty) && d.flag("ftz");
        op.sat = has_sat(ty) && d.flag("sat");
    } else {
        let mode = d.need("`.lo`, `.hi` or `.wide`", MulMode::from_keyword)?;
        op.mode = Some(mode);
        result = product_type(d, ty, mode)?;
    }
    d.dst(result)?;
    d.src(ty)?;
    d.src(ty)?;
    Ok(Op::Mul(op))
}

/// The type of an integer product.
fn product_type(d: &Decoder<'_, '_>, ty: T, mode: MulMode) -> Decode<T> {
    if mode != MulMode::Wide {
        return Ok(ty);
    }
    match ty.widened() {
        Some(wide) => Ok(wide),
        None => Err(d.whole("has no type twice as wide", "`.wide` takes 16- and 32-bit types")),
    }
}

pub(super) fn mad(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let carry_in = d.opcode() == "madc";
    if !carry_in && d.next_type().is_some_and(T::is_float) {
        return fma(d);
    }
    let carry_out = d.flag("cc");
    let carries = carry_in || carry_out;
    let ty = d.ty(if carries { &[T::U32, T::S32, T::U64, T::S64] } else { INT })?;
    let mode = d.need("`.lo`, `.hi` or `.wide`", MulMode::from_keyword)?;
    let sat = mode == MulMode::Hi && ty == T::S32 && d.flag("sat");
    let result = product_type(d, ty, mode)?;
    d.dst(result)?;
    d.src(ty)?;
    d.src(ty)?;
    d.src(result)?;
    Ok(Op::Mad(MadOp { ty, mode, sat, carry_in, carry_out }))
}

/// `fma`, and `mad` of floats, which rounds to nearest where it does not say otherwise.
pub(super) fn fma(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ty = d.ty(if d.opcode() == "mad" { &[T::F32, T::F64] } else { FLOAT })?;
    let narrow = narrow_type(d, ty)?;
    let rounding = match rounding(d, ty) {
        Some(rounding) => rounding,
        None if d.opcode() == "mad" => Rounding::Rn,
        None => return Err(d.whole("lacks its rounding", "add `.rn`, `.rz`, `.rm` or `.rp`")),
    };
    let ftz = has_ftz(ty) && d.flag("ftz");
    let sat = has_sat(ty) && d.flag("sat");
    let small = matches!(ty, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2);
    let relu = small && d.flag("relu");
    let oob = small && d.flag("oob");
    let factor = narrow.unwrap_or(ty);
    d.dst(ty)?;
    d.src(factor)?;
    d.src(factor)?;
    d.src(ty)?;
    Ok(Op::Fma(FmaOp { ty, narrow, rounding, ftz, sat, relu, oob }))
}

/// `.hi` or `.lo`, one of which must be there: whether it is `.hi`.
fn high_half(d: &mut Decoder<'_, '_>) -> Decode<bool> {
    let mode =
        d.need("`.lo` or `.hi`", |word| MulMode::from_keyword(word).filter(|&mode| mode != MulMode::Wide))?;
    Ok(mode == MulMode::Hi)
}

pub(super) fn mul24(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let high = high_half(d)?;
    let ty = d.uniform(&[T::U32, T::S32], 2)?;
    Ok(Op::Mul24 { ty, high })
}

pub(super) fn mad24(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let high = high_half(d)?;
    let sat = high && d.next_type() == Some(T::S32) && d.flag("sat");
    let ty = d.uniform(&[T::U32, T::S32], 3)?;
    Ok(Op::Mad24 { ty, high, sat })
}

pub(super) fn div(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ty = d.ty(&[T::U16, T::U32, T::U64, T::S16, T::S32, T::S64, T::F32, T::F64])?;
    let accuracy = if ty.is_float() { accuracy(d, ty)? } else { Accuracy::Integer };
    let ftz = ty == T::F32 && d.flag("ftz");
    d.dst(ty)?;
    d.src(ty)?;
    d.src(ty)?;
    Ok(Op::Div(MathOp { ty, accuracy, ftz }))
}

/// `.approx`, `.full` or a rounding.
fn accuracy(d: &mut Decoder<'_, '_>, ty: T) -> Decode<Accuracy> {
    let single = ty == T::F32;
    let division = d.opcode() == "div";
    let parse = move |word: &str| match word {
        "approx" if single || !division => Some(Accuracy::Approx),
        "full" if single && division => Some(Accuracy::Full),
        _ => ieee(word).map(Accuracy::Ieee),
    };
    d.need("`.approx` or a rounding such as `.rn`", parse)
}

/// `rcp`, `sqrt`, `rsqrt`.
pub(super) fn root(d: &mut Decoder<'_, '_>) -> Decode<MathOp> {
    let ty = d.ty(&[T::F32, T::F64])?;
    let accuracy = accuracy(d, ty)?;
    let inexact_only = d.opcode() == "rsqrt";
    let exact_only = d.opcode() == "sqrt" && ty == T::F64;
    if (inexact_only && accuracy != Accuracy::Approx) || (exact_only && accuracy == Accuracy::Approx) {
        return Err(d.whole("does not exist", "rsqrt is `.approx`, sqrt.f64 has a rounding"));
    }
    // `rcp.rn.ftz.f64` is accepted by NVIDIA's assembler, which ignores the `.ftz`.
    let rcp = d.opcode() == "rcp";
    let ftz = (rcp || ty == T::F32 || accuracy == Accuracy::Approx) && d.flag("ftz");
    if rcp && ty == T::F64 && accuracy == Accuracy::Approx && !ftz {
        return Err(d.whole("lacks `.ftz`", "the fast reciprocal of `.f64` flushes subnormals"));
    }
    let ftz = ftz && (ty == T::F32 || accuracy == Accuracy::Approx);
    d.dst(ty)?;
    d.src(ty)?;
    Ok(MathOp { ty, accuracy, ftz })
}

/// `abs`, `neg`.
pub(super) fn sign(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ftz = d.next_type().is_some_and(has_ftz) && d.flag("ftz");
    let ty = d.uniform(SIGNED_OR_FLOAT, 1)?;
    Ok(if d.opcode() == "abs" { Op::Abs { ty, ftz } } else { Op::Neg { ty, ftz } })
}

pub(super) fn min_max(d: &mut Decoder<'_, '_>) -> Decode<MinMaxOp> {
    let ty = d.ty(MIN_MAX)?;
    let small_float = ty.is_float() && ty != T::F64;
    let ftz = has_ftz(ty) && d.flag("ftz");
    let nan = small_float && d.flag("NaN");
    let xorsign_abs = small_float && d.flag("xorsign");
    if xorsign_abs {
        d.need_flag("abs")?;
    }
    let relu = matches!(ty, T::S32 | T::S16x2 | T::S8x4) && d.flag("relu");
    d.dst(ty)?;
    d.src(ty)?;
    d.src(ty)?;
    let three = ty == T::F32 && d.maybe_src(ty)?;
    Ok(MinMaxOp { ty, ftz, nan, xorsign_abs, relu, three })
}

/// `sin`, `cos`, `lg2`, `ex2`, `tanh`.
pub(super) fn transcendental(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need_flag("approx")?;
    let opcode = d.opcode();
    // `ex2` has `.ftz` for `.f32` at will, for `.bf16` always and for `.f16` never; `tanh` has none.
    let next = d.next_type();
    let bf16 = opcode == "ex2" && matches!(next, Some(T::Bf16 | T::Bf16x2));
    let ftz = (bf16 || (opcode != "tanh" && next == Some(T::F32))) && d.flag("ftz");
    if bf16 && !ftz {
        return Err(d.whole("lacks `.ftz`", "ex2 of `.bf16` always flushes subnormals"));
    }
    let small_too = matches!(opcode, "ex2" | "tanh");
    let ty = d.uniform(if small_too { SMALL_FLOAT } else { &[T::F32] }, 1)?;
    Ok(match opcode {
        "sin" => Op::Sin { ftz },
        "cos" => Op::Cos { ftz },
        "lg2" => Op::Lg2 { ftz },
        "ex2" => Op::Ex2 { ty, ftz },
        _ => Op::Tanh(ty),
    })
}

pub(super) fn testp(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let op = d.need("the class it tests", TestpOp::from_keyword)?;
    let ty = d.ty(&[T::F32, T::F64])?;
    d.dst(T::Pred)?;
    d.src(ty)?;
    Ok(Op::Testp { ty, op })
}
