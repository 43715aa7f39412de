//! The runtime API, exported under the names `warplab_…` that `libcudart` forwards to.
//!
//! Every function is a thin layer: it turns pointers into values, asks the GPU and keeps the thread's last
//! error. [`registration`] is what compiled programs call before `main`, [`execution`] launches, [`memory`]
//! allocates and copies, [`copies`] copies rectangles and boxes, [`arrays`] is about arrays, textures and surfaces,
//! [`absent`] says what is not there, [`forwarded`] hands on what is the same in the driver API, [`cuda12`] has what was
//! different in CUDA 12, [`graphs`] about graphs, [`streams`] about streams and events, [`functions`] about kernels, [`properties`],
//! [`devices`] and [`general`] about devices and errors; [`layout`] has CUDA's structures.

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

/// Ends an API function: notes an error for `cudaGetLastError`.
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

/// A structure of the program; none where the pointer is null or leads to no memory.
///
/// # Safety
/// What is there does not change meanwhile.
unsafe fn given<'p, T>(from: *const T) -> Option<&'p T> {
    // SAFETY: as the caller promises.
    if is_believed(from, Access::Read) { unsafe { from.as_ref() } } else { None }
}
