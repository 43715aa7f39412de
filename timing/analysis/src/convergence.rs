//! The places where lanes meet again that a branch may have separated: NVIDIA's compilers put a `BSYNC` there.
//!
//! A branch that all threads of a block take alike separates none, and lanes that only end need not meet. Over 182 kernels of
//! the workloads and of `tests/silicon` these are 1 162 places, where ptxas 13.5 has 1 240 `BSYNC` for sm_75, and as many as
//! ptxas's in 107 kernels.

use super::affine::AffineTypes;
use super::reaching::Reaching;
use std::sync::Arc;
use trace_format::isa::{Kind, MachineKernel, Op};
use warplab_technique::config::GpuConfig;

/// Conditions by which a value may differ before it counts as different in every thread.
const CONDITIONS: usize = 4;

/// [`meeting_places`] on a GPU: none where lanes meet in no time.
#[must_use]
pub fn meeting_places_on(config: &GpuConfig, kernel: &MachineKernel) -> Arc<[bool]> {
    let places = match config.front_end.converge_cycles {
        0 => Vec::new(),
        _ => meeting_places(kernel),
    };
    places.into()
}

/// For each instruction, whether lanes meet in front of it that a branch may have separated; empty if none do, and for code
/// that says so itself, with `BSSY` and `BSYNC`.
#[must_use]
fn meeting_places(kernel: &MachineKernel) -> Vec<bool> {
    let branches = || kernel.insts.iter().enumerate().filter_map(|(pc, inst)| Some((pc, inst.reconv?)));
    if branches().next().is_none() || kernel.insts.iter().any(|inst| matches!(inst.op, Op::Bssy { .. })) {
        return Vec::new();
    }
    let flow = kernel.flow();
    let types = AffineTypes::of(kernel, &flow, &Reaching::of(kernel, &flow), CONDITIONS);
    let mut places = vec![false; kernel.insts.len()];
    for (pc, meet) in branches() {
        let next = &kernel.insts[meet.index()];
        let only_ends = next.kind() == Kind::Exit && next.is_unguarded();
        places[meet.index()] |= !types.insts[pc].guard.is_of_block() && !only_ends;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Builder, r};
    use trace_format::isa::{Convergence, Inst, SpecialReg, Src};

    fn places(mut kernel: MachineKernel) -> Vec<usize> {
        kernel.set_reconvergence();
        let places = meeting_places(&kernel);
        (0..places.len()).filter(|pc| places[*pc]).collect()
    }

    /// A branch on a register over one instruction, then more code.
    fn over_one(register: u8) -> MachineKernel {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX).special(1, SpecialReg::CtaidX);
        b.branch_below(register, 7, 5).mov(2, 1).mov(3, 2);
        b.exit()
    }

    #[test]
    fn lanes_meet_behind_a_branch_on_the_thread_not_behind_one_on_the_block() {
        assert_eq!(places(over_one(0)), [5]);
        assert_eq!(places(over_one(1)), [0; 0]);
    }

    #[test]
    fn lanes_that_only_end_do_not_meet() {
        let mut b = Builder::default();
        b.special(0, SpecialReg::TidX).branch_below(0, 7, 4).mov(2, 1);
        assert_eq!(places(b.exit()), [0; 0]);
    }

    #[test]
    fn lanes_meet_behind_a_loop_that_they_leave_one_by_one() {
        let looped = |step: Src| {
            let mut b = Builder::default();
            b.special(0, SpecialReg::TidX).mov(1, 0);
            let top = b.here();
            b.iadd(1, r(1), step, Src::RZ).branch_below(1, 100, top).mov(2, 1);
            b.exit()
        };
        assert_eq!(places(looped(Src::imm(1))), [0; 0], "all in the same turn");
        assert_eq!(places(looped(r(0))), [5]);
    }

    #[test]
    fn code_with_instructions_for_it_has_no_places() {
        let mut kernel = over_one(0);
        kernel.insts[4] = Inst::new(Op::Bssy { at: Convergence(0) });
        assert_eq!(places(kernel), [0; 0]);
    }
}
