//! Threads that run kernels.
//!
//! A kernel runs on a thread of ours while the program's thread waits for it. Signals, with arbitrary
//! handlers, can interrupt that wait, and it can end before the kernel does: when the kernel waits for memory
//! that the program has yet to write, the launch continues concurrently with the program
//! ([`crate::streams::beside`]). Kernels that are known to be quick and to wait for nothing run on the
//! program's thread.

use crate::error::{Outcome, Status};
use crate::signals::Blocked;
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Name of our threads; threads that they start without a name inherit it.
pub(super) const THREADS: &str = "warplab-launch";
/// Time after which an idle thread ends.
const PATIENCE: Duration = Duration::from_millis(300);

/// A task for which the program's thread waits.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Its result.
    outcome: Mutex<Option<Outcome>>,
    told: Condvar,
}

impl Job {
    /// Sets the result, so that the program's thread continues; only the first call has an effect.
    pub(crate) fn tell(&self, outcome: Outcome) {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(outcome);
        self.told.notify_all();
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Those of the result.
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

/// A task of a thread of ours. It does not panic.
pub(super) type Task = Box<dyn FnOnce() + Send>;

/// An idle thread: its number, and the channel of its next task.
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

/// Gives a task to an idle thread of ours, or to a new one.
///
/// # Errors
/// When there can be no thread.
pub(super) fn give(task: Task) -> Outcome {
    static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // Threads started under this guard block all signals.
    let _blocked = Blocked::new();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if idle.0 != process {
        std::mem::forget(std::mem::replace(&mut *idle, (process, Vec::new())));
    }
    if let Some((_, thread)) = idle.1.pop() {
        // Its channel is empty, and it does not end while it is in the list.
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
                    // Another thread may have given it a task meanwhile.
                    tasks.try_recv().ok()
                }
            };
        }
    };
    let started = std::thread::Builder::new().name(THREADS.into()).spawn(work);
    started.map(drop).map_err(|_| Status::OPERATING_SYSTEM)
}
