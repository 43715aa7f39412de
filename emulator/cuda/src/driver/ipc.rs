//! Memory and events of other processes.

use super::{Out, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::shared_file::SharedFile;
use crate::streams::shared_event::SharedEvent;
use crate::streams::stream::{EVENT_DISABLE_TIMING, EVENT_INTERPROCESS, Event};

/// CUDA's handle of memory or an event of another process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpcHandle {
    file: SharedFile,
    rest: [u64; 4],
}

const _: () = assert!(size_of::<IpcHandle>() == 64);

impl IpcHandle {
    fn of(file: SharedFile) -> IpcHandle {
        IpcHandle { file, rest: [0; 4] }
    }
}

/// Flag of `cuIpcOpenMemHandle`: lazily enabled access of peers, which it demands.
const LAZY_PEER_ACCESS: u32 = 1;

fn event_handle(handle: Out<IpcHandle>, event: u64) -> Outcome {
    let mut gpu = gpu()?;
    let found = gpu.streams.events.get_mut(event)?;
    let needed = EVENT_INTERPROCESS | EVENT_DISABLE_TIMING;
    if found.flags & needed != needed {
        return Err(Status::INVALID_RESOURCE_HANDLE);
    }
    if found.shared.is_none() {
        found.shared = Some(SharedEvent::create()?);
    }
    let shared = found.shared.as_ref().ok_or(Status::INVALID_RESOURCE_HANDLE)?;
    handle.set(IpcHandle::of(shared.handle()?))
}

functions! {
    "cuIpcGetMemHandle" 4010 Context ipc_get_mem_handle(handle: Out<IpcHandle>, address: u64) {
        if !handle.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        handle.set(IpcHandle::of(gpu()?.memory.share(address)?))
    }
    "cuIpcOpenMemHandle_v2" 11000 Context ipc_open_mem_handle(
        address: Out<u64>, handle: IpcHandle, flags: u32,
    ) {
        if flags & !LAZY_PEER_ACCESS != 0 || !address.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        address.set(gpu()?.memory.open_shared(handle.file)?)
    }
    "cuIpcCloseMemHandle" 4010 Context ipc_close_mem_handle(address: u64) { gpu()?.memory.close_shared(address) }
    "cuIpcGetEventHandle" 4010 Context ipc_get_event_handle(handle: Out<IpcHandle>, event: u64) {
        if !handle.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        event_handle(handle, event)
    }
    "cuIpcOpenEventHandle" 4010 Context ipc_open_event_handle(event: Out<u64>, handle: IpcHandle) {
        if !event.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        let shared = SharedEvent::open(handle.file)?;
        let flags = EVENT_INTERPROCESS | EVENT_DISABLE_TIMING;
        event.set(gpu()?.streams.events.insert(Event { flags, shared: Some(shared), ..Event::default() }))
    }
}
