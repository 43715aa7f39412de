//! Operations across the lanes of a warp: shuffles, votes, matches, reductions.

use super::int::mask_of;
use super::row::Row;
use super::{WARP_SIZE, float};
use crate::isa::{MatchMode, ReduxOp, ReduxTy, ShflMode, VoteMode};

/// Result and range predicate of every lane of a shuffle (PTX ISA, `shfl.sync`). A lane outside `active` does not take
/// part: PTX leaves its value undefined, hardware and this function give 0.
pub(super) fn shuffle(mode: ShflMode, a: &Row, b: &Row, c: &Row, active: u32) -> (Row, u32) {
    let mut out = Row::ZERO;
    let mut in_range = 0;
    for l in 0..WARP_SIZE {
        let lane = l as i32;
        let by = (b.0[l] & 31) as i32;
        let clamp = (c.0[l] & 31) as i32;
        let segment = (c.0[l] >> 8 & 31) as i32;
        let max = (lane & segment) | (clamp & !segment);
        let min = lane & segment;
        let (from, ok) = match mode {
            ShflMode::Up => (lane - by, lane - by >= max),
            ShflMode::Down => (lane + by, lane + by <= max),
            ShflMode::Bfly => (lane ^ by, lane ^ by <= max),
            ShflMode::Idx => (min | (by & !segment), (min | (by & !segment)) <= max),
        };
        let source = if ok { (from & 31) as usize } else { l };
        out.0[l] = if active >> source & 1 != 0 { a.0[source] } else { 0 };
        in_range |= u32::from(ok) << l;
    }
    (out, in_range)
}

/// Ballot word and predicate of every lane of a vote; `pred` and `active` are lane masks, `members` each
/// lane's member mask.
#[inline(always)]
pub(super) fn vote(mode: VoteMode, pred: u32, active: u32, members: &Row) -> (Row, u32) {
    let mut ballots = Row::ZERO;
    for l in 0..WARP_SIZE {
        ballots.0[l] = pred & active & members.0[l];
    }
    let all = mask_of(|l| ballots.0[l] == active & members.0[l]);
    let any = mask_of(|l| ballots.0[l] != 0);
    let p = match mode {
        VoteMode::All => all,
        VoteMode::Any | VoteMode::Ballot => any,
        VoteMode::Uni => all | !any,
    };
    (ballots, p)
}

/// Match word and predicate of every lane over the values `of` in the active lanes of its member mask.
pub(super) fn find_equal(
    mode: MatchMode,
    active: u32,
    members: &Row,
    of: impl Fn(usize) -> u64,
) -> (Row, u32) {
    let mut out = Row::ZERO;
    let mut all_equal = 0;
    for l in 0..WARP_SIZE {
        let part = active & members.0[l];
        let same = (0..WARP_SIZE).fold(0u32, |m, o| m | u32::from(of(o) == of(l)) << o) & part;
        let all = same == part;
        all_equal |= u32::from(all) << l;
        out.0[l] = match mode {
            MatchMode::Any => same,
            MatchMode::All => {
                if all {
                    part
                } else {
                    0
                }
            }
        };
    }
    (out, all_equal)
}

/// In every active lane the reduction of `a` over the active lanes of its member mask.
pub(super) fn reduce(op: ReduxOp, ty: ReduxTy, nan: bool, a: &Row, active: u32, members: &Row) -> Row {
    let mut out = Row::ZERO;
    // Members nearly always agree on their mask, so that one pass serves them all.
    let mut last: Option<(u32, u32)> = None;
    for l in 0..WARP_SIZE {
        let part = active & members.0[l];
        out.0[l] = match last {
            Some((mask, value)) if mask == part => value,
            _ => {
                let value = reduced(op, ty, nan, a, part);
                last = Some((part, value));
                value
            }
        };
    }
    out
}

fn reduced(op: ReduxOp, ty: ReduxTy, nan: bool, a: &Row, part: u32) -> u32 {
    let values = (0..WARP_SIZE).filter(|l| part >> l & 1 != 0).map(|l| a.0[l]);
    let combine = |x: u32, y: u32| match (op, ty) {
        (ReduxOp::And, _) => x & y,
        (ReduxOp::Or, _) => x | y,
        (ReduxOp::Xor, _) => x ^ y,
        (ReduxOp::Sum, _) => x.wrapping_add(y),
        (ReduxOp::Min | ReduxOp::Max, ReduxTy::F32) => {
            let max = op == ReduxOp::Max;
            float::min_max(&Row::splat(x), &Row::splat(y), max, nan).0[0]
        }
        (ReduxOp::Min, ReduxTy::U32) => x.min(y),
        (ReduxOp::Max, ReduxTy::U32) => x.max(y),
        (ReduxOp::Min, ReduxTy::S32) => (x as i32).min(y as i32) as u32,
        (ReduxOp::Max, ReduxTy::S32) => (x as i32).max(y as i32) as u32,
    };
    let r = values.reduce(combine).unwrap_or(0);
    // A single NaN operand has not been made canonical yet.
    if ty == ReduxTy::F32 && f32::from_bits(r).is_nan() { float::CANONICAL_NAN } else { r }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Row {
        Row::from_fn(|l| l as u32)
    }

    #[test]
    fn shuffle_down_keeps_own_value_beyond_the_segment() {
        let (r, p) = shuffle(ShflMode::Down, &ids(), &Row::splat(16), &Row::splat(0x1f), u32::MAX);
        assert_eq!(r.0[0], 16);
        assert_eq!(r.0[16], 16);
        assert_eq!(r.0[31], 31);
        assert_eq!(p, 0x0000_FFFF);
    }

    #[test]
    fn shuffle_up_in_half_warps() {
        let (r, p) = shuffle(ShflMode::Up, &ids(), &Row::splat(1), &Row::splat(0x10 << 8), u32::MAX);
        assert_eq!((r.0[0], r.0[1], r.0[16], r.0[17]), (0, 0, 16, 16));
        assert_eq!(p, 0xFFFE_FFFE);
    }

    #[test]
    fn shuffle_index_and_butterfly() {
        let (r, _) = shuffle(ShflMode::Idx, &ids(), &Row::splat(3), &Row::splat(0x1f), u32::MAX);
        assert_eq!(r, Row::splat(3));
        let (r, _) = shuffle(ShflMode::Bfly, &ids(), &Row::splat(1), &Row::splat(0x1f), u32::MAX);
        assert_eq!((r.0[0], r.0[1], r.0[30]), (1, 0, 31));
    }

    #[test]
    fn a_shuffle_from_an_absent_lane_is_zero() {
        let (r, p) = shuffle(ShflMode::Down, &ids(), &Row::splat(16), &Row::splat(0x1f), 0x000F_FFFF);
        assert_eq!((r.0[3], r.0[4], r.0[19]), (19, 0, 19));
        assert_eq!(p, 0x0000_FFFF);
    }

    #[test]
    fn votes_count_only_members() {
        let members = Row::splat(0xFF);
        let (b, p) = vote(VoteMode::All, 0x0F0F, 0xFFFF, &members);
        assert_eq!(b.0[0], 0x0F);
        assert_eq!(p, 0);
        let (_, p) = vote(VoteMode::Any, 0x0F0F, 0xFFFF, &members);
        assert_eq!(p, u32::MAX);
        let (_, p) = vote(VoteMode::Uni, 0xFF00, 0xFFFF, &members);
        assert_eq!(p, u32::MAX);
    }

    #[test]
    fn match_any_groups_equal_values() {
        let (m, _) = find_equal(MatchMode::Any, 0xFF, &Row::splat(u32::MAX), |l| (l % 2) as u64);
        assert_eq!((m.0[0], m.0[1]), (0x55, 0xAA));
        let (m, p) = find_equal(MatchMode::All, 0xFF, &Row::splat(u32::MAX), |_| 7);
        assert_eq!((m.0[0], p), (0xFF, u32::MAX));
    }
}
