//! The boards that the CUDA API can present to programs.

use crate::builtin::{BOARDS, Builtin, MODELLED};
use crate::occupancy::{RegisterGranule, Resources};
use serde::Deserialize;
use std::fmt::Display;
use std::sync::LazyLock;

/// A board.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Device {
    /// Word for the command line.
    pub name: String,
    /// Device name for programs.
    pub title: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Resources of one of them; the shared memory of a block is that of a kernel that has opted in to more than
    /// the default.
    pub sm: Resources,
    /// Device memory.
    pub memory_bytes: u64,
    /// Boost clock of the SMs.
    pub clock_khz: u32,
    /// Clock of the memory.
    pub memory_clock_khz: u32,
    /// Width of its bus.
    pub memory_bus_bits: u32,
    /// Second-level cache, all of its slices.
    pub l2_bytes: u32,
    /// Single-precision operations per double-precision one.
    pub single_to_double_ratio: u32,
}

/// The table `[device]` of a data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Board {
    title: String,
    compute_capability: (u32, u32),
    memory_bytes: u64,
    clock_khz: u32,
    memory_clock_khz: u32,
    memory_bus_bits: u32,
    /// Only where the model's slices do not add up to it.
    l2_bytes: Option<u32>,
    single_to_double_ratio: u32,
}

/// The parts of a data file and its bases that this module reads; the rest belongs to the timing model.
#[derive(Deserialize)]
struct File {
    name: String,
    device: Board,
    gpu: Gpu,
    sm: Sm,
    l2: Option<L2>,
    dram: Option<Dram>,
}

#[derive(Deserialize)]
struct Gpu {
    sms: u32,
}

/// The limits of an SM, of which the timing model has one more.
#[derive(Deserialize)]
struct Sm {
    max_threads_per_block: u32,
    max_warps: u32,
    max_blocks: u32,
    registers: u32,
    max_registers_per_thread: u32,
    hidden_registers_per_thread: u32,
    register_allocation: RegisterGranule,
    register_allocation_unit: u32,
    warp_allocation_granularity: u32,
    shared_memory_bytes: u32,
    shared_memory_per_block_bytes: u32,
    shared_reserved_per_block_bytes: u32,
    shared_allocation_unit_bytes: u32,
}

impl From<Sm> for Resources {
    fn from(sm: Sm) -> Resources {
        Resources {
            max_threads_per_block: sm.max_threads_per_block,
            max_warps: sm.max_warps,
            max_blocks: sm.max_blocks,
            registers: sm.registers,
            max_registers_per_block: sm.registers,
            max_registers_per_thread: sm.max_registers_per_thread,
            hidden_registers_per_thread: sm.hidden_registers_per_thread,
            register_unit: sm.register_allocation_unit,
            register_allocation: sm.register_allocation.rounded_to(sm.warp_allocation_granularity),
            shared_bytes: sm.shared_memory_bytes,
            max_shared_bytes_per_block: sm.shared_memory_per_block_bytes,
            reserved_shared_bytes_per_block: sm.shared_reserved_per_block_bytes,
            shared_unit_bytes: sm.shared_allocation_unit_bytes,
        }
    }
}

#[derive(Deserialize)]
struct L2 {
    size_bytes: u32,
    slices_per_channel: u32,
}

#[derive(Deserialize)]
struct Dram {
    channels: u32,
}

impl File {
    /// The second-level cache: what the board states, or what the model's slices add up to.
    fn l2_bytes(&self) -> Result<u32, &'static str> {
        match (&self.l2, &self.dram, self.device.l2_bytes) {
            (_, _, Some(bytes)) => Ok(bytes),
            (Some(l2), Some(dram), None) => Ok(l2.size_bytes * l2.slices_per_channel * dram.channels),
            _ => Err("neither `[device]` nor a model states the size of L2"),
        }
    }
}

static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let device = |builtin: &Builtin| {
        let refuse = |why: &dyn Display| -> ! { panic!("{}: {why}", builtin.path) };
        let file: File = builtin.inherited().try_into().unwrap_or_else(|e| refuse(&e));
        let l2_bytes = file.l2_bytes().unwrap_or_else(|e| refuse(&e));
        let File { name, device, gpu, sm, .. } = file;
        Device {
            name,
            title: device.title,
            compute_capability: device.compute_capability,
            sms: gpu.sms,
            sm: sm.into(),
            memory_bytes: device.memory_bytes,
            clock_khz: device.clock_khz,
            memory_clock_khz: device.memory_clock_khz,
            memory_bus_bits: device.memory_bus_bits,
            l2_bytes,
            single_to_double_ratio: device.single_to_double_ratio,
        }
    };
    BOARDS.iter().map(device).collect()
});

impl Device {
    /// All boards; the first is what programs are shown unless told otherwise.
    #[must_use]
    pub fn all() -> &'static [Device] {
        &DEVICES
    }

    /// The board that is modelled by default, and that kernels see when no program starts them.
    ///
    /// # Panics
    /// Never: a test asks for it.
    #[must_use]
    pub fn modelled() -> &'static Device {
        Device::find(MODELLED).expect("it is one of the boards")
    }

    /// The board with a name, or with a compute capability written `sm_75` or `75`.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Device> {
        let capability = name.trim_start_matches("sm_").parse::<u32>().ok();
        DEVICES.iter().find(|d| d.name == name || capability == Some(d.arch()))
    }

    /// Ten times the major version plus the minor one.
    #[must_use]
    pub fn arch(&self) -> u32 {
        self.compute_capability.0 * 10 + self.compute_capability.1
    }
}

/// Checks a table `[device]`, which the timing model ignores.
///
/// # Errors
/// The error in the table.
pub fn check(table: toml::Value) -> Result<(), toml::de::Error> {
    table.try_into::<Board>().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_is_read() {
        let l2_kib: Vec<(&str, u32)> =
            Device::all().iter().map(|d| (d.name.as_str(), d.l2_bytes >> 10)).collect();
        let published = [
            ("rtx2060", 3072),
            ("titanx-pascal", 3072),
            ("gtx1080ti", 2816),
            ("qv100", 6144),
            ("rtx3070", 4096),
            ("a100", 40_960),
            ("h100", 51_200),
        ];
        assert_eq!(l2_kib, published);
        assert_eq!(Device::modelled().sms, 28);
    }

    /// CUDA programming guide, technical specifications per compute capability: threads and blocks of an SM, shared
    /// memory of an SM and, opted in, of a block; all have 65536 registers.
    #[test]
    fn limits_are_those_of_the_compute_capability() {
        for board in Device::all() {
            let (threads, blocks, shared_kib, block_kib) = match board.arch() {
                61 => (2048, 32, 96, 48),
                70 => (2048, 32, 96, 96),
                75 => (1024, 16, 64, 64),
                80 => (2048, 32, 164, 163),
                86 => (1536, 16, 100, 99),
                90 => (2048, 32, 228, 227),
                other => panic!("{}: {other} is not in the table of this test", board.name),
            };
            let sm = board.sm;
            assert_eq!(
                (sm.max_warps * 32, sm.max_blocks, sm.registers),
                (threads, blocks, 65_536),
                "{}",
                board.name
            );
            let shared = (sm.shared_bytes, sm.max_shared_bytes_per_block);
            assert_eq!(shared, (shared_kib << 10, block_kib << 10), "{}", board.name);
        }
    }
}
