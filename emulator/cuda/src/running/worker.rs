//! Threads that run kernels.
//!
//! A kernel runs on a thread of ours while the program's thread waits for it. That wait can be interrupted by signals
//! whose handlers do what they like, and it can end before the kernel does: when the kernel waits for memory that the
//! program has yet to write, the launch goes on beside the program ([`crate::streams::beside`]). Kernels that are known to be
//! quick and to wait for nothing run on the program's thread.

use crate::error::{Outcome, Status};
use crate::signals::Blocked;
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How threads of ours are called; who starts a thread without a name gives it this one too.
pub(super) const THREADS: &str = "warplab-launch";
/// How long a thread without work stays.
const PATIENCE: Duration = Duration::from_millis(300);

/// What the program's thread waits for.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// What it is told.
    outcome: Mutex<Option<Outcome>>,
    told: Condvar,
}

impl Job {
    /// The program's thread goes on; of several calls the first counts.
    pub(crate) fn tell(&self, outcome: Outcome) {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
        self.told.notify_all();
    }

    /// Waits until it is told.
    ///
    /// # Errors
    /// What it is told.
    pub(crate) fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *outcome {
                Some(outcome) => return outcome,
                None => outcome = self.told.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// What a thread of ours is given. It does not panic.
pub(super) type Task = Box<dyn FnOnce() + Send>;

/// A thread without work: its number, and where it takes its next task from.
type Idle = (u64, SyncSender<Task>);

/// Threads without work, of the process with this number: a child after `fork` has none.
static IDLE: Mutex<(u32, Vec<Idle>)> = Mutex::new((0, Vec::new()));

thread_local! {
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one of ours.
#[must_use]
pub(super) fn is_ours() -> bool {
    IS_OURS.get()
}

/// Has a thread of ours do a task: one that is idle, or a new one.
///
/// # Errors
/// When there can be no thread.
pub(super) fn give(task: Task) -> Outcome {
    static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // Threads take no signals when they are started under this.
    let _blocked = Blocked::new();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.0 != process {
        std::mem::forget(std::mem::replace(&mut *idle, (process, Vec::new())));
    }
    if let Some((_, thread)) = idle.1.pop() {
        // It has room for a task, since it has none, and stays for as long as it is in the list.
        return thread.try_send(task).map_err(|_| Status::LAUNCH_FAILURE);
    }
    drop(idle);
    let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let (sender, tasks) = sync_channel(1);
    let work = move || {
        IS_OURS.set(true);
        let mut next = Some(task);
        while let Some(task) = next {
            task();
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).1.push((number, sender.clone()));
            next = match tasks.recv_timeout(PATIENCE) {
                Ok(task) => Some(task),
                Err(RecvTimeoutError::Disconnected) => None,
                Err(RecvTimeoutError::Timeout) => {
                    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
                    idle.1.retain(|(other, _)| *other != number);
                    // Somebody may have been faster.
                    tasks.try_recv().ok()
                }
            };
        }
    };
    let started = std::thread::Builder::new().name(THREADS.into()).spawn(work);
    started.map(drop).map_err(|_| Status::OPERATING_SYSTEM)
}
