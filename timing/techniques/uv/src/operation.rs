//! What an instruction does, as far as uniform vectors are concerned: decoded once per kernel.

use std::collections::HashMap;
use trace_format::isa::{Inst, Kind, Lanes, Op, Operand, Pred, PredSrc, Reg, SpecialReg};
use warplab_technique::program::{Path, Program, TimedInst};

/// An instruction, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// Whether its results are the same in every lane if its operands are.
    pub uniform: bool,
    /// Whether it reads a special register that is the same in every lane of a warp: this is its operand.
    pub special: bool,
    /// Instructions with the same identity have the same results if their registers and predicates have the same
    /// values: opcode, modifiers and literals agree.
    pub identity: u32,
    /// 32-bit words of its operands: registers, literals, special registers, and one for each predicate.
    pub source_words: u32,
    /// 32-bit words of its results, and one for each predicate.
    pub result_words: u32,
}

/// Decodes the instructions of a kernel.
pub(super) fn operations(program: &Program) -> Vec<Operation> {
    let mut identities = HashMap::new();
    let mut decode = |timed: &TimedInst| {
        let inst = &timed.inst;
        let next = identities.len() as u32;
        let special = matches!(inst.op, Op::S2r { .. });
        let literals = (0..3).map(|i| literal_words(inst, i)).sum::<u32>();
        Operation {
            uniform: timed.path == Path::Alu && is_uniform(inst),
            special,
            identity: *identities.entry(without_registers(inst)).or_insert(next),
            source_words: inst.src_regs().count() as u32
                + inst.src_preds().count() as u32
                + literals
                + u32::from(special),
            result_words: inst.dst_regs().count() as u32 + inst.dst_preds().count() as u32,
        }
    };
    program.insts.iter().map(&mut decode).collect()
}

/// Whether an instruction has the same results in every lane if its operands are the same in every lane.
fn is_uniform(inst: &Inst) -> bool {
    inst.kind() == Kind::Pure && inst.info().lanes == Lanes::Own && !reads_thread(inst.op)
}

/// Whether an instruction reads a special register that depends on the thread.
fn reads_thread(op: Op) -> bool {
    use SpecialReg as S;
    let Op::S2r { sr } = op else { return false };
    let of_lane = matches!(
        sr,
        S::LaneId | S::LaneMaskEq | S::LaneMaskLt | S::LaneMaskLe | S::LaneMaskGt | S::LaneMaskGe
    );
    of_lane || matches!(sr, S::TidX | S::TidY | S::TidZ)
}

/// Words that a literal or constant stands for; a literal of two registers has one word.
fn literal_words(inst: &Inst, source: usize) -> u32 {
    match inst.src[source].operand {
        Operand::Imm(_) => 1,
        Operand::Const { .. } => u32::from(inst.info().src_regs[source]),
        Operand::None | Operand::Reg(_) | Operand::Uniform(_) => 0,
    }
}

/// The instruction without the names of its registers and predicates; absent ones stay absent, and equal ones may
/// become different.
fn without_registers(inst: &Inst) -> Inst {
    let mut bare = *inst;
    bare.dst = if inst.dst.is_zero() { Reg::RZ } else { Reg(0) };
    for source in &mut bare.src {
        if let Operand::Reg(reg) = &mut source.operand
            && !reg.is_zero()
        {
            *reg = Reg(0);
        }
    }
    let bare_pred = |pred: Pred| if pred.is_true() { pred } else { Pred(0) };
    bare.pdst = inst.pdst.map(bare_pred);
    bare.psrc = inst.psrc.map(|source| PredSrc { pred: bare_pred(source.pred), ..source });
    bare.guard = PredSrc { pred: bare_pred(inst.guard.pred), ..inst.guard };
    bare
}
