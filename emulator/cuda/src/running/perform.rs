//! Executes the work that programs submit.
//!
//! Work is executed when it is submitted: kernels on a thread of ours ([`super::worker`]), which starts
//! others for blocks, other work on the submitting thread. A kernel that waits for the program continues
//! concurrently with it ([`crate::streams::beside`]).

use super::desk::Submission;
use super::launch::{is_quick, run_one};
use super::worker::{self, Job};
use super::{nested, waiting};
use crate::error::{Outcome, Status};
use crate::gpu::{Held, any_gpu, gpu};
use crate::streams::beside::{QUEUED, What};
use crate::streams::stream::Submitted;
use crate::streams::work::{Choice, Conditional, Graph, HostCall, HostFunction, Launch, Work};
use crate::tell::tell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Submits work to a stream.
///
/// # Errors
/// When the work cannot be done, or the stream refuses it.
pub(crate) fn submit(stream: u64, mut work: Work) -> Outcome {
    let mut gpu = gpu()?;
    if let Work::Wait(event) = work
        && gpu.streams.is_pending_elsewhere(event)
    {
        drop(gpu);
        waiting::wait_for(What::Event(event))?;
        gpu = crate::gpu::gpu()?;
    }
    if let Work::Launch(Launch { kernel, attributes, .. }) = &mut work
        && attributes.carveout.is_none()
    {
        attributes.carveout = gpu.preferred_carveout(*kernel);
    }
    match gpu.streams.submit(stream, work)? {
        Submitted::Captured(_) => Ok(()),
        Submitted::Now(work) if waiting::queue(&mut gpu, stream, &work) => Ok(()),
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
pub(crate) fn perform(work: &Work) -> Outcome {
    perform_on(0, work)
}

/// Does a piece of work of a stream now; the lock is free while the host program is called.
///
/// # Errors
/// When it cannot be done.
pub(crate) fn perform_on(stream: u64, work: &Work) -> Outcome {
    match work {
        Work::Host(call) => {
            waiting::settle()?;
            call_host(call);
            Ok(())
        }
        Work::Child(graph) => perform_graph_on(stream, graph),
        Work::Conditional(conditional) => perform_conditional(stream, conditional),
        Work::Launch(what) => launch(stream, what),
        other => {
            let mut gpu = gpu()?;
            gpu.recording.stream = stream;
            gpu.streams.beside.works += 1;
            gpu.perform_here(other)
        }
    }
}

/// Does all work of a graph that is launched on a stream.
///
/// # Errors
/// The first piece that cannot be done.
pub(crate) fn perform_graph_on(stream: u64, graph: &Graph) -> Outcome {
    for id in graph.order() {
        let node = graph.node(id)?;
        if !node.disabled && !waiting::queue(&mut *gpu()?, stream, &node.work) {
            perform_on(stream, &node.work)?;
        }
    }
    Ok(())
}

/// Iterations after which a loop in a graph is considered endless.
const MAX_ROUNDS: u32 = 1 << 24;

/// Executes the graph that a condition selects.
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

/// Runs a kernel, and what its device code submits. A fault is stored and printed; as on hardware, later
/// calls fail with it.
fn run(gpu: Held, launch: &Launch, submission: Submission) -> Outcome {
    let kernel = gpu.modules.kernels.get(launch.kernel)?;
    if kernel.nests {
        let module = kernel.module;
        return nested::run(gpu, launch, &submission, module);
    }
    run_one(gpu, launch, submission, None).map(drop)
}

/// Launches a kernel. On return it has ended, or continues concurrently with the program.
///
/// # Errors
/// When the launch is impossible.
pub(crate) fn launch(stream: u64, what: &Launch) -> Outcome {
    let here = gpu()?;
    let submission = move |job| Submission { stream, job, catch_up: start_catching_up };
    if worker::is_ours() || is_quick(&here, what) {
        return run(here, what, submission(None));
    }
    drop(here);
    let (job, what) = (Arc::new(Job::default()), what.clone());
    let theirs = Arc::clone(&job);
    worker::give(Box::new(move || {
        let run = || run(gpu()?, &what, submission(Some(Arc::clone(&theirs))));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        theirs.tell(outcome.unwrap_or(Err(Status::LAUNCH_FAILURE)));
        catch_up();
    }))?;
    job.wait()
}

/// Makes a thread of ours execute queued work.
fn start_catching_up() -> Outcome {
    worker::give(Box::new(catch_up))
}

/// Executes the queued work that no longer waits, on a thread of ours.
fn catch_up() {
    while QUEUED.load(Ordering::SeqCst) {
        let Ok(mut gpu) = any_gpu() else { return };
        QUEUED.store(!gpu.streams.beside.queue.is_empty(), Ordering::SeqCst);
        let Some(at) = gpu.streams.beside.ready() else { return };
        let Some(next) = gpu.streams.beside.queue.remove(at) else { return };
        let number = gpu.streams.beside.start(next.lane);
        drop(gpu);
        let outcome = perform_on(next.lane.stream, &next.work);
        let Ok(mut gpu) = any_gpu() else { return };
        gpu.streams.beside.end(number);
        if let Err(status) = outcome {
            gpu.fault.get_or_insert(status);
        }
    }
}

/// Allocates from a pool, the current one if none is named, in the order of a stream: now, or as a node of a graph when
/// the stream captures.
///
/// # Errors
/// When there is no such pool or stream, the size is 0, or there is too little memory.
pub(crate) fn allocate_in_order(pool: Option<u64>, bytes: u64, stream: u64) -> Outcome<u64> {
    if bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let mut gpu = gpu()?;
    let pool = pool.unwrap_or_else(|| gpu.memory.pools.current_pool());
    if gpu.streams.capture_of(stream)?.is_none() {
        return gpu.memory.allocate_from(pool, bytes);
    }
    gpu.memory.pools.pools.get(pool)?;
    let address = gpu.memory.reserve(bytes)?;
    drop(gpu);
    submit(stream, Work::Allocate { address, bytes })?;
    Ok(address)
}

/// Frees in the order of a stream.
///
/// # Errors
/// When there is no such stream, or no allocation begins at the address.
pub(crate) fn free_in_order(address: u64, stream: u64) -> Outcome {
    submit(stream, Work::Free(address))
}
