//! Local memory of one warp: word i of all lanes is one row, so that the usual case, every lane at the same
//! offset of its stack, is one copy. Rows are kept from the highest address downwards and made when they are
//! first written, so that a large stack costs only its used part.

use super::access::{Modify, Refusal, modify_bytes, put_words};
use crate::memory::lanes::{Addresses, Rows, lanes_of};
use trace_format::isa::MemWidth;
use trace_format::semantics::Row;

/// Local memory of one warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    /// The last word's row first; those that are missing are zero.
    rows: Vec<Row>,
    bytes: u64,
    /// Index of the row of word 0.
    first: usize,
}

impl LocalMemory {
    /// Resets this to zeroed memory with a number of bytes per lane.
    pub(crate) fn reset(&mut self, bytes: u32) {
        self.bytes = u64::from(bytes);
        self.rows.clear();
        self.first = ((bytes as usize).div_ceil(16) * 4).saturating_sub(1);
    }

    /// The row of a word that has been checked.
    #[inline]
    fn row(&self, word: usize) -> &Row {
        self.rows.get(self.first - word).unwrap_or(&Row::ZERO)
    }

    /// The row of a word that has been checked, to write.
    #[inline]
    fn row_mut(&mut self, word: usize) -> &mut Row {
        let at = self.first - word;
        if at >= self.rows.len() {
            self.rows.resize(at + 1, Row::ZERO);
        }
        &mut self.rows[at]
    }

    /// Bytes per lane.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Checks all lanes; `Some(row)` when all of them are at the same aligned word.
    #[inline]
    fn check(&self, at: &Addresses, exec: u32, width: u64) -> Result<Option<usize>, Refusal> {
        let first = at[exec.trailing_zeros() as usize & 31];
        let mut differ = 0;
        for l in lanes_of(exec) {
            let (lane, address) = (l as u8, at[l]);
            if address & (width - 1) != 0 {
                return Err(Refusal::Misaligned { lane, address });
            }
            if address.checked_add(width).is_none_or(|end| end > self.bytes) {
                return Err(Refusal::OutOfBounds { lane, address });
            }
            differ |= address ^ first;
        }
        Ok((differ == 0 && width >= 4).then_some((first / 4) as usize))
    }

    /// Loads into rows.
    ///
    /// # Errors
    /// When a lane's access is misaligned or lies outside.
    pub(crate) fn load(
        &self,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        out: &mut Rows,
    ) -> Result<(), Refusal> {
        if let Some(row) = self.check(at, exec, u64::from(width.bytes()))? {
            for (i, to) in out.iter_mut().take(usize::from(width.regs())).enumerate() {
                *to = *self.row(row + i);
            }
            return Ok(());
        }
        for l in lanes_of(exec) {
            let row = (at[l] / 4) as usize;
            let shift = 8 * (at[l] % 4) as u32;
            for (i, to) in out.iter_mut().take(usize::from(width.regs())).enumerate() {
                let word = self.row(row + i).0[l] >> shift;
                to.0[l] = match width {
                    MemWidth::U8 => word & 0xFF,
                    MemWidth::S8 => i32::from(word as i8) as u32,
                    MemWidth::U16 => word & 0xFFFF,
                    MemWidth::S16 => i32::from(word as i16) as u32,
                    MemWidth::B32 | MemWidth::B64 | MemWidth::B128 => word,
                };
            }
        }
        Ok(())
    }

    /// Stores rows.
    ///
    /// # Errors
    /// When a lane's access is misaligned or lies outside.
    pub(crate) fn store(
        &mut self,
        at: &Addresses,
        exec: u32,
        width: MemWidth,
        data: &[&Row; 4],
    ) -> Result<(), Refusal> {
        self.check(at, exec, u64::from(width.bytes()))?;
        for l in lanes_of(exec) {
            let row = (at[l] / 4) as usize;
            let shift = 8 * (at[l] % 4) as u32;
            let keep = match width.bytes() {
                1 => !(0xFF << shift),
                2 => !(0xFFFF << shift),
                _ => 0,
            };
            for (i, from) in data.iter().take(usize::from(width.regs())).enumerate() {
                let word = &mut self.row_mut(row + i).0[l];
                *word = (*word & keep) | ((from.0[l] << shift) & !keep);
            }
        }
        Ok(())
    }

    /// Modifies in ascending order of lanes and returns the old values.
    ///
    /// # Errors
    /// When a lane's access is misaligned or lies outside.
    pub(crate) fn modify(
        &mut self,
        at: &Addresses,
        exec: u32,
        m: &Modify<'_>,
        old: &mut Rows,
    ) -> Result<(), Refusal> {
        let width = usize::from(m.ty.bytes());
        self.check(at, exec, width as u64)?;
        for l in lanes_of(exec) {
            let (row, within) = ((at[l] / 4) as usize, (at[l] % 4) as usize);
            let words = (within + width).div_ceil(4);
            let mut bytes = [0; 16];
            for i in 0..words {
                bytes[4 * i..4 * i + 4].copy_from_slice(&self.row(row + i).0[l].to_le_bytes());
            }
            let before = modify_bytes(&mut bytes[..], within, l, m, true);
            for i in 0..words {
                let word = [bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]];
                self.row_mut(row + i).0[l] = u32::from_le_bytes(word);
            }
            put_words(old, l, before);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_reads_back_what_it_wrote_and_nothing_beside_it() {
        let widths = [MemWidth::U8, MemWidth::S16, MemWidth::B32, MemWidth::B64, MemWidth::B128];
        for width in widths {
            let n = u64::from(width.bytes());
            for spread in [0, n] {
                let mut memory = LocalMemory::default();
                memory.reset(1024);
                let at: Addresses = std::array::from_fn(|l| 32 + spread * l as u64);
                let rows: Rows = std::array::from_fn(|i| Row::from_fn(|l| 0x0101_0101 * (l + i) as u32));
                let data = std::array::from_fn(|i| &rows[i]);
                memory.store(&at, 0x0FFF_FFF0, width, &data).unwrap();
                let mut out = [Row::ZERO; 4];
                memory.load(&at, u32::MAX, width, &mut out).unwrap();
                let mask = if n >= 4 { u32::MAX } else { (1 << (8 * n)) - 1 };
                for i in 0..usize::from(width.regs()) {
                    for l in 0..32 {
                        let expect = if (4..28).contains(&l) { rows[i].0[l] & mask } else { 0 };
                        assert_eq!(out[i].0[l], expect, "{width:?} register {i} lane {l}");
                    }
                }
            }
        }
    }

    #[test]
    fn accesses_outside_or_askew_name_the_lane() {
        let mut memory = LocalMemory::default();
        memory.reset(64);
        let mut at = [0; 32];
        let mut out = [Row::ZERO; 4];
        at[7] = 64;
        let outside = memory.load(&at, u32::MAX, MemWidth::U8, &mut out);
        assert_eq!(outside, Err(Refusal::OutOfBounds { lane: 7, address: 64 }));
        at[7] = u64::MAX;
        assert!(memory.load(&at, u32::MAX, MemWidth::U8, &mut out).is_err());
        at[7] = 2;
        let askew = memory.load(&at, u32::MAX, MemWidth::B32, &mut out);
        assert_eq!(askew, Err(Refusal::Misaligned { lane: 7, address: 2 }));
        assert_eq!(memory.load(&at, !(1 << 7), MemWidth::B32, &mut out), Ok(()));
    }
}
