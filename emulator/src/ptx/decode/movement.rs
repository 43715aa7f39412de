//! `mov`, conversions of addresses, byte permutation.

use super::super::inst::Operand;
use super::super::op::Op;
use super::super::op_data::MovShape;
use super::super::resolve::ArgKind;
use super::super::types::{PrmtMode, ScalarType as T, StateSpace};
use super::cursor::{Decoder, Width};
use super::raw::Decode;

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
        Some(&ArgKind::Reg(reg) | &ArgKind::RegOffset(reg, _)) => d.register_type(reg).bits() != 32,
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
