//! Which bank an architectural register of a warp lies in.

use crate::config::{BankMapping, GpuConfig};

/// The register-to-bank mapping of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankMap {
    mapping: BankMapping,
    /// Banks of one scheduler's share, or of the whole register file.
    share: u32,
    /// Schedulers that have a share of their own.
    shares: u32,
}

impl BankMap {
    /// The mapping of a configuration.
    #[must_use]
    pub fn new(config: &GpuConfig) -> BankMap {
        let shares = if config.register_file.sub_core { config.scheduler.count } else { 1 };
        BankMap {
            mapping: config.register_file.bank_mapping,
            share: config.register_file.banks / shares,
            shares,
        }
    }

    /// Bank of register `reg` of the warp in slot `warp`.
    #[must_use]
    #[inline]
    pub fn bank(&self, warp: usize, reg: u32) -> u8 {
        let (share, warp) = (warp as u32 % self.shares, warp as u32 / self.shares);
        let within = match self.mapping {
            BankMapping::WarpSkewed => reg + warp,
            BankMapping::Register => reg,
            BankMapping::Warp => warp,
        } % self.share;
        (share * self.share + within) as u8
    }

    /// Banks that the warp's registers may lie in: first and number.
    #[must_use]
    pub fn share_of(&self, warp: usize) -> (u8, u8) {
        let share = warp as u32 % self.shares;
        ((share * self.share) as u8, self.share as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn mappings_stay_within_the_schedulers_share() {
        for mapping in ["warp_skewed", "register", "warp"] {
            let set = [format!("register_file.bank_mapping={mapping}")];
            let map = BankMap::new(&load("titanx-pascal", &set).expect("valid").config);
            for warp in 0..64 {
                let (first, count) = map.share_of(warp);
                assert_eq!((first, count), ((warp % 4 * 4) as u8, 4));
                for reg in 0..255 {
                    assert!((first..first + count).contains(&map.bank(warp, reg)));
                }
            }
        }
        let whole = BankMap::new(&load("gtx480", &[]).expect("valid").config);
        assert_eq!((whole.bank(0, 0), whole.bank(1, 0), whole.bank(1, 15), whole.bank(47, 17)), (0, 1, 0, 0));
    }
}
