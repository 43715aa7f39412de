//! Signals while a thread is inside the library.
//!
//! If a handler of the program ran while its thread holds the GPU's lock or the allocator's, it would
//! deadlock when it allocates or calls CUDA. Signals are therefore blocked while a thread holds the lock;
//! threads of our own block them always. A thread that waits for another thread's work receives signals as
//! usual.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Signals that the thread itself has caused; they cannot be blocked.
const OWN: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];

/// Blocks this thread's signals while it lives. Threads that are started meanwhile inherit the mask.
#[derive(Debug)]
pub(crate) struct Blocked {
    before: libc::sigset_t,
    /// The mask belongs to one thread.
    _thread: PhantomData<*const ()>,
}

impl Blocked {
    /// Blocks signals.
    #[must_use]
    pub(crate) fn new() -> Blocked {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both sets are written before they are read; a thread may always change its own mask.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OWN {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::sigemptyset(before.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Blocked { before: before.assume_init(), _thread: PhantomData }
        }
    }
}

impl Default for Blocked {
    fn default() -> Blocked {
        Blocked::new()
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask is the one that the thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}
