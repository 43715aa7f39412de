//! Work that device code submits: requests of the device runtime while a kernel runs, and execution of the
//! work when the kernel has ended.
//!
//! A grid's launches are launches like any other, in the stream of the launching grid: they are counted,
//! summarised and recorded. See [`emulator::exec::nested`] for their order.

use crate::contexts;
use crate::device::{Attributes, Device};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, Held, any_gpu};
use crate::memory::copy::{Copy, Endpoint, Fill};
use crate::modules::kernel::Kernel;
use crate::modules::occupancy::{check, resident_blocks};
use crate::running::desk::Submission;
use crate::running::launch::run_one;
use crate::streams::work::{Launch, LaunchAttributes, Work};
use crate::summary;
use crate::tell::tell;
use emulator::exec::nested::{
    DeviceHost, FIRE_AND_FORGET_STREAM, MAX_DEPTH, PARAMETER_BYTES, Query, Request, Submitted, Transfer,
    drain,
};
use emulator::lower::{addressed_kernels, function_address};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Attributes of kernels that device code may query: those up to the version of the machine code.
const ATTRIBUTES: u32 = 7;
/// Handles from this one on are streams for graph launches from device code.
const GRAPH_STREAMS: u64 = 1 << 56;

/// A kernel that device code may launch.
#[derive(Debug)]
struct Launchable {
    handle: u64,
    kernel: Kernel,
    attributes: [i32; ATTRIBUTES as usize],
}

/// Data shared by one launch and its nested launches.
#[derive(Debug)]
pub(super) struct Family {
    device: &'static Device,
    kernels: HashMap<u64, Launchable>,
    limits: [usize; 7],
}

/// One grid of it.
#[derive(Debug)]
pub(super) struct Nested<'f> {
    family: &'f Family,
    depth: u32,
    submitted: Mutex<Submitted<Work>>,
}

impl Family {
    /// The kernels that device code of a module may launch, ready to run.
    fn of(gpu: &mut Gpu, module: u64) -> Outcome<Family> {
        let known = match &gpu.modules.all.get(module)?.launchable {
            Some(known) => Arc::clone(known),
            None => {
                // Machine code that launches kernels is refused when it is loaded.
                let source =
                    gpu.modules.all.get(module)?.device.source().ptx().ok_or(Status::NOT_SUPPORTED)?;
                let kernels = addressed_kernels(&source.module);
                let named = kernels
                    .into_iter()
                    .map(|f| (function_address(f), source.module.function(f).name.clone()));
                let named: Vec<(u64, String)> = named.collect();
                // A kernel that cannot be lowered has been reported, and cannot be launched.
                let found =
                    named.into_iter().filter_map(|(at, name)| Some((at, gpu.kernel(module, &name).ok()?)));
                let known = Arc::new(found.collect::<HashMap<u64, u64>>());
                gpu.modules.all.get_mut(module)?.launchable = Some(Arc::clone(&known));
                known
            }
        };
        let mut kernels = HashMap::new();
        for (&address, &handle) in known.iter() {
            let mut attributes = [0; ATTRIBUTES as usize];
            for (number, value) in (0..).zip(&mut attributes) {
                *value = gpu.modules.kernel_attribute(handle, number)?;
            }
            kernels.insert(
                address,
                Launchable { handle, kernel: gpu.modules.kernels.get(handle)?.clone(), attributes },
            );
        }
        let context = contexts::current().and_then(|c| gpu.contexts.all.get(c).ok());
        let limits = context.map_or(contexts::LIMITS, |c| c.limits);
        Ok(Family { device: gpu.device, kernels, limits })
    }

    fn grid(&self, depth: u32) -> Nested<'_> {
        Nested { family: self, depth, submitted: Mutex::default() }
    }
}

impl Nested<'_> {
    fn submit(&self, stream: u64, work: Work) -> Outcome {
        let mut submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
        submitted.push(stream, work).map_err(|_| Status::LAUNCH_PENDING_COUNT_EXCEEDED)
    }

    fn accept(&self, request: Request) -> Outcome {
        let known = self.family.kernels.get(&request.kernel).ok_or(Status::INVALID_DEVICE_FUNCTION)?;
        let launch = Launch {
            kernel: known.handle,
            grid: request.grid,
            block: request.block,
            shared_bytes: request.shared_bytes,
            params: request.params,
            attributes: LaunchAttributes::default(),
        };
        if self.depth >= MAX_DEPTH {
            return Err(Status::LAUNCH_MAX_DEPTH_EXCEEDED);
        }
        if request.stream >= GRAPH_STREAMS {
            return Err(Status::NOT_SUPPORTED);
        }
        check(self.family.device, &known.kernel, &launch)?;
        self.submit(request.stream, Work::Launch(launch))
    }

    fn accept_transfer(&self, transfer: &Transfer) -> Outcome {
        let ([to, to_pitch, to_height], [from, from_pitch, from_height]) = (transfer.to, transfer.from);
        // A copy in a fire-and-forget stream cannot be waited for.
        if transfer.stream == FIRE_AND_FORGET_STREAM || transfer.stream >= GRAPH_STREAMS {
            return Err(Status::INVALID_VALUE);
        }
        if from != 0 {
            let place = |address, pitch, height| Endpoint::Linear { address, pitch, height };
            let (to, from) = (place(to, to_pitch, to_height), place(from, from_pitch, from_height));
            return self.submit(transfer.stream, Work::Copy(Copy { to, from, extent: transfer.extent }));
        }
        let [width, height, depth] = transfer.extent;
        for slice in 0..depth {
            let at = slice
                .checked_mul(to_pitch)
                .and_then(|n| n.checked_mul(to_height))
                .and_then(|n| to.checked_add(n));
            let address = at.ok_or(Status::INVALID_VALUE)?;
            let value = transfer.value.into();
            let fill = Fill { address, pitch: to_pitch, value, element: 1, width, height };
            self.submit(transfer.stream, Work::Fill(fill))?;
        }
        Ok(())
    }
}

impl DeviceHost for Nested<'_> {
    fn launch(&self, request: Request) -> u32 {
        self.accept(request).err().unwrap_or(Status::SUCCESS).0
    }

    fn transfer(&self, transfer: Transfer) -> u32 {
        self.accept_transfer(&transfer).err().unwrap_or(Status::SUCCESS).0
    }

    fn query(&self, query: Query) -> Option<u64> {
        let family = self.family;
        match query {
            Query::Kernel { kernel, number: PARAMETER_BYTES } => {
                family.kernels.get(&kernel).map(|k| k.kernel.lowered.kernel.param_bytes.into())
            }
            Query::Kernel { kernel, number } => {
                let value = *family.kernels.get(&kernel)?.attributes.get(number as usize)?;
                u64::try_from(value).ok()
            }
            // In the program's representation.
            Query::Device { number } => family.device.attribute(number).map(|value| u64::from(value as u32)),
            Query::Limit { number } => family.limits.get(number as usize).map(|&n| n as u64),
            Query::Occupancy { kernel, threads, shared_bytes } => {
                let known = family.kernels.get(&kernel)?;
                let shared = u32::try_from(shared_bytes).unwrap_or(u32::MAX);
                let held = resident_blocks(family.device, &known.kernel, threads, shared);
                Some(held.map_or(0, |o| o.blocks.into()))
            }
        }
    }
}

/// Runs a kernel that may submit work, and then that work.
///
/// # Errors
/// When the launch is impossible.
pub(super) fn run(mut gpu: Held, launch: &Launch, submission: &Submission, module: u64) -> Outcome {
    let family = Family::of(&mut gpu, module)?;
    let most = gpu.options.max_instructions;
    let mut executed = 0u64;
    let mut one = |gpu: Held, launch: &Launch, depth: u32| {
        let grid = family.grid(depth);
        let (mut gpu, instructions) = run_one(gpu, launch, submission.clone(), Some(&grid))?;
        executed = executed.saturating_add(instructions);
        if gpu.fault.is_none() && executed > most {
            let what = format!(
                "a kernel and what device code has launched from it have executed more than {most} warp instructions; \
                 --max-instructions sets the limit"
            );
            tell(&what);
            summary::failed(what);
            gpu.fault = Some(Status::LAUNCH_TIMEOUT);
        }
        Ok((gpu, grid.submitted.into_inner().unwrap_or_else(PoisonError::into_inner)))
    };
    let (gpu, submitted) = one(gpu, launch, 0)?;
    let mut held = Some(gpu);
    drain(submitted, |work, depth| {
        // Only a refused launch has released it.
        let mut gpu = held.take().map_or_else(any_gpu, Ok)?;
        let mut submitted = Submitted::default();
        match &work {
            _ if gpu.fault.is_some() => {}
            Work::Launch(launch) => (gpu, submitted) = one(gpu, launch, depth)?,
            work if is_possible(&gpu, work) => gpu.perform_here(work)?,
            _ => {
                tell(&format!(
                    "a copy or fill that device code has submitted is not in device memory: {work:x?}"
                ));
                gpu.fault = Some(Status::ILLEGAL_ADDRESS);
            }
        }
        held = Some(gpu);
        Ok(submitted)
    })
}

/// Whether all that a copy or fill accesses lies in allocations: device code may access no other memory.
fn is_possible(gpu: &Gpu, work: &Work) -> bool {
    let lies = |address: u64, pitch: u64, rows: u64, width: u64| {
        let bytes = rows.checked_sub(1).and_then(|n| n.checked_mul(pitch)).and_then(|n| n.checked_add(width));
        bytes.is_some_and(|bytes| gpu.memory.global.find(address, bytes).is_some())
    };
    match work {
        Work::Fill(fill) => lies(fill.address, fill.pitch, fill.height, fill.width),
        Work::Copy(Copy { to, from, extent: [width, height, depth] }) => [to, from].into_iter().all(|side| {
            let &Endpoint::Linear { address, pitch, height: slice } = side else { return false };
            let rows =
                depth.checked_sub(1).and_then(|n| n.checked_mul(slice)).and_then(|n| n.checked_add(*height));
            rows.is_some_and(|rows| lies(address, pitch, rows, *width))
        }),
        _ => true,
    }
}
