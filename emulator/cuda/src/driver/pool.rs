//! Memory pools and allocation in the order of streams.

use super::{In, Out, Stream, device, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::location::Location;
use crate::memory::pool::Pool;
use crate::running::perform;

/// CUDA's `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(super) location: Location,
    pub(super) flags: u32,
}

/// CUDA's `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolProperties {
    kind: u32,
    handle_kinds: u32,
    location: Location,
    security: usize,
    limit: usize,
    usage: u16,
    reserved: [u8; 54],
}

const _: () = assert!(size_of::<PoolProperties>() == 88 && size_of::<Access>() == 12);

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: u32 = 1;

impl Location {
    pub(super) fn check(self) -> Outcome {
        if self.kind == DEVICE && self.id == 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }
}

impl PoolProperties {
    /// Those of memory of the device.
    pub(super) fn on_device() -> PoolProperties {
        PoolProperties {
            kind: 1,
            handle_kinds: 0,
            location: Location { kind: DEVICE, id: 0 },
            security: 0,
            limit: 0,
            usage: 0,
            reserved: [0; 54],
        }
    }
}

/// Only pools of device memory are supported.
fn of_device(location: Location, kind: u32) -> Outcome {
    if location.kind != DEVICE || kind != 1 {
        return Err(Status::NOT_SUPPORTED);
    }
    device(location.id)
}

fn allocate(to: Out<u64>, pool: Option<u64>, bytes: usize, stream: Stream) -> Outcome {
    if !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    to.set(perform::allocate_in_order(pool, bytes as u64, stream.handle())?)
}

/// Attributes of pools: 1 to 3 are `int`s, 4 to 8 64 bits wide.
fn get(pool: &Pool, number: u32, to: Out<u8>) -> Outcome {
    match number {
        1..=3 => to.cast::<u32>().set(pool.reuse[number as usize - 1]),
        4 => to.cast::<u64>().set(pool.release_threshold),
        // The pool retains nothing: reserved bytes equal used bytes.
        5 | 7 => to.cast::<u64>().set(pool.used),
        6 | 8 => to.cast::<u64>().set(pool.used_high),
        // Pinned, on device 0, without handles for other processes.
        9 | 12 => to.cast::<u32>().set(1),
        10 | 11 | 14 => to.cast::<u32>().set(0),
        13 => to.cast::<u64>().set(pool.limit),
        _ => Err(Status::INVALID_VALUE),
    }
}

fn set(pool: &mut Pool, number: u32, value: In<u8>) -> Outcome {
    match number {
        1..=3 => pool.reuse[number as usize - 1] = In(value.0.cast::<u32>()).get()?,
        4 => pool.release_threshold = In(value.0.cast::<u64>()).get()?,
        // The high-water marks can only be reset.
        6 | 8 if In(value.0.cast::<u64>()).get()? == 0 => pool.used_high = pool.used,
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

functions! {
    "cuMemAllocAsync" / "cuMemAllocAsync_ptsz" 11020 Context mem_alloc_async(
        address: Out<u64>, bytes: usize, stream: Stream,
    ) {
        allocate(address, None, bytes, stream)
    }

    "cuMemAllocFromPoolAsync" / "cuMemAllocFromPoolAsync_ptsz" 11020 Context mem_alloc_from_pool_async(
        address: Out<u64>, bytes: usize, pool: u64, stream: Stream,
    ) {
        allocate(address, Some(pool), bytes, stream)
    }

    "cuMemFreeAsync" / "cuMemFreeAsync_ptsz" 11020 Context mem_free_async(address: u64, stream: Stream) {
        if address == 0 { Ok(()) } else { perform::free_in_order(address, stream.handle()) }
    }

    "cuDeviceGetDefaultMemPool" 11020 Init device_get_default_mem_pool(pool: Out<u64>, ordinal: i32) {
        device(ordinal)?;
        pool.set(gpu()?.memory.pools.default_pool())
    }

    "cuDeviceGetMemPool" 11020 Init device_get_mem_pool(pool: Out<u64>, ordinal: i32) {
        device(ordinal)?;
        pool.set(gpu()?.memory.pools.current_pool())
    }

    "cuDeviceSetMemPool" 11020 Init device_set_mem_pool(ordinal: i32, pool: u64) {
        device(ordinal)?;
        gpu()?.memory.pools.set_current(pool)
    }

    "cuMemGetDefaultMemPool" 13000 Init mem_get_default_mem_pool(
        pool: Out<u64>, location: In<Location>, kind: u32,
    ) {
        of_device(location.get()?, kind)?;
        pool.set(gpu()?.memory.pools.default_pool())
    }

    "cuMemGetMemPool" 13000 Init mem_get_mem_pool(pool: Out<u64>, location: In<Location>, kind: u32) {
        of_device(location.get()?, kind)?;
        pool.set(gpu()?.memory.pools.current_pool())
    }

    "cuMemSetMemPool" 13000 Init mem_set_mem_pool(location: In<Location>, kind: u32, pool: u64) {
        of_device(location.get()?, kind)?;
        gpu()?.memory.pools.set_current(pool)
    }

    "cuMemPoolCreate" 11020 Init mem_pool_create(pool: Out<u64>, properties: In<PoolProperties>) {
        let PoolProperties { kind, handle_kinds, location, limit, .. } = properties.get()?;
        of_device(location, kind)?;
        if handle_kinds != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        pool.set(gpu()?.memory.pools.pools.insert(Pool { limit: limit as u64, ..Pool::default() }))
    }

    "cuMemPoolDestroy" 11020 Init mem_pool_destroy(pool: u64) { gpu()?.memory.pools.destroy(pool) }

    "cuMemPoolTrimTo" 11020 Init mem_pool_trim_to(pool: u64, _bytes: usize) {
        gpu()?.memory.pools.pools.get(pool).map(drop)
    }

    "cuMemPoolGetAttribute" 11020 Init mem_pool_get_attribute(pool: u64, number: u32, to: Out<u8>) {
        get(gpu()?.memory.pools.pools.get(pool)?, number, to)
    }

    "cuMemPoolSetAttribute" 11020 Init mem_pool_set_attribute(pool: u64, number: u32, value: In<u8>) {
        set(gpu()?.memory.pools.pools.get_mut(pool)?, number, value)
    }

    "cuMemPoolSetAccess" 11020 Init mem_pool_set_access(pool: u64, access: In<Access>, count: usize) {
        gpu()?.memory.pools.pools.get(pool)?;
        for access in access.list(count)? {
            access.location.check().map_err(|_| Status::INVALID_DEVICE)?;
        }
        Ok(())
    }

    "cuMemPoolGetAccess" 11020 Init mem_pool_get_access(flags: Out<u32>, pool: u64, location: In<Location>) {
        gpu()?.memory.pools.pools.get(pool)?;
        // Readable and writable from the device itself.
        flags.set(if location.get()?.check().is_ok() { 3 } else { 0 })
    }
}
