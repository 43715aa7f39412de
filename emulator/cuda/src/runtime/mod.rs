//! The runtime API, exported under the names `warplab_…` that `libcudart` forwards to.
//!
//! Every function is a thin layer: it turns pointers into values, calls the GPU and keeps the thread's last
//! error. [`registration`] has the functions that compiled programs call before `main`, [`execution`]
//! launches, [`memory`] allocation and copies, [`copies`] copies of rectangles and boxes, [`arrays`] arrays,
//! textures and surfaces, [`absent`] functions without an implementation, [`forwarded`] functions that equal
//! the driver API's, [`cuda12`] functions that differ in CUDA 12, [`graphs`] graphs, [`streams`] streams and
//! events, [`functions`] attributes of kernels, [`properties`], [`devices`] and [`general`] devices and
//! errors; [`layout`] has CUDA's structures.

pub(crate) mod absent;
pub(crate) mod arrays;
pub(crate) mod copies;
pub(crate) mod cuda12;
pub(crate) mod devices;
pub(crate) mod execution;
pub(crate) mod forwarded;
pub(crate) mod functions;
pub(crate) mod general;
pub(crate) mod graphs;
pub(crate) mod layout;
pub(crate) mod memory;
mod mirror;
pub(crate) mod properties;
pub(crate) mod registration;
pub(crate) mod streams;

pub use mirror::layouts;

use crate::driver::is_believed;
use crate::error::{Outcome, Status, status};
use crate::host::Access;
use std::cell::Cell;

thread_local! {
    static LAST_ERROR: Cell<Status> = const { Cell::new(Status::SUCCESS) };
}

/// Ends an API function: stores an error for `cudaGetLastError`.
fn done(outcome: Outcome) -> Status {
    crate::current::adopt();
    let status = status(outcome);
    if status != Status::SUCCESS && status != Status::NOT_READY {
        LAST_ERROR.set(status);
    }
    status
}

/// Writes a result through a pointer of the program.
///
/// # Safety
/// The pointer is null or may be written.
unsafe fn store<T>(to: *mut T, value: T) -> Outcome {
    if !is_believed(to, Access::Write) {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: as the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

/// A structure of the program; `None` if the pointer is null or its memory is not mapped.
///
/// # Safety
/// The structure does not change during the call.
unsafe fn given<'p, T>(from: *const T) -> Option<&'p T> {
    // SAFETY: as the caller promises.
    if is_believed(from, Access::Read) { unsafe { from.as_ref() } } else { None }
}
