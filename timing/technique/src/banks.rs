//! The mapping of a warp's architectural registers to banks.

use crate::config::{BankMapping, GpuConfig};

/// Size of the table: an instruction can name 256 registers, and a share has fewer than 64 banks.
const SUMS: usize = 256 + 64;

/// The register-to-bank mapping of a configuration, as tables, because every operand looks its bank up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankMap {
    /// By warp slot: the first bank of its scheduler's share, and the offset that its position in the share
    /// adds to a register number.
    warps: [(u8, u8); 64],
    /// Bank within the share, by register number plus offset.
    within: [u8; SUMS],
    /// Bits of the register number that select the bank.
    register_mask: u8,
    /// Banks of one scheduler's share, or of the whole register file.
    share: u8,
}

impl BankMap {
    /// The mapping of a configuration.
    #[must_use]
    pub fn new(config: &GpuConfig) -> BankMap {
        BankMap::mapped(config, config.register_file.bank_mapping)
    }

    /// Another mapping to the banks of a configuration.
    #[must_use]
    pub fn mapped(config: &GpuConfig, mapping: BankMapping) -> BankMap {
        let shares = if config.register_file.sub_core { config.scheduler.count } else { 1 };
        let share = config.register_file.banks / shares;
        let (by_register, by_warp) = match mapping {
            BankMapping::WarpSkewed => (true, true),
            BankMapping::Register => (true, false),
            BankMapping::Warp => (false, true),
        };
        let place = |warp: u32| if by_warp { warp / shares % share } else { 0 };
        BankMap {
            warps: std::array::from_fn(|warp| {
                let warp = warp as u32;
                ((warp % shares * share) as u8, place(warp) as u8)
            }),
            within: std::array::from_fn(|sum| (sum as u32 % share) as u8),
            register_mask: if by_register { u8::MAX } else { 0 },
            share: share as u8,
        }
    }

    /// Bank of register `reg` of the warp in slot `warp`.
    #[must_use]
    #[inline]
    pub fn bank(&self, warp: usize, reg: u8) -> u8 {
        let (first, place) = self.warps[warp & 63];
        first + self.within[usize::from(reg & self.register_mask) + usize::from(place & 63)]
    }

    /// Banks that can hold the warp's registers: first bank and number of banks.
    #[must_use]
    pub fn share_of(&self, warp: usize) -> (u8, u8) {
        (self.warps[warp & 63].0, self.share)
    }
}
