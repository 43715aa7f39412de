//! Launches that run concurrently with the program, and the work that waits for them.
//!
//! Work is done when it is submitted. The exception is a kernel that waits for memory which the program, or
//! work of another stream, may still write: its launch returns, and the kernel continues when the memory has
//! changed. Until it has ended, later work of its stream is queued here, in the order of submission, and
//! threads that synchronise wait. If all of them wait for each other, the kernel ends with a deadlock.

use super::work::Work;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Interval at which a waiting thread polls, at first and at most.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
/// Whether work is queued; a thread need not take the lock to see that there is none.
pub(crate) static QUEUED: AtomicBool = AtomicBool::new(false);
/// Program threads that wait for work to end.
pub(crate) static WAITING: AtomicUsize = AtomicUsize::new(0);

/// The stream that synchronises with all others, as handle 0 means by default.
pub(crate) const LEGACY: u64 = 1;

/// A stream's properties that determine order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    pub(crate) stream: u64,
    /// Whether it waits for the legacy stream, and that one for it.
    blocking: bool,
}

impl Lane {
    /// The lane of a stream with these flags.
    pub(super) fn new(stream: u64, flags: u32) -> Lane {
        Lane { stream: if stream == 0 { LEGACY } else { stream }, blocking: flags & 1 == 0 }
    }

    pub(crate) fn orders(self, other: Lane) -> bool {
        let legacy = self.stream == LEGACY || other.stream == LEGACY;
        self.stream == other.stream || legacy && self.blocking && other.blocking
    }
}

/// Work in flight.
#[derive(Debug)]
struct Running {
    number: u64,
    lane: Lane,
    /// Whether it is a kernel that waits.
    waits: bool,
}

/// Work that waits for other work.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) lane: Lane,
    pub(crate) work: Work,
    /// Bytes that a copy reads, which the program may change as soon as it has submitted it.
    pub(crate) _bytes: Vec<u8>,
}

/// All launches in flight and queued work.
#[derive(Debug, Default)]
pub struct Beside {
    running: Vec<Running>,
    pub(crate) queue: VecDeque<Queued>,
    numbers: u64,
    /// Number of completed pieces of work; a change tells waiting kernels to retry.
    pub works: u64,
}

/// Work to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// All work.
    All,
    /// That of a stream.
    Stream(u64),
    /// An event.
    Event(u64),
}

impl Beside {
    /// Whether nothing runs concurrently with the program, the usual case.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.queue.is_empty()
    }

    /// Whether kernels run concurrently with the program.
    #[must_use]
    pub fn has_kernels(&self) -> bool {
        self.running.iter().any(|r| r.waits)
    }

    pub(crate) fn is_pending(&self, event: u64) -> bool {
        self.queue.iter().any(|q| q.work == Work::Record(event))
    }

    pub(crate) fn holds_up(&self, what: What) -> bool {
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

    /// The lanes of all work in flight and queued.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = Lane> {
        self.running.iter().map(|r| r.lane).chain(self.queue.iter().map(|q| q.lane))
    }

    /// Adds work that runs concurrently with the program; returns its number.
    pub(crate) fn start(&mut self, lane: Lane) -> u64 {
        self.numbers += 1;
        self.running.push(Running { number: self.numbers, lane, waits: false });
        self.numbers
    }

    /// Removes work that has ended.
    pub(crate) fn end(&mut self, number: u64) {
        self.running.retain(|r| r.number != number);
    }

    /// Sets whether a kernel waits; false if it has been cancelled.
    pub(crate) fn set_waits(&mut self, number: u64, waits: bool) -> bool {
        let Some(kernel) = self.running.iter_mut().find(|r| r.number == number) else { return false };
        kernel.waits = waits;
        true
    }

    /// Number of the program's threads that wait for kernels, if all of these wait themselves and no work is
    /// ready.
    pub(crate) fn waiting_threads(&self) -> usize {
        let idle = self.ready().is_none() && self.running.iter().all(|r| r.waits);
        if idle { WAITING.load(Ordering::SeqCst) } else { 0 }
    }

    /// Index in the queue of the first piece of work that is ready.
    pub(crate) fn ready(&self) -> Option<usize> {
        (0..self.queue.len()).find(|&at| {
            let Queued { lane, work, .. } = &self.queue[at];
            let mut before = self.queue.iter().take(at);
            let recorded = |q: &Queued| matches!(work, Work::Wait(event) if q.work == Work::Record(*event));
            !self.running.iter().any(|r| r.lane.orders(*lane))
                && !before.any(|q| q.lane.orders(*lane) || recorded(q))
        })
    }
}
