//! Parts of blocks: the streams of a block's warps, recorded by one thread and packed into a frame by another.

use crate::encode::checksum::WarpSums;
use crate::encode::encoder::{HoldsStreams, ValueStreams};

/// Streams of one warp within a part of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarpPart {
    pub path_tokens: Vec<u8>,
    pub path_params: Vec<u8>,
    pub values: ValueStreams,
    pub checksums: WarpSums,
}

impl HoldsStreams for WarpPart {
    #[inline]
    fn streams(&self) -> &ValueStreams {
        &self.values
    }
    #[inline]
    fn streams_mut(&mut self) -> &mut ValueStreams {
        &mut self.values
    }
}

/// A block, or one of several consecutive parts of it, on its way to the writer thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockPart {
    pub launch: u32,
    pub block: u64,
    /// Number of the part within the block.
    pub part: u32,
    /// Whether the block ends with this part.
    pub last: bool,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub warps: Vec<WarpPart>,
}

impl BlockPart {
    /// Memory that the part takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let streams = |w: &WarpPart| {
            let words = w.values.words.len() * size_of::<u32>();
            w.path_tokens.len() + w.path_params.len() + w.values.tokens.len() + w.values.params.len() + words
        };
        let warps: usize = self.warps.iter().map(|w| size_of::<WarpPart>() + streams(w)).sum();
        size_of::<BlockPart>() + warps
    }

    /// Empties the streams and makes room for a block of so many warps.
    pub(crate) fn clear(&mut self, warps: usize) {
        self.warps.resize_with(warps, WarpPart::default);
        for w in &mut self.warps {
            w.path_tokens.clear();
            w.path_params.clear();
            w.values.clear();
            w.checksums = WarpSums::default();
        }
        self.warp_instructions = 0;
        self.thread_instructions = 0;
        self.last = false;
    }
}
