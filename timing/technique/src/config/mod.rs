//! Typed GPU configurations: keys, units and meanings.
//!
//! Every size is per SM unless its name says otherwise. The `timing` crate reads, inherits, overrides and
//! checks files; a technique only reads the values.

mod bounds;
mod memory;
mod names;
mod sub_core;

pub use bounds::{Bounds, Key};
use bounds::{Keys, not_numbers, sections};
pub use memory::*;
pub use names::{UNIT_NAMES, latency_name};
pub use sub_core::*;
pub use warplab_gpus::occupancy::RegisterGranule;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Warps, banks and collector units are tracked in 64-bit masks.
pub const MASK_BITS: u64 = 64;
/// Largest register file of an SM: 4 MiB, small enough that no product of these counts overflows.
const REGISTERS: u64 = 1 << 20;
/// Largest memory of an SM and largest cache slice, in bytes.
const SM_BYTES: u64 = 16 << 20;
/// Maximum length of a queue, and number of similar things that are counted, none of which hardware has as many of.
const ENTRIES: u64 = 65_536;
/// Maximum number of MSHRs of a cache, which are allocated at the start.
const MSHRS: u64 = 16_384;
/// Longest launch latency: seconds, far below the overflow of cycles.
const LAUNCH: u64 = 10_000_000_000;
/// Longest latency that the completion wheel of an SM holds, in cycles.
const LATENCY: u64 = 2000;

impl GpuConfig {
    /// Every key, with its meaning and what it accepts.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let mut keys = Vec::new();
        self.list(Key::new(String::new(), "", Bounds::Any), &mut keys);
        keys
    }
}

sections! {
    /// One GPU, completely described.
    pub struct GpuConfig {
        /// Short name, as `--config` takes it.
        name: String;
        /// One-line description of the model.
        description: String;
        /// Energy table (a built-in name or a file) that prices this GPU's events.
        energy: String;
        /// Size of the machine and its clocks.
        gpu: Gpu;
        /// Resident warps, blocks, registers and shared memory.
        sm: SmLimits;
        /// Fetch, decode and the instruction cache.
        front_end: FrontEnd;
        /// Warp schedulers.
        scheduler: Scheduler;
        /// Operand collectors.
        collectors: Collectors;
        /// Register banks.
        register_file: RegisterFile;
        /// Sub-cores of the organisation with control bits.
        #[serde(default)]
        sub_core: SubCore;
        /// Execution units by class name: `int`, `fp32`, `fp64`, `sfu`, `ldst`, `control`.
        units: BTreeMap<String, UnitConfig>;
        /// Latency and initiation interval by latency class of the instruction set (`int_add`, `fp_fma`, …).
        latency: BTreeMap<String, OpTiming>;
        /// The SM's load/store path.
        load_store: LoadStore;
        /// Shared memory.
        shared_memory: SharedMemory;
        /// First-level data cache.
        l1: L1;
        /// Constant cache behind LDC.
        constant_cache: SmallCache;
        /// L1.5, the cache of code and constants in front of L2.
        l15: L15;
        /// Texture cache behind texture fetches.
        texture_cache: TextureCache;
        /// Crossbar between SMs and memory partitions.
        interconnect: Interconnect;
        /// One slice of the second-level cache.
        l2: L2;
        /// One DRAM channel.
        dram: Dram;
        /// Behaviour at kernel boundaries.
        launch: Launch;
        /// Sections of techniques, `[technique.NAME]`, read by the techniques themselves.
        #[serde(default)]
        technique: BTreeMap<String, toml::Table>;
        /// Sections of policies, `[policy.NAME]`: parameters of a warp scheduler, a cache replacement or a write policy.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        policy: BTreeMap<String, toml::Table>;
    }

    /// Number of SMs and clock domains.
    pub struct Gpu {
        /// Streaming multiprocessors.
        sms: u32, Bounds::Between(1, 1024);
        /// SM clock; cycles in every statistic are cycles of this clock.
        core_clock_khz: u64, Bounds::Clock;
        /// Crossbar clock.
        interconnect_clock_khz: u64, Bounds::Clock;
        /// L2 clock.
        l2_clock_khz: u64, Bounds::Clock;
        /// DRAM command clock.
        dram_clock_khz: u64, Bounds::Clock;
    }

    /// Resources of an SM and their allocation granularities.
    pub struct SmLimits {
        /// How instructions are kept in order and get their operands: `collectors`, or `control-bits`.
        #[serde(default)]
        organisation: Organisation;
        /// Resident warps, at most 64.
        max_warps: u32, Bounds::Between(1, MASK_BITS);
        /// Resident thread blocks.
        max_blocks: u32, Bounds::Between(1, MASK_BITS);
        /// Threads of one block.
        max_threads_per_block: u32, Bounds::Between(1, 32 * MASK_BITS);
        /// 32-bit registers of the register file.
        registers: u32, Bounds::Between(1, REGISTERS);
        /// Granule in which registers are allocated, in 32-bit registers.
        register_allocation_unit: u32, Bounds::Between(1, REGISTERS);
        /// Whether the granule applies to each warp or to the whole block.
        register_allocation: RegisterGranule;
        /// Warps of a block are rounded up to this number when registers are allocated; with sub-partitions, the
        /// number of these.
        warp_allocation_granularity: u32, Bounds::Between(1, MASK_BITS);
        /// Registers that one thread can address. A kernel with more keeps them, and a warning names it.
        max_registers_per_thread: u32, Bounds::Between(1, 255);
        /// Registers that hardware allocates to each thread beside those that its instructions name.
        hidden_registers_per_thread: u32, Bounds::Between(0, 8);
        /// Where the first warp of a block goes.
        #[serde(default)]
        first_warp: FirstWarp;
        /// Shared memory in bytes.
        shared_memory_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Shared memory that one block may take, in bytes.
        shared_memory_per_block_bytes: u32, Bounds::Between(0, SM_BYTES);
        /// Granule of shared memory, in bytes.
        shared_allocation_unit_bytes: u32, Bounds::Between(1, SM_BYTES);
        /// Shared memory that the driver takes from each block, in bytes.
        shared_reserved_per_block_bytes: u32, Bounds::Between(0, SM_BYTES);
        /// Cycles between a block's arrival in the SM and its warps' first fetch.
        block_launch_cycles: u32, Bounds::Between(0, LATENCY);
        /// Cycles after a block's arrival before the SM gets the next one, rounded up to the crossbar's latency; with 0
        /// it gets as many as fit at once.
        block_interval_cycles: u32, Bounds::Between(0, LATENCY);
        /// Whether a warp that has ended keeps its place until L2 has acknowledged its stores.
        stores_hold_warps: bool;
    }
}

sections! {
    /// Fetch and decode.
    pub struct FrontEnd {
        /// Warps that fetch in one cycle.
        fetch_warps_per_cycle: u32, Bounds::Between(1, ENTRIES);
        /// Consecutive instructions that one fetch delivers, at most.
        fetch_instructions: u32, Bounds::Between(1, ENTRIES);
        /// I-buffer entries per warp.
        ibuffer_entries: u32, Bounds::Between(1, 8);
        /// Cycles from the I-cache hit to the instruction's presence in the I-buffer.
        decode_cycles: u32, Bounds::Between(1, 64);
        /// Cycles after a branch's issue during which its warp does not issue.
        branch_resolve_cycles: u32, Bounds::Between(0, LATENCY);
        /// Cycles that a warp waits where lanes meet again that a branch may have separated (`BSYNC`), in code without
        /// instructions for it.
        #[serde(default)]
        converge_cycles: u32, Bounds::Between(0, LATENCY);
        /// Lines prefetched after the fetched one.
        icache_prefetch_lines: u32, Bounds::Between(0, 8);
        /// Instructions of a group of code, which begins at a multiple of its size.
        code_group_instructions: u32, Bounds::Between(1, 16);
        /// Bytes of a group, words that control its instructions included.
        code_group_bytes: u32, Bounds::Between(8, 256);
        /// The instruction cache.
        icache: SmallCache;
        /// The caches in front of it.
        l0: L0;
    }

    /// Warp schedulers of an SM; warp `w` belongs to scheduler `w mod count`.
    pub struct Scheduler {
        /// Schedulers, 1 to 4.
        count: u32, Bounds::Between(1, 4);
        /// Name of the policy of all of them; `timing list` shows all.
        policy: String;
        /// Instructions of one warp that a scheduler issues per cycle, 1 or 2.
        issue_width: u32, Bounds::Between(1, 2);
        /// Whether the two instructions of a dual issue must go to different unit classes.
        dual_issue_distinct_units: bool;
        /// Warps in the active set of the two-level policy, per scheduler.
        two_level_active_warps: u32, Bounds::Between(1, MASK_BITS);
    }

    /// Operand collector units. Either `generic` serves all classes, or the three class pools do.
    pub struct Collectors {
        /// Units that take any instruction; 0 selects the class pools.
        generic: u32, Bounds::Between(0, MASK_BITS);
        /// Units for integer, FP32, FP64 and control instructions.
        alu: u32, Bounds::Between(0, MASK_BITS);
        /// Units for special-function and tensor instructions.
        sfu: u32, Bounds::Between(0, MASK_BITS);
        /// Units for memory instructions.
        mem: u32, Bounds::Between(0, MASK_BITS);
        /// Operands that one unit receives from the register file per cycle.
        ports: u32, Bounds::Between(1, 16);
        /// Cycles from issue to the first register read.
        issue_to_read_cycles: u32, Bounds::Between(1, 64);
        /// Instructions that leave collectors for the units per scheduler and cycle.
        dispatch_per_scheduler: u32, Bounds::Between(1, ENTRIES);
    }
}

/// Where the first warp of a block goes; those behind it go to the schedulers behind its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstWarp {
    /// To the lowest free slot.
    #[default]
    LowestSlot,
    /// To each scheduler in turn, block by block.
    Turns,
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

sections! {
    /// Register banks.
    pub struct RegisterFile {
        /// Banks, at most 64.
        banks: u32, Bounds::Between(1, MASK_BITS);
        /// Accesses that a bank serves per cycle: reads and writes together, or reads alone if there are
        /// `bank_write_ports` or `sm.organisation` is `control-bits`.
        bank_ports: u32, Bounds::Between(1, 8);
        /// Writes that a bank serves per cycle beside `bank_ports` reads; 0 if they share these ports.
        #[serde(default)]
        bank_write_ports: u32, Bounds::Between(0, 8);
        /// Register-to-bank mapping.
        bank_mapping: BankMapping;
        /// Whether banks, collectors and units are split evenly among the schedulers.
        sub_core: bool;
        /// Cycles from the time at which a written predicate can be read as an operand until it can guard an
        /// instruction.
        guard_delay_cycles: u32, Bounds::Between(0, LATENCY);
        /// Cycles from a granted read to the operand's arrival in the collector.
        read_latency_cycles: u32, Bounds::Between(1, 64);
        /// Results that the result bus carries to the register file per cycle.
        result_bus_width: u32, Bounds::Between(1, 64);
    }

    /// Execution units of one class.
    pub struct UnitConfig {
        /// Units in the SM; 0 when the class runs on the units of `runs_on`.
        count: u32, Bounds::Between(0, 32);
        /// Lanes of one unit; a warp occupies it for at least 32 / lanes cycles.
        lanes: u32, Bounds::Divisor(32);
        /// Class whose units execute these instructions if the GPU has no separate units for them; empty for
        /// none.
        runs_on: String;
    }

    /// Timing of one latency class.
    pub struct OpTiming {
        /// Cycles from dispatch to the result bus.
        latency_cycles: u32, Bounds::Between(1, LATENCY);
        /// Cycles before the same unit takes the next warp instruction.
        initiation_cycles: u32, Bounds::Between(1, LATENCY);
        /// Unit class that executes those instructions of the class that `int`, `fp32` or `sfu` units would execute; empty for
        /// none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        runs_on: String;
    }

    /// Kernel boundaries.
    pub struct Launch {
        /// Cycles before a kernel's first block.
        latency_cycles: u64, Bounds::Between(0, LAUNCH);
        /// Whether L1 is emptied between kernels.
        flush_l1: bool;
        /// Whether the SMs' caches of code and constants are emptied between kernels.
        flush_code: bool;
        /// Whether L2 is emptied between kernels.
        flush_l2: bool;
        /// Whether copies and fills before a kernel leave the written data in L2.
        copies_fill_l2: bool;
    }
}

not_numbers! { RegisterGranule, FirstWarp, BankMapping }
