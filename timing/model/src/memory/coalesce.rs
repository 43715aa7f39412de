//! Coalescing: turns 32 lane addresses into the lines and sectors that a warp access touches.
//!
//! The rules differ by generation ([`Coalescing`]); the result is always a list of 128-byte lines with sector
//! masks, in order of the first lane that touches each.

use super::{ALL_SECTORS, LINE_BYTES};
use crate::config::Coalescing;
use crate::source::MemAccess;

/// One line that a warp access touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineAccess {
    /// Line address.
    pub line: u64,
    /// Sectors touched.
    pub sectors: u8,
    /// Words of four bytes of which every byte is accessed, one bit each.
    pub words: u32,
}

impl LineAccess {
    /// Sectors of which every byte is accessed.
    #[must_use]
    pub fn full(&self) -> u8 {
        full_sectors(self.words)
    }
}

/// Sectors of a line of which a mask has all eight words.
#[must_use]
#[inline]
pub(crate) fn full_sectors(words: u32) -> u8 {
    let whole = |sector: u32| u8::from(words >> (8 * sector) & 0xFF == 0xFF) << sector;
    whole(0) | whole(1) | whole(2) | whole(3)
}

/// Words that sectors have, the reverse of [`full_sectors`].
#[must_use]
pub(crate) fn words_of(sectors: u8) -> u32 {
    (0..4).filter(|sector| sectors >> sector & 1 != 0).fold(0, |words, sector| words | 0xFF << (8 * sector))
}

/// Words of a line of which a mask has all four bytes.
#[inline]
fn whole_words(bytes: u128) -> u32 {
    let half = |bytes: u64| {
        let pairs = bytes & bytes >> 1;
        let mut bits = pairs & pairs >> 2 & 0x1111_1111_1111_1111;
        // Every fourth bit moves beside its neighbour.
        bits = (bits | bits >> 3) & 0x0303_0303_0303_0303;
        bits = (bits | bits >> 6) & 0x000F_000F_000F_000F;
        bits = (bits | bits >> 12) & 0x0000_00FF_0000_00FF;
        (bits | bits >> 24) as u16
    };
    u32::from(half(bytes as u64)) | u32::from(half((bytes >> 64) as u64)) << 16
}

/// The lines of a warp access; lanes are naturally aligned, so that 32 entries always suffice.
#[derive(Clone, Debug, Default)]
pub struct LineAccesses {
    entries: [LineAccess; 32],
    /// By line: the look-up of which it is a part. Look-ups are numbered in order.
    lookups: [u8; 32],
    count: u8,
}

impl LineAccesses {
    /// The lines in order.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[LineAccess] {
        &self.entries[..usize::from(self.count)]
    }

    /// Adds a line, with a look-up of its own; the list holds at most one per lane.
    pub fn push(&mut self, access: LineAccess) {
        self.entries[usize::from(self.count)] = access;
        self.lookups[usize::from(self.count)] = self.count;
        self.count += 1;
    }

    /// The look-up of which a line is a part.
    #[must_use]
    #[inline]
    pub fn lookup(&self, index: usize) -> u8 {
        self.lookups[index]
    }

    /// Puts lines into the same look-up if they share a tag, of so many neighbouring lines, or if their tags are in different
    /// banks. Both numbers are powers of two.
    pub fn group_by_tags(&mut self, tag_lines: u32, banks: u32) {
        let count = usize::from(self.count);
        if count < 2 || tag_lines * banks == 1 {
            return;
        }
        let old = self.entries;
        let mut used = [0u8; 32];
        let mut lookups = [0u8; 32];
        for index in 0..count {
            let tag = old[index].line / (LINE_BYTES * u64::from(tag_lines));
            let same = (0..index)
                .rev()
                .find(|earlier| old[*earlier].line / (LINE_BYTES * u64::from(tag_lines)) == tag);
            lookups[index] = same.map_or_else(
                || {
                    let bank = fold(tag, banks) as usize;
                    used[bank] += 1;
                    used[bank] - 1
                },
                |earlier| lookups[earlier],
            );
        }
        let mut next = 0;
        for lookup in 0..used.into_iter().max().unwrap_or(0) {
            for index in (0..count).filter(|index| lookups[*index] == lookup) {
                (self.entries[next], self.lookups[next]) = (old[index], lookup);
                next += 1;
            }
        }
    }

    /// Removes all lines.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

/// The digits of a number to the base `banks`, a power of two of at most 32, xored.
fn fold(mut number: u64, banks: u32) -> u64 {
    let mut bank = 0;
    while banks > 1 && number != 0 {
        bank ^= number % u64::from(banks);
        number /= u64::from(banks);
    }
    bank
}

/// Coalesces a warp access; `whole_lines` is set for loads through a cache that fetches whole lines.
#[must_use]
pub fn coalesce(access: &MemAccess<'_>, rules: Coalescing, whole_lines: bool) -> LineAccesses {
    let mut out = LineAccesses::default();
    coalesce_into(access, rules, whole_lines, &mut out);
    out
}

/// As [`coalesce`], into an existing list, whose lines are dropped.
pub(crate) fn coalesce_into(
    access: &MemAccess<'_>,
    rules: Coalescing,
    whole_lines: bool,
    out: &mut LineAccesses,
) {
    out.clear();
    match rules {
        Coalescing::Lines | Coalescing::Sectors => merge_lanes(access, access.mask, out),
        Coalescing::Segments => {
            for half in [0x0000_FFFF, 0xFFFF_0000] {
                segments(access, access.mask & half, out);
            }
        }
    }
    if whole_lines && rules == Coalescing::Lines {
        for entry in &mut out.entries[..usize::from(out.count)] {
            entry.sectors = ALL_SECTORS;
        }
    }
}

/// One entry per distinct line, with the sectors that lanes touch.
fn merge_lanes(access: &MemAccess<'_>, mask: u32, out: &mut LineAccesses) {
    if let Some(bytes) = row(access, mask) {
        return lines_of_row(bytes, out);
    }
    let mut coverage = [0u128; 32];
    let width = u32::from(access.bytes.max(1));
    let ones = if width >= 128 { u128::MAX } else { (1u128 << width) - 1 };
    let mut lanes = mask;
    let mut last = usize::MAX;
    while lanes != 0 {
        let address = access.addresses[lanes.trailing_zeros() as usize];
        lanes &= lanes - 1;
        let line = address & !(LINE_BYTES - 1);
        let offset = (address - line) as u32;
        let found = if last != usize::MAX && out.entries[last].line == line {
            Some(last)
        } else {
            out.as_slice().iter().position(|entry| entry.line == line)
        };
        last = found.unwrap_or_else(|| {
            out.push(LineAccess { line, ..LineAccess::default() });
            usize::from(out.count) - 1
        });
        let end = (offset + width - 1).min(127);
        out.entries[last].sectors |= 1 << (offset / 32) | 1 << (end / 32);
        coverage[last] |= ones << offset;
    }
    for (entry, bytes) in out.entries.iter_mut().zip(coverage).take(usize::from(out.count)) {
        entry.words = whole_words(bytes);
    }
}

/// The byte range of an access whose lanes access consecutive words, the most common case.
fn row(access: &MemAccess<'_>, mask: u32) -> Option<std::ops::Range<u64>> {
    let (first, width) = (access.addresses[0], u64::from(access.bytes.max(1)));
    // Lanes are aligned, so that none crosses the end of a line.
    if mask != u32::MAX || !width.is_power_of_two() || first & (width - 1) != 0 {
        return None;
    }
    let end = first.checked_add(32 * width)?;
    let mut expected = first;
    let mut differ = 0;
    for address in access.addresses {
        differ |= address ^ expected;
        expected = expected.wrapping_add(width);
    }
    (differ == 0).then_some(first..end)
}

fn lines_of_row(bytes: std::ops::Range<u64>, out: &mut LineAccesses) {
    let first = bytes.start & !(LINE_BYTES - 1);
    for line in (first..bytes.end).step_by(LINE_BYTES as usize) {
        let (from, to) = (bytes.start.max(line) - line, (bytes.end - line).min(LINE_BYTES));
        let below = |end: u64| ((1u64 << end) - 1) as u32;
        let touched = below(to.div_ceil(32)) & !below(from / 32);
        let words = below(to / 4) & !below(from.div_ceil(4));
        out.push(LineAccess { line, sectors: touched as u8, words });
    }
}

/// Compute capability 1.2/1.3: a half warp accesses the segment of its lowest lane, reduced to one half if
/// the other is unused.
fn segments(access: &MemAccess<'_>, mask: u32, out: &mut LineAccesses) {
    let largest: u64 = match access.bytes {
        0 | 1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut lanes = mask;
    while lanes != 0 {
        let first = access.addresses[lanes.trailing_zeros() as usize];
        let (mut base, mut size) = (first & !(largest - 1), largest);
        let (mut low, mut high, mut served) = (u64::MAX, 0, 0u32);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let address = access.addresses[lane];
            if address & !(largest - 1) == base {
                low = low.min(address);
                high = high.max(address.saturating_add(u64::from(access.bytes.max(1)) - 1));
                served |= 1 << lane;
            }
        }
        while size > 32 && (high < base + size / 2 || low >= base + size / 2) {
            size /= 2;
            base = if low >= base + size { base + size } else { base };
        }
        let line = base & !(LINE_BYTES - 1);
        let sectors = (((1u32 << (size / 32)) - 1) << ((base - line) / 32)) as u8;
        let mut exact = LineAccesses::default();
        merge_lanes(access, served, &mut exact);
        let words = exact.as_slice().first().map_or(0, |entry| entry.words);
        out.push(LineAccess { line, sectors, words });
        lanes &= !served;
    }
}

/// Cycles that the data of an access take in an array with a bank for each word of a line: as many as the fullest bank has
/// words of different lines.
#[must_use]
pub(crate) fn bank_cycles(access: &MemAccess<'_>, lines: &[LineAccess]) -> u32 {
    if lines.len() < 2 {
        return 1;
    }
    // Words of which lanes access only a part are not among those of the lines.
    if access.bytes < 4 {
        let part = |line: &LineAccess| {
            let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
            let offsets = lanes.map(|lane| access.addresses[lane].wrapping_sub(line.line));
            offsets
                .filter(|offset| *offset < LINE_BYTES)
                .fold(0u32, |words, offset| words | 1 << (offset / 4))
        };
        return fullest_bank(lines.iter().map(part));
    }
    fullest_bank(lines.iter().map(|line| line.words))
}

/// The largest number of lines whose words use the same bank, at least 1.
fn fullest_bank(lines: impl Iterator<Item = u32>) -> u32 {
    // Bit n of plane p is bit p of the number of words in bank n.
    let mut planes = [0u32; 6];
    for words in lines {
        let mut carry = words;
        for plane in &mut planes {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }
    let mut among = u32::MAX;
    let mut fullest = 0;
    for (bit, plane) in planes.iter().enumerate().rev() {
        if among & plane != 0 {
            among &= plane;
            fullest |= 1 << bit;
        }
    }
    fullest.max(1)
}

/// Number of different addresses of the lanes.
#[must_use]
pub(crate) fn different_addresses(access: &MemAccess<'_>) -> u8 {
    let mut count = 0;
    let mut lanes = access.mask;
    while lanes != 0 {
        lanes &= !lanes_at(access, access.addresses[lanes.trailing_zeros() as usize]);
        count += 1;
    }
    count
}

/// Lanes with an address.
fn lanes_at(access: &MemAccess<'_>, address: u64) -> u32 {
    let same = |lane: usize| u32::from(access.addresses[lane] == address) << lane;
    (0..32).fold(0, |lanes, lane| lanes | same(lane)) & access.mask
}

/// Maximum number of lanes with the same address; a read-modify-write serves them one after another.
#[must_use]
pub(crate) fn collisions(access: &MemAccess<'_>) -> u8 {
    let mut most = 0;
    let mut lanes = access.mask;
    while lanes != 0 {
        let same = lanes_at(access, access.addresses[lanes.trailing_zeros() as usize]);
        most = most.max(same.count_ones());
        lanes &= !same;
    }
    most as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use trace_format::isa::space::Space;

    fn access(addresses: &[u64; 32], bytes: u8, mask: u32) -> MemAccess<'_> {
        MemAccess::new(Space::Global, bytes, addresses, mask)
    }

    fn strided(base: u64, stride: u64) -> [u64; 32] {
        std::array::from_fn(|lane| base.wrapping_add((lane as u64).wrapping_mul(stride)))
    }

    proptest! {
        /// Recordings of other tools may hold any address; lines at the end of the address space are lines as others.
        #[test]
        fn the_last_addresses_are_lines_as_others(below in 1u64..1025, stride in 0u64..129, mask: u32, width in 0u32..5) {
            let bytes = 1u8 << width;
            let far = strided(below.wrapping_neg(), stride);
            // The same access one line earlier than the last 4 KiB, where nothing can overflow.
            let near = far.map(|address| address.wrapping_sub(1 << 20));
            for how in [Coalescing::Sectors, Coalescing::Segments] {
                for uses_words in [false, true] {
                    let of = |addresses: &[u64; 32]| {
                        let lines = coalesce(&access(addresses, bytes, mask), how, uses_words);
                        lines.as_slice().iter().map(|one| (one.line, one.sectors, one.words)).collect::<Vec<_>>()
                    };
                    let shifted: Vec<_> = of(&near).into_iter().map(|(line, sectors, words)| (line.wrapping_add(1 << 20), sectors, words)).collect();
                    prop_assert_eq!(of(&far), shifted);
                }
            }
        }
    }

    #[test]
    fn consecutive_words_make_one_line_of_four_sectors() {
        let addresses = strided(0x1000, 4);
        let out = coalesce(&access(&addresses, 4, u32::MAX), Coalescing::Sectors, false);
        assert_eq!(out.as_slice(), [LineAccess { line: 0x1000, sectors: 0b1111, words: u32::MAX }]);
    }

    #[test]
    fn a_misaligned_row_touches_two_lines_and_five_sectors() {
        let addresses = strided(0x1010, 4);
        let out = coalesce(&access(&addresses, 4, u32::MAX), Coalescing::Sectors, false);
        let sectors: u32 = out.as_slice().iter().map(|a| a.sectors.count_ones()).sum();
        assert_eq!((out.as_slice().len(), sectors), (2, 5));
    }

    #[test]
    fn words_are_those_of_which_every_byte_is_covered() {
        let bytes = |addresses: &[u64; 32], bytes, mask| {
            let out = coalesce(&access(addresses, bytes, mask), Coalescing::Sectors, false);
            out.as_slice().iter().map(|a| (a.words, a.full())).collect::<Vec<_>>()
        };
        assert_eq!(bytes(&strided(0x1000, 8), 4, 0xFFFF), [(0x5555_5555, 0)], "every second word");
        assert_eq!(bytes(&strided(0x1000, 1), 1, u32::MAX), [(0xFF, 0b0001)], "bytes of a sector");
        assert_eq!(bytes(&strided(0x1000, 1), 1, !1), [(0xFE, 0)], "all but one byte");
        assert_eq!(bytes(&strided(0x1000, 1), 1, 0xEF), [(0b01, 0)], "three bytes are no word");
        assert_eq!(bytes(&strided(0x1010, 4), 4, u32::MAX), [(!0xF, 0b1110), (0xF, 0)]);
        assert_eq!([0, 0b1010, 0b1111].map(|sectors| full_sectors(words_of(sectors))), [0, 0b1010, 0b1111]);
    }

    #[test]
    fn fermi_fetches_whole_lines_only_through_the_cache() {
        let addresses = strided(0x2000, 256);
        let cached = coalesce(&access(&addresses, 4, 0b11), Coalescing::Lines, true);
        let bypassed = coalesce(&access(&addresses, 4, 0b11), Coalescing::Lines, false);
        assert!(cached.as_slice().iter().all(|a| a.sectors == 0b1111));
        assert!(bypassed.as_slice().iter().all(|a| a.sectors == 0b0001));
    }

    #[test]
    fn gt200_serves_half_warps_in_shrunk_segments() {
        let words = strided(0x1000, 4);
        let out = coalesce(&access(&words, 4, u32::MAX), Coalescing::Segments, false);
        let sectors: Vec<u8> = out.as_slice().iter().map(|a| a.sectors).collect();
        assert_eq!(sectors, [0b0011, 0b1100]);
        let one = coalesce(&access(&words, 4, 0b1), Coalescing::Segments, false);
        assert_eq!(one.as_slice()[0].sectors, 0b0001);
    }

    /// Measured on an A40 and an A100 (gpu-benches): strides of words that are a power of two are served in as many cycles as lanes share
    /// a bank, odd ones in one.
    #[test]
    fn banks_are_shared_by_words_of_different_lines() {
        let cycles = |stride: u64, bytes: u8, mask: u32| {
            let addresses = strided(0x1000, stride);
            let lines = coalesce(&access(&addresses, bytes, mask), Coalescing::Sectors, false);
            bank_cycles(&access(&addresses, bytes, mask), lines.as_slice())
        };
        let floats = [1, 2, 3, 4, 5, 6, 8, 12, 16, 31, 32, 64].map(|stride| cycles(4 * stride, 4, u32::MAX));
        assert_eq!(floats, [1, 2, 1, 4, 1, 2, 8, 4, 16, 1, 32, 32]);
        let doubles = [1, 2, 3, 4, 8, 16].map(|stride| cycles(8 * stride, 8, u32::MAX));
        assert_eq!(doubles, [2, 4, 2, 8, 16, 32]);
        assert_eq!((cycles(16, 16, u32::MAX), cycles(128, 4, 0), cycles(128, 4, 0b101)), (4, 1, 2));
        assert_eq!((cycles(128, 1, u32::MAX), cycles(129, 1, 0xFF), cycles(132, 2, u32::MAX)), (32, 4, 1));
    }

    /// Look-ups per load of the kernel of gpu-benches' gpu-strides: eight loads at these offsets, of two warps.
    fn lookups(stride: u64, tag_lines: u32, banks: u32) -> f64 {
        let mut lookups = 0;
        for (warp, offset) in
            [0, 1].into_iter().flat_map(|warp| [0, 4, 8, 12, 16, 20, 24, 28].map(|at| (warp, at)))
        {
            let addresses = strided(4 * (32 * warp * stride + offset), 4 * stride);
            let mut lines = coalesce(&access(&addresses, 4, u32::MAX), Coalescing::Sectors, false);
            lines.group_by_tags(tag_lines, banks);
            lookups += u32::from(lines.lookup(lines.as_slice().len() - 1)) + 1;
        }
        f64::from(lookups) / 16.0
    }

    /// What an A100 and an A40 count (`l1tex__t_output_wavefronts`, gpu-benches).
    #[test]
    fn lines_in_different_banks_of_tags_are_one_lookup() {
        let counted = [
            (1, 1.0),
            (4, 1.89),
            (6, 2.36),
            (8, 2.83),
            (9, 3.03),
            (11, 3.64),
            (13, 4.01),
            (16, 4.67),
            (17, 5.1),
            (24, 6.2),
        ];
        let counted =
            counted.into_iter().chain([(31, 8.5), (32, 8.3), (40, 9.8), (48, 10.4), (56, 9.6), (64, 8.0)]);
        for (stride, hardware) in counted {
            let ours = lookups(stride, 1, 4);
            assert!((ours / hardware - 1.0).abs() < 0.12, "stride {stride}: {ours}, hardware {hardware}");
        }
    }

    #[test]
    fn neighbouring_lines_share_a_tag() {
        let of = |first: u64, second: u64| {
            let addresses: [u64; 32] = std::array::from_fn(
                |lane| if lane < 16 { first * 128 + 8 } else { second * 128 + 8 } + 8 * (lane as u64 % 16),
            );
            let mut lines = coalesce(&access(&addresses, 8, u32::MAX), Coalescing::Sectors, false);
            lines.group_by_tags(2, 1);
            let order = lines.as_slice().iter().map(|line| line.line / 128).collect::<Vec<_>>();
            (order, lines.lookups[..lines.as_slice().len()].to_vec())
        };
        assert_eq!(of(0, 2), (vec![0, 1, 2, 3], vec![0, 0, 1, 1]));
        assert_eq!(of(0, 3), (vec![0, 1, 3, 4], vec![0, 0, 1, 2]));
        assert_eq!(of(3, 0), (vec![3, 4, 0, 1], vec![0, 1, 2, 2]));
    }

    #[test]
    fn collisions_count_the_largest_group() {
        let mut addresses = strided(0, 4);
        addresses[5] = 0;
        addresses[9] = 0;
        assert_eq!(collisions(&access(&addresses, 4, u32::MAX)), 3);
        assert_eq!(collisions(&access(&addresses, 4, 0b10_0000)), 1);
        assert_eq!(collisions(&access(&addresses, 4, 0)), 0);
        let different = |mask| different_addresses(&access(&addresses, 4, mask));
        assert_eq!([u32::MAX, 0b10_0000, 0].map(different), [30, 1, 0]);
    }

    proptest! {
        #[test]
        fn sectors_are_exactly_those_that_lanes_touch(
            words in prop::array::uniform32(0u64..600), mask: u32, log_bytes in 0u32..5,
        ) {
            let bytes = 1u8 << log_bytes;
            let addresses = words.map(|w| w * u64::from(bytes));
            let out = coalesce(&access(&addresses, bytes, mask), Coalescing::Sectors, false);
            let touched: BTreeSet<u64> = (0..32).filter(|l| mask >> l & 1 != 0)
                .flat_map(|l| [addresses[l] / 32, (addresses[l] + u64::from(bytes) - 1) / 32]).collect();
            let listed: Vec<u64> = out.as_slice().iter()
                .flat_map(|a| (0..4).filter(|s| a.sectors >> s & 1 != 0).map(|s| a.line / 32 + s)).collect();
            prop_assert_eq!(listed.len(), touched.len());
            prop_assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), touched);
        }

        /// Grouped lines are the same lines, look-ups ascend from 0 without a gap, and no look-up has two tags of one bank.
        #[test]
        fn no_lookup_has_two_tags_of_a_bank(
            words in prop::array::uniform32(0u64..9000), mask in 1u32.., tag_lines in 0u32..3, banks in 0u32..4,
        ) {
            let (tag_lines, banks) = (1 << tag_lines, 1 << banks);
            let addresses = words.map(|w| w * 4);
            let before = coalesce(&access(&addresses, 4, mask), Coalescing::Sectors, false);
            let mut after = before.clone();
            after.group_by_tags(tag_lines, banks);
            let sorted = |of: &LineAccesses| {
                let mut lines: Vec<_> = of.as_slice().iter().map(|one| (one.line, one.sectors, one.words)).collect();
                lines.sort_unstable();
                lines
            };
            prop_assert_eq!(sorted(&before), sorted(&after));
            let mut by_lookup: Vec<BTreeSet<u64>> = Vec::new();
            for (index, one) in after.as_slice().iter().enumerate() {
                let lookup = usize::from(after.lookup(index));
                prop_assert!(lookup == by_lookup.len() || lookup + 1 == by_lookup.len());
                by_lookup.resize_with(lookup + 1, BTreeSet::new);
                by_lookup[lookup].insert(one.line / 128 / u64::from(tag_lines));
            }
            for tags in by_lookup {
                let used: BTreeSet<u64> = tags.iter().map(|tag| fold(*tag, banks)).collect();
                prop_assert_eq!(used.len(), tags.len());
            }
        }

        #[test]
        fn the_fullest_bank_is_that_of_a_count(
            words in prop::array::uniform32(0u64..600), mask: u32, log_bytes in 0u32..5,
        ) {
            let bytes = 1u8 << log_bytes;
            let addresses = words.map(|w| w * u64::from(bytes));
            let lines = coalesce(&access(&addresses, bytes, mask), Coalescing::Sectors, false);
            let touched: BTreeSet<u64> = (0..32).filter(|l| mask >> l & 1 != 0)
                .flat_map(|l| addresses[l] / 4..=(addresses[l] + u64::from(bytes) - 1) / 4).collect();
            let fullest = (0..32).map(|bank| touched.iter().filter(|word| *word % 32 == bank).count()).max();
            let cycles = bank_cycles(&access(&addresses, bytes, mask), lines.as_slice());
            prop_assert_eq!(cycles as usize, fullest.unwrap_or(0).max(1));
        }

        #[test]
        fn every_lane_lies_in_a_segment(words in prop::array::uniform32(0u64..300), mask: u32, log_bytes in 0u32..4) {
            let bytes = 1u8 << log_bytes;
            let addresses = words.map(|w| w * u64::from(bytes));
            let out = coalesce(&access(&addresses, bytes, mask), Coalescing::Segments, false);
            for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
                let sector = addresses[lane] / 32;
                let holds = |a: &LineAccess| a.line / 128 == sector / 4 && a.sectors >> (sector % 4) & 1 != 0;
                prop_assert!(out.as_slice().iter().any(holds));
            }
        }
    }
}
