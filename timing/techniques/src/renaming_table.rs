//! The storage of a renaming table: an entry for each register that a thread may have, of each warp slot, in a bank per bank
//! of the register file (CORF, section 2.6).

use super::{Shape, Storage};
use warplab_technique::config::GpuConfig;

/// The table of an SM with entries of so many bits, and lookups per bank and cycle; results update a bank through a port of
/// their own.
pub(super) fn storage(config: &GpuConfig, entry_bits: u32, ports: u32) -> Storage {
    let banks = config.register_file.banks;
    let entries = config.sm.max_warps * config.sm.max_registers_per_thread;
    Storage::new(Shape::new(banks, entries.div_ceil(banks), entry_bits).with_ports(ports, 1))
}
