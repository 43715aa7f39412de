//! Sums of 64 bits in two words: the carry of the lower ones, and the tuple of which the upper ones are.

use super::tuple::{Extents, Tuple, Word};

/// An addition of lower words, whose carry a predicate holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carry {
    pub terms: [Tuple; 3],
    pub negated: [bool; 3],
}

impl Carry {
    /// The carry out of a lane's words.
    pub(super) fn bit(&self, words: [u64; 3]) -> u32 {
        let term = |(word, negated): (u64, bool)| {
            if negated { u64::from(!(word as u32)) + 1 } else { u64::from(word as u32) }
        };
        (words.into_iter().zip(self.negated).map(term).sum::<u64>() >> 32 & 1) as u32
    }
}

/// Orders of three terms.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The sum of pairs whose lower words gave a carry, from their upper words, of which each may be complemented; a machine's
/// code may have these in another order than the lower ones. The upper word of the sum is that of upper words and carry.
pub(super) fn high_of_sum(carry: &Carry, terms: &[(Word, bool)], extents: &Extents) -> Option<Tuple> {
    let absent = (Word::Low(Tuple::constant(0)), false);
    let pair = |low: usize, high: usize| {
        let (word, complemented) = terms.get(high).unwrap_or(&absent);
        let negated = carry.negated[low];
        // Of a constant the complement is one as well, so that it belongs to any lower word.
        let joined = match (word.as_constant(), *complemented == negated) {
            (_, true) => word.join(carry.terms[low], extents)?,
            (Some(value), false) => {
                Word::Low(Tuple::constant(u64::from(!value))).join(carry.terms[low], extents)?
            }
            (None, false) => return None,
        };
        Some(if negated { joined.negated() } else { joined })
    };
    ORDERS.iter().find_map(|order| {
        let mut sum = Tuple::constant(0);
        for (low, high) in order.iter().enumerate() {
            sum = sum.plus(pair(low, *high)?)?;
        }
        Some(sum)
    })
}
