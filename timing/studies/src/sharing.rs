//! Study `sharing`: loads of a vector that some warp has loaded before, so that its register could be shared
//! (LARF, chapter 5), by size of the address mapping table and order of warps.
//!
//! `sharing/table.rs` is the table.

mod table;

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::memory::global_lanes;
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use super::turns::Turns;
use table::{Found, Order, Vector};
use trace_format::isa::Kind;
use trace_format::isa::space::Space;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    LOADS = "global_loads", "warp instructions", "loads from global memory, in effect in some lane";
    IRREGULAR = "irregular_loads", "warp instructions", "those whose addresses have no stride";
    PERFECT_200 = "perfect_200", "warp instructions", "perfect sharing: table of 200 entries, round robin";
    PERFECT_400 = "perfect_400", "warp instructions", "perfect sharing: table of 400 entries, round robin";
    PERFECT_ALL = "perfect_infinite", "warp instructions", "perfect sharing: infinite table, round robin";
    PARTIAL_200 = "partial_200", "warp instructions", "partial sharing: table of 200 entries, round robin";
    PARTIAL_400 = "partial_400", "warp instructions", "partial sharing: table of 400 entries, round robin";
    PARTIAL_ALL = "partial_infinite", "warp instructions", "partial sharing: infinite table, round robin";
    GREEDY_PERFECT_200 = "greedy_perfect_200", "warp instructions", "perfect sharing: table of 200 entries, greedy order";
    GREEDY_PERFECT_400 = "greedy_perfect_400", "warp instructions", "perfect sharing: table of 400 entries, greedy order";
    GREEDY_PERFECT_ALL = "greedy_perfect_infinite", "warp instructions", "perfect sharing: infinite table, greedy order";
    GREEDY_PARTIAL_200 = "greedy_partial_200", "warp instructions", "partial sharing: table of 200 entries, greedy order";
    GREEDY_PARTIAL_400 = "greedy_partial_400", "warp instructions", "partial sharing: table of 400 entries, greedy order";
    GREEDY_PARTIAL_ALL = "greedy_partial_infinite", "warp instructions", "partial sharing: infinite table, greedy order";
}

const ALL: &[usize] = &[LOADS];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "sharing",
    summary: "global loads whose vector another load of the block holds, by table size and order of warps",
    paper: "LARF and LAS (dissertation, chapter 5), Figures 5.6, 5.7",
    text: &[
        "A load from global memory (generic addresses that all fall there included) is regular when the addresses of \
         the lanes in which it takes effect are base + lane x stride; with one such lane the stride is the width of \
         the access. The address mapping table holds base, stride, lanes and width of regular loads that were not \
         found in it, first in, first out. A load is shared perfectly when the table holds the same; partially when \
         the table holds two vectors of its stride and width (or one with other lanes) whose addresses together cover \
         all of its own. Irregular loads are never shared and not entered; shared ones are not entered again.",
        "An entry is of no use once the block has stored to (or changed by an atomic) one of the 128-byte lines that it \
         touches; it keeps its place until it is the first in line, or its vector is loaded again. The table belongs \
         to a block and is empty when it begins; that a register lives only as long as the program needs it is not \
         considered: these are limits. Memory is bounded: an infinite table holds 2^18 vectors at most, and when a block \
         changes more than 2^17 different lines, all entries made before are of no use.",
        "Round robin: warps execute one instruction each in turn. Greedy: a warp goes on until a barrier, or for 1024 \
         instructions. Both wait at barriers.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("perfect_400_share", "Perfect, 400", &[PERFECT_400], ALL),
        Share::percent("partial_400_share", "Partial, 400", &[PARTIAL_400], ALL),
        Share::percent("shared_200_share", "Shared, 200", &[PERFECT_200, PARTIAL_200], ALL),
        Share::percent("shared_400_share", "Shared, 400", &[PERFECT_400, PARTIAL_400], ALL)
            .figure("LARF, Figure 5.7: up to 80 % fewer loads"),
        Share::percent("shared_infinite_share", "Shared, infinite", &[PERFECT_ALL, PARTIAL_ALL], ALL)
            .figure("LARF, Figure 5.6a"),
        Share::percent("greedy_200_share", "Greedy, 200", &[GREEDY_PERFECT_200, GREEDY_PARTIAL_200], ALL)
            .hidden(),
        Share::percent("greedy_400_share", "Greedy, 400", &[GREEDY_PERFECT_400, GREEDY_PARTIAL_400], ALL),
        Share::percent(
            "greedy_infinite_share",
            "Greedy, infinite",
            &[GREEDY_PERFECT_ALL, GREEDY_PARTIAL_ALL],
            ALL,
        ),
        Share::percent("irregular_share", "Irregular", &[IRREGULAR], ALL),
        Share::percent("load_share", "Loads", &[LOADS], &[WARP_INSTRUCTIONS]),
    ],
    figures: &[
        Figure {
            id: "sharing-kinds",
            title: "Global loads that a table of 400 entries shares",
            caption: "After LARF, Figures 5.6 and 5.7: perfect and partial sharing, round robin.",
            marks: Marks::Stack,
            shares: &[0, 1],
        },
        Figure {
            id: "sharing-sizes",
            title: "Shared loads by table size and order of warps",
            caption: "After LARF, Figures 5.6 and 5.7.",
            marks: Marks::Bars,
            shares: &[2, 3, 4, 6, 7],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 3,
    headline: Headline::share(
        3,
        "of the loads from global memory ask for a vector that a table of 400 entries holds",
    ),
    note: |_| None,
};

/// A change or lookup of the table.
#[derive(Clone, Copy, Debug)]
enum Event {
    Load(u32, Vector),
    /// A line is changed.
    Change(u64),
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Sharing {
    counts: Vec<Counts>,
    turns: Turns<Event>,
    round_robin: Order,
    greedy: Order,
}

impl Fold for Sharing {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Sharing {
        Sharing {
            counts: vec![Counts::default(); setting.insts.len()],
            turns: Turns::new(setting.warps()),
            round_robin: Order::default(),
            greedy: Order::default(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), _: u64) {
        self.round_robin.clear();
        self.greedy.clear();
    }

    #[inline]
    fn after(&mut self, (): &(), at: &mut At<'_>) {
        let Some(access) = at.mem.filter(|access| access.mask != 0) else { return };
        let mask = match access.space {
            Space::Global => access.mask,
            Space::Generic => access.mask & global_lanes(access),
            _ => return,
        };
        if mask == 0 {
            return;
        }
        if !matches!(at.inst.kind, Kind::Load(_)) {
            let mut last = u64::MAX;
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                let address = access.addresses[lane];
                for line in address / 128..=address.wrapping_add(u64::from(access.bytes) - 1) / 128 {
                    if line != last {
                        self.turns.push(at.warp, at.step, Event::Change(line));
                    }
                    last = line;
                }
            }
            return;
        }
        if mask != access.mask {
            return;
        }
        let runs = at.runs(access);
        let counts = &mut self.counts[at.pc as usize];
        counts[LOADS] += 1;
        match Vector::of(access.addresses, mask, access.bytes, runs) {
            Some(vector) => self.turns.push(at.warp, at.step, Event::Load(at.pc, vector)),
            None => counts[IRREGULAR] += 1,
        }
    }

    fn end_turn(&mut self, _: &Setting<'_>, (): &()) {
        let Sharing { counts, turns, round_robin, greedy } = self;
        turns.round_robin(|_, event| go(round_robin, counts, event, (PERFECT_200, PARTIAL_200)));
        turns.greedy(|_, event| go(greedy, counts, event, (GREEDY_PERFECT_200, GREEDY_PARTIAL_200)));
        turns.clear();
    }

    fn merge(&mut self, other: Sharing) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.counts.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
        }
        Outcome::of(self.counts)
    }
}

/// Applies an event to the tables of one order, and counts hits in the counters that start at the given
/// perfect and partial ones.
fn go(order: &mut Order, counts: &mut [Counts], event: &Event, (perfect, partial): (usize, usize)) {
    match event {
        Event::Change(line) => order.change(*line),
        Event::Load(pc, vector) => {
            for (i, found) in order.load(vector).into_iter().enumerate() {
                let counts = &mut counts[*pc as usize];
                match found {
                    Found::Perfect => counts[perfect + i] += 1,
                    Found::Partial => counts[partial + i] += 1,
                    Found::Nothing => {}
                }
            }
        }
    }
}
