//! Where each result should go in BOW-WR: to the operand collector, to the register file, or to both
//! (BOW, section 3.4.2).
//!
//! A result that no instruction within the window reads goes to the register file alone. One whose every
//! reader lies within the window of the access before it, and that is dead after the last, is transient and
//! goes to the collector alone. This must hold for any divergence, so the analysis stops at the end of the
//! basic block, and at an instruction at which other lanes of the warp may run.

use trace_format::isa::Liveness;
use trace_format::isa::{Flow, Inst, Kind, MachineKernel, Pc, Reg};

/// The two bits that the compiler puts into an instruction, for one destination register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The result is written to the operand collector.
    pub collector: bool,
    /// The result is written to the register file, immediately or when it leaves the collector.
    pub register_file: bool,
}

impl Destination {
    /// Destination without hints.
    pub const BOTH: Destination = Destination { collector: true, register_file: true };
    const REGISTER_FILE: Destination = Destination { collector: false, register_file: true };
    const COLLECTOR: Destination = Destination { collector: true, register_file: false };
}

/// Destinations of every instruction's results, in the order of its destination registers.
#[must_use]
pub fn destinations(kernel: &MachineKernel, flow: &Flow, window: u32) -> Vec<Vec<Destination>> {
    let liveness = flow.liveness(kernel);
    let of = |(pc, inst): (usize, &Inst)| {
        inst.dst_regs().map(|reg| destination(kernel, flow, &liveness, pc, reg, window as usize)).collect()
    };
    kernel.insts.iter().enumerate().map(of).collect()
}

fn destination(
    kernel: &MachineKernel,
    flow: &Flow,
    liveness: &Liveness,
    pc: usize,
    reg: Reg,
    window: usize,
) -> Destination {
    if !read_soon(kernel, flow, pc, reg, window) {
        Destination::REGISTER_FILE
    } else if transient(kernel, flow, liveness, pc, reg, window) {
        Destination::COLLECTOR
    } else {
        Destination::BOTH
    }
}

/// Whether some path reads the result within the window.
fn read_soon(kernel: &MachineKernel, flow: &Flow, pc: usize, reg: Reg, window: usize) -> bool {
    // Instructions reached, each with its distance from the result; windows are short.
    let mut reached = following(kernel, flow, pc);
    for _ in 1..window {
        let mut next = Vec::new();
        for at in reached {
            let inst = &kernel.insts[at];
            if collects(inst) && inst.src_regs().any(|r| r == reg) {
                return true;
            }
            if !overwrites(inst, reg) {
                next.extend(following(kernel, flow, at));
            }
        }
        next.sort_unstable();
        next.dedup();
        reached = next;
    }
    false
}

/// Instructions that may run after one, calls and returns left out.
fn following(kernel: &MachineKernel, flow: &Flow, pc: usize) -> Vec<usize> {
    let inst = &kernel.insts[pc];
    match inst.kind() {
        Kind::Call | Kind::Return => Vec::new(),
        kind if kind.ends_block() => {
            let successors = flow.successors(flow.block_of(Pc(pc as u32)));
            successors.iter().map(|block| flow.block(*block).first.index()).collect()
        }
        _ if pc + 1 < kernel.insts.len() => vec![pc + 1],
        _ => Vec::new(),
    }
}

/// Whether the result is dead before its window, extended by each access, ends.
fn transient(
    kernel: &MachineKernel,
    flow: &Flow,
    liveness: &Liveness,
    pc: usize,
    reg: Reg,
    window: usize,
) -> bool {
    let end = flow.block(flow.block_of(Pc(pc as u32))).end.index();
    let mut accessed = pc;
    for at in pc + 1..end {
        let inst = &kernel.insts[at];
        if !liveness.before(Pc(at as u32)).has(reg) {
            return true;
        }
        if !collects(inst) {
            return false;
        }
        if inst.src_regs().any(|r| r == reg) {
            if at - accessed >= window {
                return false;
            }
            accessed = at;
        }
        if overwrites(inst, reg) {
            return true;
        }
        if inst.dst_regs().any(|r| r == reg) {
            // Lanes whose guard is false keep the result beyond this write.
            return false;
        }
    }
    kernel.insts.get(end).is_none_or(|_| !live_at_end(kernel, flow, liveness, end, reg))
}

/// Whether a register is live at the end of the block that ends before `end`.
fn live_at_end(kernel: &MachineKernel, flow: &Flow, liveness: &Liveness, end: usize, reg: Reg) -> bool {
    let last = end - 1;
    match kernel.insts[last].kind() {
        Kind::Call | Kind::Return => true,
        _ => {
            let live_into = |at: usize| liveness.before(Pc(at as u32)).has(reg);
            let successors = flow.successors(flow.block_of(Pc(last as u32)));
            successors.iter().any(|block| live_into(flow.block(*block).first.index()))
        }
    }
}

/// Whether the instruction reads its operands through a collector, and no other lanes run before the next
/// instruction.
fn collects(inst: &Inst) -> bool {
    matches!(inst.kind(), Kind::Pure | Kind::External) || inst.kind().is_memory()
}

/// Whether the instruction replaces the register in every lane on the path.
fn overwrites(inst: &Inst, reg: Reg) -> bool {
    inst.is_unguarded() && inst.dst_regs().any(|r| r == reg)
}

#[cfg(test)]
mod tests {
    use super::super::listing::kernel;
    use super::*;

    /// One letter per destination: R register file, C collector, B both.
    fn letters(text: &str, window: u32) -> String {
        let kernel = kernel(text);
        let letter = |d: &Destination| match (d.collector, d.register_file) {
            (false, _) => 'R',
            (true, false) => 'C',
            (true, true) => 'B',
        };
        destinations(&kernel, &kernel.flow(), window).iter().flatten().map(letter).collect()
    }

    #[test]
    fn the_snippet_of_figure_3_6() {
        // r3, r2, r1, r1, r1, r0, r0, r0, r1, r2, r2, r4 of lines 2 to 13; r4 has no reader here.
        assert_eq!(letters(super::super::listing::FIGURE_3_6, 3), "RCCCCCCCBCCR");
    }

    #[test]
    fn a_value_that_outlives_its_block_is_kept() {
        let text = "mov r1 1\n iadd r2 r1 1\n @p0 bra 4\n mov r2 5\n stg r4 r2\n exit";
        assert_eq!(letters(text, 3), "CBB");
    }

    #[test]
    fn a_guarded_overwrite_keeps_the_old_lanes() {
        assert_eq!(letters("mov r1 1\n @p0 iadd r1 r1 1\n stg r4 r1\n exit", 3), "BC");
    }

    #[test]
    fn no_value_is_transient_across_a_place_where_other_lanes_run() {
        assert_eq!(letters("mov r1 1\n iadd r2 r1 1\n nop\n stg r4 r1\n exit", 3), "BR");
        assert_eq!(letters("mov r1 1\n iadd r2 r1 1\n mov r6 1\n stg r4 r1\n exit", 3), "CRR");
    }

    #[test]
    fn a_gap_as_long_as_the_window_needs_the_register_file() {
        let text = "mov r1 1\n iadd r2 r1 1\n mov r6 1\n mov r7 1\n stg r4 r1\n exit";
        assert_eq!((letters(text, 3).as_str(), letters(text, 4).as_str()), ("BRRR", "CRRR"));
    }
}
