//! The lines and sectors that a request touches, in order of its lanes.

use crate::runs::Runs;
use warplab_model::coalesce;
use warplab_model::config::Coalescing;
use warplab_model::source::MemAccess;

const LINE_BYTES: u64 = 128;
const SECTOR_BYTES: u64 = 32;

/// The lines of one request with their sectors; the buffer is reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    lines: Vec<(u64, u8)>,
}

impl Touched {
    /// Addresses of the lines, each with a bit per sector.
    #[must_use]
    pub(super) fn as_slice(&self) -> &[(u64, u8)] {
        &self.lines
    }

    /// Finds the lines of a request.
    pub(super) fn of(&mut self, access: &MemAccess<'_>, runs: Runs) {
        self.lines.clear();
        let aligned =
            |from: u64| access.bytes.is_power_of_two() && from.is_multiple_of(u64::from(access.bytes));
        for run in runs.each(access) {
            if !aligned(run.from) || run.to < run.from {
                return self.lane_by_lane(access);
            }
            let mut at = run.from;
            while at < run.to {
                let line = at & !(LINE_BYTES - 1);
                let end = run.to.min(line.saturating_add(LINE_BYTES));
                let (first, last) = ((at - line) / SECTOR_BYTES, (end - 1 - line) / SECTOR_BYTES);
                self.add(line, (0b1111 << first & 0b1111 >> (3 - last)) as u8);
                at = end;
            }
        }
    }

    fn add(&mut self, line: u64, sectors: u8) {
        match self.lines.iter_mut().rev().find(|(other, _)| *other == line) {
            Some((_, known)) => *known |= sectors,
            None => self.lines.push((line, sectors)),
        }
    }

    /// Handles misaligned accesses, which GPUs do not perform.
    #[inline(never)]
    fn lane_by_lane(&mut self, access: &MemAccess<'_>) {
        self.lines.clear();
        let lines = coalesce(access, Coalescing::Sectors, false);
        self.lines.extend(lines.as_slice().iter().map(|line| (line.line, line.sectors)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Level;
    use proptest::prelude::*;
    use trace_format::isa::space::Space;

    proptest! {
        #[test]
        fn lines_are_those_of_the_coalescer(
            steps in prop::array::uniform32(-3i64..9), first in 0u64..64, mask: u32,
            bytes in prop::sample::select(vec![1u8, 2, 4, 8, 16]), aligned in prop::bool::weighted(0.9),
        ) {
            let mut at = (1 << 16) + first * u64::from(bytes) + u64::from(!aligned);
            let addresses = steps.map(|step| {
                let step = match step { 0..=5 => 1, 6 => 0, 7 => 9, step => 2 * step };
                at = at.wrapping_add_signed(step * i64::from(bytes));
                at
            });
            let access = MemAccess::new(Space::Global, bytes, &addresses, mask);
            let expected = coalesce(&access, Coalescing::Sectors, false);
            let expected: Vec<_> = expected.as_slice().iter().map(|line| (line.line, line.sectors)).collect();
            let mut touched = Touched::default();
            touched.of(&access, Runs::of(Level::detect(), &access));
            prop_assert_eq!(touched.as_slice(), expected);
        }
    }
}
