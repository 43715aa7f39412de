//! Warp-wide matrix instructions.

use super::super::op::Op;
use super::super::op_data::{BitMultiply, MatrixMemOp, MatrixShape, MmaOp, WmmaFragment, WmmaMemOp};
use super::super::types::{MatrixLayout, Rounding, ScalarType, ScalarType as T};
use super::Decode;
use super::cursor::Decoder;
use super::memory::space;

/// The register type that holds a fragment's elements.
fn register_type(ty: T) -> T {
    if ty == T::F64 { T::F64 } else { T::B32 }
}

/// The types that a modifier list still holds, in order.
fn types(d: &mut Decoder<'_, '_>) -> Vec<T> {
    let mut types = Vec::with_capacity(4);
    while let Some(ty) = d.maybe_type() {
        types.push(ty);
    }
    types
}

fn sync_aligned(d: &mut Decoder<'_, '_>) -> Decode<()> {
    d.need_flag("sync")?;
    d.need_flag("aligned")
}

/// `.xor.popc`, `.and.popc`.
fn bit_multiply(d: &mut Decoder<'_, '_>) -> Decode<Option<BitMultiply>> {
    let op = d.take(|word| match word {
        "xor" => Some(BitMultiply::XorPopc),
        "and" => Some(BitMultiply::AndPopc),
        _ => None,
    });
    if op.is_some() {
        d.need_flag("popc")?;
    }
    Ok(op)
}

pub(super) fn wmma(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let verb = d.need("`.load`, `.store` or `.mma`", |word| {
        ["load", "store", "mma"].into_iter().find(|known| *known == word)
    })?;
    if verb == "mma" {
        let bit_op = bit_multiply(d)?;
        sync_aligned(d)?;
        let layouts = layouts(d)?;
        return multiply(d, layouts, bit_op, false).map(Op::WmmaMma);
    }
    let load = verb == "load";
    let fragment = d.need("its fragment", |word| {
        WmmaFragment::from_keyword(word).filter(|&fragment| (fragment == WmmaFragment::D) != load)
    })?;
    sync_aligned(d)?;
    let layout = d.need("`.row` or `.col`", MatrixLayout::from_keyword)?;
    let shape = d.need("its shape", MatrixShape::from_keyword)?;
    let space = space(d);
    let ty = d.need("a type", ScalarType::from_keyword)?;
    if load {
        d.fragment(register_type(ty), true)?;
    }
    d.mem()?;
    if !load {
        d.fragment(register_type(ty), false)?;
    }
    let stride = d.maybe_src(T::U32)?;
    let op = WmmaMemOp { fragment, shape, layout, space, ty, stride };
    Ok(if load { Op::WmmaLoad(op) } else { Op::WmmaStore(op) })
}

fn layouts(d: &mut Decoder<'_, '_>) -> Decode<(MatrixLayout, MatrixLayout)> {
    let a = d.need("the layout of A", MatrixLayout::from_keyword)?;
    let b = d.need("the layout of B", MatrixLayout::from_keyword)?;
    Ok((a, b))
}

/// Shape, types and operands of a multiplication.
fn multiply(
    d: &mut Decoder<'_, '_>,
    (a_layout, b_layout): (MatrixLayout, MatrixLayout),
    bit_op: Option<BitMultiply>,
    sparse: bool,
) -> Decode<MmaOp> {
    let shape = d.need("its shape", MatrixShape::from_keyword)?;
    let satfinite = d.flag("satfinite");
    let rounding = d.take(Rounding::from_keyword);
    let (d_ty, a_ty, b_ty, c_ty) = match *types(d) {
        [d_ty, c_ty] => (d_ty, T::F16, T::F16, c_ty),
        [d_ty, a_ty, b_ty, c_ty] => (d_ty, a_ty, b_ty, c_ty),
        _ => return Err(d.whole("has two or four types", "they are those of D, A, B and C")),
    };
    d.fragment(register_type(d_ty), true)?;
    for ty in [a_ty, b_ty, c_ty] {
        d.fragment(register_type(ty), false)?;
    }
    if sparse {
        d.src(T::B32)?;
        d.src(T::U32)?;
    }
    Ok(MmaOp { shape, a_layout, b_layout, d_ty, a_ty, b_ty, c_ty, satfinite, rounding, bit_op, sparse })
}

pub(super) fn mma(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let sparse = d.flag("sp") || d.flag("sp::ordered_metadata");
    sync_aligned(d)?;
    let layouts = layouts(d)?;
    let bit_op = bit_multiply(d)?;
    multiply(d, layouts, bit_op, sparse).map(Op::Mma)
}

/// `ldmatrix`, `stmatrix`.
pub(super) fn matrix_memory(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let load = d.opcode() == "ldmatrix";
    sync_aligned(d)?;
    let shape = d.need("its shape", MatrixShape::from_keyword)?;
    let num = d.need("`.x1`, `.x2` or `.x4`", |word| match word {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    })?;
    let trans = d.flag("trans");
    let space = space(d);
    let packed_source = load && (d.flag("b6x16_p32") || d.flag("b4x16_p64"));
    d.take(|word| (word == "b8x16").then_some(()));
    let ty = if packed_source { d.maybe_type().unwrap_or(T::B8) } else { d.ty(&[T::B16, T::B8])? };
    if load {
        d.fragment(T::B32, true)?;
    }
    d.mem()?;
    if !load {
        d.fragment(T::B32, false)?;
    }
    let op = MatrixMemOp { shape, num, trans, space, ty, packed_source };
    Ok(if load { Op::Ldmatrix(op) } else { Op::Stmatrix(op) })
}

pub(super) fn movmatrix(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    sync_aligned(d)?;
    d.need_flag("m8n8")?;
    d.need_flag("trans")?;
    d.ty(&[T::B16])?;
    d.dst(T::B32)?;
    d.src(T::B32)?;
    Ok(Op::Movmatrix)
}
