//! Study `uniform`: redundant scalar operations, because every lane of a warp does the same, or because
//! another warp has just done the same for all of its lanes (UV, Figure 2).

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::{Map, Seen};
use super::setting::{At, Setting};
use super::total::Total;
use super::turns::Turns;
use super::values::{Digest, Shape};
use trace_format::isa::Kind;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    SCALAR = "scalar_operations", "scalar operations", "active lanes, summed over warp instructions";
    INTRA = "uniform_instructions", "warp instructions", "intra-warp uniform ones";
    INTRA_REDUNDANT = "uniform_redundant", "scalar operations", "all lanes but one of these";
    HITS_2 = "hits_2", "warp instructions", "uniform ones found in a reuse buffer of 2 entries";
    HITS_4 = "hits_4", "warp instructions", "uniform ones found in a reuse buffer of 4 entries";
    HITS_8 = "hits_8", "warp instructions", "uniform ones found in a reuse buffer of 8 entries";
    HITS_16 = "hits_16", "warp instructions", "uniform ones found in a reuse buffer of 16 entries";
    HITS_32 = "hits_32", "warp instructions", "uniform ones found in a reuse buffer of 32 entries";
    HITS_ALL = "hits_infinite", "warp instructions", "uniform ones that the block has executed before";
    LANES_2 = "hit_lanes_2", "scalar operations", "lanes of the hits with 2 entries";
    LANES_4 = "hit_lanes_4", "scalar operations", "lanes of the hits with 4 entries";
    LANES_8 = "hit_lanes_8", "scalar operations", "lanes of the hits with 8 entries";
    LANES_16 = "hit_lanes_16", "scalar operations", "lanes of the hits with 16 entries";
    LANES_32 = "hit_lanes_32", "scalar operations", "lanes of the hits with 32 entries";
    LANES_ALL = "hit_lanes_infinite", "scalar operations", "lanes of the hits with as many entries as it takes";
}

/// Entries of the reuse buffers.
const SIZES: [usize; 5] = [2, 4, 8, 16, 32];
const ALL: &[usize] = &[SCALAR];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "uniform",
    summary: "redundant scalar operations within and across warps, by size of the reuse buffer",
    paper: "UV (ICS 2013), Figure 2",
    text: &[
        "An instruction is intra-warp uniform when it takes effect in every launched lane and each of its operands, \
         register or predicate, is the same in all of them; immediates and constants are, and a special register is \
         its own operand. Of its lanes, all but one are redundant. It is inter-warp uniform when it is intra-warp \
         uniform and the reuse buffer holds the same instruction with the same operand values. Branches, barriers and \
         memory instructions are never redundant, as in the paper.",
        "The reuse buffer belongs to a block, is empty when the block begins, is looked up and filled by every \
         intra-warp uniform instruction, and gives up the entry least recently used; warps execute one instruction \
         each in turn and wait at barriers. With as many entries as it takes, an instruction hits when any warp of \
         the block has executed it on the same values before (at most 2^20 values are remembered per block).",
        "The paper counts 31 redundant operations per intra-warp uniform instruction, 32 per hit when only hits are \
         exploited, and one more per hit when both are; the denominator is all scalar operations, diverged ones, \
         branches and memory included. Averages are geometric.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("intra_share", "Intra-warp", &[INTRA_REDUNDANT], ALL).figure("UV, Figure 2: 18.1 %"),
        Share::percent("inter_2", "Inter, 2 entries", &[LANES_2], ALL).figure("UV, Figure 12").hidden(),
        Share::percent("inter_4", "Inter, 4 entries", &[LANES_4], ALL).figure("UV, Figure 12").hidden(),
        Share::percent("inter_8", "Inter, 8 entries", &[LANES_8], ALL).figure("UV, Figure 2: 8.9 %"),
        Share::percent("inter_16", "Inter, 16 entries", &[LANES_16], ALL).figure("UV, Figure 12").hidden(),
        Share::percent("inter_32", "Inter, 32 entries", &[LANES_32], ALL).hidden(),
        Share::percent("inter_infinite", "Inter, infinite", &[LANES_ALL], ALL),
        Share::percent("both_8", "Both, 8 entries", &[INTRA_REDUNDANT, HITS_8], ALL)
            .figure("UV, Figure 2: 18.4 %"),
        Share::percent("both_infinite", "Both, infinite", &[INTRA_REDUNDANT, HITS_ALL], ALL),
        Share::percent("uniform_share", "Uniform instructions", &[INTRA], &[WARP_INSTRUCTIONS]),
        Share::percent("hit_rate_8", "Hit rate, 8 entries", &[HITS_8], &[INTRA]),
    ],
    figures: &[
        Figure {
            id: "uniform-redundant",
            title: "Redundant scalar operations",
            caption: "After UV, Figure 2: within warps, across warps with 8 entries, both.",
            marks: Marks::Bars,
            shares: &[0, 3, 7],
        },
        Figure {
            id: "uniform-buffer",
            title: "Redundant operations across warps by size of the reuse buffer",
            caption: "Entries of the reuse buffer; UV chooses 8.",
            marks: Marks::Lines("Entries", &[2.0, 4.0, 8.0, 16.0, 32.0]),
            shares: &[1, 2, 3, 4, 5],
        },
    ],
    course: None,
    mean: Mean::Geometric,
    worst_by: 0,
    headline: Headline::share(0, "of the scalar operations repeat that of another lane of their warp"),
    note: |_| None,
};

/// Maximum number of values kept for a block.
const MOST_REMEMBERED: usize = 1 << 20;

/// A uniform instruction.
#[derive(Clone, Copy, Debug)]
struct Event {
    pc: u32,
    lanes: u32,
    key: Digest,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Uniform {
    counts: Vec<Counts>,
    turns: Turns<Event>,
    /// The largest reuse buffer, most recently used first: a smaller one holds the first of these.
    recent: Vec<Digest>,
    all: Map<()>,
}

impl Uniform {
    #[inline]
    fn uniform(&mut self, at: &At<'_>, key: Digest) {
        let counts = &mut self.counts[at.pc as usize];
        let lanes = at.launched.count_ones();
        counts[INTRA] += 1;
        counts[INTRA_REDUNDANT] += u64::from(lanes - 1);
        self.turns.push(at.warp, at.step, Event { pc: at.pc, lanes, key });
    }
}

impl Fold for Uniform {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Uniform {
        Uniform {
            counts: vec![Counts::default(); setting.insts.len()],
            turns: Turns::new(setting.warps()),
            recent: Vec::with_capacity(SIZES[4]),
            all: Map::default(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), _: u64) {
        self.recent.clear();
        self.all.clear();
    }

    #[inline]
    fn before(&mut self, (): &(), at: &mut At<'_>) {
        if at.inst.kind != Kind::Pure || at.exec != at.launched || at.inst.special {
            return;
        }
        for reg in at.inst.reads() {
            if at.shape(reg) != Shape::Uniform {
                return;
            }
        }
        let mut key = Digest::default().then(Digest::of_word(u64::from(at.pc)));
        for reg in at.inst.reads() {
            key = key.then(Digest::of_word(u64::from(at.row(reg).0[0])));
        }
        let mut preds = at.inst.preds;
        while preds != 0 {
            let mask = at.state.pred(preds.trailing_zeros() as u8) & at.launched;
            preds &= preds - 1;
            if mask != 0 && mask != at.launched {
                return;
            }
            key = key.then(Digest::of_word(u64::from(mask != 0)));
        }
        self.uniform(at, key);
    }

    #[inline]
    fn after(&mut self, (): &(), at: &mut At<'_>) {
        if !at.inst.special || at.inst.kind != Kind::Pure || at.exec != at.launched {
            return;
        }
        let Some(reg) = at.inst.writes.iter().next() else { return };
        if at.shape(reg) == Shape::Uniform {
            let key = Digest::default().then(Digest::of_word(u64::from(at.pc)));
            self.uniform(at, key.then(Digest::of_word(u64::from(at.row(reg).0[0]))));
        }
    }

    fn end_turn(&mut self, _: &Setting<'_>, (): &()) {
        let Uniform { counts, turns, recent, all } = self;
        turns.round_robin(|_, event| {
            let counts = &mut counts[event.pc as usize];
            let place = recent.iter().position(|key| *key == event.key);
            for (i, size) in SIZES.iter().enumerate() {
                if place.is_some_and(|place| place < *size) {
                    counts[HITS_2 + i] += 1;
                    counts[LANES_2 + i] += u64::from(event.lanes);
                }
            }
            match place {
                Some(place) => recent[..=place].rotate_right(1),
                None => {
                    recent.truncate(SIZES[4] - 1);
                    recent.insert(0, event.key);
                }
            }
            if place.is_some() || all.contains_key(&event.key) {
                counts[HITS_ALL] += 1;
                counts[LANES_ALL] += u64::from(event.lanes);
            } else if all.len() < MOST_REMEMBERED {
                all.insert(event.key, ());
            }
        });
        turns.clear();
    }

    fn merge(&mut self, other: Uniform) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.counts.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[SCALAR] = total.active_lanes();
        }
        Outcome::of(self.counts)
    }
}
