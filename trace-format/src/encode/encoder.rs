//! Encodes values loaded from memory and other recorded rows, on the recording thread: each row becomes one
//! token byte, a few parameter bytes, and the words that the block has not loaded before.
//!
//! A slot (one destination register of one load) stores the pool position of its last row, its last distance
//! and its shape; a row that continues with the same distance and shape costs only the token. Otherwise the
//! row is tried as uniform or affine, looked up in the pool, and finally added to it. [`super::decoder`]
//! performs the same updates of the slot.
//!
//! # A worked example
//! One warp reads an array `a` of words without a pattern, 32 at a time. Load A reads three rows, then load B reads
//! the same three. A and B have a slot each; both begin at position 0 with distance 0.
//!
//! | row | the slot expects | what is found | token, parameters | the slot then |
//! |---|---|---|---|---|
//! | A: `a[0..32]` | position 0, no words yet | nothing in the pool | `FRESH`, 32 words to positions 0..32 | at 0, distance 0 |
//! | A: `a[32..64]` | position 0: other words | nothing | `FRESH`, 32 words to 32..64 | at 32, distance 32 |
//! | A: `a[64..96]` | position 64, no words yet | nothing | `FRESH`, 32 words to 64..96 | at 64, distance 32 |
//! | B: `a[0..32]` | position 0: the row | | `NEXT` | at 0, distance 0 |
//! | B: `a[32..64]` | position 0: other words | its first word at 32, and the row there | `MOVE` by 32 | at 32, distance 32 |
//! | B: `a[64..96]` | position 64: the row | | `NEXT` | at 64, distance 32 |
//!
//! Six rows of 128 bytes became 96 words, six tokens and one parameter byte. The test at the end of this file encodes
//! them.

use super::dict::WordDict;
use super::pool::{self, MAX_WORDS_PER_WARP, Shape, Words};
use super::varint::{push, push_word, zigzag};

/// The row continues its slot's walk: same shape, same distance.
pub(super) const NEXT: u8 = 0;
/// Same shape, another position.
pub(super) const MOVE: u8 = 1;
/// Another shape and position.
pub(super) const SHAPE: u8 = 2;
/// New words, one per active lane.
pub(super) const FRESH: u8 = 3;
/// One new word for all lanes.
pub(super) const FRESH_UNIFORM: u8 = 4;
/// Fewer new words than lanes, repeated in steps or periods.
pub(super) const FRESH_GROUP: u8 = 5;
/// Base plus stride times lane.
pub(super) const AFFINE: u8 = 6;
/// A short number in all lanes.
pub(super) const SMALL: u8 = 7;
/// Words in the parameters, when the warp's run is full.
pub(super) const RAW: u8 = 8;
/// The position is absolute instead of relative to the slot's last one.
pub(super) const ABSOLUTE: u8 = 0x10;
/// Some lanes differ: a mask follows in the parameters, and new words for those lanes in the pool.
pub(super) const PATCHED: u8 = 0x20;

/// State of encoder and decoder for one destination register of one load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub position: u32,
    pub distance: u32,
    pub shape: Shape,
    pub base: u32,
}

impl Slot {
    pub(super) fn start(warp: u32) -> Slot {
        Slot { position: pool::position(warp, 0), distance: 0, shape: Shape::Packed, base: 0 }
    }

    /// Moves to an absolute position; walks do not continue across runs.
    #[inline]
    pub(super) fn jump(&mut self, position: u32) {
        self.position = position;
        self.distance = 0;
    }

    /// Moves by a distance, which a walk repeats.
    #[inline]
    pub(super) fn walk(&mut self, distance: u32) {
        self.distance = distance;
        self.position = self.position.wrapping_add(distance);
    }

    /// Moves to new words.
    #[inline]
    pub(super) fn place(&mut self, position: u32, shape: Shape) {
        self.walk(position.wrapping_sub(self.position));
        self.shape = shape;
    }
}

/// Value streams of one warp: tokens, their parameters, and the words that this warp was the first to load.
#[derive(Clone, Debug, Default)]
pub struct ValueStreams {
    /// One byte per row.
    pub tokens: Vec<u8>,
    /// Parameters of the tokens.
    pub params: Vec<u8>,
    /// The warp's run of the block's word pool.
    pub words: Vec<u32>,
}

impl ValueStreams {
    /// Empties the streams and keeps their memory.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.params.clear();
        self.words.clear();
    }
}

/// Access to the value streams of a warp within their owner.
pub trait HoldsStreams {
    /// The streams.
    fn streams(&self) -> &ValueStreams;
    /// The streams, to append to.
    fn streams_mut(&mut self) -> &mut ValueStreams;
}

impl HoldsStreams for ValueStreams {
    fn streams(&self) -> &ValueStreams {
        self
    }
    fn streams_mut(&mut self) -> &mut ValueStreams {
        self
    }
}

struct Runs<'a, T>(&'a [T]);

impl<T: HoldsStreams> Words for Runs<'_, T> {
    #[inline]
    fn of_warp(&self, warp: usize) -> &[u32] {
        self.0.get(warp).map_or(&[], |w| &w.streams().words)
    }
}

/// State of the encoder for one thread block.
#[derive(Clone, Debug, Default)]
pub struct ValueEncoder {
    slots: Vec<Slot>,
    slots_per_warp: usize,
    dict: WordDict,
}

/// A position in the pool from which a row can be read except in some lanes.
struct Candidate {
    shape: Shape,
    position: u32,
    missing: u32,
}

impl ValueEncoder {
    /// Starts a block (or a part of one) with empty streams.
    pub fn begin(&mut self, warps: usize, slots_per_warp: usize) {
        self.slots_per_warp = slots_per_warp;
        self.slots.clear();
        for warp in 0..warps {
            self.slots.extend(std::iter::repeat_n(Slot::start(warp as u32), slots_per_warp));
        }
        self.dict.clear();
    }

    /// Appends a row in the lanes of `mask`, which is not empty; `warps` are the streams of the block.
    #[inline]
    pub fn encode<T: HoldsStreams>(
        &mut self,
        warps: &mut [T],
        warp: usize,
        slot: usize,
        row: &[u32; 32],
        mask: u32,
    ) {
        let s = &mut self.slots[warp * self.slots_per_warp + slot];
        let next = s.position.wrapping_add(s.distance);
        if missing_lanes(&Runs(warps), s.shape, next, row, mask) == 0 {
            s.position = next;
            warps[warp].streams_mut().tokens.push(NEXT);
        } else {
            self.encode_break(warps, warp, slot, row, mask);
        }
    }

    /// Encodes a row that does not continue its slot's walk.
    #[inline(never)]
    fn encode_break<T: HoldsStreams>(
        &mut self,
        warps: &mut [T],
        warp: usize,
        slot: usize,
        row: &[u32; 32],
        mask: u32,
    ) {
        let first = mask.trailing_zeros();
        let lead = row[first as usize];
        let at = warp * self.slots_per_warp + slot;
        if pool::equal_lanes(row, &[lead; 32], mask) == mask {
            self.uniform(warps, warp, at, lead);
            return;
        }
        if let Some(stride) = affine_stride(row, mask) {
            let base = lead.wrapping_sub(stride.wrapping_mul(first));
            let out = warps[warp].streams_mut();
            out.tokens.push(AFFINE);
            push(&mut out.params, zigzag(base.wrapping_sub(self.slots[at].base)));
            push(&mut out.params, zigzag(stride));
            self.slots[at].base = base;
            return;
        }
        match self.search(&Runs(warps), at, row, mask) {
            Some(found) if found.missing == 0 => self.refer(warps, warp, at, found.shape, found.position, 0),
            Some(found) if worth_patching(&warps[warp], found.missing, mask) => {
                self.refer(warps, warp, at, found.shape, found.position, PATCHED);
                self.patch(warps, warp, row, found.missing);
            }
            _ => self.fresh(warps, warp, at, row, mask),
        }
    }

    fn uniform<T: HoldsStreams>(&mut self, warps: &mut [T], warp: usize, at: usize, word: u32) {
        let full = warps[warp].streams().words.len() >= MAX_WORDS_PER_WARP;
        if zigzag(word) < 0x80 || full {
            let out = warps[warp].streams_mut();
            out.tokens.push(SMALL);
            push(&mut out.params, zigzag(word));
        } else if let Some(position) = self.find(&Runs(warps), word) {
            self.refer(warps, warp, at, Shape::Uniform, position, 0);
        } else {
            let position = self.add(&mut warps[warp], warp, word);
            warps[warp].streams_mut().tokens.push(FRESH_UNIFORM);
            self.slots[at].place(position, Shape::Uniform);
        }
    }

    /// Appends a word to the warp's run and returns its position.
    #[inline]
    fn add<T: HoldsStreams>(&mut self, streams: &mut T, warp: usize, word: u32) -> u32 {
        let words = &mut streams.streams_mut().words;
        let position = pool::position(warp as u32, words.len() as u32);
        words.push(word);
        self.dict.insert(word, position);
        position
    }

    #[inline]
    fn find<T: HoldsStreams>(&self, runs: &Runs<'_, T>, word: u32) -> Option<u32> {
        self.dict.find(word).find(|&position| runs.word(position) == Some(word))
    }

    /// Writes a token that points into the pool.
    fn refer<T: HoldsStreams>(
        &mut self,
        warps: &mut [T],
        warp: usize,
        at: usize,
        shape: Shape,
        position: u32,
        flags: u8,
    ) {
        let slot = &mut self.slots[at];
        let out = warps[warp].streams_mut();
        let distance = position.wrapping_sub(slot.position);
        if shape == slot.shape && distance == slot.distance {
            out.tokens.push(NEXT | flags);
            slot.position = position;
            return;
        }
        let far = slot.position >> pool::OFFSET_BITS != position >> pool::OFFSET_BITS;
        let kind = if shape == slot.shape { MOVE } else { SHAPE };
        out.tokens.push(kind | flags | if far { ABSOLUTE } else { 0 });
        if kind == SHAPE {
            push_shape(&mut out.params, shape);
            slot.shape = shape;
        }
        if far {
            push(&mut out.params, position >> pool::OFFSET_BITS);
            push(&mut out.params, position & (MAX_WORDS_PER_WARP as u32 - 1));
            slot.jump(position);
        } else {
            push(&mut out.params, zigzag(distance));
            slot.walk(distance);
        }
    }

    /// Writes the lanes in which a row differs from the referenced words.
    fn patch<T: HoldsStreams>(&mut self, warps: &mut [T], warp: usize, row: &[u32; 32], lanes: u32) {
        push_word(&mut warps[warp].streams_mut().params, lanes);
        self.add_lanes(&mut warps[warp], warp, row, lanes);
    }

    fn add_lanes<T: HoldsStreams>(&mut self, streams: &mut T, warp: usize, row: &[u32; 32], mut lanes: u32) {
        if lanes == u32::MAX {
            let words = &mut streams.streams_mut().words;
            let first = pool::position(warp as u32, words.len() as u32);
            words.extend_from_slice(row);
            for (word, position) in row.iter().zip(first..) {
                self.dict.insert(*word, position);
            }
            return;
        }
        while lanes != 0 {
            self.add(streams, warp, row[lanes.trailing_zeros() as usize]);
            lanes &= lanes - 1;
        }
    }

    /// Searches a position from which most of the row can be read.
    fn search<T: HoldsStreams>(
        &self,
        runs: &Runs<'_, T>,
        at: usize,
        row: &[u32; 32],
        mask: u32,
    ) -> Option<Candidate> {
        let slot = &self.slots[at];
        let mut best: Option<Candidate> = None;
        let mut try_at = |shape: Shape, position: u32| -> u32 {
            let missing = missing_lanes_all(runs, shape, position, row, mask);
            if best.as_ref().is_none_or(|b| missing.count_ones() < b.missing.count_ones()) {
                best = Some(Candidate { shape, position, missing });
            }
            missing
        };
        let first = mask.trailing_zeros();
        if let Some(p) = self.find(runs, row[first as usize]) {
            let start = Shape::Packed;
            if slot.shape != Shape::Uniform && slot.shape != start {
                let anchor = p.wrapping_sub(slot.shape.lane_position(0, first, mask));
                if try_at(slot.shape, anchor) == 0 {
                    return best;
                }
            }
            if try_at(start, p) == 0 {
                return best;
            }
            if self.try_lattices(runs, row, mask, p, &mut try_at) {
                return best;
            }
        }
        // The first lanes may be new while the rest was loaded before, shifted: anchor in the middle.
        let middle = nth_lane(mask, mask.count_ones() / 2);
        if let Some(p) = self.find(runs, row[middle as usize]) {
            let shape = if mask == u32::MAX { Shape::Packed } else { Shape::LINE };
            try_at(shape, p.wrapping_sub(middle));
        }
        let next = slot.position.wrapping_add(slot.distance);
        if runs.word(slot.shape.lane_position(next, middle, mask)) == Some(row[middle as usize]) {
            try_at(slot.shape, next);
        }
        best
    }

    /// Tries the lattices that the positions of single lanes suggest; true when one fits completely.
    fn try_lattices<T: HoldsStreams>(
        &self,
        runs: &Runs<'_, T>,
        row: &[u32; 32],
        mask: u32,
        first_position: u32,
        try_at: &mut impl FnMut(Shape, u32) -> u32,
    ) -> bool {
        let first = mask.trailing_zeros();
        let second = nth_lane(mask, 1);
        if second >= 32 || second != first + 1 {
            return false;
        }
        let Some(p) = self.find(runs, row[second as usize]) else { return false };
        let dx = p.wrapping_sub(first_position);
        let start = first_position.wrapping_sub(dx.wrapping_mul(first));
        let missing = try_at(Shape::Lattice { log_width: 5, dx, dy: 0 }, start);
        if missing == 0 {
            return true;
        }
        let breaks_at = missing.trailing_zeros();
        if first != 0 || !breaks_at.is_power_of_two() {
            return false;
        }
        let Some(line) = self.find(runs, row[breaks_at as usize]) else { return false };
        let dy = line.wrapping_sub(first_position);
        let log_width = breaks_at.trailing_zeros() as u8;
        (1..5).contains(&log_width) && try_at(Shape::Lattice { log_width, dx, dy }, first_position) == 0
    }

    /// Adds the row's words to the pool; repeated words of a group are added once.
    fn fresh<T: HoldsStreams>(
        &mut self,
        warps: &mut [T],
        warp: usize,
        at: usize,
        row: &[u32; 32],
        mask: u32,
    ) {
        let out = warps[warp].streams_mut();
        if out.words.len() + 32 > MAX_WORDS_PER_WARP {
            out.tokens.push(RAW);
            for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                push_word(&mut out.params, row[lane]);
            }
            return;
        }
        let position = pool::position(warp as u32, out.words.len() as u32);
        let group = if mask == u32::MAX { group_of(row) } else { None };
        let (shape, lanes) = match group {
            Some(group) => {
                out.tokens.push(FRESH_GROUP);
                out.params.push(group.code());
                (group.shape(), group.lanes())
            }
            None => {
                out.tokens.push(FRESH);
                (Shape::Packed, mask)
            }
        };
        self.add_lanes(&mut warps[warp], warp, row, lanes);
        self.slots[at].place(position, shape);
    }
}

/// A row of fewer than 32 repeated words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Group {
    /// Base-two logarithm of the group's width in lanes, 1..=4.
    pub log_width: u8,
    /// Whether every group holds the same words; otherwise each group holds one word.
    pub periodic: bool,
}

impl Group {
    pub(super) fn code(self) -> u8 {
        self.log_width | u8::from(self.periodic) << 3
    }

    pub(super) fn of_code(code: u8) -> Option<Group> {
        let group = Group { log_width: code & 7, periodic: code >> 3 != 0 };
        (code < 16 && (1..=4).contains(&group.log_width)).then_some(group)
    }

    pub(super) fn shape(self) -> Shape {
        let (dx, dy) = if self.periodic { (1, 0) } else { (0, 1) };
        Shape::Lattice { log_width: self.log_width, dx, dy }
    }

    /// The lanes whose words represent all lanes.
    pub(super) fn lanes(self) -> u32 {
        let width = 1u32 << self.log_width;
        if self.periodic {
            (1 << width) - 1
        } else {
            (0..32).step_by(width as usize).fold(0, |m, lane| m | 1 << lane)
        }
    }
}

fn group_of(row: &[u32; 32]) -> Option<Group> {
    let holds = |f: &dyn Fn(usize) -> usize| (0..32).all(|lane| row[lane] == row[f(lane)]);
    if row[0] == row[1] {
        let widest = (1..=4u8).rev().find(|&log| holds(&|lane| lane >> log << log));
        if let Some(log_width) = widest {
            return Some(Group { log_width, periodic: false });
        }
    }
    if row[0] == row[16] {
        let narrowest = (1..=4u8).find(|&log| holds(&|lane| lane & ((1 << log) - 1)));
        return narrowest.map(|log_width| Group { log_width, periodic: true });
    }
    None
}

/// Shape codes: 0 packed, 1 uniform, 2.. lattices by their width's logarithm.
fn push_shape(out: &mut Vec<u8>, shape: Shape) {
    match shape {
        Shape::Packed => out.push(0),
        Shape::Uniform => out.push(1),
        Shape::Lattice { log_width, dx, dy } => {
            out.push(1 + log_width);
            push(out, zigzag(dx));
            push(out, zigzag(dy));
        }
    }
}

/// Lanes of a row that cannot be read from a position; stops early if the first lane differs.
#[inline]
fn missing_lanes<W: Words>(words: &W, shape: Shape, position: u32, row: &[u32; 32], mask: u32) -> u32 {
    let first = mask.trailing_zeros();
    let lead = words.word(shape.lane_position(position, first, mask));
    if lead != Some(row[first as usize]) {
        return mask;
    }
    missing_lanes_all(words, shape, position, row, mask)
}

#[inline]
fn missing_lanes_all<W: Words>(words: &W, shape: Shape, position: u32, row: &[u32; 32], mask: u32) -> u32 {
    let mut there = [0; 32];
    let found = pool::gather(words, shape, position, mask, &mut there);
    if found == u32::MAX && there == *row {
        return 0;
    }
    mask & !(found & pool::equal_lanes(&there, row, mask))
}

fn worth_patching<T: HoldsStreams>(streams: &T, missing: u32, mask: u32) -> bool {
    4 * missing.count_ones() <= mask.count_ones() && streams.streams().words.len() + 32 <= MAX_WORDS_PER_WARP
}

/// The stride of at least three lanes that lie on a line.
fn affine_stride(row: &[u32; 32], mask: u32) -> Option<u32> {
    let first = mask.trailing_zeros();
    let second = nth_lane(mask, 1);
    if mask.count_ones() < 3 {
        return None;
    }
    let rise = row[second as usize].wrapping_sub(row[first as usize]) as i32;
    let run = (second - first) as i32;
    if rise % run != 0 {
        return None;
    }
    let stride = (rise / run) as u32;
    let base = row[first as usize].wrapping_sub(stride.wrapping_mul(first));
    let line: [u32; 32] = std::array::from_fn(|lane| base.wrapping_add(stride.wrapping_mul(lane as u32)));
    (pool::equal_lanes(row, &line, mask) == mask).then_some(stride)
}

/// The n-th active lane; 32 when there are fewer.
fn nth_lane(mask: u32, n: u32) -> u32 {
    let mut left = mask;
    for _ in 0..n {
        left &= left.wrapping_sub(1);
    }
    left.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_is_what_the_encoder_writes() {
        let a: Vec<u32> = (0..96u32).map(|i| (i * i + 7).wrapping_mul(0x9E37_79B1)).collect();
        let mut encoder = ValueEncoder::default();
        encoder.begin(1, 2);
        let mut warps = [ValueStreams::default()];
        for slot in [0, 1] {
            for row in a.chunks_exact(32) {
                let row = row.try_into().expect("32 words");
                encoder.encode(&mut warps, 0, slot, row, u32::MAX);
            }
        }
        let [ValueStreams { tokens, params, words }] = warps;
        assert_eq!(tokens, [FRESH, FRESH, FRESH, NEXT, MOVE, NEXT]);
        assert_eq!(params, [zigzag(32) as u8]);
        assert_eq!(words, a);
    }
}
