//! Completes the trace and prints the summary when the process ends, in whatever way.
//!
//! After `exit` or a return from `main` the library's destructor does this, after the program's own. A signal
//! that would end the process (an interrupt, a crash, `abort`) is delayed: its handler wakes a thread, which
//! may call any function, waits for it, and then lets the signal act. Signals that the program handles itself
//! are left to it. A child after `fork` has no part in the recording. A process that ends otherwise (SIGKILL,
//! `_exit`) leaves the trace's `.part` file, which can be opened as it is. A program that would end
//! successfully ends with exit code 1 when its trace could not be written.

use crate::process::{is_abandoned, is_auditor};
use crate::signals::Blocked;
use crate::summary;
use crate::tell::tell;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use trace_format::validate::read_back;
use trace_format::writer::Finisher;
use warplab_host::destination::Identity;

/// Signals that end a process unless it handles them.
const SIGNALS: [i32; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
];
/// Environment variable that identifies the file at the trace's name that the trace replaces.
pub(crate) const REPLACES_VARIABLE: &str = "WARPLAB_RECORD_REPLACES";
/// Environment variable of the process that becomes a recorded program: its number and the path of its trace.
const EXPECTED_VARIABLE: &str = "WARPLAB_RECORD_EXPECTED";
/// Longest delay of a signal.
const PATIENCE_MS: i32 = 20_000;
/// Interval of the check whether all of the program's threads have ended.
const GLANCE_MS: i32 = 200;

/// The current recording: its finisher, and the temporary name of the trace, if it has one.
static RECORDING: Mutex<Option<(Finisher, Option<PathBuf>)>> = Mutex::new(None);
/// Why a recording was abandoned while the program continued.
static GAVE_UP: Mutex<Option<String>> = Mutex::new(None);
/// Whether the program must not end successfully, and the exit code that it passed to `exit`.
static FAILED: AtomicBool = AtomicBool::new(false);
static EXIT_CODE: AtomicI32 = AtomicI32::new(-1);
/// Whether this process has completed a trace, under whatever name.
static WRITTEN: AtomicBool = AtomicBool::new(false);
/// Launches in the trace.
static RECORDED: AtomicU64 = AtomicU64::new(0);
/// Whether this process is a child of the one that loaded the library.
static FORKED: AtomicBool = AtomicBool::new(false);
/// Pipe to which handlers write signals, and pipe from which they read completion; -1 before they are
/// installed.
static CALL: AtomicI32 = AtomicI32::new(-1);
static ANSWER: AtomicI32 = AtomicI32::new(-1);

/// Completes unfinished work; set when the GPU is created.
static FINISH: OnceLock<fn(&str)> = OnceLock::new();

/// Whether this process was forked from the one that uses the GPU.
#[must_use]
pub(crate) fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Registers a function that completes unfinished work when the process ends; its argument is the reason for
/// ending a launch in flight.
pub(crate) fn on_end(finish: fn(&str)) {
    FINISH.get_or_init(|| finish);
}

fn finish(why: &str) {
    if let Some(finish) = FINISH.get()
        && !is_child()
        && !is_auditor()
    {
        finish(why);
    }
}

/// From now on, [`is_child`] is true in children of this process.
pub(crate) fn watch_forks() {
    static WATCHING: Once = Once::new();
    WATCHING.call_once(|| {
        // SAFETY: the function only stores to an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

/// Installs the handlers for the end of the process.
pub(crate) fn watch() {
    static WATCHING: Once = Once::new();
    watch_forks();
    WATCHING.call_once(|| {
        // SAFETY: the function only stores to an atomic.
        unsafe { on_exit(exiting, std::ptr::null_mut()) };
        if let Err(error) = install() {
            tell(&format!("signals cannot be watched, so that they cut the trace off: {error}"));
        }
    });
}

/// Registers a recording, which ends with the process.
pub(crate) fn recording(finisher: Finisher, part: Option<PathBuf>) {
    *RECORDING.lock().unwrap_or_else(PoisonError::into_inner) = Some((finisher, part));
}

/// Notes that the recording has been abandoned, and why.
pub(crate) fn gave_up(why: String) {
    GAVE_UP.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
}

/// Makes the program end with an error code, even if it passes 0.
pub(crate) fn fail() {
    FAILED.store(true, Ordering::Relaxed);
}

/// One more launch is in the trace.
pub(crate) fn recorded() {
    RECORDED.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

unsafe extern "C" {
    /// Like `atexit`, but the function receives the exit code.
    fn on_exit(function: extern "C" fn(i32, *mut libc::c_void), argument: *mut libc::c_void) -> i32;
}

extern "C" fn exiting(code: i32, _: *mut libc::c_void) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

/// Completes the trace, if one is being written; on failure prints the error and returns `false`.
pub(crate) fn complete(why: &str) -> bool {
    let gave_up = GAVE_UP.lock().unwrap_or_else(PoisonError::into_inner).take();
    let recording = RECORDING.lock().unwrap_or_else(PoisonError::into_inner).take();
    let launches = RECORDED.swap(0, Ordering::Relaxed);
    let (error, part) = match (gave_up, recording) {
        (None, None) => return true,
        (Some(error), None) => (error, None),
        (Some(error), Some((_, part))) => (error, part),
        (None, Some((finisher, part))) => match finisher.finish(why) {
            Ok((written, path)) => {
                let is_file = path.metadata().is_ok_and(|file| file.is_file());
                let read = if is_file { read_back(&path).map(|_| ()) } else { Ok(()) };
                summary::traced(path, written, launches);
                WRITTEN.store(true, Ordering::Relaxed);
                return match read {
                    Ok(()) => true,
                    Err(error) => {
                        tell(&error);
                        false
                    }
                };
            }
            Err(error) => (error.to_string(), part),
        },
    };
    let left = part.filter(|part| part.metadata().is_ok_and(|found| found.len() > 0));
    let left = left.map_or_else(String::new, |part| {
        format!("\nwarplab: what was recorded until then is in {}", part.display())
    });
    tell(&format!("the trace is not complete: {error}{left}"));
    false
}

/// Has the end of the process checked, also of a program that never uses the GPU.
pub(crate) fn begin() {
    // SAFETY: the function calls only what may be called after the program's own end.
    unsafe { on_exit(ended, std::ptr::null_mut()) };
}

/// The last of all: [`last`] is called before, since the loader registers it later.
extern "C" fn ended(code: i32, _: *mut libc::c_void) {
    // Nothing may unwind into the C library.
    let Ok(Some(path)) = std::panic::catch_unwind(missing_trace) else { return };
    if FAILED.load(Ordering::Relaxed) {
        return;
    }
    tell(&format!(
        "nothing was recorded, and {} was not written: the program launched no kernel that --kernels, --launches and \
         --every select; `emu run -- PROGRAM` lists its launches",
        path.display()
    ));
    if code == 0 {
        // SAFETY: as in `last`.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

/// The trace that `emu record` promised, if neither this program nor one that it started has written it.
fn missing_trace() -> Option<PathBuf> {
    let expected = std::env::var(EXPECTED_VARIABLE).ok()?;
    let (process, path) = expected.split_once(':')?;
    // Beside another recording of the same name, the trace has a name of its own.
    let written = WRITTEN.load(Ordering::Relaxed);
    if written || process.parse() != Ok(std::process::id()) || is_child() || is_auditor() {
        return None;
    }
    let before = std::env::var(REPLACES_VARIABLE).ok().map(|text| Identity::from_text(&text));
    let path = PathBuf::from(path);
    let is_file = path.metadata().map_or(true, |found| found.is_file());
    (is_file && Identity::of(&path) == before).then_some(path)
}

extern "C" fn last() {
    // Nothing may unwind into the C library.
    drop(std::panic::catch_unwind(|| finish("the program ended while it ran")));
    let failed = FAILED.load(Ordering::Relaxed) && !is_child() && !is_auditor();
    if failed && EXIT_CODE.load(Ordering::Relaxed) == 0 {
        tell("the program ended as if all was well, which it was not: the exit code is 1");
        // SAFETY: the program has ended and its output is written; only the exit code remains to be set.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

/// The library's last function, which the loader calls after the program's own.
#[used]
#[unsafe(link_section = ".fini_array")]
static LAST: extern "C" fn() = last;

fn pipe() -> std::io::Result<[RawFd; 2]> {
    let mut ends = [-1; 2];
    // SAFETY: there is room for two descriptors.
    match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } {
        0 => Ok(ends),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn install() -> std::io::Result<()> {
    let ([call_read, call_write], [answer_read, answer_write]) = (pipe()?, pipe()?);
    let serve = move || {
        loop {
            let mut call = libc::pollfd { fd: call_read, events: libc::POLLIN, revents: 0 };
            // SAFETY: it is one descriptor.
            match unsafe { libc::poll(&raw mut call, 1, GLANCE_MS) } {
                // Without this thread and the recorder's, the C library would end the process now.
                0 if is_abandoned() => {
                    // SAFETY: any thread may end the process.
                    unsafe { libc::exit(0) }
                }
                1.. => {}
                _ => continue,
            }
            let mut signal = 0u8;
            // SAFETY: one byte is read into a byte, and one written from it.
            if unsafe { libc::read(call_read, (&raw mut signal).cast(), 1) } != 1 {
                return;
            }
            let why = format!("signal {signal} ended the program");
            drop(std::panic::catch_unwind(|| finish(&why)));
            // SAFETY: as above.
            unsafe { libc::write(answer_write, (&raw const signal).cast(), 1) };
        }
    };
    let held_back = Blocked::new();
    std::thread::Builder::new().name("warplab-ending".into()).spawn(serve)?;
    drop(held_back);
    CALL.store(call_write, Ordering::SeqCst);
    ANSWER.store(answer_read, Ordering::SeqCst);
    for signal in SIGNALS {
        // SAFETY: the structures are plain data, and the handler calls only what handlers may call.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0;
            if known && old.sa_sigaction == libc::SIG_DFL {
                let mut new: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = handle as *const () as usize;
                new.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const new, std::ptr::null_mut());
            }
        }
    }
    Ok(())
}

/// Ends the recording, then lets the signal take its default action.
extern "C" fn handle(signal: i32) {
    // SAFETY: only functions that may be called in handlers, on descriptors that stay open.
    unsafe {
        let (call, answer) = (CALL.load(Ordering::SeqCst), ANSWER.load(Ordering::SeqCst));
        if !FORKED.load(Ordering::Relaxed) && answer >= 0 {
            let mut byte = signal as u8;
            if libc::write(call, (&raw const byte).cast(), 1) == 1 {
                let mut wait = libc::pollfd { fd: answer, events: libc::POLLIN, revents: 0 };
                if libc::poll(&raw mut wait, 1, PATIENCE_MS) == 1 {
                    libc::read(answer, (&raw mut byte).cast(), 1);
                }
            }
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
