//! Signals while a thread is inside the library.
//!
//! A handler of the program that runs in the middle of our work finds the GPU's lock taken, or the allocator's, by the
//! very thread that it interrupts, and would wait for ever when it allocates or calls CUDA. Signals are therefore held
//! back while a thread works under the lock; threads of our own never take any. Who waits for work that another
//! thread does takes signals as usual.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Signals that say what the thread itself has just done; they cannot wait.
const OWN: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT];

/// Holds back this thread's signals while it lives. Threads that are started meanwhile never take any.
#[derive(Debug)]
pub(crate) struct Blocked {
    before: libc::sigset_t,
    /// It is about one thread.
    _thread: PhantomData<*const ()>,
}

impl Blocked {
    /// From now on.
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
