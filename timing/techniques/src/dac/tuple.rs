//! Affine tuples: a base and an offset for each index of thread and block (DAC, sections 3 and 4.4).
//!
//! Arithmetic is modulo 2^64; a register holds the lower or the upper word of a tuple. A mod-type tuple adds a second
//! one, which is taken modulo a power of two first. Widening a word that may wrap around is such a modulus too: the
//! greatest indices of the launch decide whether it may.

use trace_format::semantics::Geometry;
use warplab_technique::Row;

/// Indices of a thread: x, y and z in its block, and those of the block in the grid.
pub(super) const AXES: usize = 6;

/// base + Σ index · offset, modulo 2^64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    pub base: u64,
    pub offsets: [u64; AXES],
}

impl Linear {
    const fn constant(base: u64) -> Linear {
        Linear { base, offsets: [0; AXES] }
    }

    fn zip(self, other: Linear, f: impl Fn(u64, u64) -> u64) -> Linear {
        Linear {
            base: f(self.base, other.base),
            offsets: std::array::from_fn(|axis| f(self.offsets[axis], other.offsets[axis])),
        }
    }

    fn map(self, f: impl Fn(u64) -> u64) -> Linear {
        Linear { base: f(self.base), offsets: self.offsets.map(f) }
    }

    /// Whether its lower words are those of another.
    fn same_low(&self, other: &Linear) -> bool {
        let differ = self.zip(*other, |a, b| (a ^ b) & 0xFFFF_FFFF);
        differ == Linear::default()
    }

    /// Least and greatest value, each component as a signed word.
    fn range(&self, extents: &Extents) -> (i64, i64) {
        let base = i64::from(self.base as i32);
        let (mut least, mut greatest) = (base, base);
        for (offset, extent) in self.offsets.iter().zip(extents.0) {
            let end = i64::from(*offset as i32).saturating_mul(extent as i64);
            *(if end < 0 { &mut least } else { &mut greatest }) =
                (if end < 0 { least } else { greatest }).saturating_add(end);
        }
        (least, greatest)
    }
}

/// The lower bits of a linear value, extended and scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Modulus {
    of: Linear,
    bits: u32,
    signed: bool,
    scale: u64,
}

impl Modulus {
    fn extend(&self, value: u64) -> u64 {
        let unused = 64 - self.bits;
        let extended =
            if self.signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused };
        extended.wrapping_mul(self.scale)
    }
}

/// An affine tuple, perhaps of mod-type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tuple {
    pub linear: Linear,
    modulus: Option<Modulus>,
}

/// Greatest value of each index in a launch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extents([u64; AXES]);

impl Extents {
    pub(super) fn of(geometry: &Geometry) -> Extents {
        let sizes = [geometry.block, geometry.grid];
        Extents(std::array::from_fn(|axis| u64::from(sizes[axis / 3][axis % 3].saturating_sub(1))))
    }
}

/// The indices of a warp's threads.
#[derive(Clone, Debug)]
pub(super) struct Place {
    threads: [[u32; 32]; 3],
    block: [u32; 3],
}

impl Place {
    /// A warp of a block.
    pub(super) fn of(geometry: &Geometry, block: u32, warp: u32) -> Place {
        let [x, y, _] = geometry.block.map(|n| n.max(1));
        let index = |lane: usize| {
            let thread = warp * 32 + lane as u32;
            [thread % x, thread / x % y, thread / x / y]
        };
        Place {
            threads: std::array::from_fn(|axis| std::array::from_fn(|lane| index(lane)[axis])),
            block: geometry.block_index(u64::from(block)),
        }
    }

    fn values(&self, linear: &Linear) -> [u64; 32] {
        let [x, y, z, blocks @ ..] = linear.offsets;
        let of_blocks =
            blocks.iter().zip(self.block).map(|(offset, index)| offset.wrapping_mul(u64::from(index)));
        let base = of_blocks.fold(linear.base, u64::wrapping_add);
        let mut values = [base; 32];
        for (axis, offset) in [x, y, z].into_iter().enumerate().filter(|(_, offset)| *offset != 0) {
            for (value, index) in values.iter_mut().zip(&self.threads[axis]) {
                *value = value.wrapping_add(offset.wrapping_mul(u64::from(*index)));
            }
        }
        values
    }

    /// A tuple's values in the warp's lanes: expansion.
    pub(super) fn expand(&self, tuple: &Tuple) -> [u64; 32] {
        let mut values = self.values(&tuple.linear);
        if let Some(modulus) = &tuple.modulus {
            for (value, of) in values.iter_mut().zip(self.values(&modulus.of)) {
                *value = value.wrapping_add(modulus.extend(of));
            }
        }
        values
    }
}

impl Tuple {
    /// The same value in all threads.
    pub(super) const fn constant(value: u64) -> Tuple {
        Tuple { linear: Linear::constant(value), modulus: None }
    }

    /// An index.
    pub(super) fn axis(axis: usize) -> Tuple {
        let mut linear = Linear::default();
        linear.offsets[axis] = 1;
        Tuple { linear, modulus: None }
    }

    /// The value, if it is the same in all threads.
    pub(super) fn as_constant(&self) -> Option<u64> {
        (self.linear.offsets == [0; AXES] && self.modulus.is_none()).then_some(self.linear.base)
    }

    /// Whether all threads of a block hold the same.
    pub(super) fn is_of_block(&self) -> bool {
        let fixed = |linear: &Linear| linear.offsets[..3] == [0; 3];
        fixed(&self.linear) && self.modulus.is_none_or(|modulus| fixed(&modulus.of))
    }

    /// Whether it is of mod-type.
    pub(super) fn is_modulus(&self) -> bool {
        self.modulus.is_some()
    }

    /// The sum, if a tuple holds it.
    pub(super) fn plus(self, other: Tuple) -> Option<Tuple> {
        let modulus = match (self.modulus, other.modulus) {
            (None, one) | (one, None) => one,
            (Some(a), Some(b)) if (a.of, a.bits, a.signed) == (b.of, b.bits, b.signed) => {
                Some(Modulus { scale: a.scale.wrapping_add(b.scale), ..a })
            }
            _ => return None,
        };
        Some(Tuple { linear: self.linear.zip(other.linear, u64::wrapping_add), modulus })
    }

    /// The product with a scalar, which every field is multiplied with.
    pub(super) fn times(self, factor: u64) -> Tuple {
        let scaled = |modulus: Modulus| Modulus { scale: modulus.scale.wrapping_mul(factor), ..modulus };
        Tuple { linear: self.linear.map(|part| part.wrapping_mul(factor)), modulus: self.modulus.map(scaled) }
    }

    /// The negative.
    pub(super) fn negated(self) -> Tuple {
        self.times(u64::MAX)
    }

    /// Whether its lower words are those of another.
    pub(super) fn same_low(&self, other: &Tuple) -> bool {
        let same = |a: &Modulus, b: &Modulus| {
            (a.of, a.bits, a.signed) == (b.of, b.bits, b.signed) && a.scale as u32 == b.scale as u32
        };
        self.linear.same_low(&other.linear)
            && match (&self.modulus, &other.modulus) {
                (None, None) => true,
                (Some(a), Some(b)) => same(a, b),
                _ => false,
            }
    }

    /// The lower word, extended to 64 bits, if a tuple holds that.
    pub(super) fn widened(self, signed: bool, extents: &Extents) -> Option<Tuple> {
        let whole = |part: u64| i64::from(part as i32) as u64;
        let (mut least, mut greatest) = self.linear.range(extents);
        let mut modulus = self.modulus;
        if let Some(held) = &mut modulus {
            held.scale = whole(held.scale);
            let reach = if held.bits >= 32 { return None } else { (1i64 << held.bits) - 1 };
            let (low, high) = if held.signed { (-(reach / 2) - 1, reach / 2) } else { (0, reach) };
            let ends = [low, high].map(|end| end.saturating_mul(held.scale as i64));
            least = least.saturating_add(ends[0].min(ends[1]));
            greatest = greatest.saturating_add(ends[0].max(ends[1]));
        }
        let fits = if signed {
            least >= i64::from(i32::MIN) && greatest <= i64::from(i32::MAX)
        } else {
            least >= 0 && greatest <= i64::from(u32::MAX)
        };
        if fits {
            return Some(Tuple { linear: self.linear.map(whole), modulus });
        }
        if let Some(value) = self.as_constant() {
            return Some(Tuple::constant(if signed { whole(value) } else { value & 0xFFFF_FFFF }));
        }
        modulus.is_none().then_some(())?;
        let modulus = Modulus { of: self.linear, bits: 32, signed, scale: 1 };
        Some(Tuple { linear: Linear::default(), modulus: Some(modulus) })
    }

    /// The lower bits, if a tuple holds them.
    pub(super) fn modulo(self, bits: u32) -> Option<Tuple> {
        if let Some(value) = self.as_constant() {
            return Some(Tuple::constant(value & ((1u64 << bits) - 1)));
        }
        self.modulus.is_none().then_some(())?;
        let modulus = Modulus { of: self.linear, bits, signed: false, scale: 1 };
        Some(Tuple { linear: Linear::default(), modulus: Some(modulus) })
    }
}

/// What the affine warp knows of a register in some lanes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// The lower word of a tuple.
    Low(Tuple),
    /// The upper word of a tuple, whose lower word is in the register before it.
    High(Tuple),
    /// Values that no tuple holds, expanded lane by lane.
    Lanes(Box<Row>),
}

impl Word {
    /// The upper word of a tuple.
    pub(super) fn high(tuple: Tuple) -> Word {
        match tuple.as_constant() {
            Some(value) => Word::Low(Tuple::constant(value >> 32)),
            None => Word::High(tuple),
        }
    }

    /// Its values in a warp's lanes.
    pub(super) fn expand(&self, place: &Place) -> Row {
        match self {
            Word::Low(tuple) => {
                let values = place.expand(tuple);
                Row::from_fn(|lane| values[lane] as u32)
            }
            Word::High(tuple) => {
                let values = place.expand(tuple);
                Row::from_fn(|lane| (values[lane] >> 32) as u32)
            }
            Word::Lanes(row) => **row,
        }
    }

    /// The scalar that it is.
    pub(super) fn as_constant(&self) -> Option<u32> {
        match self {
            Word::Low(tuple) => tuple.as_constant().map(|value| value as u32),
            _ => None,
        }
    }

    /// Whether all threads of a block hold the same.
    pub(super) fn is_of_block(&self) -> bool {
        match self {
            Word::Low(tuple) | Word::High(tuple) => tuple.is_of_block(),
            Word::Lanes(_) => false,
        }
    }

    /// The pair whose upper word this is.
    pub(super) fn join(&self, low: Tuple, extents: &Extents) -> Option<Tuple> {
        match self {
            Word::High(tuple) => tuple.same_low(&low).then_some(*tuple),
            Word::Low(_) => {
                let high = u64::from(self.as_constant()?) << 32;
                low.widened(false, extents)?.plus(Tuple::constant(high))
            }
            Word::Lanes(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GEOMETRY: Geometry = Geometry { grid: [5, 3, 2], block: [12, 6, 2] };

    fn linear() -> impl Strategy<Value = Linear> {
        let number = || prop_oneof![-300i64..300, any::<i32>().prop_map(i64::from), any::<i64>()];
        (number(), prop::array::uniform6(number())).prop_map(|(base, offsets)| Linear {
            base: base as u64,
            offsets: offsets.map(|offset| offset as u64),
        })
    }

    /// The value by the definition, thread by thread.
    fn by_hand(linear: &Linear, block: u32, warp: u32, lane: u32) -> u64 {
        let thread = warp * 32 + lane;
        let [gx, gy, _] = GEOMETRY.grid;
        let indices =
            [thread % 12, thread / 12 % 6, thread / 72, block % gx, block / gx % gy, block / gx / gy];
        let products =
            linear.offsets.iter().zip(indices).map(|(offset, index)| offset.wrapping_mul(u64::from(index)));
        products.fold(linear.base, u64::wrapping_add)
    }

    fn of(linear: Linear) -> Tuple {
        Tuple { linear, modulus: None }
    }

    proptest! {
        #[test]
        fn sums_products_and_moduli_are_those_of_every_thread(
            a in linear(), b in linear(), factor in any::<u64>(), bits in 1u32..32, block in 0u32..30, warp in 0u32..4,
        ) {
            let place = Place::of(&GEOMETRY, block, warp);
            let sum = place.expand(&of(a).plus(of(b)).expect("linear"));
            let product = place.expand(&of(a).times(factor));
            let modulus = of(a).modulo(bits).expect("linear").times(factor).plus(of(b)).expect("one modulus");
            let modulus = place.expand(&modulus);
            for lane in 0..32 {
                let at = |linear: &Linear| by_hand(linear, block, warp, lane);
                let here = lane as usize;
                prop_assert_eq!(sum[here], at(&a).wrapping_add(at(&b)));
                prop_assert_eq!(product[here], at(&a).wrapping_mul(factor));
                let part = at(&a) & ((1 << bits) - 1);
                prop_assert_eq!(modulus[here], part.wrapping_mul(factor).wrapping_add(at(&b)));
            }
        }

        #[test]
        fn widening_extends_the_lower_word_of_every_thread(
            a in linear(), signed in any::<bool>(), block in 0u32..30, warp in 0u32..4, bits in 1u32..20,
        ) {
            let (place, extents) = (Place::of(&GEOMETRY, block, warp), Extents::of(&GEOMETRY));
            let extend = |word: u32| if signed { i64::from(word as i32) as u64 } else { u64::from(word) };
            for narrow in [of(a), of(a).modulo(bits).expect("linear"), Tuple::constant(a.base)] {
                let Some(wide) = narrow.widened(signed, &extents) else { continue };
                for (wide, narrow) in place.expand(&wide).into_iter().zip(place.expand(&narrow)) {
                    prop_assert_eq!(wide, extend(narrow as u32));
                }
            }
        }
    }

    #[test]
    fn a_word_that_cannot_wrap_stays_linear_and_another_becomes_a_modulus() {
        let extents = Extents::of(&GEOMETRY);
        let index = Tuple::axis(0);
        assert!(!index.widened(false, &extents).expect("a tuple").is_modulus());
        let below = index.plus(Tuple::constant(u64::MAX)).expect("linear");
        assert!(!below.widened(true, &extents).expect("a tuple").is_modulus());
        assert!(below.widened(false, &extents).expect("a tuple").is_modulus(), "thread 0 wraps around");
    }

    #[test]
    fn a_pair_needs_the_lower_word_of_its_upper_one() {
        let extents = Extents::of(&GEOMETRY);
        let address = Tuple::axis(0).times(4).plus(Tuple::constant(0x7_0000_0000)).expect("linear");
        let high = Word::high(address);
        assert_eq!(high.join(Tuple::axis(0).times(4), &extents), Some(address));
        assert_eq!(high.join(Tuple::axis(0), &extents), None);
        assert_eq!(Word::high(Tuple::constant(5 << 32)), Word::Low(Tuple::constant(5)));
    }
}
