//! Registers per thread that a kernel's performance directives leave, as ptxas reads them.
//!
//! `.maxnreg` names the number. Otherwise `.maxntid` or `.reqntid` bounds it so that one block fits the registers
//! of an SM, and `.minnctapersm` so that several do. Which SM that is, the module's `.target` says.

use crate::ptx::Limits;

/// Least number of registers that `.maxnreg` can ask for.
const LEAST: u32 = 16;
/// The most that an instruction can name.
const MOST: u32 = 255;
/// Warps are placed on the four partitions of an SM alike.
const PARTITIONS: u64 = 4;
/// Registers per thread are allocated in multiples of this.
const GRANULE: u64 = 8;

/// The largest number of registers per thread.
pub(super) fn most_registers(limits: &Limits, sm: u32) -> u16 {
    let most = match (limits.max_registers, limits.required_threads.or(limits.max_threads)) {
        (Some(named), _) => named.max(LEAST),
        (None, Some(threads)) => {
            let threads = threads.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
            let warps = threads.div_ceil(32).max(1);
            let sm = Sm::of(sm);
            sm.registers_of(warps.saturating_mul(sm.blocks(limits, warps)))
        }
        (None, None) => MOST,
    };
    most.min(MOST) as u16
}

/// What an SM holds, from the CUDA C++ Programming Guide's table of technical specifications.
struct Sm {
    registers: u64,
    blocks: u64,
    warps: u64,
}

impl Sm {
    const fn of(sm: u32) -> Sm {
        let (registers, blocks, warps) = match sm {
            1..=29 => (32768, 8, 48),
            30..=49 => (65536, 16, 64),
            75 => (65536, 16, 32),
            86..=88 => (65536, 16, 48),
            89 | 110..=129 => (65536, 24, 48),
            _ => (65536, 32, 64),
        };
        Sm { registers, blocks, warps }
    }

    /// Blocks that `.minnctapersm` asks for; ptxas ignores it if the SM cannot hold as many.
    fn blocks(&self, limits: &Limits, warps: u64) -> u64 {
        let asked = limits.min_blocks_per_sm.map_or(1, |n| u64::from(n).max(1));
        if asked <= self.blocks && warps.saturating_mul(asked) <= self.warps { asked } else { 1 }
    }

    /// Registers per thread if so many warps share the SM's registers.
    fn registers_of(&self, warps: u64) -> u32 {
        let threads = warps.max(1).checked_next_multiple_of(PARTITIONS).unwrap_or(warps).saturating_mul(32);
        let each = self.registers / threads / GRANULE * GRANULE;
        u32::try_from(each).unwrap_or(MOST).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ptxas 13.5 allows a kernel with more values than registers.
    #[test]
    fn launch_bounds_limit_registers_as_in_ptxas() {
        let cases: &[(u32, u32, u32, u16)] = &[
            (75, 1024, 1, 64),
            (75, 768, 1, 80),
            (75, 576, 1, 96),
            (75, 300, 1, 168),
            (75, 256, 4, 64),
            (75, 256, 3, 80),
            (75, 256, 2, 128),
            (75, 256, 5, 255),
            (75, 1024, 2, 64),
            (75, 64, 7, 128),
            (75, 40, 9, 96),
            (75, 32, 16, 128),
            (75, 32, 17, 255),
            (80, 32, 17, 96),
            (80, 256, 8, 32),
            (80, 1024, 2, 32),
            (86, 256, 5, 48),
            (86, 1024, 2, 64),
            (120, 256, 8, 255),
            (90, 128, 5, 96),
        ];
        for &(sm, threads, blocks, registers) in cases {
            let limits = Limits {
                max_threads: Some([threads, 1, 1]),
                min_blocks_per_sm: Some(blocks),
                ..Limits::default()
            };
            assert_eq!(most_registers(&limits, sm), registers, "sm_{sm}: {threads} threads, {blocks} blocks");
        }
    }

    #[test]
    fn a_named_number_of_registers_comes_before_launch_bounds() {
        let limits =
            Limits { max_threads: Some([1024, 1, 1]), max_registers: Some(100), ..Limits::default() };
        assert_eq!(most_registers(&limits, 75), 100);
        assert_eq!(most_registers(&Limits { min_blocks_per_sm: Some(4), ..Limits::default() }, 75), 255);
        assert_eq!(most_registers(&Limits { max_registers: Some(1), ..Limits::default() }, 75), 16);
    }
}
