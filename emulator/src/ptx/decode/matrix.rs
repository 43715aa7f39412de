//! Warp-wide matrix instructions.

use super::super::op::Op;
use super::super::op_data::{BitMultiply, MatrixMemOp, MatrixShape, MmaOp, WmmaFragment, WmmaMemOp};
use super::super::types::{MatrixLayout, Rounding, ScalarType, ScalarType as T};
use super::cursor::Decoder;
use super::memory::space;
use super::raw::Decode;

/// The register type that holds a fragment's elements.
fn register_type(ty: T) -> T {
    if ty == T::F64 { T::F64 } else { T::B32 }
}

/// Registers per thread of a fragment of `elements` elements spread over a warp.
fn registers(elements: u32, ty: T) -> u32 {
    let bits = if ty == T::F64 { 32 } else { ty.bits() };
    (elements * bits / (32 * 32)).max(1)
}

/// Registers per thread of fragment A, B or C of `wmma` and `mma`.
fn fragment_registers(fragment: WmmaFragment, shape: MatrixShape, ty: T, wmma: bool) -> u32 {
    let (m, n, k) = shape.mnk();
    let factor = matches!(fragment, WmmaFragment::A | WmmaFragment::B);
    // Volta's fragments hold every element twice (wmma), or once in each of four quad pairs (m8n8k4).
    if ty == T::F16 && factor && wmma {
        return 8;
    }
    if shape == MatrixShape::M8n8k4 && ty != T::F64 {
        return match (factor, ty) {
            (true, _) => 2,
            (false, T::F16) => 4,
            (false, _) => 8,
        };
    }
    match fragment {
        WmmaFragment::A => registers(m * k, ty),
        WmmaFragment::B => registers(k * n, ty),
        WmmaFragment::C | WmmaFragment::D => registers(m * n, ty),
    }
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
    let count = fragment_registers(fragment, shape, ty, true);
    if load {
        d.fragment(register_type(ty), count, true)?;
    }
    d.mem()?;
    if !load {
        d.fragment(register_type(ty), count, false)?;
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
    let wmma = d.opcode() == "wmma";
    let count = |fragment, ty| fragment_registers(fragment, shape, ty, wmma);
    // Half of a sparse A is zeros that are not stored.
    let a_count = count(WmmaFragment::A, a_ty) / if sparse { 2 } else { 1 };
    d.fragment(register_type(d_ty), count(WmmaFragment::D, d_ty), true)?;
    d.fragment(register_type(a_ty), a_count, false)?;
    d.fragment(register_type(b_ty), count(WmmaFragment::B, b_ty), false)?;
    d.fragment(register_type(c_ty), count(WmmaFragment::C, c_ty), false)?;
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
    // A matrix of 16×16 bytes fills two registers, the other shapes one.
    let count = if shape == MatrixShape::M16n16 { 2 * u32::from(num) } else { u32::from(num) };
    if load {
        d.fragment(T::B32, count, true)?;
    }
    d.mem()?;
    if !load {
        d.fragment(T::B32, count, false)?;
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
