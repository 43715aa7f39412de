//! Runs work on a thread of its own while Python's thread waits: signals are handled, so that Ctrl-C ends the work, and the
//! progress is shown.
//!
//! Work ends early by unwinding: the place where it reports its progress, or where a technique in Python has raised an
//! exception, throws [`Stopped`], which no panic message announces and which is caught here.

use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long Python's thread waits before it looks at signals and shows the progress.
const GLANCE: Duration = Duration::from_millis(100);
/// Stack of the thread that works: that of a program's first thread on Linux.
const STACK_BYTES: usize = 8 << 20;

/// The payload with which stopped work unwinds.
struct Stopped;

/// The exception that stopped some work; techniques in Python share it with the watch.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Ends the work from within with an exception; the first one counts.
    pub(crate) fn stop(&self, why: PyErr) -> ! {
        held(&self.0).get_or_insert(why);
        resume_unwind(Box::new(Stopped))
    }
}

/// The progress of the work, and why it stops.
#[derive(Default)]
pub(crate) struct Watch {
    done: AtomicU64,
    of: AtomicU64,
    detail: Mutex<String>,
    stopping: AtomicBool,
    ended: Mutex<bool>,
    bell: Condvar,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Notes the progress of the work, and ends the work if that was asked for. It must not be called while the caller
    /// holds locks that others need for unwinding.
    pub(crate) fn report(&self, done: u64, of: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
        if self.stopping.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// As [`Watch::report`], with words for what is being done.
    pub(crate) fn report_as(&self, done: u64, of: u64, detail: impl FnOnce() -> String) {
        *held(&self.detail) = detail();
        self.report(done, of);
    }

    fn ring(&self) {
        *held(&self.ended) = true;
        self.bell.notify_all();
    }

    /// Waits for the end of the work, but not long; returns whether it has ended.
    fn wait(&self) -> bool {
        let ended = held(&self.ended);
        let waited = self.bell.wait_timeout_while(ended, GLANCE, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Does some work, showing its progress under a label as `progress` asks: `None` for a bar where that makes sense, a
/// switch, or a function of work done, all work, and a text.
///
/// # Errors
/// The exception that stopped the work: an interrupt, or one of a technique in Python.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    label: &str,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    watched_with(py, progress, label, &Raised::default(), work)
}

/// As [`watched`], with the place where techniques in Python leave their exceptions.
///
/// # Errors
/// As [`watched`].
pub(crate) fn watched_with<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    label: &str,
    raised: &Raised,
    work: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let bar = py.import("warplab._progress")?.call_method1("start", (progress, label))?;
    let outcome = std::thread::scope(|scope| -> PyResult<_> {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&watch)));
            watch.ring();
            outcome
        })?;
        while !py.detach(|| watch.wait()) {
            let shown = || -> PyResult<()> {
                let detail = held(&watch.detail).clone();
                let (done, of) = (watch.done.load(Ordering::Relaxed), watch.of.load(Ordering::Relaxed));
                bar.call_method1("update", (done, of, detail)).map(drop)
            };
            if watch.stopping.load(Ordering::Relaxed) {
                continue;
            }
            if let Err(why) = py.check_signals().and_then(|()| shown()) {
                held(&raised.0).get_or_insert(why);
            }
            watch.stopping.store(held(&raised.0).is_some(), Ordering::Relaxed);
        }
        Ok(thread.join())
    });
    bar.call_method0("close")?;
    if let Some(why) = held(&raised.0).take() {
        return Err(why);
    }
    match outcome? {
        Ok(Ok(result)) => Ok(result),
        // A panic of the model becomes Python's PanicException.
        Ok(Err(payload)) | Err(payload) => resume_unwind(payload),
    }
}
