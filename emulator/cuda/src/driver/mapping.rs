//! Virtual memory management.

use super::pool::Access;
use super::{In, Out, functions};
use crate::error::Status;
use crate::gpu::gpu;
use crate::memory::location::Location;
use crate::memory::mapping::GRANULARITY;
use crate::tell::tell;

/// CUDA's `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllocationProperties {
    kind: u32,
    handle_kinds: u32,
    location: Location,
    meta_data: usize,
    flags: u64,
}

const _: () = assert!(size_of::<AllocationProperties>() == 32);

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const FILE_DESCRIPTOR: u32 = 1;
/// `CU_MEM_ALLOCATION_TYPE_PINNED`.
const PINNED: u32 = 1;
/// Access: none, to read, to read and write.
const READ: u32 = 1;
const READ_WRITE: u32 = 3;

impl AllocationProperties {
    fn check(&self) -> crate::error::Outcome {
        if self.kind != PINNED {
            return Err(Status::INVALID_VALUE);
        }
        if !matches!(self.handle_kinds, 0 | FILE_DESCRIPTOR) {
            tell("cuMemCreate: memory is shared with other processes by file descriptors only");
            return Err(Status::NOT_SUPPORTED);
        }
        self.location.check().map_err(|_| Status::INVALID_DEVICE)
    }
}

functions! {
    "cuMemGetAllocationGranularity" 10020 Context mem_get_allocation_granularity(
        bytes: Out<usize>, properties: In<AllocationProperties>, option: u32,
    ) {
        properties.get()?.check()?;
        if option > 1 {
            return Err(Status::INVALID_VALUE);
        }
        bytes.set(GRANULARITY as usize)
    }

    "cuMemAddressReserve" 10020 Context mem_address_reserve(
        address: Out<u64>, bytes: usize, alignment: usize, _wish: u64, flags: u64,
    ) {
        if flags != 0 || !address.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        address.set(gpu()?.memory.reserve_addresses(bytes as u64, alignment as u64)?)
    }

    "cuMemAddressFree" 10020 Context mem_address_free(address: u64, bytes: usize) {
        gpu()?.memory.release_addresses(address, bytes as u64)
    }

    "cuMemCreate" 10020 Context mem_create(
        memory: Out<u64>, bytes: usize, properties: In<AllocationProperties>, flags: u64,
    ) {
        properties.get()?.check()?;
        if flags != 0 || !memory.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        let created = match properties.get()?.handle_kinds {
            0 => gpu()?.memory.create_memory(bytes as u64)?,
            _ => gpu()?.memory.create_shareable(bytes as u64)?,
        };
        memory.set(created)
    }

    "cuMemRelease" 10020 Context mem_release(memory: u64) { gpu()?.memory.release_memory(memory) }

    "cuMemRetainAllocationHandle" 11000 Context mem_retain_allocation_handle(memory: Out<u64>, address: u64) {
        memory.set(gpu()?.memory.retain_memory_at(address)?)
    }

    "cuMemMap" 10020 Context mem_map(address: u64, bytes: usize, offset: usize, memory: u64, flags: u64) {
        if offset != 0 || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        gpu()?.memory.map_memory(address, bytes as u64, memory)
    }

    "cuMemUnmap" 10020 Context mem_unmap(address: u64, bytes: usize) {
        gpu()?.memory.unmap_memory(address, bytes as u64)
    }

    "cuMemSetAccess" 10020 Context mem_set_access(
        address: u64, bytes: usize, access: In<Access>, count: usize,
    ) {
        for access in access.list(count)? {
            access.location.check().map_err(|_| Status::INVALID_DEVICE)?;
            match access.flags {
                0 => gpu()?.memory.set_access(address, bytes as u64, false)?,
                READ_WRITE => gpu()?.memory.set_access(address, bytes as u64, true)?,
                READ => {
                    tell("mapped memory cannot be read-only");
                    return Err(Status::NOT_SUPPORTED);
                }
                _ => return Err(Status::INVALID_VALUE),
            }
        }
        Ok(())
    }

    "cuMemGetAccess" 10020 Context mem_get_access(flags: Out<u64>, location: In<Location>, address: u64) {
        location.get()?.check().map_err(|_| Status::INVALID_DEVICE)?;
        flags.set(if gpu()?.memory.access(address)? { READ_WRITE.into() } else { 0 })
    }

    "cuMemGetAllocationPropertiesFromHandle" 10020 Context mem_get_allocation_properties_from_handle(
        properties: Out<AllocationProperties>, memory: u64,
    ) {
        let handle_kinds = if gpu()?.memory.is_shareable(memory)? { FILE_DESCRIPTOR } else { 0 };
        let location = Location { kind: 1, id: 0 };
        properties.set(AllocationProperties {
            kind: PINNED,
            handle_kinds,
            location,
            ..AllocationProperties::default()
        })
    }

    "cuMemExportToShareableHandle" 10020 Context mem_export_to_shareable_handle(
        to: Out<i32>, memory: u64, kind: u32, flags: u64,
    ) {
        if flags != 0 || !to.wanted() || kind != FILE_DESCRIPTOR {
            return Err(Status::INVALID_VALUE);
        }
        to.set(gpu()?.memory.export_memory(memory)?)
    }

    "cuMemImportFromShareableHandle" 10020 Context mem_import_from_shareable_handle(
        memory: Out<u64>, descriptor: usize, kind: u32,
    ) {
        if kind != FILE_DESCRIPTOR || !memory.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        // The descriptor itself is passed as a pointer.
        let descriptor = i32::try_from(descriptor).map_err(|_| Status::INVALID_VALUE)?;
        memory.set(gpu()?.memory.import_memory(descriptor)?)
    }
}
