//! The sub-cores of `sm.organisation = "control-bits"`.

use super::LATENCY;
use super::bounds::{Bounds, not_numbers, sections};
use serde::{Deserialize, Serialize};

/// How an SM keeps instructions behind those that they depend on, and how operands reach the units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Organisation {
    /// A scoreboard, and operand collectors between banks and units.
    #[default]
    Collectors,
    /// Control bits of the machine code, and reads at fixed times without collectors (Huerta et al., MICRO 2025).
    ControlBits,
}

/// What keeps an instruction behind those that it depends on in the organisation with control bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dependences {
    /// The control bits, where the kernel has any.
    ControlBits,
    /// A scoreboard.
    Scoreboard,
}

sections! {
    /// The sub-cores of an SM of the organisation `control-bits`; the other organisation does not use them.
    #[serde(default)]
    pub struct SubCore {
        /// What keeps an instruction behind those that it depends on: `control-bits`, or `scoreboard`. Kernels without
        /// control bits, as those compiled from PTX here, always use the scoreboard.
        dependences: Dependences;
        /// Cycles that are reserved for the register reads of an instruction of known latency.
        read_window_cycles: u32, Bounds::Between(1, 16);
        /// Whether source registers with a reuse flag stay in the register file cache.
        register_cache: bool;
        /// Memory instructions between issue and the SM's load/store unit.
        memory_queue_entries: u32, Bounds::Between(1, 64);
        /// Cycles of the address calculation for each memory instruction.
        address_cycles: u32, Bounds::Between(1, 64);
        /// Cycles between two memory instructions that the SM's load/store unit takes from all sub-cores.
        accept_cycles: u32, Bounds::Between(1, 64);
        /// Cycles from the issue of a load of global or local memory, with its address in registers, until they have been read.
        global_read_cycles: u32, Bounds::Between(4, LATENCY);
        /// The same for a load of shared memory.
        shared_read_cycles: u32, Bounds::Between(4, LATENCY);
        /// The same for a load of constants.
        constant_read_cycles: u32, Bounds::Between(4, LATENCY);
        /// Cycles that a load of constants takes longer with its address in a register, which it keeps until its result is written.
        constant_register_cycles: u32, Bounds::Between(0, 64);
        /// Cycles that the data of a store are read later than its address.
        store_read_cycles: u32, Bounds::Between(0, 64);
        /// Cycles from the issue of an access with its address in uniform registers until they have been read.
        uniform_read_cycles: u32, Bounds::Between(4, LATENCY);
        /// Cycles that the data of a store to such an address are read later than it.
        uniform_store_read_cycles: u32, Bounds::Between(0, 64);
        /// Cycles by which a load is faster with such an address, beside those of the reads.
        uniform_saved_cycles: u32, Bounds::Between(0, 1);
        /// Cycles of the read of each further register of the data.
        wide_read_cycles: u32, Bounds::Between(0, 64);
        /// Bits of a load from caches that reach the registers in a cycle.
        load_bits_per_cycle: u32, Bounds::OneOf(&[128, 256, 512, 1024]);
        /// The same for a load of shared memory.
        shared_load_bits_per_cycle: u32, Bounds::OneOf(&[128, 256, 512, 1024]);
        /// Sets of the cache of constants that instructions name as operands.
        constant_sets: u32, Bounds::Between(1, 1024);
        /// Its ways.
        constant_ways: u32, Bounds::Between(1, 64);
        /// Bytes of its lines.
        constant_line_bytes: u32, Bounds::PowerOfTwo(8, 4096);
        /// Cycles that a miss in it delays an instruction.
        constant_miss_cycles: u32, Bounds::Between(1, LATENCY);
        /// Cycles for which a scheduler waits after a miss before it tries other warps.
        constant_hold_cycles: u32, Bounds::Between(0, LATENCY);
        /// Instructions that wait for a unit with queue: special functions, conversions, double precision.
        unit_queue_entries: u32, Bounds::Between(1, 64);
        /// Cycles until the next issue of a warp after an instruction with a stall count of zero that yields.
        yield_cycles: u32, Bounds::Between(1, LATENCY);
    }
}

impl Default for SubCore {
    /// An Ampere GPU (Huerta et al., MICRO 2025, sections 4 and 5, table 2, and the configuration of an RTX A6000 of their
    /// simulator).
    fn default() -> SubCore {
        SubCore {
            dependences: Dependences::ControlBits,
            read_window_cycles: 3,
            register_cache: true,
            memory_queue_entries: 5, // A queue of four and a latch.
            address_cycles: 4,
            accept_cycles: 2,
            global_read_cycles: 11,
            shared_read_cycles: 9,
            constant_read_cycles: 10,
            constant_register_cycles: 3,
            store_read_cycles: 3,
            uniform_read_cycles: 9,
            uniform_store_read_cycles: 1,
            uniform_saved_cycles: 1,
            wide_read_cycles: 2,
            load_bits_per_cycle: 512,
            shared_load_bits_per_cycle: 1024, // A load of 64 bits takes no longer than one of 32.
            constant_sets: 4,
            constant_ways: 2,
            constant_line_bytes: 64,
            constant_miss_cycles: 79,
            constant_hold_cycles: 4,
            unit_queue_entries: 3, // That of double precision without units of its own.
            yield_cycles: 46,
        }
    }
}

not_numbers! { Organisation, Dependences }
