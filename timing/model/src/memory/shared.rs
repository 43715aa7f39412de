//! Shared-memory bank conflicts with broadcast, and the serialisation of shared atomics.
//!
//! A bank serves one 4-byte word per cycle; lanes that access the same word share it. Wide accesses take
//! several passes, as hardware splits them by half and quarter warps.

use crate::config::SharedMemory;
use crate::source::MemAccess;

/// Cycles that a warp access occupies shared memory.
#[must_use]
pub(crate) fn access_cycles(access: &MemAccess<'_>, config: &SharedMemory) -> u32 {
    let words = u32::from(access.bytes).div_ceil(4).max(1);
    let parts = config.warp_parts.max(words.min(4));
    let lanes_per_part = 32 / parts;
    let mut cycles = 0;
    for part in 0..parts {
        let ones = if lanes_per_part == 32 { u32::MAX } else { (1 << lanes_per_part) - 1 };
        let start = part * lanes_per_part;
        let active = access.mask >> start & ones;
        if active != 0 {
            let lanes = &access.addresses[start as usize..(start + lanes_per_part) as usize];
            let at_once = is_served_at_once(lanes, active, words, config.banks);
            cycles += if at_once { 1 } else { pass_cycles(access, active << start, words, config.banks) };
        }
    }
    cycles.max(1)
}

/// Passes that an access needs because of its width even without a bank conflict: parts of the warp with active lanes.
#[must_use]
pub(crate) fn passes(access: &MemAccess<'_>, config: &SharedMemory) -> u32 {
    let words = u32::from(access.bytes).div_ceil(4).max(1);
    let lanes_per_part = 32 / config.warp_parts.max(words.min(4));
    let ones = if lanes_per_part == 32 { u32::MAX } else { (1 << lanes_per_part) - 1 };
    let starts = (0..32).step_by(lanes_per_part as usize);
    starts.map(|start| u32::from(access.mask >> start & ones != 0)).sum()
}

/// Instructions whose latest pattern is remembered.
const PATTERNS: usize = 32;

/// Latest access of an instruction by all lanes: each lane's distance from the first lane.
#[derive(Clone, Debug)]
struct Pattern {
    distances: [u64; 32],
    /// Position of the first lane's address within its word.
    within: u64,
    bytes: u8,
    cycles: u32,
}

/// [`access_cycles`] with a memory of the latest patterns: the cycles stay the same when all addresses move by a
/// whole number of words, because banks only rotate. Most instructions repeat one pattern.
#[derive(Clone, Debug)]
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// A memory without patterns.
    #[must_use]
    pub(crate) fn new() -> Patterns {
        Patterns(vec![Pattern { distances: [0; 32], within: 0, bytes: 0, cycles: 0 }; PATTERNS])
    }

    /// Cycles that an access of the instruction at `pc` occupies shared memory.
    #[must_use]
    pub(crate) fn access_cycles(&mut self, pc: u32, access: &MemAccess<'_>, config: &SharedMemory) -> u32 {
        if access.mask != u32::MAX {
            return access_cycles(access, config);
        }
        let pattern = &mut self.0[pc as usize % PATTERNS];
        let first = access.addresses[0];
        let differ = |lane: usize| access.addresses[lane].wrapping_sub(first) ^ pattern.distances[lane];
        let same = (0..32).fold(0, |all, lane| all | differ(lane)) == 0;
        if same && (pattern.bytes, pattern.within) == (access.bytes, first % 4) {
            return pattern.cycles;
        }
        *pattern = Pattern {
            distances: access.addresses.map(|address| address.wrapping_sub(first)),
            within: first % 4,
            bytes: access.bytes,
            cycles: access_cycles(access, config),
        };
        pattern.cycles
    }
}

/// Whether no bank has to serve two different words.
fn is_served_at_once(addresses: &[u64], active: u32, words: u32, banks: u32) -> bool {
    let first = addresses[active.trailing_zeros() as usize];
    let all = u32::MAX >> (32 - addresses.len());
    // The most common accesses: one address for all lanes, or consecutive words.
    let stride = addresses.get(1).map_or(0, |second| second.wrapping_sub(first));
    let side_by_side = stride == 4 * u64::from(words) && addresses.len() as u32 * words <= banks;
    if active == all && (side_by_side || stride == 0) {
        let differ = |lane: usize| addresses[lane] ^ first.wrapping_add(stride * lane as u64);
        if (0..addresses.len()).fold(0, |all, lane| all | differ(lane)) == 0 {
            return true;
        }
    }
    let is_active = |lane: &usize| active >> lane & 1 != 0;
    let bank = |word: u64| (word & u64::from(banks - 1)) as usize & 63;
    // Each word is written to its bank's entry; without conflict each word then finds itself there.
    let mut served = [0u64; 64];
    for lane in (0..addresses.len()).filter(is_active) {
        let word = addresses[lane] / 4;
        (word..word + u64::from(words)).for_each(|word| served[bank(word)] = word);
    }
    (0..addresses.len()).filter(is_active).all(|lane| {
        let word = addresses[lane] / 4;
        (word..word + u64::from(words)).all(|word| served[bank(word)] == word)
    })
}

/// Cycles of a load that takes `cycles` without merging: half of them if the load takes several passes and
/// two passes' results fit one return, because every lane pair n and n^1, or every pair n and n^2, has one
/// address.
#[must_use]
pub(crate) fn merged_cycles(cycles: u32, access: &MemAccess<'_>, config: &SharedMemory) -> u32 {
    let paired = |distance: usize| {
        (0..32).all(|lane| {
            let both = 1u32 << lane | 1 << (lane ^ distance);
            access.mask & both != both || access.addresses[lane] == access.addresses[lane ^ distance]
        })
    };
    if config.uniform_pairs_merge && access.bytes > 4 && (paired(1) || paired(2)) {
        cycles.div_ceil(2)
    } else {
        cycles
    }
}

/// Cycles of one pass: the maximum number of distinct words in one bank.
#[inline(never)]
fn pass_cycles(access: &MemAccess<'_>, mask: u32, words: u32, banks: u32) -> u32 {
    let mut seen = [0u64; 128];
    let mut count = 0;
    let mut per_bank = [0u8; 64];
    let mut most = 0;
    let mut lanes = mask;
    while lanes != 0 {
        let address = access.addresses[lanes.trailing_zeros() as usize] / 4;
        lanes &= lanes - 1;
        for word in address..address + u64::from(words) {
            let bank = (word & u64::from(banks - 1)) as usize;
            // A bank without words cannot hold this one; otherwise compare with the words seen.
            if per_bank[bank] > 0 && seen[..count].contains(&word) {
                continue;
            }
            seen[count] = word;
            count += 1;
            per_bank[bank] += 1;
            most = most.max(per_bank[bank]);
        }
    }
    u32::from(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::LazyLock;
    use trace_format::isa::space::Space;

    static CONFIG: LazyLock<SharedMemory> = LazyLock::new(|| {
        let mut config = load("gtx480", &[]).expect("valid").config.shared_memory;
        config.banks = 32;
        config.warp_parts = 1;
        config.uniform_pairs_merge = true;
        config.atomic_cycles = 2;
        config
    });

    fn cycles(addresses: &[u64; 32], bytes: u8, mask: u32) -> u32 {
        access_cycles(&MemAccess::new(Space::Shared, bytes, addresses, mask), &CONFIG)
    }

    #[test]
    fn a_stride_of_k_words_costs_k_for_powers_of_two() {
        for k in [1u64, 2, 4, 8, 16, 32] {
            let addresses = std::array::from_fn(|lane| lane as u64 * 4 * k);
            assert_eq!(u64::from(cycles(&addresses, 4, u32::MAX)), k, "stride {k}");
        }
        let odd = std::array::from_fn(|lane| lane as u64 * 4 * 33);
        assert_eq!(cycles(&odd, 4, u32::MAX), 1);
    }

    #[test]
    fn lanes_on_the_same_word_broadcast() {
        assert_eq!(cycles(&[64; 32], 4, u32::MAX), 1);
        let bytes = std::array::from_fn(|lane| lane as u64);
        assert_eq!(cycles(&bytes, 1, u32::MAX), 1);
    }

    #[test]
    fn wide_accesses_take_one_cycle_per_half_or_quarter_warp() {
        let pairs = std::array::from_fn(|lane| lane as u64 * 8);
        assert_eq!(cycles(&pairs, 8, u32::MAX), 2);
        let quads = std::array::from_fn(|lane| lane as u64 * 16);
        assert_eq!(cycles(&quads, 16, u32::MAX), 4);
        assert_eq!(cycles(&quads, 16, 0b1), 1);
        assert_eq!(cycles(&quads, 16, 0), 1);
        let needed = |bytes, mask| passes(&MemAccess::new(Space::Shared, bytes, &quads, mask), &CONFIG);
        let all = [4u8, 8, 16, 1].map(|bytes| needed(bytes, u32::MAX));
        assert_eq!((all, needed(16, 0b1), needed(8, 1 << 31 | 1), needed(16, 0)), ([1, 2, 4, 1], 1, 2, 0));
    }

    /// The measured rule: uniform lane pairs halve the passes of a wide load, other patterns do not.
    #[test]
    fn wide_loads_of_uniform_pairs_take_half_their_passes() {
        let merged = |addresses: &[u64; 32], bytes: u8, mask: u32| {
            let access = MemAccess::new(Space::Shared, bytes, addresses, mask);
            merged_cycles(access_cycles(&access, &CONFIG), &access, &CONFIG)
        };
        assert_eq!(merged(&[64; 32], 16, u32::MAX), 2);
        assert_eq!(merged(&[64; 32], 8, u32::MAX), 1);
        assert_eq!(merged(&[64; 32], 4, u32::MAX), 1);
        let neighbours = std::array::from_fn(|lane| lane as u64 / 2 * 16);
        assert_eq!(merged(&neighbours, 16, u32::MAX), 2);
        let every_other = std::array::from_fn(|lane| (lane as u64 & !2) * 16);
        assert_eq!(merged(&every_other, 16, u32::MAX), 2);
        let halves = std::array::from_fn(|lane| (lane as u64 & 15) * 16);
        assert_eq!(merged(&halves, 16, u32::MAX), 4);
        let odd_one = std::array::from_fn(|lane| if lane == 5 { 256 } else { 64 });
        assert_eq!(merged(&odd_one, 16, u32::MAX), 4);
        assert_eq!(merged(&odd_one, 16, !(1 << 5)), 2);
    }

    proptest! {
        #[test]
        fn cost_is_the_fullest_bank(words in prop::array::uniform32(0u64..256), mask in 1u32..) {
            let addresses = words.map(|w| w * 4);
            let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                banks.entry(words[lane] % 32).or_default().insert(words[lane]);
            }
            let fullest = banks.values().map(BTreeSet::len).max().unwrap_or(1);
            prop_assert_eq!(cycles(&addresses, 4, mask) as usize, fullest);
        }

        /// Accesses of few patterns, moved by any number of bytes, so that many repeat the latest one.
        #[test]
        fn remembered_patterns_cost_what_they_cost_anew(
            shapes in prop::collection::vec(prop::array::uniform32(0u64..64), 2),
            accesses in prop::collection::vec((0usize..2, 0u64..1 << 40, 0usize..6, 0u32..2), 1..24),
        ) {
            let mut patterns = Patterns::new();
            for (shape, by, size, pc) in accesses {
                let (bytes, full) = ([1u8, 2, 4, 8, 16, 4][size], size != 5);
                let addresses = shapes[shape].map(|unit| by + unit * u64::from(bytes));
                let mask = if full { u32::MAX } else { 0x00FF_F0F1 };
                let access = MemAccess::new(Space::Shared, bytes, &addresses, mask);
                let expected = access_cycles(&access, &CONFIG);
                prop_assert_eq!(patterns.access_cycles(pc, &access, &CONFIG), expected);
            }
        }
    }
}
