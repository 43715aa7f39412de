//! The process's GPU: everything that the API functions work on, behind one lock.
//!
//! Work is done when it is submitted: kernels on a thread of ours ([`crate::worker`]), which takes more for blocks, all
//! else on the thread that submits it. A kernel that waits for the program goes on beside it ([`crate::beside`]).
//! A kernel's fault makes every later call fail with its code, as a corrupted context does; what happened is
//! told on standard error in the words of `emu run`.

use crate::array::Arrays;
use crate::beside::{self, Beside, What};
use crate::context::Contexts;
use crate::device::Device;
use crate::ending;
use crate::error::{Outcome, Status};
use crate::graph::Graph;
use crate::handles::{Handles, Kind};
use crate::mapping::Mappings;
use crate::memory::{Memory, Purpose};
use crate::module::{self, Images, Kernel, Module};
use crate::nested;
use crate::node::Nodes;
use crate::pool::Pools;
use crate::recorder::Recorder;
use crate::signals::Blocked;
use crate::stream::{Streams, Submitted};
use crate::summary;
use crate::user_object::UserObject;
use crate::work::{Choice, Conditional, HostCall, HostFunction, Work};
use crate::worker;
use emulator::exec::{Options, Prepared};
use emulator::fatbin::Image;
use emulator::lower::LowerOptions;
use emulator::ptx::FuncId;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// Environment variable that names the board to show programs.
pub const DEVICE_VARIABLE: &str = "WARPLAB_DEVICE";
/// Environment variable with the number of threads that run blocks.
pub const THREADS_VARIABLE: &str = "WARPLAB_THREADS";
/// Environment variable with the limit of warp instructions of a launch.
pub const INSTRUCTIONS_VARIABLE: &str = "WARPLAB_MAX_INSTRUCTIONS";
/// Environment variable with the bytes that the threads of a launch may print.
pub const PRINT_VARIABLE: &str = "WARPLAB_MAX_PRINT_BYTES";
/// Environment variable with the bytes of the heap of device code.
pub const HEAP_VARIABLE: &str = "WARPLAB_HEAP_BYTES";
/// Environment variable with the bytes of stack per thread.
pub const STACK_VARIABLE: &str = "WARPLAB_STACK_BYTES";
/// Environment variable that is 0 when products and sums shall not be fused.
pub const FMAD_VARIABLE: &str = "WARPLAB_FMAD";
/// Environment variable with the warp instructions of a warp's turn.
pub const INTERLEAVE_VARIABLE: &str = "WARPLAB_INTERLEAVE";
/// Environment variable that is 1 when loads out of bounds that hardware does not notice shall give zeros.
pub const LENIENT_VARIABLE: &str = "WARPLAB_LENIENT";
/// Environment variable that is 1 when an integer division by zero shall be a fault.
pub const ZERO_DIVISION_VARIABLE: &str = "WARPLAB_TRAP_ZERO_DIVISION";

/// The GPU and all that programs have made on it.
#[derive(Debug)]
pub struct Gpu {
    /// The board.
    pub device: &'static Device,
    /// Memory.
    pub memory: Memory,
    /// Contexts of the driver API.
    pub contexts: Contexts,
    /// Loaded modules.
    pub modules: Handles<Module>,
    /// Kernels that programs hold.
    pub kernels: Handles<Kernel>,
    /// Streams and events.
    pub streams: Streams,
    /// Graphs.
    pub graphs: Handles<Graph>,
    /// Handles of nodes.
    pub nodes: Nodes,
    /// Objects of the program that graphs retain.
    pub user_objects: Handles<UserObject>,
    /// Memory pools.
    pub pools: Pools,
    /// Memory that is mapped to addresses.
    pub mappings: Mappings,
    /// Linkers at work.
    pub linkers: Handles<Linker>,
    /// Arrays, and texture and surface objects.
    pub arrays: Arrays,
    /// Instantiated graphs.
    pub executables: Handles<Graph>,
    /// How kernels run.
    pub options: Options,
    /// How kernels are lowered.
    pub lowering: LowerOptions,
    /// Why no call succeeds any more.
    pub fault: Option<Status>,
    /// What device code has printed since the program synchronised last.
    pub printed: Vec<u8>,
    /// Launches so far.
    pub launches: u32,
    /// Stream of the work at hand.
    pub stream: u64,
    /// The recording, if one is wanted.
    pub recorder: Option<Recorder>,
    /// Launches that go on beside the program.
    pub beside: Beside,
}

/// A linker with what the program wants to know of its work.
#[derive(Debug)]
pub struct Linker {
    /// What has been added.
    pub link: crate::link::Link,
    /// Where its log goes.
    pub(crate) options: crate::driver::jit::Options,
}

static GPU: OnceLock<Outcome<Mutex<Gpu>>> = OnceLock::new();

/// The GPU, which only this thread uses meanwhile. Its signals are held back: their handlers may want it too.
#[derive(Debug)]
pub struct Held {
    // Given up in this order.
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

/// The GPU, which is made when it is first wanted.
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
pub fn any_gpu() -> Outcome<Held> {
    let signals = Blocked::new();
    match GPU.get_or_init(|| Gpu::from_environment().map(Mutex::new)) {
        Ok(gpu) => {
            let gpu = gpu.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(Held { gpu, _signals: signals })
        }
        Err(status) => Err(*status),
    }
}

/// Whether any API has been used that needs the GPU.
#[must_use]
pub fn initialised() -> bool {
    matches!(GPU.get(), Some(Ok(_)))
}

/// The same, if it has been made and nobody works on it.
#[must_use]
pub fn try_gpu() -> Option<Held> {
    let signals = Blocked::new();
    let gpu = GPU.get()?.as_ref().ok()?.try_lock().ok()?;
    Some(Held { gpu, _signals: signals })
}

/// Waits for all work, which is nearly always done already, and shows what device code has printed: in the C library's buffer,
/// among what the program prints itself.
///
/// # Errors
/// When a kernel has failed.
pub fn synchronize() -> Outcome {
    synchronize_with(What::All)
}

/// The same for a part of the work.
///
/// # Errors
/// When a kernel has failed.
pub fn synchronize_with(what: What) -> Outcome {
    beside::wait_for(what)?;
    let mut gpu = any_gpu()?;
    let (printed, fault) = (std::mem::take(&mut gpu.printed), gpu.fault);
    let launches = gpu.launches.into();
    if let Some(recorder) = &mut gpu.recorder {
        recorder.waited(0, launches);
        recorder.settle();
    }
    drop(gpu);
    if !printed.is_empty() {
        let _signals = Blocked::new();
        // SAFETY: `stdout` is the C library's stream, set before any code runs.
        unsafe { libc::fwrite(printed.as_ptr().cast(), 1, printed.len(), stdout) };
    }
    fault.map_or(Ok(()), Err)
}

/// Has what was launched so far in the trace, if one is written: before the program learns that it has ended.
///
/// # Errors
/// When there is no GPU.
pub fn settle() -> Outcome {
    if let Some(recorder) = &mut any_gpu()?.recorder {
        recorder.settle();
    }
    Ok(())
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Says something that the API has no words for.
pub fn tell(what: &str) {
    eprintln!("warplab: {what}");
}

pub(crate) fn told((status, what): (Status, String)) -> Status {
    tell(&what);
    status
}

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|t| !t.is_empty())?;
    let value = text.parse().ok();
    if value.is_none() {
        tell(&format!("{name}={text} is not understood and ignored"));
    }
    value
}

impl Gpu {
    fn from_environment() -> Outcome<Gpu> {
        let device = match std::env::var(DEVICE_VARIABLE) {
            Err(_) => &Device::all()[0],
            Ok(name) => Device::find(&name).ok_or_else(|| {
                let known: Vec<&str> = Device::all().iter().map(|d| d.name.as_str()).collect();
                tell(&format!("there is no device {name}; known are {}", known.join(", ")));
                Status::NO_DEVICE
            })?,
        };
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
        gpu.recorder = Recorder::from_environment();
        if let Some(bytes) = variable(HEAP_VARIABLE) {
            gpu.memory.heap_bytes = bytes;
        }
        if let Some(bytes) = variable(STACK_VARIABLE) {
            gpu.lowering.stack_bytes = bytes;
        }
        gpu.lowering.fmad = std::env::var_os(FMAD_VARIABLE).is_none_or(|v| v != "0" && v != "false");
        if gpu.recorder.is_some() || summary::is_wanted() {
            ending::watch();
        }
        Ok(gpu)
    }

    /// A GPU without anything on it.
    ///
    /// # Errors
    /// When the process has no addresses left for its memory.
    pub fn new(device: &'static Device, options: Options) -> Outcome<Gpu> {
        Ok(Gpu {
            device,
            memory: Memory::new(device.memory_bytes)?,
            contexts: Contexts::default(),
            modules: Handles::new(Kind::Module),
            kernels: Handles::new(Kind::Kernel),
            streams: Streams::default(),
            graphs: Handles::new(Kind::Graph),
            nodes: Nodes::default(),
            user_objects: Handles::new(Kind::UserObject),
            pools: Pools::default(),
            mappings: Mappings::default(),
            linkers: Handles::new(Kind::Link),
            arrays: Arrays::default(),
            executables: Handles::new(Kind::Executable),
            options,
            lowering: LowerOptions::default(),
            fault: None,
            printed: Vec::new(),
            launches: 0,
            stream: 0,
            recorder: None,
            beside: Beside::default(),
        })
    }

    /// Loads an image and tells what is wrong with it.
    ///
    /// # Errors
    /// When it holds no PTX or PTX with errors.
    pub fn load(&mut self, image: &[u8], name: &str) -> Outcome<u64> {
        self.try_load(image, name).map_err(told)
    }

    /// Loads an image.
    ///
    /// # Errors
    /// When it holds no PTX or PTX with errors: a code for the program and words for people.
    pub fn try_load(&mut self, image: &[u8], name: &str) -> Result<u64, (Status, String)> {
        self.load_ptx(&Images::open(image)?.choose(self.device)?, name)
    }

    /// Loads unpacked images and tells what is wrong with them.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn load_images(&mut self, images: Images, name: &str) -> Outcome<u64> {
        let ptx = images.choose(self.device).map_err(told)?;
        self.load_ptx(&ptx, name).map_err(told)
    }

    fn load_ptx(&mut self, ptx: &Image, name: &str) -> Result<u64, (Status, String)> {
        let text = String::from_utf8_lossy(&ptx.contents);
        let name = ptx.name.as_deref().unwrap_or(name);
        let module = module::load(&mut self.memory, text.trim_end_matches('\0'), name)?;
        Ok(self.modules.insert(module))
    }

    /// Loads the relocatable device code of an executable or library.
    ///
    /// # Errors
    /// When it cannot be linked or has errors, which are told.
    pub fn load_linked(&mut self, images: Images, file: &Path) -> Outcome<u64> {
        let name = format!("the linked PTX of {}", file.display());
        let text = images.link(self.device, file).map_err(told)?;
        let module = module::load(&mut self.memory, &text, &name).map_err(told)?;
        Ok(self.modules.insert(module))
    }

    /// Takes everything away that programs have made, faults included; handles to it are dead. Libraries stay, with
    /// their variables as they were in the beginning.
    pub fn reset(&mut self) {
        let modules: Vec<u64> = self.modules.iter().filter(|(_, m)| !m.is_library).map(|(h, _)| h).collect();
        for module in modules {
            let _ = self.unload(module);
        }
        self.graphs.clear();
        self.executables.clear();
        self.nodes.clear();
        self.linkers.clear();
        self.pools.clear();
        self.streams.clear();
        self.arrays.clear();
        self.clear_mappings();
        self.memory.clear();
        let libraries: Vec<u64> = self.modules.iter().map(|(h, _)| h).collect();
        for library in libraries {
            if self.reload(library).is_err() {
                tell("a library cannot be loaded again after the device has been reset");
            }
        }
        self.beside = Beside::default();
        self.fault = None;
    }

    fn reload(&mut self, library: u64) -> Outcome {
        let module = self.modules.get_mut(library)?;
        match module.device.reloaded(&mut self.memory) {
            Ok(device) => module.device = device,
            Err(_) => {
                for (_, kernel) in self.modules.remove(library)?.kernels {
                    self.kernels.remove(kernel)?;
                }
                return Err(Status::MEMORY_ALLOCATION);
            }
        }
        Ok(())
    }

    /// Makes a module a library, which outlives contexts.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn make_library(&mut self, module: u64) -> Outcome<u64> {
        self.modules.get_mut(module)?.is_library = true;
        Ok(module)
    }

    /// Removes a module with its kernels and variables.
    ///
    /// # Errors
    /// When there is no such module.
    pub fn unload(&mut self, module: u64) -> Outcome {
        let module = self.modules.remove(module)?;
        for (_, kernel) in module.kernels {
            self.kernels.remove(kernel)?;
        }
        for address in module.device.addresses() {
            self.memory.free(address, &[Purpose::Variable])?;
        }
        Ok(())
    }

    /// The kernel of a name.
    ///
    /// # Errors
    /// `SYMBOL_NOT_FOUND` when the module has none, `INVALID_PTX` when it cannot be lowered, which is told.
    pub fn kernel(&mut self, module: u64, name: &str) -> Outcome<u64> {
        let found = self.modules.get_mut(module)?;
        let function = found.device.source().kernel(name).ok_or(Status::SYMBOL_NOT_FOUND)?;
        if let Some((_, kernel)) = found.kernels.iter().find(|(f, _)| *f == function) {
            return Ok(*kernel);
        }
        self.lower(module, function)
    }

    fn lower(&mut self, module: u64, function: FuncId) -> Outcome<u64> {
        let found = self.modules.get_mut(module)?;
        let lowered = found.device.kernel(function, &self.lowering).map_err(|error| {
            tell(&error.to_string());
            Status::INVALID_PTX
        })?;
        let prepared = Prepared::new(&lowered.kernel, &self.options).map_err(|error| {
            tell(&error.to_string());
            Status::INVALID_PTX
        })?;
        let kernel = Kernel {
            module,
            function,
            nests: nested::is_nesting(&lowered.kernel),
            tally: summary::kernel(&lowered.kernel.name),
            lowered,
            prepared: Arc::new(prepared),
            max_dynamic_shared_bytes: 0,
            preferences: [-1, 0],
            quick_threads: Arc::default(),
        };
        let handle = self.kernels.insert(kernel);
        found.kernels.push((function, handle));
        Ok(handle)
    }

    /// Does a piece of work that does not call the host.
    pub(crate) fn perform_here(&mut self, work: &Work) -> Outcome {
        match work {
            Work::Copy(copy) => {
                let arrays = &self.arrays.arrays;
                self.memory.copy(copy, &|array| arrays.get(array).map(crate::array::Array::rows))?;
                if let Some(recorder) = &mut self.recorder {
                    recorder.copied(copy, &self.memory, self.stream, self.launches.into());
                }
                Ok(())
            }
            Work::Fill(fill) => {
                self.memory.fill(fill)?;
                if let Some(recorder) = &mut self.recorder {
                    recorder.filled(fill, self.stream, self.launches.into());
                }
                Ok(())
            }
            Work::Record(event) => {
                self.streams.events.get_mut(*event)?.reached = Some(Instant::now());
                Ok(())
            }
            Work::Wait(_) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.waited(self.stream, self.launches.into());
                }
                Ok(())
            }
            Work::Empty => Ok(()),
            Work::Allocate { address, .. } => self.memory.back(*address),
            Work::Free(address) => self.free_device(*address),
            // These are done with the lock free.
            Work::Launch(_) | Work::Host(_) | Work::Child(_) | Work::Conditional(_) => {
                Err(Status::NOT_SUPPORTED)
            }
        }
    }
}

/// Gives a stream a piece of work.
///
/// # Errors
/// When the work cannot be done, or the stream does not take it.
pub fn submit(stream: u64, work: Work) -> Outcome {
    let mut gpu = gpu()?;
    match gpu.streams.submit(stream, work)? {
        Submitted::Captured(_) => Ok(()),
        Submitted::Now(work) if beside::queue(&mut gpu, stream, &work) => Ok(()),
        Submitted::Now(work) => {
            drop(gpu);
            perform_on(stream, &work)
        }
    }
}

/// Does a piece of work now, on the default stream.
///
/// # Errors
/// When it cannot be done.
pub fn perform(work: &Work) -> Outcome {
    perform_on(0, work)
}

/// Does a piece of work of a stream now; the lock is free while the host program is called.
///
/// # Errors
/// When it cannot be done.
pub fn perform_on(stream: u64, work: &Work) -> Outcome {
    match work {
        Work::Host(call) => {
            settle()?;
            call_host(call);
            Ok(())
        }
        Work::Child(graph) => perform_graph_on(stream, graph),
        Work::Conditional(conditional) => perform_conditional(stream, conditional),
        Work::Launch(what) => worker::launch(stream, what),
        other => {
            let mut gpu = gpu()?;
            gpu.stream = stream;
            gpu.beside.works += 1;
            gpu.perform_here(other)
        }
    }
}

/// Does all work of a graph, on the default stream.
///
/// # Errors
/// The first piece that cannot be done.
pub fn perform_graph(graph: &Graph) -> Outcome {
    perform_graph_on(0, graph)
}

/// Does all work of a graph that is launched on a stream.
///
/// # Errors
/// The first piece that cannot be done.
pub fn perform_graph_on(stream: u64, graph: &Graph) -> Outcome {
    for id in graph.order() {
        let node = graph.node(id)?;
        if !node.disabled && !beside::queue(&mut *gpu()?, stream, &node.work) {
            perform_on(stream, &node.work)?;
        }
    }
    Ok(())
}

/// Rounds of a loop in a graph after which it is taken to be endless.
const MAX_ROUNDS: u32 = 1 << 24;

/// Does what a condition chooses.
fn perform_conditional(stream: u64, work: &Conditional) -> Outcome {
    let value = || -> Outcome<u32> {
        let gpu = gpu()?;
        let mut bytes = [0; 4];
        let read = gpu.memory.global.read(work.condition, &mut bytes);
        read.then_some(u32::from_le_bytes(bytes)).ok_or(Status::INVALID_VALUE)
    };
    let body = |which: usize| work.bodies.get(which).map_or(Ok(()), |graph| perform_graph_on(stream, graph));
    match work.choice {
        Choice::If => body(usize::from(value()? == 0)),
        Choice::Switch => body(value()? as usize),
        Choice::While => {
            for _ in 0..MAX_ROUNDS {
                if value()? == 0 {
                    return Ok(());
                }
                body(0)?;
            }
            tell("a loop in a graph does not end");
            Err(Status::LAUNCH_TIMEOUT)
        }
    }
}

fn call_host(call: &HostCall) {
    match call.function {
        HostFunction::Plain(address) => {
            // SAFETY: the program gave this address as a function of this type.
            let function = unsafe { std::mem::transmute::<usize, extern "C" fn(*mut c_void)>(address) };
            function(call.user_data);
        }
        HostFunction::Callback(address, stream) => {
            // SAFETY: as above.
            let function =
                unsafe { std::mem::transmute::<usize, extern "C" fn(u64, u32, *mut c_void)>(address) };
            function(stream, 0, call.user_data);
        }
    }
}
