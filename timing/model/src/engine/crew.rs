//! The worker pool that runs an epoch: threads take domains one by one, and the epoch ends when every domain has run.
//!
//! Each thread first runs its own domains, the same in every epoch, because their state is in its core's
//! caches. It then takes domains that other threads have not started. The leader waits for domains, not for
//! threads: a thread that the host does not schedule delays the epoch only if it has taken a domain. Waiting
//! threads spin briefly, because epochs are short, and then sleep, to free the processor. A thread that woke
//! up and found no domain is woken less often. Threads are started once a launch has run long enough to pay
//! for them.

#[cfg(test)]
use super::disorder::Disorder;
use super::domain::{Domains, lock};
use super::job::RunOptions;
use crate::error::ReplayError;
use crate::source::LaunchSource;
use crossbeam::utils::CachePadded;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How long a thread spins before it sleeps: longer than most domains run, shorter than a time slice.
const SPIN: Duration = Duration::from_micros(50);
/// The pool doubles its threads each time that a launch has run for this long.
const GROWTH: Duration = Duration::from_micros(500);
/// Maximum number of epochs that a thread without work sleeps.
const MOST_REST: u64 = 256;
/// Epoch number that tells threads to exit.
const OVER: u64 = u64::MAX;

/// State that the threads share.
pub(super) struct Crew {
    /// Number of its domains that nobody has taken in this epoch, by thread; negative if threads looked in vain.
    left: Vec<CachePadded<AtomicIsize>>,
    /// The domains of the epoch: those of one thread are as many places apart as there are threads.
    queue: Vec<AtomicUsize>,
    /// Domains that have run in this epoch, and those that have to.
    done: CachePadded<AtomicUsize>,
    awake: AtomicUsize,
    /// Cycles at which the epoch begins and ends. A thread that has taken a domain may read them: the epoch cannot
    /// end before that domain has run.
    begin: AtomicU64,
    end: AtomicU64,
    /// Number of the epoch, from 1.
    epoch: CachePadded<AtomicU64>,
    leader: Thread,
    leader_sleeps: AtomicBool,
    /// Sleep state, by thread; the leader's is not used.
    seats: Vec<CachePadded<Seat>>,
    /// Disorder that tests inject; it must not change results.
    #[cfg(test)]
    disorder: Disorder,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Sleep state of a thread.
#[derive(Default)]
struct Seat {
    thread: OnceLock<Thread>,
    sleeps: AtomicBool,
    /// First epoch for which it is to be woken.
    until: AtomicU64,
}

/// Ends all threads when the leader returns or panics.
struct Dismissal<'c>(&'c Crew);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        self.0.epoch.store(OVER, Ordering::SeqCst);
        self.0.seats.iter().for_each(|seat| seat.wake());
    }
}

impl Crew {
    /// Runs epochs until `between` returns `None`, and returns the cycle reached.
    ///
    /// `between` is called by one thread while no domain runs, with the cycle that every domain has reached or sleeps
    /// beyond, and the domains that ran; it replaces them with those that have to run in the next epoch.
    pub(super) fn run<'a, S: LaunchSource + 'a>(
        domains: &Domains<'a, S>,
        options: &RunOptions<'_>,
        most_threads: usize,
        start: u64,
        mut between: impl FnMut(&Domains<'a, S>, u64, &mut Vec<usize>) -> Result<Option<u64>, ReplayError>,
    ) -> Result<u64, ReplayError> {
        let threads = options.threads.min(most_threads).clamp(1, domains.len().max(1));
        let crew = Crew {
            left: (0..threads).map(|_| AtomicIsize::new(0).into()).collect(),
            queue: (0..domains.len() + threads).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicUsize::new(0).into(),
            awake: AtomicUsize::new(0),
            begin: AtomicU64::new(start),
            end: AtomicU64::new(start),
            epoch: AtomicU64::new(0).into(),
            leader: std::thread::current(),
            leader_sleeps: AtomicBool::new(false),
            seats: (0..threads).map(|_| Seat::default().into()).collect(),
            #[cfg(test)]
            disorder: options.disorder,
            panic: Mutex::new(None),
        };
        std::thread::scope(|scope| {
            let crew = &crew;
            let _dismissal = Dismissal(crew);
            let mut hired = 1;
            let started = Instant::now();
            let mut now = start;
            let (mut awake, mut counts) = (Vec::new(), vec![0; threads]);
            loop {
                let Some(end) = between(domains, now, &mut awake)? else { return Ok(now) };
                let wanted = crew.wanted(hired, started);
                for thread in hired..wanted {
                    scope.spawn(move || crew.follow(thread, domains));
                }
                hired = wanted;
                #[cfg(test)]
                crew.disorder.shuffle(&mut awake, end);
                crew.begin(now, end, &awake, &mut counts, hired);
                crew.work(0, domains);
                crew.wait_for_units();
                if let Some(payload) = crew.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    resume_unwind(payload);
                }
                now = end;
            }
        })
    }

    /// Number of threads that the run time so far justifies.
    fn wanted(&self, hired: usize, started: Instant) -> usize {
        let most = self.left.len();
        #[cfg(test)]
        if self.disorder != Disorder::default() {
            return most;
        }
        if hired == most {
            return most;
        }
        let doublings = started.elapsed().as_micros() / GROWTH.as_micros();
        let wanted = 1usize.checked_shl(doublings.min(32) as u32).unwrap_or(most);
        wanted.clamp(hired, most)
    }

    /// Starts an epoch.
    fn begin(&self, begin: u64, end: u64, awake: &[usize], counts: &mut [usize], hired: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.awake.store(awake.len(), Ordering::Relaxed);
        self.begin.store(begin, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        let threads = self.left.len();
        counts.fill(0);
        for domain in awake {
            let owner = domain % threads;
            self.queue[owner + counts[owner] * threads].store(*domain, Ordering::Relaxed);
            counts[owner] += 1;
        }
        // A thread that takes a domain sees the stores above; all domains of the previous epoch are taken.
        for (left, count) in self.left.iter().zip(counts) {
            left.store(*count as isize, Ordering::Release);
        }
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        for seat in &self.seats[1..hired] {
            if seat.sleeps.load(Ordering::SeqCst) && seat.until.load(Ordering::Relaxed) <= epoch {
                seat.wake();
            }
        }
    }

    fn wait_for_units(&self) {
        let awake = self.awake.load(Ordering::Relaxed);
        let all = || self.done.load(Ordering::SeqCst) == awake;
        if !spin_until(all) {
            self.leader_sleeps.store(true, Ordering::SeqCst);
            while !all() {
                std::thread::park();
            }
            self.leader_sleeps.store(false, Ordering::SeqCst);
        }
    }

    fn follow<S: LaunchSource>(&self, thread: usize, domains: &Domains<'_, S>) {
        let seat = &self.seats[thread];
        seat.thread.get_or_init(std::thread::current);
        let (mut seen, mut rest) = (0, 1);
        loop {
            seen = self.next_epoch(seat, seen, rest);
            if seen == OVER {
                return;
            }
            #[cfg(test)]
            if self.disorder.kept_off {
                while self.epoch.load(Ordering::SeqCst) != OVER {
                    std::thread::sleep(Duration::from_millis(1));
                }
                return;
            }
            rest = if self.work(thread, domains) > 0 { 1 } else { (2 * rest).min(MOST_REST) };
        }
    }

    /// Waits for an epoch after `seen`; once the thread sleeps, it sleeps for at least `rest` epochs.
    fn next_epoch(&self, seat: &Seat, seen: u64, rest: u64) -> u64 {
        if !spin_until(|| self.epoch.load(Ordering::Acquire) != seen) {
            seat.until.store(seen + rest, Ordering::Relaxed);
            seat.sleeps.store(true, Ordering::SeqCst);
            while seat.sleeps.load(Ordering::SeqCst) && self.epoch.load(Ordering::SeqCst) != OVER {
                std::thread::park();
            }
            seat.sleeps.store(false, Ordering::SeqCst);
        }
        self.epoch.load(Ordering::SeqCst)
    }

    /// Runs domains until none is left, and returns how many it ran.
    fn work<S: LaunchSource>(&self, thread: usize, domains: &Domains<'_, S>) -> usize {
        let threads = self.left.len();
        let mut ran = 0;
        for owner in (thread..threads).chain(0..thread) {
            loop {
                let left = self.left[owner].fetch_sub(1, Ordering::Acquire);
                if left <= 0 {
                    break;
                }
                let (begin, end) = (self.begin.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
                #[cfg(test)]
                self.disorder.pause(left as u64, end);
                let index = self.queue[owner + (left as usize - 1) * threads].load(Ordering::Relaxed);
                let run = || lock(&domains[index]).run(begin, end);
                if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
                }
                ran += 1;
                let done = self.done.fetch_add(1, Ordering::SeqCst) + 1;
                if done == self.awake.load(Ordering::Relaxed) && self.leader_sleeps.load(Ordering::SeqCst) {
                    self.leader.unpark();
                }
            }
        }
        ran
    }
}

impl Seat {
    fn wake(&self) {
        if self.sleeps.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

/// Spins for at most [`SPIN`]; returns whether the condition became true.
fn spin_until(ready: impl Fn() -> bool) -> bool {
    const ROUNDS: usize = 32;
    let started = Instant::now();
    loop {
        for _ in 0..ROUNDS {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        if started.elapsed() >= SPIN {
            return false;
        }
    }
}
