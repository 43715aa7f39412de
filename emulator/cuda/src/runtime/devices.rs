//! Settings of the device and the process, and peers (there is one device).

use super::layout::Location;
use super::{done, store};
use crate::device::Attributes;
use crate::driver::{Text, memory};
use crate::error::{Outcome, Status};
use crate::gpu::{any_gpu, gpu};
use crate::host::{self, Access};
use std::ffi::{c_char, c_void};

/// PCI location of the device.
const PCI: [u32; 3] = [33, 34, 50];

fn is_device(device: i32) -> Outcome {
    if device == 0 { Ok(()) } else { Err(Status::INVALID_DEVICE) }
}

/// `cudaSetDeviceFlags`.
#[unsafe(export_name = "warplab_cudaSetDeviceFlags")]
pub(crate) extern "C" fn set_device_flags(flags: u32) -> Status {
    if flags & !0xFF != 0 {
        return done(Err(Status::INVALID_VALUE));
    }
    done(gpu().map(|mut gpu| gpu.contexts.set_primary_flags(flags)))
}

/// `cudaGetDeviceFlags`.
///
/// # Safety
/// `flags` may be written.
#[unsafe(export_name = "warplab_cudaGetDeviceFlags")]
pub(crate) unsafe extern "C" fn get_device_flags(flags: *mut u32) -> Status {
    const MAP_HOST: u32 = 8;
    let found = gpu().map(|gpu| gpu.contexts.primary_state().0 | MAP_HOST);
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(flags, found) }))
}

/// `cudaInitDevice`.
#[unsafe(export_name = "warplab_cudaInitDevice")]
pub(crate) extern "C" fn init_device(device: i32, _device_flags: u32, _flags: u32) -> Status {
    done(is_device(device))
}

/// `cudaSetValidDevices`.
///
/// # Safety
/// There are `count` devices.
#[unsafe(export_name = "warplab_cudaSetValidDevices")]
pub(crate) unsafe extern "C" fn set_valid_devices(devices: *const i32, count: i32) -> Status {
    let all = match usize::try_from(count) {
        Ok(0) => &[][..],
        Ok(count) if !devices.is_null() => {
            // SAFETY: as the caller promises.
            unsafe { std::slice::from_raw_parts(devices, count) }
        }
        _ => return done(Err(Status::INVALID_VALUE)),
    };
    done(all.iter().try_for_each(|&device| is_device(device)))
}

/// `cudaChooseDevice`: the only one.
///
/// # Safety
/// `device` may be written.
#[unsafe(export_name = "warplab_cudaChooseDevice")]
pub(crate) unsafe extern "C" fn choose_device(device: *mut i32, _properties: *const c_void) -> Status {
    // SAFETY: as the caller promises.
    done(unsafe { store(device, 0) })
}

fn bus_id() -> Outcome<String> {
    let gpu = gpu()?;
    let [bus, device, domain] = PCI.map(|number| gpu.device.attribute(number).unwrap_or(0));
    Ok(format!("{domain:04x}:{bus:02x}:{device:02x}.0"))
}

/// `cudaDeviceGetPCIBusId`.
///
/// # Safety
/// `to` has room for `length` bytes.
#[unsafe(export_name = "warplab_cudaDeviceGetPCIBusId")]
pub(crate) unsafe extern "C" fn get_pci_bus_id(to: *mut c_char, length: i32, device: i32) -> Status {
    let write = || -> Outcome {
        is_device(device)?;
        let id = bus_id()?;
        let there = host::is_there(to as u64, id.len() as u64 + 1, Access::Write);
        if !there || usize::try_from(length).map_or(true, |room| room <= id.len()) {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: there is room for the text and a NUL.
        unsafe {
            to.copy_from_nonoverlapping(id.as_ptr().cast(), id.len());
            to.add(id.len()).write(0);
        }
        Ok(())
    };
    done(write())
}

/// `cudaDeviceGetByPCIBusId`.
///
/// # Safety
/// `device` may be written, `id` is a string.
#[unsafe(export_name = "warplab_cudaDeviceGetByPCIBusId")]
pub(crate) unsafe extern "C" fn get_by_pci_bus_id(device: *mut i32, id: Text) -> Status {
    let find = || -> Outcome {
        let wanted = id.get()?.to_lowercase();
        let known = bus_id()?;
        let here =
            [known.as_str(), known.trim_end_matches(".0"), &known[5..], known[5..].trim_end_matches(".0")];
        if !here.contains(&wanted.as_str()) {
            return Err(Status::INVALID_DEVICE);
        }
        // SAFETY: as the caller promises.
        unsafe { store(device, 0) }
    };
    done(find())
}

/// `cudaDeviceCanAccessPeer`: a device is not its own peer.
///
/// # Safety
/// `can` may be written.
#[unsafe(export_name = "warplab_cudaDeviceCanAccessPeer")]
pub(crate) unsafe extern "C" fn can_access_peer(can: *mut i32, device: i32, peer: i32) -> Status {
    // SAFETY: as the caller promises.
    done(is_device(device).and_then(|()| is_device(peer)).and_then(|()| unsafe { store(can, 0) }))
}

/// `cudaDeviceEnablePeerAccess`: there is no other device.
#[unsafe(export_name = "warplab_cudaDeviceEnablePeerAccess")]
pub(crate) extern "C" fn enable_peer_access(_peer: i32, _flags: u32) -> Status {
    done(Err(Status::INVALID_DEVICE))
}

/// `cudaDeviceDisablePeerAccess`: there is no other device.
#[unsafe(export_name = "warplab_cudaDeviceDisablePeerAccess")]
pub(crate) extern "C" fn disable_peer_access(_peer: i32) -> Status {
    done(Err(Status::INVALID_DEVICE))
}

/// `cudaDeviceGetP2PAttribute`: there are no two devices.
#[unsafe(export_name = "warplab_cudaDeviceGetP2PAttribute")]
pub(crate) extern "C" fn get_p2p_attribute(
    _value: *mut i32,
    _attribute: u32,
    _from: i32,
    _to: i32,
) -> Status {
    done(Err(Status::INVALID_DEVICE))
}

/// `cudaProfilerStart`.
#[unsafe(export_name = "warplab_cudaProfilerStart")]
pub(crate) extern "C" fn profiler_start() -> Status {
    done(gpu().map(drop))
}

/// `cudaProfilerStop`.
#[unsafe(export_name = "warplab_cudaProfilerStop")]
pub(crate) extern "C" fn profiler_stop() -> Status {
    done(gpu().map(drop))
}

/// `cudaCtxResetPersistingL2Cache`: functional execution has no caches.
#[unsafe(export_name = "warplab_cudaCtxResetPersistingL2Cache")]
pub(crate) extern "C" fn reset_persisting_l2() -> Status {
    done(gpu().map(drop))
}

/// Checks that a range lies in one allocation that programs may give hints for. `cudaMemPrefetchAsync`:
/// managed memory has only one location.
#[unsafe(export_name = "warplab_cudaMemPrefetchAsync")]
pub(crate) extern "C" fn mem_prefetch(
    address: u64,
    bytes: usize,
    location: Location,
    _flags: u32,
    stream: u64,
) -> Status {
    done(gpu().map(drop).and_then(|()| memory::prefetch(address, bytes, location, stream)))
}

/// `cudaMemAdvise`: a hint.
#[unsafe(export_name = "warplab_cudaMemAdvise")]
pub(crate) extern "C" fn mem_advise(address: u64, bytes: usize, advice: u32, location: Location) -> Status {
    done(memory::advise(address, bytes, advice, location))
}

/// `cudaPointerAttributes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerAttributes {
    kind: u32,
    device: i32,
    device_pointer: u64,
    host_pointer: u64,
    reserved: [u64; 8],
}

const _: () = assert!(size_of::<PointerAttributes>() == 88);

/// `cudaPointerGetAttributes`.
///
/// # Safety
/// `attributes` may be written.
#[unsafe(export_name = "warplab_cudaPointerGetAttributes")]
pub(crate) unsafe extern "C" fn pointer_attributes(
    attributes: *mut PointerAttributes,
    pointer: u64,
) -> Status {
    use crate::memory::Purpose;
    let get = || -> Outcome<PointerAttributes> {
        if pointer == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let gpu = gpu()?;
        let (kind, device, on_device, on_host) = match gpu.memory.region(pointer) {
            None => (0, -2, 0, pointer),
            Some(r) if r.is_host() => (1, 0, r.device_address(pointer), r.host_address(pointer)),
            Some(r) if r.purpose == Purpose::Managed => (3, 0, pointer, pointer),
            Some(_) => (2, 0, pointer, 0),
        };
        Ok(PointerAttributes {
            kind,
            device,
            device_pointer: on_device,
            host_pointer: on_host,
            reserved: [0; 8],
        })
    };
    // SAFETY: as the caller promises.
    done(get().and_then(|found| unsafe { store(attributes, found) }))
}

/// `cudaHostGetFlags`.
///
/// # Safety
/// `flags` may be written.
#[unsafe(export_name = "warplab_cudaHostGetFlags")]
pub(crate) unsafe extern "C" fn host_get_flags(flags: *mut u32, pointer: u64) -> Status {
    const MAPPED: u32 = 2;
    let found = gpu().and_then(|gpu| match gpu.memory.region(pointer) {
        Some(r) if r.is_host() => Ok(r.flags | MAPPED),
        _ => Err(Status::INVALID_VALUE),
    });
    // SAFETY: as the caller promises.
    done(found.and_then(|found| unsafe { store(flags, found) }))
}

fn entry_point(
    symbol: Text,
    version: i32,
    flags: u64,
    function: *mut *const c_void,
    found: *mut u32,
) -> Outcome {
    if function.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    let name = symbol.get()?;
    // The functions that the program finds expect an initialised driver, as NVIDIA's runtime leaves it.
    drop(any_gpu()?);
    let looked_up = crate::driver::entry::find(&name, version, flags);
    // SAFETY: programs pass valid pointers for the results; that for the status may be null.
    unsafe {
        store(function, looked_up.unwrap_or(std::ptr::null()))?;
        let _ = store(found, looked_up.err().unwrap_or(0));
    }
    Ok(())
}

/// `cudaGetDriverEntryPoint`.
///
/// # Safety
/// `symbol` is a string, `function` may be written, `found` is null or may be.
#[unsafe(export_name = "warplab_cudaGetDriverEntryPoint")]
pub(crate) unsafe extern "C" fn driver_entry_point(
    symbol: Text,
    function: *mut *const c_void,
    flags: u64,
    found: *mut u32,
) -> Status {
    done(entry_point(symbol, super::general::VERSION, flags, function, found))
}

/// `cudaGetDriverEntryPointByVersion`.
///
/// # Safety
/// As [`driver_entry_point`].
#[unsafe(export_name = "warplab_cudaGetDriverEntryPointByVersion")]
pub(crate) unsafe extern "C" fn driver_entry_point_by_version(
    symbol: Text,
    function: *mut *const c_void,
    version: u32,
    flags: u64,
    found: *mut u32,
) -> Status {
    done(entry_point(symbol, version as i32, flags, function, found))
}
