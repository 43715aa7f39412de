//! Errors, devices, synchronisation.

use super::{LAST_ERROR, done, store};
use crate::error::Status;
use crate::gpu::{any_gpu, gpu};
use std::ffi::c_char;

/// `cudaGetLastError`.
#[unsafe(export_name = "warplab_cudaGetLastError")]
pub extern "C" fn get_last_error() -> Status {
    let fault = any_gpu().ok().and_then(|gpu| gpu.fault);
    let last = LAST_ERROR.replace(Status::SUCCESS);
    fault.unwrap_or(last)
}

/// `cudaPeekAtLastError`.
#[unsafe(export_name = "warplab_cudaPeekAtLastError")]
pub extern "C" fn peek_at_last_error() -> Status {
    let fault = any_gpu().ok().and_then(|gpu| gpu.fault);
    fault.unwrap_or_else(|| LAST_ERROR.get())
}

/// `cudaGetErrorName`.
#[unsafe(export_name = "warplab_cudaGetErrorName")]
pub extern "C" fn get_error_name(error: Status) -> *const c_char {
    error.runtime_name().unwrap_or(c"unrecognized error code").as_ptr()
}

/// `cudaGetErrorString`.
#[unsafe(export_name = "warplab_cudaGetErrorString")]
pub extern "C" fn get_error_string(error: Status) -> *const c_char {
    error.text().unwrap_or(c"unrecognized error code").as_ptr()
}

/// `cudaDeviceSynchronize`.
#[unsafe(export_name = "warplab_cudaDeviceSynchronize")]
pub extern "C" fn device_synchronize() -> Status {
    done(gpu().map(drop))
}

/// `cudaGetDeviceCount`.
///
/// # Safety
/// `count` may be written.
#[unsafe(export_name = "warplab_cudaGetDeviceCount")]
pub unsafe extern "C" fn get_device_count(count: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { store(count, 1) })
}
