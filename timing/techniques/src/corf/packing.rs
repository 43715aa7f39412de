//! Narrow values in byte slices: the number of bytes that a warp register needs, its alignment in the slices
//! of a physical register, and its recovery by shift and sign extension (CORF, section 2.6).
//!
//! A physical register is 32 words, one per lane, each of four byte slices; a value has the same contiguous
//! run of slices in every lane.

use warplab_technique::Row;

/// Byte slices of a physical register.
pub(super) const SLICES: u32 = 4;

/// A contiguous run of byte slices, as the 4-bit allocation mask of the renaming table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slices(u8);

impl Slices {
    /// `count` slices from slice `first` on.
    pub(super) fn new(first: u32, count: u32) -> Slices {
        debug_assert!(count >= 1 && first + count <= SLICES);
        Slices((((1u32 << count) - 1) << first) as u8)
    }

    /// The lowest run of `count` slices that `used` leaves free.
    #[inline]
    pub(super) fn free_run(used: u8, count: u32) -> Option<Slices> {
        (0..=SLICES - count).map(|first| Slices::new(first, count)).find(|run| run.0 & used == 0)
    }

    /// One bit per slice.
    #[inline]
    pub(super) fn mask(self) -> u8 {
        self.0
    }

    /// Lowest slice.
    #[inline]
    pub(super) fn first(self) -> u32 {
        self.0.trailing_zeros()
    }

    /// Number of slices, the width of the value in bytes.
    #[inline]
    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The lowest `count` of these slices.
    #[inline]
    pub(crate) fn narrowed(self, count: u32) -> Slices {
        Slices::new(self.first(), count)
    }
}

/// Bytes (1 to 4) from which sign extension recovers every lane.
///
/// All 32 lanes count, active or not. As in section 2.6, a byte is needed when a bit of it, or the top bit of
/// the byte below, differs from the sign.
#[inline]
pub(super) fn width_bytes(row: &Row) -> u32 {
    let differing = row.0.iter().fold(0, |bits, value| bits | (value ^ ((*value as i32) >> 31) as u32));
    // Bits 0..=6 fit one byte with its sign, 7..=14 two, 15..=22 three.
    (32 - differing.leading_zeros() + SLICES * 2) / 8
}

/// Writes a value into slices of a physical register, in the lanes of a mask.
#[inline]
pub(crate) fn pack(into: &mut Row, slices: Slices, value: &Row, lanes: u32) {
    let shift = slices.first() * 8;
    let bytes = byte_mask(slices);
    if bytes & lanes == u32::MAX {
        *into = *value;
        return;
    }
    if lanes == u32::MAX {
        for (stored, value) in into.0.iter_mut().zip(&value.0) {
            *stored = (*stored & !bytes) | ((value << shift) & bytes);
        }
        return;
    }
    for (lane, (stored, value)) in into.0.iter_mut().zip(&value.0).enumerate() {
        let bits = if lanes >> lane & 1 != 0 { bytes } else { 0 };
        *stored = (*stored & !bits) | ((value << shift) & bits);
    }
}

/// Reads a value back by shift and sign extension.
#[inline]
pub(super) fn unpack(stored: &Row, slices: Slices) -> Row {
    let up = 32 - (slices.first() + slices.count()) * 8;
    let down = 32 - slices.count() * 8;
    let mut row = *stored;
    if slices.count() < SLICES {
        row.0.iter_mut().for_each(|word| *word = (((*word << up) as i32) >> down) as u32);
    }
    row
}

fn byte_mask(slices: Slices) -> u32 {
    (u32::MAX >> (32 - slices.count() * 8)) << (slices.first() * 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference: the fewest bytes whose sign extension is the value.
    fn reference_width(value: u32) -> u32 {
        (1..=4).find(|n| sign_extended(value, *n) == value).expect("four bytes are the value")
    }

    fn sign_extended(value: u32, bytes: u32) -> u32 {
        match bytes {
            1 => i32::from(value as u8 as i8) as u32,
            2 => i32::from(value as u16 as i16) as u32,
            3 => {
                let low = value & 0x00FF_FFFF;
                if low & 0x0080_0000 != 0 { low | 0xFF00_0000 } else { low }
            }
            _ => value,
        }
    }

    #[test]
    fn widths_at_the_borders() {
        for (value, bytes) in [
            (0, 1),
            (127, 1),
            (128, 2),
            (0x7FFF, 2),
            (0x8000, 3),
            (0x007F_FFFF, 3),
            (0x0080_0000, 4),
            (-1i32 as u32, 1),
            (-128i32 as u32, 1),
            (-129i32 as u32, 2),
            (-32768i32 as u32, 2),
            (-32769i32 as u32, 3),
            (0xFF80_0000, 3),
            (0xFF7F_FFFF, 4),
            (0x3F80_0000, 4),
            (0x8000_0000, 4),
        ] {
            assert_eq!(width_bytes(&Row::splat(value)), bytes, "{value:#x}");
        }
    }

    /// A row whose lanes need at most `bytes` bytes.
    fn rows() -> impl Strategy<Value = Row> {
        (1u32..=4, prop::array::uniform32(any::<u32>()))
            .prop_map(|(bytes, words)| Row::from_fn(|lane| sign_extended(words[lane], bytes)))
    }

    proptest! {
        #[test]
        fn width_is_that_of_the_widest_lane(row in rows()) {
            prop_assert_eq!(width_bytes(&row), row.0.iter().map(|v| reference_width(*v)).max().expect("lanes"));
        }

        /// Every sufficiently wide position returns the value and does not change the other slices.
        #[test]
        fn pack_and_unpack_are_inverse(row in rows(), noise in prop::array::uniform32(any::<u32>())) {
            let width = width_bytes(&row);
            for count in width..=SLICES {
                for first in 0..=SLICES - count {
                    let slices = Slices::new(first, count);
                    let mut stored = Row(noise);
                    pack(&mut stored, slices, &row, u32::MAX);
                    prop_assert_eq!(unpack(&stored, slices), row);
                    prop_assert_eq!(unpack(&stored, slices.narrowed(width)), row);
                    for byte in (0..SLICES).filter(|b| slices.mask() >> b & 1 == 0) {
                        for (kept, before) in stored.0.iter().zip(&noise) {
                            prop_assert_eq!(kept >> (byte * 8) & 0xFF, before >> (byte * 8) & 0xFF);
                        }
                    }
                }
            }
        }

        #[test]
        fn inactive_lanes_keep_what_they_had(a in rows(), b in rows(), lanes: u32) {
            let slices = Slices::new(0, 4);
            let mut stored = Row::ZERO;
            pack(&mut stored, slices, &a, u32::MAX);
            pack(&mut stored, slices, &b, lanes);
            let expected = Row::from_fn(|l| if lanes >> l & 1 != 0 { b.0[l] } else { a.0[l] });
            prop_assert_eq!(unpack(&stored, slices), expected);
        }
    }
}
