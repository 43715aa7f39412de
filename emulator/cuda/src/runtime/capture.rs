//! Capturing what streams are given into graphs.

use super::graphs::handles;
use super::{done, store};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

thread_local! {
    /// Mode of the thread's interaction with captures: global.
    static MODE: Cell<u32> = const { Cell::new(0) };
    /// Nodes that `cudaStreamGetCaptureInfo` handed out last, which the program may read until it asks again.
    static HANDED_OUT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn mode(mode: u32) -> Outcome {
    if mode > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

/// `cudaStreamBeginCapture`.
#[unsafe(export_name = "warplab_cudaStreamBeginCapture")]
pub extern "C" fn begin(stream: u64, capture_mode: u32) -> Status {
    done(mode(capture_mode).and_then(|()| gpu()?.begin_capture(stream, None)))
}

/// `cudaStreamBeginCaptureToGraph`.
///
/// # Safety
/// There are `count` nodes.
#[unsafe(export_name = "warplab_cudaStreamBeginCaptureToGraph")]
pub unsafe extern "C" fn begin_to_graph(
    stream: u64,
    graph: u64,
    nodes: *const u64,
    _edges: *const c_void,
    count: usize,
    capture_mode: u32,
) -> Status {
    // SAFETY: as the caller promises.
    let nodes = mode(capture_mode).and_then(|()| unsafe { handles(nodes, count) });
    done(nodes.and_then(|nodes| gpu()?.begin_capture(stream, Some((graph, nodes)))))
}

/// `cudaStreamEndCapture`.
///
/// # Safety
/// `graph` may be written.
#[unsafe(export_name = "warplab_cudaStreamEndCapture")]
pub unsafe extern "C" fn end(stream: u64, graph: *mut u64) -> Status {
    let ended = gpu().and_then(|mut gpu| gpu.end_capture(stream));
    // SAFETY: as the caller promises; after a failure there is no graph.
    done(unsafe { store(graph, ended.unwrap_or(0)) }.and_then(|()| ended.map(drop)))
}

/// None, active, invalidated; and a number that no other capture has.
fn state(stream: u64) -> Outcome<(u32, u64)> {
    let gpu = gpu()?;
    let found = gpu.streams.capture_of(stream)?;
    Ok(found.map_or((0, 0), |(_, capture)| (if capture.invalid { 2 } else { 1 }, capture.id)))
}

/// `cudaStreamIsCapturing`.
///
/// # Safety
/// `status` may be written.
#[unsafe(export_name = "warplab_cudaStreamIsCapturing")]
pub unsafe extern "C" fn is_capturing(stream: u64, status: *mut u32) -> Status {
    // SAFETY: as the caller promises.
    done(state(stream).and_then(|(found, _)| unsafe { store(status, found) }))
}

/// `cudaStreamGetCaptureInfo`.
///
/// # Safety
/// `status` may be written, and each other pointer is null or may be.
#[unsafe(export_name = "warplab_cudaStreamGetCaptureInfo")]
pub unsafe extern "C" fn info(
    stream: u64,
    status: *mut u32,
    id: *mut u64,
    graph: *mut u64,
    nodes: *mut *const u64,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Status {
    let get = || -> Outcome {
        let (found, number) = state(stream)?;
        // SAFETY: as the caller promises; what is not wanted is null.
        unsafe {
            store(status, found)?;
            if found != 1 {
                return Ok(());
            }
            let _ = store(id, number);
            let _ = store(edges, std::ptr::null());
            let (handle, after) = after(stream)?;
            let _ = store(graph, handle);
            HANDED_OUT.with_borrow_mut(|kept| {
                *kept = after;
                let _ = store(nodes, kept.as_ptr());
                let _ = store(count, kept.len());
            });
        }
        Ok(())
    };
    done(get())
}

/// The graph that a stream's capture builds, and the nodes that its next work waits for.
fn after(stream: u64) -> Outcome<(u64, Vec<u64>)> {
    let mut gpu = gpu()?;
    let graph = gpu.graph_of_capture(stream)?;
    let numbers = gpu.streams.capture_of(stream)?.map(|(joined, _)| joined.after.clone());
    let nodes = numbers.unwrap_or_default().into_iter().map(|number| gpu.nodes.handle(graph, number));
    Ok((graph, nodes.collect()))
}

/// `cudaStreamUpdateCaptureDependencies`.
///
/// # Safety
/// There are `count` nodes.
#[unsafe(export_name = "warplab_cudaStreamUpdateCaptureDependencies")]
pub unsafe extern "C" fn update_dependencies(
    stream: u64,
    nodes: *const u64,
    _edges: *const c_void,
    count: usize,
    flags: u32,
) -> Status {
    let update = || -> Outcome {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: as the caller promises.
        let nodes = unsafe { handles(nodes, count) }?;
        let mut gpu = gpu()?;
        let graph = gpu.graph_of_capture(stream)?;
        let nodes = gpu.nodes_of(graph, nodes)?.into_iter().collect();
        gpu.streams.set_capture_dependencies(stream, nodes, flags == 1)
    };
    done(update())
}

/// `cudaThreadExchangeStreamCaptureMode`: the mode is kept, and no call is refused for its sake.
///
/// # Safety
/// `capture_mode` may be written.
#[unsafe(export_name = "warplab_cudaThreadExchangeStreamCaptureMode")]
pub unsafe extern "C" fn exchange_mode(capture_mode: *mut u32) -> Status {
    // SAFETY: as the caller promises.
    let Some(wanted) = (unsafe { capture_mode.as_mut() }) else { return done(Err(Status::INVALID_VALUE)) };
    done(mode(*wanted).map(|()| *wanted = MODE.replace(*wanted)))
}
