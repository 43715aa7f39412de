//! Attributes of kernels and their occupancy.

use super::registration::kernel_of;
use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::launch::resident_blocks;
use std::ffi::c_void;

/// CUDA 13's `cudaFuncAttributes`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FuncAttributes {
    shared_size_bytes: usize,
    const_size_bytes: usize,
    local_size_bytes: usize,
    max_threads_per_block: i32,
    num_regs: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode_ca: i32,
    max_dynamic_shared_size_bytes: i32,
    preferred_shmem_carveout: i32,
    cluster_dim_must_be_set: i32,
    required_cluster: [i32; 3],
    cluster_scheduling_policy_preference: i32,
    non_portable_cluster_size_allowed: i32,
    device_node_update_status: i32,
    shared_memory_mode: i32,
    reserved: [i32; 14],
}

const _: () = assert!(size_of::<FuncAttributes>() == 144);

/// Dynamic shared memory that a block may ask for.
fn dynamic_limit(gpu: &crate::gpu::Gpu, kernel: &crate::module::Kernel) -> u32 {
    let fixed = kernel.lowered.kernel.static_shared_bytes;
    let usual = gpu.device.resources(false).max_shared_bytes_per_block.saturating_sub(fixed);
    usual.max(kernel.max_dynamic_shared_bytes)
}

/// `cudaFuncGetAttributes`.
///
/// # Safety
/// `attributes` may be written.
#[unsafe(export_name = "warplab_cudaFuncGetAttributes")]
pub unsafe extern "C" fn get_attributes(attributes: *mut FuncAttributes, function: *const c_void) -> Status {
    let get = || -> Outcome {
        let handle = kernel_of(function)?;
        let gpu = gpu()?;
        let kernel = gpu.kernels.get(handle)?;
        let machine = &kernel.lowered.kernel;
        let most = machine.max_threads_per_block.map_or(1024, |d| d.iter().product::<u32>().min(1024));
        let by_registers = 65_536 / (u32::from(machine.regs_per_thread).max(1) * 32) * 32;
        let module = gpu.modules.get(kernel.module)?.device.source();
        let found = FuncAttributes {
            shared_size_bytes: machine.static_shared_bytes as usize,
            const_size_bytes: module.layout.const_image.len(),
            local_size_bytes: machine.local_bytes as usize,
            max_threads_per_block: most.min(by_registers.max(32)) as i32,
            num_regs: i32::from(machine.regs_per_thread),
            ptx_version: module.module.target.sm as i32,
            binary_version: gpu.device.arch() as i32,
            max_dynamic_shared_size_bytes: dynamic_limit(&gpu, kernel) as i32,
            preferred_shmem_carveout: kernel.preferences[0],
            ..FuncAttributes::default()
        };
        // SAFETY: as the caller promises.
        unsafe { store(attributes, found) }
    };
    done(get())
}

const MAX_DYNAMIC_SHARED: u32 = 8;
const SHARED_CARVEOUT: u32 = 9;

/// `cudaFuncSetAttribute`.
#[unsafe(export_name = "warplab_cudaFuncSetAttribute")]
pub extern "C" fn set_attribute(function: *const c_void, attribute: u32, value: i32) -> Status {
    let set = || -> Outcome {
        let handle = kernel_of(function)?;
        let mut gpu = gpu()?;
        let most = gpu.device.resources(true).max_shared_bytes_per_block;
        let kernel = gpu.kernels.get_mut(handle)?;
        match attribute {
            MAX_DYNAMIC_SHARED => {
                let fixed = kernel.lowered.kernel.static_shared_bytes;
                let wanted = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
                if wanted > most.saturating_sub(fixed) {
                    return Err(Status::INVALID_VALUE);
                }
                kernel.max_dynamic_shared_bytes = wanted;
            }
            SHARED_CARVEOUT if (-1..=100).contains(&value) => kernel.preferences[0] = value,
            // Preferences about clusters change nothing where a cluster is one block.
            14..=16 => {}
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    };
    done(set())
}

/// `cudaFuncSetCacheConfig`.
#[unsafe(export_name = "warplab_cudaFuncSetCacheConfig")]
pub extern "C" fn set_cache_config(function: *const c_void, preference: u32) -> Status {
    let set = || -> Outcome {
        let handle = kernel_of(function)?;
        gpu()?.kernels.get_mut(handle)?.preferences[1] = preference as i32;
        Ok(())
    };
    done(set())
}

/// `cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
///
/// # Safety
/// `blocks` may be written.
#[unsafe(export_name = "warplab_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")]
pub unsafe extern "C" fn max_active_blocks_with_flags(
    blocks: *mut i32,
    function: *const c_void,
    threads: i32,
    dynamic_shared_bytes: usize,
    _flags: u32,
) -> Status {
    let get = || -> Outcome {
        let handle = kernel_of(function)?;
        let gpu = gpu()?;
        let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE)?;
        let shared = u32::try_from(dynamic_shared_bytes).unwrap_or(u32::MAX);
        let resident = resident_blocks(&gpu, gpu.kernels.get(handle)?, threads, shared);
        // SAFETY: as the caller promises.
        unsafe { store(blocks, resident.map_or(0, |o| o.blocks as i32)) }
    };
    done(get())
}

/// `cudaOccupancyMaxActiveBlocksPerMultiprocessor`.
///
/// # Safety
/// `blocks` may be written.
#[unsafe(export_name = "warplab_cudaOccupancyMaxActiveBlocksPerMultiprocessor")]
pub unsafe extern "C" fn max_active_blocks(
    blocks: *mut i32,
    function: *const c_void,
    threads: i32,
    dynamic_shared_bytes: usize,
) -> Status {
    // SAFETY: as the caller promises.
    unsafe { max_active_blocks_with_flags(blocks, function, threads, dynamic_shared_bytes, 0) }
}

/// `cudaGetKernel`.
///
/// # Safety
/// `kernel` may be written.
#[unsafe(export_name = "warplab_cudaGetKernel")]
pub unsafe extern "C" fn get_kernel(kernel: *mut u64, function: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(kernel_of(function).and_then(|found| unsafe { store(kernel, found) }))
}

/// `cudaGetFuncBySymbol`.
///
/// # Safety
/// `kernel` may be written.
#[unsafe(export_name = "warplab_cudaGetFuncBySymbol")]
pub unsafe extern "C" fn get_func_by_symbol(kernel: *mut u64, function: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    unsafe { get_kernel(kernel, function) }
}
