//! Messages of the library on standard error, and variables that it reads from the environment.

use crate::error::Status;
use std::mem::MaybeUninit;

/// Writes a line to standard error, for details that error codes cannot express.
pub(crate) fn tell(what: &str) {
    without_sigpipe(|| warplab_host::say!("warplab: {what}"));
}

/// Writes without SIGPIPE: that nobody reads a message must not end the program.
pub(crate) fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let (mut set, mut waiting, mut before) =
        (MaybeUninit::uninit(), MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: every set is written before it is read, and the thread changes its own mask only.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        libc::sigpending(waiting.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
        let written = write();
        // The signal that the write has caused is taken; one that the program waits for stays.
        if libc::sigismember(waiting.as_ptr(), libc::SIGPIPE) == 0 {
            libc::sigtimedwait(set.as_ptr(), std::ptr::null_mut(), &raw const no_time);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        written
    }
}

/// Prints an error and returns its code.
pub(crate) fn told((status, what): (Status, String)) -> Status {
    tell(&what);
    status
}

/// The value of an environment variable, if it is set; an invalid one is reported and ignored.
pub(crate) fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|t| !t.is_empty())?;
    let value = text.parse().ok();
    if value.is_none() {
        tell(&format!("{name}={text} is not understood and ignored"));
    }
    value
}
