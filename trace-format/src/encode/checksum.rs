//! The checksums of a warp. That of its results is over every destination row and predicate of every executed
//! instruction, with program counter and mask. That of its timing is over all that a replay uses besides the path:
//! masks of guarded instructions, addresses, operands of barriers. Emulator and cursor call the same functions;
//! registers are folded with inactive lanes, which are equal on both sides.
//!
//! Per lane the state is mixed by exclusive-or, rotation and addition, which all vector units support; a
//! difference in one lane remains a difference, and only the final fold can hide it (probability 2^-32).

use crate::isa::{Kind, Pc};
use crate::semantics::{ExecInst, Row, VectorLevel, WARP_SIZE, Warp};

const INCREMENT: u32 = 0x9E37_79B9;
const MULTIPLIER: u64 = 0xD6E8_FEB8_6659_FD93;

/// The checksums of a warp at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WarpSums {
    /// Over its results; of a trace of addresses, over those in its slice.
    pub results: u32,
    /// Over masks, addresses and operands of barriers; half as long, since checksums are most of a short warp's bytes, and
    /// a fault of recorder or reader shows in many warps.
    pub timing: u16,
}

/// Running checksums of one warp.
#[derive(Clone, Debug, Default)]
pub struct Checksums {
    results: Checksum,
    timing: Checksum,
}

impl Checksums {
    /// Resets to the state before a warp's first instruction.
    pub fn reset(&mut self) {
        self.results.reset();
        self.timing.reset();
    }

    /// The checksums so far.
    #[must_use]
    pub fn values(&self) -> WarpSums {
        let timing = self.timing.value();
        WarpSums { results: self.results.value(), timing: (timing ^ timing >> 16) as u16 }
    }

    /// Folds in the destinations of an instruction in `warp`; `exec` are the lanes in which it took effect
    /// (if none, nothing is folded).
    #[inline]
    pub fn results(&mut self, pc: Pc, inst: &ExecInst, warp: &Warp, exec: u32) {
        if exec == 0 {
            return;
        }
        self.results.mix_step(pc, exec);
        for i in 0..u16::from(inst.dst_rows) {
            self.results.mix_row(warp.row(inst.dst + i));
        }
        for p in inst.results().predicate_numbers() {
            self.results.mix_word(u64::from(warp.pred(p)));
        }
    }

    /// As [`Checksums::results`], but only for the lanes of `exec`: readers of traces of addresses do not have
    /// the recorded values in the other lanes.
    pub fn results_in_lanes(&mut self, pc: Pc, inst: &ExecInst, warp: &Warp, exec: u32) {
        if exec == 0 {
            return;
        }
        self.results.mix_step(pc, exec);
        for i in 0..u16::from(inst.dst_rows) {
            let row = warp.row(inst.dst + i);
            self.results.mix_row(&Row::from_fn(|l| if exec >> l & 1 != 0 { row.0[l] } else { 0 }));
        }
        for p in inst.results().predicate_numbers() {
            self.results.mix_word(u64::from(warp.pred(p) & exec));
        }
    }

    /// Folds in the lanes of a guarded instruction, and a barrier's operands. Lanes of other instructions are those of the
    /// path, which the trace states.
    #[inline]
    pub fn timing(&mut self, pc: Pc, inst: &ExecInst, warp: &Warp, exec: u32) {
        if exec == 0 {
            return;
        }
        if !inst.is_unguarded() {
            self.timing.mix_step(pc, exec);
        }
        if inst.kind == Kind::Barrier {
            let operand = |i: usize| u64::from(warp.row(inst.src[i].row).0[exec.trailing_zeros() as usize]);
            self.timing.mix_word(operand(0) << 32 | operand(1));
        }
    }

    /// Folds in a memory access: its program counter, the lanes that access memory, and their byte addresses.
    #[inline]
    pub fn access(&mut self, pc: Pc, lanes: u32, addresses: &[u64; WARP_SIZE]) {
        self.timing.mix_step(pc, lanes);
        self.timing.mix_addresses(lanes, addresses);
    }

    /// Folds in a step of an imported trace: its program counter and lanes.
    pub fn imported(&mut self, pc: Pc, exec: u32) {
        self.timing.mix_step(pc, exec);
    }
}

/// A running checksum of words and rows.
#[derive(Clone, Debug)]
struct Checksum {
    lanes: Row,
    control: u64,
    level: VectorLevel,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum { lanes: Row::ZERO, control: 0, level: VectorLevel::detect() }
    }
}

impl Checksum {
    fn reset(&mut self) {
        self.lanes = Row::ZERO;
        self.control = 0;
    }

    #[inline]
    fn mix_step(&mut self, pc: Pc, lanes: u32) {
        self.mix_word(u64::from(pc.0) << 32 | u64::from(lanes));
    }

    #[inline]
    fn mix_word(&mut self, word: u64) {
        self.control = (self.control.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    }

    #[inline]
    fn mix_row(&mut self, row: &Row) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level was detected on this host.
            VectorLevel::Avx512 => unsafe { mix_avx512(&mut self.lanes, row) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            VectorLevel::Avx2 => unsafe { mix_avx2(&mut self.lanes, row) },
            _ => mix(&mut self.lanes, row),
        }
    }

    /// Mixes the addresses of some lanes, and zeros in the others.
    #[inline]
    fn mix_addresses(&mut self, of: u32, addresses: &[u64; WARP_SIZE]) {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level was detected on this host.
            VectorLevel::Avx512 => unsafe { mix_addresses_avx512(&mut self.lanes, of, addresses) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            VectorLevel::Avx2 => unsafe { mix_addresses_avx2(&mut self.lanes, of, addresses) },
            _ => mix_addresses(&mut self.lanes, of, addresses),
        }
    }

    fn value(&self) -> u32 {
        let all = self.lanes.0.iter().fold(self.control, |sum, &lane| {
            (sum.rotate_left(29) ^ u64::from(lane)).wrapping_mul(MULTIPLIER)
        });
        (all ^ all >> 32) as u32
    }
}

#[inline(always)]
fn mixed(lane: u32, word: u32) -> u32 {
    (lane ^ word).rotate_left(9).wrapping_add(INCREMENT)
}

#[inline(always)]
fn mix(lanes: &mut Row, row: &Row) {
    for (lane, &word) in lanes.0.iter_mut().zip(&row.0) {
        *lane = mixed(*lane, word);
    }
}

#[inline(always)]
fn mix_addresses(lanes: &mut Row, of: u32, addresses: &[u64; WARP_SIZE]) {
    for (l, lane) in lanes.0.iter_mut().enumerate() {
        let address = if of >> l & 1 != 0 { addresses[l] } else { 0 };
        *lane = mixed(mixed(*lane, address as u32), (address >> 32) as u32);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn mix_avx512(lanes: &mut Row, row: &Row) {
    mix(lanes, row);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_avx2(lanes: &mut Row, row: &Row) {
    mix(lanes, row);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn mix_addresses_avx512(lanes: &mut Row, of: u32, addresses: &[u64; WARP_SIZE]) {
    mix_addresses(lanes, of, addresses);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mix_addresses_avx2(lanes: &mut Row, of: u32, addresses: &[u64; WARP_SIZE]) {
    mix_addresses(lanes, of, addresses);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum_of(rows: &[[u32; 32]], level: VectorLevel) -> u32 {
        let mut sum = Checksum { level, ..Checksum::default() };
        rows.iter().for_each(|&r| sum.mix_row(&Row(r)));
        sum.value()
    }

    proptest! {
        #[test]
        fn one_changed_bit_or_order_shows(
            mut rows in prop::collection::vec(any::<[u32; 32]>(), 2..6), lane in 0usize..32, bit in 0u32..32,
        ) {
            let before = sum_of(&rows, VectorLevel::detect());
            prop_assert_eq!(before, sum_of(&rows, VectorLevel::Portable));
            rows[0][lane] ^= 1 << bit;
            prop_assert_ne!(before, sum_of(&rows, VectorLevel::detect()));
            rows[0][lane] ^= 1 << bit;
            if rows[0] != rows[1] {
                rows.swap(0, 1);
                prop_assert_ne!(before, sum_of(&rows, VectorLevel::detect()));
            }
        }
    }

    proptest! {
        #[test]
        fn addresses_of_the_lanes_that_access_memory_count_at_every_level(
            at in any::<[u64; 32]>(), of in any::<u32>(), lane in 0usize..32, bit in 0u32..64,
        ) {
            let sum = |at: &[u64; 32], level| {
                let mut sum = Checksum { level, ..Checksum::default() };
                sum.mix_addresses(of, at);
                sum.value()
            };
            let before = sum(&at, VectorLevel::detect());
            prop_assert_eq!(before, sum(&at, VectorLevel::Portable));
            let mut other = at;
            other[lane] ^= 1 << bit;
            prop_assert_eq!(before != sum(&other, VectorLevel::detect()), of >> lane & 1 != 0);
        }
    }

    #[test]
    fn the_same_sign_error_twice_does_not_cancel() {
        for distance in 1..70 {
            let mut rows =
                vec![std::array::from_fn(|l| (l as u32 + 3).wrapping_mul(0x1234_5677)); distance + 1];
            let right = sum_of(&rows, VectorLevel::Portable);
            for row in [0, distance] {
                rows[row].iter_mut().for_each(|w: &mut u32| *w ^= 1 << 31);
            }
            assert_ne!(right, sum_of(&rows, VectorLevel::Portable), "distance {distance}");
        }
    }
}
