//! A register of a warp in all lanes, and the shape of a launch.

use super::{FULL_MASK, WARP_SIZE};

/// One 32-bit register of a warp: lane i in element i.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Row(pub [u32; WARP_SIZE]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; WARP_SIZE]);

    /// The same word in every lane.
    #[must_use]
    pub const fn splat(value: u32) -> Row {
        Row([value; WARP_SIZE])
    }

    /// A row from a function of the lane.
    #[must_use]
    pub fn from_fn(f: impl FnMut(usize) -> u32) -> Row {
        Row(std::array::from_fn(f))
    }
}

/// Shape of a launch: blocks in the grid and threads in a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Geometry {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads along x, y, z.
    pub block: [u32; 3],
}

impl Geometry {
    /// Blocks in the grid.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads in a block.
    #[must_use]
    pub fn threads_per_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps in a block, the last possibly partial.
    #[must_use]
    pub fn warps_per_block(&self) -> u32 {
        self.threads_per_block().div_ceil(WARP_SIZE as u32)
    }

    /// Block index (x, y, z) of the `linear`-th block, x fastest.
    #[must_use]
    pub fn block_index(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(|n| u64::from(n.max(1)));
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }

    /// Lanes of a warp that hold threads.
    #[must_use]
    pub fn launched_mask(&self, warp: u32) -> u32 {
        let left = self.threads_per_block().saturating_sub(warp * WARP_SIZE as u32);
        if left >= WARP_SIZE as u32 { FULL_MASK } else { (1u32 << left) - 1 }
    }
}
