//! Random kernels of counted loops: which registers CORF pairs depends on how often loops are expected to run, and the
//! study of widths must agree with its twin on it.

use super::agree::check;
use super::insts::{add, exit, mov, r};
use super::memory::{MemoryLaunch, Recorded, kernel};
use proptest::prelude::*;
use trace_format::isa::*;
use trace_format::semantics::{Geometry, Row};

/// A loop that has been opened: its head, its counter, and the branch that leaves it from the top.
struct Open {
    head: usize,
    counter: u8,
    top_exit: Option<usize>,
}

/// `p0 = counter cmp bound`, sometimes in a form from which no trip count follows.
fn test(word: u32, counter: u8) -> Inst {
    let sign = if word & 1 == 0 { Sign::U32 } else { Sign::S32 };
    let cmp = ICmp::ALL[(word >> 1) as usize % ICmp::ALL.len()];
    let ex = Extended(word >> 4 & 31 == 0);
    let bound = if word >> 9 & 7 == 0 { r(7) } else { Src::imm((word >> 12 & 15).wrapping_sub(3)) };
    let mut inst = Inst::new(Op::Isetp { cmp, sign, bop: BoolOp::And, ex }).srcs([r(counter), bound]);
    inst.pdst[0] = Pred(u8::from(word >> 16 & 31 == 0));
    if word >> 21 & 31 == 0 {
        inst.psrc[0] = PredSrc::of(Pred(2));
    }
    inst
}

/// `counter += step`, sometimes guarded or as another instruction.
fn step(word: u32, counter: u8) -> Inst {
    let by = Src::imm((word & 7).wrapping_sub(3));
    let mut inst = add(counter, r(counter), if word >> 3 & 15 == 0 { r(6) } else { by });
    if word >> 7 & 15 == 0 {
        inst.guard = PredSrc::of(Pred(2));
    }
    inst
}

/// Ends the innermost loop: step and test in either order, perhaps with another test between or behind them.
fn close(word: u32, open: &Open, insts: &mut Vec<Inst>) {
    let mut other = test(word.rotate_left(9), 5);
    other.pdst[0] = Pred(3);
    let (step, test) = (step(word, open.counter), test(word.rotate_left(17), open.counter));
    let back = |inst: Inst| Inst { target: Pc(open.head as u32), ..inst };
    let body = match word >> 27 & 3 {
        0 => vec![step, test],
        1 => vec![test, step],
        2 => vec![test, step, other],
        _ => vec![step, other, test],
    };
    match open.top_exit {
        Some(at) => {
            insts.extend([step, back(Inst::new(Op::Bra {}))]);
            insts[at].target = Pc(insts.len() as u32);
        }
        None => {
            insts.extend(body);
            let guard = PredSrc { pred: Pred(0), not: word >> 29 & 1 != 0 };
            insts.push(back(Inst::new(Op::Bra {}).guarded(guard)));
        }
    }
}

/// Code from a few random words: products, loops up to three deep, jumps ahead, and exits.
fn code(words: &[u32]) -> Vec<Inst> {
    let (mut insts, mut open, mut ahead): (Vec<Inst>, Vec<Open>, Vec<usize>) = Default::default();
    for &word in words {
        let data = |shift: u32| 8 + (word >> shift & 7) as u8;
        match word % 16 {
            0..3 if open.len() < 3 => {
                let counter = open.len() as u8;
                if word >> 4 & 15 != 0 {
                    insts.push(mov(counter, word >> 8 & 15));
                }
                if word >> 12 & 3 == 0 {
                    insts.push(add(8, r(9), r(10)));
                }
                let head = insts.len();
                let mut top_exit = None;
                if word >> 14 & 1 != 0 {
                    insts.push(test(word.rotate_left(7), counter));
                    top_exit = Some(insts.len());
                    insts.push(Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(0))));
                }
                open.push(Open { head, counter, top_exit });
            }
            3..5 => open.pop().iter().for_each(|open| close(word.rotate_left(4), open, &mut insts)),
            5 => {
                ahead.push(insts.len());
                insts.push(Inst::new(Op::Bra {}).guarded(PredSrc::of(Pred(2))));
            }
            6 if word >> 4 & 7 == 0 => insts.push(exit().guarded(PredSrc::of(Pred(2)))),
            _ => insts.push(add(data(4), r(data(8)), r(data(12)))),
        }
        if word >> 20 & 3 == 0 {
            for at in ahead.drain(..) {
                insts[at].target = Pc(insts.len() as u32);
            }
        }
    }
    while let Some(innermost) = open.pop() {
        close(words[0], &innermost, &mut insts);
    }
    for at in ahead {
        insts[at].target = Pc(insts.len() as u32);
    }
    insts.push(exit());
    insts
}

/// A warp that executes every instruction once.
fn launch(insts: &[Inst]) -> MemoryLaunch {
    let geometry = Geometry { grid: [1, 1, 1], block: [32, 1, 1] };
    MemoryLaunch::new(kernel(insts), geometry, |_, _| {
        let outside = |inst: &Inst| inst.dst_regs().map(|_| Row::ZERO).collect();
        (0..).zip(insts).map(|(pc, inst)| Recorded { pc, active: u32::MAX, rows: outside(inst) }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn pairs_follow_the_trip_counts_of_loops(words in prop::collection::vec(any::<u32>(), 1..40)) {
        let insts = code(&words);
        let checked = check(&launch(&insts), &[1]);
        let listing = || insts.iter().enumerate().map(|(pc, inst)| format!("{pc} {inst}\n")).collect::<String>();
        prop_assert!(checked.is_ok(), "{}\n{}", checked.err().unwrap_or_default(), listing());
    }
}
