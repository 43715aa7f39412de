//! Streams and events.

use super::{In, Out, Stream, functions};
use crate::current;
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::copy::Fill;
use crate::running::perform::submit;
use crate::running::waiting;
use crate::running::waiting::synchronize_with;
use crate::streams::beside::What;
use crate::streams::stream::{EVENT_DISABLE_TIMING, Event};
use crate::streams::work::{HostCall, HostFunction, Work};
use std::ffi::c_void;

fn create(to: Out<u64>, flags: u32, priority: i32) -> Outcome {
    if flags > 1 || !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    // Priorities are clamped to the range.
    let [least, greatest] = super::context::PRIORITIES;
    to.set(gpu()?.streams.create(flags, priority.clamp(greatest, least)))
}

/// All work is done when it is submitted; only a capturing stream cannot be waited for.
fn reached(stream: Stream) -> Outcome {
    match gpu()?.streams.capture_of(stream.handle())? {
        None => Ok(()),
        Some(_) => Err(Status::STREAM_CAPTURE_UNSUPPORTED),
    }
}

fn event_reached(event: u64) -> Outcome {
    match gpu()?.streams.events.get(event)?.captured {
        Some(_) => Err(Status::CAPTURED_EVENT),
        None => Ok(()),
    }
}

/// Milliseconds of the emulator's time between two events.
fn elapsed(to: Out<f32>, start: u64, end: u64) -> Outcome {
    waiting::query(What::Event(start)).and_then(|()| waiting::query(What::Event(end)))?;
    let gpu = gpu()?;
    let (start, end) = (gpu.streams.events.get(start)?, gpu.streams.events.get(end)?);
    if (start.flags | end.flags) & EVENT_DISABLE_TIMING != 0 {
        return Err(Status::INVALID_RESOURCE_HANDLE);
    }
    let (from, until) = start.reached.zip(end.reached).ok_or(Status::INVALID_RESOURCE_HANDLE)?;
    let seconds = match until.checked_duration_since(from) {
        Some(forwards) => forwards.as_secs_f64(),
        None => -from.duration_since(until).as_secs_f64(),
    };
    to.set((seconds * 1e3) as f32)
}

/// A wait for a value that memory does not hold would never end: all earlier work is complete.
fn wait_value(address: u64, bytes: u64, value: u64, flags: u32) -> Outcome {
    let gpu = gpu()?;
    let mut word = [0; 8];
    if !gpu.memory.global.read(address, &mut word[..bytes as usize]) {
        return Err(Status::INVALID_VALUE);
    }
    let (found, width) = (u64::from_le_bytes(word), 64 - 8 * bytes as u32);
    let met = match flags & 7 {
        0 => ((found.wrapping_sub(value) << width) as i64) >= 0,
        1 => found == value,
        2 => found & value != 0,
        3 => (found | value) << width != !0 << width,
        _ => return Err(Status::INVALID_VALUE),
    };
    if met { Ok(()) } else { Err(Status::LAUNCH_TIMEOUT) }
}

fn write_value(stream: Stream, address: u64, value: u32) -> Outcome {
    let fill = Fill { address, pitch: 0, value, element: 4, width: 1, height: 1 };
    submit(stream.handle(), Work::Fill(fill))
}

functions! {
    "cuStreamCreate" 2000 Context stream_create(stream: Out<u64>, flags: u32) { create(stream, flags, 0) }

    "cuStreamCreateWithPriority" 5050 Context stream_create_with_priority(
        stream: Out<u64>, flags: u32, priority: i32,
    ) {
        create(stream, flags, priority)
    }

    "cuStreamDestroy_v2" 4000 Context stream_destroy(stream: u64) { gpu()?.streams.destroy(stream) }

    "cuStreamGetPriority" / "cuStreamGetPriority_ptsz" 5050 Context stream_get_priority(
        stream: Stream, priority: Out<i32>,
    ) {
        priority.set(gpu()?.streams.get(stream.handle())?.map_or(0, |s| s.priority))
    }

    "cuStreamGetFlags" / "cuStreamGetFlags_ptsz" 5050 Context stream_get_flags(
        stream: Stream, flags: Out<u32>,
    ) {
        flags.set(gpu()?.streams.get(stream.handle())?.map_or(0, |s| s.flags))
    }

    "cuStreamGetId" / "cuStreamGetId_ptsz" 12000 Context stream_get_id(stream: Stream, id: Out<u64>) {
        gpu()?.streams.get(stream.handle())?;
        id.set(stream.handle().max(1))
    }

    "cuStreamGetDevice" / "cuStreamGetDevice_ptsz" 12080 Context stream_get_device(
        stream: Stream, ordinal: Out<i32>,
    ) {
        gpu()?.streams.get(stream.handle())?;
        ordinal.set(0)
    }

    "cuStreamGetCtx" / "cuStreamGetCtx_ptsz" 9020 Context stream_get_ctx(stream: Stream, context: Out<u64>) {
        gpu()?.streams.get(stream.handle())?;
        context.set(current::require()?)
    }

    "cuStreamGetCtx_v2" / "cuStreamGetCtx_v2_ptsz" 12050 Context stream_get_ctx_v2(
        stream: Stream, context: Out<u64>, green: Out<u64>,
    ) {
        gpu()?.streams.get(stream.handle())?;
        green.offer(0);
        context.set(current::require()?)
    }

    "cuStreamSynchronize" / "cuStreamSynchronize_ptsz" 2000 Context stream_synchronize(stream: Stream) {
        reached(stream)?;
        synchronize_with(What::Stream(stream.handle()))
    }

    "cuStreamQuery" / "cuStreamQuery_ptsz" 2000 Context stream_query(stream: Stream) {
        reached(stream)?;
        waiting::query(What::Stream(stream.handle()))
    }

    "cuStreamWaitEvent" / "cuStreamWaitEvent_ptsz" 3020 Context stream_wait_event(
        stream: Stream, event: u64, flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        submit(stream.handle(), Work::Wait(event))
    }

    "cuStreamAddCallback" / "cuStreamAddCallback_ptsz" 5000 Context stream_add_callback(
        stream: Stream, function: usize, user_data: *mut c_void, flags: u32,
    ) {
        if function == 0 || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let stream = stream.handle();
        submit(stream, Work::Host(HostCall { function: HostFunction::Callback(function, stream), user_data }))
    }

    "cuStreamAttachMemAsync" / "cuStreamAttachMemAsync_ptsz" 6000 Context stream_attach_mem_async(
        stream: Stream, address: u64, _bytes: usize, _flags: u32,
    ) {
        let gpu = gpu()?;
        gpu.streams.get(stream.handle())?;
        gpu.memory.region(address).map(drop).ok_or(Status::INVALID_VALUE)
    }

    "cuStreamWaitValue32_v2" / "cuStreamWaitValue32_v2_ptsz" 11070 Context stream_wait_value_32(
        stream: Stream, address: u64, value: u32, flags: u32,
    ) {
        reached(stream)?;
        wait_value(address, 4, value.into(), flags)
    }

    "cuStreamWaitValue64_v2" / "cuStreamWaitValue64_v2_ptsz" 11070 Context stream_wait_value_64(
        stream: Stream, address: u64, value: u64, flags: u32,
    ) {
        reached(stream)?;
        wait_value(address, 8, value, flags)
    }

    "cuStreamWriteValue32_v2" / "cuStreamWriteValue32_v2_ptsz" 11070 Context stream_write_value_32(
        stream: Stream, address: u64, value: u32, _flags: u32,
    ) {
        write_value(stream, address, value)
    }

    "cuStreamWriteValue64_v2" / "cuStreamWriteValue64_v2_ptsz" 11070 Context stream_write_value_64(
        stream: Stream, address: u64, value: u64, _flags: u32,
    ) {
        if !address.is_multiple_of(8) {
            return Err(Status::INVALID_VALUE);
        }
        write_value(stream, address, value as u32)?;
        write_value(stream, address + 4, (value >> 32) as u32)
    }

    "cuStreamCopyAttributes" / "cuStreamCopyAttributes_ptsz" 11000 Context stream_copy_attributes(
        to: Stream, from: Stream,
    ) {
        gpu()?.streams.copy_attributes(to.handle(), from.handle())
    }

    "cuStreamGetAttribute" / "cuStreamGetAttribute_ptsz" 11000 Context stream_get_attribute(
        stream: Stream, number: u32, value: Out<[u64; 8]>,
    ) {
        value.set(gpu()?.streams.attribute(stream.handle(), number)?)
    }

    "cuStreamSetAttribute" / "cuStreamSetAttribute_ptsz" 11000 Context stream_set_attribute(
        stream: Stream, number: u32, value: In<[u64; 8]>,
    ) {
        gpu()?.streams.set_attribute(stream.handle(), number, value.get()?)
    }

    "cuEventCreate" 2000 Context event_create(event: Out<u64>, flags: u32) {
        if flags > 7 || !event.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        event.set(gpu()?.streams.events.insert(Event { flags, ..Event::default() }))
    }

    "cuEventDestroy_v2" 4000 Context event_destroy(event: u64) {
        gpu()?.streams.events.remove(event).map(drop)
    }

    "cuEventRecord" / "cuEventRecord_ptsz" 2000 Context event_record(event: u64, stream: Stream) {
        submit(stream.handle(), Work::Record(event))
    }

    "cuEventRecordWithFlags" / "cuEventRecordWithFlags_ptsz" 11010 Context event_record_with_flags(
        event: u64, stream: Stream, flags: u32,
    ) {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        submit(stream.handle(), Work::Record(event))
    }

    "cuEventQuery" 2000 Context event_query(event: u64) {
        event_reached(event)?;
        waiting::query(What::Event(event))
    }

    "cuEventSynchronize" 2000 Context event_synchronize(event: u64) {
        event_reached(event)?;
        synchronize_with(What::Event(event))
    }

    "cuEventElapsedTime" 2000 Context event_elapsed_time(ms: Out<f32>, start: u64, end: u64) {
        elapsed(ms, start, end)
    }

    "cuEventElapsedTime_v2" 12080 Context event_elapsed_time_v2(ms: Out<f32>, start: u64, end: u64) {
        elapsed(ms, start, end)
    }
}
