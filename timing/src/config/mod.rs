//! Typed GPU configurations: the shape of the data files under `timing/configs/`.
//!
//! [`load`] reads, inherits and overrides; [`rules`] refuses contradictions; this file only says what keys
//! exist, in which unit, and what they mean. Every size is per SM unless its name says otherwise.

pub mod builtin;
pub mod load;
pub mod rules;
#[cfg(test)]
mod tests;

pub use load::{ConfigError, Loaded, load, load_text};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One GPU, completely described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuConfig {
    /// Short name, as `--config` takes it.
    pub name: String,
    /// One line on what the model stands for.
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
    pub units: BTreeMap<String, Unit>,
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
    /// Crossbar between SMs and memory partitions.
    pub interconnect: Interconnect,
    /// One slice of the second-level cache.
    pub l2: L2,
    /// One DRAM channel.
    pub dram: Dram,
    /// What happens at kernel boundaries.
    pub launch: Launch,
    /// Sections of techniques, `[technique.NAME]`, read by the techniques themselves.
    #[serde(default)]
    pub technique: BTreeMap<String, toml::Table>,
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

/// What an SM can hold at once, and in which granules it hands it out.
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
    /// Warps of a block are rounded up to this number when registers are allocated; with sub-partitions, how many
    /// there are.
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
    /// Lines behind the one that is fetched from that are asked for ahead.
    pub icache_prefetch_lines: u32,
    /// The instruction cache.
    pub icache: SmallCache,
}

/// A read-only cache whose misses go to L2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmallCache {
    /// Total size in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Cycles of a hit.
    pub hit_latency_cycles: u32,
}

/// Scheduling policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Loose round robin.
    Lrr,
    /// Greedy, then oldest.
    Gto,
    /// Oldest first.
    Oldest,
    /// Round robin over a small active set; warps that wait on memory leave it.
    TwoLevel,
}

/// Warp schedulers of an SM; warp `w` belongs to scheduler `w mod count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Schedulers, 1 to 4.
    pub count: u32,
    /// Policy of all of them.
    pub policy: Policy,
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
pub struct Unit {
    /// Units in the SM; 0 when the class runs on the units of `runs_on`.
    pub count: u32,
    /// Lanes of one unit; a warp occupies it for at least 32 / lanes cycles.
    pub lanes: u32,
    /// Class whose units these instructions use where the GPU has no units of their own; empty for none.
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

/// Coalescing rules by generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coalescing {
    /// Compute capability 1.2/1.3: half warps, segments of 32, 64 or 128 bytes shrunk to what is used.
    Segments,
    /// Compute capability 2.x and 3.x: whole 128-byte lines for cached loads, 32-byte sectors otherwise.
    Lines,
    /// Compute capability 5.0 and later: 32-byte sectors.
    Sectors,
}

/// Load/store path of the SM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadStore {
    /// Memory instructions waiting between the collectors and the unit.
    pub queue_entries: u32,
    /// Coalescing rules.
    pub coalescing: Coalescing,
    /// Line accesses that the unit sends to L1 per cycle.
    pub accesses_per_cycle: u32,
    /// Requests waiting between L1 and the interconnect.
    pub miss_queue_entries: u32,
}

/// Shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Banks, each 4 bytes wide.
    pub banks: u32,
    /// Cycles of a conflict-free load.
    pub latency_cycles: u32,
    /// Parts in which a warp is served (2 = half warps).
    pub warp_parts: u32,
    /// Additional cycles that one atomic on shared memory holds the unit per conflicting lane.
    pub atomic_cycles: u32,
}

/// What a store does to L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WritePolicy {
    /// Written to L2; a line that is present is updated.
    WriteThrough,
    /// Written to L2; a line that is present is dropped.
    WriteEvict,
}

/// First-level data cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1 {
    /// Total size in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Bytes that one miss fetches: 32 in a sectored cache, the line otherwise.
    pub sector_bytes: u32,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Requests that one MSHR merges.
    pub mshr_merges: u32,
    /// Cycles of a hit.
    pub hit_latency_cycles: u32,
    /// Stores.
    pub write_policy: WritePolicy,
    /// Whether global loads go past L1.
    pub bypass_global: bool,
}

/// Crossbar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Bytes of one flit; a port moves one flit per interconnect cycle.
    pub flit_bytes: u32,
    /// Header of a packet in bytes.
    pub header_bytes: u32,
    /// Core cycles from an SM's port to a slice's port.
    pub request_latency_cycles: u32,
    /// Core cycles from a slice's port to an SM's port.
    pub reply_latency_cycles: u32,
    /// Packets that one SM may have between its port and the slices' queues.
    pub sm_credits: u32,
    /// Packets waiting at a slice for the way back.
    pub reply_queue_entries: u32,
}

/// One L2 slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Slices per DRAM channel.
    pub slices_per_channel: u32,
    /// Size of a slice in bytes = sets × ways × line_bytes.
    pub size_bytes: u32,
    /// Sets.
    pub sets: u32,
    /// Ways.
    pub ways: u32,
    /// Line in bytes.
    pub line_bytes: u32,
    /// Sector in bytes.
    pub sector_bytes: u32,
    /// Outstanding misses.
    pub mshrs: u32,
    /// Requests that one MSHR merges.
    pub mshr_merges: u32,
    /// Requests waiting for the slice.
    pub queue_entries: u32,
    /// Requests waiting between the slice and its DRAM channel.
    pub dram_queue_entries: u32,
    /// L2 cycles from a request's arrival to the end of its tag lookup.
    pub latency_cycles: u32,
    /// How line addresses are spread over channels and slices.
    pub partition_hash: PartitionHash,
    /// Bytes of consecutive addresses in one slice.
    pub interleave_bytes: u32,
    /// L2 cycles that each further lane on the same address of an atomic holds the slice.
    pub atomic_cycles: u32,
}

/// Address hash over memory partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionHash {
    /// Consecutive chunks go to consecutive slices.
    Linear,
    /// As linear, rotated by the higher address bits.
    Xor,
}

/// Order in which a channel serves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DramScheduler {
    /// In order of arrival.
    Fifo,
    /// Row hits first, then in order of arrival.
    FrFcfs,
}

/// One DRAM channel; timing parameters are in command clock cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Channels of the GPU.
    pub channels: u32,
    /// Request scheduler.
    pub scheduler: DramScheduler,
    /// Requests that the scheduler chooses among.
    pub queue_entries: u32,
    /// Width of the data bus in bytes (chips × bytes per chip).
    pub bus_bytes: u32,
    /// Beats per burst.
    pub burst_length: u32,
    /// Beats per command clock.
    pub data_rate: u32,
    /// Fixed core cycles outside the DRAM chips (controller, PHY) on the way back.
    pub fixed_latency_cycles: u32,
    /// Banks.
    pub banks: u32,
    /// Bank groups.
    pub bank_groups: u32,
    /// Address bits of a channel from the highest to the lowest: R row, B bank, C column, S burst.
    pub address_map: String,
    /// Column to column, different groups.
    pub ccd_cycles: u32,
    /// Column to column, same group.
    pub ccdl_cycles: u32,
    /// Activate to activate, different banks.
    pub rrd_cycles: u32,
    /// Activate to column command.
    pub rcd_cycles: u32,
    /// Activate to precharge.
    pub ras_cycles: u32,
    /// Precharge to activate.
    pub rp_cycles: u32,
    /// Activate to activate, same bank.
    pub rc_cycles: u32,
    /// Read command to first data.
    pub cl_cycles: u32,
    /// Write command to first data.
    pub wl_cycles: u32,
    /// End of write data to read command.
    pub cdlr_cycles: u32,
    /// End of write data to precharge.
    pub wr_cycles: u32,
    /// Read command to precharge.
    pub rtp_cycles: u32,
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
}
