//! Launching kernels: what the hardware would refuse, and what a fault is called in CUDA.

use crate::desk;
use crate::device::Device;
use crate::ending;
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, Held, tell};
use crate::module::Kernel;
use crate::nested;
use crate::summary;
use crate::work::Launch;
use crate::worker::Job;
use emulator::exec::nested::DeviceHost;
use emulator::exec::{self, FaultKind, LaunchError, Observer, Stats, Stuck, Tolerated};
use emulator::memory::GlobalMemory;
use emulator::record::Unrecorded;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use trace_format::occupancy::{Demand, Occupancy, Resources, occupancy};
use trace_format::semantics::Geometry;

/// Blocks of a launch in y and z.
const MAX_GRID_YZ: u32 = 65_535;
/// Threads of a block in x and y, and in z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Launches that take no longer run on the program's thread, whose signals wait meanwhile.
const QUICK: Duration = Duration::from_micros(200);

/// Checks a launch as the driver does before anything runs.
///
/// # Errors
/// `INVALID_CONFIGURATION` for impossible grids and blocks and too much shared memory,
/// `LAUNCH_OUT_OF_RESOURCES` when not even one block fits an SM, `COOPERATIVE_LAUNCH_TOO_LARGE` when the blocks
/// of a cooperative launch cannot all be resident.
pub fn check(gpu: &Gpu, kernel: &Kernel, launch: &Launch) -> Outcome {
    check_on(gpu.device, kernel, launch)
}

/// The same for a board.
///
/// # Errors
/// As [`check`].
pub fn check_on(device: &Device, kernel: &Kernel, launch: &Launch) -> Outcome {
    let [gx, gy, gz] = launch.grid;
    if launch.grid.contains(&0) || gx > i32::MAX as u32 || gy > MAX_GRID_YZ || gz > MAX_GRID_YZ {
        return Err(Status::INVALID_CONFIGURATION);
    }
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > 1024 || launch.block.iter().zip(MAX_BLOCK).any(|(&n, most)| n > most) {
        return Err(Status::INVALID_CONFIGURATION);
    }
    let machine = &kernel.lowered.kernel;
    let shared = machine.static_shared_bytes.saturating_add(launch.shared_bytes);
    let resources = resources(device, kernel);
    if shared > resources.max_shared_bytes_per_block {
        return Err(Status::INVALID_VALUE);
    }
    if let Some(most) = machine.max_threads_per_block
        && threads > most.iter().map(|&n| u64::from(n)).product()
    {
        return Err(Status::INVALID_VALUE);
    }
    let resident = resident_blocks_on(device, kernel, threads as u32, launch.shared_bytes)?;
    let blocks: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
    if launch.cooperative && blocks > u64::from(resident.blocks) * u64::from(device.sms) {
        return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(())
}

/// What an SM has for a kernel, whose blocks get as much shared memory as the program has asked for.
fn resources(device: &Device, kernel: &Kernel) -> Resources {
    let usual = device.resources(false);
    if kernel.max_dynamic_shared_bytes == 0 {
        return usual;
    }
    let asked = kernel.lowered.kernel.static_shared_bytes.saturating_add(kernel.max_dynamic_shared_bytes);
    let most = asked.max(usual.max_shared_bytes_per_block);
    let all = device.resources(true);
    Resources { max_shared_bytes_per_block: most.min(all.max_shared_bytes_per_block), ..all }
}

/// Blocks of a kernel that an SM holds.
///
/// # Errors
/// `LAUNCH_OUT_OF_RESOURCES` when it holds none.
pub fn resident_blocks(
    gpu: &Gpu,
    kernel: &Kernel,
    threads: u32,
    dynamic_shared_bytes: u32,
) -> Outcome<Occupancy> {
    resident_blocks_on(gpu.device, kernel, threads, dynamic_shared_bytes)
}

/// The same for a board.
///
/// # Errors
/// As [`resident_blocks`].
pub fn resident_blocks_on(
    device: &Device,
    kernel: &Kernel,
    threads: u32,
    dynamic_shared_bytes: u32,
) -> Outcome<Occupancy> {
    let machine = &kernel.lowered.kernel;
    let demand = Demand {
        threads_per_block: threads,
        registers_per_thread: u32::from(machine.regs_per_thread),
        shared_bytes: machine.static_shared_bytes.saturating_add(dynamic_shared_bytes),
    };
    let resources = resources(device, kernel);
    occupancy(&resources, &demand).map_err(|_| Status::LAUNCH_OUT_OF_RESOURCES)
}

/// Whether a launch runs on the program's thread: it takes little time and waits for nothing, or launches others.
#[must_use]
pub fn is_quick(gpu: &Gpu, launch: &Launch) -> bool {
    let Ok(kernel) = gpu.kernels.get(launch.kernel) else { return true };
    let known = kernel.quick_threads.load(Ordering::Relaxed);
    // What device code asks for depends on the context of the program's thread.
    kernel.nests || gpu.recorder.is_none() && !kernel.prepared.may_wait() && threads_of(launch) <= known
}

fn threads_of(launch: &Launch) -> u64 {
    launch.grid.iter().chain(&launch.block).fold(1, |n: u64, &d| n.saturating_mul(d.into()))
}

/// Runs a kernel, and what its device code submits. A fault is kept and told; like on hardware, it is later calls that
/// fail with it.
///
/// # Errors
/// When the launch is impossible.
pub fn run(gpu: Held, stream: u64, launch: &Launch, job: Option<Arc<Job>>) -> Outcome {
    let kernel = gpu.kernels.get(launch.kernel)?;
    if kernel.nests {
        let module = kernel.module;
        return nested::run(gpu, stream, launch, module);
    }
    run_one(gpu, stream, launch, job, None).map(drop)
}

/// Runs one kernel, whose device code turns to `host`, and returns the warp instructions that it has executed.
///
/// # Errors
/// As [`run`].
pub fn run_one(
    mut gpu: Held,
    stream: u64,
    launch: &Launch,
    job: Option<Arc<Job>>,
    host: Option<&dyn DeviceHost>,
) -> Outcome<(Held, u64)> {
    let kernel = gpu.kernels.get(launch.kernel)?.clone();
    check(&gpu, &kernel, launch)?;
    gpu.memory.follow_unmapping()?;
    let geometry = Geometry { grid: launch.grid, block: launch.block };
    let module = &gpu.modules.get(kernel.module)?.device;
    let banks = module
        .banks(&gpu.memory.global, &kernel.lowered, &geometry, launch.shared_bytes, &launch.params)
        .map_err(|errors| {
            tell(&errors.to_string());
            Status::INVALID_PTX
        })?;
    let what = exec::Launch {
        kernel: &kernel.lowered.kernel,
        geometry,
        dynamic_shared_bytes: launch.shared_bytes,
        banks,
        index: gpu.launches,
    };
    gpu.launches = gpu.launches.wrapping_add(1);
    let heard = Heard { printed: Mutex::default(), host };
    let start = Instant::now();
    let options = gpu.options;
    let wants = gpu.recorder.as_mut().is_some_and(|r| r.wants(what.index.into(), &what.kernel.name));
    if wants && gpu.memory.is_wandering(&launch.params) {
        tell_of_wandering();
    }
    let mut recorder = gpu.recorder.take_if(|_| wants);
    let mut memory = std::mem::take(&mut gpu.memory.global);
    desk::open(gpu, job, stream);
    let outcome = match &mut recorder {
        Some(recorder) => recorder.run(&mut memory, (&what, &kernel, stream), &options, &heard),
        None => {
            let sink = &mut Unrecorded;
            exec::launch_prepared(&mut memory, (&what, &kernel.prepared), &options, sink, &heard)
        }
    };
    let (mut gpu, cancelled) = desk::close()?;
    gpu.memory.global = memory;
    if wants {
        gpu.recorder = recorder;
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
            let told = format!("launch {} of {}: {error}", what.index, what.kernel.name);
            tell(&told);
            summary::failed(told);
            // Without `emu`, the program alone decides how it ends.
            if summary::is_wanted() {
                ending::fail();
            }
            gpu.fault.get_or_insert(status_of(&error));
            0
        }
    };
    Ok((gpu, executed))
}

/// Says once that traces differ, where the system puts the program's memory elsewhere in each run.
fn tell_of_wandering() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        // SAFETY: asking changes nothing.
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

/// Keeps what device code prints until the program synchronises, and says whom it turns to.
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

/// What CUDA calls a failure.
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
