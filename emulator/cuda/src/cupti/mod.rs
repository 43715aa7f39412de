//! The stand-in for NVIDIA's profiling interface, `libcupti.so`, which needs private parts of NVIDIA's driver and crashes
//! without them.
//!
//! Profilers of frameworks ask for its version, and do without activity of the GPU if it is not supported. Every other
//! function says so: the first one that a program calls is named on standard error.

use crate::host::{self, Access};
use crate::tell::tell;
use std::ffi::{CStr, c_char};
use std::sync::Once;

/// Version of the interface that programs are told, that of CUDA 13.2.
const VERSION: u32 = 130_202;
/// Results, as CUPTI numbers them.
const SUCCESS: u32 = 0;
const INVALID_PARAMETER: u32 = 1;
const NOT_SUPPORTED: u32 = 27;

/// A function that does nothing here.
pub(crate) fn absent(name: &'static str) -> u32 {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tell(&format!(
            "{name} is not supported: there is no CUPTI here, so that profilers see no activity of the GPU; `emu record` records \
             every launch, and `timing replay` measures it"
        ));
    });
    NOT_SUPPORTED
}

/// Writes a result.
fn store<T>(to: *mut T, value: T) -> u32 {
    if to.is_null() || !host::is_there(to as u64, size_of::<T>() as u64, Access::Write) {
        return INVALID_PARAMETER;
    }
    // SAFETY: the bytes can be written.
    unsafe { to.write_unaligned(value) };
    SUCCESS
}

fn text(result: u32) -> &'static CStr {
    match result {
        SUCCESS => c"CUPTI_SUCCESS",
        INVALID_PARAMETER => c"CUPTI_ERROR_INVALID_PARAMETER",
        NOT_SUPPORTED => c"CUPTI_ERROR_NOT_SUPPORTED",
        _ => c"CUPTI_ERROR_UNKNOWN",
    }
}

/// `cuptiGetVersion`.
#[unsafe(export_name = "warplab_cuptiGetVersion")]
extern "C" fn get_version(to: *mut u32) -> u32 {
    store(to, VERSION)
}

/// `cuptiGetResultString`.
#[unsafe(export_name = "warplab_cuptiGetResultString")]
extern "C" fn get_result_string(result: u32, to: *mut *const c_char) -> u32 {
    store(to, text(result).as_ptr())
}

/// `cuptiGetErrorMessage`.
#[unsafe(export_name = "warplab_cuptiGetErrorMessage")]
extern "C" fn get_error_message(result: u32, to: *mut *const c_char) -> u32 {
    store(to, text(result).as_ptr())
}

/// `cuptiGetTimestamp`: nanoseconds.
#[unsafe(export_name = "warplab_cuptiGetTimestamp")]
extern "C" fn get_timestamp(to: *mut u64) -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    store(to, now.as_nanos() as u64)
}

/// `cuptiFinalize`: there is nothing to end.
#[unsafe(export_name = "warplab_cuptiFinalize")]
extern "C" fn finalize() -> u32 {
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_known_and_the_rest_is_refused() {
        let mut version = 0;
        assert_eq!(get_version(&raw mut version), SUCCESS);
        assert!(version >= 18, "JAX wants at least this");
        assert_eq!(get_version(std::ptr::null_mut()), INVALID_PARAMETER);
        assert_eq!(absent("cuptiActivityEnable"), NOT_SUPPORTED);
    }
}
