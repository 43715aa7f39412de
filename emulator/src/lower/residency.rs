//! Registers per thread that a kernel's performance directives leave, as ptxas reads them.
//!
//! `.maxnreg` names the number. Otherwise `.maxntid` or `.reqntid` bounds it so that one block fits the registers
//! of an SM, and `.minnctapersm` so that several do. Which SM that is, the module's `.target` says. A limit for the
//! whole module (`-maxrregcount`) holds for kernels without these directives. All of these numbers are of registers
//! that are allocated; since sm_70 instructions can name two fewer.

use crate::ptx::Limits;

/// The most that a thread can have.
const MOST: u32 = 255;
/// Warps are placed on the four partitions of an SM alike.
const PARTITIONS: u64 = 4;
/// Registers per thread are allocated in multiples of this.
const GRANULE: u64 = 8;

/// Registers of every thread that hardware allocates and no instruction names.
#[must_use]
pub fn hidden_registers(sm: u32) -> u16 {
    if sm >= 70 { 2 } else { 0 }
}

/// The fewest registers that a kernel can be limited to.
fn least(sm: u32) -> u32 {
    if sm >= 70 { 24 } else { 16 }
}

/// The most registers per thread that instructions may name; `module_limit` is the number that kernels without directives
/// may have.
///
/// # Errors
/// The limit is below the least number of registers.
pub(super) fn most_registers(limits: &Limits, sm: u32, module_limit: Option<u16>) -> Result<u16, String> {
    Ok(allocated_registers(limits, sm, module_limit)? - hidden_registers(sm))
}

fn allocated_registers(limits: &Limits, sm: u32, module_limit: Option<u16>) -> Result<u16, String> {
    let most = match (limits.max_registers, limits.required_threads.or(limits.max_threads)) {
        (Some(named), _) => named.max(least(sm)),
        (None, Some(threads)) => {
            let warps = warps_of(threads);
            let most = Sm::of(sm);
            most.registers_of(warps.saturating_mul(most.blocks(limits, warps))).max(least(sm))
        }
        (None, None) => match module_limit.map_or(MOST, u32::from) {
            few if few < least(sm) => {
                let least = least(sm);
                return Err(format!(
                    "a limit of {few} registers per thread is too low: kernels for sm_{sm} have at least {least}"
                ));
            }
            most => most,
        },
    };
    Ok(most.min(MOST) as u16)
}

/// Registers per thread that instructions may name while as many warps are resident as blocks of this size allow; `None`
/// before sm_70, whose register files have no two banks.
pub(super) fn plentiful_registers(limits: &Limits, sm: u32) -> Option<u16> {
    let of = Sm::of(sm);
    let warps = match limits.required_threads.or(limits.max_threads) {
        Some(threads) => warps_of(threads).saturating_mul(of.blocks).min(of.warps),
        None => of.warps,
    };
    (sm >= 70).then(|| of.registers_of(warps).min(MOST) as u16 - hidden_registers(sm))
}

/// The most registers per thread that instructions may name while as many warps are resident as with `registers`.
pub(super) fn roomy_registers(limits: &Limits, sm: u32, registers: u16) -> u16 {
    let (of, hidden) = (Sm::of(sm), hidden_registers(sm));
    let warps = of.warps_with(u32::from(registers + hidden));
    // Blocks are resident as a whole.
    let warps = match limits.required_threads.or(limits.max_threads).map(warps_of) {
        Some(block) if warps >= block => warps / block * block,
        _ => warps,
    };
    (of.registers_of(warps).min(MOST) as u16).saturating_sub(hidden).max(registers)
}

/// Warps of a block.
fn warps_of(threads: [u32; 3]) -> u64 {
    let threads = threads.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    threads.div_ceil(32).max(1)
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

    /// Warps that share the SM's registers if their threads have so many each.
    fn warps_with(&self, registers: u32) -> u64 {
        let each = u64::from(registers).next_multiple_of(GRANULE).max(GRANULE) * 32;
        (self.registers / PARTITIONS / each * PARTITIONS).clamp(1, self.warps)
    }

    /// Registers per thread if so many warps share the SM's registers.
    fn registers_of(&self, warps: u64) -> u32 {
        let threads = warps.max(1).checked_next_multiple_of(PARTITIONS).unwrap_or(warps).saturating_mul(32);
        let each = self.registers / threads / GRANULE * GRANULE;
        u32::try_from(each).unwrap_or(MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(limits: &Limits, sm: u32) -> u16 {
        allocated_registers(limits, sm, None).unwrap()
    }

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
            assert_eq!(allocated(&limits, sm), registers, "sm_{sm}: {threads} threads, {blocks} blocks");
        }
    }

    #[test]
    fn a_named_number_of_registers_comes_before_launch_bounds() {
        let limits =
            Limits { max_threads: Some([1024, 1, 1]), max_registers: Some(100), ..Limits::default() };
        assert_eq!(allocated(&limits, 75), 100);
        assert_eq!(allocated(&Limits { min_blocks_per_sm: Some(4), ..Limits::default() }, 75), 255);
        let one = Limits { max_registers: Some(1), ..Limits::default() };
        assert_eq!([60, 75].map(|sm| allocated(&one, sm)), [16, 24]);
    }

    /// As `ptxas -maxrregcount` does with kernels that have more values than registers: the highest register that
    /// the code names is R21 for 24, R29 for 32, R252 for 255.
    #[test]
    fn instructions_name_two_registers_fewer_since_sm_70() {
        let none = Limits::default();
        let named = |sm, limit| most_registers(&none, sm, limit);
        assert_eq!([named(75, Some(24)), named(75, Some(32)), named(75, None)], [Ok(22), Ok(30), Ok(253)]);
        assert_eq!([named(61, Some(16)), named(61, Some(32)), named(61, None)], [Ok(16), Ok(32), Ok(255)]);
        let error = "a limit of 23 registers per thread is too low: kernels for sm_75 have at least 24";
        assert_eq!(named(75, Some(23)), Err(error.to_owned()));
    }

    /// What is left over where so many warps, or blocks of so many threads, are resident.
    #[test]
    fn room_is_what_costs_no_resident_warp() {
        let none = Limits::default();
        let block = Limits { max_threads: Some([256, 1, 1]), ..Limits::default() };
        // Twelve warps have 168 registers each, one block of eight has all of them.
        assert_eq!([158, 166, 167].map(|used| roomy_registers(&none, 80, used)), [166, 166, 253]);
        assert_eq!([126, 127, 158].map(|used| roomy_registers(&block, 80, used)), [126, 253, 253]);
        assert_eq!([60, 62].map(|used| roomy_registers(&none, 61, used)), [64, 64]);
    }

    /// `-maxrregcount` has no effect on a kernel with `.maxnreg`, `.maxntid` or `.reqntid`; `.minnctapersm` alone counts for
    /// nothing.
    #[test]
    fn directives_come_before_a_limit_of_the_module() {
        let with = |limits: Limits| allocated_registers(&limits, 75, Some(40)).unwrap();
        assert_eq!(with(Limits { max_registers: Some(64), ..Limits::default() }), 64);
        assert_eq!(with(Limits { max_threads: Some([1024, 1, 1]), ..Limits::default() }), 64);
        assert_eq!(with(Limits { required_threads: Some([64, 1, 1]), ..Limits::default() }), 255);
        assert_eq!(with(Limits { min_blocks_per_sm: Some(4), ..Limits::default() }), 40);
    }
}
