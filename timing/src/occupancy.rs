//! How many blocks of a kernel an SM holds: registers, shared memory, warps and blocks, each in its granule.
//!
//! The rules are those of CUDA's occupancy calculator.

use crate::config::{RegisterAllocation, SmLimits};

/// What one block needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// 32-bit registers of a thread.
    pub registers_per_thread: u32,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// What limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Warp slots.
    Warps,
    /// Block slots.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

/// Resident blocks and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks that an SM holds at once.
    pub blocks: u32,
    /// The resource that ends first.
    pub limit: Limit,
}

/// Resident blocks of a kernel in an SM of which `registers` are available.
///
/// # Errors
/// When not even one block fits: the resource, the demand and the limit.
pub fn occupancy(sm: &SmLimits, registers: u32, demand: &Demand) -> Result<Occupancy, String> {
    let warps = demand.threads_per_block.div_ceil(32).max(1);
    if demand.threads_per_block > sm.max_threads_per_block {
        let (has, max) = (demand.threads_per_block, sm.max_threads_per_block);
        return Err(format!("a block has {has} threads, the limit is {max}"));
    }
    if demand.registers_per_thread > sm.max_registers_per_thread {
        let (has, max) = (demand.registers_per_thread, sm.max_registers_per_thread);
        return Err(format!("a thread needs {has} registers, the limit is {max}"));
    }
    if demand.shared_bytes > sm.shared_memory_per_block_bytes {
        let (has, max) = (demand.shared_bytes, sm.shared_memory_per_block_bytes);
        return Err(format!("a block needs {has} bytes of shared memory, the limit is {max}"));
    }
    let shared = (demand.shared_bytes + sm.shared_reserved_per_block_bytes)
        .next_multiple_of(sm.shared_allocation_unit_bytes);
    let by_shared = sm.shared_memory_bytes.checked_div(shared).unwrap_or(u32::MAX);
    let by_registers = blocks_by_registers(sm, registers, warps, demand.registers_per_thread);
    let limits = [
        (sm.max_warps / warps, Limit::Warps),
        (sm.max_blocks, Limit::Blocks),
        (by_registers, Limit::Registers),
        (by_shared, Limit::SharedMemory),
    ];
    let (blocks, limit) = limits.into_iter().min_by_key(|(blocks, _)| *blocks).expect("four limits");
    if blocks == 0 {
        return Err(match limit {
            Limit::Registers => format!(
                "{warps} warps of {} registers per thread exceed the {registers} registers of an SM",
                demand.registers_per_thread
            ),
            Limit::Warps => format!("{warps} warps exceed the {} warp slots of an SM", sm.max_warps),
            Limit::Blocks => "an SM has no block slots".into(),
            Limit::SharedMemory => {
                format!("{shared} bytes of shared memory exceed the {} of an SM", sm.shared_memory_bytes)
            }
        });
    }
    Ok(Occupancy { blocks, limit })
}

fn blocks_by_registers(sm: &SmLimits, registers: u32, warps: u32, per_thread: u32) -> u32 {
    let unit = sm.register_allocation_unit;
    let warps = warps.next_multiple_of(sm.warp_allocation_granularity);
    match sm.register_allocation {
        RegisterAllocation::Warp => {
            let per_warp = (per_thread * 32).next_multiple_of(unit).max(unit);
            // Warps are handed out in granules too: what is left of one is lost.
            let granularity = sm.warp_allocation_granularity;
            registers / per_warp / granularity * granularity / warps
        }
        RegisterAllocation::Block => registers / (warps * per_thread * 32).next_multiple_of(unit).max(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use proptest::prelude::*;

    fn blocks(gpu: &str, threads: u32, registers: u32, shared: u32) -> Result<Occupancy, String> {
        let sm = load(gpu, &[]).expect("built-in configuration").config.sm;
        let demand =
            Demand { threads_per_block: threads, registers_per_thread: registers, shared_bytes: shared };
        occupancy(&sm, sm.registers, &demand)
    }

    /// Figures of CUDA's occupancy calculator.
    #[test]
    fn known_occupancies() {
        let of = |gpu, t, r, s| blocks(gpu, t, r, s).map(|o| (o.blocks, o.limit));
        assert_eq!(of("titanx-pascal", 256, 32, 0), Ok((8, Limit::Warps)));
        assert_eq!(of("titanx-pascal", 256, 40, 0), Ok((6, Limit::Registers)));
        assert_eq!(of("titanx-pascal", 1024, 33, 0), Ok((1, Limit::Registers)));
        assert_eq!(of("titanx-pascal", 64, 16, 20_000), Ok((4, Limit::SharedMemory)));
        assert_eq!(of("titanx-pascal", 32, 16, 0), Ok((32, Limit::Blocks)));
        assert_eq!(of("gtx480", 256, 20, 0), Ok((6, Limit::Warps)));
        assert_eq!(of("gtx480", 256, 24, 0), Ok((5, Limit::Registers)));
        assert_eq!(of("gtx285", 256, 16, 0), Ok((4, Limit::Warps)));
    }

    #[test]
    fn what_fits_nowhere_says_why() {
        assert!(blocks("titanx-pascal", 1024, 80, 0).expect_err("too many registers").contains("registers"));
        assert!(blocks("gtx480", 32, 8, 50_000).expect_err("too much shared").contains("shared memory"));
        assert!(blocks("rtx2060", 2048, 8, 0).expect_err("too many threads").contains("threads"));
    }

    proptest! {
        #[test]
        fn resident_blocks_never_exceed_a_resource(threads in 1u32..1024, regs in 1u32..64, shared in 0u32..49152) {
            if let Ok(found) = blocks("titanx-pascal", threads, regs, shared) {
                let warps = threads.div_ceil(32);
                prop_assert!(found.blocks * warps <= 64);
                prop_assert!(found.blocks * warps * regs * 32 <= 65536);
                prop_assert!(found.blocks * shared <= 98304);
            }
        }
    }
}
