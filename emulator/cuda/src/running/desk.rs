//! Holds the lock for a launching thread while its kernel runs, and releases it while the kernel waits for
//! memory.
//!
//! The memory that a waiting kernel reads is polled. The kernel is retried when that memory has changed, when
//! other work has been done, and after a time limit. If every thread of the program waits for work to end and
//! the kernel still waits after one more retry, it is a deadlock.

use crate::error::Outcome;
use crate::gpu::{Held, any_gpu};
use crate::process::program_threads;
use crate::running::worker::{self, Job};
use crate::streams::beside::PAUSES;
use emulator::exec::Stuck;
use emulator::memory::GlobalMemory;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a kernel is retried even if memory has not changed.
const TRY_AGAIN: Duration = Duration::from_millis(50);
/// When one thread waits for the kernel: time in which other threads, not known to wait, may still change
/// memory.
const TRUST: Duration = Duration::from_secs(60);

/// Origin of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    /// Its stream.
    pub stream: u64,
    /// The job for which the program's thread waits; `None` if it runs the launch itself, or no thread waits.
    pub job: Option<Arc<Job>>,
    /// Makes another thread execute work that was queued behind concurrent launches.
    pub catch_up: fn() -> Outcome,
}

/// A launch on this thread.
struct Desk {
    /// The lock; `None` while the kernel waits.
    gpu: Option<Held>,
    submission: Submission,
    /// Its number among the launches that run concurrently with the program, once it is one.
    number: Option<u64>,
    /// Count of completed work when every thread was first found waiting.
    hopeless: Option<u64>,
    /// Since when the program waits.
    since: Option<Instant>,
    /// Whether the kernel is cancelled because another one has failed.
    cancelled: bool,
}

thread_local! {
    /// Never dropped: destructors of the program, which run after those of the thread's storage, may launch kernels.
    static DESK: ManuallyDrop<RefCell<Option<Desk>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Begins a launch.
pub(super) fn open(gpu: Held, submission: Submission) {
    let (number, hopeless, since) = (None, None, None);
    let desk = Desk { gpu: Some(gpu), submission, number, hopeless, since, cancelled: false };
    DESK.with(|here| here.replace(Some(desk)));
}

/// Ends it: the lock, and whether the kernel was ended because another one has failed.
///
/// # Errors
/// When there is no GPU.
pub(super) fn close() -> Outcome<(Held, bool)> {
    let Some(desk) = DESK.with(|here| here.take()) else { return Ok((any_gpu()?, false)) };
    let mut gpu = match desk.gpu {
        Some(gpu) => gpu,
        None => any_gpu()?,
    };
    gpu.streams.beside.works += 1;
    if let Some(number) = desk.number {
        gpu.streams.beside.end(number);
    }
    Ok((gpu, desk.cancelled))
}

/// Lets the program continue until memory may have changed; false if no thread is left that could change it.
pub(super) fn waits(memory: &mut GlobalMemory, stuck: &Stuck<'_>) -> bool {
    if !worker::is_ours() {
        return false;
    }
    let Some(mut desk) = DESK.with(|here| here.take()) else { return false };
    let Some(mut gpu) = desk.gpu.take() else { return false };
    std::mem::swap(&mut gpu.memory.global, memory);
    let paused = desk.pause(gpu, stuck);
    let goes_on = paused.is_ok_and(|(mut gpu, goes_on)| {
        std::mem::swap(&mut gpu.memory.global, memory);
        desk.gpu = Some(gpu);
        goes_on
    });
    DESK.with(|here| here.replace(Some(desk)));
    goes_on
}

impl Desk {
    /// The number of the launch; from the first call on it runs concurrently with the program.
    fn number(&mut self, gpu: &mut Held) -> Outcome<u64> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let lane = gpu.streams.lane(self.submission.stream);
        let number = *self.number.insert(gpu.streams.beside.start(lane));
        match &self.submission.job {
            Some(job) => job.tell(Ok(())),
            // This kernel may wait for other work in the queue.
            None => (self.submission.catch_up)()?,
        }
        Ok(number)
    }

    fn pause(&mut self, mut gpu: Held, stuck: &Stuck<'_>) -> Outcome<(Held, bool)> {
        let number = self.number(&mut gpu)?;
        let (start, works, [mut pause, most]) = (Instant::now(), gpu.streams.beside.works, PAUSES);
        let goes_on = loop {
            if gpu.fault.is_some() || !gpu.streams.beside.set_waits(number, true) {
                self.cancelled = true;
                break false;
            }
            if stuck.proven && self.is_hopeless(&gpu) {
                // Writes just before the program began to wait must be seen.
                let works = Some(gpu.streams.beside.works);
                break self.hopeless.replace(gpu.streams.beside.works) != works;
            }
            drop(gpu);
            std::thread::sleep(pause);
            pause = most.min(2 * pause);
            gpu = any_gpu()?;
            let changed = gpu.streams.beside.works != works || (stuck.is_over)(&gpu.memory.global);
            if changed || !stuck.proven || start.elapsed() > TRY_AGAIN {
                break true;
            }
        };
        gpu.streams.beside.set_waits(number, false);
        Ok((gpu, goes_on))
    }

    /// Whether a thread of the program waits for work to end, and no other thread could release it.
    fn is_hopeless(&mut self, gpu: &Held) -> bool {
        let waiting = gpu.streams.beside.waiting_threads();
        if waiting == 0 {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        program_threads() <= waiting || since.elapsed() > TRUST
    }
}
