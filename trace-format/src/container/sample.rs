//! The blocks of a launch that a trace holds: all, or a sample of a long launch.
//!
//! Within the trace the blocks of a sample are numbered from 0 without gaps, so that code that iterates over
//! the recorded blocks need not handle samples; [`Sample::block`] and [`Sample::position`] convert between
//! the numberings.

use serde::{Deserialize, Serialize};

/// A selection of the blocks of a grid, which are numbered x fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Sample {
    /// All blocks.
    #[default]
    All,
    /// This number of blocks from the first.
    First(u64),
    /// This number of blocks, evenly spaced.
    Even(u64),
}

impl Sample {
    /// Number of sampled blocks in a grid of `blocks` blocks.
    #[must_use]
    pub fn count(self, blocks: u64) -> u64 {
        match self {
            Sample::All => blocks,
            Sample::First(n) | Sample::Even(n) => n.min(blocks),
        }
    }

    /// Number in the grid of a block of the sample.
    #[must_use]
    pub fn block(self, position: u64, blocks: u64) -> u64 {
        match self {
            Sample::Even(n) if n < blocks => {
                (u128::from(position) * u128::from(blocks) / u128::from(n.max(1))) as u64
            }
            _ => position,
        }
    }

    /// Number in the sample of a block of the grid, if it is sampled.
    #[must_use]
    pub fn position(self, block: u64, blocks: u64) -> Option<u64> {
        let count = self.count(blocks);
        let position = match self {
            Sample::Even(n) if n < blocks => {
                (u128::from(block) * u128::from(n)).div_ceil(u128::from(blocks)) as u64
            }
            _ => block,
        };
        (position < count && self.block(position, blocks) == block).then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_blocks_are_inverse() {
        for blocks in 1..40u64 {
            for n in 1..45 {
                for sample in [Sample::All, Sample::First(n), Sample::Even(n)] {
                    let count = sample.count(blocks);
                    let chosen: Vec<u64> = (0..count).map(|i| sample.block(i, blocks)).collect();
                    assert!(chosen.windows(2).all(|w| w[0] < w[1]) && chosen.iter().all(|&b| b < blocks));
                    for block in 0..blocks {
                        let expected = chosen.iter().position(|&b| b == block).map(|i| i as u64);
                        assert_eq!(
                            sample.position(block, blocks),
                            expected,
                            "{sample:?} of {blocks}: {block}"
                        );
                    }
                }
            }
        }
        assert_eq!((0..4).map(|i| Sample::Even(4).block(i, 10)).collect::<Vec<_>>(), [0, 2, 5, 7]);
    }
}
