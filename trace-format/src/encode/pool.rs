//! The word pool of a thread block and the shapes in which rows are gathered from it.
//!
//! Every warp owns a run of words: those it was first in the block to load. A position names a warp in its
//! upper 12 bits and a word of that warp's run in its lower 20, so that positions do not depend on the
//! interleaving of warps, and regular accesses to data that several warps loaded first remain regular.

/// Bits of a position for the index within one warp's run.
pub(crate) const OFFSET_BITS: u32 = 20;
/// Words that one warp's run can hold.
pub(crate) const MAX_WORDS_PER_WARP: usize = 1 << OFFSET_BITS;
/// Warps that positions can name.
pub(crate) const MAX_WARPS_PER_BLOCK: u32 = 1 << (32 - OFFSET_BITS);

/// Position of a word of a warp's run.
#[must_use]
#[inline]
pub(crate) const fn position(warp: u32, offset: u32) -> u32 {
    warp << OFFSET_BITS | offset
}

/// Runs of words of the warps of one block.
pub trait Words {
    /// The words of a warp; empty for a warp that the block does not have.
    fn of_warp(&self, warp: usize) -> &[u32];

    /// The word at a position, if there is one.
    #[inline]
    fn word(&self, position: u32) -> Option<u32> {
        let offset = position as usize & (MAX_WORDS_PER_WARP - 1);
        self.of_warp((position >> OFFSET_BITS) as usize).get(offset).copied()
    }

    /// Reads the lanes of `mask` in a shape from a position and returns the lanes whose words exist; the
    /// others are unchanged.
    #[inline]
    fn row(&self, shape: Shape, start: u32, mask: u32, out: &mut [u32; 32]) -> u32 {
        gather(self, shape, start, mask, out)
    }
}

/// Placeholder for words that are not read: every position has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread;

impl Words for Unread {
    fn of_warp(&self, _warp: usize) -> &[u32] {
        &[]
    }

    fn word(&self, _position: u32) -> Option<u32> {
        Some(0)
    }

    #[inline]
    fn row(&self, _shape: Shape, _start: u32, mask: u32, _out: &mut [u32; 32]) -> u32 {
        mask
    }
}

/// Mapping from the lanes of a row to pool positions, from a start position. All arithmetic wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The n-th active lane reads the n-th word.
    Packed,
    /// Every lane reads the same word.
    Uniform,
    /// Lane l reads word `dx * (l mod w) + dy * (l div w)` with w = `1 << log_width`.
    Lattice {
        /// Base-two logarithm of the width, 1..=5.
        log_width: u8,
        /// Words between neighbours within a line.
        dx: u32,
        /// Words between lines.
        dy: u32,
    },
}

impl Shape {
    /// 32 consecutive words.
    pub const LINE: Shape = Shape::Lattice { log_width: 5, dx: 1, dy: 0 };

    /// Position that a lane reads.
    #[must_use]
    #[inline]
    pub fn lane_position(self, start: u32, lane: u32, mask: u32) -> u32 {
        match self {
            Shape::Packed => start.wrapping_add((mask & ((1 << lane) - 1)).count_ones()),
            Shape::Uniform => start,
            Shape::Lattice { log_width, dx, dy } => {
                let (x, y) = (lane & ((1 << log_width) - 1), lane >> log_width);
                start.wrapping_add(dx.wrapping_mul(x)).wrapping_add(dy.wrapping_mul(y))
            }
        }
    }
}

/// Reads the lanes of `mask` in a shape from a position and returns the lanes whose words exist; the others
/// are undefined.
#[inline]
pub(crate) fn gather<W: Words + ?Sized>(
    words: &W,
    shape: Shape,
    start: u32,
    mask: u32,
    out: &mut [u32; 32],
) -> u32 {
    match shape {
        Shape::Packed if mask == u32::MAX => line(words, start, mask, out),
        Shape::LINE => line(words, start, mask, out),
        Shape::Uniform => match words.word(start) {
            Some(word) => {
                *out = [word; 32];
                mask
            }
            None => 0,
        },
        Shape::Lattice { log_width: log_width @ 2..=5, dx: dx @ 0..=1, dy } => {
            lattice(words, (log_width, dx, dy), start, mask, out)
        }
        _ => scattered(words, shape, start, mask, out),
    }
}

/// A lattice whose lines are each in one run of words: one repeated word, or consecutive words.
fn lattice<W: Words + ?Sized>(
    words: &W,
    (log_width, dx, dy): (u8, u32, u32),
    start: u32,
    mask: u32,
    out: &mut [u32; 32],
) -> u32 {
    let width = 1usize << log_width;
    let (mut found, mut first) = (0, start);
    let mut lanes = u32::MAX >> (32 - width);
    for line in out.chunks_exact_mut(width) {
        let offset = first as usize & (MAX_WORDS_PER_WARP - 1);
        let run = words.of_warp((first >> OFFSET_BITS) as usize);
        let run = run.get(offset..).unwrap_or(&[]);
        if dx == 0 {
            if let Some(word) = run.first() {
                line.fill(*word);
                found |= lanes;
            }
        } else if let Some(run) = run.get(..width) {
            line.copy_from_slice(run);
            found |= lanes;
        } else if lanes & mask != 0 {
            // The run ends within the line, or is followed by another warp's.
            return scattered(words, Shape::Lattice { log_width, dx, dy }, start, mask, out);
        }
        first = first.wrapping_add(dy);
        lanes = lanes.checked_shl(width as u32).unwrap_or(0);
    }
    found & mask
}

#[inline]
fn line<W: Words + ?Sized>(words: &W, start: u32, mask: u32, out: &mut [u32; 32]) -> u32 {
    let offset = start as usize & (MAX_WORDS_PER_WARP - 1);
    let run = words.of_warp((start >> OFFSET_BITS) as usize);
    if let Some(run) = run.get(offset..).and_then(|rest| rest.first_chunk()) {
        *out = *run;
        mask
    } else {
        scattered(words, Shape::LINE, start, mask, out)
    }
}

fn scattered<W: Words + ?Sized>(words: &W, shape: Shape, start: u32, mask: u32, out: &mut [u32; 32]) -> u32 {
    let mut found = 0;
    let mut left = mask;
    while left != 0 {
        let lane = left.trailing_zeros();
        left &= left - 1;
        if let Some(word) = words.word(shape.lane_position(start, lane, mask)) {
            out[lane as usize] = word;
            found |= 1 << lane;
        }
    }
    found
}

/// Lanes of `mask` in which two rows agree.
#[must_use]
#[inline]
pub(crate) fn equal_lanes(a: &[u32; 32], b: &[u32; 32], mask: u32) -> u32 {
    let mut equal = 0;
    for lane in 0..32 {
        equal |= u32::from(a[lane] == b[lane]) << lane;
    }
    equal & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Runs(Vec<Vec<u32>>);
    impl Words for Runs {
        fn of_warp(&self, warp: usize) -> &[u32] {
            self.0.get(warp).map_or(&[], Vec::as_slice)
        }
    }

    #[test]
    fn shapes_read_the_words_they_describe() {
        let runs = Runs(vec![(0..64).collect(), (100..164).collect()]);
        let mut out = [0; 32];
        assert_eq!(gather(&runs, Shape::Packed, 3, 0b1011, &mut out), 0b1011);
        assert_eq!((out[0], out[1], out[3]), (3, 4, 5));
        assert_eq!(gather(&runs, Shape::LINE, position(1, 32), u32::MAX, &mut out), u32::MAX);
        assert_eq!((out[0], out[31]), (132, 163));
        assert_eq!(gather(&runs, Shape::LINE, 40, u32::MAX, &mut out), (1 << 24) - 1);
        let across = Shape::Lattice { log_width: 4, dx: 2, dy: 1 << OFFSET_BITS };
        assert_eq!(gather(&runs, across, 1, u32::MAX, &mut out), u32::MAX);
        assert_eq!((out[0], out[15], out[16], out[31]), (1, 31, 101, 131));
        assert_eq!(gather(&runs, Shape::Uniform, position(2, 0), u32::MAX, &mut out), 0);
    }
}
