//! `mov`, conversions of values and of addresses, byte permutation.

use super::super::inst::Operand;
use super::super::op::Op;
use super::super::op_data::{CvtOp, MovShape};
use super::super::resolve::ArgKind;
use super::super::types::{PrmtMode, Rounding, ScalarType, ScalarType as T, StateSpace};
use super::Decode;
use super::cursor::{Decoder, Width};

const MOVED: &[T] = &[
    T::Pred,
    T::B8,
    T::B16,
    T::B32,
    T::B64,
    T::B128,
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
const ADDRESS: &[T] = &[T::U32, T::U64];

pub(super) fn mov(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let vec = d.take(vector_width);
    let ty = d.ty(MOVED)?;
    if let Some(count) = vec {
        d.dst_elements(ty, count, Width::Exact)?;
        d.src_elements(ty, count, Width::Exact)?;
        return Ok(Op::Mov { ty, shape: MovShape::Vector });
    }
    if let Some(ArgKind::Vector(list)) = d.peek() {
        let count = list.len();
        let part = part_type(d, ty, count)?;
        d.dst_elements(part, narrow(count), Width::Exact)?;
        d.src(ty)?;
        return Ok(Op::Mov { ty, shape: MovShape::Unpack });
    }
    d.dst(ty)?;
    let Some(ArgKind::Vector(list)) = d.peek() else {
        d.src(ty)?;
        return Ok(Op::Mov { ty, shape: MovShape::Scalar });
    };
    let count = list.len();
    let part = part_type(d, ty, count)?;
    d.src_elements(part, narrow(count), Width::Exact)?;
    Ok(Op::Mov { ty, shape: MovShape::Pack })
}

/// `.v2`, `.v4`, `.v8`.
pub(super) fn vector_width(word: &str) -> Option<u8> {
    match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

fn narrow(count: usize) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

/// The type of one part when a value is split into `count`.
fn part_type(d: &Decoder<'_, '_>, ty: T, count: usize) -> Decode<T> {
    let part = match (ty.bits(), count) {
        (16, 2) | (32, 4) => T::B8,
        (32, 2) | (64, 4) => T::B16,
        (64, 2) | (128, 4) => T::B32,
        (128, 2) => T::B64,
        _ => {
            let message = format!("cannot split `.{ty}` into {count} parts");
            return Err(d.whole(&message, "parts have 8, 16, 32 or 64 bits and there are 2 or 4 of them"));
        }
    };
    Ok(part)
}

/// Whether a type packs two or four narrow floats into one register.
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

pub(super) fn cvt(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    if d.flag("pack") {
        return cvt_pack(d);
    }
    let rounding = d.take(Rounding::from_keyword);
    let (ftz, sat) = (d.flag("ftz"), d.flag("sat"));
    let (satfinite, relu) = (d.flag("satfinite"), d.flag("relu"));
    let dst_ty = d.need("its result type", ScalarType::from_keyword)?;
    let src_ty = d.need("its source type", ScalarType::from_keyword)?;
    check_types(d, dst_ty, src_ty)?;
    check_rounding(d, dst_ty, src_ty, rounding)?;
    let packs = packed_elements(dst_ty) / packed_elements(src_ty).max(1);
    d.dst_elements(container(dst_ty), 1, Width::AtLeast)?;
    match packs {
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
    Ok(Op::Cvt(CvtOp { dst_ty, src_ty, rounding, ftz, sat, satfinite, relu }))
}

/// The narrowest type whose registers hold a value: registers of 8 bits exist only as `.b8`.
fn container(ty: T) -> T {
    if ty.is_float() && ty.bits() == 8 { T::B8 } else { ty }
}

fn check_types(d: &Decoder<'_, '_>, dst_ty: T, src_ty: T) -> Decode<()> {
    let convertible = |ty: T| {
        let whole = ty.bits() >= 8 && ty.bits() <= 64;
        let bits = matches!(ty, T::B8 | T::B16 | T::B32 | T::B64 | T::Pred | T::F32x2 | T::U16x2 | T::S16x2);
        whole && !bits && !matches!(ty, T::U8x4 | T::S8x4)
    };
    for ty in [dst_ty, src_ty] {
        if !convertible(ty) {
            return Err(d.whole(&format!("cannot convert `.{ty}`"), "it converts integers and floats"));
        }
    }
    Ok(())
}

/// Rounding is required where a conversion can be inexact, and is of the integer kind for integer results.
fn check_rounding(d: &Decoder<'_, '_>, dst_ty: T, src_ty: T, rounding: Option<Rounding>) -> Decode<()> {
    use Rounding as R;
    let to_integer = matches!(rounding, Some(R::Rni | R::Rzi | R::Rmi | R::Rpi));
    let narrowing = dst_ty.bits() < src_ty.bits() * packed_elements(dst_ty);
    let (allowed, wanted) = match (dst_ty.is_float(), src_ty.is_float()) {
        (false, true) => (to_integer, "`.rni`, `.rzi`, `.rmi` or `.rpi`"),
        (true, false) => (rounding.is_some() && !to_integer, "`.rn`, `.rz`, `.rm` or `.rp`"),
        (true, true) if narrowing => (rounding.is_some() && !to_integer, "`.rn`, `.rz` or the like"),
        (false, false) => (rounding.is_none(), "no rounding"),
        (true, true) => (true, ""),
    };
    if allowed {
        return Ok(());
    }
    Err(d.whole("has no such rounding", &format!("from `.{src_ty}` to `.{dst_ty}` it needs {wanted}")))
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

pub(super) fn cvta(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let to = d.flag("to");
    let space = d.need("a state space", StateSpace::from_keyword)?;
    let ty = d.ty(ADDRESS)?;
    d.dst(ty)?;
    let displaced = match d.peek() {
        Some(&ArgKind::Var(id, offset)) => Some(Operand::Var(id, offset)),
        _ => None,
    };
    match displaced {
        Some(variable) => {
            d.next()?;
            d.push_src(variable);
        }
        None => d.src(ty)?,
    }
    Ok(Op::Cvta { to, space, ty })
}

pub(super) fn isspacep(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let space = d.need("a state space", StateSpace::from_keyword)?;
    d.dst(T::Pred)?;
    let wide = match d.peek() {
        Some(&ArgKind::Reg(reg)) => d.register_type(reg).bits() != 32,
        _ => true,
    };
    d.src(if wide { T::U64 } else { T::U32 })?;
    Ok(Op::Isspacep(space))
}

pub(super) fn prmt(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let mode = d.take(PrmtMode::from_keyword);
    d.uniform(&[T::B32], 3)?;
    Ok(Op::Prmt(mode))
}

/// `mapa`, `getctarank`.
pub(super) fn cluster_address(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let space = if d.flag("shared::cluster") { StateSpace::SharedCluster } else { StateSpace::Generic };
    let ty = d.ty(ADDRESS)?;
    if d.opcode() == "mapa" {
        d.dst(ty)?;
        d.src(ty)?;
        d.src(T::U32)?;
        return Ok(Op::Mapa { space, ty });
    }
    d.dst(T::U32)?;
    d.src(ty)?;
    Ok(Op::Getctarank { space, ty })
}
