//! The driver API, exported under its own names.
//!
//! Every function is a thin layer: it turns pointers into values and calls the GPU. [`functions!`](functions)
//! generates the common parts: the exported symbol, its variant for per-thread default streams, the check of
//! its precondition, and its entry in the table of `cuGetProcAddress`.

pub(crate) mod absent;
pub(crate) mod array;
pub(crate) mod capture;
pub(crate) mod context;
pub(crate) mod copy;
pub(crate) mod entry;
pub(crate) mod fill;
pub(crate) mod function;
pub(crate) mod general;
pub(crate) mod graph;
pub(crate) mod ipc;
pub(crate) mod jit;
pub(crate) mod launch;
pub(crate) mod legacy;
pub(crate) mod link;
pub(crate) mod mapping;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod old;
pub(crate) mod pool;
pub(crate) mod stream;

use crate::current;
use crate::error::{Outcome, Status, status};
use crate::gpu::initialised;
use crate::host::{self, Access};
use crate::streams::stream::PER_THREAD;
use std::cell::Cell;
use std::ffi::{c_char, c_void};

/// Precondition of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// `cuInit`.
    Init,
    /// A current context.
    Context,
}

/// An exported function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Export {
    /// Symbol, with the suffix of its version.
    pub name: &'static str,
    /// CUDA version that introduced it, as `cuGetProcAddress` counts.
    pub since: i32,
    /// The function.
    pub address: *const c_void,
    /// The same with a default stream per thread.
    pub per_thread: Option<*const c_void>,
}

/// Exports functions of the driver API.
macro_rules! functions {
    ($($name:literal $(/ $twin:literal)? $since:literal $needs:ident
       $f:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("`", $name, "`.")]
            #[unsafe(export_name = $name)]
            pub(crate) extern "C" fn $f($($arg: $type),*) -> $crate::error::Status {
                $crate::driver::call($crate::driver::Needs::$needs, || -> $crate::error::Outcome { $body })
            }
            functions!(@per_thread $f [$($arg: $type),*] $($twin)?);
        )*
        /// Functions exported by this module.
        pub(super) const EXPORTS: &[$crate::driver::Export] = &[$(
            $crate::driver::Export {
                name: $name,
                since: $since,
                address: $f as *const std::ffi::c_void,
                per_thread: functions!(@twin $f $($twin)?),
            }
        ),*];
    };
    (@per_thread $f:ident [$($arg:ident: $type:ty),*] $twin:literal) => {
        #[doc = concat!("`", $twin, "`.")]
        pub(crate) mod $f {
            #[allow(unused_imports, reason = "the types of the arguments")]
            use super::*;
            #[doc = concat!("`", $twin, "`.")]
            #[unsafe(export_name = $twin)]
            pub(crate) extern "C" fn per_thread($($arg: $type),*) -> $crate::error::Status {
                $crate::driver::with_per_thread_default(|| super::$f($($arg),*))
            }
        }
    };
    (@per_thread $f:ident [$($arg:ident: $type:ty),*]) => {};
    (@twin $f:ident $twin:literal) => { Some($f::per_thread as *const std::ffi::c_void) };
    (@twin $f:ident) => { None };
}
use functions;

thread_local! {
    /// Meaning of stream 0 for the current call.
    static DEFAULT_STREAM: Cell<u64> = const { Cell::new(0) };
}

fn with_per_thread_default(call: impl FnOnce() -> Status) -> Status {
    DEFAULT_STREAM.set(PER_THREAD);
    let status = call();
    DEFAULT_STREAM.set(0);
    status
}

/// Runs a function after a check of its precondition.
fn call(needs: Needs, body: impl FnOnce() -> Outcome) -> Status {
    let met = match needs {
        Needs::Nothing => Ok(()),
        _ if !initialised() => Err(Status::INITIALIZATION_ERROR),
        Needs::Init => Ok(()),
        Needs::Context => current::require().map(drop),
    };
    // The runtime API's `INVALID_CONFIGURATION` is `INVALID_VALUE` in this API.
    match status(met.and_then(|()| body())) {
        Status::INVALID_CONFIGURATION => Status::INVALID_VALUE,
        other => other,
    }
}

/// A stream as programs pass it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The handle, with 0 resolved.
    fn handle(self) -> u64 {
        if self.0 == 0 { DEFAULT_STREAM.get() } else { self.0 }
    }
}

/// A pointer through which a result is written. Only programs create it; they promise that it is null or
/// writable.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Out<T>(pub(crate) *mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    pub(crate) fn wanted(self) -> bool {
        !self.0.is_null()
    }

    pub(crate) fn set(self, value: T) -> Outcome {
        if !is_believed(self.0, Access::Write) {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: as the program promises.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes an optional result: nothing if the pointer is null.
    pub(crate) fn offer(self, value: T) {
        let _ = self.set(value);
    }

    /// Writes one of several consecutive results.
    fn set_at(self, index: usize, value: T) -> Outcome {
        // SAFETY: the program says how many there is room for.
        if self.wanted() { Out(unsafe { self.0.add(index) }).set(value) } else { Err(Status::INVALID_VALUE) }
    }

    fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl<T: Copy> Out<T> {
    /// The program's value there, which the call changes.
    fn before(self) -> Outcome<T> {
        In(self.0).get()
    }
}

/// Pointers to objects up to this size are not checked, because most calls pass some.
const SMALL_BYTES: usize = 16;
/// Longest string that a program passes.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Whether a pointer may be dereferenced: null never; a structure only if its memory is mapped.
pub(crate) fn is_believed<T>(to: *const T, access: Access) -> bool {
    !to.is_null()
        && (size_of::<T>() <= SMALL_BYTES || host::is_there(to as u64, size_of::<T>() as u64, access))
}

/// Length in bytes from which lists are checked for readability.
const LONG_LIST_BYTES: usize = 4096;

/// A pointer through which an argument is read; with the same promise.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct In<T>(pub(crate) *const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> In<T> {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T: Copy> In<T> {
    /// No argument.
    pub(crate) fn none() -> In<T> {
        In(std::ptr::null())
    }

    fn given(self) -> bool {
        !self.0.is_null()
    }

    pub(crate) fn get(self) -> Outcome<T> {
        if !is_believed(self.0, Access::Read) {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: as the program promises.
        Ok(unsafe { self.0.read_unaligned() })
    }

    pub(crate) fn list(self, count: usize) -> Outcome<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Status::INVALID_VALUE)?;
        // A wrong count could ask for too much memory. Short lists are not checked, because launches pass
        // many.
        let there = bytes < LONG_LIST_BYTES || host::is_accessible(self.0 as u64, bytes as u64, Access::Read);
        if self.0.is_null() || !there {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: as the program promises, which says how many there are.
        Ok((0..count).map(|i| unsafe { self.0.add(i).read_unaligned() }).collect())
    }
}

/// A string of the program.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(self) -> Outcome<String> {
        let length = host::text_length(self.0 as u64, MAX_TEXT_BYTES).ok_or(Status::INVALID_VALUE)?;
        // SAFETY: the bytes can be read.
        let bytes = unsafe { std::slice::from_raw_parts(self.0.cast::<u8>(), length as usize) };
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The one device.
fn device(ordinal: i32) -> Outcome {
    if ordinal == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) }
}

/// All exported functions.
pub(crate) fn exports() -> impl Iterator<Item = &'static Export> {
    [
        absent::EXPORTS,
        array::EXPORTS,
        pool::EXPORTS,
        capture::EXPORTS,
        context::EXPORTS,
        copy::EXPORTS,
        entry::EXPORTS,
        fill::EXPORTS,
        function::EXPORTS,
        general::EXPORTS,
        graph::EXPORTS,
        ipc::EXPORTS,
        launch::EXPORTS,
        legacy::EXPORTS,
        link::EXPORTS,
        mapping::EXPORTS,
        memory::EXPORTS,
        module::EXPORTS,
        node::EXPORTS,
        old::EXPORTS,
        stream::EXPORTS,
    ]
    .into_iter()
    .flatten()
}
