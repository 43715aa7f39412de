//! Attributes of functions and kernels, their parameters, and occupancy.

use super::{Out, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

/// The kernel's name, at an address that is valid until the process ends.
fn name(to: Out<*const c_char>, function: u64) -> Outcome {
    static NAMES: Mutex<BTreeMap<String, CString>> = Mutex::new(BTreeMap::new());
    let name = gpu()?.modules.kernels.get(function)?.lowered.kernel.name.clone();
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let text = CString::new(name.clone()).map_err(|_| Status::INVALID_VALUE)?;
    // The bytes of a C string stay in place when the map moves it.
    to.set(names.entry(name).or_insert(text).as_ptr())
}

fn param_info(function: u64, index: usize, offset: Out<usize>, bytes: Out<usize>) -> Outcome {
    let gpu = gpu()?;
    let params = &gpu.modules.kernels.get(function)?.lowered.kernel.params;
    let param = params.get(index).ok_or(Status::INVALID_VALUE)?;
    offset.set(param.offset as usize)?;
    bytes.offer(param.size as usize);
    Ok(())
}

fn param_count(function: u64, count: Out<usize>) -> Outcome {
    count.set(gpu()?.modules.kernels.get(function)?.lowered.kernel.params.len())
}

/// The block size with the most resident threads, of equal ones the larger; `callback` gives a size's dynamic
/// shared memory.
fn best_block_size(
    (grid, block): (Out<i32>, Out<i32>),
    function: u64,
    callback: usize,
    dynamic_shared_bytes: usize,
    limit: i32,
) -> Outcome {
    let (kernel, largest) = {
        let gpu = gpu()?;
        let kernel = gpu.modules.kernels.get(function)?.clone();
        let largest = gpu.modules.max_threads(&kernel);
        (kernel, largest)
    };
    let most = match u32::try_from(limit) {
        Ok(0) => largest,
        Ok(limit) => limit.min(largest),
        Err(_) => return Err(Status::INVALID_VALUE),
    };
    // Multiples of the warp size, and the limit itself if it is no multiple.
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
        let resident = gpu.modules.blocks_per_sm(&kernel, threads, shared);
        let occupied = resident * threads as i32;
        if occupied > best.0 {
            best = (occupied, threads as i32, resident * gpu.device.sms as i32);
        }
    }
    grid.set(best.2)?;
    block.set(best.1)
}

functions! {
    "cuFuncGetAttribute" 2020 Context func_get_attribute(value: Out<i32>, number: u32, function: u64) {
        value.set(gpu()?.modules.kernel_attribute(function, number)?)
    }
    "cuFuncSetAttribute" 9000 Context func_set_attribute(function: u64, number: u32, value: i32) {
        gpu()?.modules.set_kernel_attribute(function, number, value)
    }
    "cuFuncSetCacheConfig" 3000 Context func_set_cache_config(function: u64, preference: u32) {
        gpu()?.modules.set_cache_preference(function, preference)
    }
    "cuFuncSetSharedMemConfig" 4020 Context func_set_shared_mem_config(function: u64, config: u32) {
        gpu()?.modules.kernels.get(function)?;
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
        gpu()?.modules.kernels.get(function)?;
        loaded.set(1)
    }
    "cuFuncLoad" 12040 Context func_load(function: u64) { gpu()?.modules.kernels.get(function).map(drop) }

    "cuKernelGetAttribute" 12000 Init kernel_get_attribute(
        value: Out<i32>, number: u32, kernel: u64, ordinal: i32,
    ) {
        super::device(ordinal)?;
        value.set(gpu()?.modules.kernel_attribute(kernel, number)?)
    }
    "cuKernelSetAttribute" 12000 Init kernel_set_attribute(
        number: u32, value: i32, kernel: u64, ordinal: i32,
    ) {
        super::device(ordinal)?;
        gpu()?.modules.set_kernel_attribute(kernel, number, value)
    }
    "cuKernelSetCacheConfig" 12000 Init kernel_set_cache_config(kernel: u64, preference: u32, ordinal: i32) {
        super::device(ordinal)?;
        gpu()?.modules.set_cache_preference(kernel, preference)
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
        count.set(gpu()?.modules.active_blocks(function, threads, dynamic_shared_bytes)?)
    }
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" 7000 Context occupancy_max_active_blocks_with_flags(
        count: Out<i32>, function: u64, threads: i32, dynamic_shared_bytes: usize, flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        count.set(gpu()?.modules.active_blocks(function, threads, dynamic_shared_bytes)?)
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
        bytes.set(gpu()?.modules.available_shared_bytes(function, wanted, threads)?)
    }
}
