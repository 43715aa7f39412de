//! State that all SMs share while a kernel runs: configuration, decoded program, plan of the techniques,
//! geometry.

use crate::config::GpuConfig;
use crate::memory::address::PartitionMap;
use crate::memory::port::ClockRatio;
use crate::occupancy::{Occupancy, allocated_shared_bytes};
use crate::program::{Program, TimedInst};
use crate::techniques::{Edge, Inserted, Launch, MicroId, MicroOp, Plan};
use std::sync::Arc;
use warplab_technique::banks::BankMap;

/// Base address of kernels' code; each kernel has its own 16 MiB.
const CODE_BASE: u64 = 0xFFFE_0000_0000_0000;
/// Base address of local memory, above every address that a kernel's pointers hold.
const LOCAL_BASE: u64 = 0xFFFD_0000_0000_0000;

/// Read-only state of a running kernel.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The GPU.
    pub config: GpuConfig,
    /// The kernel's instructions, followed by the micro-operations of techniques.
    pub program: Program,
    /// Instructions of the kernel.
    pub program_insts: u32,
    /// Requests of the techniques.
    pub plan: Plan,
    /// Warps per block.
    pub warps_per_block: u32,
    /// Threads per block.
    pub threads_per_block: u32,
    /// Blocks that an SM holds at once.
    pub blocks_per_sm: u32,
    /// The resource that limits the blocks per SM.
    pub occupancy_limit: crate::occupancy::Limit,
    /// Ways of L1 that the carve-out for the kernel's shared memory leaves.
    pub l1_ways: u32,
    /// Shared memory of an SM in bytes, if the program prefers a size.
    pub carveout: Option<u32>,
    /// Register-to-bank mapping.
    pub banks: BankMap,
    /// Spread of lines over partitions.
    pub partitions: PartitionMap,
    /// Ratio of interconnect clock to core clock.
    pub net_clock: ClockRatio,
    /// Position of the kernel in the trace; each kernel has its own code addresses.
    pub kernel_index: u32,
    /// Index of the first inserted instruction before each instruction; empty without any.
    inserted_from: Vec<u32>,
    /// I-cache line of each instruction.
    code_lines: Vec<u64>,
    /// Whether lanes meet in front of each instruction; empty where that takes no time.
    meets: Arc<[bool]>,
}

/// Resources of a launch under the plan of its techniques.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    threads_per_block: u32,
    /// Shared memory of a block in bytes.
    shared_bytes: u32,
    occupancy: Occupancy,
    /// Shared memory of an SM in bytes, if the program prefers a size.
    carveout: Option<u32>,
    kernel_index: u32,
}

impl Shape {
    /// The shape of a launch of the kernel with index `kernel_index`.
    ///
    /// # Errors
    /// A block of the kernel does not fit an SM; the error names the resource, the need of the block and the
    /// size.
    pub(crate) fn of(launch: &Launch<'_>, plan: &Plan, kernel_index: u32) -> Result<Shape, String> {
        let occupancy = launch.occupancy(plan).map_err(|why| {
            format!("kernel {} fits no SM of {}: {why}", launch.program.name, launch.config.name)
        })?;
        Ok(Shape {
            threads_per_block: launch.threads_per_block(),
            shared_bytes: launch.demand(plan).shared_bytes,
            occupancy,
            carveout: launch.shared_carveout(plan),
            kernel_index,
        })
    }
}

/// I-cache line of the instruction at a position, counting the micro-operations inserted before it.
fn line_of_code(config: &GpuConfig, kernel_index: u32, position: u64) -> u64 {
    let front = &config.front_end;
    let [instructions, bytes] = [front.code_group_instructions, front.code_group_bytes].map(u64::from);
    let within = position % instructions * bytes / instructions;
    let address = CODE_BASE + (u64::from(kernel_index) << 24) + position / instructions * bytes + within;
    address / u64::from(front.icache.line_bytes)
}

impl Machine {
    /// Builds a machine; `meets` are the places of [`meeting_places_on`].
    ///
    /// # Errors
    /// A micro-operation cannot be timed; the error names it.
    pub(crate) fn new(
        config: &GpuConfig,
        mut program: Program,
        plan: Plan,
        shape: Shape,
        meets: Arc<[bool]>,
    ) -> Result<Machine, String> {
        let Shape { threads_per_block, shared_bytes, occupancy, carveout, kernel_index } = shape;
        let count = program.insts.len() as u32;
        for (inst, renaming) in program.insts.iter_mut().zip(plan.renamed()) {
            inst.rename(renaming);
        }
        let inserted_from: Vec<u32> = if plan.inserted().is_empty() {
            Vec::new()
        } else {
            let from = |pc| plan.inserted().partition_point(|inserted| inserted.before < pc) as u32;
            (0..=count).map(from).collect()
        };
        for (_, op) in plan.micro_ops() {
            program.insts.push(TimedInst::micro(op, config)?);
        }
        // Inserted operations lie before their instruction.
        let before = |pc: u32| inserted_from.get(pc as usize + 1).copied().unwrap_or(0);
        let line = |pc| line_of_code(config, kernel_index, u64::from(pc + before(pc)));
        let code_lines = (0..count).map(line).collect();
        Ok(Machine {
            banks: BankMap::new(config),
            partitions: PartitionMap::new(config),
            net_clock: ClockRatio::new(config.gpu.core_clock_khz, config.gpu.interconnect_clock_khz),
            warps_per_block: threads_per_block.div_ceil(32),
            threads_per_block,
            blocks_per_sm: occupancy.blocks,
            occupancy_limit: occupancy.limit,
            l1_ways: l1_ways(config, shared_bytes, occupancy.blocks, carveout),
            carveout,
            kernel_index,
            config: config.clone(),
            program,
            program_insts: count,
            plan,
            inserted_from,
            code_lines,
            meets,
        })
    }

    /// Position of a micro-operation among the instructions.
    #[must_use]
    #[inline]
    pub(crate) fn micro_pc(&self, op: MicroId) -> u32 {
        self.program_insts + u32::from(op.0)
    }

    /// The micro-operation at a position among the instructions, if there is one, with the position of its technique.
    #[must_use]
    #[inline]
    pub(crate) fn micro_at(&self, pc: u32) -> Option<(usize, MicroId, &MicroOp)> {
        let index = pc.checked_sub(self.program_insts)?;
        let (owner, op) = self.plan.micro_ops().get(index as usize)?;
        Some((*owner, MicroId(index as u16), op))
    }

    /// Whether techniques inserted micro-operations into the code.
    #[must_use]
    #[inline]
    pub(crate) fn inserts_operations(&self) -> bool {
        !self.inserted_from.is_empty()
    }

    /// The first micro-operation on the edge from `via` among those inserted before an instruction, starting
    /// at position `from`; with its position and its line of code.
    #[must_use]
    #[inline]
    pub(crate) fn next_inserted(&self, pc: u32, via: u32, from: usize) -> Option<(usize, MicroId, u64)> {
        if !self.inserts_operations() {
            return None;
        }
        let [first, end] = [pc, pc + 1].map(|at| self.inserted_from[at as usize]);
        let all = &self.plan.inserted()[first as usize..end as usize];
        let on_the_way = |inserted: &Inserted| match inserted.edge {
            Edge::Every => true,
            Edge::From(other) => other == via,
        };
        let position = from + all.get(from..)?.iter().position(on_the_way)?;
        let at = u64::from(pc) + u64::from(first) + position as u64;
        Some((position, all[position].op, line_of_code(&self.config, self.kernel_index, at)))
    }

    /// Whether a warp waits in front of an instruction, where lanes meet.
    #[must_use]
    #[inline]
    pub(crate) fn meets_at(&self, pc: u32) -> bool {
        self.meets.get(pc as usize).is_some_and(|meets| *meets)
    }

    /// I-cache line of an instruction of the kernel.
    #[must_use]
    #[inline]
    pub(crate) fn code_line(&self, pc: u32) -> u64 {
        self.code_lines[pc as usize]
    }

    /// I-cache line of the kernel's last instruction.
    #[must_use]
    #[inline]
    pub(crate) fn last_code_line(&self) -> u64 {
        self.code_lines.last().copied().unwrap_or(0)
    }

    /// Memory address of a lane's local byte: a word's copies for the lanes of a warp are adjacent.
    #[must_use]
    #[inline]
    pub(crate) fn local_address(&self, sm: usize, warp: usize, lane: usize, offset: u64) -> u64 {
        let per_warp = (u64::from(self.program.local_bytes).max(1).next_multiple_of(16)) * 32;
        let warp = (sm * 64 + warp) as u64;
        LOCAL_BASE + warp * per_warp + (offset / 4 * 32 + lane as u64) * 4 + offset % 4
    }

    /// Lanes of a warp that hold threads.
    #[must_use]
    pub(crate) fn launched_lanes(&self, warp: u32) -> u32 {
        let left = self.threads_per_block.saturating_sub(warp * 32);
        if left >= 32 { u32::MAX } else { (1 << left) - 1 }
    }
}

/// Ways of L1 beside the preferred shared-memory carve-out, or the smallest one that fits all resident blocks.
fn l1_ways(config: &GpuConfig, shared_per_block: u32, blocks: u32, preferred: Option<u32>) -> u32 {
    let (l1, sm) = (&config.l1, &config.sm);
    let per_block = allocated_shared_bytes(sm, shared_per_block);
    let used = per_block.saturating_mul(blocks).min(sm.shared_memory_bytes);
    let carveouts = &config.shared_memory.carveouts_bytes;
    match preferred.or_else(|| carveouts.iter().copied().find(|carveout| *carveout >= used)) {
        Some(carveout) => (l1.unified_bytes - carveout) / (l1.sets * l1.line_bytes),
        None => l1.ways,
    }
}
