//! The block-linear layout of arrays on hardware: the address that a texel has for caches and memory.
//!
//! Texels lie in *GOBs* of 64 bytes by 8 rows, in which a sector of 32 bytes holds 16 bytes of two rows (NVIDIA, Tegra
//! X1 Technical Reference Manual, "pixel memory formats"; Mesa's NVK uses the same pattern up to Ampere). GOBs form
//! blocks that are one GOB wide, and blocks follow each other row by row, then by depth. How high and deep blocks are
//! is the driver's choice; here they are as in Nouveau (`nv50_tex_choose_tile_dims_helper`).
//!
//! Only recorded addresses are block-linear: the bytes in device memory stay row-major, so that copies and views of
//! arrays need no conversion.

/// Bytes of a GOB's row, and its rows, as powers of two.
const GOB_WIDTH: u32 = 6;
const GOB_HEIGHT: u32 = 3;
/// Bytes of a GOB.
const GOB_BYTES: u64 = 1 << (GOB_WIDTH + GOB_HEIGHT);

/// The block-linear layout of a mipmap level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiles {
    base: u64,
    /// GOBs of a block, one above the other and one behind the other, as powers of two.
    gobs: [u32; 2],
    /// Bytes of a row of blocks, and of all rows at one depth.
    row_bytes: u64,
    plane_bytes: u64,
    slice_bytes: u64,
}

impl Tiles {
    /// The layout of a level whose slices (layers or faces) begin at an address, each of a width in bytes, a height and
    /// a depth.
    #[must_use]
    pub(super) fn new(base: u64, width_bytes: u64, height: u32, depth: u32) -> Tiles {
        let most = |n: u32, most: u32| n.next_power_of_two().trailing_zeros().min(most);
        let mut high = most(height.div_ceil(1 << GOB_HEIGHT), 4);
        let mut deep = 0;
        if depth > 1 {
            high = high.min(2);
            deep = most(depth, if high < 2 { 5 } else { 4 });
        }
        let row_bytes = width_bytes.div_ceil(1 << GOB_WIDTH) * (GOB_BYTES << (high + deep));
        let plane_bytes = row_bytes * u64::from(height.div_ceil(1 << (GOB_HEIGHT + high)));
        let slice_bytes = plane_bytes * u64::from(depth.div_ceil(1 << deep));
        Tiles { base, gobs: [high, deep], row_bytes, plane_bytes, slice_bytes }
    }

    /// Bytes of one slice.
    #[must_use]
    pub const fn slice_bytes(&self) -> u64 {
        self.slice_bytes
    }

    /// Address of a byte of a row, where rows are counted in a slice.
    #[must_use]
    #[inline]
    pub const fn address(&self, x_bytes: u64, y: u64, z: u64, slice: u64) -> u64 {
        let [high, deep] = self.gobs;
        let in_gob = x_bytes & 15 | (y & 1) << 4 | (x_bytes & 16) << 1 | (y & 6) << 5 | (x_bytes & 32) << 3;
        let gob = (y >> GOB_HEIGHT & ((1 << high) - 1)) + ((z & ((1 << deep) - 1)) << high);
        let block = (x_bytes >> GOB_WIDTH) * (GOB_BYTES << (high + deep))
            + (y >> (GOB_HEIGHT + high)) * self.row_bytes
            + (z >> deep) * self.plane_bytes;
        self.base + slice * self.slice_bytes + block + gob * GOB_BYTES + in_gob
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

        /// The rows of a level, filled up to whole blocks, and its bytes correspond one to one; 16 bytes of a row stay
        /// together.
        #[test]
        fn addresses_are_a_bijection(width in 1..300u64, height in 1..200u32, depth in 1..40u32, slices in 1..3u64) {
            let base = 1 << 20;
            let tiles = Tiles::new(base, width, height, depth);
            let [high, deep] = tiles.gobs;
            let rows = u64::from(height).next_multiple_of(1 << (GOB_HEIGHT + high));
            let planes = u64::from(depth).next_multiple_of(1 << deep);
            let width = width.next_multiple_of(64);
            prop_assert_eq!(width * rows * planes, tiles.slice_bytes());
            let mut seen = BTreeSet::new();
            for slice in 0..slices {
                for (z, y) in (0..planes).flat_map(|z| (0..rows).map(move |y| (z, y))) {
                    for x in (0..width).step_by(16) {
                        let at = tiles.address(x, y, z, slice);
                        prop_assert!(at.is_multiple_of(16) && seen.insert(at));
                        prop_assert_eq!(tiles.address(x + 7, y, z, slice), at + 7);
                    }
                }
            }
            prop_assert_eq!(seen.len() as u64 * 16, slices * tiles.slice_bytes());
            prop_assert_eq!(seen.first().copied(), Some(base));
            prop_assert_eq!(seen.last().copied(), Some(base + slices * tiles.slice_bytes() - 16));
        }
    }

    #[test]
    fn a_gob_is_that_of_the_manual() {
        let tiles = Tiles::new(0, 256, 64, 1);
        for y in 0..8u64 {
            for x in 0..64u64 {
                let manual = x % 64 / 32 * 256 + y % 8 / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
                assert_eq!(tiles.address(x, y, 0, 0), manual);
            }
        }
        // Eight GOBs are one above the other, then the block to the right follows.
        assert_eq!((tiles.address(0, 8, 0, 0), tiles.address(64, 0, 0, 0)), (512, 8 * 512));
    }

    #[test]
    fn blocks_are_as_high_and_deep_as_nouveau_makes_them() {
        let gobs = |height, depth| Tiles::new(0, 64, height, depth).gobs;
        let flat = [(1, 0), (8, 0), (9, 1), (16, 1), (17, 2), (33, 3), (64, 3), (65, 4), (4000, 4)];
        for (height, high) in flat {
            assert_eq!(gobs(height, 1), [high, 0], "{height} rows");
        }
        let solid = [(8, 2, [0, 1]), (8, 3, [0, 2]), (16, 17, [1, 5]), (17, 17, [2, 4]), (100, 100, [2, 4])];
        for (height, depth, expected) in solid {
            assert_eq!(gobs(height, depth), expected, "{height} rows, {depth} deep");
        }
    }

    #[test]
    fn a_square_of_texels_touches_fewer_lines_than_in_rows() {
        // 8 by 4 texels of 4 bytes: 4 sectors either way, in one line here and in four of an array in rows.
        let tiles = Tiles::new(0, 1024, 256, 1);
        let touched = |unit: u64| -> usize {
            let texels = (0..4u64).flat_map(|y| (0..8u64).map(move |x| (x, y)));
            texels.map(|(x, y)| tiles.address(4 * x, y, 0, 0) / unit).collect::<BTreeSet<_>>().len()
        };
        assert_eq!((touched(32), touched(128)), (4, 1));
    }
}
