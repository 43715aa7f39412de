//! Checks launches against the limits of the hardware, and computes occupancy.

use super::kernel::Kernel;
use crate::device::{Attributes, Device};
use crate::error::{Outcome, Status};
use crate::streams::work::Launch;
use warplab_gpus::occupancy::{Demand, Occupancy, Resources, occupancy};

/// Blocks of a launch in y and z.
const MAX_GRID_YZ: u32 = 65_535;
/// Threads of a block in x and y, and in z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Checks a launch as the driver does before anything runs.
///
/// # Errors
/// `INVALID_CONFIGURATION` for impossible grids and blocks and too much shared memory,
/// `LAUNCH_OUT_OF_RESOURCES` when not even one block fits an SM, `COOPERATIVE_LAUNCH_TOO_LARGE` when the blocks
/// of a cooperative launch cannot all be resident.
pub(crate) fn check(device: &Device, kernel: &Kernel, launch: &Launch) -> Outcome {
    let [gx, gy, gz] = launch.grid;
    if launch.grid.contains(&0) || gx > i32::MAX as u32 || gy > MAX_GRID_YZ || gz > MAX_GRID_YZ {
        return Err(Status::INVALID_CONFIGURATION);
    }
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > 1024 || launch.block.iter().zip(MAX_BLOCK).any(|(&n, most)| n > most) {
        return Err(Status::INVALID_CONFIGURATION);
    }
    let machine = &kernel.lowered.kernel;
    let shared = machine.static_shared_bytes.saturating_add(launch.shared_bytes);
    let resources = resources(device, kernel);
    if shared > resources.max_shared_bytes_per_block {
        return Err(Status::INVALID_VALUE);
    }
    if let Some(most) = machine.max_threads_per_block
        && threads > most.iter().map(|&n| u64::from(n)).product()
    {
        return Err(Status::INVALID_VALUE);
    }
    let resident = resident_blocks(device, kernel, threads as u32, launch.shared_bytes)?;
    let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    if launch.attributes.cooperative && blocks > u64::from(resident.blocks) * u64::from(device.sms) {
        return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}

/// Resources of an SM for a kernel, with the shared memory that the program has opted in to.
fn resources(device: &Device, kernel: &Kernel) -> Resources {
    let usual = device.resources(false);
    if kernel.max_dynamic_shared_bytes == 0 {
        return usual;
    }
    let asked = kernel.lowered.kernel.static_shared_bytes.saturating_add(kernel.max_dynamic_shared_bytes);
    let most = asked.max(usual.max_shared_bytes_per_block);
    let all = device.resources(true);
    Resources { max_shared_bytes_per_block: most.min(all.max_shared_bytes_per_block), ..all }
}

/// Registers that a thread of a kernel takes: those that its code names and those that hardware adds.
pub(crate) fn registers_per_thread(device: &Device, kernel: &Kernel) -> u32 {
    let resources = device.resources(false);
    named_registers(&resources, kernel) + resources.hidden_registers_per_thread
}

fn named_registers(resources: &Resources, kernel: &Kernel) -> u32 {
    // A compiler for this GPU would have spilled the others.
    let most = resources.max_registers_per_thread - resources.hidden_registers_per_thread;
    u32::from(kernel.lowered.kernel.regs_per_thread).min(most)
}

/// Blocks of a kernel that an SM holds.
///
/// # Errors
/// `LAUNCH_OUT_OF_RESOURCES` when it holds none.
pub(crate) fn resident_blocks(
    device: &Device,
    kernel: &Kernel,
    threads: u32,
    dynamic_shared_bytes: u32,
) -> Outcome<Occupancy> {
    let machine = &kernel.lowered.kernel;
    let resources = resources(device, kernel);
    let demand = Demand {
        threads_per_block: threads,
        registers_per_thread: named_registers(&resources, kernel),
        shared_bytes: machine.static_shared_bytes.saturating_add(dynamic_shared_bytes),
    };
    occupancy(&resources, &demand).map_err(|_| Status::LAUNCH_OUT_OF_RESOURCES)
}
