//! Study `divergence`: active lanes, divergent branches, and redundancy in instructions that only some lanes
//! execute.

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::lanes::shape_in;
use super::sample::Seen;
use super::setting::{At, Decoded, Setting};
use super::total::Total;
use super::values::Shape;
use trace_format::isa::Kind;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    LANES_1_8 = "lanes_1_to_8", "warp instructions", "with 1 to 8 active lanes";
    LANES_9_16 = "lanes_9_to_16", "warp instructions", "with 9 to 16 active lanes";
    LANES_17_24 = "lanes_17_to_24", "warp instructions", "with 17 to 24 active lanes";
    LANES_25_31 = "lanes_25_to_31", "warp instructions", "with 25 to 31 active lanes";
    LANES_32 = "lanes_32", "warp instructions", "with all 32 lanes active";
    SLOTS = "lane_slots", "lane operations", "32 for every warp instruction";
    LAUNCHED = "launched_lane_slots", "lane operations", "lanes that hold threads, summed over warp instructions";
    ACTIVE = "active_lane_operations", "lane operations", "active lanes, summed over warp instructions";
    EFFECTIVE = "effective_lane_operations", "lane operations", "lanes in which the guard held too, summed over warp instructions";
    DIVERGED = "diverged_instructions", "warp instructions", "those that did not take effect in every launched lane";
    BRANCHES = "conditional_branches", "warp instructions", "branches under a guard";
    DIVERGENT = "divergent_branches", "warp instructions", "those that some active lanes took and others did not";
    HIDDEN_UNIFORM = "hidden_uniform_instructions", "warp instructions", "diverged, computing in at least one lane, with the same operands in all of these";
    HIDDEN_AFFINE = "hidden_affine_instructions", "warp instructions", "the same, with operands base + lane x stride, not all uniform";
}

const ALL: &[usize] = &[WARP_INSTRUCTIONS];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "divergence",
    summary: "lanes active, branch efficiency, redundancy hidden by divergence",
    paper: "none of the papers; DARSIE counts diverged instructions as not redundant (section 1)",
    text: &[
        "Active lanes are those on the path; lanes of a partial warp that hold no thread are not active. An \
         instruction has diverged when it does not take effect in every launched lane, because of control flow or of \
         its guard; for transfers of control the guard is an operand.",
        "Hidden redundancy: a diverged instruction that reads at least one register and takes effect in at least one \
         lane, and reads, computes, loads or stores (atomics excepted), has operands; they are uniform when every \
         register and predicate operand is the same in all lanes in which it takes effect, and affine when each \
         register, or pair of registers as one number, is base + lane x stride there (the stride between the first two \
         of these lanes must be a whole number) and predicates are uniform. The study redundancy counts none of them.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("simd_efficiency", "SIMD efficiency", &[ACTIVE], &[SLOTS])
            .meaning("active lanes of 32"),
        Share::percent("lane_efficiency", "Of launched lanes", &[ACTIVE], &[LAUNCHED]),
        Share::percent("effective_share", "Effective", &[EFFECTIVE], &[SLOTS])
            .meaning("lanes in which the guard held too, of 32"),
        Share::percent("diverged_share", "Diverged", &[DIVERGED], ALL),
        Share::percent("divergent_branch_share", "Divergent branches", &[DIVERGENT], &[BRANCHES])
            .meaning("of branches under a guard; branch efficiency is what is left to 100 %"),
        Share::percent("hidden_uniform_share", "Hidden uniform", &[HIDDEN_UNIFORM], ALL),
        Share::percent("hidden_affine_share", "Hidden affine", &[HIDDEN_AFFINE], ALL),
        Share::percent(
            "hidden_of_diverged",
            "Hidden of diverged",
            &[HIDDEN_UNIFORM, HIDDEN_AFFINE],
            &[DIVERGED],
        ),
        Share::percent("lanes_1_to_8_share", "1–8 lanes", &[LANES_1_8], ALL).hidden(),
        Share::percent("lanes_9_to_16_share", "9–16 lanes", &[LANES_9_16], ALL).hidden(),
        Share::percent("lanes_17_to_24_share", "17–24 lanes", &[LANES_17_24], ALL).hidden(),
        Share::percent("lanes_25_to_31_share", "25–31 lanes", &[LANES_25_31], ALL).hidden(),
        Share::percent("lanes_32_share", "32 lanes", &[LANES_32], ALL).hidden(),
    ],
    figures: &[
        Figure {
            id: "divergence-lanes",
            title: "Warp instructions by active lanes",
            caption: "All dynamic warp instructions by the number of their active lanes.",
            marks: Marks::Stack,
            shares: &[8, 9, 10, 11, 12],
        },
        Figure {
            id: "divergence-hidden",
            title: "Redundancy hidden by divergence",
            caption: "Diverged instructions with uniform or affine operands in the lanes that execute them, of all.",
            marks: Marks::Stack,
            shares: &[5, 6],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 3,
    headline: Headline::share(3, "of the warp instructions do not take effect in every launched lane"),
    note: |_| None,
};

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Divergence {
    counts: Vec<Counts>,
}

impl Fold for Divergence {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Divergence {
        Divergence { counts: vec![Counts::default(); setting.insts.len()] }
    }

    #[inline]
    fn before(&mut self, (): &(), at: &mut At<'_>) {
        if at.exec == u32::MAX {
            return;
        }
        let counts = &mut self.counts[at.pc as usize];
        let active = at.active.count_ones();
        counts[LANES_1_8 + (active.saturating_sub(1) / 8) as usize + usize::from(active == 32)] += 1;
        let separates = is_conditional_branch(at.inst) && at.exec != 0 && at.exec != at.active;
        counts[DIVERGENT] += u64::from(separates);
        let lanes = at.effective();
        if lanes == at.launched {
            return;
        }
        let computes = matches!(at.inst.kind, Kind::Pure | Kind::External | Kind::Load(_) | Kind::Store(_));
        if !computes || lanes == 0 || at.inst.read_count() == 0 {
            return;
        }
        match shape_of_operands(at, lanes) {
            Shape::Uniform => counts[HIDDEN_UNIFORM] += 1,
            Shape::Affine => counts[HIDDEN_AFFINE] += 1,
            Shape::Unstructured => {}
        }
    }

    fn merge(&mut self, other: Divergence) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for ((counts, total), inst) in self.counts.iter_mut().zip(totals).zip(&setting.insts) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[LANES_32] += total.full();
            counts[SLOTS] = 32 * total.executed();
            counts[LAUNCHED] = total.launched_lanes();
            counts[ACTIVE] = total.active_lanes();
            counts[EFFECTIVE] = total.exec_lanes();
            counts[DIVERGED] = total.diverged();
            counts[BRANCHES] = if is_conditional_branch(inst) { total.executed() } else { 0 };
        }
        Outcome::of(self.counts)
    }
}

fn is_conditional_branch(inst: &Decoded) -> bool {
    inst.kind == Kind::Branch && (!inst.guard.pred.is_true() || inst.guard.not)
}

/// Shape of all operands over some lanes.
pub(super) fn shape_of_operands(at: &At<'_>, lanes: u32) -> Shape {
    let mut all = Shape::Uniform;
    for span in at.inst.sources {
        all = all.max(shape_in(at, span, lanes));
        if all == Shape::Unstructured {
            return all;
        }
    }
    let mixed = |pred: u8| {
        let mask = at.state.pred(pred) & lanes;
        mask != 0 && mask != lanes
    };
    if (0..7).any(|pred| at.inst.preds >> pred & 1 != 0 && mixed(pred)) { Shape::Unstructured } else { all }
}
