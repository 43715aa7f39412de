//! The GPU that programs see: its resources and its attributes.
//!
//! The boards, with the limits of their SMs, are those of [`warplab_gpus`]. Driver and runtime API number
//! attributes alike; [`Attributes::attribute`] is the only function that returns them, and `cudaDeviceProp` is
//! filled from it.

use warplab_gpus::occupancy::Resources;

pub use warplab_gpus::Device;

/// Properties of a board that programs query.
pub trait Attributes {
    /// Identifier of the board; all boards of one model have the same.
    fn uuid(&self) -> [u8; 16];

    /// Resources for the computation of occupancy; `opted_in` if the kernel has opted in to more shared
    /// memory than the default.
    fn resources(&self, opted_in: bool) -> Resources;

    /// An attribute by its number in `CUdevice_attribute`, equal to that in `cudaDeviceAttr`; `None` for an
    /// unknown number.
    fn attribute(&self, number: u32) -> Option<i32>;
}

/// Shared memory of a block without opt-in, bytes.
const SHARED_PER_BLOCK: u32 = 48 << 10;
/// Largest pitch of a copy, bytes.
const MAX_PITCH: u32 = i32::MAX as u32;

impl Attributes for Device {
    fn uuid(&self) -> [u8; 16] {
        let mut uuid = *b"warplab\0\0\0\0\0\0\0\0\0";
        for (to, from) in uuid[8..].iter_mut().zip(self.name.bytes()) {
            *to = from;
        }
        uuid
    }

    fn resources(&self, opted_in: bool) -> Resources {
        let most = if opted_in { self.sm.max_shared_bytes_per_block } else { SHARED_PER_BLOCK };
        Resources { max_shared_bytes_per_block: most, ..self.sm }
    }

    fn attribute(&self, number: u32) -> Option<i32> {
        let sm = &self.sm;
        let value = match number {
            1 => sm.max_threads_per_block,
            2 | 3 => 1024,        // block x, y
            4 => 64,              // block z
            5 => i32::MAX as u32, // grid x
            6 | 7 => 65_535,      // grid y, z
            8 => SHARED_PER_BLOCK,
            9 => 64 << 10, // constant memory
            10 => 32,      // warp size
            11 => MAX_PITCH,
            12 => sm.max_registers_per_block,
            13 => self.clock_khz,
            14 => 512, // texture alignment
            15 => 1,   // copies and kernels at once
            16 => self.sms,
            17 | 18 => 0,                          // run time limit, integrated
            19 => 1,                               // maps host memory
            20 => 0,                               // compute mode: default
            21 | 22 | 53 | 55 | 56 => 131_072,     // 1D and 2D texture and surface widths
            23 | 57 => 65_536,                     // their heights
            24..=26 | 58..=60 => 16_384,           // 3D
            27 | 28 | 42 | 61 | 63 | 64 => 32_768, // layered
            29 | 43 | 62 | 65 => 2048,             // layers
            30 => 512,                             // surface alignment
            31 => 1,                               // concurrent kernels
            32 => 0,                               // ECC
            33 => 1,                               // PCI bus
            34 | 35 | 50 => 0,                     // PCI device, TCC, PCI domain
            36 => self.memory_clock_khz,
            37 => self.memory_bus_bits,
            38 => self.l2_bytes,
            39 => sm.max_warps * 32,
            40 => 2,           // copy engines
            41 => 1,           // unified addressing
            45 | 46 => 32_768, // gather
            47 | 48 => 8192,   // alternate 3D
            49 => 32_768,
            51 => 32,          // texture pitch alignment
            52 | 66 => 32_768, // cube maps
            67 => 32_768,
            54 | 68 => 2046,   // layers of cube maps
            69 => 268_435_456, // linear 1D textures
            70 => 131_072,
            71 => 65_000,
            72 => 2_097_120,
            73 | 74 | 77 => 32_768, // mip maps
            75 => self.compute_capability.0,
            76 => self.compute_capability.1,
            78..=80 => 1, // priorities, global and local L1
            81 => sm.shared_bytes,
            82 => sm.registers,
            83 => 1,      // managed memory
            84..=86 => 0, // boards, native host atomics
            87 => self.single_to_double_ratio,
            88 => 0,      // pageable memory
            89 | 90 => 1, // concurrent managed access, preemption
            // Host pointers of registered memory: kernels should see it at the device's address, which is the same in
            // every run. The host's works too.
            91 => 0,
            95 => 1, // cooperative launch
            97 => sm.max_shared_bytes_per_block,
            99 => 1,        // host registration
            100 | 101 => 0, // page tables, direct access of the host
            106 => sm.max_blocks,
            108 | 109 => 0, // persisting L2, access policy windows
            111 => sm.reserved_shared_bytes_per_block,
            102 | 103 => 1, // virtual memory management, with file descriptors
            115 => 1,       // memory pools
            92..=94 | 96 | 98 | 104..=105 | 107 | 110 | 112..=114 | 116..=160 => 0,
            _ => return None,
        };
        i32::try_from(value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_an_sm_75() {
        let first = &Device::all()[0];
        assert_eq!(first.arch(), 75);
        assert_eq!(first.attribute(75), Some(7));
        assert_eq!(first.attribute(16), Some(30));
        assert_eq!(first.attribute(9999), None);
    }

    #[test]
    fn boards_are_found_by_name_and_capability() {
        assert_eq!(Device::find("a100").map(Device::arch), Some(80));
        assert_eq!(Device::find("sm_90").map(|d| d.name.as_str()), Some("h100"));
        assert_eq!(Device::find("voodoo"), None);
    }
}
