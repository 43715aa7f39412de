//! Occupancy: the number of blocks of a kernel that an SM holds, limited by registers, shared memory, warps
//! and blocks.
//!
//! The rules are those of CUDA's occupancy calculator: of `cuda_occupancy.h` for compute capability 3.0 and
//! later, of the older spreadsheet before. Timing and the CUDA API both use it, each with the resources of
//! its own GPU.

use serde::{Deserialize, Serialize};

/// Granularity of register allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterAllocation {
    /// To the block as a whole; its warps are rounded up to a number (compute capability 1.x).
    Block {
        /// Warps are rounded up to a multiple of this.
        warps: u32,
    },
    /// To each warp; the warps of a block are rounded up to a number (2.x).
    Warp {
        /// Warps are rounded up to a multiple of this.
        warps: u32,
    },
    /// To each warp, from the part of the register file that its scheduler owns (3.0 and later).
    SubPartition {
        /// Parts of the register file.
        parts: u32,
    },
}

/// Unit to which the register allocation granule applies, as data files and configurations name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterGranule {
    /// Each warp's registers are rounded up and come from its scheduler's part of the register file
    /// (compute capability 3.0 and later).
    SubPartition,
    /// Each warp's registers are rounded up (2.x).
    Warp,
    /// The block's registers are rounded up (compute capability 1.x).
    Block,
}

impl RegisterGranule {
    /// The rule, with the number of warps or parts to which their number is rounded up.
    #[must_use]
    pub fn rounded_to(self, granularity: u32) -> RegisterAllocation {
        match self {
            RegisterGranule::SubPartition => RegisterAllocation::SubPartition { parts: granularity },
            RegisterGranule::Warp => RegisterAllocation::Warp { warps: granularity },
            RegisterGranule::Block => RegisterAllocation::Block { warps: granularity },
        }
    }
}

/// Resources of an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Threads of one block.
    pub max_threads_per_block: u32,
    /// Resident warps.
    pub max_warps: u32,
    /// Resident blocks.
    pub max_blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// 32-bit registers that one block may take.
    pub max_registers_per_block: u32,
    /// Registers that one thread can address.
    pub max_registers_per_thread: u32,
    /// Registers that each thread has beside those that its instructions name.
    pub hidden_registers_per_thread: u32,
    /// Granule in which registers are allocated.
    pub register_unit: u32,
    /// Granularity to which the unit applies.
    pub register_allocation: RegisterAllocation,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Shared memory that one block may ask for, in bytes.
    pub max_shared_bytes_per_block: u32,
    /// Shared memory that the driver takes from each block, in bytes.
    pub reserved_shared_bytes_per_block: u32,
    /// Granule of shared memory, in bytes.
    pub shared_unit_bytes: u32,
}

/// Resources of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// 32-bit registers of a thread that its instructions name.
    pub registers_per_thread: u32,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

/// The resource that limits the number of resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Limit {
    /// Name as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Warps => "warps",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::SharedMemory => "shared_memory",
        }
    }
}

/// Resident blocks and the limiting resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks that an SM holds at once.
    pub blocks: u32,
    /// The limiting resource.
    pub limit: Limit,
}

/// Resident blocks of a kernel.
///
/// # Errors
/// Not even one block fits; the error names the resource, the demand and the limit.
pub fn occupancy(sm: &Resources, demand: &Demand) -> Result<Occupancy, String> {
    let warps = demand.threads_per_block.div_ceil(32).max(1);
    if demand.threads_per_block > sm.max_threads_per_block {
        let (has, max) = (demand.threads_per_block, sm.max_threads_per_block);
        return Err(format!("a block has {has} threads, the limit is {max}"));
    }
    let registers_per_thread = demand.registers_per_thread + sm.hidden_registers_per_thread;
    if registers_per_thread > sm.max_registers_per_thread {
        let (has, max) = (registers_per_thread, sm.max_registers_per_thread);
        return Err(format!("a thread needs {has} registers, the limit is {max}"));
    }
    if demand.shared_bytes > sm.max_shared_bytes_per_block {
        let (has, max) = (demand.shared_bytes, sm.max_shared_bytes_per_block);
        return Err(format!("a block needs {has} bytes of shared memory, the limit is {max}"));
    }
    let shared =
        (demand.shared_bytes + sm.reserved_shared_bytes_per_block).next_multiple_of(sm.shared_unit_bytes);
    let limits = [
        (sm.max_warps / warps, Limit::Warps),
        (sm.max_blocks, Limit::Blocks),
        (blocks_by_registers(sm, warps, registers_per_thread), Limit::Registers),
        (sm.shared_bytes.checked_div(shared).unwrap_or(u32::MAX), Limit::SharedMemory),
    ];
    let (blocks, limit) = limits.into_iter().min_by_key(|(blocks, _)| *blocks).expect("four limits");
    if blocks == 0 {
        return Err(match limit {
            Limit::Registers => format!(
                "{warps} warps of {registers_per_thread} registers per thread exceed the {} registers of an SM",
                sm.registers
            ),
            Limit::Warps => format!("{warps} warps exceed the {} warp slots of an SM", sm.max_warps),
            Limit::Blocks => "an SM has no block slots".into(),
            Limit::SharedMemory => {
                format!("{shared} bytes of shared memory exceed the {} of an SM", sm.shared_bytes)
            }
        });
    }
    Ok(Occupancy { blocks, limit })
}

/// Registers that a number of blocks take, by the rule that [`occupancy`] counts them with.
#[must_use]
pub fn registers_taken(sm: &Resources, demand: &Demand, blocks: u32) -> u32 {
    let warps = demand.threads_per_block.div_ceil(32).max(1);
    let per_thread = demand.registers_per_thread + sm.hidden_registers_per_thread;
    let per_warp = warp_registers(sm, per_thread);
    match sm.register_allocation {
        RegisterAllocation::Block { warps: granule } => {
            blocks * block_registers(sm, warps, granule, per_thread)
        }
        RegisterAllocation::Warp { warps: granule } => blocks * warps.next_multiple_of(granule) * per_warp,
        RegisterAllocation::SubPartition { parts } => (blocks * warps).next_multiple_of(parts) * per_warp,
    }
}

/// Registers of a warp, in whole units.
fn warp_registers(sm: &Resources, per_thread: u32) -> u32 {
    (per_thread * 32).next_multiple_of(sm.register_unit).max(sm.register_unit)
}

/// Registers of a block that is allocated as a whole.
fn block_registers(sm: &Resources, warps: u32, granule: u32, per_thread: u32) -> u32 {
    let unit = sm.register_unit;
    (warps.next_multiple_of(granule) * per_thread * 32).next_multiple_of(unit).max(unit)
}

fn blocks_by_registers(sm: &Resources, warps: u32, per_thread: u32) -> u32 {
    let per_warp = warp_registers(sm, per_thread);
    match sm.register_allocation {
        RegisterAllocation::Block { warps: granule } => {
            sm.registers / block_registers(sm, warps, granule, per_thread)
        }
        RegisterAllocation::Warp { warps: granule } => {
            // Warps are allocated in granules too: the rest of a granule is unused.
            sm.registers / per_warp / granule * granule / warps.next_multiple_of(granule)
        }
        RegisterAllocation::SubPartition { parts } => {
            // The launch is checked as if all parts held the same number of warps.
            if per_warp * warps.next_multiple_of(parts) > sm.max_registers_per_block {
                return 0;
            }
            sm.registers / parts / per_warp * parts / warps
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compute capability 6.1.
    const PASCAL: Resources = Resources {
        max_threads_per_block: 1024,
        max_warps: 64,
        max_blocks: 32,
        registers: 65536,
        max_registers_per_block: 65536,
        max_registers_per_thread: 255,
        hidden_registers_per_thread: 0,
        register_unit: 256,
        register_allocation: RegisterAllocation::SubPartition { parts: 4 },
        shared_bytes: 96 << 10,
        max_shared_bytes_per_block: 48 << 10,
        reserved_shared_bytes_per_block: 0,
        shared_unit_bytes: 256,
    };

    fn blocks(threads: u32, registers: u32, shared: u32) -> Result<(u32, Limit), String> {
        let demand =
            Demand { threads_per_block: threads, registers_per_thread: registers, shared_bytes: shared };
        occupancy(&PASCAL, &demand).map(|o| (o.blocks, o.limit))
    }

    /// Results of `cuda_occupancy.h`.
    #[test]
    fn known_occupancies() {
        assert_eq!(blocks(256, 32, 0), Ok((8, Limit::Warps)));
        assert_eq!(blocks(256, 40, 0), Ok((6, Limit::Registers)));
        assert_eq!(blocks(1024, 33, 0), Ok((1, Limit::Registers)));
        assert_eq!(blocks(64, 16, 20_000), Ok((4, Limit::SharedMemory)));
        assert_eq!(blocks(32, 16, 0), Ok((32, Limit::Blocks)));
        // Three warps of a block need not be in three parts: 32 warps hold ten blocks, not eight.
        assert_eq!(blocks(96, 64, 0), Ok((10, Limit::Registers)));
    }

    /// Since Volta hardware allocates two registers beside those that are named: `cuda_occupancy.h` takes ptxas's count,
    /// which has them.
    #[test]
    fn hidden_registers_are_allocated_too() {
        let volta = Resources { hidden_registers_per_thread: 2, ..PASCAL };
        let blocks = |registers| {
            let demand = Demand { threads_per_block: 256, registers_per_thread: registers, shared_bytes: 0 };
            occupancy(&volta, &demand).map(|o| o.blocks)
        };
        assert_eq!((blocks(30), blocks(31), blocks(62), blocks(63)), (Ok(8), Ok(6), Ok(4), Ok(3)));
        let why = blocks(254).expect_err("256 registers");
        assert_eq!(why, "a thread needs 256 registers, the limit is 255");
    }

    #[test]
    fn what_fits_nowhere_says_why() {
        assert!(blocks(1024, 80, 0).expect_err("too many registers").contains("registers"));
        assert!(blocks(32, 8, 50_000).expect_err("too much shared").contains("shared memory"));
        assert!(blocks(2048, 8, 0).expect_err("too many threads").contains("threads"));
    }

    proptest! {
        /// The blocks that fit by registers take no more than there are, and another one would.
        #[test]
        fn registers_that_blocks_take_decide_how_many_fit(
            threads in 1u32..=1024,
            registers in 16u32..=200,
            rule in 0usize..3,
        ) {
            let register_allocation = [
                RegisterAllocation::Block { warps: 2 },
                RegisterAllocation::Warp { warps: 2 },
                RegisterAllocation::SubPartition { parts: 4 },
            ][rule];
            let sm = Resources { register_allocation, max_registers_per_block: u32::MAX, ..PASCAL };
            let demand = Demand { threads_per_block: threads, registers_per_thread: registers, shared_bytes: 0 };
            let blocks = blocks_by_registers(&sm, threads.div_ceil(32), registers);
            prop_assert!(registers_taken(&sm, &demand, blocks) <= sm.registers);
            prop_assert!(registers_taken(&sm, &demand, blocks + 1) > sm.registers);
        }


        #[test]
        fn resident_blocks_never_exceed_a_resource(threads in 1u32..1024, regs in 1u32..256, shared in 0u32..49152) {
            if let Ok((found, _)) = blocks(threads, regs, shared) {
                let warps = threads.div_ceil(32);
                prop_assert!(found * warps <= 64);
                prop_assert!(found * warps * regs * 32 <= 65536);
                prop_assert!(found * shared <= 98304);
            }
        }
    }
}
