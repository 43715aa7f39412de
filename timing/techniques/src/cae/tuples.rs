//! Affine tuples, and the registers and predicates of a warp: which of them hold tuples, and what the vector register
//! file holds.

use crate::merge;
use warplab_technique::Row;

/// A vector whose value in a lane is `base + lane * stride`, modulo 2^32 (DAC, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tuple {
    pub base: u32,
    pub stride: u32,
}

impl Tuple {
    /// The value in every lane.
    #[inline]
    pub(super) fn expand(self) -> Row {
        Row::from_fn(|lane| self.base.wrapping_add(self.stride.wrapping_mul(lane as u32)))
    }

    /// The tuple with a stride that has a value in a lane.
    #[inline]
    pub(super) fn through(lane: u32, value: u32, stride: u32) -> Tuple {
        Tuple { base: value.wrapping_sub(stride.wrapping_mul(lane)), stride }
    }

    /// The tuple of a vector in some lanes, if it has one: the stride is a whole number.
    pub(super) fn of(row: &Row, lanes: u32) -> Option<Tuple> {
        if lanes == 0 {
            return None;
        }
        let first = lanes.trailing_zeros();
        let rest = lanes & (lanes - 1);
        let value = row.0[first as usize];
        let stride = match rest {
            0 => 0,
            _ => {
                let second = rest.trailing_zeros();
                let step = row.0[second as usize].wrapping_sub(value) as i32;
                let gap = (second - first) as i32;
                (step % gap == 0).then_some((step / gap) as u32)?
            }
        };
        let tuple = Tuple::through(first, value, stride);
        let expanded = tuple.expand();
        (0..32).all(|lane| lanes >> lane & 1 == 0 || expanded.0[lane] == row.0[lane]).then_some(tuple)
    }
}

/// Where the value of a vector register is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Held {
    /// In the vector register file.
    #[default]
    Lanes,
    /// In the file of tuples.
    Tuple(Tuple),
}

/// The registers and predicates of a warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    held: Vec<Held>,
    /// Contents of the vector register file; a register that holds a tuple has older ones.
    lanes: Vec<Row>,
    /// Predicates known to be the same in every lane, and their values, one bit each.
    uniform_preds: u8,
    preds: u8,
    /// Registers that hold a tuple.
    tuples: u32,
}

impl Contents {
    /// The registers of a warp that has not begun; the last predicate is always true.
    pub(super) fn new(registers: usize) -> Contents {
        let mut contents = Contents {
            held: vec![Held::Lanes; registers],
            lanes: vec![Row::ZERO; registers],
            ..Contents::default()
        };
        contents.begin();
        contents
    }

    /// Starts another warp.
    pub(super) fn begin(&mut self) {
        self.held.fill(Held::Lanes);
        self.lanes.fill(Row::ZERO);
        (self.uniform_preds, self.preds, self.tuples) = (0x80, 0x80, 0);
    }

    /// The tuple of a register.
    #[inline]
    pub(super) fn tuple(&self, reg: u8) -> Option<Tuple> {
        match self.held[usize::from(reg)] {
            Held::Tuple(tuple) => Some(tuple),
            Held::Lanes => None,
        }
    }

    /// What the vector register file holds.
    #[inline]
    pub(super) fn lanes(&self, reg: u8) -> &Row {
        &self.lanes[usize::from(reg)]
    }

    /// Writes a tuple.
    #[inline]
    pub(super) fn write_tuple(&mut self, reg: u8, tuple: Tuple) {
        let old = std::mem::replace(&mut self.held[usize::from(reg)], Held::Tuple(tuple));
        self.tuples += u32::from(old == Held::Lanes);
    }

    /// Writes a vector in the lanes of a mask.
    #[inline]
    pub(super) fn write_lanes(&mut self, reg: u8, row: &Row, lanes: u32) {
        merge(&mut self.lanes[usize::from(reg)], row, lanes);
        let old = std::mem::take(&mut self.held[usize::from(reg)]);
        self.tuples -= u32::from(old != Held::Lanes);
    }

    /// Expands a register's tuple into the vector register file; returns whether there was one.
    pub(super) fn expand(&mut self, reg: u8) -> bool {
        let Some(tuple) = self.tuple(reg) else { return false };
        self.write_lanes(reg, &tuple.expand(), u32::MAX);
        true
    }

    /// The value of a predicate that is known to be the same in every lane.
    #[inline]
    pub(super) fn pred(&self, pred: u8) -> Option<bool> {
        (self.uniform_preds >> (pred & 7) & 1 != 0).then_some(self.preds >> (pred & 7) & 1 != 0)
    }

    /// Notes a predicate's value, if it is the same in every lane.
    #[inline]
    pub(super) fn write_pred(&mut self, pred: u8, value: Option<bool>) {
        let bit = 1 << (pred & 7);
        self.uniform_preds = self.uniform_preds & !bit | if value.is_some() { bit } else { 0 };
        self.preds = self.preds & !bit | if value == Some(true) { bit } else { 0 };
    }

    /// Number of registers that hold tuples.
    #[inline]
    pub(super) fn tuples(&self) -> u32 {
        self.tuples
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tuple_is_found_in_the_lanes_that_are_asked_about() {
        let index = Row::from_fn(|lane| 100 + 4 * lane as u32);
        assert_eq!(Tuple::of(&index, u32::MAX), Some(Tuple { base: 100, stride: 4 }));
        assert_eq!(Tuple::of(&index, 0xF0), Some(Tuple { base: 100, stride: 4 }));
        assert_eq!(Tuple::of(&index, 0x10), Some(Tuple { base: 116, stride: 0 }), "one lane is a scalar");
        let mut odd = index;
        odd.0[7] += 1;
        assert_eq!(Tuple::of(&odd, u32::MAX), None);
        assert_eq!(Tuple::of(&odd, !(1 << 7)), Some(Tuple { base: 100, stride: 4 }));
        assert_eq!(Tuple::of(&odd, 0), None);
        // The step from lane 0 to lane 2 is odd: no whole stride.
        assert_eq!(Tuple::of(&Row::from_fn(|lane| lane as u32 / 2), 0b101), None);
    }

    #[test]
    fn an_expansion_puts_the_value_into_every_lane() {
        let mut contents = Contents::new(2);
        contents.write_tuple(1, Tuple { base: 5, stride: 2 });
        assert_eq!((contents.tuples(), contents.lanes(1).0[3]), (1, 0));
        assert!(contents.expand(1) && !contents.expand(1));
        assert_eq!((contents.tuples(), contents.lanes(1).0[3], contents.tuple(1)), (0, 11, None));
        contents.write_tuple(1, Tuple::default());
        contents.write_lanes(1, &Row::splat(9), 1);
        assert_eq!((contents.tuples(), contents.lanes(1).0[0], contents.lanes(1).0[3]), (0, 9, 11));
    }

    proptest! {
        #[test]
        fn a_tuple_survives_its_expansion(base in any::<u32>(), stride in any::<u32>(), lane in 0u32..32) {
            let tuple = Tuple { base, stride };
            let row = tuple.expand();
            prop_assert_eq!(Tuple::of(&row, u32::MAX), Some(tuple));
            prop_assert_eq!(Tuple::through(lane, row.0[lane as usize], stride), tuple);
        }
    }
}
