//! The threads that run an epoch: they take units one by one and meet at a barrier before and after.

use super::unit::Unit;
use crate::error::ReplayError;
use crate::source::LaunchSource;
use crossbeam::utils::{Backoff, CachePadded};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// State that the threads share.
pub(super) struct Crew {
    next: AtomicUsize,
    end: AtomicU64,
    finished: AtomicBool,
    barrier: Barrier,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Crew {
    /// Runs epochs until `between` says that all is done, and returns the cycle reached.
    ///
    /// `between` is called by one thread while no unit runs, with the cycle that every unit has reached.
    pub fn run<'a, S: LaunchSource + 'a>(
        units: &[Mutex<Unit<'a, S>>],
        threads: usize,
        start: u64,
        mut between: impl FnMut(&[Mutex<Unit<'a, S>>], u64) -> Result<Option<u64>, ReplayError>,
    ) -> Result<u64, ReplayError> {
        let threads = threads.clamp(1, units.len().max(1));
        let crew = Crew {
            next: AtomicUsize::new(0),
            end: AtomicU64::new(start),
            finished: AtomicBool::new(false),
            barrier: Barrier::new(threads),
            panic: Mutex::new(None),
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| crew.follow(units));
            }
            let outcome = crew.lead(units, start, &mut between);
            crew.finished.store(true, Ordering::Release);
            crew.barrier.wait();
            outcome
        })
    }

    fn lead<'a, S: LaunchSource + 'a>(
        &self,
        units: &[Mutex<Unit<'a, S>>],
        start: u64,
        between: &mut impl FnMut(&[Mutex<Unit<'a, S>>], u64) -> Result<Option<u64>, ReplayError>,
    ) -> Result<u64, ReplayError> {
        let mut now = start;
        loop {
            // A panic here must not leave the other threads waiting.
            let next = match catch_unwind(AssertUnwindSafe(|| between(units, now))) {
                Ok(next) => next?,
                Err(payload) => {
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
                    None
                }
            };
            self.rethrow();
            let Some(end) = next else { return Ok(now) };
            self.end.store(end, Ordering::Relaxed);
            self.next.store(0, Ordering::Relaxed);
            self.barrier.wait();
            self.work(units, end);
            self.barrier.wait();
            self.rethrow();
            now = end;
        }
    }

    /// Lets the other threads go and passes a panic on.
    fn rethrow(&self) {
        let payload = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = payload {
            self.finished.store(true, Ordering::Release);
            self.barrier.wait();
            resume_unwind(payload);
        }
    }

    fn follow<S: LaunchSource>(&self, units: &[Mutex<Unit<'_, S>>]) {
        loop {
            self.barrier.wait();
            if self.finished.load(Ordering::Acquire) {
                return;
            }
            self.work(units, self.end.load(Ordering::Relaxed));
            self.barrier.wait();
        }
    }

    fn work<S: LaunchSource>(&self, units: &[Mutex<Unit<'_, S>>], end: u64) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(index) else { return };
                unit.lock().unwrap_or_else(PoisonError::into_inner).run(end);
            }
        }));
        if let Err(payload) = outcome {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    }
}

/// A barrier that spins before it yields: epochs are shorter than a thread takes to sleep and wake.
struct Barrier {
    threads: usize,
    arrived: CachePadded<AtomicUsize>,
    round: CachePadded<AtomicUsize>,
}

impl Barrier {
    fn new(threads: usize) -> Barrier {
        Barrier { threads, arrived: AtomicUsize::new(0).into(), round: AtomicUsize::new(0).into() }
    }

    fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.fetch_add(1, Ordering::Release);
            return;
        }
        let backoff = Backoff::new();
        while self.round.load(Ordering::Acquire) == round {
            backoff.snooze();
        }
    }
}
