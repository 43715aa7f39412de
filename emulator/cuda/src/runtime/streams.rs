//! Streams and events.

use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::running::perform::submit;
use crate::running::waiting;
use crate::running::waiting::synchronize_with;
use crate::streams::beside::What;
use crate::streams::stream::{EVENT_DISABLE_TIMING, Event};
use crate::streams::work::{HostCall, HostFunction, Work};
use std::ffi::c_void;

/// `cudaStreamCreate`.
///
/// # Safety
/// `stream` may be written.
#[unsafe(export_name = "warplab_cudaStreamCreate")]
pub(crate) unsafe extern "C" fn create(stream: *mut u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { create_with_priority(stream, 0, 0) }
}

/// `cudaStreamCreateWithFlags`.
///
/// # Safety
/// `stream` may be written.
#[unsafe(export_name = "warplab_cudaStreamCreateWithFlags")]
pub(crate) unsafe extern "C" fn create_with_flags(stream: *mut u64, flags: u32) -> Status {
    // SAFETY: as the caller promises.
    unsafe { create_with_priority(stream, flags, 0) }
}

/// `cudaStreamCreateWithPriority`.
///
/// # Safety
/// `stream` may be written.
#[unsafe(export_name = "warplab_cudaStreamCreateWithPriority")]
pub(crate) unsafe extern "C" fn create_with_priority(stream: *mut u64, flags: u32, priority: i32) -> Status {
    if flags > 1 {
        return done(Err(Status::INVALID_VALUE));
    }
    // SAFETY: as the caller promises.
    done(gpu().and_then(|mut gpu| unsafe { store(stream, gpu.streams.create(flags, priority)) }))
}

/// `cudaStreamDestroy`.
#[unsafe(export_name = "warplab_cudaStreamDestroy")]
pub(crate) extern "C" fn destroy(stream: u64) -> Status {
    done(gpu().and_then(|mut gpu| gpu.streams.destroy(stream)))
}

/// All work is done when it is submitted; only a capturing stream cannot be waited for.
fn reached(stream: u64) -> Outcome {
    match gpu()?.streams.capture_of(stream)? {
        None => Ok(()),
        Some(_) => Err(Status::STREAM_CAPTURE_UNSUPPORTED),
    }
}

/// `cudaStreamSynchronize`.
#[unsafe(export_name = "warplab_cudaStreamSynchronize")]
pub(crate) extern "C" fn synchronize(stream: u64) -> Status {
    done(reached(stream).and_then(|()| synchronize_with(What::Stream(stream))))
}

/// `cudaStreamQuery`.
#[unsafe(export_name = "warplab_cudaStreamQuery")]
pub(crate) extern "C" fn query(stream: u64) -> Status {
    done(reached(stream).and_then(|()| waiting::query(What::Stream(stream))))
}

/// `cudaStreamWaitEvent`.
#[unsafe(export_name = "warplab_cudaStreamWaitEvent")]
pub(crate) extern "C" fn wait_event(stream: u64, event: u64, _flags: u32) -> Status {
    done(submit(stream, Work::Wait(event)))
}

/// `cudaLaunchHostFunc`.
#[unsafe(export_name = "warplab_cudaLaunchHostFunc")]
pub(crate) extern "C" fn launch_host_func(stream: u64, function: usize, user_data: *mut c_void) -> Status {
    if function == 0 {
        return done(Err(Status::INVALID_VALUE));
    }
    done(submit(stream, Work::Host(HostCall { function: HostFunction::Plain(function), user_data })))
}

/// `cudaStreamAddCallback`.
#[unsafe(export_name = "warplab_cudaStreamAddCallback")]
pub(crate) extern "C" fn add_callback(
    stream: u64,
    function: usize,
    user_data: *mut c_void,
    _flags: u32,
) -> Status {
    if function == 0 {
        return done(Err(Status::INVALID_VALUE));
    }
    let function = HostFunction::Callback(function, stream);
    done(submit(stream, Work::Host(HostCall { function, user_data })))
}

/// `cudaEventCreate`.
///
/// # Safety
/// `event` may be written.
#[unsafe(export_name = "warplab_cudaEventCreate")]
pub(crate) unsafe extern "C" fn event_create(event: *mut u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { event_create_with_flags(event, 0) }
}

/// `cudaEventCreateWithFlags`.
///
/// # Safety
/// `event` may be written.
#[unsafe(export_name = "warplab_cudaEventCreateWithFlags")]
pub(crate) unsafe extern "C" fn event_create_with_flags(event: *mut u64, flags: u32) -> Status {
    if flags > 7 {
        return done(Err(Status::INVALID_VALUE));
    }
    let made = |gpu: &mut crate::gpu::Gpu| gpu.streams.events.insert(Event { flags, ..Event::default() });
    // SAFETY: as the caller promises.
    done(gpu().and_then(|mut gpu| unsafe { store(event, made(&mut gpu)) }))
}

/// `cudaEventDestroy`.
#[unsafe(export_name = "warplab_cudaEventDestroy")]
pub(crate) extern "C" fn event_destroy(event: u64) -> Status {
    done(gpu().and_then(|mut gpu| gpu.streams.events.remove(event).map(drop)))
}

/// `cudaEventRecord`.
#[unsafe(export_name = "warplab_cudaEventRecord")]
pub(crate) extern "C" fn event_record(event: u64, stream: u64) -> Status {
    done(submit(stream, Work::Record(event)))
}

/// `cudaEventSynchronize`.
#[unsafe(export_name = "warplab_cudaEventSynchronize")]
pub(crate) extern "C" fn event_synchronize(event: u64) -> Status {
    done(event_reached(event).and_then(|()| synchronize_with(What::Event(event))))
}

/// `cudaEventQuery`.
#[unsafe(export_name = "warplab_cudaEventQuery")]
pub(crate) extern "C" fn event_query(event: u64) -> Status {
    done(event_reached(event).and_then(|()| waiting::query(What::Event(event))))
}

fn event_reached(event: u64) -> Outcome {
    match gpu()?.streams.events.get(event)?.captured {
        Some(_) => Err(Status::CAPTURED_EVENT),
        None => Ok(()),
    }
}

/// `cudaEventElapsedTime`: milliseconds of the emulator's time.
///
/// # Safety
/// `milliseconds` may be written.
#[unsafe(export_name = "warplab_cudaEventElapsedTime")]
pub(crate) unsafe extern "C" fn event_elapsed_time(milliseconds: *mut f32, start: u64, end: u64) -> Status {
    let elapsed = || {
        waiting::query(What::Event(start)).and_then(|()| waiting::query(What::Event(end)))?;
        let gpu = gpu()?;
        let (start, end) = (gpu.streams.events.get(start)?, gpu.streams.events.get(end)?);
        if (start.flags | end.flags) & EVENT_DISABLE_TIMING != 0 {
            return Err(Status::INVALID_RESOURCE_HANDLE);
        }
        let (from, to) = start.reached.zip(end.reached).ok_or(Status::INVALID_RESOURCE_HANDLE)?;
        let seconds = match to.checked_duration_since(from) {
            Some(forwards) => forwards.as_secs_f64(),
            None => -from.duration_since(to).as_secs_f64(),
        };
        // SAFETY: as the caller promises.
        unsafe { store(milliseconds, (seconds * 1e3) as f32) }
    };
    done(elapsed())
}

/// `cudaEventRecordWithFlags`.
#[unsafe(export_name = "warplab_cudaEventRecordWithFlags")]
pub(crate) extern "C" fn event_record_with_flags(event: u64, stream: u64, flags: u32) -> Status {
    match flags {
        0 => event_record(event, stream),
        // Flag 1 makes an event external to a capture; it has no effect without one.
        1 if reached(stream).is_ok() => event_record(event, stream),
        1 => done(Err(Status::NOT_SUPPORTED)),
        _ => done(Err(Status::INVALID_VALUE)),
    }
}

/// A property of a stream; the legacy stream has the defaults.
unsafe fn tell_of<T>(stream: u64, to: *mut T, pick: impl Fn(u32, i32) -> T) -> Status {
    let found = gpu().and_then(|gpu| Ok(gpu.streams.get(stream)?.map_or((0, 0), |s| (s.flags, s.priority))));
    // SAFETY: the callers' callers promise that it may be written.
    done(found.and_then(|(flags, priority)| unsafe { store(to, pick(flags, priority)) }))
}

/// `cudaStreamGetFlags`.
///
/// # Safety
/// `flags` may be written.
#[unsafe(export_name = "warplab_cudaStreamGetFlags")]
pub(crate) unsafe extern "C" fn get_flags(stream: u64, flags: *mut u32) -> Status {
    // SAFETY: as the caller promises.
    unsafe { tell_of(stream, flags, |flags, _| flags) }
}

/// `cudaStreamGetPriority`.
///
/// # Safety
/// `priority` may be written.
#[unsafe(export_name = "warplab_cudaStreamGetPriority")]
pub(crate) unsafe extern "C" fn get_priority(stream: u64, priority: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    unsafe { tell_of(stream, priority, |_, priority| priority) }
}

/// `cudaStreamGetDevice`.
///
/// # Safety
/// `device` may be written.
#[unsafe(export_name = "warplab_cudaStreamGetDevice")]
pub(crate) unsafe extern "C" fn get_device(stream: u64, device: *mut i32) -> Status {
    // SAFETY: as the caller promises.
    unsafe { tell_of(stream, device, |_, _| 0) }
}

/// `cudaStreamGetId`: its handle, which no other stream ever has.
///
/// # Safety
/// `id` may be written.
#[unsafe(export_name = "warplab_cudaStreamGetId")]
pub(crate) unsafe extern "C" fn get_id(stream: u64, id: *mut u64) -> Status {
    // SAFETY: as the caller promises.
    unsafe { tell_of(stream, id, |_, _| stream.max(crate::streams::beside::LEGACY)) }
}

/// `cudaStreamAttachMemAsync`: host and device never access managed memory at once here.
#[unsafe(export_name = "warplab_cudaStreamAttachMemAsync")]
pub(crate) extern "C" fn attach_mem(stream: u64, pointer: u64, _length: usize, flags: u32) -> Status {
    let attach = || -> Outcome {
        let gpu = gpu()?;
        gpu.streams.get(stream)?;
        gpu.memory.region(pointer).ok_or(Status::INVALID_VALUE)?;
        if matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Status::INVALID_VALUE) }
    };
    done(attach())
}
