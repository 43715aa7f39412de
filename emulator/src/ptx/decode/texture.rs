//! Textures and surfaces.

use super::super::inst::Operand;
use super::super::op::Op;
use super::super::op_data::{OpaqueKind, SurfaceOp, TexLevel, TexOp, TextureQuery};
use super::super::resolve::{Arg, ArgKind, Const};
use super::super::types::{AtomOp, CacheOp, Geometry, ScalarType as T, SurfaceClamp};
use super::cursor::{Decoder, Width};
use super::movement::vector_width;
use super::raw::Decode;

/// `tex`, `tld4`.
pub(super) fn tex(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let gathers = d.opcode() == "tld4";
    let component = if gathers { d.need("its component", gathered_component)? } else { 0 };
    let level = d.take(|word| match word {
        "base" => Some(TexLevel::Base),
        "level" if !gathers => Some(TexLevel::Level),
        "grad" if !gathers => Some(TexLevel::Grad),
        _ => None,
    });
    let level = level.unwrap_or(TexLevel::Base);
    let geometry = d.need("its geometry", Geometry::from_keyword)?;
    let vec = d.take(vector_width).unwrap_or(1);
    let dst_ty = d.ty(&[T::U32, T::S32, T::F32, T::F16x2, T::B32, T::F16])?;
    let coord_ty = d.ty(&[T::S32, T::F32])?;
    texels(d, vec)?;
    let sampler = sampled(d, coord_ty)?;
    match level {
        TexLevel::Base => {}
        TexLevel::Level => d.src(coord_ty)?,
        TexLevel::Grad => {
            gradient(d)?;
            gradient(d)?;
        }
    }
    let (offset, depth_compare) = (tex_offset(d)?, d.maybe_src(T::F32)?);
    Ok(Op::Tex(TexOp { geometry, dst_ty, vec, coord_ty, level, component, sampler, offset, depth_compare }))
        .map(|op| match op {
            Op::Tex(data) if gathers => Op::Tld4(data),
            other => other,
        })
}

fn gathered_component(word: &str) -> Option<u8> {
    match word {
        "r" => Some(0),
        "g" => Some(1),
        "b" => Some(2),
        "a" => Some(3),
        _ => None,
    }
}

/// The texels, with the residency predicate as `d|p`.
fn texels(d: &mut Decoder<'_, '_>, vec: u8) -> Decode<()> {
    if !matches!(d.peek(), Some(ArgKind::Dual(_))) {
        return d.dst_elements(T::B32, vec, Width::Exact);
    }
    let arg = d.next()?;
    let span = arg.span;
    let ArgKind::Dual(sides) = arg.kind else { return Ok(()) };
    let list = match &sides.0.kind {
        ArgKind::Vector(list) if list.len() == usize::from(vec) => list.as_slice(),
        _ if vec == 1 => std::slice::from_ref(&sides.0),
        _ => return Err(d.error(span, format!("expected a vector of {vec} elements"))),
    };
    let elements: Decode<Vec<Operand>> =
        list.iter().map(|element| d.dst_operand(element, T::B32, Width::Exact)).collect();
    d.push_dst(Operand::Vector(elements?.into_boxed_slice()));
    let resident = d.dst_operand(&sides.1, T::Pred, Width::Exact)?;
    d.push_dst(resident);
    Ok(())
}

/// `[texture, (sampler), coordinates]`; returns whether there is a sampler.
fn sampled(d: &mut Decoder<'_, '_>, coord_ty: T) -> Decode<bool> {
    let arg = d.next()?;
    let list = match &arg.kind {
        ArgKind::Mem(list) if matches!(list.len(), 2 | 3) => list,
        _ => {
            return Err(
                d.error(arg.span, "expected `[texture, coordinates]` or `[texture, sampler, coordinates]`")
            );
        }
    };
    let (references, coordinates) = list.split_at(list.len() - 1);
    for reference in references {
        let operand = reference_operand(d, reference)?;
        d.push_src(operand);
    }
    let operand = coordinate_operand(d, &coordinates[0], coord_ty)?;
    d.push_src(operand);
    Ok(references.len() == 2)
}

/// A texture, sampler or surface: a 64-bit register or a variable.
fn reference_operand(d: &Decoder<'_, '_>, arg: &Arg<'_>) -> Decode<Operand> {
    match arg.kind {
        ArgKind::Var(id, 0) => Ok(Operand::Var(id, 0)),
        ArgKind::Reg(_) => d.src_operand(arg, T::B64, Width::Exact),
        _ => Err(d.error(arg.span, "expected a texture, sampler or surface reference")),
    }
}

/// Coordinates as a vector of 32-bit values; one alone becomes a vector of one.
fn coordinate_operand(d: &Decoder<'_, '_>, arg: &Arg<'_>, ty: T) -> Decode<Operand> {
    let list = match &arg.kind {
        ArgKind::Vector(list) => list.as_slice(),
        _ => std::slice::from_ref(arg),
    };
    // The layer index of an array is an integer among float coordinates: constants are given as such.
    let element_ty = |arg: &Arg<'_>| match arg.kind {
        ArgKind::Const(Const::Int { .. }) => T::B32,
        _ => ty,
    };
    let elements: Decode<Vec<Operand>> =
        list.iter().map(|element| d.src_operand(element, element_ty(element), Width::Exact)).collect();
    Ok(Operand::Vector(elements?.into_boxed_slice()))
}

fn gradient(d: &mut Decoder<'_, '_>) -> Decode<()> {
    let arg = d.next()?;
    let operand = coordinate_operand(d, &arg, T::F32)?;
    d.push_src(operand);
    Ok(())
}

/// The offset operand, if the next one is it: a vector, or an integer for one dimension.
fn tex_offset(d: &mut Decoder<'_, '_>) -> Decode<bool> {
    let is_offset = match d.peek() {
        Some(ArgKind::Vector(_) | ArgKind::Const(Const::Int { .. })) => true,
        Some(&ArgKind::Reg(reg)) => d.remaining() == 2 || d.register_type(reg).is_integer(),
        _ => false,
    };
    if is_offset {
        let arg = d.next()?;
        let operand = coordinate_operand(d, &arg, T::S32)?;
        d.push_src(operand);
    }
    Ok(is_offset)
}

/// `txq`, `suq`.
pub(super) fn query(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let level_form = d.opcode() == "txq" && d.flag("level");
    let query = d.need("what it asks", TextureQuery::from_keyword)?;
    d.ty(&[T::B32])?;
    d.dst(T::B32)?;
    let arg = d.next()?;
    let reference = match &arg.kind {
        ArgKind::Mem(list) if list.len() == 1 => reference_operand(d, &list[0])?,
        _ => return Err(d.error(arg.span, "expected a reference in brackets")),
    };
    d.push_src(reference);
    if d.opcode() == "suq" {
        return Ok(Op::Suq(query));
    }
    let level = level_form && d.maybe_src(T::U32)?;
    Ok(Op::Txq { query, level })
}

pub(super) fn istypep(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let kind = d.need("`.texref`, `.samplerref` or `.surfref`", OpaqueKind::from_keyword)?;
    d.dst(T::Pred)?;
    let arg = d.next()?;
    let operand = reference_operand(d, &arg)?;
    d.push_src(operand);
    Ok(Op::Istypep(kind))
}

/// `suld`, `sust`, `sured`.
pub(super) fn surface(d: &mut Decoder<'_, '_>) -> Decode<Op> {
    let opcode = d.opcode();
    if opcode == "suld" && d.take(|word| (word == "p").then_some(())).is_some() {
        let help = "`suld.b` loads the bytes; `cvt` converts them";
        return Err(d.whole("is a formatted surface load, which no version of PTX has implemented", help));
    }
    let formatted = d.need("`.b` or `.p`", |word| match word {
        "b" => Some(false),
        "p" if opcode != "suld" => Some(true),
        _ => None,
    })?;
    let op = match opcode {
        "sured" => Some(d.need("its operation", surface_reduction)?),
        _ => None,
    };
    let geometry = d.need("its geometry", Geometry::from_keyword)?;
    let cache = d.take(CacheOp::from_keyword);
    let vec = d.take(vector_width).unwrap_or(1);
    let ty = d.ty(&[T::B8, T::B16, T::B32, T::B64, T::U32, T::S32, T::F32, T::U64, T::S64])?;
    let clamp = d.take(SurfaceClamp::from_keyword).unwrap_or(SurfaceClamp::Trap);
    let surface = SurfaceOp { geometry, formatted, vec, ty, clamp, cache };
    if opcode == "suld" {
        d.dst_elements(ty, vec, Width::AtLeast)?;
    }
    let arg = d.next()?;
    match &arg.kind {
        ArgKind::Mem(list) if list.len() == 2 => {
            let reference = reference_operand(d, &list[0])?;
            let coordinates = coordinate_operand(d, &list[1], T::B32)?;
            d.push_src(reference);
            d.push_src(coordinates);
        }
        _ => return Err(d.error(arg.span, "expected `[surface, coordinates]`")),
    }
    if opcode != "suld" {
        d.src_elements(ty, vec, Width::AtLeast)?;
    }
    Ok(match (op, opcode) {
        (Some(op), _) => Op::Sured { op, surface },
        (None, "suld") => Op::Suld(surface),
        (None, _) => Op::Sust(surface),
    })
}

fn surface_reduction(word: &str) -> Option<AtomOp> {
    let op = AtomOp::from_keyword(word)?;
    matches!(op, AtomOp::Add | AtomOp::Min | AtomOp::Max | AtomOp::And | AtomOp::Or).then_some(op)
}
