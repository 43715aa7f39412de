//! Attributes of kernels and their occupancy.

use super::registration::{attributes_of, kernel_of};
use super::{done, store};
use crate::driver::{Out, function};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::modules::attributes::attribute;
use std::ffi::{c_char, c_void};

/// CUDA 13's `cudaFuncAttributes`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FuncAttributes {
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

/// `cudaFuncGetAttributes`.
///
/// # Safety
/// `attributes` may be written.
#[unsafe(export_name = "warplab_cudaFuncGetAttributes")]
pub(crate) unsafe extern "C" fn get_attributes(
    attributes: *mut FuncAttributes,
    function: *const c_void,
) -> Status {
    let get = || -> Outcome {
        let handle = attributes_of(function)?;
        let gpu = gpu()?;
        let get = |number| gpu.modules.kernel_attribute(handle, number);
        let bytes = |number| get(number).map(|value| value as usize);
        let found = FuncAttributes {
            shared_size_bytes: bytes(attribute::SHARED_BYTES)?,
            const_size_bytes: bytes(attribute::CONST_BYTES)?,
            local_size_bytes: bytes(attribute::LOCAL_BYTES)?,
            max_threads_per_block: get(attribute::MAX_THREADS)?,
            num_regs: get(attribute::REGISTERS)?,
            ptx_version: get(attribute::PTX_VERSION)?,
            binary_version: gpu.device.arch() as i32,
            max_dynamic_shared_size_bytes: get(attribute::MAX_DYNAMIC_SHARED)?,
            preferred_shmem_carveout: get(attribute::SHARED_CARVEOUT)?,
            ..FuncAttributes::default()
        };
        // SAFETY: as the caller promises.
        unsafe { store(attributes, found) }
    };
    done(get())
}

/// `cudaFuncSetAttribute`.
#[unsafe(export_name = "warplab_cudaFuncSetAttribute")]
pub(crate) extern "C" fn set_attribute(function: *const c_void, number: u32, value: i32) -> Status {
    done(
        attributes_of(function).and_then(|kernel| gpu()?.modules.set_kernel_attribute(kernel, number, value)),
    )
}

/// `cudaFuncSetCacheConfig`.
#[unsafe(export_name = "warplab_cudaFuncSetCacheConfig")]
pub(crate) extern "C" fn set_cache_config(function: *const c_void, preference: u32) -> Status {
    done(attributes_of(function).and_then(|kernel| gpu()?.modules.set_cache_preference(kernel, preference)))
}

/// `cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
///
/// # Safety
/// `blocks` may be written.
#[unsafe(export_name = "warplab_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")]
pub(crate) unsafe extern "C" fn max_active_blocks_with_flags(
    blocks: *mut i32,
    function: *const c_void,
    threads: i32,
    dynamic_shared_bytes: usize,
    _flags: u32,
) -> Status {
    let found = kernel_of(function)
        .and_then(|kernel| gpu()?.modules.active_blocks(kernel, threads, dynamic_shared_bytes));
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(blocks, found) }))
}

/// `cudaOccupancyMaxActiveBlocksPerMultiprocessor`.
///
/// # Safety
/// `blocks` may be written.
#[unsafe(export_name = "warplab_cudaOccupancyMaxActiveBlocksPerMultiprocessor")]
pub(crate) unsafe extern "C" fn max_active_blocks(
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
pub(crate) unsafe extern "C" fn get_kernel(kernel: *mut u64, function: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(kernel_of(function).and_then(|found| unsafe { store(kernel, found) }))
}

/// `cudaGetFuncBySymbol`.
///
/// # Safety
/// `kernel` may be written.
#[unsafe(export_name = "warplab_cudaGetFuncBySymbol")]
pub(crate) unsafe extern "C" fn get_func_by_symbol(kernel: *mut u64, function: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    unsafe { get_kernel(kernel, function) }
}

/// `cudaOccupancyAvailableDynamicSMemPerBlock`.
///
/// # Safety
/// `bytes` may be written.
#[unsafe(export_name = "warplab_cudaOccupancyAvailableDynamicSMemPerBlock")]
pub(crate) unsafe extern "C" fn available_shared(
    bytes: *mut usize,
    function: *const c_void,
    blocks: i32,
    threads: i32,
) -> Status {
    let found =
        kernel_of(function).and_then(|kernel| gpu()?.modules.available_shared_bytes(kernel, blocks, threads));
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(bytes, found) }))
}

/// `cudaKernelSetAttributeForDevice`.
#[unsafe(export_name = "warplab_cudaKernelSetAttributeForDevice")]
pub(crate) extern "C" fn set_attribute_for_device(
    kernel: u64,
    number: u32,
    value: i32,
    device: i32,
) -> Status {
    let known = if device == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) };
    done(known.and_then(|()| gpu()?.modules.set_kernel_attribute(kernel, number, value)))
}

/// `cudaFuncSetSharedMemConfig`: shared memory has only one bank size.
#[unsafe(export_name = "warplab_cudaFuncSetSharedMemConfig")]
pub(crate) extern "C" fn set_shared_mem_config(function: *const c_void, config: u32) -> Status {
    let known = kernel_of(function).map(drop);
    done(known.and(if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }))
}

/// A driver function for the kernel of a host function.
fn of_kernel(function: *const c_void, call: impl FnOnce(u64) -> Status) -> Status {
    done(kernel_of(function).and_then(|kernel| match call(kernel) {
        Status::SUCCESS => Ok(()),
        status => Err(status),
    }))
}

/// `cudaFuncGetName`.
#[unsafe(export_name = "warplab_cudaFuncGetName")]
pub(crate) extern "C" fn get_name(name: Out<*const c_char>, function: *const c_void) -> Status {
    of_kernel(function, |kernel| function::kernel_get_name(name, kernel))
}

/// `cudaFuncGetParamInfo`.
#[unsafe(export_name = "warplab_cudaFuncGetParamInfo")]
pub(crate) extern "C" fn get_param_info(
    function: *const c_void,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Status {
    of_kernel(function, |kernel| function::kernel_get_param_info(kernel, index, offset, bytes))
}

/// `cudaFuncGetParamCount`.
#[unsafe(export_name = "warplab_cudaFuncGetParamCount")]
pub(crate) extern "C" fn get_param_count(function: *const c_void, count: Out<usize>) -> Status {
    of_kernel(function, |kernel| function::kernel_get_param_count(kernel, count))
}
