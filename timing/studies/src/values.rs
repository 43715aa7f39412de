//! Shapes of register rows across the lanes of a warp, and digests to compare rows.
//!
//! A digest has 128 bits. Digests of uniform and affine rows contain base and stride, so those never collide
//! with each other; a row without pattern is hashed with XXH3-128. Two different lists of operands have the
//! same digest with a probability of about 2^-128 per comparison: 10^15 comparisons leave less than 10^-23.
//! Functions over whole rows are compiled once per vector level of the host ([`Level`]).

use trace_format::semantics::{VectorLevel, WARP_SIZE};
use xxhash_rust::xxh3::xxh3_128;

/// One 32-bit register of all lanes.
pub(crate) type Words = [u32; WARP_SIZE];

/// Shape of a row, or of all operands of an instruction, across lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Shape {
    /// Every lane holds the same value.
    #[default]
    Uniform,
    /// Lane i holds base + i · stride, modulo 2^32 (2^64 for a register pair).
    Affine,
    /// Anything else.
    Unstructured,
}

/// Vector instructions of this host for row functions; results are the same at every level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(VectorLevel);

impl Level {
    /// The highest level that this host supports.
    #[must_use]
    pub(crate) fn detect() -> Level {
        Level(VectorLevel::detect())
    }

    /// The level that the target guarantees.
    #[cfg(test)]
    pub(crate) const fn portable() -> Level {
        Level(VectorLevel::Portable)
    }

    /// See [`shape`].
    #[must_use]
    #[inline]
    pub(crate) fn shape(self, row: &Words, lanes: usize) -> Shape {
        // Most rows without pattern are recognised by their first and last lanes.
        if lanes < 2 {
            return Shape::Uniform;
        }
        let stride = row[1].wrapping_sub(row[0]);
        if row[lanes - 1].wrapping_sub(row[lanes - 2]) != stride {
            return Shape::Unstructured;
        }
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is never above the one that was detected on this host.
            VectorLevel::Avx512 => unsafe { shape_avx512(row, lanes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            VectorLevel::Avx2 => unsafe { shape_avx2(row, lanes) },
            _ => shape(row, lanes),
        }
    }

    /// See [`width_bytes`].
    #[must_use]
    #[inline]
    pub(crate) fn width_bytes(self, row: &Words) -> u32 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is never above the one that was detected on this host.
            VectorLevel::Avx512 => unsafe { width_avx512(row) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            VectorLevel::Avx2 => unsafe { width_avx2(row) },
            _ => width_bytes(row),
        }
    }
}

impl Level {
    /// Lanes whose number equals that of the previous lane, and lanes whose number is `bytes` more.
    #[must_use]
    #[inline]
    pub(crate) fn steps(self, numbers: &[u64; WARP_SIZE], bytes: u64) -> (u32, u32) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a level is never above the one that was detected on this host.
            VectorLevel::Avx512 => unsafe { steps_avx512(numbers, bytes) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            VectorLevel::Avx2 => unsafe { steps_avx2(numbers, bytes) },
            _ => steps(numbers, bytes),
        }
    }
}

#[inline(always)]
fn steps(numbers: &[u64; WARP_SIZE], bytes: u64) -> (u32, u32) {
    let (mut same, mut next) = ([0u8; WARP_SIZE], [0u8; WARP_SIZE]);
    for lane in 1..WARP_SIZE {
        let step = numbers[lane].wrapping_sub(numbers[lane - 1]);
        same[lane] = u8::from(step == 0);
        next[lane] = u8::from(step == bytes);
    }
    (pack(&same), pack(&next))
}

/// A bit for each byte, which is 0 or 1.
#[inline(always)]
fn pack(bytes: &[u8; WARP_SIZE]) -> u32 {
    let mut bits = 0;
    for (i, eight) in bytes.as_chunks().0.iter().enumerate() {
        // The product gathers the bits of eight bytes in its highest byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= (gathered as u32) << (8 * i);
    }
    bits
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn steps_avx512(numbers: &[u64; WARP_SIZE], bytes: u64) -> (u32, u32) {
    steps(numbers, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn steps_avx2(numbers: &[u64; WARP_SIZE], bytes: u64) -> (u32, u32) {
    steps(numbers, bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,lzcnt")]
fn shape_avx512(row: &Words, lanes: usize) -> Shape {
    shape(row, lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn shape_avx2(row: &Words, lanes: usize) -> Shape {
    shape(row, lanes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,lzcnt")]
fn width_avx512(row: &Words) -> u32 {
    width_bytes(row)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,lzcnt")]
fn width_avx2(row: &Words) -> u32 {
    width_bytes(row)
}

/// The shape of a row over its first `lanes` lanes.
#[must_use]
#[inline(always)]
pub(crate) fn shape(row: &Words, lanes: usize) -> Shape {
    if lanes < 2 {
        return Shape::Uniform;
    }
    let stride = row[1].wrapping_sub(row[0]);
    let steady = if lanes == WARP_SIZE {
        let mut odd = 0;
        let mut expected = row[0];
        for &word in row {
            odd |= word ^ expected;
            expected = expected.wrapping_add(stride);
        }
        odd == 0
    } else {
        row[..lanes].windows(2).all(|w| w[1].wrapping_sub(w[0]) == stride)
    };
    match (steady, stride) {
        (false, _) => Shape::Unstructured,
        (true, 0) => Shape::Uniform,
        (true, _) => Shape::Affine,
    }
}

/// Bytes, 1 to 4, from which every lane of a row is recovered by sign extension (CORF, section 2.6).
#[must_use]
#[inline(always)]
pub(crate) fn width_bytes(row: &Words) -> u32 {
    let mut differing = 0;
    for &word in row {
        differing |= word ^ ((word as i32) >> 31) as u32;
    }
    // Bits 0..=6 fit one byte with its sign, 7..=14 two, 15..=22 three.
    (40 - differing.leading_zeros()) / 8
}

/// Whether a register pair, read as one 64-bit integer per lane, is an arithmetic progression.
#[must_use]
pub(crate) fn pair_is_affine(low: &Words, high: &Words, lanes: usize) -> bool {
    let wide = |i: usize| u64::from(low[i]) | u64::from(high[i]) << 32;
    lanes < 2 || {
        let stride = wide(1).wrapping_sub(wide(0));
        (1..lanes).all(|i| wide(i).wrapping_sub(wide(i - 1)) == stride)
    }
}

/// Digest of a row or a list of rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Digest([u64; 2]);

impl std::hash::Hash for Digest {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
    }
}

impl Digest {
    /// Digest of a full row whose shape is known.
    #[must_use]
    #[inline]
    pub(crate) fn of_row(row: &Words, shape: Shape) -> Digest {
        let base = u64::from(row[0]);
        match shape {
            Shape::Uniform => Digest([base, 0]),
            Shape::Affine => Digest([base, u64::from(row[1].wrapping_sub(row[0]))]),
            Shape::Unstructured => Digest::of_lanes(row, 0, WARP_SIZE),
        }
    }

    /// Digest of the lanes `from..to`; comparable only with digests of the same lanes made by this function.
    #[must_use]
    #[inline]
    pub(crate) fn of_lanes(row: &Words, from: usize, to: usize) -> Digest {
        let mut bytes = [0; 4 * WARP_SIZE];
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(row) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let hash = xxh3_128(&bytes[4 * from..4 * to]);
        Digest([hash as u64, (hash >> 64) as u64])
    }

    /// Digest that contains a number itself.
    #[must_use]
    #[inline]
    pub(crate) fn of_word(word: u64) -> Digest {
        Digest([word, 1 << 62])
    }

    /// Its two words; every bit of a digest made by [`Digest::then`] is uniformly distributed.
    #[must_use]
    #[inline]
    pub(crate) const fn words(self) -> [u64; 2] {
        self.0
    }

    /// Digest of a lane mask.
    #[must_use]
    #[inline]
    pub(crate) fn of_mask(mask: u32) -> Digest {
        Digest([u64::from(mask), 1 << 63])
    }

    /// The digest of a list from that of its beginning (the default for an empty list, or made by this function) and its
    /// next item's.
    ///
    /// For a given beginning this is a bijection: lists that differ in one item differ.
    #[must_use]
    #[inline]
    pub(crate) fn then(self, item: Digest) -> Digest {
        let a = (self.0[0] ^ item.0[0]).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let b = (self.0[1] ^ item.0[1]).wrapping_add(a.rotate_left(32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        Digest([a ^ b >> 31, b ^ b >> 32])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn progression(base: u32, stride: u32) -> Words {
        std::array::from_fn(|i| base.wrapping_add(stride.wrapping_mul(i as u32)))
    }

    #[test]
    fn widths_at_the_borders() {
        let cases =
            [(0, 1), (127, 1), (128, 2), (0x7FFF, 2), (0x8000, 3), (0x007F_FFFF, 3), (0x0080_0000, 4)];
        for (value, bytes) in cases {
            assert_eq!(width_bytes(&progression(value, 0)), bytes, "{value:#x}");
            assert_eq!(width_bytes(&progression(!value, 0)), bytes, "{:#x}", !value);
            assert_eq!(Level::detect().width_bytes(&progression(value, 0)), bytes, "{value:#x}");
        }
        let mut row = progression(0, 0);
        row[31] = 0x0080_0000;
        assert_eq!(width_bytes(&row), 4, "the widest lane counts");
    }

    #[test]
    fn lanes_and_their_values_do_not_cancel() {
        let digest = |mask, value| {
            let row = Digest::of_row(&progression(value, 0), Shape::Uniform);
            Digest::default().then(Digest::of_mask(mask)).then(row)
        };
        assert_ne!(digest(u32::MAX, 9), digest(1, 9 ^ u32::MAX ^ 1));
    }

    proptest! {
        #[test]
        fn progressions_are_seen_and_one_changed_lane_breaks_them(
            base: u32, stride: u32, lanes in 3usize..=32, lane in 0usize..32, change in 1u32..,
        ) {
            let mut row = progression(base, stride);
            let expected = if stride == 0 { Shape::Uniform } else { Shape::Affine };
            prop_assert_eq!(shape(&row, lanes), expected);
            prop_assert_eq!(Level::detect().shape(&row, lanes), expected);
            let before = Digest::of_row(&row, expected);
            row[lane % lanes] = row[lane % lanes].wrapping_add(change);
            for level in [Level::detect(), Level::portable()] {
                prop_assert_eq!(level.shape(&row, lanes), Shape::Unstructured);
            }
            prop_assert_ne!(before, Digest::of_row(&row, Shape::Unstructured));
        }

        #[test]
        fn pairs_carry_into_their_upper_word(base: u64, stride: u64, lanes in 3usize..=32, lane in 0usize..32) {
            let wide = |i: usize| base.wrapping_add(stride.wrapping_mul(i as u64));
            let mut low = std::array::from_fn(|i| wide(i) as u32);
            let high = std::array::from_fn(|i| (wide(i) >> 32) as u32);
            prop_assert!(pair_is_affine(&low, &high, lanes));
            low[lane % lanes] ^= 4;
            prop_assert!(!pair_is_affine(&low, &high, lanes));
        }

        #[test]
        fn digests_tell_rows_and_orders_apart(a: u32, b: u32, c: u32, d: u32) {
            let rows = [(a, 0), (b, 0), (a, c), (b, c), (a, d)].map(|(base, stride)| progression(base, stride));
            let digests = rows.map(|row| Digest::of_row(&row, shape(&row, 32)));
            for (row, one) in rows.iter().zip(digests) {
                for (other_row, other) in rows.iter().zip(digests) {
                    let same = row == other_row;
                    prop_assert_eq!(one == other, same);
                    let start = Digest::default();
                    prop_assert_eq!(start.then(one).then(other) == start.then(other).then(one), same);
                }
            }
        }
    }
}
