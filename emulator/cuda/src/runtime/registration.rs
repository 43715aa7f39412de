//! What compiled programs call before `main`: their fat binaries, kernels and variables.

use super::done;
use crate::error::{Outcome, Status};
use crate::gpu::{any_gpu, tell};
use crate::module::image_at;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A registered fat binary, loaded when something in it is first used.
#[derive(Default)]
struct Binary {
    image: Vec<u8>,
    module: Option<u64>,
}

/// A registered kernel: its binary, its name, and its handle once known.
struct Function {
    binary: usize,
    name: String,
    kernel: Option<u64>,
}

#[derive(Default)]
struct Registered {
    binaries: Vec<Option<Binary>>,
    functions: HashMap<usize, Function>,
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

fn registered() -> MutexGuard<'static, Option<Registered>> {
    let mut lock = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    lock.get_or_insert_default();
    lock
}

/// `__cudaRegisterFatBinary`: the handle is a pointer that the program only hands back.
///
/// # Safety
/// `wrapper` points to a fat binary's wrapper.
#[unsafe(export_name = "warplab___cudaRegisterFatBinary")]
pub unsafe extern "C" fn register_fat_binary(wrapper: *const c_void) -> *mut *mut c_void {
    // SAFETY: as the caller promises.
    let image = unsafe { image_at(wrapper.cast()) }.unwrap_or_default();
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return std::ptr::null_mut() };
    all.binaries.push(Some(Binary { image, module: None }));
    // Never null and never followed.
    (all.binaries.len() << 4) as *mut *mut c_void
}

/// `__cudaRegisterFatBinaryEnd`.
#[unsafe(export_name = "warplab___cudaRegisterFatBinaryEnd")]
pub extern "C" fn register_fat_binary_end(_binary: *mut *mut c_void) {}

/// `__cudaUnregisterFatBinary`.
#[unsafe(export_name = "warplab___cudaUnregisterFatBinary")]
pub extern "C" fn unregister_fat_binary(binary: *mut *mut c_void) {
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return };
    if let Some(slot) = (binary as usize >> 4).checked_sub(1).and_then(|at| all.binaries.get_mut(at)) {
        *slot = None;
    }
}

/// `__cudaRegisterFunction`.
///
/// # Safety
/// `device_name` is a string.
#[unsafe(export_name = "warplab___cudaRegisterFunction")]
pub unsafe extern "C" fn register_function(
    binary: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    device_name: *const c_char,
) {
    // SAFETY: as the caller promises.
    let name = unsafe { CStr::from_ptr(device_name) }.to_string_lossy().into_owned();
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return };
    let function = Function { binary: (binary as usize >> 4).wrapping_sub(1), name, kernel: None };
    all.functions.insert(host as usize, function);
}

/// The kernel that a host function stands for.
pub(super) fn kernel_of(host: *const c_void) -> Outcome<u64> {
    let mut lock = registered();
    let Registered { binaries, functions } = lock.as_mut().ok_or(Status::INVALID_DEVICE_FUNCTION)?;
    let function = functions.get_mut(&(host as usize)).ok_or(Status::INVALID_DEVICE_FUNCTION)?;
    if let Some(kernel) = function.kernel {
        return Ok(kernel);
    }
    let binary = binaries.get_mut(function.binary).and_then(Option::as_mut);
    let binary = binary.ok_or(Status::INVALID_DEVICE_FUNCTION)?;
    let mut gpu = any_gpu()?;
    let module = match binary.module {
        Some(module) => module,
        None => *binary.module.insert(gpu.load(&binary.image, "the program's PTX")?),
    };
    let kernel = gpu.kernel(module, &function.name).inspect_err(|_| {
        tell(&format!("the kernel {} is not in the program's PTX", function.name));
    })?;
    function.kernel = Some(kernel);
    Ok(kernel)
}

/// `__cudaGetKernel`.
///
/// # Safety
/// `kernel` may be written.
#[unsafe(export_name = "warplab___cudaGetKernel")]
pub unsafe extern "C" fn get_kernel(kernel: *mut u64, host: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(kernel_of(host).and_then(|found| unsafe { super::store(kernel, found) }))
}
