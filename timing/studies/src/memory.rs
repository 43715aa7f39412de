//! Study `memory`: sectors per request of a warp, reuse distances of lines, and the footprint of a launch.
//!
//! `memory/distance.rs` measures the distances, `memory/touched.rs` finds the lines of a request.

mod distance;
mod touched;

use super::define::{Figure, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use super::turns::Turns;
use super::values::Digest;
use distance::Distances;
use touched::Touched;
use trace_format::isa::Kind;
use trace_format::isa::space::Space;
use warplab_model::source::MemAccess;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    LOADS = "load_requests", "requests", "loads from global memory, in effect in some lane";
    STORES = "store_requests", "requests", "stores to global memory, in effect in some lane";
    ATOMICS = "atomic_requests", "requests", "atomics and reductions on global memory, in effect in some lane";
    LINES = "lines", "lines", "of 128 bytes that a request touches";
    SECTORS = "sectors", "sectors", "of 32 bytes that a request touches";
    BYTES = "lane_bytes", "bytes", "that lanes access, each for itself";
    NEAR_0 = "distance_0", "line accesses", "with no other line accessed by the block since the last access to it";
    NEAR_3 = "distance_1_to_3", "line accesses", "with 1 to 3 other lines accessed by the block since";
    NEAR_15 = "distance_4_to_15", "line accesses", "with 4 to 15 others";
    NEAR_63 = "distance_16_to_63", "line accesses", "with 16 to 63 others";
    NEAR_255 = "distance_64_to_255", "line accesses", "with 64 to 255 others";
    NEAR_1023 = "distance_256_to_1023", "line accesses", "with 256 to 1023 others";
    FAR = "distance_1024_or_more", "line accesses", "with 1024 others or more";
    COLD = "first_accesses", "line accesses", "to a line that the block has not accessed before";
    FOOTPRINT = "footprint_lines", "lines", "different ones that the launch touches, counted with the kernel's first instruction that touches them, and again for every launch";
    #[max] LEVEL = "sampled_level", "bits", "one of 2^n lines was followed";
}

const REQUESTS: &[usize] = &[LOADS, STORES, ATOMICS];
const ACCESSES: &[usize] = &[NEAR_0, NEAR_3, NEAR_15, NEAR_63, NEAR_255, NEAR_1023, FAR, COLD];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "memory",
    summary: "sectors per request, reuse distances, footprint of global memory",
    paper: "none of the papers; the limits behind LARF (chapter 5) and DAC (section 5.5)",
    text: &[
        "A request is what one warp instruction asks of global memory, generic addresses that fall there included; \
         textures and surfaces are left out. It touches the 128-byte lines and 32-byte sectors in which bytes of its \
         lanes lie: what coalescing leaves to be transferred when nothing is cached.",
        "The reuse distance of an access to a line is the number of different other lines that the same block has \
         accessed since its last access to that line: a fully associative LRU cache of the block's own with more \
         lines than that would hit. Warps execute one instruction each in turn and wait at barriers; a request \
         accesses its lines in the order of its lanes.",
        "Memory is bounded: of long launches, and of those that touch more than 2^15 lines, every 2^n-th line, chosen by a hash of its address, is followed, and \
         counts and distances are multiplied by 2^n (a note says so). Line accesses and the footprint are then \
         estimates; requests, lines, sectors and bytes are exact.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::number("sectors_per_request", "Sectors per request", "sectors", &[SECTORS], REQUESTS),
        Share::number("lines_per_request", "Lines per request", "lines", &[LINES], REQUESTS),
        Share::number("bytes_per_sector_byte", "Bytes used", "per byte moved", &[BYTES], &[SECTORS])
            .times(1.0 / 32.0)
            .meaning("bytes that lanes access per byte of sectors touched; above 1 where lanes share bytes"),
        Share::percent("reused_within_16", "Within 16 lines", &[NEAR_0, NEAR_3, NEAR_15], ACCESSES),
        Share::percent(
            "reused_within_256",
            "Within 256 lines",
            &[NEAR_0, NEAR_3, NEAR_15, NEAR_63, NEAR_255],
            ACCESSES,
        ),
        Share::percent("first_access_share", "First accesses", &[COLD], ACCESSES),
        Share::number("footprint_bytes", "Footprint", "bytes", &[FOOTPRINT], &[]).times(128.0),
        Share::percent("request_share", "Requests", REQUESTS, &[WARP_INSTRUCTIONS]),
        Share::percent("distance_0_share", "0 lines", &[NEAR_0], ACCESSES).hidden(),
        Share::percent("distance_1_share", "1–3", &[NEAR_3], ACCESSES).hidden(),
        Share::percent("distance_4_share", "4–15", &[NEAR_15], ACCESSES).hidden(),
        Share::percent("distance_16_share", "16–63", &[NEAR_63], ACCESSES).hidden(),
        Share::percent("distance_64_share", "64–255", &[NEAR_255], ACCESSES).hidden(),
        Share::percent("distance_256_share", "256–1023", &[NEAR_1023], ACCESSES).hidden(),
        Share::percent("distance_1024_share", "1024 or more", &[FAR], ACCESSES).hidden(),
    ],
    figures: &[
        Figure {
            id: "memory-sectors",
            title: "Sectors per request",
            caption: "Sectors of 32 bytes that a warp's request to global memory touches.",
            marks: Marks::Bars,
            shares: &[0],
        },
        Figure {
            id: "memory-distances",
            title: "Reuse distances of lines within a block",
            caption: "Accesses to lines of 128 bytes by the number of other lines accessed since the last access.",
            marks: Marks::Stack,
            shares: &[8, 9, 10, 11, 12, 13, 14, 5],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 0,
    headline: None,
    note: |counts| {
        let one_in = 1u64 << counts[LEVEL];
        (counts[LEVEL] > 0)
            .then(|| format!("memory: distances and footprint are estimated from one in {one_in} lines of the largest launch."))
    },
};

/// Launches with more warp instructions sample lines.
const SAMPLED_FROM: u64 = 1 << 21;

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Memory {
    counts: Vec<Counts>,
    turns: Turns<(u32, u64)>,
    distances: Distances,
    level: u32,
    lines: Seen,
    block: u64,
    touched: Touched,
}

impl Fold for Memory {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Memory {
        let level = (setting.warp_instructions / SAMPLED_FROM).checked_ilog2().map_or(0, |n| n + 1);
        let mut lines = Seen::for_launch(setting.warp_instructions);
        lines.begin_at(level, 0);
        Memory {
            counts: vec![Counts::default(); setting.insts.len()],
            turns: Turns::new(setting.warps()),
            distances: Distances::default(),
            level,
            lines,
            block: 0,
            touched: Touched::default(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), block: u64) {
        self.distances.clear(self.level);
        self.block = block;
    }

    #[inline]
    fn after(&mut self, (): &(), at: &mut At<'_>) {
        let Some(mut access) = at.mem.copied() else { return };
        match access.space {
            Space::Global => {}
            Space::Generic => access.mask &= global_lanes(&access),
            _ => return,
        }
        if access.mask == 0 {
            return;
        }
        let kind = match at.inst.kind {
            Kind::Load(_) => LOADS,
            Kind::Store(_) => STORES,
            _ => ATOMICS,
        };
        let counts = &mut self.counts[at.pc as usize];
        counts[kind] += 1;
        counts[BYTES] += u64::from(access.mask.count_ones()) * u64::from(access.bytes);
        let runs = at.runs(&access);
        let Memory { counts, turns, lines, touched, level, block, .. } = self;
        let counts = &mut counts[at.pc as usize];
        touched.of(&access, runs);
        for &(line, sectors) in touched.as_slice() {
            counts[LINES] += 1;
            counts[SECTORS] += u64::from(sectors.count_ones());
            let digest = Digest::default().then(Digest::of_word(line));
            if Seen::keeps(digest, *level) {
                turns.push(at.warp, at.step, (at.pc, line));
                lines.see(digest, at.pc, *block);
            }
        }
    }

    fn end_turn(&mut self, _: &Setting<'_>, (): &()) {
        let Memory { counts, turns, distances, .. } = self;
        turns.round_robin(|_, &(pc, line)| {
            let Some((distance, weight)) = distances.access(line) else { return };
            let bucket = match distance {
                None => COLD,
                Some(0) => NEAR_0,
                Some(1..=3) => NEAR_3,
                Some(4..=15) => NEAR_15,
                Some(16..=63) => NEAR_63,
                Some(64..=255) => NEAR_255,
                Some(256..=1023) => NEAR_1023,
                Some(_) => FAR,
            };
            counts[pc as usize][bucket] += weight;
        });
        turns.clear();
    }

    fn merge(&mut self, other: Memory) {
        add_counts(&mut self.counts, &other.counts);
        self.lines.merge(other.lines);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.counts.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
        }
        let level = self.lines.level();
        for (_, kept) in self.lines.iter() {
            self.counts[kept.pc as usize][FOOTPRINT] += 1 << level;
        }
        self.counts.iter_mut().for_each(|counts| counts[LEVEL] = u64::from(level));
        Outcome::of(self.counts)
    }
}

/// Lanes whose generic address falls into global memory.
pub(super) fn global_lanes(access: &MemAccess<'_>) -> u32 {
    let global = |lane: &usize| Space::of_generic(access.addresses[*lane]).0 == Space::Global;
    (0..32).filter(global).fold(0, |mask, lane| mask | 1 << lane)
}
