//! Read-modify-write operations of the oracle.

use super::float::{Ieee, Mode, ieee};
use super::half;
use super::integer::{low, number};
use emulator::ptx::{AtomOp, MinMaxOp, Op, Rounding, ScalarType};

/// The new value of a location of a type. `flush_f32`: single-precision addition flushes subnormals, as it
/// does in global memory. `None` for types that the oracle does not know.
pub(super) fn apply(op: AtomOp, ty: ScalarType, flush_f32: bool, old: u64, b: u64, c: u64) -> Option<u64> {
    use ScalarType as T;
    // An addition of halves is that of the instruction that adds them.
    if let (AtomOp::Add, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2) = (op, ty) {
        return half::sum(ty, old, b);
    }
    if let (AtomOp::Min | AtomOp::Max, T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2) = (op, ty) {
        let plain = MinMaxOp { ty, ftz: false, nan: false, xorsign_abs: false, relu: false, three: false };
        let op = if op == AtomOp::Min { Op::Min(plain) } else { Op::Max(plain) };
        return half::evaluate(&op, &[old, b]).map(|results| results[0]);
    }
    let known = matches!(ty, T::B16 | T::B32 | T::B64 | T::U32 | T::U64 | T::S32 | T::S64 | T::F32 | T::F64);
    if !known {
        return None;
    }
    let (old, b) = (low(old, ty.bits()), low(b, ty.bits()));
    Some(match op {
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => b,
        AtomOp::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomOp::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomOp::Add if ty == T::F32 => {
            let mode = Mode { ftz: flush_f32, sat: false };
            ieee(Ieee::Add, ty, Rounding::Rn, mode, &[old, b])
        }
        AtomOp::Add if ty == T::F64 => ieee(Ieee::Add, ty, Rounding::Rn, Mode::default(), &[old, b]),
        AtomOp::Add => old.wrapping_add(b),
        AtomOp::Min | AtomOp::Max if ty.is_float() => return None,
        AtomOp::Min => number(ty, old).min(number(ty, b)) as u64,
        AtomOp::Max => number(ty, old).max(number(ty, b)) as u64,
    })
}

/// Writes the low bytes of a value into a byte array.
pub(super) fn put(bytes: &mut [u8], at: usize, size: usize, value: u64) {
    bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_their_bound() {
        let apply = |op, old, b| apply(op, ScalarType::U32, false, old, b, 0);
        assert_eq!((apply(AtomOp::Inc, 3, 4), apply(AtomOp::Inc, 4, 4)), (Some(4), Some(0)));
        assert_eq!((apply(AtomOp::Dec, 0, 4), apply(AtomOp::Dec, 9, 4)), (Some(4), Some(4)));
    }
}
