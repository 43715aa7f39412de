//! What LARF counts, and why a register is loaded from memory.

use warplab_technique::{causes, counts};

counts! {
    /// Counters of LARF.
    pub(super) struct Counts {
        /// Loads that got the physical registers of one entry.
        whole_shares;
        /// Loads whose value was merged from the lanes of one or two entries.
        partial_shares;
        /// Shared loads that waited for another load in flight.
        shares_in_flight;
        /// Results that took no physical register of their own.
        registers_not_taken;
        /// Registers that were copied, in part, because their physical register has other sharers or lanes.
        copies;
        /// Registers released after their last read.
        released_registers;
        /// Vectors entered in the address mapping table.
        entered;
        /// Entries that another vector replaced.
        evicted;
        /// Entries removed because a store, an atomic or a fence may have changed their memory.
        invalidated;
        /// Blocks that began while the SM held as many as its registers suffice for without sharing.
        additional_blocks;
        /// Physical registers reserved for results, where blocks have more registers than the file.
        reservations in "technique_logic";
        /// Strides computed for loads.
        strides_computed in "technique_logic";
        /// Registers shifted and merged.
        merges in "technique_logic";
        /// Sum over cycles of physical registers in use.
        physical_register_cycles;
        /// Sum over cycles of physical registers that are reserved for results on their way.
        reserved_register_cycles;
        /// Sum over cycles of registers that hold a value which is still read; without sharing each has a physical
        /// register.
        live_register_cycles;
        /// Sum over cycles of the registers that resident warps have in the program.
        architectural_register_cycles;
    }
}

causes! {
    /// Reasons for which a register is loaded from memory.
    pub(super) enum Lost {
        /// No entry was made for its vector, nor for vectors that have all its lanes.
        New = "not_loaded_before";
        /// Its vector's entry was replaced by another one.
        Evicted = "entry_evicted";
        /// No register held the value of its vector's entry any more.
        Released = "register_released";
        /// Memory may have been changed since its vector was loaded.
        Changed = "memory_changed";
        /// Another block has changed the value since: the program has a race that the recording decided otherwise.
        OtherBlock = "changed_by_another_block";
        /// Two entries have its lanes, and both are still being loaded.
        Loading = "parts_being_loaded";
        /// A store to its lines issued after it and before its lookup.
        Overtaken = "overtaken_by_a_store";
        /// Its addresses have no stride that an entry can hold.
        Irregular = "no_stride";
        /// The upper halves of its addresses are not those of the entries.
        Region = "other_region";
        /// It is volatile or ordered, or moves no plain value.
        Ordered = "ordered_load";
        /// Some of its lanes load from shared or local memory.
        Elsewhere = "not_global";
        /// Sharing is switched off.
        Off = "mechanism_off";
    }
}
