//! Functions that compiled programs call before `main`, which register fat binaries, kernels and variables.

use super::done;
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu};
use crate::modules::closed;
use crate::modules::image::{Images, image_at};
use crate::process::mapping;
use crate::tell::{tell, told};
use emulator::session::CodeKind;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A registered fat binary, which is read and loaded when something in it is first used.
struct Binary {
    /// Address of its wrapper, which points to the image and identifies its file.
    wrapper: usize,
    state: State,
}

/// State of a binary.
#[derive(Clone, Copy)]
enum State {
    /// Nothing yet.
    Unread,
    /// It is loaded.
    Loaded(u64),
    /// It holds machine code without PTX, of this architecture if known; a message is printed on use.
    MachineCode(Option<u32>),
    /// It cannot be loaded; the error has been printed.
    Refused(Status),
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
    /// Address of the program's pointer to it, for managed variables.
    managed: Option<usize>,
}

#[derive(Default)]
struct Registered {
    binaries: Vec<Option<Binary>>,
    functions: HashMap<usize, Function>,
    variables: HashMap<usize, Variable>,
    /// Modules of files with relocatable device code, which all their binaries share; `None` for files without.
    linked: HashMap<PathBuf, Option<u64>>,
    /// Address range and file of the binary that was read last; binaries in the same range belong to the same
    /// file.
    last: Option<(Range<usize>, PathBuf)>,
}

impl Registered {
    /// The file that a wrapper belongs to.
    fn file(&mut self, wrapper: usize) -> Option<PathBuf> {
        if !self.last.as_ref().is_some_and(|(range, _)| range.contains(&wrapper)) {
            self.last = mapping(wrapper);
        }
        self.last.as_ref().map(|(_, file)| file.clone())
    }

    /// The module of a binary, loaded on first use.
    fn module(&mut self, binary: usize) -> Outcome<u64> {
        match self.load(binary)? {
            State::Loaded(module) => Ok(module),
            State::Refused(status) => Err(status),
            State::MachineCode(arch) => {
                let wrapper = self.binaries[binary].as_ref().map_or(0, |b| b.wrapper);
                match self.file(wrapper) {
                    Some(file) => closed::tell_once(&closed::reason(&file, arch)),
                    None => closed::tell_once(
                        "the program has registered device code without PTX, which is what runs here",
                    ),
                }
                Err(Status::NO_KERNEL_IMAGE_FOR_DEVICE)
            }
            State::Unread => Err(Status::NO_KERNEL_IMAGE_FOR_DEVICE),
        }
    }

    /// Loads a binary if that has not been tried; errors of its PTX are printed.
    fn load(&mut self, binary: usize) -> Outcome<State> {
        let found = self.binaries.get(binary).and_then(Option::as_ref);
        let found = found.ok_or(Status::INVALID_DEVICE_FUNCTION)?;
        let State::Unread = found.state else { return Ok(found.state) };
        let wrapper = found.wrapper;
        let file = self.file(wrapper);
        let mut gpu = any_gpu()?;
        let state = read(&mut gpu, wrapper, file, &mut self.linked).unwrap_or_else(State::Refused);
        if let Some(found) = &mut self.binaries[binary] {
            found.state = state;
        }
        if let State::Loaded(module) = state {
            gpu.modules.make_library(module)?;
            self.place_managed(&gpu, binary, module)?;
        }
        Ok(state)
    }

    /// Managed variables are pointers of the host program that are set when their module is loaded.
    fn place_managed(&self, gpu: &Gpu, binary: usize, module: u64) -> Outcome {
        for variable in self.variables.values().filter(|v| v.binary == binary) {
            if let Some(pointer) = variable.managed
                && let Some((address, _)) = gpu.modules.all.get(module)?.device.variable(&variable.name)
            {
                // SAFETY: the program registered the place of its pointer.
                unsafe { (pointer as *mut u64).write(address) };
            }
        }
        Ok(())
    }
}

/// Loads the binary of a wrapper; relocatable PTX is linked and loaded once per file. What has no PTX is machine code that a
/// linker has made. Failures are printed.
fn read(
    gpu: &mut Gpu,
    wrapper: usize,
    file: Option<PathBuf>,
    linked: &mut HashMap<PathBuf, Option<u64>>,
) -> Outcome<State> {
    if file.as_deref().is_some_and(closed::is_closed) {
        return Ok(State::MachineCode(None));
    }
    let images = Images::open(&image_at(wrapper as *const u8).unwrap_or_default()).map_err(told)?;
    let native = images.has_machine_code();
    if images.has_ptx() || native && gpu.modules.code == Some(CodeKind::Sass) {
        return gpu.modules.load_images(&mut gpu.memory, images, "the program's code").map(State::Loaded);
    }
    let refused = State::MachineCode(images.newest());
    let alone = |gpu: &mut Gpu, images| match native {
        true => {
            gpu.modules.load_images(&mut gpu.memory, images, "the program's machine code").map(State::Loaded)
        }
        false => Ok(refused),
    };
    let Some(file) = file else { return alone(gpu, images) };
    let module = match linked.entry(file) {
        Entry::Occupied(known) => *known.get(),
        Entry::Vacant(new) => {
            let relocatable = Images::open_relocatable(new.key()).ok();
            let relocatable = relocatable.filter(Images::has_ptx);
            let file = new.key().clone();
            let module = relocatable
                .map(|images| gpu.modules.load_linked(&mut gpu.memory, images, &file))
                .transpose()?;
            *new.insert(module)
        }
    };
    module.map_or_else(|| alone(gpu, images), |module| Ok(State::Loaded(module)))
}

static REGISTERED: Mutex<Option<Registered>> = Mutex::new(None);

fn registered() -> MutexGuard<'static, Option<Registered>> {
    let mut lock = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    lock.get_or_insert_default();
    lock
}

/// `__cudaRegisterFatBinary`: the handle is a pointer that the program only passes back.
///
/// # Safety
/// `wrapper` points to a fat binary's wrapper.
#[unsafe(export_name = "warplab___cudaRegisterFatBinary")]
pub(crate) unsafe extern "C" fn register_fat_binary(wrapper: *const c_void) -> *mut *mut c_void {
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return std::ptr::null_mut() };
    all.binaries.push(Some(Binary { wrapper: wrapper as usize, state: State::Unread }));
    // Never null and never dereferenced.
    (all.binaries.len() << 4) as *mut *mut c_void
}

/// `__cudaRegisterFatBinaryEnd`.
#[unsafe(export_name = "warplab___cudaRegisterFatBinaryEnd")]
pub(crate) extern "C" fn register_fat_binary_end(_binary: *mut *mut c_void) {}

/// `__cudaUnregisterFatBinary`.
#[unsafe(export_name = "warplab___cudaUnregisterFatBinary")]
pub(crate) extern "C" fn unregister_fat_binary(binary: *mut *mut c_void) {
    let mut lock = registered();
    let Some(all) = lock.as_mut() else { return };
    if let Some(slot) = (binary as usize >> 4).checked_sub(1).and_then(|at| all.binaries.get_mut(at)) {
        *slot = None;
    }
    // Its addresses may become another file's.
    all.last = None;
    drop(lock);
    // The program ends; pending output must be printed now.
    let _ = crate::running::waiting::synchronize();
}

/// `__cudaRegisterFunction`.
///
/// # Safety
/// `device_name` is a string.
#[unsafe(export_name = "warplab___cudaRegisterFunction")]
pub(crate) unsafe extern "C" fn register_function(
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
    find(host, true)
}

/// The same where only the kernel's attributes are read or set, so that its code may not be translated yet.
pub(super) fn attributes_of(host: *const c_void) -> Outcome<u64> {
    find(host, false)
}

/// A kernel, with its code if `whole`.
fn find(host: *const c_void, whole: bool) -> Outcome<u64> {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INVALID_DEVICE_FUNCTION)?;
    let Some(function) = all.functions.get(&(host as usize)) else {
        return any_gpu()?
            .modules
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
    let mut gpu = any_gpu()?;
    let found = if whole { gpu.kernel(module, &name) } else { gpu.kernel_for_attributes(module, &name) };
    drop(gpu);
    let kernel = found.inspect_err(|&status| {
        // Other reasons have been told.
        if status == Status::SYMBOL_NOT_FOUND {
            tell(&format!("the kernel {name} is not in the program's code"));
        }
    })?;
    if let Some(function) = all.functions.get_mut(&(host as usize)).filter(|_| whole) {
        function.kernel = Some(kernel);
    }
    Ok(kernel)
}

/// The error for a handle that is a host function without a kernel.
pub(super) fn refusal(handle: u64) -> Option<Status> {
    let is_host = registered().as_ref()?.functions.contains_key(&(handle as usize));
    if is_host { kernel_of(handle as *const c_void).err() } else { None }
}

/// The host function of a kernel, or, if there is none, the kernel itself, which is equally valid.
pub(super) fn host_of(kernel: u64) -> *const c_void {
    let lock = registered();
    let found = lock.as_ref().and_then(|all| all.functions.iter().find(|(_, f)| f.kernel == Some(kernel)));
    found.map_or(kernel as *const c_void, |(&host, _)| host as *const c_void)
}

/// Updates the program's pointers to managed variables after a reset of the device.
pub(super) fn place_again() -> Outcome {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INITIALIZATION_ERROR)?;
    let gpu = any_gpu()?;
    for (binary, found) in all.binaries.iter().enumerate() {
        if let Some(Binary { state: State::Loaded(module), .. }) = *found {
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
    let found = any_gpu()?.modules.all.get(module)?.device.variable(&name);
    found.ok_or(Status::INVALID_SYMBOL)
}

/// Loads every registered binary with managed variables, so that these can be used. Others are loaded on
/// first use, as with CUDA's lazy loading.
pub(super) fn load_managed() -> Outcome {
    let mut lock = registered();
    let all = lock.as_mut().ok_or(Status::INITIALIZATION_ERROR)?;
    let managed = all.variables.values().filter(|v| v.managed.is_some()).map(|v| v.binary);
    for binary in managed.collect::<BTreeSet<usize>>() {
        if all.binaries.get(binary).is_some_and(Option::is_some)
            && let State::Refused(status) = all.load(binary)?
        {
            return Err(status);
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
pub(crate) unsafe extern "C" fn register_var(
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
pub(crate) unsafe extern "C" fn register_managed_var(
    binary: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device: *mut c_char,
    device_name: *const c_char,
) {
    register(binary, pointer.cast(), device_name, Some(pointer as usize));
}

/// `__cudaInitModule`.
#[unsafe(export_name = "warplab___cudaInitModule")]
pub(crate) extern "C" fn init_module(_binary: *mut *mut c_void) -> c_char {
    c_char::from(load_managed().is_ok())
}

/// `__cudaGetProcAddress`: NVIDIA's returns nothing either.
#[unsafe(export_name = "warplab___cudaGetProcAddress")]
pub(crate) extern "C" fn get_proc_address() -> *const c_void {
    std::ptr::null()
}

/// `__cudaGetKernel`.
///
/// # Safety
/// `kernel` may be written.
#[unsafe(export_name = "warplab___cudaGetKernel")]
pub(crate) unsafe extern "C" fn get_kernel(kernel: *mut u64, host: *const c_void) -> Status {
    let found = kernel_of(host);
    // Compiled programs query once and launch the result: for a kernel that cannot be loaded the host
    // function is returned, so that each launch reports the error. SAFETY: as the caller promises.
    done(unsafe { super::store(kernel, found.unwrap_or(host as u64)) }.and(found.map(drop)))
}
