//! Figures of a kernel on a configuration: rates, utilisations and means derived from counters.

use crate::config::{Collectors, GpuConfig, Organisation};
use crate::occupancy::Limit;
use crate::replay::LaunchStats;
use crate::stats::{Stall, Stats, TechniqueStats};
use serde_json::{Map, Value};
use trace_format::isa::Unit;

macro_rules! facts {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty;)+) => {
        /// Figures of a kernel, all of its launches together.
        #[derive(Clone, Debug)]
        pub struct Facts {
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// The resource that limits the blocks per SM.
            pub occupancy_limit: Limit,
            /// Counts of techniques.
            pub techniques: Vec<TechniqueStats>,
        }

        impl Facts {
            /// The figures under their names.
            #[must_use]
            pub fn to_json(&self) -> Value {
                let mut object = Map::new();
                $(object.insert(stringify!($name).to_owned(), self.$name.into());)+
                object.insert("occupancy_limit".into(), self.occupancy_limit.name().into());
                if !self.techniques.is_empty() {
                    let of = |one: &TechniqueStats| (one.info.name.to_owned(), one.to_json());
                    object.insert("technique".into(), Value::Object(self.techniques.iter().map(of).collect()));
                }
                Value::Object(object)
            }
        }
    };
}

facts! {
    /// Launches.
    launches: u64;
    /// Cycles, launch latency included.
    cycles: u64;
    /// Cycles of launch latency.
    launch_cycles: u64;
    /// Cycles after the launch latency.
    run_cycles: u64;
    /// Warp instructions.
    warp_instructions: u64;
    /// Warp instructions per cycle and SM after the launch latency.
    ipc_per_sm: f64;
    /// Warp instructions that an SM can issue per cycle.
    peak_ipc_per_sm: f64;
    /// SMs.
    sms: u64;
    /// SMs with a warp, mean over the cycles after the launch latency.
    active_sms: f64;
    /// Blocks of a launch, mean.
    blocks_per_launch: f64;
    /// Threads of a block.
    threads_per_block: u64;
    /// Blocks that an SM may hold at once.
    blocks_per_sm: u64;
    /// Registers of a thread.
    registers_per_thread: u64;
    /// Warps of an SM at the occupancy that resources allow.
    possible_warps: u64;
    /// Warp slots of an SM.
    max_warps: u64;
    /// Operand collectors of an SM; none in sub-cores that read operands at fixed times.
    collectors: u64;
    /// Warps resident in an SM while it has any, mean.
    resident_warps: f64;
    /// Lanes in which a warp instruction takes effect, mean.
    lanes: f64;
    /// Part of the DRAM's peak bandwidth that was used after the launch latency.
    dram_utilisation: f64;
    /// DRAM bandwidth used after the launch latency, GB/s.
    dram_gb_per_s: f64;
    /// Peak DRAM bandwidth, GB/s.
    dram_peak_gb_per_s: f64;
    /// Part of the DRAM's column accesses that found their row open.
    dram_row_hits: f64;
    /// Part of the L2 slices' cycles that served a request.
    l2_utilisation: f64;
    /// Part of the L2 requests that hit.
    l2_hits: f64;
    /// Part of the interconnect's reply ports that was busy, flits per port and cycle.
    reply_utilisation: f64;
    /// Line accesses to L1.
    l1_accesses: u64;
    /// Part of them that hit.
    l1_hits: f64;
    /// Cycles in which the access at the head of a load/store unit was blocked, per active SM cycle.
    l1_stalls: f64;
    /// Line accesses of a warp's load, store or atomic on global memory, mean.
    lines_per_access: f64;
    /// 32-byte sectors of a warp's load, store or atomic on global memory, mean.
    sectors_per_access: f64;
    /// Sectors that the data of such an access's lanes would fill side by side, mean.
    needed_sectors_per_access: f64;
    /// Warp accesses to shared memory.
    shared_accesses: u64;
    /// Additional cycles of a shared access because of bank conflicts, mean.
    shared_conflict_cycles: f64;
    /// Additional cycles of a shared access because lanes of an atomic meet at one address, mean.
    shared_atomic_conflict_cycles: f64;
    /// Warp atomics on global memory.
    global_atomics: u64;
    /// Atomics on global memory, part of the accesses to it.
    atomic_accesses: f64;
    /// Largest number of lanes of an atomic at one address, mean.
    lanes_per_atomic_address: f64;
    /// Median cycles of an atomic that returns a value, from issue to writeback; 0 without any.
    atomic_median_cycles: u64;
    /// Cycles of an access that L2 serves while nothing else goes on.
    unloaded_l2_cycles: u64;
    /// Loads from global and local memory.
    loads: u64;
    /// Part of the loads that L1 served.
    loads_from_l1: f64;
    /// Part of the loads that L2 served.
    loads_from_l2: f64;
    /// Part of the loads that DRAM served.
    loads_from_dram: f64;
    /// Median cycles of a load from issue to writeback.
    load_median_cycles: u64;
    /// Cycles that the slowest 1 % of the loads exceed.
    load_p99_cycles: u64;
    /// Cycles from issue to the last operand, mean.
    collection_cycles: f64;
    /// Cycles that requests for registers waited at their banks, per instruction.
    bank_conflict_cycles: f64;
    /// Cycles that register reads waited for their collector's port, per instruction.
    port_conflict_cycles: f64;
    /// Median cycles of everything but loads from issue to writeback.
    alu_median_cycles: u64;
    /// Part of the slots without a fetched instruction in which an I-cache line was outstanding.
    icache_miss_slots: f64;
    /// Instructions of the largest class by unit, part of all.
    busiest_unit_share: f64;
    /// Name of that class.
    busiest_unit: &'static str;
    /// Instructions of the load/store unit, part of all.
    memory_instructions: f64;
    /// Barrier arrivals per warp.
    barriers_per_warp: f64;
}

/// All launches of a kernel.
#[derive(Debug)]
pub struct LaunchesOfKernel {
    /// The first of them.
    pub(super) first: LaunchStats,
    /// Their positions in the trace.
    pub(super) numbers: Vec<usize>,
    /// Statistics of all together.
    pub(super) stats: Stats,
    /// Blocks of all together.
    pub(super) blocks: u64,
}

impl From<LaunchStats> for LaunchesOfKernel {
    fn from(first: LaunchStats) -> LaunchesOfKernel {
        let (stats, blocks) = (first.stats.clone(), first.blocks);
        LaunchesOfKernel { numbers: vec![first.launch], stats, blocks, first }
    }
}

impl LaunchesOfKernel {
    /// Adds a further launch.
    pub fn add(&mut self, launch: &LaunchStats) {
        self.numbers.push(launch.launch);
        self.stats.merge(&launch.stats);
        self.blocks += launch.blocks;
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Facts {
    /// The figures of a kernel's launches.
    #[must_use]
    pub fn new(kernel: &LaunchesOfKernel, config: &GpuConfig) -> Facts {
        let LaunchesOfKernel { first, numbers, stats, blocks } = kernel;
        let (c, latency) = (&stats.counters, &stats.latency);
        let count = numbers.len() as u64;
        let launch_cycles = (count * config.launch.latency_cycles).min(c.cycles);
        let run_cycles = c.cycles - launch_cycles;
        let sms = u64::from(config.gpu.sms);
        let schedulers = u64::from(config.scheduler.count * config.scheduler.issue_width);
        let seconds = run_cycles as f64 / (config.gpu.core_clock_khz as f64 * 1e3);
        let dram = &config.dram;
        let peak = f64::from(dram.channels * dram.bus_bytes * dram.data_rate)
            * config.gpu.dram_clock_khz as f64
            / 1e6;
        let used = if seconds > 0.0 { c.dram_bytes as f64 / seconds / 1e9 } else { 0.0 };
        let slices = u64::from(dram.channels * config.l2.slices_per_channel);
        let in_clock = |khz: u64| run_cycles as f64 * khz as f64 / config.gpu.core_clock_khz as f64;
        let per = |n: u64, of: f64| if of > 0.0 { n as f64 / of } else { 0.0 };
        let accesses = c.global_loads + c.global_stores + c.global_atomics;
        let from = [
            latency.l1_load_issue_to_writeback.count(),
            latency.l2_load_issue_to_writeback.count(),
            latency.dram_load_issue_to_writeback.count(),
        ];
        let loads = from.iter().sum();
        let warps = u64::from(first.threads_per_block.div_ceil(32));
        let units = Unit::ALL.into_iter().filter(|unit| *unit != Unit::Control);
        let units = units.map(|unit| (unit.name(), c.of_unit(unit)));
        let busiest = units.max_by_key(|(_, n)| *n).unwrap_or((Unit::Int.name(), 0));
        Facts {
            launches: count,
            cycles: c.cycles,
            launch_cycles,
            run_cycles,
            warp_instructions: c.warp_instructions,
            ipc_per_sm: ratio(c.warp_instructions, run_cycles * sms),
            peak_ipc_per_sm: schedulers as f64,
            sms,
            active_sms: ratio(c.active_sm_cycles, run_cycles),
            blocks_per_launch: ratio(*blocks, count),
            threads_per_block: first.threads_per_block.into(),
            blocks_per_sm: first.blocks_per_sm.into(),
            registers_per_thread: first.registers_per_thread.into(),
            possible_warps: warps * u64::from(first.blocks_per_sm),
            max_warps: config.sm.max_warps.into(),
            collectors: collectors(config),
            resident_warps: ratio(c.resident_warp_cycles, c.active_sm_cycles),
            lanes: ratio(c.thread_instructions, c.warp_instructions),
            dram_utilisation: used / peak,
            dram_gb_per_s: used,
            dram_peak_gb_per_s: peak,
            dram_row_hits: ratio(c.dram_row_hits, c.dram_reads + c.dram_writes),
            l2_utilisation: per(c.l2_accesses, in_clock(config.gpu.l2_clock_khz) * slices as f64),
            l2_hits: ratio(c.l2_hits, c.l2_accesses),
            reply_utilisation: per(
                c.reply_flits,
                in_clock(config.gpu.interconnect_clock_khz) * sms.min(slices) as f64,
            ),
            l1_accesses: c.l1_accesses,
            l1_hits: ratio(c.l1_hits, c.l1_accesses),
            l1_stalls: ratio(c.l1_stall_cycles, c.active_sm_cycles),
            lines_per_access: ratio(c.coalesced_accesses, accesses),
            sectors_per_access: ratio(c.coalesced_sectors, accesses),
            needed_sectors_per_access: ratio(c.needed_sectors, accesses),
            shared_accesses: c.shared_accesses,
            shared_conflict_cycles: ratio(c.shared_bank_conflict_cycles, c.shared_accesses),
            shared_atomic_conflict_cycles: ratio(c.shared_atomic_conflict_cycles, c.shared_accesses),
            global_atomics: c.global_atomics,
            atomic_accesses: ratio(c.global_atomics, accesses),
            lanes_per_atomic_address: ratio(c.global_atomics + c.atomic_conflict_lanes, c.global_atomics),
            atomic_median_cycles: latency.atomic_issue_to_writeback.percentile_cycles(50.0),
            unloaded_l2_cycles: u64::from(
                config.interconnect.request_latency_cycles
                    + config.l2.latency_cycles
                    + config.interconnect.reply_latency_cycles,
            ),
            loads,
            loads_from_l1: ratio(from[0], loads),
            loads_from_l2: ratio(from[1], loads),
            loads_from_dram: ratio(from[2], loads),
            load_median_cycles: latency.load_issue_to_writeback.percentile_cycles(50.0),
            load_p99_cycles: latency.load_issue_to_writeback.percentile_cycles(99.0),
            collection_cycles: latency.operand_collection.mean_cycles(),
            bank_conflict_cycles: ratio(c.rf_bank_conflict_cycles, c.collected_instructions),
            port_conflict_cycles: ratio(c.collector_port_conflict_cycles, c.collected_instructions),
            alu_median_cycles: latency.alu_issue_to_writeback.percentile_cycles(50.0),
            icache_miss_slots: ratio(
                stats.stalls.get(Stall::ICacheMiss),
                stats.stalls.get(Stall::ICacheMiss) + stats.stalls.get(Stall::IBufferEmpty),
            ),
            busiest_unit_share: ratio(busiest.1, c.warp_instructions),
            busiest_unit: busiest.0,
            memory_instructions: ratio(c.ldst_instructions, c.warp_instructions),
            barriers_per_warp: ratio(c.barrier_arrivals, c.warps),
            occupancy_limit: first.occupancy_limit,
            techniques: stats.techniques.clone(),
        }
    }
}

/// Operand collectors of an SM.
fn collectors(config: &GpuConfig) -> u64 {
    let Collectors { generic, alu, sfu, mem, .. } = config.collectors;
    match config.sm.organisation {
        Organisation::Collectors => u64::from(generic + alu + sfu + mem),
        Organisation::ControlBits => 0,
    }
}
