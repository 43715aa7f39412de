//! Allocation of memory and attributes of addresses.

use super::{In, Out, Stream, functions};
use crate::error::{Outcome, Status};
use crate::gpu::gpu;
use crate::memory::advice::Advice;
use crate::memory::location::Location;
use crate::memory::{Purpose, Region};
use crate::running::waiting;
use crate::streams::beside::What;

/// Rows of pitched memory begin at a multiple of this.
const PITCH_ALIGNMENT: usize = 512;
/// Flags of host memory: portable, mapped, write-combined.
const HOST_FLAGS: u32 = 7;

fn allocate(to: Out<u64>, bytes: usize, purpose: Purpose, flags: u32, name: &str) -> Outcome {
    if bytes == 0 || !to.wanted() {
        return Err(Status::INVALID_VALUE);
    }
    to.set(gpu()?.memory.allocate(name, bytes as u64, purpose, flags)?)
}

/// Bytes of a row of pitched memory, and of all rows.
pub(super) fn pitched(width: usize, height: usize, element: u32) -> Outcome<(usize, usize)> {
    if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
        return Err(Status::INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(PITCH_ALIGNMENT).ok_or(Status::INVALID_VALUE)?;
    Ok((row, row.checked_mul(height).ok_or(Status::MEMORY_ALLOCATION)?))
}

fn release(address: u64, of: &[Purpose]) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    waiting::wait_for(What::All)?;
    gpu()?.memory.free(address, of).map(drop)
}

fn region(address: u64) -> Outcome<Region> {
    gpu()?.memory.region(address).copied().ok_or(Status::INVALID_VALUE)
}

/// The pages of managed memory that bytes lie in.
fn managed(address: u64, bytes: usize) -> Outcome<(u64, u64)> {
    let page = rustix::param::page_size() as u64;
    let region = region(address)?;
    let end = address.checked_add(bytes as u64).ok_or(Status::INVALID_VALUE)?;
    let last = region.start + region.bytes;
    if region.purpose != Purpose::Managed || bytes == 0 || end > last {
        return Err(Status::INVALID_VALUE);
    }
    Ok(((address / page * page).max(region.start), end.next_multiple_of(page).min(last)))
}

/// Keeps advice about managed memory.
pub(crate) fn advise(address: u64, bytes: usize, number: u32, location: Location) -> Outcome {
    let (start, end) = managed(address, bytes)?;
    Advice::default().add(number, location)?;
    gpu()?.memory.advices.change(start, end, |advice| {
        // It has been checked.
        let _ = advice.add(number, location);
    });
    Ok(())
}

/// Stores the location to which managed memory was prefetched.
pub(crate) fn prefetch(address: u64, bytes: usize, location: Location, stream: u64) -> Outcome {
    let (start, end) = managed(address, bytes)?;
    location.is_there()?;
    let mut gpu = gpu()?;
    gpu.streams.get(stream)?;
    gpu.memory.advices.change(start, end, |advice| advice.prefetch(location));
    Ok(())
}

/// Writes an attribute of managed memory.
fn range_attribute(to: Out<i32>, bytes: usize, number: u32, address: u64, count: usize) -> Outcome {
    let (start, end) = managed(address, count)?;
    let words = gpu()?.memory.advices.words(number, bytes, start, end)?;
    words.into_iter().enumerate().try_for_each(|(at, word)| to.set_at(at, word))
}

fn host_region(address: u64) -> Outcome<Region> {
    let region = region(address)?;
    if region.is_host() { Ok(region) } else { Err(Status::INVALID_VALUE) }
}

/// An attribute of a pointer by its number, written with the width of its type.
fn pointer_attribute(to: Out<u8>, number: u32, address: u64) -> Outcome {
    let region = region(address)?;
    let host = region.is_host();
    match number {
        1 => to.cast::<u64>().set(crate::contexts::current().unwrap_or(0)),
        // Memory types: 1 host, 2 device.
        2 => to.cast::<u32>().set(if host { 1 } else { 2 }),
        3 => to.cast::<u64>().set(region.device_address(address)),
        4 if host || region.purpose == Purpose::Managed => to.cast::<u64>().set(region.host_address(address)),
        6 => to.cast::<u32>().set(u32::from(region.synchronous)),
        7 => to.cast::<u64>().set(region.id),
        8 => to.cast::<u8>().set(u8::from(region.purpose == Purpose::Managed)),
        9 => to.cast::<i32>().set(0),
        10 => to.cast::<u8>().set(0),
        11 | 19 => to.cast::<u64>().set(region.start),
        12 | 18 => to.cast::<u64>().set(region.bytes),
        13 => to.cast::<u8>().set(1),
        14 => to.cast::<u64>().set(0),
        15 => to.cast::<u8>().set(0),
        // Readable and writable.
        16 => to.cast::<u32>().set(3),
        17 => to.cast::<u64>().set(gpu()?.memory.pools.pool_of(address).unwrap_or(0)),
        20 => to.cast::<u64>().set(region.id),
        _ => Err(Status::INVALID_VALUE),
    }
}

functions! {
    "cuMemGetInfo_v2" 3020 Context mem_get_info(free: Out<usize>, total: Out<usize>) {
        let (rest, all) = gpu()?.memory.info();
        free.set(rest as usize)?;
        total.set(all as usize)
    }

    "cuMemAlloc_v2" 3020 Context mem_alloc(address: Out<u64>, bytes: usize) {
        allocate(address, bytes, Purpose::Device, 0, "cuMemAlloc")
    }

    "cuMemAllocPitch_v2" 3020 Context mem_alloc_pitch(
        address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: u32,
    ) {
        let (row, bytes) = pitched(width, height, element)?;
        if !pitch.wanted() {
            return Err(Status::INVALID_VALUE);
        }
        allocate(address, bytes, Purpose::Device, 0, "cuMemAllocPitch")?;
        pitch.set(row)
    }

    "cuMemAllocManaged" 6000 Context mem_alloc_managed(address: Out<u64>, bytes: usize, flags: u32) {
        if !matches!(flags, 1 | 2) {
            return Err(Status::INVALID_VALUE);
        }
        allocate(address, bytes, Purpose::Managed, flags, "cuMemAllocManaged")
    }

    "cuMemFree_v2" 3020 Context mem_free(address: u64) {
        if address == 0 {
            return Ok(());
        }
        waiting::wait_for(What::All)?;
        gpu()?.memory.free_device(address)
    }

    "cuMemGetAddressRange_v2" 3020 Context mem_get_address_range(
        base: Out<u64>, bytes: Out<usize>, address: u64,
    ) {
        let region = region(address).map_err(|_| Status::SYMBOL_NOT_FOUND)?;
        base.offer(region.start);
        bytes.offer(region.bytes as usize);
        Ok(())
    }

    "cuMemAllocHost_v2" 3020 Context mem_alloc_host(address: Out<u64>, bytes: usize) {
        allocate(address, bytes, Purpose::Host, 0, "cuMemAllocHost")
    }

    "cuMemHostAlloc" 2020 Context mem_host_alloc(address: Out<u64>, bytes: usize, flags: u32) {
        if flags & !HOST_FLAGS != 0 {
            return Err(Status::INVALID_VALUE);
        }
        allocate(address, bytes, Purpose::Host, flags, "cuMemHostAlloc")
    }

    "cuMemFreeHost" 2000 Context mem_free_host(address: u64) { release(address, &[Purpose::Host]) }

    "cuMemHostGetDevicePointer_v2" 3020 Context mem_host_get_device_pointer(
        to: Out<u64>, address: u64, _flags: u32,
    ) {
        to.set(host_region(address)?.device_address(address))
    }

    "cuMemHostGetFlags" 2030 Context mem_host_get_flags(flags: Out<u32>, address: u64) {
        // Under unified addressing all host memory is mapped.
        flags.set(host_region(address)?.flags | 2)
    }

    "cuMemHostRegister_v2" 6050 Context mem_host_register(address: u64, bytes: usize, flags: u32) {
        gpu()?.memory.register(address, bytes as u64, flags)
    }

    "cuMemHostUnregister" 4000 Context mem_host_unregister(address: u64) {
        gpu()?.memory.unregister(address)
    }

    "cuPointerGetAttribute" 4000 Context pointer_get_attribute(data: Out<u8>, number: u32, address: u64) {
        pointer_attribute(data, number, address)
    }

    "cuPointerGetAttributes" 7000 Context pointer_get_attributes(
        count: u32, numbers: In<u32>, data: In<Out<u8>>, address: u64,
    ) {
        let known = region(address).is_ok();
        for (number, to) in numbers.list(count as usize)?.into_iter().zip(data.list(count as usize)?) {
            // All attributes of a pointer that CUDA does not know are zero.
            match number {
                _ if known && pointer_attribute(to, number, address).is_ok() => {}
                1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => to.cast::<u64>().set(0)?,
                2 | 6 | 16 => to.cast::<u32>().set(0)?,
                9 => to.cast::<i32>().set(-2)?,
                8 | 10 | 13 | 15 => to.cast::<u8>().set(0)?,
                _ => return Err(Status::INVALID_VALUE),
            }
        }
        Ok(())
    }

    "cuPointerSetAttribute" 6000 Context pointer_set_attribute(value: In<u8>, number: u32, address: u64) {
        let start = region(address)?.start;
        if number != 6 {
            return Err(Status::INVALID_VALUE);
        }
        // Programs pass a truth value of one or four bytes. Copies are synchronous in either case.
        gpu()?.memory.set_synchronous(start, value.get()? != 0)
    }

    "cuMemPrefetchAsync" / "cuMemPrefetchAsync_ptsz" 8000 Context mem_prefetch_async(
        address: u64, bytes: usize, device: i32, stream: Stream,
    ) {
        prefetch(address, bytes, Location::of(device), stream.handle())
    }

    "cuMemPrefetchAsync_v2" / "cuMemPrefetchAsync_v2_ptsz" 12020 Context mem_prefetch_async_v2(
        address: u64, bytes: usize, location: Location, _flags: u32, stream: Stream,
    ) {
        prefetch(address, bytes, location, stream.handle())
    }

    "cuMemAdvise" 8000 Context mem_advise(address: u64, bytes: usize, number: u32, device: i32) {
        advise(address, bytes, number, Location::of(device))
    }

    "cuMemAdvise_v2" 12020 Context mem_advise_v2(address: u64, bytes: usize, number: u32, location: Location) {
        advise(address, bytes, number, location)
    }

    "cuMemRangeGetAttribute" 8000 Context mem_range_get_attribute(
        data: Out<i32>, bytes: usize, number: u32, address: u64, count: usize,
    ) {
        range_attribute(data, bytes, number, address, count)
    }

    "cuMemRangeGetAttributes" 8000 Context mem_range_get_attributes(
        data: In<Out<i32>>, bytes: In<usize>, numbers: In<u32>, how_many: usize, address: u64, count: usize,
    ) {
        let (data, bytes, numbers) = (data.list(how_many)?, bytes.list(how_many)?, numbers.list(how_many)?);
        let mut asked = data.into_iter().zip(bytes).zip(numbers);
        asked.try_for_each(|((to, bytes), number)| range_attribute(to, bytes, number, address, count))
    }
}
