//! Runs of statements in which products and sums may be fused ([`crate::lower::contract`]).
//!
//! A run corresponds to one basic block of ptxas when it fuses: guarded arithmetic stays in it, while a
//! guarded access to memory or an exchange with other threads is branched around, and the slow path of a
//! division or root is a call.

use crate::ptx::{Accuracy, Body, Inst, Op, Statement};

/// For each label whether a branch targets it; compilers also write labels without branches.
pub(super) fn jumped_to(body: &Body) -> Vec<bool> {
    let mut targets = vec![false; body.labels.len()];
    for label in body.branch_tables.iter().flatten() {
        targets[label.index()] = true;
    }
    for statement in &body.statements {
        if let Statement::Inst(Inst { op: Op::Bra { target, .. }, .. }) = statement {
            targets[target.index()] = true;
        }
    }
    targets
}

/// Whether a run ends with an instruction.
pub(super) fn ends_run(inst: &Inst) -> bool {
    match inst.op {
        Op::Bra { .. } | Op::BrxIdx { .. } | Op::Call { .. } | Op::Ret { .. } | Op::Exit | Op::Trap => true,
        Op::Div(op) | Op::Rcp(op) | Op::Sqrt(op) if matches!(op.accuracy, Accuracy::Ieee(_)) => true,
        Op::Div(op) => op.ty.is_integer() && op.ty.bits() == 64,
        Op::Rem(ty) => ty.bits() == 64,
        _ => inst.guard.is_some() && !computes(&inst.op),
    }
}

/// Whether an instruction only computes in registers, so that it can be predicated.
const fn computes(op: &Op) -> bool {
    matches!(
        op,
        Op::Add(_)
            | Op::Sub(_)
            | Op::Mul(_)
            | Op::Mad(_)
            | Op::Fma(_)
            | Op::Mul24 { .. }
            | Op::Mad24 { .. }
            | Op::Sad(_)
            | Op::Div(_)
            | Op::Rem(_)
            | Op::Abs { .. }
            | Op::Neg { .. }
            | Op::Min(_)
            | Op::Max(_)
            | Op::Popc(_)
            | Op::Clz(_)
            | Op::Bfind { .. }
            | Op::Brev(_)
            | Op::Bfe(_)
            | Op::Bfi(_)
            | Op::Bmsk(_)
            | Op::Szext { .. }
            | Op::Dp4a { .. }
            | Op::Dp2a { .. }
            | Op::Fns
            | Op::Video(_)
            | Op::Testp { .. }
            | Op::Copysign(_)
            | Op::Rcp(_)
            | Op::Sqrt(_)
            | Op::Rsqrt(_)
            | Op::Sin { .. }
            | Op::Cos { .. }
            | Op::Lg2 { .. }
            | Op::Ex2 { .. }
            | Op::Tanh(_)
            | Op::Set { .. }
            | Op::Setp(_)
            | Op::Selp(_)
            | Op::Slct { .. }
            | Op::And(_)
            | Op::Or(_)
            | Op::Xor(_)
            | Op::Not(_)
            | Op::Cnot(_)
            | Op::Lop3 { .. }
            | Op::Shf { .. }
            | Op::Shl(_)
            | Op::Shr(_)
            | Op::Mov { .. }
            | Op::Cvt(_)
            | Op::CvtPack { .. }
            | Op::Cvta { .. }
            | Op::Isspacep(_)
            | Op::Prmt(_)
    )
}
