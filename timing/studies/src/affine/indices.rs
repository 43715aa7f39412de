//! Values that are affine in the thread indices: base + x · a + y · b + z · c with an offset for each index, as DAC's
//! tuples have them (DAC, section 4.4).
//!
//! From one lane to the next, x increases, or x restarts and y increases, or both restart and z increases.
//! These are three kinds of steps with three free offsets: a row is affine when all steps of a kind are
//! equal.

use crate::setting::{At, Span};
use trace_format::semantics::{Geometry, WARP_SIZE};

/// The index that increases from the previous lane, for each lane of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    kinds: [u8; WARP_SIZE],
    lanes: usize,
}

impl Steps {
    /// The steps of a warp; `None` when only x increases, so that one stride suffices.
    pub(super) fn of(geometry: &Geometry, warp: usize) -> Option<Steps> {
        let [x, y, _] = geometry.block.map(|n| n.max(1));
        let first = (warp * WARP_SIZE) as u32;
        let kind = |lane: usize| match first + lane as u32 {
            thread if !thread.is_multiple_of(x) => 0,
            thread if !(thread / x).is_multiple_of(y) => 1,
            _ => 2,
        };
        let lanes = geometry.launched_mask(warp as u32).count_ones() as usize;
        let kinds = std::array::from_fn(|lane| if lane == 0 { 0 } else { kind(lane) });
        kinds[..lanes].iter().any(|kind| *kind != 0).then_some(Steps { kinds, lanes })
    }

    /// Whether an operand is affine in the thread indices: register pairs count as one number, an odd
    /// register by itself.
    pub(super) fn describe(&self, at: &At<'_>, span: Span) -> bool {
        let mut words = span.iter();
        while let Some(low) = words.next() {
            let low = &at.row(low).0;
            let holds = match words.next() {
                Some(high) => {
                    let high = &at.row(high).0;
                    self.hold(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32, |step| step)
                }
                None => self.hold(|lane| u64::from(low[lane]), |step| step as u32),
            };
            if !holds {
                return false;
            }
        }
        true
    }

    /// Whether steps of a kind are equal, after both are reduced by `cut`.
    fn hold<T: PartialEq + Copy>(&self, value: impl Fn(usize) -> u64, cut: impl Fn(u64) -> T) -> bool {
        let mut steps: [Option<T>; 3] = [None; 3];
        (1..self.lanes).all(|lane| {
            let step = cut(value(lane).wrapping_sub(value(lane - 1)));
            *steps[usize::from(self.kinds[lane])].get_or_insert(step) == step
        })
    }
}
