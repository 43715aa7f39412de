//! The threads that run an epoch: they take units one by one and meet at a barrier before and after.
//!
//! A thread begins with units of its own, the same in every epoch, whose state its core's caches hold, and then helps with
//! what others have left.

use super::RunOptions;
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
    /// By thread: how many of its units have been taken.
    taken: Vec<CachePadded<AtomicUsize>>,
    end: AtomicU64,
    finished: AtomicBool,
    barrier: Barrier,
    /// Seed of the order in which threads take units, for tests of what must not depend on it.
    #[cfg(test)]
    shuffle: Option<u64>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Crew {
    /// Runs epochs until `between` says that all is done, and returns the cycle reached.
    ///
    /// `between` is called by one thread while no unit runs, with the cycle that every unit has reached.
    pub fn run<'a, S: LaunchSource + 'a>(
        units: &[Mutex<Unit<'a, S>>],
        options: &RunOptions<'_>,
        start: u64,
        mut between: impl FnMut(&[Mutex<Unit<'a, S>>], u64) -> Result<Option<u64>, ReplayError>,
    ) -> Result<u64, ReplayError> {
        let threads = options.threads.clamp(1, units.len().max(1));
        let crew = Crew {
            taken: (0..threads).map(|_| AtomicUsize::new(0).into()).collect(),
            end: AtomicU64::new(start),
            finished: AtomicBool::new(false),
            barrier: Barrier::new(threads),
            #[cfg(test)]
            shuffle: options.shuffle,
            panic: Mutex::new(None),
        };
        std::thread::scope(|scope| {
            let crew = &crew;
            for thread in 1..threads {
                scope.spawn(move || crew.follow(thread, units));
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
            self.taken.iter().for_each(|taken| taken.store(0, Ordering::Relaxed));
            self.barrier.wait();
            self.work(0, units, end);
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

    fn follow<S: LaunchSource>(&self, thread: usize, units: &[Mutex<Unit<'_, S>>]) {
        loop {
            self.barrier.wait();
            if self.finished.load(Ordering::Acquire) {
                return;
            }
            self.work(thread, units, self.end.load(Ordering::Relaxed));
            self.barrier.wait();
        }
    }

    fn work<S: LaunchSource>(&self, thread: usize, units: &[Mutex<Unit<'_, S>>], end: u64) {
        let threads = self.taken.len();
        let run_units_of = |owner: usize| {
            loop {
                let turn = self.taken[owner].fetch_add(1, Ordering::Relaxed);
                let index = owner + turn * threads;
                #[cfg(test)]
                let index = self.shuffled(index, units.len(), end);
                let Some(unit) = units.get(index) else { return };
                unit.lock().unwrap_or_else(PoisonError::into_inner).run(end);
            }
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            (thread..threads).chain(0..thread).for_each(run_units_of);
        }));
        if let Err(payload) = outcome {
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
        }
    }
}

#[cfg(test)]
impl Crew {
    /// The unit that is taken in a turn: a permutation that differs from epoch to epoch, with pauses here and there.
    fn shuffled(&self, turn: usize, units: usize, end: u64) -> usize {
        let Some(seed) = self.shuffle.filter(|_| turn < units) else { return turn };
        let mix = |value: u64| {
            let z = (value ^ value >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            z ^ z >> 29
        };
        let noise = mix(seed ^ mix(end));
        if mix(noise ^ turn as u64) % 5 == 0 {
            std::thread::sleep(std::time::Duration::from_micros(mix(noise + turn as u64) % 20));
        }
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let count = units as u64;
        let step = (1..).map(|n| (noise >> 20) % count + n).find(|step| gcd(*step, count) == 1).unwrap_or(1);
        ((turn as u64 * step + noise) % count) as usize
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
