//! The process's GPU: everything that the API functions work on, behind one lock.
//!
//! Contexts, memory, modules, streams and the recording are modules of their own; the GPU combines them.
//! [`crate::running`] executes its work. A kernel's fault makes every later call fail with its code, as a
//! corrupted context does; the fault is printed to standard error as `emu run` prints it.

use crate::contexts::Contexts;
use crate::device::Device;
use crate::error::{Outcome, Status};
use crate::memory::Memory;
use crate::modules::Modules;
use crate::recording::recorder::Recorder;
use crate::recording::{Recording, ending};
use crate::signals::Blocked;
use crate::streams::Streams;
use crate::streams::beside::Beside;
use crate::summary;
use crate::tell::{tell, variable};
use emulator::exec::Options;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// Environment variable that names the board to show programs.
pub(crate) const DEVICE_VARIABLE: &str = "WARPLAB_DEVICE";
/// Environment variable that says which code runs, `ptx` or `sass` ([`emulator::session::CodeKind`]).
pub(crate) const CODE_VARIABLE: &str = "WARPLAB_CODE";
/// Environment variable with the number of threads that run blocks.
pub(crate) const THREADS_VARIABLE: &str = "WARPLAB_THREADS";
/// Environment variable with the limit of warp instructions of a launch.
pub(crate) const INSTRUCTIONS_VARIABLE: &str = "WARPLAB_MAX_INSTRUCTIONS";
/// Environment variable with the bytes that the threads of a launch may print.
pub(crate) const PRINT_VARIABLE: &str = "WARPLAB_MAX_PRINT_BYTES";
/// Environment variable with the bytes of the heap of device code.
pub(crate) const HEAP_VARIABLE: &str = "WARPLAB_HEAP_BYTES";
/// Environment variable with the bytes of stack per thread.
pub(crate) const STACK_VARIABLE: &str = "WARPLAB_STACK_BYTES";
/// Environment variable that is 0 when products and sums shall not be fused.
pub(crate) const FMAD_VARIABLE: &str = "WARPLAB_FMAD";
/// 1 keeps the loops and branches of the PTX ([`emulator::lower::LowerOptions::keep_branches`]).
pub(crate) const KEEP_BRANCHES_VARIABLE: &str = "WARPLAB_KEEP_BRANCHES";
/// Environment variable with the most registers per thread ([`emulator::lower::LowerOptions::maxregs`]).
pub(crate) const MAXREGS_VARIABLE: &str = "WARPLAB_MAXREGS";
/// Environment variable with the order of instructions ([`emulator::lower::Schedule`]).
pub(crate) const SCHEDULE_VARIABLE: &str = "WARPLAB_SCHEDULE";
/// Environment variable with the warp instructions of a warp's turn.
pub(crate) const INTERLEAVE_VARIABLE: &str = "WARPLAB_INTERLEAVE";
/// Environment variable that is 1 when loads out of bounds that hardware does not notice shall give zeros.
pub(crate) const LENIENT_VARIABLE: &str = "WARPLAB_LENIENT";
/// Environment variable that is 1 when an integer division by zero shall be a fault.
pub(crate) const ZERO_DIVISION_VARIABLE: &str = "WARPLAB_TRAP_ZERO_DIVISION";

/// The GPU and all objects that programs have created on it.
#[derive(Debug)]
pub struct Gpu {
    /// The board.
    pub device: &'static Device,
    /// Contexts of the driver API.
    pub contexts: Contexts,
    /// Memory.
    pub memory: Memory,
    /// Modules and kernels.
    pub modules: Modules,
    /// Streams, events and graphs.
    pub streams: Streams,
    /// The trace of the process.
    pub recording: Recording,
    /// How kernels run.
    pub options: Options,
    /// The error that every call returns after a fault.
    pub fault: Option<Status>,
    /// Output of device code since the program's last synchronisation.
    pub printed: Vec<u8>,
}

static GPU: OnceLock<Outcome<Mutex<Gpu>>> = OnceLock::new();

/// The locked GPU. Signals of this thread are blocked: their handlers may lock it too.
#[derive(Debug)]
pub struct Held {
    // Dropped in this order.
    gpu: MutexGuard<'static, Gpu>,
    _signals: Blocked,
}

impl Deref for Held {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.gpu
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Gpu {
        &mut self.gpu
    }
}

/// Locks the GPU; creates it on first use.
///
/// # Errors
/// When it cannot be made, or a kernel has failed.
pub fn gpu() -> Outcome<Held> {
    let gpu = any_gpu()?;
    match gpu.fault {
        Some(fault) => Err(fault),
        None => Ok(gpu),
    }
}

/// The same, faulty or not.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn any_gpu() -> Outcome<Held> {
    if is_inherited() {
        return Err(Status::INITIALIZATION_ERROR);
    }
    let signals = Blocked::new();
    match GPU.get_or_init(|| Gpu::from_environment().map(Mutex::new)) {
        Ok(gpu) => {
            let gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(Held { gpu, _signals: signals })
        }
        Err(status) => Err(*status),
    }
}

/// Whether the GPU is that of a parent process, whose memory and locks this one cannot use. As with CUDA, every call then
/// fails; the reason is printed once.
fn is_inherited() -> bool {
    static TOLD: Once = Once::new();
    let inherited = ending::is_child() && GPU.get().is_some();
    if inherited {
        TOLD.call_once(|| {
            tell(
                "the process was forked from one that uses CUDA, so that its calls fail as with NVIDIA's driver; start it \
                 with exec (Python: the start method spawn), or fork before the first call",
            );
        });
    }
    inherited
}

/// Whether any API has been used that needs the GPU.
#[must_use]
pub(crate) fn initialised() -> bool {
    matches!(GPU.get(), Some(Ok(_)))
}

/// The same, if it exists and is not locked.
#[must_use]
pub(crate) fn try_gpu() -> Option<Held> {
    if ending::is_child() {
        return None;
    }
    let signals = Blocked::new();
    let gpu = GPU.get()?.as_ref().ok()?.try_lock().ok()?;
    Some(Held { gpu, _signals: signals })
}

/// The board that the environment names, or the default.
///
/// # Errors
/// `NO_DEVICE` when there is no such board.
pub(crate) fn device_from_environment() -> Outcome<&'static Device> {
    let Ok(name) = std::env::var(DEVICE_VARIABLE) else { return Ok(&Device::all()[0]) };
    Device::find(&name).ok_or_else(|| {
        let known: Vec<&str> = Device::all().iter().map(|d| d.name.as_str()).collect();
        tell(&format!("there is no device {name}; known are {}", known.join(", ")));
        Status::NO_DEVICE
    })
}

impl Gpu {
    fn from_environment() -> Outcome<Gpu> {
        let named = std::env::var(DEVICE_VARIABLE);
        let device = device_from_environment()?;
        let mut options = Options::default();
        if let Some(threads) = variable(THREADS_VARIABLE) {
            options.threads = usize::max(threads, 1);
        }
        if let Some(most) = variable(INSTRUCTIONS_VARIABLE) {
            options.max_instructions = most;
        }
        if let Some(most) = variable(PRINT_VARIABLE) {
            options.max_print_bytes = most;
        }
        if let Some(turn) = variable(INTERLEAVE_VARIABLE) {
            options.interleave = turn;
        }
        options.lenient = std::env::var_os(LENIENT_VARIABLE).is_some_and(|v| v == "1");
        options.trap_zero_division = std::env::var_os(ZERO_DIVISION_VARIABLE).is_some_and(|v| v == "1");
        let mut gpu = Gpu::new(device, options)?;
        gpu.recording.recorder = Recorder::from_environment();
        if let Some(bytes) = variable(HEAP_VARIABLE) {
            gpu.memory.heap_bytes = bytes;
        }
        if let Some(bytes) = variable(STACK_VARIABLE) {
            gpu.modules.lowering.stack_bytes = bytes;
        }
        gpu.modules.code = variable(CODE_VARIABLE);
        let (major, minor) = device.compute_capability;
        gpu.modules.lowering.gpu = named.is_ok().then_some(major * 10 + minor);
        gpu.modules.lowering.keep_branches =
            std::env::var_os(KEEP_BRANCHES_VARIABLE).is_some_and(|v| v == "1");
        gpu.modules.lowering.fmad = std::env::var_os(FMAD_VARIABLE).is_none_or(|v| v != "0" && v != "false");
        gpu.modules.lowering.maxregs = variable(MAXREGS_VARIABLE);
        gpu.modules.lowering.schedule = variable(SCHEDULE_VARIABLE).unwrap_or_default();
        ending::on_end(finish);
        ending::watch_forks();
        if gpu.recording.recorder.is_some() || summary::is_wanted() {
            ending::watch();
        }
        Ok(gpu)
    }

    /// A GPU without any objects.
    ///
    /// # Errors
    /// When the process has no addresses left for its memory.
    pub fn new(device: &'static Device, options: Options) -> Outcome<Gpu> {
        Ok(Gpu {
            device,
            contexts: Contexts::default(),
            memory: Memory::new(device.memory_bytes)?,
            modules: Modules::new(device),
            streams: Streams::default(),
            recording: Recording::default(),
            options: Options { sms: device.sms, ..options },
            fault: None,
            printed: Vec::new(),
        })
    }

    /// Loads an image and prints its errors.
    ///
    /// # Errors
    /// When it holds no PTX or PTX with errors.
    pub fn load(&mut self, image: &[u8], name: &str) -> Outcome<u64> {
        self.modules.load(&mut self.memory, image, name)
    }

    /// Removes a module with its kernels and variables.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn unload(&mut self, module: u64) -> Outcome {
        self.modules.unload(&mut self.memory, module)
    }

    /// The kernel of a name.
    ///
    /// # Errors
    /// `SYMBOL_NOT_FOUND` when the module has none, `INVALID_PTX` when it cannot be lowered; the reason is
    /// printed.
    pub fn kernel(&mut self, module: u64, name: &str) -> Outcome<u64> {
        self.modules.kernel(&self.options, module, name)
    }

    /// The same for a kernel of which only attributes are wanted.
    ///
    /// # Errors
    /// As [`Gpu::kernel`].
    pub fn kernel_for_attributes(&mut self, module: u64, name: &str) -> Outcome<u64> {
        self.modules.kernel_for_attributes(&self.options, module, name)
    }

    /// Destroys all objects that programs have created, and clears faults; handles become invalid. Libraries
    /// stay, with the initial values of their variables.
    pub fn reset(&mut self) {
        let modules: Vec<u64> =
            self.modules.all.iter().filter(|(_, m)| !m.is_library).map(|(h, _)| h).collect();
        for module in modules {
            let _ = self.modules.unload(&mut self.memory, module);
        }
        self.streams.graphs.clear();
        self.streams.executables.clear();
        self.streams.nodes.clear();
        self.modules.linkers.clear();
        self.memory.pools.clear();
        self.streams.clear();
        self.memory.arrays.clear();
        self.memory.clear_mappings();
        self.memory.clear();
        let libraries: Vec<u64> = self.modules.all.iter().map(|(h, _)| h).collect();
        for library in libraries {
            if self.modules.reload(&mut self.memory, library).is_err() {
                tell("a library cannot be loaded again after the device has been reset");
            }
        }
        self.streams.beside = Beside::default();
        self.fault = None;
    }
}

/// Completes the trace; a launch in flight is ended for this reason.
fn finish(why: &str) {
    if let Some(gpu) = try_gpu()
        && gpu.streams.beside.has_kernels()
    {
        tell("the program ends while a kernel waits for memory that nobody has written");
    }
    // If a launch is in flight, the copies since its start are lost, nothing else.
    if let Some(mut gpu) = try_gpu()
        && let Some(recorder) = gpu.recording.recorder.as_mut()
    {
        recorder.flush();
        if let Some(earlier) = recorder.earlier() {
            tell(&format!("nothing was recorded; {} is the trace of an earlier run", earlier.display()));
        }
    }
    if !ending::complete(why) {
        ending::fail();
    }
    if initialised() && !summary::show() {
        ending::fail();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_see_the_sms_of_the_board() {
        let device = Device::find("a100").expect("it is known");
        let gpu = Gpu::new(device, Options::default()).expect("there are addresses");
        assert_eq!(gpu.options.sms, 108);
    }
}
