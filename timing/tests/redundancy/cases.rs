//! Random kernels on random paths.

use super::memory::{MemoryLaunch, Recorded, kernel};
use proptest::prelude::*;
use trace_format::isa::*;
use trace_format::semantics::{Geometry, Row};

/// An instruction from a few random words; there are few registers, so that instructions read earlier results.
fn instruction(word: u32) -> Inst {
    let reg = |shift: u32| Src::reg(Reg((word >> shift & 7) as u8));
    let pair = |shift: u32| Src::reg(Reg((word >> shift & 3) as u8 * 2));
    let pred = |shift: u32| Pred((word >> shift & 1) as u8);
    let dst = Reg((word >> 24 & 7) as u8);
    let specials = [SpecialReg::TidX, SpecialReg::LaneId, SpecialReg::CtaidX, SpecialReg::SmId];
    let mut inst = match word % 13 {
        0 => Inst::new(Op::Mov {}).dst(dst).srcs([Src::imm(word >> 8 & 3)]),
        1 | 2 => Inst::new(Op::S2r { sr: specials[(word >> 8 & 3) as usize] }).dst(dst),
        3 | 4 => Inst::new(Op::Iadd3 { x: Extended(false) }).dst(dst).srcs([reg(8), reg(11), Src::RZ]),
        5 => {
            let op = Op::Isetp { cmp: ICmp::Lt, sign: Sign::U32, bop: BoolOp::And, ex: Extended(false) };
            let mut inst = Inst::new(op).srcs([reg(8), Src::imm(word >> 16 & 63)]);
            inst.pdst[0] = pred(14);
            inst
        }
        6 => {
            let mut inst = Inst::new(Op::Sel {}).dst(dst).srcs([reg(8), reg(11)]);
            inst.psrc[0] = PredSrc { pred: pred(14), not: word >> 15 & 1 != 0 };
            inst
        }
        7 => {
            let op = Op::Ldg { width: MemWidth::B64, order: MemOrder::Weak, ro: ReadOnly(false) };
            Inst::new(op).dst(Reg(dst.0 & 6)).srcs([pair(8)])
        }
        8 => Inst::new(Op::Lds { width: MemWidth::B32, scale: Scale::ALL[0] }).dst(dst).srcs([reg(8)]),
        9 => Inst::new(Op::Stg { width: MemWidth::B128, order: MemOrder::Weak })
            .srcs([pair(8), Src::reg(Reg((word >> 11 & 1) as u8 * 4))]),
        10 => Inst::new(Op::Bra {}).guarded(PredSrc::of(pred(14))),
        11 => {
            let sign = Sign::U32;
            Inst::new(Op::ImadWide { sign }).dst(Reg(dst.0 & 6)).srcs([reg(8), Src::imm(word), pair(11)])
        }
        _ => Inst::new(Op::Bar { mode: BarMode::Sync }).srcs([Src::imm(0), Src::imm(0)]),
    };
    if word >> 28 == 0 {
        inst.guard = PredSrc { pred: pred(20), not: word >> 21 & 1 != 0 };
    }
    inst
}

/// One of a few rows.
fn row(word: u32) -> Row {
    match word % 4 {
        0 => Row::splat(word >> 8 & 1),
        1 => Row::from_fn(|lane| 100 + 4 * lane as u32),
        2 => Row::from_fn(|lane| (lane as u32 * lane as u32).wrapping_mul(0x9E37_79B9)),
        _ => Row::from_fn(|lane| (lane as u32 * 3).wrapping_sub(9)),
    }
}

/// A random launch.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    code: Vec<u32>,
    /// The path of most warps: instruction, and the rows that are recorded.
    path: Vec<(u32, u32)>,
    grid: u32,
    block: [u32; 3],
    /// Changes of one warp's path: warp, position, change.
    changes: Vec<(u32, u32, u32)>,
    repeat: usize,
}

/// Random launches.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let blocks = prop::sample::select(vec![
        [32, 1, 1],
        [64, 1, 1],
        [16, 8, 1],
        [100, 1, 1],
        [33, 1, 1],
        [8, 5, 1],
        [4, 4, 4],
        [5, 1, 1],
    ]);
    (
        prop::collection::vec(any::<u32>(), 1..20),
        prop::collection::vec(any::<(u32, u32)>(), 1..40),
        1u32..5,
        blocks,
        prop::collection::vec(any::<(u32, u32, u32)>(), 0..6),
        prop::sample::select(vec![1usize, 1, 1, 60]),
    )
        .prop_map(|(code, path, grid, block, changes, repeat)| Case {
            code,
            path,
            grid,
            block,
            changes,
            repeat,
        })
}

/// The launch of a case.
pub(crate) fn launch(case: &Case) -> MemoryLaunch {
    let insts: Vec<Inst> = case.code.iter().map(|&word| instruction(word)).collect();
    let geometry = Geometry { grid: [case.grid, 1, 1], block: case.block };
    let warps = u64::from(geometry.warps_per_block());
    let all = geometry.blocks() * warps;
    MemoryLaunch::new(kernel(&insts), geometry, |block, warp| {
        let launched = geometry.launched_mask(warp);
        let mine = block * warps + u64::from(warp);
        let step = |&(pc, outside): &(u32, u32)| {
            let pc = pc % insts.len() as u32;
            let rows = insts[pc as usize]
                .dst_regs()
                .enumerate()
                .map(|(i, _)| row(outside.rotate_right(i as u32)))
                .collect();
            Recorded { pc, active: launched, rows }
        };
        let once: Vec<_> = case.path.iter().map(step).collect();
        let mut path: Vec<_> = std::iter::repeat_n(once, case.repeat).flatten().collect();
        for &(who, place, how) in case.changes.iter().filter(|(who, ..)| u64::from(*who) % all == mine) {
            if path.is_empty() {
                break;
            }
            let place = place as usize % path.len();
            match how % 4 {
                0 => path[place].active = (how & launched).max(1),
                1 => drop(path.remove(place)),
                2 => path.insert(place, step(&(who, how))),
                _ => path.truncate(place),
            }
        }
        path
    })
}
