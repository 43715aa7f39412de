//! What compiled programs call before `main`: their fat binaries, kernels and variables.

use super::done;
use crate::closed;
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu, tell};
use crate::module::{has_relocatable_ptx, image_at, is_empty, machine_code_only, mapped_file};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A registered fat binary, loaded when something in it is first used.
#[derive(Default)]
struct Binary {
    image: Vec<u8>,
    /// Address of its wrapper, which tells what file it is of.
    wrapper: usize,
    module: Option<u64>,
    /// Why it cannot be loaded, once that has been tried.
    refused: Option<Status>,
}

/// A registered kernel: its binary, its name, and its handle once known.
struct Function {
    binary: usize,
    name: String,
    kernel: Option<u64>,
}

/// A registered variable: its binary and its name.
struct Variable {
    binary: usize,
    name: String,
    /// Where the program keeps a pointer to it, for managed variables.
    managed: Option<usize>,
}

#[derive(Default)]
struct Registered {
    binaries: Vec<Option<Binary>>,
    functions: HashMap<usize, Function>,
    variables: HashMap<usize, Variable>,
    /// Modules of files with relocatable device code, which all their binaries share.
    linked: HashMap<PathBuf, u64>,
}

impl Registered {
    /// The module of a binary, loaded when it is first wanted.
    fn module(&mut self, binary: usize) -> Outcome<u64> {
        let found = self.binaries.get_mut(binary).and_then(Option::as_mut);
        let found = found.ok_or(Status::INVALID_DEVICE_FUNCTION)?;
        if let Some(module) = found.module {
            return Ok(module);
        }
        if let Some(status) = found.refused {
            return Err(status);
        }
        let mut gpu = any_gpu()?;
        let loaded = load(&mut gpu, found, &mut self.linked);
        let module = loaded.inspect_err(|&status| found.refused = Some(status))?;
        found.module = Some(module);
        gpu.make_library(module)?;
        self.place_managed(&gpu, binary, module)?;
        Ok(module)
    }

    /// Managed variables are pointers of the host program that are set when their module is loaded.
    fn place_managed(&self, gpu: &Gpu, binary: usize, module: u64) -> Outcome {
        for variable in self.variables.values().filter(|v| v.binary == binary) {
            if let Some(pointer) = variable.managed
                && let Some((address, _)) = gpu.modules.get(module)?.device.variable(&variable.name)
            {
                // SAFETY: the program registered the place of its pointer.
                unsafe { (pointer as *mut u64).write(address) };
            }
        }
        Ok(())
    }
}

/// Loads a binary; what it is linked with is loaded once for each file. What cannot be loaded is told.
fn load(gpu: &mut Gpu, binary: &Binary, linked: &mut HashMap<PathBuf, u64>) -> Outcome<u64> {
    let refused = |file: &Path, arch| {
        closed::tell_once(&closed::reason(file, arch));
        Err(Status::NO_KERNEL_IMAGE_FOR_DEVICE)
    };
    if let Some(library) = closed::library_at(binary.wrapper) {
        return refused(&library, None);
    }
    let Some(arch) = machine_code_only(&binary.image) else {
        return gpu.load(&binary.image, "the program's PTX");
    };
    let Some(file) = mapped_file(binary.wrapper) else { return gpu.load(&binary.image, "the program's PTX") };
    match linked.entry(file) {
        Entry::Occupied(known) => Ok(*known.get()),
        Entry::Vacant(new) if !has_relocatable_ptx(new.key()) => refused(new.key(), Some(arch)),
        Entry::Vacant(new) => {
            let module = gpu.load_linked(new.key())?;
            Ok(*new.insert(module))
        }
    }
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
    let image = image_at(wrapper.cast()).unwrap_or_default();
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return std::ptr::null_mut() };
    all.binaries.push(Some(Binary { image, wrapper: wrapper as usize, module: None, refused: None }));
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
    drop(lock);
    // The program ends; what has not been shown by now never would be.
    let _ = crate::gpu::synchronize();
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

/// The kernel that a host function stands for; a kernel's own handle stands for itself.
pub(super) fn kernel_of(host: *const c_void) -> Outcome<u64> {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INVALID_DEVICE_FUNCTION)?;
    let Some(function) = all.functions.get(&(host as usize)) else {
        return any_gpu()?
            .kernels
            .get(host as u64)
            .map(|_| host as u64)
            .map_err(|_| Status::INVALID_DEVICE_FUNCTION);
    };
    if let Some(kernel) = function.kernel {
        return Ok(kernel);
    }
    let (binary, name) = (function.binary, function.name.clone());
    let module = all.module(binary)?;
    let kernel = any_gpu()?.kernel(module, &name).inspect_err(|_| {
        tell(&format!("the kernel {name} is not in the program's PTX"));
    })?;
    if let Some(function) = all.functions.get_mut(&(host as usize)) {
        function.kernel = Some(kernel);
    }
    Ok(kernel)
}

/// The host function of a kernel; the kernel itself, which serves as well, when there is none.
pub(super) fn host_of(kernel: u64) -> *const c_void {
    let lock = registered();
    let found = lock.as_ref().and_then(|all| all.functions.iter().find(|(_, f)| f.kernel == Some(kernel)));
    found.map_or(kernel as *const c_void, |(&host, _)| host as *const c_void)
}

/// Tells the program where managed variables are now that the device has been reset.
pub(super) fn place_again() -> Outcome {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INITIALIZATION_ERROR)?;
    let gpu = any_gpu()?;
    for (binary, found) in all.binaries.iter().enumerate() {
        if let Some(module) = found.as_ref().and_then(|b| b.module) {
            all.place_managed(&gpu, binary, module)?;
        }
    }
    Ok(())
}

/// Address and length of the device variable that a host variable stands for.
pub(super) fn symbol(host: *const c_void) -> Outcome<(u64, u64)> {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INVALID_SYMBOL)?;
    let variable = all.variables.get(&(host as usize)).ok_or(Status::INVALID_SYMBOL)?;
    let (binary, name) = (variable.binary, variable.name.clone());
    let module = all.module(binary)?;
    let found = any_gpu()?.modules.get(module)?.device.variable(&name);
    found.ok_or(Status::INVALID_SYMBOL)
}

/// Loads every registered binary, so that managed variables can be used.
pub(super) fn load_all() -> Outcome {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INITIALIZATION_ERROR)?;
    for binary in 0..all.binaries.len() {
        // nvcc links one without anything in it into programs without device code of their own. Looking into an
        // image unpacks it, which is done before the first load only.
        let is_wanted = |b: &Binary| b.module.is_none() && (b.refused.is_some() || !is_empty(&b.image));
        if all.binaries[binary].as_ref().is_some_and(is_wanted) {
            all.module(binary)?;
        }
    }
    Ok(())
}

fn register(binary: *mut *mut c_void, host: *const c_void, name: *const c_char, managed: Option<usize>) {
    // SAFETY: programs pass the names of their variables.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return };
    let variable = Variable { binary: (binary as usize >> 4).wrapping_sub(1), name, managed };
    all.variables.insert(host as usize, variable);
}

/// `__cudaRegisterVar`.
///
/// # Safety
/// `device_name` is a string.
#[unsafe(export_name = "warplab___cudaRegisterVar")]
pub unsafe extern "C" fn register_var(
    binary: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    device_name: *const c_char,
) {
    register(binary, host, device_name, None);
}

/// `__cudaRegisterManagedVar`.
///
/// # Safety
/// `pointer` may be written as long as the program runs; `device_name` is a string.
#[unsafe(export_name = "warplab___cudaRegisterManagedVar")]
pub unsafe extern "C" fn register_managed_var(
    binary: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device: *mut c_char,
    device_name: *const c_char,
) {
    register(binary, pointer.cast(), device_name, Some(pointer as usize));
}

/// `__cudaInitModule`.
#[unsafe(export_name = "warplab___cudaInitModule")]
pub extern "C" fn init_module(_binary: *mut *mut c_void) -> c_char {
    c_char::from(load_all().is_ok())
}

/// `__cudaGetProcAddress`: NVIDIA's returns nothing either.
#[unsafe(export_name = "warplab___cudaGetProcAddress")]
pub extern "C" fn get_proc_address() -> *const c_void {
    std::ptr::null()
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
