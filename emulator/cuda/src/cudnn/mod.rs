//! The stand-in for cuDNN: its version and its handles, which XLA wants before it compiles anything. Every operation says that
//! it is not supported: the first one that a program calls is named on standard error.

use crate::host::{self, Access};
use crate::tell::tell;
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// Version 9.99.0: that of no release of NVIDIA's.
const VERSION: [u32; 3] = [9, 99, 0];
/// Results, as cuDNN numbers them.
const SUCCESS: u32 = 0;
const BAD_PARAM: u32 = 2000;
const NOT_SUPPORTED: u32 = 3000;

/// A handle: the stream that was set. Programs hold a pointer to it.
#[derive(Debug, Default)]
pub(crate) struct Context {
    stream: AtomicU64,
}

/// A function that does nothing here.
pub(crate) fn absent(name: &'static str) -> u32 {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tell(&format!(
            "{name} is not supported: cuDNN has no kernels that run here; with torch.backends.cudnn.enabled = False PyTorch uses \
             its own"
        ));
    });
    NOT_SUPPORTED
}

/// Writes a result.
fn store<T>(to: *mut T, value: T) -> u32 {
    if to.is_null() || !host::is_there(to as u64, size_of::<T>() as u64, Access::Write) {
        return BAD_PARAM;
    }
    // SAFETY: the bytes can be written.
    unsafe { to.write_unaligned(value) };
    SUCCESS
}

fn text(result: u32) -> &'static CStr {
    match result {
        SUCCESS => c"CUDNN_STATUS_SUCCESS",
        1001 => c"CUDNN_STATUS_NOT_INITIALIZED",
        BAD_PARAM => c"CUDNN_STATUS_BAD_PARAM",
        NOT_SUPPORTED => c"CUDNN_STATUS_NOT_SUPPORTED",
        _ => c"CUDNN_UNKNOWN_STATUS",
    }
}

/// `cudnnCreate`.
#[unsafe(export_name = "warplab_cudnnCreate")]
extern "C" fn create(handle: *mut *mut Context) -> u32 {
    let context = Box::into_raw(Box::<Context>::default());
    let stored = store(handle, context);
    if stored != SUCCESS {
        // SAFETY: nobody else has the pointer.
        drop(unsafe { Box::from_raw(context) });
    }
    stored
}

/// `cudnnDestroy`.
///
/// # Safety
/// `handle` is null or from [`create`], and no longer used.
#[unsafe(export_name = "warplab_cudnnDestroy")]
unsafe extern "C" fn destroy(handle: *mut Context) -> u32 {
    if handle.is_null() {
        return BAD_PARAM;
    }
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(handle) });
    SUCCESS
}

/// `cudnnSetStream`.
///
/// # Safety
/// `handle` is null or from [`create`].
#[unsafe(export_name = "warplab_cudnnSetStream")]
unsafe extern "C" fn set_stream(handle: *const Context, stream: u64) -> u32 {
    // SAFETY: as the caller promises.
    let Some(context) = (unsafe { handle.as_ref() }) else { return BAD_PARAM };
    context.stream.store(stream, Ordering::Relaxed);
    SUCCESS
}

/// `cudnnGetStream`.
///
/// # Safety
/// `handle` is null or from [`create`].
#[unsafe(export_name = "warplab_cudnnGetStream")]
unsafe extern "C" fn get_stream(handle: *const Context, stream: *mut u64) -> u32 {
    // SAFETY: as the caller promises.
    let Some(context) = (unsafe { handle.as_ref() }) else { return BAD_PARAM };
    store(stream, context.stream.load(Ordering::Relaxed))
}

/// `cudnnGetVersion`.
#[unsafe(export_name = "warplab_cudnnGetVersion")]
extern "C" fn get_version() -> usize {
    let [major, minor, patch] = VERSION.map(|n| n as usize);
    major * 10_000 + minor * 100 + patch
}

/// `cudnnGetMaxDeviceVersion`: the newest devices that it knows.
#[unsafe(export_name = "warplab_cudnnGetMaxDeviceVersion")]
extern "C" fn get_max_device_version() -> usize {
    usize::MAX
}

/// `cudnnGetCudartVersion`.
#[unsafe(export_name = "warplab_cudnnGetCudartVersion")]
extern "C" fn get_cudart_version() -> usize {
    crate::driver::general::VERSION as usize
}

/// `cudnnGetProperty`: major, minor and patch number.
#[unsafe(export_name = "warplab_cudnnGetProperty")]
extern "C" fn get_property(which: u32, value: *mut i32) -> u32 {
    match VERSION.get(which as usize) {
        Some(&number) => store(value, number as i32),
        None => BAD_PARAM,
    }
}

/// `cudnnGetErrorString`.
#[unsafe(export_name = "warplab_cudnnGetErrorString")]
extern "C" fn get_error_string(result: u32) -> *const c_char {
    text(result).as_ptr()
}

/// `cudnnGetLastErrorString`.
#[unsafe(export_name = "warplab_cudnnGetLastErrorString")]
extern "C" fn get_last_error_string(to: *mut c_char, length: usize) {
    host::write_text(to, length, "cuDNN has no kernels that run on Warplab");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_keep_their_stream_and_operations_are_refused() {
        let (mut handle, mut stream) = (std::ptr::null_mut(), 0);
        assert_eq!(create(&raw mut handle), SUCCESS);
        // SAFETY: the handle is the one that was created.
        unsafe {
            assert_eq!(set_stream(handle, 7), SUCCESS);
            assert_eq!((get_stream(handle, &raw mut stream), stream), (SUCCESS, 7));
            assert_eq!(destroy(handle), SUCCESS);
            assert_eq!([destroy(std::ptr::null_mut()), set_stream(std::ptr::null(), 7)], [BAD_PARAM; 2]);
        }
        assert_eq!(create(std::ptr::null_mut()), BAD_PARAM);
        assert_eq!(absent("cudnnConvolutionForward"), NOT_SUPPORTED);
        let mut minor = 0;
        assert_eq!((get_property(1, &raw mut minor), minor), (SUCCESS, 99));
        assert_eq!(get_version() / 10_000, 9);
    }
}
