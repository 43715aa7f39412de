//! Contexts.

use super::{In, Out, device, functions};
use crate::contexts;
use crate::current;
use crate::error::{Outcome, Status};
use crate::gpu::{Gpu, any_gpu};
use crate::running::waiting;
use crate::running::waiting::synchronize;
use crate::streams::beside::What;

/// Flags that contexts know: how to wait (3 bits), to map host memory, to keep local memory, and those of coredumps
/// and synchronous copies.
const KNOWN_FLAGS: u32 = 0xFF;
/// CUDA's priorities of streams: the least and the greatest.
pub(super) const PRIORITIES: [i32; 2] = [0, -5];

fn create(to: Out<u64>, flags: u32, ordinal: i32) -> Outcome {
    if flags & !KNOWN_FLAGS != 0 || !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    device(ordinal)?;
    to.set(any_gpu()?.create_context(flags))
}

/// The current context's settings.
fn here<T>(f: impl FnOnce(&mut contexts::Context) -> Outcome<T>) -> Outcome<T> {
    let context = current::require()?;
    f(any_gpu()?.contexts.all.get_mut(context)?)
}

/// A context, or the current one for 0.
fn existing(context: u64) -> Outcome<u64> {
    if context == 0 {
        return current::require();
    }
    any_gpu()?.contexts.all.get(context).map(|_| context).map_err(|_| Status::INVALID_CONTEXT)
}

fn set_primary_flags(ordinal: i32, flags: u32) -> Outcome {
    device(ordinal)?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Status::INVALID_VALUE);
    }
    any_gpu()?.contexts.set_primary_flags(flags);
    Ok(())
}

fn release_primary(ordinal: i32) -> Outcome {
    device(ordinal)?;
    synchronize_quietly();
    waiting::wait_for(What::All)?;
    any_gpu()?.release_primary()
}

fn reset_primary(ordinal: i32) -> Outcome {
    device(ordinal)?;
    synchronize_quietly();
    any_gpu().map(|mut gpu| Gpu::reset(&mut gpu))
}

/// Prints pending output of kernels; a fault has been reported by the call that caused it.
fn synchronize_quietly() {
    let _ = synchronize();
}

functions! {
    "cuDevicePrimaryCtxRetain" 7000 Init primary_retain(context: Out<u64>, ordinal: i32) {
        device(ordinal)?;
        if !context.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        context.set(any_gpu()?.contexts.retain_primary())
    }

    "cuDevicePrimaryCtxRelease" 7000 Init primary_release(ordinal: i32) { release_primary(ordinal) }
    "cuDevicePrimaryCtxRelease_v2" 11000 Init primary_release_v2(ordinal: i32) { release_primary(ordinal) }
    "cuDevicePrimaryCtxReset" 7000 Init primary_reset(ordinal: i32) { reset_primary(ordinal) }
    "cuDevicePrimaryCtxReset_v2" 11000 Init primary_reset_v2(ordinal: i32) { reset_primary(ordinal) }

    "cuDevicePrimaryCtxSetFlags" 7000 Init primary_set_flags(ordinal: i32, flags: u32) {
        set_primary_flags(ordinal, flags)
    }
    "cuDevicePrimaryCtxSetFlags_v2" 11000 Init primary_set_flags_v2(ordinal: i32, flags: u32) {
        set_primary_flags(ordinal, flags)
    }

    "cuDevicePrimaryCtxGetState" 7000 Init primary_get_state(
        ordinal: i32, flags: Out<u32>, active: Out<i32>,
    ) {
        device(ordinal)?;
        let state = any_gpu()?.contexts.primary_state();
        flags.set(state.0)?;
        active.set(i32::from(state.1))
    }

    "cuCtxCreate_v2" 3020 Init create_v2(context: Out<u64>, flags: u32, ordinal: i32) {
        create(context, flags, ordinal)
    }

    "cuCtxCreate_v3" 11040 Init create_v3(
        context: Out<u64>, affinity: In<u64>, count: i32, flags: u32, ordinal: i32,
    ) {
        if affinity.given() && count > 0 {
            return Err(Status::UNSUPPORTED_EXEC_AFFINITY);
        }
        create(context, flags, ordinal)
    }

    "cuCtxCreate_v4" 12050 Init create_v4(context: Out<u64>, params: In<[u64; 3]>, flags: u32, ordinal: i32) {
        if params.given() && params.get()? != [0; 3] {
            return Err(Status::UNSUPPORTED_EXEC_AFFINITY);
        }
        create(context, flags, ordinal)
    }

    "cuCtxDestroy_v2" 4000 Init destroy(context: u64) {
        synchronize_quietly();
        waiting::wait_for(What::All)?;
        any_gpu()?.destroy_context(context)
    }

    "cuCtxAttach" 2000 Context attach(context: Out<u64>, flags: u32) {
        if flags != 0 || !context.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        here(|c| {
            c.users += 1;
            Ok(())
        })?;
        context.set(current::require()?)
    }

    "cuCtxDetach" 2000 Init detach(context: u64) {
        let mut gpu = any_gpu()?;
        let attached = gpu.contexts.all.get_mut(context).map_err(|_| Status::INVALID_CONTEXT)?;
        if attached.users > 1 {
            attached.users -= 1;
            return Ok(());
        }
        drop(gpu);
        synchronize_quietly();
        waiting::wait_for(What::All)?;
        any_gpu()?.destroy_context(context)
    }

    "cuCtxPushCurrent_v2" 4000 Init push_current(context: u64) { current::push(context) }

    "cuCtxPopCurrent_v2" 4000 Init pop_current(context: Out<u64>) {
        let popped = current::pop()?;
        context.offer(popped);
        Ok(())
    }

    "cuCtxSetCurrent" 4000 Init set_current(context: u64) { current::set_current(context) }

    "cuCtxGetCurrent" 4000 Init get_current(context: Out<u64>) {
        context.set(contexts::current().unwrap_or(0))
    }

    "cuCtxGetDevice" 2000 Context get_device(ordinal: Out<i32>) { ordinal.set(0) }

    "cuCtxGetDevice_v2" 13000 Init get_device_v2(ordinal: Out<i32>, context: u64) {
        existing(context)?;
        ordinal.set(0)
    }

    "cuCtxGetFlags" 7000 Context get_flags(flags: Out<u32>) { flags.set(here(|c| Ok(c.flags))?) }

    "cuCtxSetFlags" 12010 Context set_flags(flags: u32) {
        if flags & !KNOWN_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        here(|c| {
            c.flags = flags;
            Ok(())
        })
    }

    "cuCtxGetId" 12000 Init get_id(context: u64, id: Out<u64>) { id.set(existing(context)?) }

    "cuCtxSynchronize" 2000 Context synchronize_current() { synchronize() }

    "cuCtxSynchronize_v2" 13000 Init synchronize_v2(context: u64) {
        existing(context)?;
        synchronize()
    }

    "cuCtxSetLimit" 3010 Context set_limit(limit: u32, value: usize) {
        here(|c| c.limits.get(limit as usize).map(drop).ok_or(Status::UNSUPPORTED_LIMIT))?;
        any_gpu()?.raise_limit(limit, value)?;
        here(|c| {
            *c.limits.get_mut(limit as usize).ok_or(Status::UNSUPPORTED_LIMIT)? = value;
            Ok(())
        })
    }

    "cuCtxGetLimit" 3010 Context get_limit(value: Out<usize>, limit: u32) {
        value.set(here(|c| c.limits.get(limit as usize).copied().ok_or(Status::UNSUPPORTED_LIMIT))?)
    }

    "cuCtxGetCacheConfig" 3020 Context get_cache_config(preference: Out<u32>) {
        preference.set(here(|c| Ok(c.cache_preference))?)
    }

    "cuCtxSetCacheConfig" 3020 Context set_cache_config(preference: u32) {
        if preference > 3 {
            return Err(Status::INVALID_VALUE);
        }
        here(|c| {
            c.cache_preference = preference;
            Ok(())
        })
    }

    "cuCtxGetSharedMemConfig" 4020 Context get_shared_mem_config(config: Out<u32>) { config.set(1) }

    "cuCtxSetSharedMemConfig" 4020 Context set_shared_mem_config(config: u32) {
        if config > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
    }

    "cuCtxGetApiVersion" 3020 Init get_api_version(context: u64, version: Out<u32>) {
        existing(context)?;
        version.set(super::general::VERSION as u32)
    }

    "cuCtxGetStreamPriorityRange" 5050 Context get_stream_priority_range(
        least: Out<i32>, greatest: Out<i32>,
    ) {
        least.offer(PRIORITIES[0]);
        greatest.offer(PRIORITIES[1]);
        Ok(())
    }

    "cuCtxResetPersistingL2Cache" 11000 Context reset_persisting_l2_cache() { Ok(()) }

    "cuCtxGetExecAffinity" 11040 Context get_exec_affinity(affinity: Out<[u32; 2]>, kind: u32) {
        // Kind 0 is a number of SMs: all of them.
        if kind != 0 {
            return Err(Status::UNSUPPORTED_EXEC_AFFINITY);
        }
        affinity.set([0, any_gpu()?.device.sms])
    }

    "cuCtxEnablePeerAccess" 4000 Context enable_peer_access(peer: u64, flags: u32) {
        let _ = existing(peer)?;
        if flags != 0 { Err(Status::INVALID_VALUE) } else { Err(Status::PEER_ACCESS_UNSUPPORTED) }
    }

    "cuCtxDisablePeerAccess" 4000 Context disable_peer_access(peer: u64) {
        let _ = existing(peer)?;
        Err(Status::PEER_ACCESS_NOT_ENABLED)
    }
}
