//! What register files with a renaming table count, and why an operand did not share an access.

use warplab_technique::{causes, counts};

counts! {
    /// Counters of register files with a renaming table.
    pub(crate) struct Counts {
        /// Instructions with at least one coalesced register read.
        coalesced_read_instructions;
        /// Register reads that shared another read's bank access.
        coalesced_register_reads;
        /// Registers moved to another physical register because their width changed.
        size_change_reallocations;
        /// Allocations of a register while the other of its compiler-chosen pair had a physical register.
        pair_allocations;
        /// Pair allocations that were packed into the other register's physical register.
        packed_pair_allocations;
        /// Instructions with two or more source registers.
        multi_source_instructions;
        /// Width detections at writeback.
        width_detections in "technique_logic";
        /// Registers released because they were no longer live.
        released_registers;
        /// Sum over cycles of physical registers that held at least one register.
        physical_register_cycles;
        /// Sum over cycles of architectural registers of resident warps, which is the number of physical
        /// registers without CORF.
        architectural_register_cycles;
    }
}

causes! {
    /// Reasons for which an operand does not share a bank access with another operand of its instruction.
    pub(crate) enum Lost {
        /// No other operand of the instruction shares its access, and the compiler did not want one to.
        NoPartner = "no_partner";
        /// The compiler wanted another operand to share its access, and the two do not fit into one physical register.
        DoesNotFit = "pair_does_not_fit";
        /// Coalescing is switched off.
        Off = "mechanism_off";
    }
}
