//! The boards that programs can be shown.

use crate::builtin::BOARDS;
use serde::Deserialize;
use std::sync::LazyLock;

/// A board.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Device {
    /// Word for the command line.
    pub name: String,
    /// What programs are told.
    pub title: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Device memory.
    pub memory_bytes: u64,
    /// Boost clock of the SMs.
    pub clock_khz: u32,
    /// Clock of the memory.
    pub memory_clock_khz: u32,
    /// Width of its bus.
    pub memory_bus_bits: u32,
    /// Second-level cache.
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
    l2_bytes: u32,
    single_to_double_ratio: u32,
}

#[derive(Deserialize)]
struct Size {
    sms: u32,
}

/// What is read of a data file; the rest is the timing model's.
#[derive(Deserialize)]
struct File {
    name: String,
    device: Board,
    gpu: Size,
}

static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let device = |file: &crate::builtin::Builtin| {
        let File { name, device, gpu } =
            toml::from_str(file.text).unwrap_or_else(|e| panic!("{}: {e}", file.path));
        Device {
            name,
            title: device.title,
            compute_capability: device.compute_capability,
            sms: gpu.sms,
            memory_bytes: device.memory_bytes,
            clock_khz: device.clock_khz,
            memory_clock_khz: device.memory_clock_khz,
            memory_bus_bits: device.memory_bus_bits,
            l2_bytes: device.l2_bytes,
            single_to_double_ratio: device.single_to_double_ratio,
        }
    };
    BOARDS.iter().map(device).collect()
});

impl Device {
    /// All boards; the first is the default.
    #[must_use]
    pub fn all() -> &'static [Device] {
        &DEVICES
    }

    /// The board of a name, or of a compute capability written `sm_75` or `75`.
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

/// Checks a table `[device]`, which the timing model leaves aside.
///
/// # Errors
/// What is wrong with it.
pub fn check(table: toml::Value) -> Result<(), toml::de::Error> {
    table.try_into::<Board>().map(drop)
}
