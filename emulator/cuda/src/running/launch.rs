//! Runs kernels, and maps faults to CUDA's codes.

use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, Held};
use crate::modules::closed;
use crate::modules::occupancy::check;
use crate::recording::ending;
use crate::recording::recorder::How;
use crate::running::desk::{self, Submission};
use crate::streams::work::Launch;
use crate::summary;
use crate::tell::tell;
use emulator::device::Shape;
use emulator::exec::nested::DeviceHost;
use emulator::exec::{self, FaultKind, LaunchError, Observer, Stats, Stuck, Tolerated};
use emulator::memory::GlobalMemory;
use emulator::record::Unrecorded;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use trace_format::semantics::Geometry;
use warplab_host::symbols;

/// Launches that take no longer run on the program's thread, with its signals blocked.
const QUICK: Duration = Duration::from_micros(200);

/// Whether a launch runs on the program's thread: it takes little time and waits for nothing, or launches others.
#[must_use]
pub(crate) fn is_quick(gpu: &Gpu, launch: &Launch) -> bool {
    let Ok(kernel) = gpu.modules.kernels.get(launch.kernel) else { return true };
    let known = kernel.quick_threads.load(Ordering::Relaxed);
    // Requests of device code depend on the context of the program's thread.
    kernel.nests
        || gpu.recording.recorder.is_none() && !kernel.prepared.may_wait() && threads_of(launch) <= known
}

fn threads_of(launch: &Launch) -> u64 {
    launch.grid.iter().chain(&launch.block).fold(1, |n: u64, &d| n.saturating_mul(d.into()))
}

/// Runs one kernel, whose device code calls `host`, and returns the warp instructions that it has executed.
///
/// # Errors
/// When the launch is impossible.
pub(crate) fn run_one(
    mut gpu: Held,
    launch: &Launch,
    submission: Submission,
    host: Option<&dyn DeviceHost>,
) -> Outcome<(Held, u64)> {
    let mut kernel = gpu.modules.kernels.get(launch.kernel)?.clone();
    if kernel.outlined {
        let whole = gpu.kernel(kernel.module, &kernel.lowered.kernel.name)?;
        kernel = gpu.modules.kernels.get(whole)?.clone();
    }
    check(gpu.device, &kernel, launch)?;
    gpu.memory.follow_unmapping()?;
    let geometry = Geometry { grid: launch.grid, block: launch.block };
    let module = &gpu.modules.all.get(kernel.module)?.device;
    let shape =
        Shape { geometry: &geometry, dynamic_shared_bytes: launch.shared_bytes, sms: gpu.options.sms };
    let banks =
        module.banks(&gpu.memory.global, &kernel.lowered, &shape, &launch.params).map_err(|error| {
            tell(&error.to_string());
            Status::INVALID_PTX
        })?;
    let what = exec::Launch {
        kernel: &kernel.lowered.kernel,
        geometry,
        dynamic_shared_bytes: launch.shared_bytes,
        banks,
        index: gpu.recording.launches,
    };
    gpu.recording.launches = gpu.recording.launches.wrapping_add(1);
    let heard = Heard { printed: Mutex::default(), host };
    let start = Instant::now();
    let options = gpu.options;
    let wants =
        gpu.recording.recorder.as_mut().is_some_and(|r| r.wants(what.index.into(), &what.kernel.name));
    if wants && gpu.memory.is_wandering(&launch.params) {
        tell_of_wandering();
    }
    let mut recorder = gpu.recording.recorder.take_if(|_| wants);
    let mut memory = std::mem::take(&mut gpu.memory.global);
    let stream = submission.stream;
    desk::open(gpu, submission);
    let outcome = match &mut recorder {
        Some(recorder) => {
            let how = How { stream, carveout: launch.attributes.carveout };
            recorder.run(&mut memory, (&what, &kernel, how), &options, &heard)
        }
        None => {
            let sink = &mut Unrecorded;
            exec::launch_prepared(&mut memory, (&what, &kernel.prepared), &options, sink, &heard)
        }
    };
    let (mut gpu, cancelled) = desk::close()?;
    gpu.memory.global = memory;
    if wants {
        gpu.recording.recorder = recorder;
    }
    gpu.printed.append(&mut heard.printed.into_inner().unwrap_or_else(PoisonError::into_inner));
    let time = start.elapsed();
    let (quick, threads) = (&kernel.quick_threads, threads_of(launch));
    let most = if time < QUICK { quick.load(Ordering::Relaxed).max(threads) } else { 0 };
    quick.store(most, Ordering::Relaxed);
    let executed = match outcome {
        Ok(stats) => {
            summary::launched(kernel.tally, &stats, time);
            stats.warp_instructions
        }
        Err(_) if cancelled => 0,
        Err(error) => {
            let told = format!("launch {} of {}: {error}", what.index, symbols::signature(&what.kernel.name));
            tell(&told);
            summary::failed(told);
            // Without `emu`, the exit code is the program's.
            if summary::is_wanted() {
                ending::fail();
            }
            gpu.fault.get_or_insert(status_of(&error));
            0
        }
    };
    Ok((gpu, executed))
}

/// Notes that a launch was refused because its code does not run here: the program then does not end as if all was well,
/// even if it ignores the error.
///
/// # Errors
/// Those of the outcome.
pub(crate) fn noted<T>(outcome: Outcome<T>) -> Outcome<T> {
    static NOTED: Once = Once::new();
    let Err(status) = &outcome else { return outcome };
    let refused = match *status {
        Status::NO_KERNEL_IMAGE_FOR_DEVICE
        | Status::INVALID_KERNEL_IMAGE
        | Status::INVALID_PTX
        | Status::NOT_SUPPORTED => true,
        // A kernel that the program never got.
        Status::INVALID_RESOURCE_HANDLE => closed::has_refused(),
        _ => false,
    };
    if refused && summary::is_wanted() {
        let name = status.driver_name().unwrap_or(c"unknown error").to_string_lossy();
        NOTED.call_once(|| {
            summary::failed(format!("a launch was refused ({name}), because its code does not run here"));
        });
        ending::fail();
    }
    outcome
}

/// Prints once that traces differ between runs, if the system randomises the program's addresses.
fn tell_of_wandering() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        // SAFETY: the query changes nothing.
        let personality = unsafe { libc::personality(libc::c_ulong::from(u32::MAX)) };
        let random = std::fs::read_to_string("/proc/sys/kernel/randomize_va_space");
        let nowhere = random.is_ok_and(|level| level.trim() == "0");
        if personality & libc::ADDR_NO_RANDOMIZE == 0 && !nowhere {
            tell(
                "a kernel is passed the host's address of registered memory, which differs from run to run, and the \
                 trace with it; pass what cudaHostGetDevicePointer gives, or start the program with `emu record --` or \
                 `setarch -R`, where the system allows it",
            );
        }
    });
}

/// Keeps output of device code until the program synchronises, and forwards its requests.
struct Heard<'h> {
    printed: Mutex<Vec<u8>>,
    host: Option<&'h dyn DeviceHost>,
}

impl Observer for Heard<'_> {
    fn progress(&self, _: &Stats) {}

    fn host(&self) -> Option<&dyn DeviceHost> {
        self.host
    }

    fn waits(&self, memory: &mut GlobalMemory, stuck: &Stuck<'_>) -> bool {
        desk::waits(memory, stuck)
    }

    fn tolerated(&self, loads: &[Tolerated]) {
        summary::tolerated(loads);
    }

    fn printed(&self, text: &[u8]) {
        self.printed.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(text);
    }
}

/// CUDA's code for a failure.
fn status_of(error: &LaunchError) -> Status {
    let LaunchError::Fault(fault) = error else { return Status::LAUNCH_FAILURE };
    match fault.kind {
        FaultKind::OutOfBounds { .. } => Status::ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => Status::MISALIGNED_ADDRESS,
        FaultKind::InstructionLimit(_) | FaultKind::Deadlock { .. } => Status::LAUNCH_TIMEOUT,
        FaultKind::CallDepth(_) | FaultKind::StackOverflow(_) => Status::HARDWARE_STACK_ERROR,
        FaultKind::BadFunction(_) => Status::INVALID_PC,
        FaultKind::Assert(_) => Status::ASSERT,
        FaultKind::Unsupported(_) => Status::ILLEGAL_INSTRUCTION,
        _ => Status::LAUNCH_FAILURE,
    }
}
