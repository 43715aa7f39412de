//! Allocation and copies.

use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::{gpu, submit};
use crate::memory::Purpose;
use crate::work::{Copy, Work};
use std::ffi::c_void;

/// `cudaMalloc`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMalloc")]
pub unsafe extern "C" fn malloc(pointer: *mut *mut c_void, bytes: usize) -> Status {
    let allocate = || -> Outcome {
        let address = if bytes == 0 {
            0
        } else {
            gpu()?.memory.allocate("cudaMalloc", bytes as u64, Purpose::Device, 0)?
        };
        // SAFETY: as the caller promises.
        unsafe { store(pointer, address as *mut c_void) }
    };
    done(allocate())
}

/// `cudaFree`.
#[unsafe(export_name = "warplab_cudaFree")]
pub extern "C" fn free(pointer: *mut c_void) -> Status {
    if pointer.is_null() {
        return done(gpu().map(drop));
    }
    done(
        gpu().and_then(|mut gpu| {
            gpu.memory.free(pointer as u64, &[Purpose::Device, Purpose::Managed]).map(drop)
        }),
    )
}

/// `cudaMemcpy`.
///
/// # Safety
/// What lies outside of device memory is the program's and large enough.
#[unsafe(export_name = "warplab_cudaMemcpy")]
pub unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize, _kind: i32) -> Status {
    done(submit(0, Work::Copy(Copy::linear(to as u64, from as u64, bytes as u64))))
}
