//! What all SMs share while a kernel runs: configuration, decoded program, plan of the techniques, geometry.

use super::banks::BankMap;
use crate::config::GpuConfig;
use crate::memory::address::PartitionMap;
use crate::memory::port::ClockRatio;
use crate::program::Program;
use crate::techniques::{Inserted, Plan};

/// Base address of kernels' code; each kernel has its own 16 MiB.
const CODE_BASE: u64 = 0xFFFE_0000_0000_0000;
/// Base address of local memory, beyond what a kernel's pointers can hold.
const LOCAL_BASE: u64 = 0xFFFD_0000_0000_0000;

/// Read-only state of a running kernel.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The GPU.
    pub config: GpuConfig,
    /// The kernel.
    pub program: Program,
    /// What techniques asked for.
    pub plan: Plan,
    /// Warps per block.
    pub warps_per_block: u32,
    /// Threads per block.
    pub threads_per_block: u32,
    /// Blocks that an SM holds at once.
    pub blocks_per_sm: u32,
    /// What keeps an SM from holding more.
    pub occupancy_limit: crate::occupancy::Limit,
    /// Ways of L1, which the kernel's shared memory may leave more or fewer of.
    pub l1_ways: u32,
    /// Register-to-bank mapping.
    pub banks: BankMap,
    /// Spread of lines over partitions.
    pub partitions: PartitionMap,
    /// Interconnect clock against core clock.
    pub net_clock: ClockRatio,
    /// Position of the kernel in the trace, which tells its code from others'.
    pub kernel_index: u32,
    /// Index of the first inserted instruction before each instruction; empty without any.
    inserted_from: Vec<u32>,
    /// I-cache line of each instruction.
    code_lines: Vec<u64>,
}

/// Address of an instruction.
fn code_address(kernel_index: u32, pc: u32) -> u64 {
    CODE_BASE + (u64::from(kernel_index) << 24) + u64::from(pc) * 8
}

/// What a launch asks for besides its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads per block.
    pub threads_per_block: u32,
    /// Dynamic shared memory per block in bytes.
    pub dynamic_shared_bytes: u32,
    /// Blocks in the grid.
    pub blocks: u64,
    /// Position of the kernel in the trace.
    pub kernel_index: u32,
}

impl Machine {
    /// Puts a machine together.
    ///
    /// # Errors
    /// When a block of the kernel fits no SM: the resource, what the block needs and what there is.
    pub fn new(config: &GpuConfig, program: Program, plan: Plan, shape: Shape) -> Result<Machine, String> {
        let demand = crate::occupancy::Demand {
            threads_per_block: shape.threads_per_block,
            registers_per_thread: plan.registers_per_thread,
            shared_bytes: program.static_shared_bytes + shape.dynamic_shared_bytes,
        };
        let available = config.sm.registers.saturating_sub(plan.reserved_registers);
        let occupancy = crate::occupancy::occupancy(&config.sm, available, &demand)
            .map_err(|why| format!("kernel {} fits no SM of {}: {why}", program.name, config.name))?;
        let inserted_from = if plan.inserted.is_empty() {
            Vec::new()
        } else {
            let count = program.insts.len() as u32;
            let from = |pc| plan.inserted.partition_point(|inserted| inserted.before < pc) as u32;
            (0..=count).map(from).collect()
        };
        let line_bytes = u64::from(config.front_end.icache.line_bytes);
        let line = |pc| code_address(shape.kernel_index, pc) / line_bytes;
        let code_lines = (0..program.insts.len() as u32).map(line).collect();
        Ok(Machine {
            banks: BankMap::new(config),
            partitions: PartitionMap::new(config),
            net_clock: ClockRatio::new(config.gpu.core_clock_khz, config.gpu.interconnect_clock_khz),
            warps_per_block: shape.threads_per_block.div_ceil(32),
            threads_per_block: shape.threads_per_block,
            blocks_per_sm: occupancy.blocks,
            occupancy_limit: occupancy.limit,
            l1_ways: l1_ways(config, demand.shared_bytes, occupancy.blocks),
            kernel_index: shape.kernel_index,
            config: config.clone(),
            program,
            plan,
            inserted_from,
            code_lines,
        })
    }

    /// Instructions that precede an instruction by a technique's will.
    #[must_use]
    #[inline]
    pub fn inserted_before(&self, pc: u32) -> &[Inserted] {
        if self.inserted_from.is_empty() {
            return &[];
        }
        let bounds = |at: u32| self.inserted_from.get(at as usize).copied();
        match (bounds(pc), bounds(pc + 1)) {
            (Some(from), Some(to)) => &self.plan.inserted[from as usize..to as usize],
            _ => &[],
        }
    }

    /// Line that holds an instruction of the kernel, of the I-cache's length.
    #[must_use]
    #[inline]
    pub fn code_line(&self, pc: u32) -> u64 {
        self.code_lines[pc as usize]
    }

    /// Line that holds the kernel's last instruction.
    #[must_use]
    #[inline]
    pub fn last_code_line(&self) -> u64 {
        self.code_lines.last().copied().unwrap_or(0)
    }

    /// Address in memory of a lane's local byte: words of the lanes of a warp lie side by side.
    #[must_use]
    #[inline]
    pub fn local_address(&self, sm: usize, warp: usize, lane: usize, offset: u64) -> u64 {
        let per_warp = (u64::from(self.program.local_bytes).max(1).next_multiple_of(16)) * 32;
        let warp = (sm * 64 + warp) as u64;
        LOCAL_BASE + warp * per_warp + (offset / 4 * 32 + lane as u64) * 4 + offset % 4
    }

    /// Launched lanes of a warp of a block.
    #[must_use]
    pub fn launched_lanes(&self, warp: u32) -> u32 {
        let left = self.threads_per_block.saturating_sub(warp * 32);
        if left >= 32 { u32::MAX } else { (1 << left) - 1 }
    }
}

/// Ways that L1 has beside the smallest carve-out that holds the shared memory of all resident blocks.
fn l1_ways(config: &GpuConfig, shared_per_block: u32, blocks: u32) -> u32 {
    let (l1, sm) = (&config.l1, &config.sm);
    let per_block = match shared_per_block + sm.shared_reserved_per_block_bytes {
        0 => 0,
        bytes => bytes.next_multiple_of(sm.shared_allocation_unit_bytes),
    };
    let used = (per_block * blocks).min(sm.shared_memory_bytes);
    let carveouts = &config.shared_memory.carveouts_bytes;
    match carveouts.iter().find(|carveout| **carveout >= used) {
        Some(carveout) => (l1.unified_bytes - carveout) / (l1.sets * l1.line_bytes),
        None => l1.ways,
    }
}
