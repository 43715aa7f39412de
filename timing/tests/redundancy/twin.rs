//! A second implementation of the study `redundancy`, from its definitions: every operand of every executed instruction
//! is kept as values, lane by lane, and instances are compared when all warps of the launch have been read.

use std::collections::BTreeMap;
use timing::internals::Tally;
use timing::internals::{LaunchPaths, WarpPath};
use trace_format::isa::{Inst, Kind, Op};
use trace_format::semantics::Warp;

/// One operand's values in the launched lanes.
#[derive(Clone, PartialEq, Debug)]
enum Operand {
    /// A register, or two that may hold one 64-bit value.
    Registers(Vec<Vec<u32>>),
    Predicate(Vec<bool>),
}

/// 0 uniform, 1 affine, 2 unstructured.
fn shape(operand: &Operand) -> usize {
    fn of(values: &[u64], modulus: u128) -> usize {
        let difference = |w: &[u64]| (u128::from(w[1]) + modulus - u128::from(w[0])) % modulus;
        let mut strides: Vec<u128> = values.windows(2).map(difference).collect();
        strides.dedup();
        match strides[..] {
            [] | [0] => 0,
            [_] => 1,
            _ => 2,
        }
    }
    match operand {
        Operand::Predicate(lanes) => 2 * usize::from(lanes.iter().any(|&l| l != lanes[0])),
        Operand::Registers(words) => {
            let wide: Vec<Vec<u64>> =
                words.iter().map(|w| w.iter().map(|&x| u64::from(x)).collect()).collect();
            let each = wide.iter().map(|w| of(w, 1 << 32)).max().unwrap_or(0);
            match &wide[..] {
                [low, high] if each == 2 => {
                    let joined: Vec<u64> = low.iter().zip(high).map(|(l, h)| l | h << 32).collect();
                    of(&joined, 1 << 64)
                }
                _ => each,
            }
        }
    }
}

/// The first lanes of an operand.
fn first_lanes(operand: &Operand, lanes: usize) -> Operand {
    match operand {
        Operand::Registers(words) => {
            Operand::Registers(words.iter().map(|w| w[..lanes.min(w.len())].to_vec()).collect())
        }
        Operand::Predicate(p) => Operand::Predicate(p[..lanes.min(p.len())].to_vec()),
    }
}

/// Operands of one warp's execution of an instance; `None` when it can never be redundant.
type Execution = Option<Vec<(Operand, bool)>>;

fn registers(state: &Warp, first: u8, count: u8, lanes: usize) -> Vec<Operand> {
    let regs: Vec<u8> = (first..first + count).collect();
    let words = |regs: &[u8]| regs.iter().map(|&r| state.row(u16::from(r)).0[..lanes].to_vec()).collect();
    regs.chunks(2).map(|pair| Operand::Registers(words(pair))).collect()
}

fn operands_before(inst: &Inst, state: &Warp, lanes: usize) -> Vec<Operand> {
    let mut operands = Vec::new();
    for i in 0..3 {
        if let Some(span) = inst.src_span(i) {
            operands.extend(registers(state, span.first.0, span.count, lanes));
        }
    }
    for pred in inst.src_preds() {
        let mask = state.pred(pred.0);
        operands.push(Operand::Predicate((0..lanes).map(|l| mask >> l & 1 != 0).collect()));
    }
    operands
}

fn transfers_control(inst: &Inst) -> bool {
    matches!(inst.kind(), Kind::Branch | Kind::Call | Kind::Return | Kind::Exit)
}

fn can_be_redundant(inst: &Inst) -> bool {
    match inst.kind() {
        Kind::Atomic(_) | Kind::Reduction(_) | Kind::Barrier | Kind::Fence | Kind::Sync | Kind::Trap => false,
        _ => !transfers_control(inst) || !inst.is_unguarded(),
    }
}

/// Counts the redundant instructions of a launch.
pub(crate) fn redundancy<S: LaunchPaths>(source: &S) -> Tally {
    let geometry = source.geometry();
    let warps = geometry.warps_per_block();
    let mut tally = Tally::default();
    let mut instances: BTreeMap<(u32, u64), Vec<(u64, Execution)>> = BTreeMap::new();
    for block in 0..source.blocks() {
        for warp in 0..warps {
            let mut executed: BTreeMap<u32, u64> = BTreeMap::new();
            let launched = geometry.launched_mask(warp);
            let lanes = launched.count_ones() as usize;
            let mut path = source.open(block, warp).expect("the warp is there");
            while let Some(next) = path.peek() {
                let inst = source.kernel().insts[next.pc as usize];
                let mut operands = operands_before(&inst, path.state(), lanes);
                let step = path.step().expect("the step works").expect("peek saw it");
                let effective = if transfers_control(&inst) { step.active } else { step.exec };
                let special = matches!(inst.op, Op::S2r { .. });
                let sources = operands.len();
                if (matches!(inst.kind(), Kind::Load(_)) || special)
                    && let Some(span) = inst.dst_span()
                {
                    operands.extend(registers(path.state(), span.first.0, span.count, lanes));
                }
                let number = executed.entry(next.pc).or_default();
                let key = (next.pc, *number);
                *number += 1;
                tally.warp_instructions += 1;
                let execution = if effective != launched {
                    tally.diverged += 1;
                    None
                } else if !can_be_redundant(&inst) {
                    tally.not_counted += 1;
                    None
                } else {
                    tally.warp_redundant += u64::from(lanes > 1 && operands.iter().all(|o| shape(o) == 0));
                    Some(operands.into_iter().enumerate().map(|(i, o)| (o, special || i < sources)).collect())
                };
                instances.entry(key).or_default().push((block, execution));
            }
            assert_eq!(path.step().expect("the warp ends well"), None);
        }
    }
    let all_warps = source.blocks() * u64::from(warps);
    for executions in instances.values() {
        for block in 0..source.blocks() {
            let of_block: Vec<_> = executions.iter().filter(|(b, _)| *b == block).map(|(_, e)| e).collect();
            if warps > 1 && of_block.len() == warps as usize && agree(&of_block) {
                let shapes = of_block.iter().flat_map(|e| e.iter().flatten());
                let worst = shapes.filter(|(_, counts)| *counts).map(|(o, _)| shape(o)).max().unwrap_or(0);
                tally.block_redundant[worst] += u64::from(warps);
            }
        }
        let of_grid: Vec<_> = executions.iter().map(|(_, e)| e).collect();
        if all_warps > 1 && of_grid.len() as u64 == all_warps && agree(&of_grid) {
            tally.grid_redundant += all_warps;
        }
    }
    tally
}

/// Whether all executions can be redundant and have the same operands in the lanes that they share.
fn agree(executions: &[&Execution]) -> bool {
    let lanes = |e: &Execution| e.iter().flatten().map(|(o, _)| width(o)).max().unwrap_or(0);
    // The first execution is of a full warp unless every warp has the same lanes.
    executions.iter().all(|execution| {
        let common = lanes(executions[0]).min(lanes(execution));
        let cut = |e: &Execution| -> Option<Vec<Operand>> {
            e.as_ref().map(|e| e.iter().map(|(o, _)| first_lanes(o, common)).collect())
        };
        execution.is_some() && cut(executions[0]) == cut(execution)
    })
}

fn width(operand: &Operand) -> usize {
    match operand {
        Operand::Registers(words) => words[0].len(),
        Operand::Predicate(lanes) => lanes.len(),
    }
}
