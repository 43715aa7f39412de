//! Blocks in the registers that sharing spares (LARF, section 5.6.3): more blocks than the register file suffices for, and
//! the physical registers that results reserve so that none of them finds the file full.
//!
//! The chapter does not say what happens when a result needs a physical register and none is free. Here [model] a result's
//! register is reserved when its instruction issues, and an instruction waits that finds none, or for which the free ones
//! are kept ([`throttle`](crate::throttle)). A result reserves none if its register has a physical register to
//! itself that no entry names: nothing can share that one before it is overwritten. Registers with results on their way are
//! not released.
//!
//! A block's demand is a physical register for each register of its warps, and what one instruction can reserve beyond:
//! a register with other sharers keeps its physical register until its result has arrived in the reserved one. Only
//! a barrier's result can wait for other warps meanwhile, so that each warp may have one of these besides. Sharing never
//! makes the state unsafe: where a load shares another block's register, it gives its own back.

use super::reservations::Reservations;
use crate::{Launch, Plan};
use warplab_technique::program::{Path, Program};

/// The most physical registers that a block can need: one for each register of its warps, and those that the results of one
/// instruction, and of a barrier in each warp, reserve beside the ones that their registers still have.
fn demand(program: &Program, warps: u32) -> u32 {
    let most = |barriers: bool| {
        let insts = program.insts.iter().filter(|inst| !barriers || inst.path == Path::Barrier);
        insts.map(|inst| u32::from(inst.dst_count)).max().unwrap_or(0)
    };
    warps * (program.registers_per_thread + most(true)) + most(false)
}

/// Blocks that an SM holds, and the reservations that they need.
pub(super) struct Admission {
    /// Blocks that the registers of the SM suffice for without sharing.
    pub(super) own: u32,
    /// Blocks beside which results reserve physical registers; none if every register finds one.
    pub(super) reservations: Option<Box<Reservations>>,
}

/// Says in the plan for how many blocks `percent` of the registers suffice, if these are more than without sharing. Where
/// registers never run out, nothing is reserved.
pub(super) fn admit(
    launch: &Launch<'_>,
    plan: &mut Plan,
    percent: u32,
    never_run_out: bool,
) -> Result<Admission, String> {
    let (program, config) = (launch.program, launch.config);
    let own = launch.occupancy(plan).map_or(0, |own| own.blocks);
    let none = Admission { own, reservations: None };
    if percent == 100 {
        return Ok(none);
    }
    let space = u64::from(config.sm.registers) * u64::from(percent) / 100;
    let space = u32::try_from(space).unwrap_or(u32::MAX);
    let blocks = launch.occupancy_with_registers(plan, space)?.blocks;
    let warps = launch.threads_per_block().div_ceil(32);
    let (physical, demand) = (config.sm.registers / 32, demand(program, warps));
    if blocks <= own || (demand > physical && !never_run_out) {
        return Ok(none);
    }
    plan.register_blocks = Some(blocks);
    let resident = u64::from(blocks).min(launch.blocks);
    let suffice = resident * u64::from(warps * program.registers_per_thread) <= physical.into();
    if suffice || never_run_out {
        return Ok(none);
    }
    let reservations = Box::new(Reservations::new(physical, demand, &config.sm));
    Ok(Admission { own, reservations: Some(reservations) })
}
