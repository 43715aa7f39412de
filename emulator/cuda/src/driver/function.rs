//! Attributes of functions and kernels, their parameters, and occupancy.

use super::{Out, functions};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, gpu};
use crate::launch::resident_blocks;
use crate::module::Kernel;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

/// Attributes that programs may set.
const MAX_DYNAMIC_SHARED: u32 = 8;
const SHARED_CARVEOUT: u32 = 9;

/// Most threads that a block of the kernel can have.
fn max_threads(kernel: &Kernel) -> u32 {
    let machine = &kernel.lowered.kernel;
    let most = machine.max_threads_per_block.map_or(1024, |d| d.iter().product::<u32>().min(1024));
    let by_registers = 65_536 / (u32::from(machine.regs_per_thread).max(1) * 32) * 32;
    most.min(by_registers.max(32))
}

fn attribute(gpu: &Gpu, kernel: &Kernel, number: u32) -> Outcome<i32> {
    let machine = &kernel.lowered.kernel;
    let value = match number {
        0 => max_threads(kernel),
        1 => machine.static_shared_bytes,
        2 => gpu.modules.get(kernel.module)?.device.source().layout.const_image.len() as u32,
        3 => machine.local_bytes,
        4 => u32::from(machine.regs_per_thread),
        // What the PTX was written for, which code that chose its shape by it has to know; and what runs.
        5 => gpu.modules.get(kernel.module)?.device.source().module.target.sm,
        6 => gpu.device.arch(),
        7 | 10..=17 => 0,
        MAX_DYNAMIC_SHARED => {
            let usual = gpu.device.resources(false).max_shared_bytes_per_block;
            usual.saturating_sub(machine.static_shared_bytes).max(kernel.max_dynamic_shared_bytes)
        }
        SHARED_CARVEOUT => return Ok(kernel.preferences[0]),
        _ => return Err(Status::INVALID_VALUE),
    };
    i32::try_from(value).map_err(|_| Status::INVALID_VALUE)
}

fn get_attribute(to: Out<i32>, number: u32, function: u64) -> Outcome {
    let gpu = gpu()?;
    to.set(attribute(&gpu, gpu.kernels.get(function)?, number)?)
}

fn set_attribute(function: u64, number: u32, value: i32) -> Outcome {
    let mut gpu = gpu()?;
    let most = gpu.device.resources(true).max_shared_bytes_per_block;
    let kernel = gpu.kernels.get_mut(function)?;
    match number {
        MAX_DYNAMIC_SHARED => {
            let wanted = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
            if wanted > most.saturating_sub(kernel.lowered.kernel.static_shared_bytes) {
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
}

fn set_cache_preference(function: u64, preference: u32) -> Outcome {
    if preference > 3 {
        return Err(Status::INVALID_VALUE);
    }
    gpu()?.kernels.get_mut(function)?.preferences[1] = preference as i32;
    Ok(())
}

/// The kernel's name, which stays where it is as long as the process lives.
fn name(to: Out<*const c_char>, function: u64) -> Outcome {
    static NAMES: Mutex<BTreeMap<String, CString>> = Mutex::new(BTreeMap::new());
    let name = gpu()?.kernels.get(function)?.lowered.kernel.name.clone();
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = CString::new(name.clone()).map_err(|_| Status::INVALID_VALUE)?;
    // The bytes of a C string stay in place when the map moves it.
    to.set(names.entry(name).or_insert(text).as_ptr())
}

fn param_info(function: u64, index: usize, offset: Out<usize>, bytes: Out<usize>) -> Outcome {
    let gpu = gpu()?;
    let params = &gpu.kernels.get(function)?.lowered.kernel.params;
    let param = params.get(index).ok_or(Status::INVALID_VALUE)?;
    offset.set(param.offset as usize)?;
    bytes.offer(param.size as usize);
    Ok(())
}

fn param_count(function: u64, count: Out<usize>) -> Outcome {
    count.set(gpu()?.kernels.get(function)?.lowered.kernel.params.len())
}

fn active_blocks(to: Out<i32>, function: u64, threads: i32, dynamic_shared_bytes: usize) -> Outcome {
    let gpu = gpu()?;
    let kernel = gpu.kernels.get(function)?;
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE)?;
    to.set(blocks(&gpu, kernel, threads, dynamic_shared_bytes))
}

fn blocks(gpu: &Gpu, kernel: &Kernel, threads: u32, dynamic_shared_bytes: usize) -> i32 {
    let shared = u32::try_from(dynamic_shared_bytes).unwrap_or(u32::MAX);
    if threads > max_threads(kernel) {
        return 0;
    }
    resident_blocks(gpu, kernel, threads, shared).map_or(0, |o| o.blocks as i32)
}

/// The block size with which most threads are resident, larger before smaller; `callback` gives a size's dynamic
/// shared memory.
fn best_block_size(
    (grid, block): (Out<i32>, Out<i32>),
    function: u64,
    callback: usize,
    dynamic_shared_bytes: usize,
    limit: i32,
) -> Outcome {
    let kernel = gpu()?.kernels.get(function)?.clone();
    let most = match u32::try_from(limit) {
        Ok(0) => max_threads(&kernel),
        Ok(limit) => limit.min(max_threads(&kernel)),
        Err(_) => return Err(Status::INVALID_VALUE),
    };
    // Whole warps, and the limit itself when it is none.
    let sizes = std::iter::once(most).chain((1..most.div_ceil(32)).rev().map(|warps| warps * 32));
    let mut best = (0, 0, 0);
    for threads in sizes {
        let shared = match callback {
            0 => dynamic_shared_bytes,
            // SAFETY: the program gave this address as a function of this type. The lock is free.
            _ => unsafe {
                std::mem::transmute::<usize, extern "C" fn(i32) -> usize>(callback)(threads as i32)
            },
        };
        let gpu = gpu()?;
        let resident = blocks(&gpu, &kernel, threads, shared);
        let occupied = resident * threads as i32;
        if occupied > best.0 {
            best = (occupied, threads as i32, resident * gpu.device.sms as i32);
        }
    }
    grid.set(best.2)?;
    block.set(best.1)
}

/// The most dynamic shared memory, in the units that it is handed out in, with which so many blocks fit an SM.
fn available_shared(to: Out<usize>, function: u64, wanted: i32, threads: i32) -> Outcome {
    let gpu = gpu()?;
    let kernel = gpu.kernels.get(function)?;
    let threads = u32::try_from(threads).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE)?;
    if wanted <= 0 || blocks(&gpu, kernel, threads, 0) < wanted {
        return Err(Status::INVALID_VALUE);
    }
    let resources = gpu.device.resources(kernel.max_dynamic_shared_bytes > 0);
    let fixed = kernel.lowered.kernel.static_shared_bytes;
    let unit = resources.shared_unit_bytes.max(1);
    let per_block = resources.shared_bytes / wanted as u32 / unit * unit;
    let room = per_block.saturating_sub(resources.reserved_shared_bytes_per_block);
    to.set(room.min(resources.max_shared_bytes_per_block).saturating_sub(fixed) as usize)
}

functions! {
    "cuFuncGetAttribute" 2020 Context func_get_attribute(value: Out<i32>, number: u32, function: u64) {
        get_attribute(value, number, function)
    }
    "cuFuncSetAttribute" 9000 Context func_set_attribute(function: u64, number: u32, value: i32) {
        set_attribute(function, number, value)
    }
    "cuFuncSetCacheConfig" 3000 Context func_set_cache_config(function: u64, preference: u32) {
        set_cache_preference(function, preference)
    }
    "cuFuncSetSharedMemConfig" 4020 Context func_set_shared_mem_config(function: u64, config: u32) {
        gpu()?.kernels.get(function)?;
        if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }
    "cuFuncGetName" 12030 Context func_get_name(to: Out<*const c_char>, function: u64) { name(to, function) }
    "cuFuncGetParamInfo" 12040 Context func_get_param_info(
        function: u64, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
        param_info(function, index, offset, bytes)
    }
    "cuFuncGetParamCount" 13020 Context func_get_param_count(function: u64, count: Out<usize>) {
        param_count(function, count)
    }
    "cuFuncIsLoaded" 12040 Context func_is_loaded(loaded: Out<u32>, function: u64) {
        gpu()?.kernels.get(function)?;
        loaded.set(1)
    }
    "cuFuncLoad" 12040 Context func_load(function: u64) { gpu()?.kernels.get(function).map(drop) }

    "cuKernelGetAttribute" 12000 Init kernel_get_attribute(
        value: Out<i32>, number: u32, kernel: u64, ordinal: i32,
    ) {
        super::device(ordinal)?;
        get_attribute(value, number, kernel)
    }
    "cuKernelSetAttribute" 12000 Init kernel_set_attribute(
        number: u32, value: i32, kernel: u64, ordinal: i32,
    ) {
        super::device(ordinal)?;
        set_attribute(kernel, number, value)
    }
    "cuKernelSetCacheConfig" 12000 Init kernel_set_cache_config(kernel: u64, preference: u32, ordinal: i32) {
        super::device(ordinal)?;
        set_cache_preference(kernel, preference)
    }
    "cuKernelGetName" 12030 Init kernel_get_name(to: Out<*const c_char>, kernel: u64) { name(to, kernel) }
    "cuKernelGetParamInfo" 12040 Init kernel_get_param_info(
        kernel: u64, index: usize, offset: Out<usize>, bytes: Out<usize>,
    ) {
        param_info(kernel, index, offset, bytes)
    }
    "cuKernelGetParamCount" 13020 Init kernel_get_param_count(kernel: u64, count: Out<usize>) {
        param_count(kernel, count)
    }

    "cuOccupancyMaxActiveBlocksPerMultiprocessor" 6050 Context occupancy_max_active_blocks(
        count: Out<i32>, function: u64, threads: i32, dynamic_shared_bytes: usize,
    ) {
        active_blocks(count, function, threads, dynamic_shared_bytes)
    }
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 Context occupancy_max_active_blocks_with_flags(
        count: Out<i32>, function: u64, threads: i32, dynamic_shared_bytes: usize, flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        active_blocks(count, function, threads, dynamic_shared_bytes)
    }
    "cuOccupancyMaxPotentialBlockSize" 6050 Context occupancy_max_potential_block_size(
        grid: Out<i32>, block: Out<i32>, function: u64, callback: usize, dynamic_shared_bytes: usize, limit: i32,
    ) {
        best_block_size((grid, block), function, callback, dynamic_shared_bytes, limit)
    }
    "cuOccupancyMaxPotentialBlockSizeWithFlags" 7000 Context occupancy_max_potential_block_size_with_flags(
        grid: Out<i32>, block: Out<i32>, function: u64, callback: usize, dynamic_shared_bytes: usize, limit: i32,
        flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        best_block_size((grid, block), function, callback, dynamic_shared_bytes, limit)
    }
    "cuOccupancyAvailableDynamicSMemPerBlock" 10020 Context occupancy_available_dynamic_shared(
        bytes: Out<usize>, function: u64, wanted: i32, threads: i32,
    ) {
        available_shared(bytes, function, wanted, threads)
    }
}
