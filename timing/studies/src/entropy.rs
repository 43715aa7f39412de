//! Study `entropy`: bits of information in an instruction's results, compared with the 32 bits per lane that
//! a register stores and with simple encodings.

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::open_map::OpenMap;
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use super::values::{Digest, Shape};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    VALUES = "register_values", "values", "lanes of registers written";
    STORED = "stored_bits", "bits", "32 for each value";
    NARROW = "narrow_bits", "bits", "8 for each byte that the register needs in its widest lane, for each value";
    PATTERN = "pattern_bits", "bits", "the same, but 32 for a register that is uniform and 64 for one that is affine, where all launched lanes are written and that is less";
    SAMPLED = "sampled_values", "values", "those whose distribution was measured";
    INFORMATION = "information_bits", "bits", "of information in these: their number times the entropy of their distribution";
}

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "entropy",
    summary: "bits of information per register value against bits stored",
    paper: "none of the papers; after Shannon (1948), beside the encodings of CORF (section 2.6) and UV (section 3.1)",
    text: &[
        "A value is what an instruction writes into one 32-bit register of one lane in which it takes effect; the \
         words of a 64-bit result are two. The information of a value is the entropy of the distribution of all \
         values that the same instruction writes into the same register in one launch: the sum over different values \
         of -p log2 p, p being the share of the value. It says how many bits per value the best code for single \
         values would need that knows the instruction; it looks neither at neighbouring lanes nor at earlier values.",
        "Narrow and pattern are what simple encodings need: whole bytes by sign extension, the same for every lane of \
         a register (after CORF); and one or two words per register where all lanes hold base + lane x stride.",
        "Memory is bounded: of long launches every 2^n-th execution, chosen by a hash of block, warp and its \
         instruction number, is measured, so that about 2^12 results per launch are. A distribution measured from m \
         values cannot show more than log2 m bits, so information is then a lower bound.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::number("information_per_value", "Information", "bits per value", &[INFORMATION], &[SAMPLED]),
        Share::number("narrow_per_value", "Narrow", "bits per value", &[NARROW], &[VALUES]),
        Share::number("pattern_per_value", "Pattern", "bits per value", &[PATTERN], &[VALUES]),
        Share::percent("information_share", "Information of stored", &[INFORMATION], &[SAMPLED])
            .times(1.0 / 32.0),
        Share::percent("narrow_share", "Narrow of stored", &[NARROW], &[STORED]),
        Share::percent("pattern_share", "Pattern of stored", &[PATTERN], &[STORED]),
        Share::percent("sampled_share", "Measured", &[SAMPLED], &[VALUES]),
    ],
    figures: &[Figure {
        id: "entropy-bits",
        title: "Bits per register value",
        caption: "Of the 32 bits that a lane of a register stores.",
        marks: Marks::Bars,
        shares: &[0, 2, 1],
    }],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 4,
    headline: Headline::rest_of(
        4,
        "of the bits that register values are stored in would be restored by sign extension of whole registers",
    ),
    note: |counts| {
        (counts[SAMPLED] < counts[VALUES]).then(|| {
            let share = 100.0 * counts[SAMPLED] as f64 / counts[VALUES] as f64;
            format!("entropy is measured from {share:.1} % of the values, and is a lower bound.")
        })
    },
};

/// Approximate number of results measured in a launch.
const MEASURED: u64 = 1 << 12;

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Entropy {
    counts: Vec<Counts>,
    /// Number of times that each value was seen; the upper half of the key is instruction and register.
    values: OpenMap<u64>,
    /// Seed of the hash of instruction numbers, for each warp of the block.
    seeds: Vec<u64>,
    /// Bits of the hash that must be zero.
    mask: u64,
}

impl Entropy {
    #[inline(never)]
    fn measure(&mut self, at: &mut At<'_>) {
        for (i, reg) in at.inst.writes.iter().enumerate() {
            let (row, uniform) = (&at.row(reg).0, at.shape(reg) == Shape::Uniform);
            let place = u64::from(at.pc) << 2 | i as u64;
            let mut see = |value: u32, times: u64| self.values.add(place << 32 | u64::from(value), times);
            if at.exec == at.launched && uniform {
                see(row[0], u64::from(at.exec.count_ones()));
                continue;
            }
            // Neighbouring lanes often hold the same value.
            let mut lanes = at.exec;
            let mut run = (row[lanes.trailing_zeros() as usize], 0);
            while lanes != 0 {
                let value = row[lanes.trailing_zeros() as usize];
                lanes &= lanes - 1;
                if value == run.0 {
                    run.1 += 1;
                } else {
                    see(run.0, run.1);
                    run = (value, 1);
                }
            }
            see(run.0, run.1);
        }
    }
}

impl Fold for Entropy {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Entropy {
        let level = (setting.warp_instructions / MEASURED).checked_ilog2().unwrap_or(0);
        Entropy {
            counts: vec![Counts::default(); setting.insts.len()],
            values: OpenMap::default(),
            seeds: vec![0; setting.warps()],
            mask: (1 << level) - 1,
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), block: u64) {
        for (warp, seed) in self.seeds.iter_mut().enumerate() {
            *seed = Digest::default().then(Digest::of_word(block << 6 | warp as u64)).words()[1];
        }
    }

    #[inline]
    fn after(&mut self, (): &(), at: &mut At<'_>) {
        if at.exec == 0 || at.inst.writes.is_empty() {
            return;
        }
        let counts = &mut self.counts[at.pc as usize];
        let lanes = at.exec_lanes();
        for reg in at.inst.writes.iter() {
            let narrow = 8 * u64::from(at.width_bytes(reg)) * lanes;
            counts[NARROW] += narrow;
            counts[PATTERN] += match at.shape(reg) {
                Shape::Uniform if at.exec == at.launched => narrow.min(32),
                Shape::Affine if at.exec == at.launched => narrow.min(64),
                _ => narrow,
            };
        }
        if self.mask != 0 {
            let hash = (self.seeds[at.warp] ^ u64::from(at.clock)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            if hash >> 32 & self.mask != 0 {
                return;
            }
        }
        counts[SAMPLED] += lanes * u64::from(at.inst.writes.count);
        self.measure(at);
    }

    fn merge(&mut self, other: Entropy) {
        add_counts(&mut self.counts, &other.counts);
        other.values.iter().for_each(|(key, times)| self.values.add(key, times));
    }

    fn finish(mut self, setting: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for ((counts, total), inst) in self.counts.iter_mut().zip(totals).zip(&setting.insts) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[VALUES] = total.exec_lanes() * u64::from(inst.writes.count);
        }
        let mut by_place: Vec<Vec<u64>> = vec![Vec::new(); 4 * setting.insts.len()];
        for (key, times) in self.values.iter() {
            by_place[(key >> 32) as usize].push(times);
        }
        for (counts, places) in self.counts.iter_mut().zip(by_place.chunks_exact_mut(4)) {
            counts[STORED] = 32 * counts[VALUES];
            let bits: f64 = places.iter_mut().map(|times| information(times)).sum();
            counts[INFORMATION] = bits.round() as u64;
        }
        Outcome::of(self.counts)
    }
}

/// Bits of information in values that were seen `times` times each.
fn information(times: &mut [u64]) -> f64 {
    // Floating-point sums depend on the order, and a map has no fixed order.
    times.sort_unstable();
    let all: u64 = times.iter().sum();
    let bits = |n: u64| if n > 1 { n as f64 * (n as f64).log2() } else { 0.0 };
    (bits(all) - times.iter().map(|&n| bits(n)).sum::<f64>()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_of_known_distributions() {
        assert_eq!(information(&mut []), 0.0);
        assert_eq!(information(&mut [7]), 0.0);
        assert_eq!(information(&mut [1; 32]), 160.0);
        assert_eq!(information(&mut [8, 8]), 16.0);
        assert_eq!(information(&mut [4, 2, 1, 1]), 8.0 * 1.75);
    }
}
