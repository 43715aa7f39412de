//! Initialisation, errors, devices.

use super::{Out, Text, device, functions};
use crate::device::Attributes;
use crate::error::{Outcome, Status};
use crate::gpu::{any_gpu, gpu};
use crate::host::write_text;
use std::ffi::{CStr, c_char};

/// Version of CUDA that is implemented: 13.5 is 13050.
pub(crate) const VERSION: i32 = 13_050;
/// PCI bus id that the device reports.
const PCI_BUS_ID: &str = "0000:01:00.0";

/// CUDA's `CUdevprop`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceProperties {
    max_threads_per_block: i32,
    max_threads_dim: [i32; 3],
    max_grid_size: [i32; 3],
    shared_mem_per_block: i32,
    total_constant_memory: i32,
    simd_width: i32,
    mem_pitch: i32,
    regs_per_block: i32,
    clock_rate: i32,
    texture_align: i32,
}

fn attribute(number: u32) -> Outcome<i32> {
    any_gpu()?.device.attribute(number).ok_or(Status::INVALID_VALUE)
}

fn describe(to: Out<*const c_char>, text: Option<&'static CStr>) -> Outcome {
    match text {
        Some(text) => to.set(text.as_ptr()),
        None => {
            to.offer(std::ptr::null());
            Err(Status::INVALID_VALUE)
        }
    }
}

functions! {
    "cuInit" 2000 Nothing init(flags: u32) {
        if flags != 0 { Err(Status::INVALID_VALUE) } else { any_gpu().map(drop) }
    }

    "cuDriverGetVersion" 2020 Nothing driver_get_version(version: Out<i32>) { version.set(VERSION) }

    "cuGetErrorName" 6000 Nothing get_error_name(error: Status, name: Out<*const c_char>) {
        describe(name, error.driver_name())
    }

    "cuGetErrorString" 6000 Nothing get_error_string(error: Status, text: Out<*const c_char>) {
        describe(text, error.text())
    }

    "cuDeviceGetCount" 2000 Init device_get_count(count: Out<i32>) { count.set(1) }

    "cuDeviceGet" 2000 Init device_get(found: Out<i32>, ordinal: i32) {
        device(ordinal)?;
        found.set(0)
    }

    "cuDeviceGetName" 2000 Init device_get_name(name: *mut c_char, length: i32, ordinal: i32) {
        device(ordinal)?;
        let length = usize::try_from(length).ok().filter(|&n| n > 0 && !name.is_null());
        let written = write_text(name, length.ok_or(Status::INVALID_VALUE)?, &any_gpu()?.device.title);
        if written > 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    "cuDeviceGetUuid" 9020 Init device_get_uuid(uuid: Out<[u8; 16]>, ordinal: i32) {
        device(ordinal)?;
        uuid.set(any_gpu()?.device.uuid())
    }

    "cuDeviceGetUuid_v2" 11040 Init device_get_uuid_v2(uuid: Out<[u8; 16]>, ordinal: i32) {
        device(ordinal)?;
        uuid.set(any_gpu()?.device.uuid())
    }

    "cuDeviceTotalMem_v2" 3020 Init device_total_mem(bytes: Out<usize>, ordinal: i32) {
        device(ordinal)?;
        bytes.set(any_gpu()?.device.memory_bytes as usize)
    }

    "cuDeviceGetAttribute" 2000 Init device_get_attribute(value: Out<i32>, number: u32, ordinal: i32) {
        device(ordinal)?;
        value.set(attribute(number)?)
    }

    "cuDeviceComputeCapability" 2000 Init device_compute_capability(
        major: Out<i32>, minor: Out<i32>, ordinal: i32,
    ) {
        device(ordinal)?;
        major.set(attribute(75)?)?;
        minor.set(attribute(76)?)
    }

    "cuDeviceGetProperties" 2000 Init device_get_properties(properties: Out<DeviceProperties>, ordinal: i32) {
        device(ordinal)?;
        properties.set(DeviceProperties {
            max_threads_per_block: attribute(1)?,
            max_threads_dim: [attribute(2)?, attribute(3)?, attribute(4)?],
            max_grid_size: [attribute(5)?, attribute(6)?, attribute(7)?],
            shared_mem_per_block: attribute(8)?,
            total_constant_memory: attribute(9)?,
            simd_width: attribute(10)?,
            mem_pitch: attribute(11)?,
            regs_per_block: attribute(12)?,
            clock_rate: attribute(13)?,
            texture_align: attribute(14)?,
        })
    }

    "cuDeviceGetPCIBusId" 4010 Init device_get_pci_bus_id(text: *mut c_char, length: i32, ordinal: i32) {
        device(ordinal)?;
        let length = usize::try_from(length).ok().filter(|&n| n > PCI_BUS_ID.len() && !text.is_null());
        let written = write_text(text, length.ok_or(Status::INVALID_VALUE)?, PCI_BUS_ID);
        if written > 0 { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    "cuDeviceGetByPCIBusId" 4010 Init device_get_by_pci_bus_id(found: Out<i32>, text: Text) {
        let text = text.get()?;
        // The domain and the function may be left out.
        let known = [PCI_BUS_ID, "0000:01:00", "01:00.0"].iter().any(|k| k.eq_ignore_ascii_case(&text));
        if known { found.set(0) } else { Err(Status::INVALID_DEVICE) }
    }

    "cuDeviceGetTexture1DLinearMaxWidth" 11010 Init device_get_texture_1d_linear_max_width(
        texels: Out<usize>, _format: u32, _channels: u32, ordinal: i32,
    ) {
        device(ordinal)?;
        texels.set(attribute(69)? as usize)
    }

    "cuDeviceGetExecAffinitySupport" 11040 Init device_get_exec_affinity_support(
        supported: Out<i32>, _kind: u32, ordinal: i32,
    ) {
        device(ordinal)?;
        supported.set(0)
    }

    "cuDeviceCanAccessPeer" 4000 Init device_can_access_peer(can: Out<i32>, a: i32, b: i32) {
        device(a).and(device(b))?;
        can.set(0)
    }

    "cuDeviceGetP2PAttribute" 8000 Init device_get_p2p_attribute(
        value: Out<i32>, number: u32, a: i32, b: i32,
    ) {
        device(a).and(device(b))?;
        // A device is no peer of its own.
        let _ = (value, number);
        Err(Status::INVALID_DEVICE)
    }

    "cuProfilerStart" 4000 Context profiler_start() { Ok(()) }

    "cuProfilerStop" 4000 Context profiler_stop() { gpu().map(drop) }
}
