//! Decodes values loaded from memory and other recorded rows: the inverse of [`super::encoder`].

use super::CodingError;
use super::encoder::{
    ABSOLUTE, AFFINE, FRESH, FRESH_GROUP, FRESH_UNIFORM, Group, MOVE, NEXT, PATCHED, RAW, SHAPE, SMALL, Slot,
};
use super::pool::{self, MAX_WORDS_PER_WARP, Shape, Words};
use super::varint::{read, read_word, unzigzag};

/// Reads the rows of one warp in the order in which they were recorded.
#[derive(Clone, Debug, Default)]
pub struct ValueDecoder {
    slots: Vec<Slot>,
    token: usize,
    param: usize,
    fresh: u32,
    warp: u32,
}

impl ValueDecoder {
    /// Moves to the first row of a warp's streams.
    pub fn begin(&mut self, warp: u32, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, Slot::start(warp));
        self.token = 0;
        self.param = 0;
        self.fresh = pool::position(warp, 0);
        self.warp = warp;
    }

    /// Rows read so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.token
    }

    /// Whether every token and parameter has been read.
    #[must_use]
    pub fn is_at_end(&self, tokens: &[u8], params: &[u8]) -> bool {
        self.token == tokens.len() && self.param == params.len()
    }

    /// Number of words that the rows read so far have added to the warp's run.
    #[must_use]
    pub fn fresh_words(&self) -> u32 {
        self.fresh.wrapping_sub(pool::position(self.warp, 0))
    }

    /// Reads the next row in the lanes of `mask`, which is not empty; other lanes are undefined.
    ///
    /// # Errors
    /// The streams do not hold such a row.
    #[inline]
    pub fn decode<W: Words>(
        &mut self,
        words: &W,
        tokens: &[u8],
        params: &[u8],
        slot: usize,
        mask: u32,
        out: &mut [u32; 32],
    ) -> Result<(), CodingError> {
        let byte = *tokens.get(self.token).ok_or(CodingError::Truncated)?;
        self.token += 1;
        if byte == NEXT {
            let s = &mut self.slots[slot];
            s.position = s.position.wrapping_add(s.distance);
            let found = words.row(s.shape, s.position, mask, out);
            return if found == mask { Ok(()) } else { Err(CodingError::DanglingReference) };
        }
        self.decode_break(words, params, byte, slot, mask, out)
    }

    /// Skips the next row without decoding its values.
    ///
    /// # Errors
    /// The streams do not hold such a row; the existence of its words is not checked.
    #[inline]
    pub fn skip(&mut self, tokens: &[u8], params: &[u8], slot: usize, mask: u32) -> Result<(), CodingError> {
        let byte = *tokens.get(self.token).ok_or(CodingError::Truncated)?;
        self.token += 1;
        if byte == NEXT {
            let s = &mut self.slots[slot];
            s.position = s.position.wrapping_add(s.distance);
            return Ok(());
        }
        self.decode_break(&pool::Unread, params, byte, slot, mask, &mut [0; 32])
    }

    #[inline(never)]
    fn decode_break<W: Words>(
        &mut self,
        words: &W,
        params: &[u8],
        byte: u8,
        slot: usize,
        mask: u32,
        out: &mut [u32; 32],
    ) -> Result<(), CodingError> {
        match byte & 0x0F {
            NEXT | MOVE | SHAPE => return self.reference(words, params, byte, slot, mask, out),
            _ if byte & 0xF0 != 0 => return Err(CodingError::UnknownToken(byte)),
            FRESH => self.place(words, slot, Shape::Packed, mask.count_ones(), mask, out)?,
            FRESH_UNIFORM => self.place(words, slot, Shape::Uniform, 1, mask, out)?,
            FRESH_GROUP => {
                let code = *params.get(self.param).ok_or(CodingError::Truncated)?;
                self.param += 1;
                let group = Group::of_code(code).ok_or(CodingError::UnknownToken(code))?;
                self.place(words, slot, group.shape(), group.lanes().count_ones(), mask, out)?;
            }
            AFFINE => {
                let s = &mut self.slots[slot];
                s.base = s.base.wrapping_add(unzigzag(read(params, &mut self.param)?));
                let stride = unzigzag(read(params, &mut self.param)?);
                let base = s.base;
                *out = std::array::from_fn(|lane| base.wrapping_add(stride.wrapping_mul(lane as u32)));
            }
            SMALL => *out = [unzigzag(read(params, &mut self.param)?); 32],
            RAW => {
                for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                    out[lane] = read_word(params, &mut self.param)?;
                }
            }
            _ => return Err(CodingError::UnknownToken(byte)),
        }
        Ok(())
    }

    /// Decodes a row of words that it adds to the pool.
    fn place<W: Words>(
        &mut self,
        words: &W,
        slot: usize,
        shape: Shape,
        count: u32,
        mask: u32,
        out: &mut [u32; 32],
    ) -> Result<(), CodingError> {
        let position = self.fresh;
        self.fresh = self.fresh.wrapping_add(count);
        self.slots[slot].place(position, shape);
        let found = words.row(shape, position, mask, out);
        if found == mask { Ok(()) } else { Err(CodingError::DanglingReference) }
    }

    /// Decodes a row of words that the block has loaded before, except in patched lanes.
    fn reference<W: Words>(
        &mut self,
        words: &W,
        params: &[u8],
        byte: u8,
        slot: usize,
        mask: u32,
        out: &mut [u32; 32],
    ) -> Result<(), CodingError> {
        let kind = byte & 0x0F;
        if byte & !(0x0F | ABSOLUTE | PATCHED) != 0 || (kind == NEXT && byte & ABSOLUTE != 0) {
            return Err(CodingError::UnknownToken(byte));
        }
        let param = &mut self.param;
        let s = &mut self.slots[slot];
        if kind == SHAPE {
            s.shape = read_shape(params, param)?;
        }
        if kind == NEXT {
            s.walk(s.distance);
        } else if byte & ABSOLUTE != 0 {
            let run = read(params, param)?;
            let offset = read(params, param)?;
            if run >= pool::MAX_WARPS_PER_BLOCK || offset >= MAX_WORDS_PER_WARP as u32 {
                return Err(CodingError::DanglingReference);
            }
            s.jump(pool::position(run, offset));
        } else {
            s.walk(unzigzag(read(params, param)?));
        }
        let patched = if byte & PATCHED != 0 { read_word(params, param)? & mask } else { 0 };
        let found = words.row(s.shape, s.position, mask, out);
        let mut left = patched;
        while left != 0 {
            out[left.trailing_zeros() as usize] =
                words.word(self.fresh).ok_or(CodingError::DanglingReference)?;
            self.fresh = self.fresh.wrapping_add(1);
            left &= left - 1;
        }
        if found | patched == mask { Ok(()) } else { Err(CodingError::DanglingReference) }
    }
}

fn read_shape(params: &[u8], at: &mut usize) -> Result<Shape, CodingError> {
    let code = *params.get(*at).ok_or(CodingError::Truncated)?;
    *at += 1;
    match code {
        0 => Ok(Shape::Packed),
        1 => Ok(Shape::Uniform),
        2..=6 => {
            let dx = unzigzag(read(params, at)?);
            let dy = unzigzag(read(params, at)?);
            Ok(Shape::Lattice { log_width: code - 1, dx, dy })
        }
        _ => Err(CodingError::UnknownToken(code)),
    }
}
