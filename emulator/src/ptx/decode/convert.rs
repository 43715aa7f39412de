//! `cvt`: conversions between integers, floats and packed narrow floats.
//!
//! Which pairs of types exist, and with which modifiers, follows what NVIDIA's assembler accepts, so that
//! lowering meets no combination without a meaning.

use super::super::op::Op;
use super::super::op_data::CvtOp;
use super::super::types::{Rounding, ScalarType, ScalarType as T};
use super::cursor::{Decoder, Width};
use super::raw::Decode;

/// Elements that a packed type holds, 1 for a scalar.
fn packed_elements(ty: T) -> u32 {
    match ty {
        T::F16x2
        | T::Bf16x2
        | T::E4m3x2
        | T::E5m2x2
        | T::E3m2x2
        | T::E2m3x2
        | T::E2m1x2
        | T::Ue8m0x2
        | T::S2f6x2 => 2,
        T::E4m3x4 | T::E5m2x4 | T::E3m2x4 | T::E2m3x4 | T::E2m1x4 => 4,
        _ => 1,
    }
}

fn is_integer(ty: T) -> bool {
    matches!(ty, T::U8 | T::U16 | T::U32 | T::U64 | T::S8 | T::S16 | T::S32 | T::S64)
}

fn is_scalar(ty: T) -> bool {
    is_integer(ty) || matches!(ty, T::F16 | T::Bf16 | T::F32 | T::F64)
}

/// Whether a conversion between the two types exists.
fn exists(dst_ty: T, src_ty: T) -> bool {
    let narrow_pair =
        |ty| matches!(ty, T::E4m3x2 | T::E5m2x2 | T::E3m2x2 | T::E2m3x2 | T::E2m1x2 | T::S2f6x2);
    match dst_ty {
        T::F16x2 => src_ty == T::F32 || narrow_pair(src_ty),
        T::Bf16x2 => src_ty == T::F32 || narrow_pair(src_ty) || src_ty == T::Ue8m0x2,
        T::Ue8m0x2 => matches!(src_ty, T::F32 | T::Bf16x2),
        T::Tf32 => src_ty == T::F32,
        _ if narrow_pair(dst_ty) => matches!(src_ty, T::F32 | T::F16x2 | T::Bf16x2),
        _ if packed_elements(dst_ty) == 4 => src_ty == T::F32,
        _ => {
            let bf16_byte = |a, b| a == T::Bf16 && matches!(b, T::U8 | T::S8);
            is_scalar(dst_ty) && is_scalar(src_ty) && !bf16_byte(dst_ty, src_ty) && !bf16_byte(src_ty, dst_ty)
        }
    }
}

pub(super) fn cvt(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    if d.flag("pack") {
        return cvt_pack(d);
    }
    let rounding = d.take(Rounding::from_keyword);
    let (ftz, sat) = (d.flag("ftz"), d.flag("sat"));
    let (satfinite, relu) = (d.flag("satfinite"), d.flag("relu"));
    let dst_ty = d.need("its result type", ScalarType::from_keyword)?;
    let src_ty = d.need("its source type", ScalarType::from_keyword)?;
    let op = CvtOp { dst_ty, src_ty, rounding, ftz, sat, satfinite, relu };
    if !exists(dst_ty, src_ty) {
        let message = format!("does not convert `.{src_ty}` to `.{dst_ty}`");
        return Err(d.whole(&message, "it converts integers and floats, and packs or unpacks narrow floats"));
    }
    check_rounding(d, &op)?;
    check_modifiers(d, &op)?;
    d.dst_elements(container(dst_ty), 1, Width::AtLeast)?;
    match packed_elements(dst_ty) / packed_elements(src_ty) {
        2 => {
            d.src_elements(src_ty, 1, Width::AtLeast)?;
            d.src_elements(src_ty, 1, Width::AtLeast)?;
        }
        4 => d.src_elements(src_ty, 4, Width::AtLeast)?,
        _ => d.src_elements(container(src_ty), 1, Width::AtLeast)?,
    }
    if rounding == Some(Rounding::Rs) {
        d.src(T::B32)?;
    }
    Ok(Op::Cvt(op))
}

/// The untyped register type that holds a narrow float.
fn container(ty: T) -> T {
    if ty.is_float() && ty.bits() == 8 { T::B8 } else { ty }
}

/// Rounding is required where a conversion can be inexact, and is of the integer kind for integer results
/// and for rounding within a type.
fn check_rounding(d: &Decoder<'_, '_>, op: &CvtOp) -> Decode<()> {
    use Rounding as R;
    let &CvtOp { dst_ty, src_ty, rounding, .. } = op;
    let to_integer = matches!(rounding, Some(R::Rni | R::Rzi | R::Rmi | R::Rpi));
    let ieee = matches!(rounding, Some(R::Rn | R::Rz | R::Rm | R::Rp));
    let none = rounding.is_none();
    let (allowed, wanted) = match (is_scalar(dst_ty), is_integer(dst_ty), is_integer(src_ty)) {
        (false, ..) => match rounding {
            Some(R::Rna) => (dst_ty == T::Tf32, "`.rn` or `.rz`"),
            Some(R::Rs) => (src_ty == T::F32 && dst_ty != T::Tf32, "`.rn` or `.rz`"),
            _ => (ieee, "`.rn`, `.rz` or the like"),
        },
        (_, true, true) => (none, "no rounding"),
        (_, true, false) => (to_integer, "`.rni`, `.rzi`, `.rmi` or `.rpi`"),
        (_, false, true) => (ieee, "`.rn`, `.rz`, `.rm` or `.rp`"),
        (_, false, false) if dst_ty == src_ty => {
            (none || to_integer, "none or `.rni`, `.rzi`, `.rmi`, `.rpi`")
        }
        (_, false, false) if dst_ty.bits() < src_ty.bits() => (ieee, "`.rn`, `.rz`, `.rm` or `.rp`"),
        (_, false, false) => {
            let bf16 = dst_ty == T::Bf16 || src_ty == T::Bf16;
            (none || (ieee && bf16), "no rounding")
        }
    };
    if allowed {
        return Ok(());
    }
    Err(d.whole("has not the right rounding", &format!("from `.{src_ty}` to `.{dst_ty}` it takes {wanted}")))
}

/// `.ftz`, `.sat`, `.relu` and `.satfinite` exist only where they mean something.
fn check_modifiers(d: &Decoder<'_, '_>, op: &CvtOp) -> Decode<()> {
    let &CvtOp { dst_ty, src_ty, ftz, sat, satfinite, relu, .. } = op;
    let scalars = is_scalar(dst_ty) && is_scalar(src_ty);
    let from_wide = src_ty == T::F32 || packed_elements(src_ty) == 2;
    let narrows = from_wide && !is_integer(dst_ty) && !matches!(dst_ty, T::F32 | T::F64);
    let wrong = if ftz && !(scalars && (dst_ty == T::F32 || src_ty == T::F32)) {
        ".ftz"
    } else if sat && !(scalars && dst_ty != T::Bf16 && src_ty != T::Bf16) {
        ".sat"
    } else if satfinite && !narrows {
        ".satfinite"
    } else if relu && !narrows {
        ".relu"
    } else {
        return Ok(());
    };
    Err(d.whole(&format!("has no `{wrong}`"), &format!("from `.{src_ty}` to `.{dst_ty}` it has no meaning")))
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c` and `cvt.pack.sat.s16.s32 d, a, b`.
fn cvt_pack(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    d.need_flag("sat")?;
    let dst_ty = d.ty(&[T::U16, T::S16, T::U8, T::S8, T::U4, T::S4])?;
    let src_ty = d.ty(&[T::S32])?;
    let merge = d.take(|word| (word == "b32").then_some(())).is_some();
    d.dst(T::B32)?;
    d.src(src_ty)?;
    d.src(src_ty)?;
    if merge {
        d.src(T::B32)?;
    }
    Ok(Op::CvtPack { dst_ty, src_ty, merge })
}
