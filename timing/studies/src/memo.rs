//! Study `memo`: instructions that have been executed before on the same operands, in the same block, the
//! same launch or an earlier launch of the kernel; a table of results could supply them.

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::{MAX_KEPT, Seen};
use super::setting::{At, Setting};
use super::total::Total;
use super::values::{Digest, Words};
use trace_format::isa::{Inst, Kind, Operand};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    CANDIDATES = "candidates", "warp instructions", "pure ones that read a register or predicate and take effect";
    BLOCK = "repeated_in_block", "warp instructions", "candidates that the block has executed before on the same operands";
    LAUNCH = "repeated_in_launch", "warp instructions", "candidates that the launch has executed before on the same operands";
    PROGRAM = "repeated_in_program", "warp instructions", "candidates that this or an earlier launch of the kernel has executed before on the same operands";
    DISTINCT = "distinct_operands", "lists of operands", "on which candidates were executed, per launch";
    #[max] LEVEL = "sampled_level", "bits", "one of 2^n lists of operands was followed";
}

const ALL: &[usize] = &[WARP_INSTRUCTIONS];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "memo",
    summary: "instructions whose operands repeat in time, within and across launches",
    paper: "none of the papers; after instruction reuse (Sodani and Sohi, ISCA 1997), for whole warps",
    text: &[
        "A candidate is a pure instruction (its results are a function of its operands) other than one that reads a \
         special register, with at least one register or predicate operand, in effect in some lane. Its operands are \
         the lanes in which it takes effect and, in these, the values of its registers and predicates, and constants \
         from banks. It repeats when the same instruction of the kernel was executed before, by any warp, on the same \
         operands: in its block, in its launch, in its launch or an earlier one of the same kernel with the same \
         shape of blocks. Which of several warps comes first does not matter for the counts: of n executions on the \
         same operands, n - 1 repeat.",
        "Operands are compared by 128-bit digests. Memory is bounded: when a launch has more than 2^15 different \
         lists of operands, or is so long that it may have, only those whose digest ends in n zero bits are followed \
         and their counts multiplied by 2^n; a note says so. These counts are then estimates.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("candidate_share", "Candidates", &[CANDIDATES], ALL),
        Share::percent("block_share", "Repeated in block", &[BLOCK], ALL),
        Share::percent("launch_share", "Repeated in launch", &[LAUNCH], ALL),
        Share::percent("program_share", "Repeated in program", &[PROGRAM], ALL),
        Share::percent("launch_of_candidates", "Of candidates", &[LAUNCH], &[CANDIDATES])
            .meaning("of candidates, those repeated in their launch"),
        Share::number(
            "executions_per_operands",
            "Executions per list",
            "executions",
            &[CANDIDATES],
            &[DISTINCT],
        ),
    ],
    figures: &[Figure {
        id: "memo-repeated",
        title: "Instructions repeated on the same operands",
        caption: "Of all dynamic warp instructions; each scope contains the one before.",
        marks: Marks::Bars,
        shares: &[1, 2, 3],
    }],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 2,
    headline: Headline::share(
        2,
        "of the warp instructions repeat an execution on the same operands in their launch",
    ),
    note: |counts| {
        (counts[LEVEL] > 0).then(|| {
            format!(
                "memo is estimated from one in {} lists of operands in the largest launch.",
                1u64 << counts[LEVEL]
            )
        })
    },
};

/// Digest of the parts that all executions of a candidate instruction in this launch share.
pub(crate) type Statics = Vec<Option<Digest>>;

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Memo {
    counts: Vec<Counts>,
    seen: Seen,
    block: u64,
}

fn common(setting: &Setting<'_>, pc: usize, inst: &Inst) -> Option<Digest> {
    let decoded = &setting.insts[pc];
    let candidate =
        decoded.kind == Kind::Pure && !decoded.special && (decoded.read_count() > 0 || decoded.preds != 0);
    let mut digest = Digest::default().then(Digest::of_word(pc as u64));
    for (source, words) in inst.src.iter().zip(inst.info().src_regs) {
        if let Operand::Const { bank, offset } = source.operand {
            for word in 0..usize::from(words) {
                let word = setting.banks.word(bank, usize::from(offset) + 4 * word);
                digest = digest.then(Digest::of_word(u64::from(word)));
            }
        }
    }
    candidate.then_some(digest)
}

/// A row in which the lanes outside a mask are zero.
fn masked(row: &Words, lanes: u32) -> Words {
    std::array::from_fn(|lane| if lanes >> lane & 1 != 0 { row[lane] } else { 0 })
}

impl Fold for Memo {
    type Statics = Statics;

    fn statics(setting: &Setting<'_>) -> Statics {
        setting.kernel.insts.iter().enumerate().map(|(pc, inst)| common(setting, pc, inst)).collect()
    }

    fn new(setting: &Setting<'_>, statics: &Statics) -> Memo {
        let mut seen = Seen::for_launch(setting.warp_instructions);
        // A full set would be reduced to this level later; starting at it saves the work.
        let level = (setting.warp_instructions / (2 * MAX_KEPT as u64)).checked_ilog2().map_or(0, |n| n + 1);
        seen.begin_at(level, setting.warp_instructions);
        Memo { counts: vec![Counts::default(); statics.len()], seen, block: 0 }
    }

    fn begin_block(&mut self, _: &Setting<'_>, _: &Statics, block: u64) {
        self.block = block;
    }

    #[inline]
    fn before(&mut self, statics: &Statics, at: &mut At<'_>) {
        let Some(mut digest) = statics[at.pc as usize] else { return };
        if at.exec == 0 {
            return;
        }
        digest = digest.then(Digest::of_mask(at.exec));
        let whole = at.exec == u32::MAX;
        for reg in at.inst.reads() {
            let item = if whole {
                at.digest(reg)
            } else {
                Digest::of_lanes(&masked(&at.row(reg).0, at.exec), 0, 32)
            };
            digest = digest.then(item);
        }
        let mut preds = at.inst.preds;
        while preds != 0 {
            let mask = at.state.pred(preds.trailing_zeros() as u8) & at.exec;
            preds &= preds - 1;
            digest = digest.then(Digest::of_mask(mask));
        }
        self.seen.see(digest, at.pc, self.block);
    }

    fn merge(&mut self, other: Memo) {
        add_counts(&mut self.counts, &other.counts);
        self.seen.merge(other.seen);
    }

    fn finish(mut self, _: &Setting<'_>, statics: &Statics, totals: &[Total], earlier: &mut Seen) -> Outcome {
        for ((counts, total), candidate) in self.counts.iter_mut().zip(totals).zip(statics) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[CANDIDATES] = if candidate.is_some() { total.in_effect() } else { 0 };
        }
        let level = self.seen.level();
        let common = level.max(earlier.level());
        for (digest, kept) in self.seen.iter() {
            let counts = &mut self.counts[kept.pc as usize];
            counts[DISTINCT] += 1 << level;
            counts[BLOCK] += u64::from(kept.times - kept.blocks) << level;
            counts[LAUNCH] += u64::from(kept.times - 1) << level;
            if Seen::keeps(digest, common) {
                let first = u32::from(!earlier.contains(digest));
                counts[PROGRAM] += u64::from(kept.times - first) << common;
            }
        }
        self.counts.iter_mut().for_each(|counts| counts[LEVEL] = u64::from(common));
        earlier.merge(self.seen);
        Outcome::of(self.counts)
    }
}
