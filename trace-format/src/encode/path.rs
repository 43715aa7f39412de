//! Path of a warp: one token per basic block that it enters, with the active mask.
//!
//! A token is a byte: two bits select the next block (the next in program order, the target of the block's
//! branch or call, or a block named in the parameters), four bits the mask (the same, one of the seven before
//! it, the lanes that an earlier mask has beyond the current one, or a mask named in the parameters). A
//! straight or looping warp costs one repetitive byte per block.

use super::layout::StreamLayout;
use super::{CodingError, varint};
use crate::isa::BlockId;

const TO_NEXT: u8 = 0;
const TO_TARGET: u8 = 1;
const TO_NAMED: u8 = 2;
const MASK_RECENT: usize = 8;
/// Codes 8.. name `recent[code - 7] & !recent[0]`.
const MASK_REST: u8 = 8;
const MASK_REST_COUNT: u8 = 3;
const MASK_NAMED: u8 = 15;

/// State of a path: the block entered last and the last masks, the current one first.
#[derive(Clone, Debug)]
pub struct PathState {
    block: u32,
    recent: [u32; MASK_RECENT],
}

impl PathState {
    /// The state before the first block of a warp with these lanes.
    #[must_use]
    pub fn start(launched: u32) -> PathState {
        let mut recent = [0; MASK_RECENT];
        recent[0] = launched;
        // One before block 0, so that the kernel's entry is "the next block".
        PathState { block: u32::MAX, recent }
    }

    /// Makes a mask current.
    #[inline]
    fn enter(&mut self, mask: u32) {
        if self.recent[0] != mask {
            let at = self.recent.iter().position(|&m| m == mask).unwrap_or(MASK_RECENT - 1);
            self.recent[..=at].rotate_right(1);
            self.recent[0] = mask;
        }
    }

    fn mask_code(&self, mask: u32) -> u8 {
        if let Some(at) = self.recent.iter().position(|&m| m == mask) {
            return at as u8;
        }
        let rest = |i: u8| self.recent[usize::from(i) + 1] & !self.recent[0];
        (0..MASK_REST_COUNT).find(|&i| rest(i) == mask).map_or(MASK_NAMED, |i| MASK_REST + i)
    }

    /// Appends the entry of a block.
    #[inline]
    pub fn encode(
        &mut self,
        layout: &StreamLayout,
        block: BlockId,
        mask: u32,
        tokens: &mut Vec<u8>,
        params: &mut Vec<u8>,
    ) {
        let to = if block.0 == self.block.wrapping_add(1) {
            TO_NEXT
        } else if layout.blocks.get(self.block as usize).is_some_and(|b| b.target == block.0) {
            TO_TARGET
        } else {
            TO_NAMED
        };
        let with = if mask == self.recent[0] { 0 } else { self.mask_code(mask) };
        tokens.push(to | with << 2);
        if to == TO_NAMED {
            varint::push(params, block.0);
        }
        if with == MASK_NAMED {
            varint::push_word(params, mask);
        }
        self.block = block.0;
        self.enter(mask);
    }

    /// Reads the next entry; the caller knows that there is a token at `*token`.
    ///
    /// # Errors
    /// The bytes are not a path through this kernel.
    #[inline]
    pub fn decode(
        &mut self,
        layout: &StreamLayout,
        tokens: &[u8],
        params: &[u8],
        token: &mut usize,
        param: &mut usize,
    ) -> Result<(BlockId, u32), CodingError> {
        let byte = *tokens.get(*token).ok_or(CodingError::Truncated)?;
        *token += 1;
        if byte & 0xC0 != 0 {
            return Err(CodingError::UnknownToken(byte));
        }
        let block = match byte & 3 {
            TO_NEXT => self.block.wrapping_add(1),
            TO_TARGET => layout.blocks.get(self.block as usize).map_or(u32::MAX, |b| b.target),
            TO_NAMED => varint::read(params, param)?,
            _ => return Err(CodingError::UnknownToken(byte)),
        };
        if block as usize >= layout.blocks.len() {
            return Err(CodingError::UnknownBlock(block));
        }
        let mask = match byte >> 2 {
            code if code < MASK_REST => self.recent[usize::from(code)],
            code if code < MASK_REST + MASK_REST_COUNT => {
                self.recent[usize::from(code - MASK_REST) + 1] & !self.recent[0]
            }
            MASK_NAMED => varint::read_word(params, param)?,
            _ => return Err(CodingError::UnknownToken(byte)),
        };
        self.block = block;
        self.enter(mask);
        Ok((BlockId(block), mask))
    }
}
