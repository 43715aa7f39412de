//! The checksum of a warp: every destination row and predicate of every executed instruction, with its
//! program counter and mask, folded into one word. Emulator and cursor call the same function after each
//! instruction; registers are folded with inactive lanes, which are equal on both sides.
//!
//! Per lane the state is mixed by exclusive-or, rotation and addition, which all vector units support; a
//! difference in one lane remains a difference, and only the final fold can hide it (probability 2^-32).

use crate::isa::Pc;
use crate::semantics::{ExecInst, Row, VectorLevel, Warp};

const INCREMENT: u32 = 0x9E37_79B9;
const MULTIPLIER: u64 = 0xD6E8_FEB8_6659_FD93;

/// Running checksum of one warp.
#[derive(Clone, Debug)]
pub struct Checksum {
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
    /// Resets to the state before a warp's first instruction.
    pub fn reset(&mut self) {
        self.lanes = Row::ZERO;
        self.control = 0;
    }

    /// Folds in the destinations of an instruction in `warp`; `exec` are the lanes in which it took effect
    /// (if none, nothing is folded).
    #[inline]
    pub fn retire(&mut self, pc: Pc, inst: &ExecInst, warp: &Warp, exec: u32) {
        if exec == 0 {
            return;
        }
        self.mix_word(u64::from(pc.0) << 32 | u64::from(exec));
        for i in 0..u16::from(inst.dst_rows) {
            self.mix_row(warp.row(inst.dst + i));
        }
        for p in inst.pdst {
            if p != 7 {
                self.mix_word(u64::from(warp.pred(p)));
            }
        }
    }

    /// As [`Checksum::retire`], but only for the lanes of `exec`: readers of traces of addresses do not have
    /// the recorded values in the other lanes.
    pub fn retire_lanes(&mut self, pc: Pc, inst: &ExecInst, warp: &Warp, exec: u32) {
        if exec == 0 {
            return;
        }
        self.mix_word(u64::from(pc.0) << 32 | u64::from(exec));
        for i in 0..u16::from(inst.dst_rows) {
            let row = warp.row(inst.dst + i);
            self.mix_row(&Row::from_fn(|l| if exec >> l & 1 != 0 { row.0[l] } else { 0 }));
        }
        for p in inst.pdst {
            if p != 7 {
                self.mix_word(u64::from(warp.pred(p) & exec));
            }
        }
    }

    /// Folds in a step of an imported trace: its program counter and lanes.
    pub fn visit(&mut self, pc: Pc, exec: u32) {
        self.mix_word(u64::from(pc.0) << 32 | u64::from(exec));
    }

    /// Folds in the addresses of a step of an imported trace, in two rows that are zero in other lanes.
    pub fn addresses(&mut self, low: &Row, high: &Row) {
        self.mix_row(low);
        self.mix_row(high);
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

    /// The checksum so far.
    #[must_use]
    pub fn value(&self) -> u32 {
        let all = self.lanes.0.iter().fold(self.control, |sum, &lane| {
            (sum.rotate_left(29) ^ u64::from(lane)).wrapping_mul(MULTIPLIER)
        });
        (all ^ all >> 32) as u32
    }
}

#[inline(always)]
fn mix(lanes: &mut Row, row: &Row) {
    for (lane, &word) in lanes.0.iter_mut().zip(&row.0) {
        *lane = (*lane ^ word).rotate_left(9).wrapping_add(INCREMENT);
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
