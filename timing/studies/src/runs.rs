//! Runs of neighbouring lanes with consecutive addresses, computed once for all memory studies: most accesses
//! consist of a few runs, and a run is one contiguous range of bytes.

use super::values::Level;
use warplab_model::source::MemAccess;

/// Comparison of each lane's address with that of the previous lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Runs {
    /// Lanes with the same address.
    pub same: u32,
    /// Lanes with the next consecutive address.
    pub next: u32,
}

/// Consecutive lanes of an access whose bytes are contiguous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// First byte.
    pub from: u64,
    /// One past the last byte.
    pub to: u64,
    /// Whether no byte is accessed twice.
    pub once: bool,
}

impl Runs {
    /// The comparison for all lanes, active or not.
    #[must_use]
    pub(crate) fn of(level: Level, access: &MemAccess<'_>) -> Runs {
        let (same, next) = level.steps(access.addresses, u64::from(access.bytes));
        Runs { same, next }
    }

    /// The runs of an access, in the order of lanes.
    pub(crate) fn each<'a>(self, access: &'a MemAccess<'_>) -> impl Iterator<Item = Run> + use<'a> {
        let goes_on = (self.same | self.next) & access.mask & access.mask << 1;
        let mut first = access.mask & !goes_on;
        std::iter::from_fn(move || {
            let lane = (first != 0).then(|| first.trailing_zeros())?;
            first &= first - 1;
            // Following lanes, up to the first that does not continue the run.
            let lanes = (u64::from(goes_on) >> 1 >> lane).trailing_ones();
            let (from, last) = (access.addresses[lane as usize], access.addresses[(lane + lanes) as usize]);
            let inside = ((1u64 << lanes) - 1) << lane << 1;
            let once = u64::from(self.same) & inside == 0;
            Some(Run { from, to: last.wrapping_add(u64::from(access.bytes)), once })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use trace_format::isa::space::Space;

    proptest! {
        #[test]
        fn runs_are_the_bytes_that_lanes_access(
            steps: [u8; 32], mask: u32, bytes in prop::sample::select(vec![1u8, 2, 4, 8, 16]),
        ) {
            let mut addresses = [1u64 << 20; 32];
            for lane in 1..32 {
                let bytes = i64::from(bytes);
                let step = match steps[lane] % 16 { 0..=7 => bytes, 8..=11 => 0, 12 => -bytes, 13 => 2 * bytes, n => 100 * i64::from(n) };
                addresses[lane] = addresses[lane - 1].wrapping_add_signed(step);
            }
            let access = MemAccess::new(Space::Global, bytes, &addresses, mask);
            let runs = Runs::of(Level::detect(), &access);
            prop_assert_eq!(runs, Runs::of(Level::portable(), &access));
            let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                for byte in 0..u64::from(bytes) {
                    *expected.entry(addresses[lane] + byte).or_default() += 1;
                }
            }
            let mut found: BTreeMap<u64, u32> = BTreeMap::new();
            for run in runs.each(&access) {
                prop_assert!(run.from < run.to);
                for byte in run.from..run.to {
                    *found.entry(byte).or_default() += 1;
                }
                if run.once {
                    let touches = |lane: &usize| mask >> lane & 1 != 0 && (run.from..run.to).contains(&addresses[*lane]);
                    let lanes = (0..32).filter(touches).count() as u64;
                    prop_assert!(lanes * u64::from(bytes) >= run.to - run.from);
                }
            }
            let keys = |map: &BTreeMap<u64, u32>| map.keys().copied().collect::<Vec<_>>();
            prop_assert_eq!(keys(&found), keys(&expected));
            if runs.each(&access).all(|run| run.once) {
                prop_assert_eq!(found, expected);
            }
        }
    }
}
