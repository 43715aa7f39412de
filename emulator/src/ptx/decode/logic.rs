//! Bit operations, comparisons and selections.

use super::super::op::Op;
use super::super::op_data::CompareOp;
use super::super::types::{BoolOp, Comparison, ScalarType as T, ShiftDirection, ShiftMode, TypeKind};
use super::arith::has_ftz;
use super::cursor::Decoder;
use super::raw::Decode;

/// Types of `and` and its kin; from the second on, types of `cnot`.
pub(super) const BITS_OR_PRED: &[T] = &[T::Pred, T::B16, T::B32, T::B64];
const BITS: &[T] = &[T::B16, T::B32, T::B64];
const B32_OR_64: &[T] = &[T::B32, T::B64];
const INT32_OR_64: &[T] = &[T::U32, T::U64, T::S32, T::S64];
const SHIFTED: &[T] = &[T::B16, T::B32, T::B64, T::U16, T::U32, T::U64, T::S16, T::S32, T::S64];
const SELECTED: &[T] =
    &[T::B16, T::B32, T::B64, T::U16, T::U32, T::U64, T::S16, T::S32, T::S64, T::F32, T::F64];
const COMPARED: &[T] = &[
    T::B16,
    T::B32,
    T::B64,
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
    T::F64,
];
const SET_RESULT: &[T] = &[T::U32, T::S32, T::F32, T::F16, T::Bf16, T::U16, T::S16, T::F16x2, T::Bf16x2];

/// `popc`, `clz`, `bfind`, `brev`.
pub(super) fn bit_count(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let opcode = d.opcode();
    let shiftamt = opcode == "bfind" && d.flag("shiftamt");
    let ty = d.ty(if opcode == "bfind" { INT32_OR_64 } else { B32_OR_64 })?;
    d.dst(if opcode == "brev" { ty } else { T::B32 })?;
    d.src(ty)?;
    Ok(match opcode {
        "popc" => Op::Popc(ty),
        "clz" => Op::Clz(ty),
        "bfind" => Op::Bfind { ty, shiftamt },
        _ => Op::Brev(ty),
    })
}

pub(super) fn fns(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.uniform(&[T::B32], 3)?;
    Ok(Op::Fns)
}

/// `bfe`, `bfi`.
pub(super) fn bit_field(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let insert = d.opcode() == "bfi";
    let ty = d.ty(if insert { B32_OR_64 } else { INT32_OR_64 })?;
    d.dst(ty)?;
    d.src(ty)?;
    if insert {
        d.src(ty)?;
    }
    d.src(T::U32)?;
    d.src(T::U32)?;
    Ok(if insert { Op::Bfi(ty) } else { Op::Bfe(ty) })
}

/// `bmsk`, `szext`.
pub(super) fn mask(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let mode = d.need("`.clamp` or `.wrap`", ShiftMode::from_keyword)?;
    if d.opcode() == "bmsk" {
        d.uniform(&[T::B32], 2)?;
        return Ok(Op::Bmsk(mode));
    }
    let ty = d.ty(&[T::U32, T::S32])?;
    d.dst(ty)?;
    d.src(ty)?;
    d.src(T::U32)?;
    Ok(Op::Szext { ty, mode })
}

/// `dp4a`, `dp2a`.
pub(super) fn dot_product(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let half = match d.opcode() {
        "dp2a" => Some(d.need("`.lo` or `.hi`", |word| match word {
            "lo" => Some(false),
            "hi" => Some(true),
            _ => None,
        })?),
        _ => None,
    };
    let a_ty = d.ty(&[T::U32, T::S32])?;
    let b_ty = d.ty(&[T::U32, T::S32])?;
    d.dst(T::B32)?;
    for _ in 0..3 {
        d.src(T::B32)?;
    }
    Ok(match half {
        Some(high) => Op::Dp2a { a_ty, b_ty, high },
        None => Op::Dp4a { a_ty, b_ty },
    })
}

/// Comparison and combination of `set` and `setp`; the types follow.
fn comparison(d: &mut Decoder<'_, '_>) -> Decode<(Comparison, Option<BoolOp>)> {
    let comparison = d.need("a comparison such as `.lt`", Comparison::from_keyword)?;
    let combine = d.take(BoolOp::from_keyword);
    Ok((comparison, combine))
}

/// Checks that a comparison exists for a type. The unsigned spellings become the ordinary ones.
fn checked(d: &Decoder<'_, '_>, comparison: Comparison, ty: T) -> Decode<Comparison> {
    use Comparison as C;
    let unordered =
        matches!(comparison, C::Equ | C::Neu | C::Ltu | C::Leu | C::Gtu | C::Geu | C::Num | C::Nan);
    let unsigned_word = matches!(comparison, C::Lo | C::Ls | C::Hi | C::Hs);
    let exists = match ty.kind() {
        TypeKind::Float => !unsigned_word,
        TypeKind::Unsigned => !unordered,
        TypeKind::Signed => !unordered && !unsigned_word,
        TypeKind::Bits | TypeKind::Predicate => matches!(comparison, C::Eq | C::Ne),
    };
    if !exists {
        let message = format!("has no comparison `.{comparison}` for type `.{ty}`");
        return Err(d.whole(&message, "bits compare for equality, integers for order, floats also unordered"));
    }
    Ok(match comparison {
        C::Lo => C::Lt,
        C::Ls => C::Le,
        C::Hi => C::Gt,
        C::Hs => C::Ge,
        other => other,
    })
}

fn compared(d: &mut Decoder<'_, '_>, ty: T, combine: bool) -> Decode<()> {
    d.src(ty)?;
    d.src(ty)?;
    if combine {
        d.src(T::Pred)?;
    }
    Ok(())
}

/// Which results `set` has for which sources.
fn set_exists(dst_ty: T, ty: T) -> bool {
    match ty {
        T::F16x2 | T::Bf16x2 => dst_ty == ty || matches!(dst_ty, T::U32 | T::S32),
        T::F16 | T::Bf16 => !matches!(dst_ty, T::F16x2 | T::Bf16x2 | T::F32),
        _ => matches!(dst_ty, T::U32 | T::S32 | T::F32 | T::F16 | T::Bf16),
    }
}

pub(super) fn set(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let (comparison, combine) = comparison(d)?;
    let dst_ty = d.ty(SET_RESULT)?;
    let ty = d.ty(COMPARED)?;
    let comparison = checked(d, comparison, ty)?;
    if !set_exists(dst_ty, ty) {
        return Err(
            d.whole(&format!("has no result of type `.{dst_ty}`"), "most have `.u32`, `.s32` or `.f32`")
        );
    }
    let ftz = has_ftz(ty) && d.flag("ftz");
    d.dst(dst_ty)?;
    compared(d, ty, combine.is_some())?;
    Ok(Op::Set { dst_ty, compare: CompareOp { ty, comparison, combine, ftz } })
}

pub(super) fn setp(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let (comparison, combine) = comparison(d)?;
    let ty = d.ty(COMPARED)?;
    let comparison = checked(d, comparison, ty)?;
    let ftz = has_ftz(ty) && d.flag("ftz");
    if d.dst_dual(T::Pred)? && matches!(ty, T::F16 | T::Bf16) {
        return Err(d.whole(
            "has one destination",
            "only the packed types and those from 16-bit integers on have two",
        ));
    }
    compared(d, ty, combine.is_some())?;
    Ok(Op::Setp(CompareOp { ty, comparison, combine, ftz }))
}

pub(super) fn selp(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ty = d.uniform(SELECTED, 2)?;
    d.src(T::Pred)?;
    Ok(Op::Selp(ty))
}

pub(super) fn slct(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let ty = d.ty(SELECTED)?;
    let selector_ty = d.ty(&[T::S32, T::F32])?;
    let ftz = selector_ty == T::F32 && d.flag("ftz");
    d.dst(ty)?;
    d.src(ty)?;
    d.src(ty)?;
    d.src(selector_ty)?;
    Ok(Op::Slct { ty, selector_ty, ftz })
}

pub(super) fn lop3(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let combine = d.take(|word| BoolOp::from_keyword(word).filter(|&op| op != BoolOp::Xor));
    d.ty(&[T::B32])?;
    match (d.dst_dual(T::B32)?, combine) {
        (true, Some(_)) | (false, None) => {}
        (false, Some(_)) => return Err(d.whole("has a second destination", "write `d|p`")),
        (true, None) => return Err(d.whole("has one destination", "`d|p` needs `.or` or `.and`")),
    }
    for _ in 0..3 {
        d.src(T::B32)?;
    }
    let lut = d.constant()?;
    let Ok(lut) = u8::try_from(lut) else {
        return Err(d.whole("has a truth table of 8 bits", "use a constant from 0 to 0xFF"));
    };
    if combine.is_some() {
        d.src(T::Pred)?;
    }
    Ok(Op::Lop3 { lut, combine })
}

pub(super) fn funnel_shift(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let direction = d.need("`.l` or `.r`", ShiftDirection::from_keyword)?;
    let mode = d.need("`.clamp` or `.wrap`", ShiftMode::from_keyword)?;
    d.uniform(&[T::B32], 3)?;
    Ok(Op::Shf { direction, mode })
}

/// `shl`, `shr`: the amount is 32 bits whatever the type.
pub(super) fn shift(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let left = d.opcode() == "shl";
    let ty = d.ty(if left { BITS } else { SHIFTED })?;
    d.dst(ty)?;
    d.src(ty)?;
    d.src(T::U32)?;
    Ok(if left { Op::Shl(ty) } else { Op::Shr(ty) })
}
