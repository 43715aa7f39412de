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
        LatencyClass::Sfu | LatencyClass::Convert | LatencyClass::Shuffle => 2,
        // A product of 16x8x16 takes 8 to 32 cycles.
        LatencyClass::Tensor => op.tensor_quarters().unwrap_or(1) * 2,
        _ => 1,
    }
}

/// Pipes that take an instruction in several cycles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipe {
    /// Memory, special functions and shuffles.
    Shared,
    Tensor,
}

/// The pipe of an instruction that occupies it for several cycles.
pub(super) fn pipe(inst: &Inst) -> Option<Pipe> {
    let tensor = matches!(inst.op, VOp::M(op) if op.tensor_quarters().is_some());
    (interval(inst) > 1).then_some(if tensor { Pipe::Tensor } else { Pipe::Shared })
}

/// Cycles by which an instruction issues earlier than its latency asks for: how long loads take varies.
pub(super) fn lead(inst: &Inst) -> u32 {
    match inst.op.kind() {
        Kind::Load(Space::Shared) => 32,
        Kind::Load(_) => 300,
        _ => 0,
    }
}
