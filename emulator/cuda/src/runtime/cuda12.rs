//! Functions of CUDA 12's runtime that differ from CUDA 13's of the same name.
//!
//! What CUDA 12 calls `X_v2` is nearly always CUDA 13's `X`; the build script generates those, this module
//! has the others.

use super::devices::{mem_advise, mem_prefetch};
use super::forwarded::{self, forwarded};
use super::general::{device_reset, device_synchronize};
use super::graphs::add_node;
use super::layout::Location;
use super::memory::memcpy_batch;
use super::properties::{self, properties};
use super::{done, store};
use crate::device::Attributes;
use crate::driver::node::NodeParams;
use crate::driver::{In, Out, Stream, capture, graph};
use crate::error::Status;
use crate::gpu::gpu;
use std::ffi::c_void;

/// Size of CUDA 12's `cudaDeviceProp`.
const PROPERTIES_BYTES: usize = 1032;
/// Parts of CUDA 13's structure: where they begin there, where they lie in CUDA 12's, and how long they are.
const PARTS: [(usize, usize, usize); 9] = [
    (0, 0, 348),
    (352, 352, 32),
    (384, 388, 4),
    (388, 396, 8),
    (396, 408, 8),
    (404, 420, 188),
    (592, 612, 28),
    (624, 640, 28),
    (652, 672, 20),
];
/// The last part.
const LAST: (usize, usize) = (672, 696);
/// Fields that CUDA 13 removed: their offsets and attributes.
const GONE: [(usize, u32); 8] =
    [(348, 13), (384, 15), (392, 17), (404, 20), (416, 69), (608, 36), (668, 87), (692, 96)];

/// CUDA 12's structure for a device.
fn properties12(device: &crate::device::Device) -> [u8; PROPERTIES_BYTES] {
    let new = properties(device);
    let mut bytes = [0; PROPERTIES_BYTES];
    for (from, to, length) in PARTS {
        bytes[to..to + length].copy_from_slice(&new[from..from + length]);
    }
    bytes[LAST.1..].copy_from_slice(&new[LAST.0..properties::BYTES]);
    for (at, attribute) in GONE {
        let value = device.attribute(attribute).unwrap_or(0);
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

/// `cudaGetDeviceProperties_v2`.
///
/// # Safety
/// `to` has room for CUDA 12's `cudaDeviceProp`.
#[unsafe(export_name = "warplab_cudaGetDeviceProperties_v2_v12")]
pub(crate) unsafe extern "C" fn get_device_properties(
    to: *mut [u8; PROPERTIES_BYTES],
    device: i32,
) -> Status {
    let known = if device == 0 { gpu() } else { Err(Status::INVALID_DEVICE) };
    // SAFETY: as the caller promises.
    done(known.and_then(|gpu| unsafe { store(to, properties12(gpu.device)) }))
}

/// `cudaMemAdvise`.
#[unsafe(export_name = "warplab_cudaMemAdvise_v12")]
pub(crate) extern "C" fn advise(address: u64, bytes: usize, advice: u32, device: i32) -> Status {
    mem_advise(address, bytes, advice, Location::of(device))
}

/// `cudaMemPrefetchAsync`.
#[unsafe(export_name = "warplab_cudaMemPrefetchAsync_v12")]
pub(crate) extern "C" fn prefetch(address: u64, bytes: usize, device: i32, stream: u64) -> Status {
    mem_prefetch(address, bytes, Location::of(device), 0, stream)
}

/// `cudaMemcpyBatchAsync`, which reports the failed copy; here no copy starts if one has invalid arguments.
///
/// # Safety
/// As [`memcpy_batch`].
#[unsafe(export_name = "warplab_cudaMemcpyBatchAsync_v12")]
pub(crate) unsafe extern "C" fn copy_batch(
    to: *const u64,
    from: *const u64,
    bytes: *const usize,
    count: usize,
    attributes: *const c_void,
    numbers: *const usize,
    attribute_count: usize,
    failed: Out<usize>,
    stream: u64,
) -> Status {
    failed.offer(usize::MAX);
    // SAFETY: as the caller promises.
    unsafe { memcpy_batch(to, from, bytes, count, attributes, numbers, attribute_count, stream) }
}

/// `cudaGraphAddNode`.
#[unsafe(export_name = "warplab_cudaGraphAddNode_v12")]
pub(crate) extern "C" fn graph_add_node(
    node: Out<u64>,
    graph: u64,
    needs: In<u64>,
    count: usize,
    params: Out<NodeParams>,
) -> Status {
    add_node(node, graph, needs, std::ptr::null(), count, params)
}

/// `cudaGraphGetEdges`.
#[unsafe(export_name = "warplab_cudaGraphGetEdges_v12")]
pub(crate) extern "C" fn graph_get_edges(
    graph: u64,
    from: Out<u64>,
    to: Out<u64>,
    count: Out<usize>,
) -> Status {
    forwarded(|| graph::graph_get_edges(graph, from, to, count))
}

/// `cudaGraphNodeGetDependencies`.
#[unsafe(export_name = "warplab_cudaGraphNodeGetDependencies_v12")]
pub(crate) extern "C" fn get_dependencies(node: u64, nodes: Out<u64>, count: Out<usize>) -> Status {
    forwarded(|| graph::graph_node_get_dependencies(node, nodes, count))
}

/// `cudaGraphNodeGetDependentNodes`.
#[unsafe(export_name = "warplab_cudaGraphNodeGetDependentNodes_v12")]
pub(crate) extern "C" fn get_dependent_nodes(node: u64, nodes: Out<u64>, count: Out<usize>) -> Status {
    forwarded(|| graph::graph_node_get_dependent_nodes(node, nodes, count))
}

/// `cudaGraphAddDependencies`.
#[unsafe(export_name = "warplab_cudaGraphAddDependencies_v12")]
pub(crate) extern "C" fn add_dependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) -> Status {
    forwarded(|| graph::graph_add_dependencies(graph, from, to, count))
}

/// `cudaGraphRemoveDependencies`.
#[unsafe(export_name = "warplab_cudaGraphRemoveDependencies_v12")]
pub(crate) extern "C" fn remove_dependencies(graph: u64, from: In<u64>, to: In<u64>, count: usize) -> Status {
    forwarded(|| graph::graph_remove_dependencies(graph, from, to, count))
}

/// `cudaStreamGetCaptureInfo`, of CUDA 10.
#[unsafe(export_name = "warplab_cudaStreamGetCaptureInfo_v12")]
pub(crate) extern "C" fn capture_info(stream: Stream, status: Out<u32>, id: Out<u64>) -> Status {
    forwarded(|| capture::stream_get_capture_info(stream, status, id))
}

/// `cudaStreamGetCaptureInfo_v2`, which CUDA 12's headers call `cudaStreamGetCaptureInfo`.
#[unsafe(export_name = "warplab_cudaStreamGetCaptureInfo_v2_v12")]
pub(crate) extern "C" fn capture_info_v2(
    stream: Stream,
    status: Out<u32>,
    id: Out<u64>,
    graph: Out<u64>,
    nodes: Out<*const u64>,
    count: Out<usize>,
) -> Status {
    forwarded(|| capture::stream_get_capture_info_v2(stream, status, id, graph, nodes, count))
}

/// `cudaStreamUpdateCaptureDependencies`.
#[unsafe(export_name = "warplab_cudaStreamUpdateCaptureDependencies_v12")]
pub(crate) extern "C" fn update_dependencies(
    stream: Stream,
    nodes: In<u64>,
    count: usize,
    flags: u32,
) -> Status {
    forwarded(|| capture::stream_update_capture_dependencies(stream, nodes, count, flags))
}

/// `cudaThreadSynchronize`.
#[unsafe(export_name = "warplab_cudaThreadSynchronize_v12")]
pub(crate) extern "C" fn thread_synchronize() -> Status {
    device_synchronize()
}

/// `cudaThreadExit`.
#[unsafe(export_name = "warplab_cudaThreadExit_v12")]
pub(crate) extern "C" fn thread_exit() -> Status {
    device_reset()
}

/// `cudaThreadSetLimit`.
#[unsafe(export_name = "warplab_cudaThreadSetLimit_v12")]
pub(crate) extern "C" fn thread_set_limit(limit: u32, value: usize) -> Status {
    forwarded::set_limit(limit, value)
}

/// `cudaThreadGetLimit`.
#[unsafe(export_name = "warplab_cudaThreadGetLimit_v12")]
pub(crate) extern "C" fn thread_get_limit(value: Out<usize>, limit: u32) -> Status {
    forwarded::get_limit(value, limit)
}

/// `cudaThreadSetCacheConfig`.
#[unsafe(export_name = "warplab_cudaThreadSetCacheConfig_v12")]
pub(crate) extern "C" fn thread_set_cache_config(preference: u32) -> Status {
    forwarded::set_cache_config(preference)
}

/// `cudaThreadGetCacheConfig`.
#[unsafe(export_name = "warplab_cudaThreadGetCacheConfig_v12")]
pub(crate) extern "C" fn thread_get_cache_config(preference: Out<u32>) -> Status {
    forwarded::get_cache_config(preference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Attributes, Device};

    #[test]
    fn fields_lie_where_the_header_has_them() {
        let device = Device::find("a100").expect("it is known");
        let bytes = properties12(device);
        let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let of = |number| device.attribute(number).expect("it is known");
        // Offsets in CUDA 12.9's header.
        assert_eq!((int(360), int(364)), (8, 0), "compute capability");
        for (at, attribute) in
            [(348, 13), (388, 16), (608, 36), (612, 37), (616, 38), (624, 39), (676, 89), (688, 95)]
        {
            assert_eq!(int(at), of(attribute), "attribute {attribute} at {at}");
        }
        assert_eq!(int(696), of(97), "shared memory of a block that asks for more");
        assert_eq!(int(712), of(106), "blocks of a multiprocessor");
        assert_eq!((int(420), int(424)), (of(22), of(23)), "two-dimensional textures");
    }
}
