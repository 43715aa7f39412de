//! Allocation and copies.

use super::copies::{When, copy};
use super::layout::DEFAULT;
use super::registration::symbol;
use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::Purpose;
use crate::memory::copy::{Copy, Fill};
use crate::running::perform::submit;
use crate::running::waiting;
use crate::streams::beside::What;
use crate::streams::work::Work;
use std::ffi::c_void;

/// `cudaMalloc`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMalloc")]
pub(crate) unsafe extern "C" fn malloc(pointer: *mut *mut c_void, bytes: usize) -> Status {
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
pub(crate) extern "C" fn free(pointer: *mut c_void) -> Status {
    if pointer.is_null() {
        return done(gpu().map(drop));
    }
    done(waiting::wait_for(What::All).and_then(|()| gpu()?.memory.free_device(pointer as u64)))
}

/// `cudaMemcpy`.
///
/// # Safety
/// What lies outside of device memory is the program's and large enough.
#[unsafe(export_name = "warplab_cudaMemcpy")]
pub(crate) unsafe extern "C" fn memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
) -> Status {
    done(copy(Copy::linear(to as u64, from as u64, bytes as u64), kind, When::Now))
}

/// `cudaMemcpyAsync`.
///
/// # Safety
/// As [`memcpy`].
#[unsafe(export_name = "warplab_cudaMemcpyAsync")]
pub(crate) unsafe extern "C" fn memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
    stream: u64,
) -> Status {
    done(copy(Copy::linear(to as u64, from as u64, bytes as u64), kind, When::Later(stream)))
}

fn fill(to: *mut c_void, value: i32, bytes: usize) -> Work {
    let address = to as u64;
    let value = value as u32;
    Work::Fill(Fill { address, pitch: bytes as u64, value, element: 1, width: bytes as u64, height: 1 })
}

/// `cudaMemset`.
#[unsafe(export_name = "warplab_cudaMemset")]
pub(crate) extern "C" fn memset(to: *mut c_void, value: i32, bytes: usize) -> Status {
    done(submit(0, fill(to, value, bytes)))
}

/// `cudaMemsetAsync`.
#[unsafe(export_name = "warplab_cudaMemsetAsync")]
pub(crate) extern "C" fn memset_async(to: *mut c_void, value: i32, bytes: usize, stream: u64) -> Status {
    done(submit(stream, fill(to, value, bytes)))
}

/// Address of bytes within a symbol.
pub(super) fn inside(host: *const c_void, offset: usize, bytes: usize) -> Outcome<u64> {
    let (address, length) = symbol(host)?;
    let end = (offset as u64).checked_add(bytes as u64).ok_or(Status::INVALID_VALUE)?;
    if end > length { Err(Status::INVALID_VALUE) } else { Ok(address + offset as u64) }
}

/// A copy between a symbol and memory.
fn copy_symbol(
    symbol: *const c_void,
    (offset, bytes): (usize, usize),
    memory: *const c_void,
    to_symbol: bool,
    (kind, when): (u32, When),
) -> Outcome {
    let (inside, outside) = (inside(symbol, offset, bytes)?, memory as u64);
    // A symbol is device memory.
    if matches!((to_symbol, kind), (_, 0) | (true, 2) | (false, 1)) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    let (to, from) = if to_symbol { (inside, outside) } else { (outside, inside) };
    copy(Copy::linear(to, from, bytes as u64), kind, when)
}

/// `cudaMemcpyToSymbol`.
///
/// # Safety
/// The memory has `bytes` bytes.
#[unsafe(export_name = "warplab_cudaMemcpyToSymbol")]
pub(crate) unsafe extern "C" fn memcpy_to_symbol(
    host: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
) -> Status {
    let how = (kind, When::Now);
    done(copy_symbol(host, (offset, bytes), from, true, how))
}

/// `cudaMemcpyToSymbolAsync`.
///
/// # Safety
/// The memory has `bytes` bytes.
#[unsafe(export_name = "warplab_cudaMemcpyToSymbolAsync")]
pub(crate) unsafe extern "C" fn memcpy_to_symbol_async(
    host: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    stream: u64,
) -> Status {
    let how = (kind, When::Later(stream));
    done(copy_symbol(host, (offset, bytes), from, true, how))
}

/// `cudaMemcpyFromSymbol`.
///
/// # Safety
/// The memory has `bytes` bytes.
#[unsafe(export_name = "warplab_cudaMemcpyFromSymbol")]
pub(crate) unsafe extern "C" fn memcpy_from_symbol(
    to: *mut c_void,
    host: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
) -> Status {
    let how = (kind, When::Now);
    done(copy_symbol(host, (offset, bytes), to, false, how))
}

/// `cudaMemcpyFromSymbolAsync`.
///
/// # Safety
/// The memory has `bytes` bytes.
#[unsafe(export_name = "warplab_cudaMemcpyFromSymbolAsync")]
pub(crate) unsafe extern "C" fn memcpy_from_symbol_async(
    to: *mut c_void,
    host: *const c_void,
    bytes: usize,
    offset: usize,
    kind: u32,
    stream: u64,
) -> Status {
    let how = (kind, When::Later(stream));
    done(copy_symbol(host, (offset, bytes), to, false, how))
}

/// `cudaGetSymbolAddress`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaGetSymbolAddress")]
pub(crate) unsafe extern "C" fn get_symbol_address(pointer: *mut *mut c_void, host: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(symbol(host).and_then(|(address, _)| unsafe { store(pointer, address as *mut c_void) }))
}

/// `cudaGetSymbolSize`.
///
/// # Safety
/// `bytes` may be written.
#[unsafe(export_name = "warplab_cudaGetSymbolSize")]
pub(crate) unsafe extern "C" fn get_symbol_size(bytes: *mut usize, host: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(symbol(host).and_then(|(_, length)| unsafe { store(bytes, length as usize) }))
}

fn allocate(pointer: *mut *mut c_void, bytes: usize, purpose: Purpose, flags: u32, name: &str) -> Outcome {
    let address = match bytes {
        0 => 0,
        _ => gpu()?.memory.allocate(name, bytes as u64, purpose, flags)?,
    };
    // SAFETY: the callers' callers promise it.
    unsafe { store(pointer, address as *mut c_void) }
}

/// `cudaMallocManaged`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMallocManaged")]
pub(crate) unsafe extern "C" fn malloc_managed(
    pointer: *mut *mut c_void,
    bytes: usize,
    flags: u32,
) -> Status {
    if bytes == 0 || !matches!(flags, 1 | 2) {
        return done(Err(Status::INVALID_VALUE));
    }
    done(allocate(pointer, bytes, Purpose::Managed, flags, "cudaMallocManaged"))
}

/// `cudaMallocHost`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaMallocHost")]
pub(crate) unsafe extern "C" fn malloc_host(pointer: *mut *mut c_void, bytes: usize) -> Status {
    done(allocate(pointer, bytes, Purpose::Host, 0, "cudaMallocHost"))
}

/// `cudaHostAlloc`.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaHostAlloc")]
pub(crate) unsafe extern "C" fn host_alloc(pointer: *mut *mut c_void, bytes: usize, flags: u32) -> Status {
    done(allocate(pointer, bytes, Purpose::Host, flags, "cudaHostAlloc"))
}

/// `cudaFreeHost`.
#[unsafe(export_name = "warplab_cudaFreeHost")]
pub(crate) extern "C" fn free_host(pointer: *mut c_void) -> Status {
    if pointer.is_null() {
        return done(Ok(()));
    }
    let free = || gpu()?.memory.free(pointer as u64, &[Purpose::Host]).map(drop);
    done(waiting::wait_for(What::All).and_then(|()| free()))
}

/// `cudaHostGetDevicePointer`: host and device share addresses, except for registered memory.
///
/// # Safety
/// `pointer` may be written.
#[unsafe(export_name = "warplab_cudaHostGetDevicePointer")]
pub(crate) unsafe extern "C" fn host_get_device_pointer(
    pointer: *mut *mut c_void,
    host: *mut c_void,
    _flags: u32,
) -> Status {
    let shown = gpu().and_then(|gpu| {
        let region = gpu.memory.region(host as u64).ok_or(Status::INVALID_VALUE)?;
        Ok(region.device_address(host as u64))
    });
    // SAFETY: as the caller promises.
    done(shown.and_then(|shown| unsafe { store(pointer, shown as *mut c_void) }))
}

/// `cudaHostRegister`.
#[unsafe(export_name = "warplab_cudaHostRegister")]
pub(crate) extern "C" fn host_register(host: *mut c_void, bytes: usize, flags: u32) -> Status {
    done(gpu().and_then(|mut gpu| gpu.memory.register(host as u64, bytes as u64, flags)))
}

/// `cudaHostUnregister`.
#[unsafe(export_name = "warplab_cudaHostUnregister")]
pub(crate) extern "C" fn host_unregister(host: *mut c_void) -> Status {
    done(gpu().and_then(|mut gpu| gpu.memory.unregister(host as u64)))
}

/// `cudaMemGetInfo`.
///
/// # Safety
/// Both pointers may be written.
#[unsafe(export_name = "warplab_cudaMemGetInfo")]
pub(crate) unsafe extern "C" fn mem_get_info(free: *mut usize, total: *mut usize) -> Status {
    // SAFETY: as the caller promises.
    done(gpu().map(|gpu| gpu.memory.info()).and_then(|(rest, all)| unsafe {
        store(free, rest as usize)?;
        store(total, all as usize)
    }))
}

/// `cudaFreeAsync`.
#[unsafe(export_name = "warplab_cudaFreeAsync")]
pub(crate) extern "C" fn free_async(pointer: *mut c_void, stream: u64) -> Status {
    if pointer.is_null() {
        return done(Err(Status::INVALID_VALUE));
    }
    done(crate::running::perform::free_in_order(pointer as u64, stream))
}

/// `cudaMemcpyBatchAsync`: the copies run one after the other, which satisfies every order in their
/// attributes.
///
/// # Safety
/// There are `count` places to write, places to read, and sizes, which are right.
#[unsafe(export_name = "warplab_cudaMemcpyBatchAsync")]
pub(crate) unsafe extern "C" fn memcpy_batch(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    _attributes: *const c_void,
    _numbers: *const usize,
    _attribute_count: usize,
    stream: u64,
) -> Status {
    if count == 0 || to.is_null() || from.is_null() || bytes.is_null() {
        return done(Err(Status::INVALID_VALUE));
    }
    done((0..count).try_for_each(|i| {
        // SAFETY: as the caller promises.
        let (to, from, bytes) = unsafe { (*to.add(i), *from.add(i), *bytes.add(i)) };
        copy(Copy::linear(to, from, bytes as u64), DEFAULT, When::Later(stream))
    }))
}
