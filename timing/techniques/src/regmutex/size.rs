//! How many registers the extended set has, and how many sections of the shared pool there are (section 4.3.1).

use super::compile::{self, Code};
use super::live::Live;
use crate::{Launch, Plan};
use trace_format::isa::{BarMode, Inst, Op, Operand, Pc};
use warplab_analysis::release::executed_by_parts;
use warplab_gpus::occupancy::RegisterAllocation;
use warplab_technique::config::GpuConfig;
use warplab_technique::occupancy::{Limit, Occupancy};
use warplab_technique::program::Program;

/// Parts of the kernel's registers that the extended set may have, in percent.
const CANDIDATES: [u32; 6] = [10, 15, 20, 25, 30, 35];

/// What the split of a kernel's registers is chosen by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Registers of the extended set; 0 for the heuristic.
    pub extended: u32,
    /// Registers per thread in which the base set is allocated; 0 for the configuration's unit.
    pub unit: u32,
    /// Sections of an SM at most; 0 for all that fit.
    pub sections: u32,
    /// Whether a section belongs to a pair of warps.
    pub pairs: bool,
}

/// A split of a kernel's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// Registers of the base set.
    pub base: u32,
    /// Registers of the extended set.
    pub extended: u32,
    /// Blocks that an SM holds.
    pub blocks: u32,
    /// Warps that an SM holds.
    pub warps: u32,
    /// Pools of sections: one, one per part of the register file, or one per pair of warps.
    pub pools: u32,
    /// Parts of the register file; a section lies in the part of its warp.
    pub parts: u32,
    /// Whether a pool belongs to a pair of warps.
    pub pairs: bool,
    /// Sections of each pool.
    pub sections: u32,
    /// Registers that blocks may not be placed in.
    pub reserved: u32,
}

impl Split {
    /// Sections of all pools.
    pub(super) fn all_sections(&self) -> u32 {
        self.pools * self.sections
    }
}

/// Registers per thread that the kernel is allocated, without hidden ones: the sum of both sets.
pub(super) fn registers(program: &Program, config: &GpuConfig) -> u32 {
    let hidden = config.sm.hidden_registers_per_thread;
    let unit = match rule(config) {
        RegisterAllocation::Block { .. } => 1,
        _ => (config.sm.register_allocation_unit / 32).max(1),
    };
    ((program.registers_per_thread + hidden).next_multiple_of(unit) - hidden).min(255)
}

/// The sizes that the heuristic considers: the even numbers next to the candidates.
pub(super) fn candidates(registers: u32) -> Vec<u32> {
    let mut sizes: Vec<u32> = CANDIDATES.iter().map(|part| (registers * part + 100) / 200 * 2).collect();
    sizes.dedup();
    sizes.retain(|size| *size > 0 && *size < registers);
    sizes
}

/// The split of a kernel's registers and its code; `None` if every register is in the base set.
pub(super) fn choose(launch: &Launch<'_>, rules: Rules) -> Option<(Split, Code)> {
    let (program, config) = (launch.program, launch.config);
    // Registers of callees belong to every caller: such kernels keep their registers.
    if !program.kernel.functions.is_empty() || waits_in_parts(program) {
        return None;
    }
    let all = registers(program, config);
    let plain = launch.occupancy(&Plan::of(program));
    let limited =
        !matches!(plain, Ok(Occupancy { limit: Limit::Warps | Limit::Blocks | Limit::SharedMemory, .. }));
    if rules.extended == 0 && !limited {
        return None;
    }
    let live = Live::of(program);
    let least = live.at_barriers(program).max(1);
    let sizes = if rules.extended == 0 { candidates(all) } else { vec![rules.extended] };
    let fits = |size: &u32| all.checked_sub(*size).is_some_and(|base| base >= least);
    let mut splits: Vec<Split> =
        sizes.into_iter().filter(fits).filter_map(|size| split(launch, all, size, rules)).collect();
    if rules.extended == 0 {
        let blocks = plain.map_or(0, |plain| plain.blocks);
        splits.retain(|split| split.blocks >= blocks);
    }
    splits.sort_by_key(preference);
    splits.into_iter().find_map(|split| {
        let code = compile::compile(program, &live, split.base, split.base + split.extended)?;
        Some((split, code))
    })
}

/// Whether some lanes of a warp may wait at a barrier for a number of threads while its other lanes wait elsewhere: the
/// others could have a section that a warp needs to get to that barrier. A barrier of the whole block needs the
/// others too.
fn waits_in_parts(program: &Program) -> bool {
    let kernel = &program.kernel;
    let waits = |inst: &Inst| {
        matches!(inst.op, Op::Bar { mode } if mode != BarMode::Arrive)
            && !matches!(inst.src[1].operand, Operand::Imm(0))
    };
    if !kernel.insts.iter().any(waits) {
        return false;
    }
    let flow = kernel.flow();
    let by_parts = executed_by_parts(kernel, &flow);
    let in_parts = |pc: usize| by_parts[flow.block_of(Pc(pc as u32)).0 as usize];
    let mut barriers = kernel.insts.iter().enumerate().filter(|(_, inst)| waits(inst));
    barriers.any(|(pc, inst)| !inst.is_unguarded() || in_parts(pc))
}

/// The order in which splits are preferred: the most blocks; then the smallest extended set of which more than
/// half of the warps can have one, as in the section's example; then the largest.
fn preference(split: &Split) -> (u32, bool, u32) {
    let many = 2 * split.all_sections() > split.warps;
    (u32::MAX - split.blocks, !many, if many { split.extended } else { u32::MAX - split.extended })
}

fn rule(config: &GpuConfig) -> RegisterAllocation {
    config.sm.register_allocation.rounded_to(config.sm.warp_allocation_granularity)
}

/// The split with an extended set of a size; `None` if not even one section remains beside the base sets.
pub(super) fn split(launch: &Launch<'_>, all: u32, extended: u32, rules: Rules) -> Option<Split> {
    let config = launch.config;
    let base = all - extended;
    let mut plan = Plan::of(launch.program);
    plan.registers_per_thread = base;
    plan.register_allocation_unit = unit(rules);
    let occupancy = launch.occupancy(&plan).ok()?;
    let section = extended * 32;
    let per_block = launch.threads_per_block().div_ceil(32).max(1);
    if rules.pairs {
        // A pair of warps has two base sets and one extended set.
        let room = |blocks: &u32| {
            let used = launch.registers_taken(&plan, *blocks);
            used + (blocks * per_block).div_ceil(2) * section <= config.sm.registers
        };
        let blocks = (1..=occupancy.blocks).rev().find(room)?;
        let (used, parts) = (launch.registers_taken(&plan, blocks), parts(config));
        let (warps, reserved) = (blocks * per_block, config.sm.registers - used);
        let pools = config.sm.max_warps.div_ceil(2 * parts) * parts;
        let sections = 1;
        return Some(Split { base, extended, blocks, warps, pools, parts, pairs: true, sections, reserved });
    }
    let (used, pools) = (launch.registers_taken(&plan, occupancy.blocks), parts(config));
    let sections = config.sm.registers.saturating_sub(used) / pools / section;
    let most = if rules.sections == 0 { u32::MAX } else { rules.sections.div_ceil(pools) };
    let sections = sections.min(config.sm.max_warps.div_ceil(pools)).min(most);
    let (blocks, warps) = (occupancy.blocks, occupancy.blocks * per_block);
    let reserved = pools * sections * section;
    let (parts, pairs) = (pools, false);
    (sections > 0).then_some(Split { base, extended, blocks, warps, pools, parts, pairs, sections, reserved })
}

/// The unit in which base sets are allocated, if it is not the configuration's.
pub(super) fn unit(rules: Rules) -> Option<u32> {
    (rules.unit > 0).then_some(32 * rules.unit)
}

/// The parts into which the register file is divided.
fn parts(config: &GpuConfig) -> u32 {
    match rule(config) {
        RegisterAllocation::SubPartition { parts } => parts,
        RegisterAllocation::Block { .. } | RegisterAllocation::Warp { .. } => 1,
    }
}
