//! `cudaDeviceProp`, filled from the device's attributes.

use super::{done, store};
use crate::device::{Attributes, Device};
use crate::error::Status;
use crate::gpu::gpu;

/// Size of CUDA 13's structure.
pub(super) const BYTES: usize = 1008;

/// Consecutive fields of CUDA 13's structure: byte offset of the first, bytes of each, and the attributes that
/// they hold.
const FIELDS: &[(usize, usize, &[u32])] = &[
    (296, 8, &[8]),
    (304, 4, &[12, 10]),
    (312, 8, &[11]),
    (320, 4, &[1, 2, 3, 4, 5, 6, 7]),
    (352, 8, &[9]),
    (360, 4, &[75, 76]),
    (368, 8, &[14, 51]),
    (384, 4, &[16, 18, 19, 21, 77, 22, 23, 73, 74, 70, 71, 72, 45, 46, 24, 25, 26, 47, 48, 49, 52]),
    (468, 4, &[42, 43, 27, 28, 29, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68]),
    (552, 8, &[30]),
    (560, 4, &[31, 32, 33, 34, 50, 35, 40, 41, 37, 38, 108, 39, 78, 79, 80]),
    (624, 8, &[81]),
    (632, 4, &[82, 83, 84, 85, 86, 88, 89, 90, 91, 95]),
    (672, 8, &[97]),
    (680, 4, &[100, 101, 106, 109]),
    (696, 8, &[111]),
    (704, 4, &[99, 112, 113, 114, 115, 116, 117, 118, 119, 121, 125, 120]),
];

const NAME_BYTES: usize = 256;
const UUID: std::ops::Range<usize> = 256..272;
const TOTAL_MEMORY: std::ops::Range<usize> = 288..296;
const HOST_NUMA_ID: std::ops::Range<usize> = 768..772;

/// CUDA 13's structure for a device.
pub(super) fn properties(device: &Device) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let name = &device.title.as_bytes()[..device.title.len().min(NAME_BYTES - 1)];
    bytes[..name.len()].copy_from_slice(name);
    bytes[UUID].copy_from_slice(&device.uuid());
    bytes[TOTAL_MEMORY].copy_from_slice(&device.memory_bytes.to_le_bytes());
    bytes[HOST_NUMA_ID].copy_from_slice(&(-1i32).to_le_bytes());
    for &(start, width, attributes) in FIELDS {
        for (i, &attribute) in attributes.iter().enumerate() {
            let value = i64::from(device.attribute(attribute).unwrap_or(0)).to_le_bytes();
            bytes[start + i * width..][..width].copy_from_slice(&value[..width]);
        }
    }
    bytes
}

/// `cudaGetDeviceProperties`.
///
/// # Safety
/// `to` has room for CUDA 13's `cudaDeviceProp`.
#[unsafe(export_name = "warplab_cudaGetDeviceProperties")]
pub(crate) unsafe extern "C" fn get_device_properties(to: *mut [u8; BYTES], device: i32) -> Status {
    let known = if device == 0 { gpu() } else { Err(Status::INVALID_DEVICE) };
    // SAFETY: as the caller promises.
    done(known.and_then(|gpu| unsafe { store(to, properties(gpu.device)) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_header_has_them() {
        let device = &Device::all()[0];
        let bytes = properties(device);
        let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        assert!(bytes.starts_with(b"NVIDIA GeForce RTX 2060\0"));
        assert_eq!((int(360), int(364)), (7, 5), "compute capability");
        assert_eq!(int(384), 30, "multiprocessors");
        assert_eq!(int(596), 3 << 20, "L2");
        assert_eq!(int(604), 1024, "threads per multiprocessor");
        assert_eq!(int(688), 16, "blocks per multiprocessor");
        assert_eq!((int(336), int(340), int(344)), (i32::MAX, 65_535, 65_535), "grid");
    }
}
