//! Warp-wide operations of the oracle: results of each participant, given the operands of all.

use super::{Fault, integer::number};
use emulator::ptx::{Inst, Op, ReduxOp, ShflMode, VoteMode};

/// A participant: its lane and its sources.
pub(super) struct Lane {
    /// Lane in the warp.
    pub lane: u32,
    /// Bits of its sources.
    pub sources: Vec<u64>,
}

/// New values of each participant's destinations.
///
/// # Errors
/// If the result is undefined, or the oracle does not know the instruction.
pub(super) fn together(inst: &Inst, lanes: &[Lane]) -> Result<Vec<[u64; 2]>, Fault> {
    let mask = lanes.iter().fold(0u64, |mask, lane| mask | 1 << lane.lane);
    let first = lanes.first().ok_or_else(|| Fault::new("nobody takes part"))?;
    let votes = lanes.iter().filter(|l| l.sources[0] != 0).fold(0u64, |ballot, l| ballot | 1 << l.lane);
    let same = |lane: &Lane| {
        let equal = lanes.iter().filter(|l| l.sources[0] == lane.sources[0]);
        equal.fold(0u64, |mask, l| mask | 1 << l.lane)
    };
    lanes
        .iter()
        .map(|lane| {
            Ok(match inst.op {
                Op::BarWarpSync => [0, 0],
                Op::Vote { mode, .. } => match mode {
                    VoteMode::All => [u64::from(votes == mask), 0],
                    VoteMode::Any => [u64::from(votes != 0), 0],
                    VoteMode::Uni => [u64::from(votes == mask || votes == 0), 0],
                    VoteMode::Ballot => [votes, 0],
                },
                Op::Shfl { mode, .. } => shuffle(mode, lane, lanes)?,
                Op::Match { all: false, .. } => [same(lane), 0],
                Op::Match { all: true, .. } => {
                    let equal = same(first) == mask;
                    [if equal { mask } else { 0 }, u64::from(equal)]
                }
                Op::Redux { op, ty, .. } if !ty.is_float() => {
                    let values = lanes.iter().map(|l| number(ty, l.sources[0]));
                    let reduced = values.reduce(|a, b| match op {
                        ReduxOp::And => a & b,
                        ReduxOp::Or => a | b,
                        ReduxOp::Xor => a ^ b,
                        ReduxOp::Add => a + b,
                        ReduxOp::Min => a.min(b),
                        ReduxOp::Max => a.max(b),
                    });
                    [reduced.unwrap_or(0) as u64, 0]
                }
                Op::Elect => [u64::from(first.lane), u64::from(lane.lane == first.lane)],
                _ => return Err(Fault::new("the oracle does not know this warp operation")),
            })
        })
        .collect()
}

/// PTX ISA, `shfl.sync`.
fn shuffle(mode: ShflMode, lane: &Lane, lanes: &[Lane]) -> Result<[u64; 2], Fault> {
    let own = i64::from(lane.lane);
    let b = (lane.sources[1] & 31) as i64;
    let clamp = (lane.sources[2] & 31) as i64;
    let segment = (lane.sources[2] >> 8 & 31) as i64;
    let most = own & segment | clamp & !segment;
    let least = own & segment;
    let (from, inside) = match mode {
        ShflMode::Up => (own - b, own - b >= most),
        ShflMode::Down => (own + b, own + b <= most),
        ShflMode::Bfly => (own ^ b, own ^ b <= most),
        ShflMode::Idx => {
            let from = least | b & !segment;
            (from, from <= most)
        }
    };
    let from = if inside { from } else { own };
    let value = match lanes.iter().find(|l| i64::from(l.lane) == from) {
        Some(source) => source.sources[0],
        // A member that has exited, or that the warp never had, gives zero.
        None if lane.sources.last().is_some_and(|mask| mask >> from & 1 == 1) => 0,
        None => return Err(Fault::new(format!("lane {own} reads lane {from}, which its mask lacks"))),
    };
    Ok([value, u64::from(inside)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(sources: impl Fn(u32) -> [u64; 3]) -> Vec<Lane> {
        (0..32).map(|lane| Lane { lane, sources: sources(lane).to_vec() }).collect()
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        let lanes = full(|lane| [u64::from(lane), 1, 0x181F]);
        assert_eq!(shuffle(ShflMode::Down, &lanes[6], &lanes), Ok([7, 1]));
        assert_eq!(shuffle(ShflMode::Down, &lanes[7], &lanes), Ok([7, 0]));
        let lanes = full(|lane| [u64::from(lane), 1, 0x1800]);
        assert_eq!(shuffle(ShflMode::Up, &lanes[8], &lanes), Ok([8, 0]));
        assert_eq!(shuffle(ShflMode::Up, &lanes[9], &lanes), Ok([8, 1]));
        let lanes = full(|lane| [u64::from(lane), 35, 0x181F]);
        assert_eq!(shuffle(ShflMode::Idx, &lanes[9], &lanes), Ok([11, 1]));
        assert_eq!(shuffle(ShflMode::Bfly, &lanes[9], &lanes), Ok([10, 1]));
    }
}
