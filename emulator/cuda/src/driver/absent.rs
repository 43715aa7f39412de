//! What is not there: memory and events of other processes, clusters.

use super::{Out, functions};
use crate::error::{Outcome, Status};

/// CUDA's handle of memory or an event of another process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IpcHandle {
    words: [u64; 8],
}

/// The same for all.
fn absent() -> Outcome {
    Err(Status::NOT_SUPPORTED)
}

functions! {
    "cuIpcGetEventHandle" 4010 Context ipc_get_event_handle(_handle: Out<[u8; 64]>, _event: u64) { absent() }
    "cuIpcOpenEventHandle" 4010 Context ipc_open_event_handle(_event: Out<u64>, _handle: IpcHandle) { absent() }
    "cuIpcGetMemHandle" 4010 Context ipc_get_mem_handle(_handle: Out<[u8; 64]>, _address: u64) { absent() }
    "cuIpcOpenMemHandle_v2" 11000 Context ipc_open_mem_handle(
        _address: Out<u64>, _handle: IpcHandle, _flags: u32,
    ) {
        absent()
    }
    "cuIpcCloseMemHandle" 4010 Context ipc_close_mem_handle(_address: u64) { absent() }
    "cuOccupancyMaxPotentialClusterSize" 11070 Context occupancy_max_potential_cluster_size(
        _size: Out<i32>, _function: u64, _config: usize,
    ) {
        absent()
    }
    "cuOccupancyMaxActiveClusters" 11070 Context occupancy_max_active_clusters(
        _count: Out<i32>, _function: u64, _config: usize,
    ) {
        absent()
    }
    "cuMemExportToShareableHandle" 10020 Context mem_export_to_shareable_handle(
        _to: Out<u64>, _handle: u64, _kind: u32, _flags: u64,
    ) {
        absent()
    }
    "cuMemImportFromShareableHandle" 10020 Context mem_import_from_shareable_handle(
        _handle: Out<u64>, _from: usize, _kind: u32,
    ) {
        absent()
    }
}
