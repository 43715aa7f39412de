//! Latencies of a current GPU, as far as an order of instructions needs them.

use crate::lower::vir::{Inst, VOp};
use trace_format::isa::{Kind, LatencyClass, Op, space::Space};

/// Cycles until a dependent instruction can issue.
pub(super) fn latency(inst: &Inst) -> u32 {
    let VOp::M(op) = inst.op else { return 8 };
    if let Op::S2r { .. } = op {
        return 20;
    }
    let info = op.info();
    match info.latency {
        LatencyClass::Memory => match info.kind {
            Kind::Load(Space::Shared) | Kind::Atomic(Space::Shared) => 24,
            Kind::Load(Space::Const) => 30,
            Kind::Load(_) | Kind::Atomic(_) => 200,
            _ => 1,
        },
        LatencyClass::Sfu | LatencyClass::Convert => 18,
        LatencyClass::IntMisc => 14,
        LatencyClass::Shuffle => 24,
        LatencyClass::Tensor => 32,
        LatencyClass::DpAdd | LatencyClass::DpMul | LatencyClass::DpFma | LatencyClass::DpMax => 16,
        LatencyClass::IntMul => 5,
        _ => 4,
    }
}

/// Cycles until the next instruction of the same pipe can issue.
pub(super) fn interval(inst: &Inst) -> u32 {
    let VOp::M(op) = inst.op else { return 1 };
    let kind = op.info().kind;
    match op.info().latency {
        _ if kind.is_memory() => 2,
        LatencyClass::Sfu | LatencyClass::Convert | LatencyClass::Shuffle | LatencyClass::Tensor => 2,
        _ => 1,
    }
}

/// Cycles by which an instruction issues earlier than its latency asks for: how long loads take varies.
pub(super) fn lead(inst: &Inst) -> u32 {
    match inst.op.kind() {
        Kind::Load(Space::Shared) => 32,
        Kind::Load(_) => 300,
        _ => 0,
    }
}
