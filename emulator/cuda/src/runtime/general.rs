//! Errors, devices, synchronisation.

use super::{LAST_ERROR, done, store};
use crate::device::Attributes;
use crate::error::Status;
use crate::gpu::{any_gpu, gpu};
use crate::running::waiting::synchronize;
use std::ffi::c_char;

/// `cudaGetLastError`.
#[unsafe(export_name = "warplab_cudaGetLastError")]
pub(crate) extern "C" fn get_last_error() -> Status {
    let fault = any_gpu().ok().and_then(|gpu| gpu.fault);
    let last = LAST_ERROR.replace(Status::SUCCESS);
    fault.unwrap_or(last)
}

/// `cudaPeekAtLastError`.
#[unsafe(export_name = "warplab_cudaPeekAtLastError")]
pub(crate) extern "C" fn peek_at_last_error() -> Status {
    let fault = any_gpu().ok().and_then(|gpu| gpu.fault);
    fault.unwrap_or_else(|| LAST_ERROR.get())
}

/// `cudaGetErrorName`.
#[unsafe(export_name = "warplab_cudaGetErrorName")]
pub(crate) extern "C" fn get_error_name(error: Status) -> *const c_char {
    error.runtime_name().unwrap_or(c"unrecognized error code").as_ptr()
}

/// `cudaGetErrorString`.
#[unsafe(export_name = "warplab_cudaGetErrorString")]
pub(crate) extern "C" fn get_error_string(error: Status) -> *const c_char {
    error.text().unwrap_or(c"unrecognized error code").as_ptr()
}

/// `cudaDeviceSynchronize`.
#[unsafe(export_name = "warplab_cudaDeviceSynchronize")]
pub(crate) extern "C" fn device_synchronize() -> Status {
    done(synchronize())
}

/// `cudaGetDeviceCount`.
///
/// # Safety
/// `count` may be written.
#[unsafe(export_name = "warplab_cudaGetDeviceCount")]
pub(crate) unsafe extern "C" fn get_device_count(count: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { store(count, 1) })
}

/// `cudaSetDevice`.
#[unsafe(export_name = "warplab_cudaSetDevice")]
pub(crate) extern "C" fn set_device(device: i32) -> Status {
    let known = if device == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) };
    done(known.and_then(|()| super::registration::load_managed()))
}

/// `cudaGetDevice`.
///
/// # Safety
/// `device` may be written.
#[unsafe(export_name = "warplab_cudaGetDevice")]
pub(crate) unsafe extern "C" fn get_device(device: *mut i32) -> Status {
    // NVIDIA's runtime initialises the driver here, and programs continue with the driver API.
    // SAFETY: as the caller promises.
    done(any_gpu().map(drop).and_then(|()| unsafe { store(device, 0) }))
}

/// `cudaDeviceGetAttribute`.
///
/// # Safety
/// `value` may be written.
#[unsafe(export_name = "warplab_cudaDeviceGetAttribute")]
pub(crate) unsafe extern "C" fn device_get_attribute(value: *mut i32, attribute: u32, device: i32) -> Status {
    let known = if device == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) };
    let found = known.and_then(|()| gpu()?.device.attribute(attribute).ok_or(Status::INVALID_VALUE));
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(value, found) }))
}

/// `cudaDeviceReset`: frees all objects of the program. After a kernel's fault only a new process helps.
#[unsafe(export_name = "warplab_cudaDeviceReset")]
pub(crate) extern "C" fn device_reset() -> Status {
    let reset = || {
        synchronize()?;
        gpu()?.reset();
        super::registration::place_again()
    };
    done(reset())
}

/// Version of CUDA that is implemented: 13.5 is 13050.
pub(super) const VERSION: i32 = 13_050;

/// `cudaDriverGetVersion`.
///
/// # Safety
/// `version` may be written.
#[unsafe(export_name = "warplab_cudaDriverGetVersion")]
pub(crate) unsafe extern "C" fn driver_get_version(version: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { store(version, VERSION) })
}

/// `cudaRuntimeGetVersion`.
///
/// # Safety
/// `version` may be written.
#[unsafe(export_name = "warplab_cudaRuntimeGetVersion")]
pub(crate) unsafe extern "C" fn runtime_get_version(version: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { store(version, VERSION) })
}
