//! Packed integers and SIMD video instructions of the oracle, lane by lane.

use super::integer::{low, number, range};
use emulator::ptx::{AddOp, Comparison, MinMaxOp, Op, ScalarType, VideoKind, VideoOp, VideoSecond};

/// Lanes and element type of a packed integer type.
fn lanes(ty: ScalarType) -> Option<(u32, ScalarType)> {
    Some(match ty {
        ScalarType::U16x2 => (2, ScalarType::U16),
        ScalarType::S16x2 => (2, ScalarType::S16),
        ScalarType::U8x4 => (4, ScalarType::U8),
        ScalarType::S8x4 => (4, ScalarType::S8),
        _ => return None,
    })
}

/// The result of a packed instruction; `None` for all others.
pub(super) fn evaluate(op: &Op, s: &[u64]) -> Option<u64> {
    match op {
        Op::Add(AddOp { ty, sat, .. }) => pairwise(*ty, s, |_, a, b| clamped(*ty, *sat, a + b)),
        Op::Sub(AddOp { ty, sat, .. }) => pairwise(*ty, s, |_, a, b| clamped(*ty, *sat, a - b)),
        Op::Min(op) if !op.three => pairwise(op.ty, s, |_, a, b| relu(op, a.min(b))),
        Op::Max(op) if !op.three => pairwise(op.ty, s, |_, a, b| relu(op, a.max(b))),
        Op::Neg { ty, .. } => pairwise(*ty, &[s[0], 0], |_, a, _| -a),
        Op::Video(op) => video(op, s),
        _ => None,
    }
}

/// A number within the range of a part, if it saturates.
fn clamped(ty: ScalarType, sat: bool, value: i128) -> i128 {
    match lanes(ty).filter(|_| sat) {
        Some((_, part)) => value.clamp(range(part).0, range(part).1),
        None => value,
    }
}

fn relu(op: &MinMaxOp, value: i128) -> i128 {
    if op.relu { value.max(0) } else { value }
}

fn pairwise(ty: ScalarType, s: &[u64], compute: impl Fn(u32, i128, i128) -> i128) -> Option<u64> {
    let (count, element) = lanes(ty)?;
    let bits = element.bits();
    Some((0..count).fold(0, |d, at| {
        let part = |word: u64| number(element, low(word >> (at * bits), bits));
        d | low(compute(at, part(s[0]), part(s[1])) as u64, bits) << (at * bits)
    }))
}

/// Kind and lanes of a SIMD video instruction.
fn simd(kind: VideoKind) -> Option<(VideoKind, u32)> {
    use VideoKind as K;
    Some(match kind {
        K::Vadd2 => (K::Vadd, 2),
        K::Vsub2 => (K::Vsub, 2),
        K::Vavrg2 => (K::Vavrg2, 2),
        K::Vabsdiff2 => (K::Vabsdiff, 2),
        K::Vmin2 => (K::Vmin, 2),
        K::Vmax2 => (K::Vmax, 2),
        K::Vset2 => (K::Vset, 2),
        K::Vadd4 => (K::Vadd, 4),
        K::Vsub4 => (K::Vsub, 4),
        K::Vavrg4 => (K::Vavrg2, 4),
        K::Vabsdiff4 => (K::Vabsdiff, 4),
        K::Vmin4 => (K::Vmin, 4),
        K::Vmax4 => (K::Vmax, 4),
        K::Vset4 => (K::Vset, 4),
        _ => return None,
    })
}

fn element(count: u32, signed: bool) -> ScalarType {
    match (count, signed) {
        (2, false) => ScalarType::U16,
        (2, true) => ScalarType::S16,
        (_, false) => ScalarType::U8,
        (_, true) => ScalarType::S8,
    }
}

/// PTX ISA, SIMD video instructions: extract, operate, saturate, then merge into `c` or add to it.
fn video(op: &VideoOp, s: &[u64]) -> Option<u64> {
    let (kind, count) = simd(op.kind)?;
    let bits = 32 / count;
    let (a_ty, b_ty) = (element(count, op.a_ty.is_signed()), element(count, op.b_ty.is_signed()));
    let d_ty = element(count, op.dst_ty.is_signed());
    let both = low(s[1], 32) << 32 | low(s[0], 32);
    let sums = op.second == VideoSecond::Add;
    let mut d = s.get(2).copied().unwrap_or(0);
    for lane in 0..count {
        if op.lanes.mask >> lane & 1 == 0 {
            continue;
        }
        let pick = |from: u8, ty: ScalarType| number(ty, low(both >> (u32::from(from) * bits), bits));
        let (a, b) = (pick(op.lanes.a[lane as usize], a_ty), pick(op.lanes.b[lane as usize], b_ty));
        let mut value = match kind {
            VideoKind::Vadd => a + b,
            VideoKind::Vsub => a - b,
            VideoKind::Vabsdiff => (a - b).abs(),
            VideoKind::Vmin => a.min(b),
            VideoKind::Vmax => a.max(b),
            VideoKind::Vset => i128::from(holds(op.comparison?, a, b)?),
            // Halves round away from zero, where that is up.
            _ => (a + b + i128::from(a + b >= 0)) >> 1,
        };
        if op.sat {
            let (least, greatest) = range(d_ty);
            value = value.clamp(least, greatest);
        }
        if sums {
            d = d.wrapping_add(value as u64);
        } else {
            let mask = low(u64::MAX, bits) << (lane * bits);
            d = d & !mask | low(value as u64, bits) << (lane * bits);
        }
    }
    Some(d)
}

fn holds(comparison: Comparison, a: i128, b: i128) -> Option<bool> {
    Some(match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
        _ => return None,
    })
}
