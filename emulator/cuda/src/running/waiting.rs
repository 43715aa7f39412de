//! Waits for work, and queues work.

use super::worker;
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu};
use crate::host::{self, Access};
use crate::memory::copy::{Copy, Endpoint};
use crate::signals::Blocked;
use crate::streams::beside::{PAUSES, QUEUED, Queued, WAITING, What};
use crate::streams::work::Work;
use std::sync::atomic::Ordering;

/// Queues work of a stream if it has to wait; returns whether it did.
pub(crate) fn queue(gpu: &mut Gpu, stream: u64, work: &Work) -> bool {
    if gpu.streams.beside.is_empty() || worker::is_ours() {
        return false;
    }
    let lane = gpu.streams.lane(stream);
    let pending = matches!(work, Work::Wait(event) if gpu.streams.beside.is_pending(*event));
    if !pending && !gpu.streams.beside.lanes().any(|other| other.orders(lane)) {
        return false;
    }
    let mut work = work.clone();
    let bytes = keep(gpu, &mut work);
    if let Work::Record(event) = work {
        gpu.streams.set_pending(event, true);
    }
    QUEUED.store(true, Ordering::SeqCst);
    gpu.streams.beside.queue.push_back(Queued { lane, work, _bytes: bytes });
    true
}

/// Copies from pageable memory of the program read it when they are submitted.
fn keep(gpu: &Gpu, work: &mut Work) -> Vec<u8> {
    if let Work::Copy(Copy { from: Endpoint::Linear { address, .. }, extent: [length, 1, 1], .. }) = work
        && gpu.memory.region(*address).is_none()
        && host::is_accessible(*address, *length, Access::Read)
        && let Ok(count) = usize::try_from(*length)
    {
        // SAFETY: the program says that it may be read.
        let bytes = unsafe { std::slice::from_raw_parts(*address as *const u8, count) }.to_vec();
        *address = bytes.as_ptr() as u64;
        return bytes;
    }
    Vec::new()
}

/// Checks that the work has ended; if so, it is in the trace.
///
/// # Errors
/// `NOT_READY` when it has not.
pub(crate) fn query(what: What) -> Outcome {
    if any_gpu()?.streams.holds_up(what) {
        return Err(Status::NOT_READY);
    }
    settle()
}

/// Waits for work to end, and has it in the trace before that is reported to the program.
///
/// # Errors
/// When there is no GPU.
pub(crate) fn wait_for(what: What) -> Outcome {
    wait(what)?;
    settle()
}

fn wait(what: What) -> Outcome {
    if !any_gpu()?.streams.holds_up(what) || worker::is_ours() {
        return Ok(());
    }
    WAITING.fetch_add(1, Ordering::SeqCst);
    let [mut pause, most] = PAUSES;
    let waited = loop {
        std::thread::sleep(pause);
        pause = most.min(2 * pause);
        match any_gpu() {
            Ok(gpu) if gpu.streams.holds_up(what) => {}
            other => break other.map(drop),
        }
    };
    WAITING.fetch_sub(1, Ordering::SeqCst);
    waited
}

/// Waits for all work, which nearly always has ended already, and prints output of device code: into the C
/// library's buffer, in order with the program's own output.
///
/// # Errors
/// When a kernel has failed.
pub(crate) fn synchronize() -> Outcome {
    synchronize_with(What::All)
}

/// The same for a part of the work.
///
/// # Errors
/// When a kernel has failed.
pub(crate) fn synchronize_with(what: What) -> Outcome {
    wait(what)?;
    let mut gpu = any_gpu()?;
    let (printed, fault) = (std::mem::take(&mut gpu.printed), gpu.fault);
    gpu.recording.program_waited();
    drop(gpu);
    if !printed.is_empty() {
        let _signals = Blocked::new();
        // SAFETY: `stdout` is the C library's stream, set before any code runs.
        unsafe { libc::fwrite(printed.as_ptr().cast(), 1, printed.len(), stdout) };
    }
    fault.map_or(Ok(()), Err)
}

/// Writes all launches so far to the trace, if there is one, before their end is reported to the program.
///
/// # Errors
/// When there is no GPU.
pub(crate) fn settle() -> Outcome {
    any_gpu()?.recording.settle();
    Ok(())
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}
