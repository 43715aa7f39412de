//! Launches that go on beside the program, and the work that has to wait for them.
//!
//! Work is done when it is submitted. The exception is a kernel that has come to wait for memory which the program, or
//! work of another stream, may still write: its launch returns, and the kernel goes on when the memory has changed.
//! Until it has ended, work that a stream has to do after it is queued here, in the order of submission, and who
//! synchronises waits. When everybody waits for everybody, that is the deadlock which the kernel is ended with.

use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu, perform_on, settle};
use crate::host::{self, Access};
use crate::stream::LEGACY;
use crate::work::{Copy, Place, Work};
use crate::worker;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Time after which who waits looks again, at first and at most.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
/// Whether work is queued; a thread need not take the lock to see that there is none.
static QUEUED: AtomicBool = AtomicBool::new(false);
/// Program threads that wait for work to end.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// A stream as far as order is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    stream: u64,
    /// Whether it waits for the legacy stream, and that one for it.
    blocking: bool,
}

impl Lane {
    pub(crate) fn of(gpu: &Gpu, stream: u64) -> Lane {
        let flags = gpu.streams.get(stream).ok().flatten().map_or(0, |s| s.flags);
        Lane { stream: if stream == 0 { LEGACY } else { stream }, blocking: flags & 1 == 0 }
    }

    fn orders(self, other: Lane) -> bool {
        let legacy = self.stream == LEGACY || other.stream == LEGACY;
        self.stream == other.stream || legacy && self.blocking && other.blocking
    }
}

/// Work under way.
#[derive(Debug)]
struct Running {
    number: u64,
    lane: Lane,
    /// Whether it is a kernel that waits.
    waits: bool,
}

/// Work that waits for other work.
#[derive(Debug)]
struct Queued {
    lane: Lane,
    work: Work,
    /// Bytes that a copy reads, which the program may change as soon as it has submitted it.
    _bytes: Vec<u8>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Beside {
    running: Vec<Running>,
    queue: VecDeque<Queued>,
    numbers: u64,
    /// Pieces of work done so far, by which kernels see that something has happened.
    pub works: u64,
}

/// What somebody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// All work.
    All,
    /// That of a stream.
    Stream(u64),
    /// An event.
    Event(u64),
}

impl Beside {
    /// Whether nothing goes on beside the program, as it nearly always is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty()
    }

    /// Whether kernels go on beside the program.
    #[must_use]
    pub fn has_kernels(&self) -> bool {
        self.running.iter().any(|r| r.waits)
    }

    fn is_pending(&self, event: u64) -> bool {
        self.queue.iter().any(|q| q.work == Work::Record(event))
    }

    fn holds_up(&self, what: What) -> bool {
        let lane = |stream: u64| if stream == 0 { LEGACY } else { stream };
        match what {
            What::All => !self.is_empty(),
            What::Event(event) => self.is_pending(event),
            What::Stream(stream) => self
                .running
                .iter()
                .map(|r| r.lane)
                .chain(self.queue.iter().map(|q| q.lane))
                .any(|l| l.stream == lane(stream)),
        }
    }

    /// Takes note of work that goes on beside the program; its number.
    pub(crate) fn start(&mut self, lane: Lane) -> u64 {
        self.numbers += 1;
        self.running.push(Running { number: self.numbers, lane, waits: false });
        self.numbers
    }

    /// Takes note of its end.
    pub(crate) fn end(&mut self, number: u64) {
        self.running.retain(|r| r.number != number);
    }

    /// Takes note that a kernel waits or goes on; false when it has been ended.
    pub(crate) fn set_waits(&mut self, number: u64, waits: bool) -> bool {
        let Some(kernel) = self.running.iter_mut().find(|r| r.number == number) else { return false };
        kernel.waits = waits;
        true
    }

    /// Whether threads of the program wait for kernels which all wait themselves, with nothing left to do: how many.
    pub(crate) fn waiting_threads(&self) -> usize {
        let idle = self.ready().is_none() && self.running.iter().all(|r| r.waits);
        if idle { WAITING.load(Ordering::SeqCst) } else { 0 }
    }

    /// Place in the queue of the first piece of work that nothing holds up.
    fn ready(&self) -> Option<usize> {
        (0..self.queue.len()).find(|&at| {
            let Queued { lane, work, .. } = &self.queue[at];
            let mut before = self.queue.iter().take(at);
            let recorded = |q: &Queued| matches!(work, Work::Wait(event) if q.work == Work::Record(*event));
            !self.running.iter().any(|r| r.lane.orders(*lane))
                && !before.any(|q| q.lane.orders(*lane) || recorded(q))
        })
    }
}

/// Whether work of a stream has to wait; it is queued then.
pub fn queue(gpu: &mut Gpu, stream: u64, work: &Work) -> bool {
    if gpu.beside.is_empty() || worker::is_ours() {
        return false;
    }
    let lane = Lane::of(gpu, stream);
    let others = gpu.beside.running.iter().map(|r| r.lane).chain(gpu.beside.queue.iter().map(|q| q.lane));
    let pending = matches!(work, Work::Wait(event) if gpu.beside.is_pending(*event));
    if !pending && !others.into_iter().any(|other| other.orders(lane)) {
        return false;
    }
    let mut work = work.clone();
    let bytes = keep(gpu, &mut work);
    QUEUED.store(true, Ordering::SeqCst);
    gpu.beside.queue.push_back(Queued { lane, work, _bytes: bytes });
    true
}

/// Copies from pageable memory of the program read it when they are submitted.
fn keep(gpu: &Gpu, work: &mut Work) -> Vec<u8> {
    if let Work::Copy(Copy { from: Place::Linear { address, .. }, extent: [length, 1, 1], .. }) = work
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

/// Does the work whose time has come, on a thread of ours.
pub fn catch_up() {
    while QUEUED.load(Ordering::SeqCst) {
        let Ok(mut gpu) = any_gpu() else { return };
        QUEUED.store(!gpu.beside.queue.is_empty(), Ordering::SeqCst);
        let Some(at) = gpu.beside.ready() else { return };
        let Some(next) = gpu.beside.queue.remove(at) else { return };
        let number = gpu.beside.start(next.lane);
        drop(gpu);
        let outcome = perform_on(next.lane.stream, &next.work);
        let Ok(mut gpu) = any_gpu() else { return };
        gpu.beside.end(number);
        if let Err(status) = outcome {
            gpu.fault.get_or_insert(status);
        }
    }
}

/// Whether all of it has ended, and is in the trace then.
///
/// # Errors
/// `NOT_READY` when it has not.
pub fn query(what: What) -> Outcome {
    if any_gpu()?.beside.holds_up(what) {
        return Err(Status::NOT_READY);
    }
    settle()
}

/// Waits for work to end.
///
/// # Errors
/// When there is no GPU.
pub fn wait_for(what: What) -> Outcome {
    if !any_gpu()?.beside.holds_up(what) || worker::is_ours() {
        return Ok(());
    }
    WAITING.fetch_add(1, Ordering::SeqCst);
    let [mut pause, most] = PAUSES;
    let waited = loop {
        std::thread::sleep(pause);
        pause = most.min(2 * pause);
        match any_gpu() {
            Ok(gpu) if gpu.beside.holds_up(what) => {}
            other => break other.map(drop),
        }
    };
    WAITING.fetch_sub(1, Ordering::SeqCst);
    waited
}

/// How names of our threads begin, that of the recorder's writer included.
const OURS: [&str; 2] = ["warplab", "trace-writer"];

/// Threads of this process that are not ours and have not ended.
#[must_use]
pub fn program_threads() -> usize {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return usize::MAX };
    let is_the_programs = |task: &std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        // The name stands in parentheses and may hold some itself; the state follows it.
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
            return false;
        };
        !OURS.iter().any(|ours| name.starts_with(ours)) && !rest.trim_start().starts_with(['Z', 'X'])
    };
    tasks.flatten().filter(is_the_programs).count()
}

/// Whether the program's first thread has ended, and all others that are left are ours.
#[must_use]
pub fn is_abandoned() -> bool {
    // A process has the state of its first thread.
    let state = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let has_ended = state.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
    has_ended && program_threads() == 0
}
