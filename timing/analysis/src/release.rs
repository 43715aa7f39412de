//! Where a warp may release the storage of a register: the registers live after every instruction, and the
//! registers that a compiler marks as kept (register virtualization in CORF, section 2.4.3).
//!
//! The compiler's marks assume a reconvergence stack: while one side of a branch runs, the other lanes wait
//! at the other target or at the reconvergence point, and registers that they may read there are kept. Inside
//! called functions all registers are kept. At run time lanes may also wait in the middle of a side (at a
//! barrier, or in a spin loop); the user of the marks adds the registers live there.

use trace_format::isa::{BlockId, Flow, Kind, MachineKernel, Pc};
use warplab_technique::program::RegSet;

/// Two register sets per instruction index.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// Registers that lanes which have executed the instruction may still read.
    pub live_after: Vec<RegSet>,
    /// Registers whose current value is still needed after the instruction has read its operands and before
    /// it writes its results, and registers that lanes waiting at surrounding branches may read; all
    /// registers if the instruction leaves its block (branches, exits) or belongs to a called function.
    pub kept_after: Vec<RegSet>,
}

impl Release {
    /// Analyses a kernel.
    #[must_use]
    pub fn of(kernel: &MachineKernel, flow: &Flow) -> Release {
        let liveness = flow.liveness(kernel);
        let aside = held_by_lanes_aside(kernel, flow);
        let mut release = Release::default();
        for (pc, inst) in kernel.insts.iter().enumerate() {
            let pc = Pc(pc as u32);
            let leaves = inst.kind().ends_block() || pc.next().index() == kernel.insts.len();
            let live = if leaves { all_registers() } else { liveness.before(pc.next()).registers() };
            let mut kept = live;
            if inst.is_unguarded() {
                // Between the instruction's reads and its writes, the registers that it overwrites are dead.
                inst.dst_regs().for_each(|reg| kept.remove(reg.0));
            }
            kept.insert_all(&aside[flow.block_of(pc).0 as usize]);
            release.live_after.push(live);
            release.kept_after.push(kept);
        }
        release
    }
}

/// Per block, the registers that lanes waiting at a branch may read later, while the warp executes the block.
fn held_by_lanes_aside(kernel: &MachineKernel, flow: &Flow) -> Vec<RegSet> {
    let liveness = flow.liveness(kernel);
    let live_into = |block: BlockId| liveness.before(flow.block(block).first).registers();
    let mut held = vec![RegSet::default(); flow.blocks().len()];
    for (_, block) in flow.blocks().iter().enumerate().filter(|(_, b)| diverges(kernel, b.end)) {
        let pc = Pc(block.end.0 - 1);
        let from = flow.block_of(pc);
        let meet = kernel.insts[pc.index()].reconv.map(|r| flow.block_of(r));
        let at_meeting = meet.map_or_else(RegSet::default, live_into);
        for &side in flow.successors(from) {
            let mut wanted = at_meeting;
            flow.successors(from)
                .iter()
                .filter(|s| **s != side)
                .for_each(|s| wanted.insert_all(&live_into(*s)));
            for executed in reachable_before(flow, side, meet) {
                held[executed.0 as usize].insert_all(&wanted);
            }
        }
    }
    for (start, _) in &kernel.functions {
        for block in flow.reachable(flow.block_of(*start)) {
            held[block.0 as usize] = all_registers();
        }
    }
    held
}

/// Blocks that some lanes of a warp may execute while others wait at a branch or where its sides meet.
#[must_use]
pub fn executed_by_parts(kernel: &MachineKernel, flow: &Flow) -> Vec<bool> {
    let mut by_parts = vec![false; flow.blocks().len()];
    for block in flow.blocks().iter().filter(|block| diverges(kernel, block.end)) {
        let pc = Pc(block.end.0 - 1);
        let meet = kernel.insts[pc.index()].reconv.map(|r| flow.block_of(r));
        for &side in flow.successors(flow.block_of(pc)) {
            for executed in reachable_before(flow, side, meet) {
                by_parts[executed.0 as usize] = true;
            }
        }
    }
    by_parts
}

/// Whether the block that ends before `end` ends in a branch at which lanes may diverge.
fn diverges(kernel: &MachineKernel, end: Pc) -> bool {
    let last = &kernel.insts[end.index() - 1];
    last.kind() == Kind::Branch && !last.is_unguarded()
}

/// Blocks that are reached from `start` without entering `stop`.
fn reachable_before(flow: &Flow, start: BlockId, stop: Option<BlockId>) -> Vec<BlockId> {
    let mut seen = vec![false; flow.blocks().len()];
    let mut list = Vec::new();
    let mut stack = vec![start];
    while let Some(block) = stack.pop() {
        if Some(block) != stop && !std::mem::replace(&mut seen[block.0 as usize], true) {
            list.push(block);
            stack.extend(flow.successors(block));
        }
    }
    list
}

fn all_registers() -> RegSet {
    let mut set = RegSet::default();
    (0..=254).for_each(|reg| set.insert(reg));
    set
}

#[cfg(test)]
mod tests {
    use super::super::listing::kernel;
    use super::*;

    fn kept(text: &str) -> Vec<Vec<u8>> {
        let kernel = kernel(text);
        let sets = Release::of(&kernel, &kernel.flow()).kept_after.into_iter();
        sets.map(|set| set.iter().filter(|r| *r < 10).collect()).collect()
    }

    #[test]
    fn straight_code_keeps_what_is_live() {
        let kept = kept("mov r0 1\n iadd r1 r0 2\n iadd r2 r1 r1\n stg r4 r2\n exit");
        assert_eq!(kept[0], [4, 5]);
        assert_eq!(kept[1], [4, 5]);
        assert_eq!(kept[2], [4, 5]);
        assert!(kept[3].is_empty());
    }

    #[test]
    fn a_value_that_its_reader_overwrites_is_dead_between_the_two() {
        let kept = kept("mov r0 1\n iadd r0 r0 r1\n @p0 iadd r0 r0 r1\n stg r4 r0\n exit");
        assert_eq!(kept[1], [1, 4, 5]);
        assert_eq!(kept[2], [0, 4, 5]);
    }

    #[test]
    fn what_the_other_side_of_a_branch_reads_is_kept() {
        // Lanes diverge at 2: one side reads r0 last at 3, the other at 5.
        let kept = kept(
            "
            mov r0 1
            mov r1 2
            @p0 bra 5
            iadd r2 r0 1
            bra 6
            iadd r2 r0 r1
            stg r4 r2
            exit",
        );
        assert_eq!(kept[3], [0, 1, 2, 4, 5], "lanes that took the branch still read r0 and r1");
        assert_eq!(kept[5], [0, 2, 4, 5], "the lanes that fell through may still read r0, but not r1");
        assert!(kept[6].is_empty());
    }

    #[test]
    fn what_lanes_at_the_reconvergence_point_read_is_kept() {
        // Lanes that left the loop wait at 5 with their r1, which the loop overwrites and reads no more.
        let kept = kept(
            "
            mov r1 0
            iadd r0 r1 1
            iadd r1 r0 2
            isetp.lt p0 r1 r3
            @p0 bra 1
            stg r4 r1
            exit",
        );
        assert_eq!(kept[1], [1, 3, 4, 5]);
        assert_eq!(kept[2], [1, 3, 4, 5]);
        assert!(kept[5].is_empty());
    }

    #[test]
    fn a_guarded_write_keeps_the_old_value() {
        let kept = kept("mov r0 1\n @p0 mov r0 2\n stg r4 r0\n exit");
        assert_eq!(kept[0], [4, 5]);
        assert_eq!(kept[1], [0, 4, 5]);
    }
}
