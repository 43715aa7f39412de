//! Where a launching thread keeps the lock while its kernel runs, and gives it up while the kernel waits for memory.
//!
//! What a waiting kernel reads is looked at now and then. It has another try when that has changed, when any other work
//! has been done, and from time to time in any case. When every thread of the program waits for work to end and the
//! kernel still waits after one more try, nobody is left to help it.

use crate::error::Outcome;
use crate::gpu::{Held, any_gpu};
use crate::process::program_threads;
use crate::running::worker::{self, Job};
use crate::streams::beside::PAUSES;
use emulator::exec::Stuck;
use emulator::memory::GlobalMemory;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a kernel has another try, whatever memory looks like.
const TRY_AGAIN: Duration = Duration::from_millis(50);
/// How long threads that are not known to wait are trusted to act when another one waits for the kernel.
const TRUST: Duration = Duration::from_secs(60);

/// How a launch has come here.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    /// Its stream.
    pub stream: u64,
    /// What the program's thread waits for; `None` when it launches itself, or nobody waits.
    pub job: Option<Arc<Job>>,
    /// Has another thread do the work that waits for launches beside the program.
    pub catch_up: fn() -> Outcome,
}

/// A launch on this thread.
struct Desk {
    /// The lock; not there while the kernel waits.
    gpu: Option<Held>,
    submission: Submission,
    /// Its number among what goes on beside the program, once it does.
    number: Option<u64>,
    /// Pieces of work done when nobody was found to be left who could help.
    hopeless: Option<u64>,
    /// Since when the program waits.
    since: Option<Instant>,
    /// Whether the kernel is ended for no fault of its own.
    cancelled: bool,
}

thread_local! {
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

/// Begins a launch.
pub(super) fn open(gpu: Held, submission: Submission) {
    let (number, hopeless, since) = (None, None, None);
    DESK.set(Some(Desk { gpu: Some(gpu), submission, number, hopeless, since, cancelled: false }));
}

/// Ends it: the lock, and whether the kernel was ended because another one has failed.
///
/// # Errors
/// When there is no GPU.
pub(super) fn close() -> Outcome<(Held, bool)> {
    let Some(desk) = DESK.take() else { return Ok((any_gpu()?, false)) };
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

/// Lets the program go on until memory may have changed; false when nobody is left to change it.
pub(super) fn waits(memory: &mut GlobalMemory, stuck: &Stuck<'_>) -> bool {
    if !worker::is_ours() {
        return false;
    }
    let Some(mut desk) = DESK.take() else { return false };
    let Some(mut gpu) = desk.gpu.take() else { return false };
    std::mem::swap(&mut gpu.memory.global, memory);
    let paused = desk.pause(gpu, stuck);
    let goes_on = paused.is_ok_and(|(mut gpu, goes_on)| {
        std::mem::swap(&mut gpu.memory.global, memory);
        desk.gpu = Some(gpu);
        goes_on
    });
    DESK.set(Some(desk));
    goes_on
}

impl Desk {
    /// The number of the launch, which goes on beside the program from the first time on.
    fn number(&mut self, gpu: &mut Held) -> Outcome<u64> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let lane = gpu.streams.lane(self.submission.stream);
        let number = *self.number.insert(gpu.streams.beside.start(lane));
        match &self.submission.job {
            Some(job) => job.tell(Ok(())),
            // What else is in the queue may be what this one waits for.
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
                // What was written just before the program began to wait has to be seen.
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

    /// Whether a thread of the program waits for work to end, and no other can do anything about it.
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
