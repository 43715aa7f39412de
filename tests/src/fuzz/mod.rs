//! Feeds any bytes to the front end, lowering, execution and the readers of executables, which must not
//! panic, hang, or take unbounded memory; [`accelsim`] does so with text traces. These bodies are shared by the tests, by the `mutate` command and
//! by the targets for cargo-fuzz; [`mutate`] and [`container`] make inputs that reach further than random
//! bytes.
//!
//! Besides that, two things are checked that no text may bring about: machine code that is malformed, and a
//! register allocation that the symbolic checker refutes. Both panic here.

pub mod accelsim;
pub mod container;
pub mod invalid;
pub mod mutate;
pub mod ptxas;

use emulator::device::{DeviceModule, Shape};
use emulator::exec::{Launch, LaunchError, Options, Unobserved, launch};
use emulator::fatbin::runtime::{Runtime, is_without_loader, runtime};
use emulator::fatbin::{self, ImageKind};
use emulator::lower::{LowerOptions, Lowered, Schedule};
use emulator::memory::GlobalMemory;
use emulator::module::{LoadedModule, ModuleError};
use emulator::ptx::{self, FuncId, Module};
use emulator::record::Unrecorded;
use std::path::Path;
use std::sync::Arc;
use trace_format::semantics::Geometry;

/// How far an input came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reached {
    /// The front end or the layout of variables refused it; as a file, it could not be unpacked.
    Refused,
    /// It is a module, but no kernel of it could be lowered.
    Parsed,
    /// A kernel was lowered, but none began to run; a file was unpacked and held no PTX.
    Lowered,
    /// A kernel ran until it faulted or reached a limit; a file held PTX that the front end refused.
    Stopped,
    /// A kernel ran to its end; a file held a module.
    Finished,
}

/// Texts beyond this are parsed only: lowering them takes time that finds little.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// Kernels of a module that are lowered and run.
const MAX_KERNELS: usize = 8;
/// Bytes of each buffer that a pointer parameter gets.
const BUFFER_BYTES: usize = 16 << 10;
/// Bytes of the heap of device `malloc`.
const HEAP_BYTES: u64 = 64 << 10;
/// Bytes per thread for frames of unknown depth.
const STACK_BYTES: u32 = 8 << 10;

/// How kernels of inputs run: every resource that a guest can request has a low limit.
fn limits() -> Options {
    Options {
        threads: 1,
        max_instructions: 100_000,
        max_print_bytes: 64 << 10,
        interleave: 16,
        ..Options::default()
    }
}

/// Parses any bytes, and renders the errors.
///
/// # Panics
/// Panics when a module is refused without an error.
pub fn fuzz_parse(bytes: &[u8]) -> Reached {
    match ptx::parse(&String::from_utf8_lossy(bytes), "fuzz.ptx") {
        Ok(_) => Reached::Parsed,
        Err(errors) => {
            assert!(errors.has_errors(), "refused without an error");
            // All would be quadratic: each shows lines of the text.
            for error in errors.iter().take(3) {
                assert!(!error.render(errors.source(), false).is_empty());
            }
            Reached::Refused
        }
    }
}

/// Parses any bytes, lowers every kernel in one of several ways and runs it on a few zeroed buffers.
///
/// # Panics
/// Panics when lowering produces machine code that is malformed or whose register allocation is wrong.
pub fn fuzz_lower_execute(bytes: &[u8]) -> Reached {
    let text = String::from_utf8_lossy(bytes);
    if text.len() > MAX_TEXT_BYTES {
        return fuzz_parse(bytes);
    }
    let Ok(loaded) = LoadedModule::parse(&text, "fuzz.ptx") else { return Reached::Refused };
    let loaded = Arc::new(loaded);
    let options = lowering(bytes);
    let kernels: Vec<FuncId> = loaded.module.kernels().map(|(id, _)| id).take(MAX_KERNELS).collect();
    let mut reached = Reached::Parsed;
    for id in kernels {
        let lowered = match loaded.lower(id, &options) {
            Ok(lowered) => lowered,
            Err(error) => {
                assert!(!is_ours(&error), "{error}");
                continue;
            }
        };
        reached = reached.max(Reached::Lowered).max(run(&loaded, &lowered).unwrap_or(Reached::Lowered));
    }
    reached
}

/// Unpacks any bytes as the file of a program or library, calls all queries on its contents, and parses its
/// PTX.
///
/// # Panics
/// Panics when results contradict each other.
pub fn fuzz_unpack(bytes: &[u8]) -> Reached {
    for name in ["program", "libcudart.so.13"] {
        if let Runtime::Linked(linked) = runtime(Path::new(name), bytes) {
            assert!(linked.functions.iter().all(|place| !place.name.is_empty()));
        }
    }
    let _ = is_without_loader(bytes);
    let images = match fatbin::open(bytes) {
        Ok(images) => images,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Reached::Refused;
        }
    };
    let mut reached = Reached::Lowered;
    for (at, image) in images.iter().enumerate() {
        let earlier = &images[at.saturating_sub(1)];
        assert!(earlier.container <= image.container, "containers are numbered in the order of the file");
        let kernels = image.kernels();
        assert!(!image.is_empty() || kernels.is_empty(), "an empty image with kernels");
        if image.kind == ImageKind::Ptx && at < MAX_KERNELS {
            reached = reached.max(match fuzz_parse(&image.contents) {
                Reached::Refused => Reached::Stopped,
                _ => Reached::Finished,
            });
        }
    }
    reached
}

/// Whether an error is no one's fault but lowering's.
fn is_ours(error: &ModuleError) -> bool {
    let text = error.to_string();
    text.contains("malformed code") || text.contains("register allocation is wrong")
}

/// Options of lowering, drawn from the input itself so that the input alone determines its treatment.
fn lowering(bytes: &[u8]) -> LowerOptions {
    let hash = xxhash_rust::xxh3::xxh3_64(bytes);
    LowerOptions {
        max_registers: [255, 255, 64, 32, 24][(hash % 5) as usize],
        check: true,
        stack_bytes: STACK_BYTES,
        fmad: hash & 1 << 21 == 0,
        inline_limit: if hash & 1 << 20 == 0 { LowerOptions::default().inline_limit } else { 0 },
        keep_branches: hash & 7 << 22 == 0,
        maxregs: None,
        gpu: [None, None, Some(70), Some(86)][(hash >> 27 & 3) as usize],
        schedule: [Schedule::Latency, Schedule::Latency, Schedule::Source, Schedule::Reuse]
            [(hash >> 25 & 3) as usize],
    }
}

/// Runs a kernel on fresh memory; `None` if the launch is refused.
fn run(module: &Arc<LoadedModule>, lowered: &Lowered) -> Option<Reached> {
    let mut memory = GlobalMemory::new();
    let buffers = ["a", "b", "c"].map(|name| {
        let id = memory.allocate(name, vec![0; BUFFER_BYTES]);
        memory.allocation(id).base
    });
    assert!(memory.reserve_heap(HEAP_BYTES));
    let device = DeviceModule::load(Arc::clone(module), &mut memory, objects(&module.module)).ok()?;
    let kernel = &lowered.kernel;
    let mut params = vec![0; kernel.param_bytes as usize];
    for (at, param) in kernel.params.iter().enumerate() {
        let value = match param.size {
            8 => buffers[at % buffers.len()],
            // A size of something, more often than not.
            _ => 40,
        };
        let width = (param.size as usize).min(8);
        if let Some(place) = params.get_mut(param.offset as usize..).and_then(|p| p.get_mut(..width)) {
            place.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    let most = kernel.max_threads_per_block.map_or(33, |dims| dims.iter().map(|&n| u64::from(n)).product());
    let geometry = Geometry { grid: [2, 1, 1], block: [most.clamp(1, 33) as u32, 1, 1] };
    let shape = Shape { geometry: &geometry, dynamic_shared_bytes: 256, sms: 1 };
    let banks = device.banks(&memory, lowered, &shape, &params).ok()?;
    let run = Launch { kernel, geometry, dynamic_shared_bytes: 256, banks, index: 0 };
    match launch(&mut memory, &run, &limits(), &mut Unrecorded, &Unobserved) {
        Ok(_) => Some(Reached::Finished),
        Err(LaunchError::Fault(fault)) => {
            assert!(!fault.to_string().is_empty());
            Some(Reached::Stopped)
        }
        Err(LaunchError::Malformed(what)) => panic!("malformed: {what}"),
        Err(_) => None,
    }
}

/// Handles for the module's textures and surfaces, which stand for no object.
fn objects(module: &Module) -> Vec<(String, u64)> {
    let vars = module.vars.iter().filter(|v| v.space == ptx::VarSpace::Texture);
    vars.map(|v| (v.name.clone(), 0)).collect()
}
