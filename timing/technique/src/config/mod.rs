//! Typed GPU configurations: keys, units and meanings.
//!
//! Every size is per SM unless its name says otherwise. The `timing` crate reads, inherits, overrides and
//! checks files; a technique only reads the values.

mod memory;
mod names;

pub use memory::*;
pub use names::{UNIT_NAMES, latency_name};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One GPU, completely described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuConfig {
    /// Short name, as `--config` takes it.
    pub name: String,
    /// One-line description of the model.
    pub description: String,
    /// Energy table (a built-in name or a file) that prices this GPU's events.
    pub energy: String,
    /// Size of the machine and its clocks.
    pub gpu: Gpu,
    /// Resident warps, blocks, registers and shared memory.
    pub sm: SmLimits,
    /// Fetch, decode and the instruction cache.
    pub front_end: FrontEnd,
    /// Warp schedulers.
    pub scheduler: Scheduler,
    /// Operand collectors.
    pub collectors: Collectors,
    /// Register banks.
    pub register_file: RegisterFile,
    /// Execution units by class name: `int`, `fp32`, `fp64`, `sfu`, `ldst`, `control`.
    pub units: BTreeMap<String, UnitConfig>,
    /// Latency and initiation interval by latency class of the instruction set (`int_add`, `fp_fma`, …).
    pub latency: BTreeMap<String, OpTiming>,
    /// The SM's load/store path.
    pub load_store: LoadStore,
    /// Shared memory.
    pub shared_memory: SharedMemory,
    /// First-level data cache.
    pub l1: L1,
    /// Constant cache behind LDC.
    pub constant_cache: SmallCache,
    /// Texture cache behind texture fetches.
    pub texture_cache: TextureCache,
    /// Crossbar between SMs and memory partitions.
    pub interconnect: Interconnect,
    /// One slice of the second-level cache.
    pub l2: L2,
    /// One DRAM channel.
    pub dram: Dram,
    /// Behaviour at kernel boundaries.
    pub launch: Launch,
    /// Sections of techniques, `[technique.NAME]`, read by the techniques themselves.
    #[serde(default)]
    pub technique: BTreeMap<String, toml::Table>,
    /// Sections of policies, `[policy.NAME]`: parameters of a warp scheduler, a cache replacement or a write policy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub policy: BTreeMap<String, toml::Table>,
}

/// Number of SMs and clock domains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Streaming multiprocessors.
    pub sms: u32,
    /// SM clock; cycles in every statistic are cycles of this clock.
    pub core_clock_khz: u64,
    /// Crossbar clock.
    pub interconnect_clock_khz: u64,
    /// L2 clock.
    pub l2_clock_khz: u64,
    /// DRAM command clock.
    pub dram_clock_khz: u64,
}

/// Resources of an SM and their allocation granularities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmLimits {
    /// Resident warps, at most 64.
    pub max_warps: u32,
    /// Resident thread blocks.
    pub max_blocks: u32,
    /// Threads of one block.
    pub max_threads_per_block: u32,
    /// 32-bit registers of the register file.
    pub registers: u32,
    /// Granule in which registers are allocated, in 32-bit registers.
    pub register_allocation_unit: u32,
    /// Whether the granule applies to each warp or to the whole block.
    pub register_allocation: RegisterAllocation,
    /// Warps of a block are rounded up to this number when registers are allocated; with sub-partitions, the
    /// number of these.
    pub warp_allocation_granularity: u32,
    /// Registers that one thread can address.
    pub max_registers_per_thread: u32,
    /// Shared memory in bytes.
    pub shared_memory_bytes: u32,
    /// Shared memory that one block may take, in bytes.
    pub shared_memory_per_block_bytes: u32,
    /// Granule of shared memory, in bytes.
    pub shared_allocation_unit_bytes: u32,
    /// Shared memory that the driver takes from each block, in bytes.
    pub shared_reserved_per_block_bytes: u32,
    /// Cycles between a block's arrival in the SM and its warps' first fetch.
    pub block_launch_cycles: u32,
}

/// Unit to which the register allocation granule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterAllocation {
    /// Each warp's registers are rounded up and come from its scheduler's part of the register file
    /// (compute capability 3.0 and later).
    SubPartition,
    /// Each warp's registers are rounded up (2.x).
    Warp,
    /// The block's registers are rounded up (compute capability 1.x).
    Block,
}

/// Fetch and decode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontEnd {
    /// Warps that fetch in one cycle.
    pub fetch_warps_per_cycle: u32,
    /// Consecutive instructions that one fetch delivers, at most.
    pub fetch_instructions: u32,
    /// I-buffer entries per warp.
    pub ibuffer_entries: u32,
    /// Cycles from the I-cache hit to the instruction's presence in the I-buffer.
    pub decode_cycles: u32,
    /// Cycles after a branch's issue during which its warp does not issue.
    pub branch_resolve_cycles: u32,
    /// Lines prefetched after the fetched one.
    pub icache_prefetch_lines: u32,
    /// The instruction cache.
    pub icache: SmallCache,
}

/// Warp schedulers of an SM; warp `w` belongs to scheduler `w mod count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Schedulers, 1 to 4.
    pub count: u32,
    /// Name of the policy of all of them; `timing list` shows all.
    pub policy: String,
    /// Instructions of one warp that a scheduler issues per cycle, 1 or 2.
    pub issue_width: u32,
    /// Whether the two instructions of a dual issue must go to different unit classes.
    pub dual_issue_distinct_units: bool,
    /// Warps in the active set of the two-level policy, per scheduler.
    pub two_level_active_warps: u32,
}

/// Operand collector units. Either `generic` serves all classes, or the three class pools do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collectors {
    /// Units that take any instruction; 0 selects the class pools.
    pub generic: u32,
    /// Units for integer, FP32, FP64 and control instructions.
    pub alu: u32,
    /// Units for special-function and tensor instructions.
    pub sfu: u32,
    /// Units for memory instructions.
    pub mem: u32,
    /// Operands that one unit receives from the register file per cycle.
    pub ports: u32,
    /// Cycles from issue to the first register read.
    pub issue_to_read_cycles: u32,
    /// Instructions that leave collectors for the units per scheduler and cycle.
    pub dispatch_per_scheduler: u32,
}

/// How an architectural register of a warp finds its bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BankMapping {
    /// `(register + warp) mod banks`.
    WarpSkewed,
    /// `register mod banks`.
    Register,
    /// `warp mod banks`: all registers of a warp in one bank (CORF++, section 2.5.2).
    Warp,
}

/// Register banks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterFile {
    /// Banks, at most 64.
    pub banks: u32,
    /// Accesses (reads and writes together) that a bank serves per cycle.
    pub bank_ports: u32,
    /// Register-to-bank mapping.
    pub bank_mapping: BankMapping,
    /// Whether banks, collectors and units are split evenly among the schedulers.
    pub sub_core: bool,
    /// Cycles from a granted read to the operand's arrival in the collector.
    pub read_latency_cycles: u32,
    /// Results that the result bus carries to the register file per cycle.
    pub result_bus_width: u32,
}

/// Execution units of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitConfig {
    /// Units in the SM; 0 when the class runs on the units of `runs_on`.
    pub count: u32,
    /// Lanes of one unit; a warp occupies it for at least 32 / lanes cycles.
    pub lanes: u32,
    /// Class whose units execute these instructions if the GPU has no separate units for them; empty for
    /// none.
    pub runs_on: String,
}

/// Timing of one latency class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpTiming {
    /// Cycles from dispatch to the result bus.
    pub latency_cycles: u32,
    /// Cycles before the same unit takes the next warp instruction.
    pub initiation_cycles: u32,
}

/// Kernel boundaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Cycles before a kernel's first block.
    pub latency_cycles: u64,
    /// Whether L1 is emptied between kernels.
    pub flush_l1: bool,
    /// Whether L2 is emptied between kernels.
    pub flush_l2: bool,
    /// Whether copies and fills before a kernel leave the written data in L2.
    pub copies_fill_l2: bool,
}
