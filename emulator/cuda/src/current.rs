//! Makes contexts, destroys them, and makes them current to threads.

use crate::contexts::{Context, MAX_STACK_BYTES, current, with_stack};
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu, initialised};

/// Replaces the current context; 0 for none.
///
/// # Errors
/// `INVALID_CONTEXT` when there is no such context.
pub(crate) fn set_current(context: u64) -> Outcome {
    known(context)?;
    with_stack(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
    Ok(())
}

fn known(context: u64) -> Outcome {
    if context == 0 {
        return Ok(());
    }
    any_gpu()?.contexts.all.get(context).map(drop).map_err(|_| Status::INVALID_CONTEXT)
}

/// Pushes a context, which becomes current.
///
/// # Errors
/// `INVALID_CONTEXT` when there is no such context.
pub(crate) fn push(context: u64) -> Outcome {
    if context == 0 {
        return Err(Status::INVALID_CONTEXT);
    }
    known(context)?;
    with_stack(|stack| stack.push(context));
    Ok(())
}

/// Pops the current context.
///
/// # Errors
/// `INVALID_CONTEXT` when there is none.
pub(crate) fn pop() -> Outcome<u64> {
    with_stack(Vec::pop).ok_or(Status::INVALID_CONTEXT)
}

/// The thread's current context, which exists.
///
/// # Errors
/// `INVALID_CONTEXT` when the thread has none, `CONTEXT_IS_DESTROYED` when it has been destroyed.
pub(crate) fn require() -> Outcome<u64> {
    let context = current().ok_or(Status::INVALID_CONTEXT)?;
    any_gpu()?.contexts.all.get(context).map(|_| context).map_err(|_| Status::CONTEXT_IS_DESTROYED)
}

/// Makes the primary context current to a thread that has none, as the runtime API does implicitly.
pub(crate) fn adopt() {
    if !initialised() || current().is_some() {
        return;
    }
    if let Ok(mut gpu) = any_gpu() {
        let first = gpu.contexts.primary.is_none();
        let primary = gpu.contexts.primary();
        if first {
            gpu.contexts.retained += 1;
        }
        drop(gpu);
        with_stack(|stack| stack.push(primary));
    }
}

impl Gpu {
    /// Raises a limit: the stack size of kernels that are lowered afterwards, or the heap of modules that are
    /// loaded afterwards.
    ///
    /// # Errors
    /// `INVALID_VALUE` for a stack that no thread can have, `MEMORY_ALLOCATION` for a heap or a buffer of
    /// `printf` that exceeds the GPU's free memory.
    pub fn raise_limit(&mut self, limit: u32, value: usize) -> Outcome {
        const STACK: u32 = 0;
        const PRINTF: u32 = 1;
        const HEAP: u32 = 2;
        let free = self.memory.info().0;
        match limit {
            STACK => {
                let wanted = u32::try_from(value).ok().filter(|&bytes| bytes <= MAX_STACK_BYTES);
                let wanted = wanted.ok_or(Status::INVALID_VALUE)?;
                self.modules.lowering.stack_bytes = self.modules.lowering.stack_bytes.max(wanted);
            }
            PRINTF | HEAP if value as u64 > free => return Err(Status::MEMORY_ALLOCATION),
            HEAP => self.memory.heap_bytes = self.memory.heap_bytes.max(value as u64),
            _ => {}
        }
        Ok(())
    }

    /// Makes a context and makes it current.
    pub fn create_context(&mut self, flags: u32) -> u64 {
        let context = self.contexts.all.insert(Context::new(flags));
        with_stack(|stack| stack.push(context));
        context
    }

    /// Destroys a context; the last one takes all objects of the GPU with it.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` when there is no such context or it is the primary one.
    pub fn destroy_context(&mut self, context: u64) -> Outcome {
        if self.contexts.primary == Some(context) {
            return Err(Status::INVALID_CONTEXT);
        }
        self.contexts.all.remove(context).map_err(|_| Status::INVALID_CONTEXT)?;
        with_stack(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        self.reset_if_unused();
        Ok(())
    }

    /// Releases the primary context once.
    ///
    /// # Errors
    /// `INVALID_CONTEXT` when it is not retained.
    pub fn release_primary(&mut self) -> Outcome {
        let contexts = &mut self.contexts;
        contexts.retained = contexts.retained.checked_sub(1).ok_or(Status::INVALID_CONTEXT)?;
        if contexts.retained == 0
            && let Some(primary) = contexts.primary.take()
        {
            contexts.all.remove(primary)?;
            self.reset_if_unused();
        }
        Ok(())
    }

    /// Shared memory that a kernel prefers in the thread's context, in percent of the SM's largest.
    #[must_use]
    pub(crate) fn preferred_carveout(&self, kernel: u64) -> Option<u8> {
        let context = current().and_then(|context| self.contexts.all.get(context).ok());
        self.modules.preferred_carveout(kernel, context.map_or(0, |context| context.cache_preference))
    }

    fn reset_if_unused(&mut self) {
        if self.contexts.all.iter().next().is_none() {
            self.reset();
        }
    }
}
