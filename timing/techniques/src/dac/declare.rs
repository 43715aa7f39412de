//! Parameters, counters and causes of DAC.

use warplab_technique::{causes, counts, params};

params! {
    /// `[technique.dac]`.
    pub(super) struct Params {
        /// Entries of the affine tuple queue (table 1).
        tuple_entries: u32 = 24, 1..=65_536;
        /// Entries of the address queues of all warps, divided among those that an SM holds at once (table 1).
        address_entries: u32 = 192, 1..=65_536;
        /// Entries of the predicate queues of all warps, divided likewise (table 1).
        predicate_entries: u32 = 192, 1..=65_536;
        /// Entries of the affine SIMT stack: instructions behind more branches are not decoupled (section 4.8).
        stack_depth: u32 = 8, 1..=64;
        /// Conditions that one tuple of several may have (section 4.6).
        conditions: u32 = 2, 0..=4;
        /// Whether instructions behind branches on other data are decoupled; the affine warp then waits for the warps at
        /// these branches (section 4.5).
        data_dependent: bool = true;
        /// Whether loads from global memory with affine addresses are made early, and their lines locked.
        early_loads: bool = true;
        /// Cycles for which the affine warp waits for further blocks before it begins a batch [model].
        batch_wait_cycles: u32 = 16, 0..=100_000;
        /// Whether the kernel is split; if false, the hardware exists and nothing uses it.
        mechanism: bool = true;
        /// Whether queues have no limits and expansion takes no time.
        ideal: bool = false;
    }
}

counts! {
    /// Counters of DAC.
    pub(super) struct Counts {
        /// Instructions that the affine warp executed.
        affine_instructions;
        /// Enqueue instructions among them.
        enqueues;
        /// Runs of the affine stream.
        batches;
        /// Warps that these runs served.
        batch_warps;
        /// Warp instructions that other warps did not execute.
        removed_instructions;
        /// Global and local loads in effect in some lane.
        loads;
        /// Those of them whose address came from the queue.
        affine_loads;
        /// Those of them whose data were loaded early.
        early_data_loads;
        /// Stores and atomics whose address came from the queue, and loads from shared memory.
        other_affine_accesses;
        /// Predicate computations that other warps dequeued.
        dequeued_predicates;
        /// Operations of the address expansion unit.
        address_operations in "technique_logic";
        /// Operations of the predicate expansion unit.
        predicate_operations in "technique_logic";
        /// Predicates of warps, of two operands that are the same in a block.
        scalar_predicates;
        /// Predicates of warps for which the first and the last lane sufficed.
        end_predicates;
        /// Predicates of warps for which the SIMT lanes compared all lanes.
        lane_predicates;
        /// Lines that were loaded early.
        early_lines;
        /// Lines that were locked.
        locked_lines;
        /// Lines that arrived early and could not be locked.
        refused_locks;
        /// Operations whose results no tuple holds, computed lane by lane.
        expanded_operations;
        /// Results of mod-type.
        moduli;
        /// Static instructions of the affine stream.
        stream_instructions;
        /// Static instructions that are removed from the others' stream.
        removed_static;
    }
}

causes! {
    /// Why a warp computed a result or an address by itself.
    pub(super) enum Lost {
        /// It depends on loaded or other data.
        Data = "other_data";
        /// Its operation does not keep tuples.
        Operation = "operation";
        /// More than two conditions.
        Conditions = "conditions";
        /// Threads take part in a different number of turns of a loop.
        Carried = "loop_carried";
        /// It is affine, but no decoupled instruction needs it.
        Unneeded = "unneeded";
        /// An instruction of the other stream needs it as well.
        NeededByAll = "needed_by_all";
        /// Whether it takes effect depends on other data.
        Guard = "guard";
        /// It lies behind more branches than the affine SIMT stack has entries.
        Stack = "stack_depth";
        /// It lies behind a branch on other data (`data_dependent`).
        DataDependent = "data_dependent";
        /// It belongs to a function, or to a kernel with barriers that not all threads of a block wait for.
        Kernel = "kernel";
        /// Another technique supplies it.
        Elsewhere = "elsewhere";
        /// The mechanism is switched off.
        Off = "mechanism_off";
    }
}

causes! {
    /// Why a warp waits.
    pub(super) enum Stall {
        /// Its address queue is empty.
        Address = "address_queue_empty";
        /// What was loaded early has not arrived.
        Data = "early_data";
        /// Its predicate queue is empty.
        Predicate = "predicate_queue_empty";
    }
}
