//! The stand-in for NVIDIA's management library, `libnvidia-ml.so.1`, as far as frameworks ask it: how many devices there
//! are, their names, identifiers, memory and compute capability.
//!
//! There is one device, the one of the CUDA API. What only a board has (temperature, power, fans, links) is not supported,
//! as NVML itself reports on boards without it. `queries` has the functions.

mod queries;

use crate::device::Device;
use crate::error::Outcome;
use crate::gpu::{any_gpu, device_from_environment, initialised};
use crate::host::{self, Access};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU32, Ordering};

/// Result of a function, as NVML numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Return(u32);

impl Return {
    const SUCCESS: Return = Return(0);
    const UNINITIALIZED: Return = Return(1);
    const INVALID_ARGUMENT: Return = Return(2);
    const NOT_SUPPORTED: Return = Return(3);
    const NOT_FOUND: Return = Return(6);
    const INSUFFICIENT_SIZE: Return = Return(7);
    const UNKNOWN: Return = Return(999);

    /// What the number means, as NVML says it.
    fn text(self) -> &'static CStr {
        match self.0 {
            0 => c"The operation was successful",
            1 => c"NVML was not first initialized with nvmlInit()",
            2 => c"A supplied argument is invalid",
            3 => c"The requested operation is not available on target device",
            6 => c"A query to find an object was unsuccessful",
            7 => c"An input argument is not large enough",
            _ => c"Unknown Error",
        }
    }
}

/// Result within functions.
type Answer<T = ()> = Result<T, Return>;

fn done(answer: Answer) -> Return {
    answer.err().unwrap_or(Return::SUCCESS)
}

/// Initialisations without an end.
static USERS: AtomicU32 = AtomicU32::new(0);

/// Handles of devices: NVML's are pointers, which nobody dereferences.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Handle(usize);

/// The one device.
const DEVICE: Handle = Handle(1);

/// Checks that NVML is initialised.
fn ready() -> Answer {
    if USERS.load(Ordering::Relaxed) == 0 { Err(Return::UNINITIALIZED) } else { Ok(()) }
}

/// The board that a handle stands for. It does not start the CUDA API: programs ask NVML in order to avoid that.
fn board(handle: Handle) -> Answer<&'static Device> {
    ready()?;
    if handle != DEVICE {
        return Err(Return::INVALID_ARGUMENT);
    }
    let found: Outcome<&Device> =
        if initialised() { any_gpu().map(|gpu| gpu.device) } else { device_from_environment() };
    found.map_err(|_| Return::UNKNOWN)
}

/// Writes a result.
fn store<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() || !host::is_there(to as u64, size_of::<T>() as u64, Access::Write) {
        return Err(Return::INVALID_ARGUMENT);
    }
    // SAFETY: the bytes can be written.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads an argument.
fn load<T: Copy>(from: *const T) -> Answer<T> {
    if from.is_null() || !host::is_there(from as u64, size_of::<T>() as u64, Access::Read) {
        return Err(Return::INVALID_ARGUMENT);
    }
    // SAFETY: the bytes can be read, and every type that is passed is plain data.
    Ok(unsafe { from.read_unaligned() })
}

/// Writes a text with its NUL into a program's array.
fn store_text(to: *mut c_char, length: u32, text: &str) -> Answer {
    if to.is_null() || !host::is_there(to as u64, length.into(), Access::Write) {
        return Err(Return::INVALID_ARGUMENT);
    }
    if text.len() >= length as usize {
        return Err(Return::INSUFFICIENT_SIZE);
    }
    host::write_text(to, length as usize, text);
    Ok(())
}

/// A text in an array of a structure.
fn array<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from;
    }
    bytes
}

/// A function that NVML has and the stand-in has not.
pub(crate) fn absent(_name: &'static str) -> u32 {
    done(ready().and(Err(Return::NOT_SUPPORTED))).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_their_arrays() {
        assert_eq!(array::<4>("abcdef"), *b"abc\0");
        let mut room = [1 as c_char; 4];
        assert_eq!(store_text(room.as_mut_ptr(), 4, "abcd"), Err(Return::INSUFFICIENT_SIZE));
        assert_eq!(store_text(room.as_mut_ptr(), 4, "abc"), Ok(()));
        assert_eq!(room[3], 0);
        assert_eq!(store_text(std::ptr::null_mut(), 4, "abc"), Err(Return::INVALID_ARGUMENT));
    }

    #[test]
    fn nothing_is_known_before_the_start() {
        assert_eq!(absent("nvmlDeviceGetTemperature"), Return::UNINITIALIZED.0);
    }
}
