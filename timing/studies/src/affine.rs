//! Study `affine`: instructions that compute on scalar data and thread indices, and how many of those executed have
//! operands and results of the form base + lane · stride (DAC, Figures 6, 18 and 19, section 4.3).
//!
//! `affine/potential.rs` has the static analysis, `affine/indices.rs` the form with an offset per thread index.

mod indices;
mod potential;

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::lanes::shape_in;
use super::redundancy::shape_of_span;
use super::sample::Seen;
use super::setting::{At, Setting, Span, across_lanes};
use super::total::Total;
use super::values::Shape;
use indices::Steps;
use trace_format::isa::space::Space;
use trace_format::isa::{Kind, Op, Pred};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    STATIC = "static_instructions", "instructions", "instructions of the kernel";
    STATIC_POTENTIAL = "potentially_affine_static", "instructions", "those that compute on scalar data and thread indices alone";
    POTENTIAL = "potentially_affine", "warp instructions", "executions of these";
    COVERED = "affine_instructions", "warp instructions", "undiverged ones with affine operands and results";
    COVERED_DIVERGED = "affine_diverged", "warp instructions", "diverged ones with operands and results that are affine in their lanes";
    PRED_SCALAR = "predicates_scalar", "warp instructions", "affine integer comparisons of two scalars";
    PRED_ENDS = "predicates_end_points", "warp instructions", "affine integer comparisons with one scalar and the same outcome in all lanes";
    PRED_ALL = "predicates_all_lanes", "warp instructions", "affine integer comparisons with one scalar and different outcomes";
    LOADS = "loads", "warp instructions", "global and local loads in effect in some lane";
    LOADS_AFFINE = "affine_loads", "warp instructions", "undiverged ones with an affine address";
    LOADS_DIVERGED = "affine_loads_diverged", "warp instructions", "diverged ones with an address that is affine in their lanes";
    BY_INDEX = "affine_by_index", "warp instructions", "undiverged ones that are affine only with an offset per thread index";
    LOADS_BY_INDEX = "affine_loads_by_index", "warp instructions", "undiverged loads with an address that is affine only with an offset per thread index";
}

const ALL: &[usize] = &[WARP_INSTRUCTIONS];
const PREDICATES: &[usize] = &[PRED_SCALAR, PRED_ENDS, PRED_ALL];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "affine",
    summary: "potentially affine instructions, affine coverage with and without divergence, predicates, loads",
    paper: "DAC (ISCA 2017), Figures 6, 18, 19, section 4.3",
    text: &[
        "Potentially affine is a static property: every value that the instruction reads (of a memory instruction: \
         its address) comes, on every path, from constants, parameters, block and thread indices by way of other \
         such instructions, and from no load, atomic, clock or other lane. Unconditional branches, barriers and \
         instructions that compute nothing do not count, but are in the denominator, which is all instructions of \
         the kernel's machine code.",
        "Covered are executed instructions that an affine unit could have done: neither memory nor control nor \
         across lanes nor matrix; every register operand and result is uniform or base + lane x stride, modulo 2^32 \
         (2^64 for pairs); predicate operands are the same in all lanes. Without support for divergence the \
         instruction has to take effect in all launched lanes; with it, the same is asked of the lanes in which it \
         takes effect, and the stride must be a whole number. One stride per warp is what CAE tracks. DAC's tuples have \
         an offset for each thread index: where a warp spans several lines of its block, undiverged instructions are \
         covered too whose operands and results are base + x offset x + y offset y + z offset z over the thread's \
         indices x, y, z in its block, in the same number of bits (affine by index). An integer comparison is covered when at least one \
         operand is uniform; other instructions that set predicates need uniform operands.",
        "Of covered undiverged comparisons, by index or not: scalar when both operands are uniform; end points suffice when the \
         outcome is the same in every lane; all lanes otherwise. Loads are global and local ones (a generic load \
         counts as global).",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("static_share", "Potential, static", &[STATIC_POTENTIAL], &[STATIC])
            .figure("DAC, Figure 6: about half"),
        Share::percent("potential_share", "Potential, executed", &[POTENTIAL], ALL),
        Share::percent("coverage", "Covered", &[COVERED], ALL)
            .figure("DAC, Figure 18: CAE 25 %")
            .meaning("affine without support for divergence"),
        Share::percent(
            "coverage_with_divergence",
            "With divergence",
            &[COVERED, BY_INDEX, COVERED_DIVERGED],
            ALL,
        )
        .figure("DAC, Figure 18: DAC 34 %")
        .meaning("affine by stride or by index, with support for divergence"),
        Share::percent("predicates_scalar_share", "Scalar predicates", &[PRED_SCALAR], PREDICATES)
            .figure("DAC, section 4.3: 64 %"),
        Share::percent("predicates_ends_share", "End points suffice", &[PRED_SCALAR, PRED_ENDS], PREDICATES)
            .figure("DAC, section 4.3: 93 %")
            .meaning("scalar ones included"),
        Share::percent("predicates_all_share", "All lanes", &[PRED_ALL], PREDICATES)
            .figure("DAC, section 4.3: 7 %"),
        Share::percent("affine_load_share", "Affine loads", &[LOADS_AFFINE], &[LOADS]),
        Share::percent(
            "affine_load_share_with_divergence",
            "Loads with div.",
            &[LOADS_AFFINE, LOADS_BY_INDEX, LOADS_DIVERGED],
            &[LOADS],
        )
        .figure("DAC, Figure 19: 79.8 %")
        .meaning("loads with an address affine by stride or by index, diverged ones included"),
        Share::percent("coverage_by_index", "Covered by index", &[COVERED, BY_INDEX], ALL)
            .meaning("affine by stride or by index, without support for divergence"),
    ],
    figures: &[
        Figure {
            id: "affine-static",
            title: "Instructions that compute on scalar data and thread indices",
            caption: "After DAC, Figure 6: of the kernel's instructions.",
            marks: Marks::Bars,
            shares: &[0],
        },
        Figure {
            id: "affine-coverage",
            title: "Affine instructions executed",
            caption: "After DAC, Figure 18, by values: one stride per warp (CAE), an offset per thread index, and with \
                      support for divergence (DAC).",
            marks: Marks::Bars,
            shares: &[2, 9, 3],
        },
        Figure {
            id: "affine-loads",
            title: "Loads with affine addresses",
            caption: "After DAC, Figure 19.",
            marks: Marks::Bars,
            shares: &[7, 8],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 3,
    headline: Headline::share(
        3,
        "of the warp instructions could be computed on a base and offsets in place of 32 lanes",
    ),
    note: |_| None,
};

/// Classes of instructions for an affine unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// Computes registers.
    Computes,
    /// Compares integers; the result is in this predicate.
    Compares(Pred),
    /// Computes only predicates, but not by an integer comparison.
    Decides,
    /// Loads from global or local memory.
    Loads,
    /// Any other instruction.
    Other,
}

/// Static facts of each instruction.
#[derive(Debug)]
pub(crate) struct Statics {
    classes: Vec<Class>,
    potential: Vec<bool>,
    /// Index steps of each warp that spans several lines of its block.
    steps: Vec<Option<Steps>>,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Affine {
    counts: Vec<Counts>,
    /// Form of the current instruction's operands, if all are affine; set before its step, used after it.
    pending: Option<Form>,
}

fn class(inst: &trace_format::isa::Inst) -> Class {
    match inst.kind() {
        Kind::Load(Space::Global | Space::Generic | Space::Local) => Class::Loads,
        Kind::Pure if !across_lanes(inst) => {
            if inst.dst_span().is_some() {
                return Class::Computes;
            }
            match inst.dst_preds().next() {
                Some(pred) if matches!(inst.op, Op::Isetp { .. }) => Class::Compares(pred),
                Some(_) => Class::Decides,
                None => Class::Other,
            }
        }
        _ => Class::Other,
    }
}

/// Form of affine registers across lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Form {
    Uniform,
    Stride,
    ByIndex,
}

/// Form of an operand in the lanes in which an instruction takes effect.
#[inline(always)]
fn form(statics: &Statics, at: &mut At<'_>, span: Span) -> Option<Form> {
    let whole = at.exec == at.launched;
    let shape = if whole { shape_of_span(span, at) } else { shape_in(at, span, at.exec) };
    match shape {
        Shape::Uniform => Some(Form::Uniform),
        Shape::Affine => Some(Form::Stride),
        Shape::Unstructured => {
            let steps = statics.steps[at.warp].as_ref().filter(|_| whole)?;
            steps.describe(at, span).then_some(Form::ByIndex)
        }
    }
}

impl Affine {
    #[inline]
    fn covered(&mut self, at: &At<'_>, form: Form) {
        let key = match (form, at.exec == at.launched) {
            (Form::ByIndex, _) => BY_INDEX,
            (_, true) => COVERED,
            (_, false) => COVERED_DIVERGED,
        };
        self.counts[at.pc as usize][key] += 1;
    }
}

impl Fold for Affine {
    type Statics = Statics;

    fn statics(setting: &Setting<'_>) -> Statics {
        let potential = potential::potentially_affine(setting.kernel);
        let steps = (0..setting.warps()).map(|warp| Steps::of(&setting.geometry, warp)).collect();
        Statics { classes: setting.kernel.insts.iter().map(class).collect(), potential, steps }
    }

    fn new(_: &Setting<'_>, statics: &Statics) -> Affine {
        Affine { counts: vec![Counts::default(); statics.classes.len()], pending: None }
    }

    #[inline]
    fn before(&mut self, statics: &Statics, at: &mut At<'_>) {
        self.pending = None;
        let (class, lanes) = (statics.classes[at.pc as usize], at.exec);
        if class == Class::Other || lanes == 0 {
            return;
        }
        if class == Class::Loads {
            let counts = &mut self.counts[at.pc as usize];
            counts[LOADS] += 1;
            match form(statics, at, at.inst.sources[0]) {
                Some(Form::ByIndex) => counts[LOADS_BY_INDEX] += 1,
                Some(_) if lanes == at.launched => counts[LOADS_AFFINE] += 1,
                Some(_) => counts[LOADS_DIVERGED] += 1,
                None => {}
            }
            return;
        }
        let mixed = |pred: u8| {
            let mask = at.state.pred(pred) & lanes;
            at.inst.preds >> pred & 1 != 0 && mask != 0 && mask != lanes
        };
        if at.inst.preds != 0 && (0..7).any(mixed) {
            return;
        }
        let (mut worst, mut affine) = (Form::Uniform, 0);
        for span in at.inst.sources {
            let Some(form) = form(statics, at, span) else { return };
            affine += u32::from(form != Form::Uniform);
            worst = worst.max(form);
        }
        let scalars = if class == Class::Computes { u32::MAX } else { u32::from(class != Class::Decides) };
        if affine <= scalars {
            self.pending = Some(worst);
        }
    }

    #[inline]
    fn after(&mut self, statics: &Statics, at: &mut At<'_>) {
        let Some(operands) = self.pending.take() else { return };
        let lanes = at.exec;
        if let Class::Compares(pred) = statics.classes[at.pc as usize] {
            self.covered(at, operands);
            if lanes == at.launched {
                let outcome = at.state.pred(pred.0) & lanes;
                let same = outcome == 0 || outcome == lanes;
                let kind = match operands {
                    Form::Uniform => PRED_SCALAR,
                    _ if same => PRED_ENDS,
                    _ => PRED_ALL,
                };
                self.counts[at.pc as usize][kind] += 1;
            }
        } else if let Some(result) = form(statics, at, at.inst.writes) {
            self.covered(at, operands.max(result));
        }
    }

    fn merge(&mut self, other: Affine) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, statics: &Statics, totals: &[Total], _: &mut Seen) -> Outcome {
        for ((counts, potential), total) in self.counts.iter_mut().zip(&statics.potential).zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            // Instructions of a kernel are counted once for all its launches.
            counts[STATIC] = u64::from(setting.first);
            counts[STATIC_POTENTIAL] = u64::from(*potential && setting.first);
            counts[POTENTIAL] = if *potential { counts[WARP_INSTRUCTIONS] } else { 0 };
        }
        Outcome::of(self.counts)
    }
}
