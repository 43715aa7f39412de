//! The list of counters, from which struct, merge, JSON and CSV keys, documentation and energy join are
//! generated.
//!
//! A counter that costs energy names its component; the price in pJ is in the energy tables under
//! `timing/configs/energy/`. Counters of a technique are declared in its own file
//! ([`super::TechniqueStats`]).

use crate::config::GpuConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trace_format::isa::Unit;
use warplab_technique::CounterInfo;

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident $(in $component:literal)?;)+) => {
        /// Every counter of a replay; sums over SMs and partitions unless said otherwise.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        /// The counters, in the order of the struct.
        pub const COUNTERS: &[CounterInfo] = &[$(CounterInfo::new(
            stringify!($name),
            concat!($($doc),+),
            component!($($component)?),
            None,
        )),+];

        impl Counters {
            /// Adds another part's counts.
            pub fn merge(&mut self, other: &Counters) {
                $(self.$name += other.$name;)+
            }

            /// Counts since an earlier state of the same counters.
            #[must_use]
            pub fn since(&self, earlier: &Counters) -> Counters {
                Counters { $($name: self.$name - earlier.$name,)+ }
            }

            /// Values in the order of [`COUNTERS`].
            #[must_use]
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$name),+]
            }

            /// Adds the counters to a JSON object under their names.
            pub fn write_json(&self, object: &mut Map<String, Value>) {
                $(object.insert(stringify!($name).to_owned(), self.$name.into());)+
            }
        }
    };
}

macro_rules! component {
    () => {
        None
    };
    ($component:literal) => {
        Some($component)
    };
}

counters! {
    /// SM clock cycles from the launch to the last write's acknowledgement, launch latency included.
    cycles;
    /// The part of `cycles` that is launch latency, in which no kernel runs.
    launch_latency_cycles;
    /// `cycles` without the launch latency: speed-ups are quotients of these.
    kernel_cycles;
    /// Warp instructions of the program that issued (or were skipped by a technique, see `skipped_instructions`).
    warp_instructions;
    /// Lanes in which those instructions took effect, after the guard.
    thread_instructions;
    /// Warp instructions that a technique removed before issue.
    skipped_instructions;
    /// Warp instructions that a technique completed without executing them.
    reused_instructions;
    /// Instructions that issued in a slot in which another one had issued, because a technique computes both in half of
    /// the time.
    shared_slots;
    /// Micro-operations of techniques that issued (metadata, acquire, release, moves).
    inserted_instructions;
    /// Micro-operations of techniques that issued beside the warps.
    companion_instructions;
    /// Thread blocks completed.
    blocks;
    /// Warps completed.
    warps;
    /// Sum over cycles of warps resident in all SMs.
    resident_warp_cycles;
    /// Cycles summed over SMs in which at least one warp was resident.
    active_sm_cycles;
    /// Instructions fetched into I-buffers.
    fetched_instructions;
    /// Fetched instructions that a taken branch or a divergence discarded.
    flushed_instructions;
    /// I-cache line accesses.
    icache_accesses in "instruction_cache";
    /// I-cache misses.
    icache_misses;
    /// Register-file bank reads performed.
    rf_reads in "register_file";
    /// Source registers found in the register file cache of a sub-core; 0 with operand collectors.
    register_cache_reads;
    /// Register-file bank writes performed.
    rf_writes in "register_file";
    /// Capacity of the register files of all SMs in KiB, times the nanoseconds from the launch to its end; with a
    /// technique that switches registers off, only of those that are on.
    rf_powered_kib_ns in "register_file_leakage";
    /// Warp registers that a technique left switched on, summed over cycles; 0 without such a technique.
    rf_powered_register_cycles;
    /// Source registers that instructions needed, however they were supplied.
    operand_reads;
    /// Destination registers that instructions produced, wherever they were written.
    operand_writes;
    /// Uniform registers that instructions read, those of addresses included; 0 without machine code.
    uniform_reads;
    /// Uniform registers that instructions wrote.
    uniform_writes;
    /// Read or write requests times the cycles they waited because another access held their bank.
    rf_bank_conflict_cycles;
    /// Reads times the cycles they waited because their collector's port was taken.
    collector_port_conflict_cycles;
    /// Instructions that went through an operand collector.
    collected_instructions;
    /// Cycles that instructions spent in operand collectors.
    operand_collection_cycles;
    /// Cycles that results waited for the result bus.
    result_bus_wait_cycles;
    /// Warp instructions executed by integer units.
    int_instructions in "int_unit";
    /// Warp instructions executed by FP32 units.
    fp32_instructions in "fp32_unit";
    /// Warp instructions executed by FP64 units.
    fp64_instructions in "fp64_unit";
    /// Warp instructions executed by special-function units.
    sfu_instructions in "sfu";
    /// Warp instructions executed by the load/store unit.
    ldst_instructions in "load_store_unit";
    /// Lanes in which integer units computed, summed over instructions.
    int_lanes in "int_unit";
    /// Lanes in which FP32 units computed, summed over instructions.
    fp32_lanes in "fp32_unit";
    /// Lanes in which FP64 units computed, summed over instructions.
    fp64_lanes in "fp64_unit";
    /// Lanes in which special-function units computed, summed over instructions.
    sfu_lanes in "sfu";
    /// Branches, barriers and other control instructions.
    control_instructions;
    /// Matrix products executed by tensor units.
    tensor_instructions;
    /// Warp loads from global, local or generic memory, with at least one lane.
    global_loads;
    /// Warp stores to global, local or generic memory, with at least one lane.
    global_stores;
    /// Warp atomics and reductions on global memory, with at least one lane.
    global_atomics;
    /// Requests of these to L2: one for each line and half warp with lanes there, as a GV100 counts them.
    global_atomic_requests;
    /// Lanes of these that met others at their address, beyond the first: the largest group of each.
    atomic_conflict_lanes;
    /// Line or segment accesses after coalescing.
    coalesced_accesses;
    /// 32-byte sectors that coalesced accesses touch.
    coalesced_sectors;
    /// 32-byte sectors that the data of these accesses' lanes would fill side by side.
    needed_sectors;
    /// Shared-memory warp accesses, with at least one lane.
    shared_accesses in "shared_memory";
    /// Cycles in which shared memory served them.
    shared_cycles;
    /// Cycles of these beyond the passes that the width of an access needs, because lanes used different words of one bank.
    shared_bank_conflict_cycles;
    /// Cycles of these in which atomics served further lanes at one address.
    shared_atomic_conflict_cycles;
    /// Loads, stores and atomics whose values or effects a technique supplied without an access.
    satisfied_accesses;
    /// Loads into L1 that a technique made ahead of an instruction.
    early_loads;
    /// Lines that a technique's prefetches requested from L2.
    prefetch_requests;
    /// Accesses of loads that missed in L1 and found their line in the prefetch buffer beside it; they count as hits of
    /// L1.
    prefetch_hits;
    /// Barrier arrivals of warps.
    barrier_arrivals;
    /// Constant-cache accesses of LDC.
    constant_accesses in "constant_cache";
    /// Constant-cache misses.
    constant_misses;
    /// L1 accesses by loads.
    l1_accesses in "l1";
    /// L1 load accesses that hit.
    l1_hits;
    /// L1 load accesses that missed and made a request.
    l1_misses;
    /// L1 load accesses that joined an outstanding miss.
    l1_merges;
    /// Cycles in which the access at L1's head waited for an MSHR or a queue entry.
    l1_stall_cycles;
    /// Accesses of global loads that bypassed L1.
    l1_bypasses;
    /// L1 accesses by stores.
    l1_writes in "l1";
    /// Dirty sectors of local memory that L1 wrote back.
    l1_writeback_sectors;
    /// Texture-cache accesses.
    texture_accesses;
    /// Texture-cache accesses that made a request.
    texture_misses;
    /// Packets from SMs to memory partitions.
    request_packets;
    /// Packets from memory partitions to SMs.
    reply_packets;
    /// Flits moved by the crossbar, both ways.
    interconnect_flits in "interconnect";
    /// Flits moved from L2 to SMs.
    reply_flits;
    /// L2 accesses.
    l2_accesses in "l2";
    /// L2 accesses that hit, writes that L2 keeps among them: they need nothing from DRAM.
    l2_hits;
    /// Writes among them whose line was not there and was taken without a read.
    l2_write_allocations;
    /// L2 accesses that missed and asked DRAM.
    l2_misses;
    /// L2 accesses that joined an outstanding miss.
    l2_merges;
    /// Dirty sectors that L2 wrote back.
    l2_writeback_sectors;
    /// DRAM bursts read.
    dram_reads in "dram";
    /// DRAM bursts written.
    dram_writes in "dram";
    /// Bytes moved on DRAM buses.
    dram_bytes;
    /// Bursts that found their row open.
    dram_row_hits;
    /// Row activations.
    dram_activations;
    /// DRAM command-clock cycles in which a channel's data bus moved data.
    dram_busy_cycles;
    /// Values that techniques supplied and that were compared with the recorded ones.
    checked_values;
}

impl Counters {
    /// Sets the counters that follow from the length of a launch and of its latency.
    pub fn set_cycles(&mut self, cycles: u64, launch: u64, config: &GpuConfig) {
        self.cycles = cycles;
        self.launch_latency_cycles = launch.min(cycles);
        self.kernel_cycles = cycles - self.launch_latency_cycles;
        let byte_cycles = match u128::from(self.rf_powered_register_cycles) {
            0 => u128::from(config.gpu.sms) * u128::from(config.sm.registers) * 4 * u128::from(cycles),
            powered => powered * 32 * 4,
        };
        let kib_ns = byte_cycles * 1_000_000 / (1024 * u128::from(config.gpu.core_clock_khz));
        self.rf_powered_kib_ns = u64::try_from(kib_ns).unwrap_or(u64::MAX);
    }

    /// Warp instructions per cycle over the whole GPU.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.warp_instructions as f64 / self.cycles as f64 }
    }

    /// The counter of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        let position = COUNTERS.iter().position(|row| row.name == name)?;
        self.values().get(position).copied()
    }
}

/// Gives every unit the counter of its instructions.
macro_rules! of_units {
    ($($unit:ident => $counter:ident),+ $(,)?) => {
        impl Counters {
            /// Warp instructions that a class of units executed.
            #[must_use]
            pub const fn of_unit(&self, unit: Unit) -> u64 {
                match unit { $(Unit::$unit => self.$counter),+ }
            }

            /// Counts the warp instructions that a class of units executes.
            #[inline]
            pub const fn of_unit_mut(&mut self, unit: Unit) -> &mut u64 {
                match unit { $(Unit::$unit => &mut self.$counter),+ }
            }
        }
    };
}

of_units! {
    Int => int_instructions,
    Fp32 => fp32_instructions,
    Fp64 => fp64_instructions,
    Sfu => sfu_instructions,
    LdSt => ldst_instructions,
    Control => control_instructions,
    Tensor => tensor_instructions,
}

impl Counters {
    /// Lanes in which arithmetic units computed; tensor units have no lanes.
    #[must_use]
    pub const fn lanes(&self) -> u64 {
        self.int_lanes + self.fp32_lanes + self.fp64_lanes + self.sfu_lanes
    }

    /// Counts the lanes in which a unit of a class computes.
    #[inline]
    pub const fn count_lanes(&mut self, unit: Unit, lanes: u32) {
        let counter = match unit {
            Unit::Int => &mut self.int_lanes,
            Unit::Fp32 => &mut self.fp32_lanes,
            Unit::Fp64 => &mut self.fp64_lanes,
            Unit::Sfu => &mut self.sfu_lanes,
            Unit::LdSt | Unit::Control | Unit::Tensor => return,
        };
        *counter += lanes as u64;
    }
}
