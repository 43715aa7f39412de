//! Occupancy of a configured SM: CUDA's rules ([`warplab_gpus::occupancy`]) on the configuration's resources.

use crate::config::{GpuConfig, SmLimits};
use warplab_gpus::occupancy::{self as rules, Resources};

pub use rules::{Demand, Limit, Occupancy};

/// Resident blocks of a kernel in an SM with `registers` available registers.
///
/// # Errors
/// Not even one block fits; the error names the resource, the demand and the limit.
pub fn occupancy(sm: &SmLimits, registers: u32, demand: &Demand) -> Result<Occupancy, String> {
    in_units(sm, registers, sm.register_allocation_unit, demand)
}

/// As [`occupancy`], with registers allocated in another unit than the configuration's.
pub(crate) fn in_units(
    sm: &SmLimits,
    registers: u32,
    unit: u32,
    demand: &Demand,
) -> Result<Occupancy, String> {
    rules::occupancy(&resources(sm, registers, unit), demand)
}

/// As [`occupancy`], with registers for so many blocks.
pub(crate) fn with_register_blocks(sm: &SmLimits, blocks: u32, demand: &Demand) -> Result<Occupancy, String> {
    let others = rules::occupancy(&resources(sm, u32::MAX, sm.register_allocation_unit), demand)?;
    match blocks {
        0 => Err(format!("the {} registers of an SM do not suffice for a block", sm.registers)),
        _ if blocks < others.blocks => Ok(Occupancy { blocks, limit: Limit::Registers }),
        _ => Ok(others),
    }
}

/// Registers of an SM that a number of blocks take, allocated in `unit`.
#[must_use]
pub(crate) fn registers_taken(sm: &SmLimits, unit: u32, demand: &Demand, blocks: u32) -> u32 {
    rules::registers_taken(&resources(sm, sm.registers, unit), demand, blocks)
}

/// Size of shared memory that a preference of `percent` of the largest one selects, as in `cuda_occupancy.h`: the next listed
/// size that is not smaller and holds a block. None if the configuration lists no sizes, because L1 has its own memory.
pub(crate) fn carveout(config: &GpuConfig, percent: u8, demand: &Demand) -> Option<u32> {
    let sm = &config.sm;
    let preferred = u64::from(sm.shared_memory_bytes) * u64::from(percent) / 100;
    let wanted = preferred.max(allocated_shared_bytes(sm, demand.shared_bytes).into());
    config.shared_memory.carveouts_bytes.iter().copied().find(|size| u64::from(*size) >= wanted)
}

/// Shared memory that a block takes, with the driver's part, in whole units.
#[must_use]
pub fn allocated_shared_bytes(sm: &SmLimits, bytes: u32) -> u32 {
    match bytes.saturating_add(sm.shared_reserved_per_block_bytes) {
        0 => 0,
        bytes => bytes.checked_next_multiple_of(sm.shared_allocation_unit_bytes).unwrap_or(u32::MAX),
    }
}

fn resources(sm: &SmLimits, registers: u32, register_unit: u32) -> Resources {
    Resources {
        max_threads_per_block: sm.max_threads_per_block,
        max_warps: sm.max_warps,
        max_blocks: sm.max_blocks,
        registers,
        // A technique may provide more registers than the configuration allows a block.
        max_registers_per_block: registers.max(sm.registers),
        // A kernel that was compiled for another GPU runs with the registers it has; the commands name it.
        max_registers_per_thread: u32::MAX,
        hidden_registers_per_thread: sm.hidden_registers_per_thread,
        register_unit,
        register_allocation: sm.register_allocation.rounded_to(sm.warp_allocation_granularity),
        shared_bytes: sm.shared_memory_bytes,
        max_shared_bytes_per_block: sm.shared_memory_per_block_bytes,
        reserved_shared_bytes_per_block: sm.shared_reserved_per_block_bytes,
        shared_unit_bytes: sm.shared_allocation_unit_bytes,
    }
}
