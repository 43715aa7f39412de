//! Contexts of the driver API: which exist, and which is current to a thread.
//!
//! There is one GPU and all contexts share its contents, so a context is a handle with settings. When the
//! last context is destroyed, all objects of the GPU are destroyed with it.

use crate::handles::{Handles, Kind};
use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// Initial values of limits, by their numbers in `CUlimit`: stack of a thread, printf's buffer, heap of
/// device `malloc`, depth and number of launches from device code, bytes of an L2 fetch, persisting L2.
pub(crate) const LIMITS: [usize; 7] = [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0];

/// Most bytes of stack that a thread can have, as CUDA limits local memory.
pub(crate) const MAX_STACK_BYTES: u32 = 512 << 10;

/// A context.
#[derive(Debug)]
pub struct Context {
    /// Flags at its creation.
    pub flags: u32,
    /// Limits as the program set them.
    pub limits: [usize; 7],
    /// Whether L1 or shared memory is preferred.
    pub cache_preference: u32,
    /// Number of creations and attachments less the number of detachments.
    pub users: u32,
}

impl Context {
    pub(crate) fn new(flags: u32) -> Context {
        Context { flags, limits: LIMITS, cache_preference: 0, users: 1 }
    }
}

/// All contexts.
#[derive(Debug)]
pub struct Contexts {
    /// Existing contexts; includes the primary one while it is active.
    pub all: Handles<Context>,
    pub(crate) primary: Option<u64>,
    /// Number of retains of the primary context.
    pub(crate) retained: u32,
    /// Flags of the primary one.
    primary_flags: u32,
}

impl Default for Contexts {
    fn default() -> Contexts {
        Contexts { all: Handles::new(Kind::Context), primary: None, retained: 0, primary_flags: 0 }
    }
}

thread_local! {
    /// Contexts of this thread; the last one is current. 0 stands for none. They are never dropped: destructors of the program
    /// that call CUDA run after those of the thread's storage.
    static STACK: ManuallyDrop<RefCell<Vec<u64>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Works on the contexts of this thread; the last one is current. 0 stands for none.
pub(crate) fn with_stack<T>(work: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    STACK.with(|stack| work(&mut stack.borrow_mut()))
}

/// The thread's current context.
#[must_use]
pub(crate) fn current() -> Option<u64> {
    with_stack(|stack| stack.last().copied()).filter(|&context| context != 0)
}

impl Contexts {
    /// The primary context; created on first use.
    pub(crate) fn primary(&mut self) -> u64 {
        match self.primary {
            Some(primary) => primary,
            None => *self.primary.insert(self.all.insert(Context::new(self.primary_flags))),
        }
    }

    /// Flags of the primary context and whether it is active.
    #[must_use]
    pub fn primary_state(&self) -> (u32, bool) {
        (self.primary_flags, self.primary.is_some())
    }

    /// Sets the flags of the primary context.
    pub fn set_primary_flags(&mut self, flags: u32) {
        self.primary_flags = flags;
        if let Some(context) = self.primary.and_then(|p| self.all.get_mut(p).ok()) {
            context.flags = flags;
        }
    }

    /// Retains the primary context.
    pub fn retain_primary(&mut self) -> u64 {
        self.retained += 1;
        self.primary()
    }
}
