//! Captures: their state and graph, and functions that control them.

use super::{In, Out, Stream, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

thread_local! {
    /// How strict captures of this thread are; kept for programs that ask.
    static CAPTURE_MODE: Cell<u32> = const { Cell::new(0) };
    /// Nodes returned by the last query; the program may read them until the next query.
    /// It is never dropped, as all of the thread's storage that destructors of the program may come to.
    static HANDED_OUT: ManuallyDrop<RefCell<Vec<u64>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// State of a stream's capture (none, active, invalidated) and its number.
fn state(stream: Stream) -> Outcome<(u32, u64)> {
    let gpu = gpu()?;
    let found = gpu.streams.capture_of(stream.handle())?;
    Ok(found.map_or((0, 0), |(_, capture)| (if capture.invalid { 2 } else { 1 }, capture.id)))
}

type Wanted = (Out<u64>, Out<u64>, Out<*const u64>, Out<usize>);

fn info(stream: Stream, status: Out<u32>, (id, graph, nodes, count): Wanted) -> Outcome {
    let (found, number) = state(stream)?;
    status.set(found)?;
    if found != 1 {
        return Ok(());
    }
    id.offer(number);
    let mut gpu = gpu()?;
    let handle = gpu.streams.graph_of_capture(stream.handle())?;
    graph.offer(handle);
    let after = gpu.streams.capture_of(stream.handle())?.map(|(joined, _)| joined.after.clone());
    let after = after
        .unwrap_or_default()
        .into_iter()
        .map(|number| gpu.streams.nodes.handle(handle, number))
        .collect();
    HANDED_OUT.with(|kept| {
        let mut kept = kept.borrow_mut();
        *kept = after;
        nodes.offer(kept.as_ptr());
        count.offer(kept.len());
    });
    Ok(())
}

fn update(stream: Stream, nodes: In<u64>, count: usize, flags: u32) -> Outcome {
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    let nodes = nodes.list(count)?;
    let mut gpu = gpu()?;
    let graph = gpu.streams.graph_of_capture(stream.handle())?;
    let nodes = gpu.streams.nodes_of(graph, &nodes)?.into_iter().collect();
    gpu.streams.set_capture_dependencies(stream.handle(), nodes, flags == 1)
}

fn check_mode(mode: u32) -> Outcome {
    if mode > 2 { Err(Status::INVALID_VALUE) } else { Ok(()) }
}

functions! {
    "cuThreadExchangeStreamCaptureMode" 10010 Init thread_exchange_stream_capture_mode(mode: Out<u32>) {
        let wanted = mode.before()?;
        check_mode(wanted)?;
        mode.set(CAPTURE_MODE.replace(wanted))
    }

    "cuStreamBeginCapture_v2" / "cuStreamBeginCapture_v2_ptsz" 10010 Context stream_begin_capture(
        stream: Stream, mode: u32,
    ) {
        check_mode(mode)?;
        gpu()?.streams.begin_capture(stream.handle(), None)
    }

    "cuStreamBeginCaptureToGraph" / "cuStreamBeginCaptureToGraph_ptsz" 12030 Context
    stream_begin_capture_to_graph(
        stream: Stream, graph: u64, nodes: In<u64>, _edges: In<u64>, count: usize, mode: u32,
    ) {
        check_mode(mode)?;
        let nodes = nodes.list(count)?;
        gpu()?.streams.begin_capture(stream.handle(), Some((graph, &nodes)))
    }

    "cuStreamEndCapture" / "cuStreamEndCapture_ptsz" 10000 Context stream_end_capture(
        stream: Stream, graph: Out<u64>,
    ) {
        let (stream, mut gpu) = (stream.handle(), gpu()?);
        // A program that captures into its own graph has it already.
        let given = gpu.streams.capture_of(stream)?.is_some_and(|(_, capture)| capture.given);
        if !graph.wanted() && !given {
            return Err(Status::INVALID_VALUE);
        }
        graph.offer(0);
        graph.offer(gpu.streams.end_capture(stream)?);
        Ok(())
    }

    "cuStreamIsCapturing" / "cuStreamIsCapturing_ptsz" 10000 Context stream_is_capturing(
        stream: Stream, capturing: Out<u32>,
    ) {
        capturing.set(state(stream)?.0)
    }

    "cuStreamGetCaptureInfo" / "cuStreamGetCaptureInfo_ptsz" 10010 Context stream_get_capture_info(
        stream: Stream, status: Out<u32>, id: Out<u64>,
    ) {
        let (found, number) = state(stream)?;
        status.set(found)?;
        id.offer(number);
        Ok(())
    }

    "cuStreamGetCaptureInfo_v2" / "cuStreamGetCaptureInfo_v2_ptsz" 11030 Context stream_get_capture_info_v2(
        stream: Stream, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<*const u64>, count: Out<usize>,
    ) {
        info(stream, status, (id, graph, nodes, count))
    }

    "cuStreamGetCaptureInfo_v3" / "cuStreamGetCaptureInfo_v3_ptsz" 12030 Context stream_get_capture_info_v3(
        stream: Stream, status: Out<u32>, id: Out<u64>, graph: Out<u64>, nodes: Out<*const u64>,
        edges: Out<*const u64>, count: Out<usize>,
    ) {
        // No dependency has edge data.
        edges.offer(std::ptr::null());
        info(stream, status, (id, graph, nodes, count))
    }

    "cuStreamUpdateCaptureDependencies" / "cuStreamUpdateCaptureDependencies_ptsz" 11030 Context
    stream_update_capture_dependencies(stream: Stream, nodes: In<u64>, count: usize, flags: u32) {
        update(stream, nodes, count, flags)
    }

    "cuStreamUpdateCaptureDependencies_v2" / "cuStreamUpdateCaptureDependencies_v2_ptsz" 12030 Context
    stream_update_capture_dependencies_v2(
        stream: Stream, nodes: In<u64>, _edges: In<u64>, count: usize, flags: u32,
    ) {
        update(stream, nodes, count, flags)
    }
}
