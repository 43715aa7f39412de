//! Study `width`: bytes that register values need, and how often operands of one instruction would fit into
//! one physical register (CORF, Figures 2.2, 2.3, 2.4 and 2.6).

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use warplab_analysis::affinity::{Affinity, operand_pairs};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    READ_1 = "reads_1_byte", "register reads", "of a register all of whose lanes fit one byte with its sign";
    READ_2 = "reads_2_bytes", "register reads", "of a register that needs two bytes";
    READ_3 = "reads_3_bytes", "register reads", "of a register that needs three bytes";
    READ_4 = "reads_4_bytes", "register reads", "of a register that needs all four bytes";
    WRITE_1 = "writes_1_byte", "register writes", "that leave a register of one byte";
    WRITE_2 = "writes_2_bytes", "register writes", "that leave a register of two bytes";
    WRITE_3 = "writes_3_bytes", "register writes", "that leave a register of three bytes";
    WRITE_4 = "writes_4_bytes", "register writes", "that leave a register of four bytes";
    UNUSED = "unused_read_bytes", "bytes per lane", "bytes of read registers that sign extension would restore";
    MULTI = "multi_operand_instructions", "warp instructions", "those that read different registers as two or more operands";
    MULTI_READS = "multi_operand_reads", "register reads", "reads by those instructions";
    FITTING = "coalesceable_instructions", "warp instructions", "those of which two operands need no more than four bytes together";
    PAIRS = "pair_reads", "pairs of reads", "of two registers that the compiler pairs, by one instruction";
    PAIRS_FIT = "pair_reads_that_fit", "pairs of reads", "those that need no more than four bytes together";
}

const READS: &[usize] = &[READ_1, READ_2, READ_3, READ_4];
const ACCESSES: &[usize] = &[READ_1, READ_2, READ_3, READ_4, WRITE_1, WRITE_2, WRITE_3, WRITE_4];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "width",
    summary: "bytes that register values need, unused bandwidth, operands that fit one register",
    paper: "CORF (ASPLOS 2019; dissertation, chapter 2), Figures 2.2, 2.3, 2.4, 2.6",
    text: &[
        "A register needs as many bytes as its widest lane does, so that sign extension restores every lane; all 32 \
         lanes count, active or not, as in the paper's width detection. The halves of a 64-bit value are two \
         registers. A register that an instruction reads as several operands is read once. Instructions that take \
         effect in no lane read and write nothing.",
        "Operands fit together when two different registers of different operands need no more than four bytes \
         together: one physical register would hold both. The compiler's pairs are those of the technique corf: \
         exclusive pairs from the register affinity graph, loops of unknown length counting ten times.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent(
            "narrow_share",
            "Narrow",
            &[READ_1, READ_2, READ_3, WRITE_1, WRITE_2, WRITE_3],
            ACCESSES,
        )
        .figure("CORF, Figure 2.2: 65 %")
        .meaning("register operations on less than four bytes"),
        Share::percent("one_byte_share", "1 byte", &[READ_1, WRITE_1], ACCESSES)
            .figure("CORF, Figure 2.2: over 33 %"),
        Share::percent("two_bytes_share", "2 bytes", &[READ_2, WRITE_2], ACCESSES).figure("CORF, Figure 2.2"),
        Share::percent("three_bytes_share", "3 bytes", &[READ_3, WRITE_3], ACCESSES)
            .figure("CORF, Figure 2.2"),
        Share::percent("four_bytes_share", "4 bytes", &[READ_4, WRITE_4], ACCESSES)
            .figure("CORF, Figure 2.2"),
        Share::percent("unused_bandwidth", "Unused bandwidth", &[UNUSED], READS)
            .times(0.25)
            .figure("CORF, Figure 2.3")
            .meaning("bytes read that need not be, of four per read and lane"),
        Share::percent("multi_operand_share", "Two operands", &[MULTI], &[WARP_INSTRUCTIONS])
            .figure("CORF, section 2.3: about 40 %"),
        Share::percent("multi_operand_read_share", "Reads by these", &[MULTI_READS], READS)
            .figure("CORF, section 2.3: over 70 %"),
        Share::percent("coalesceable_share", "Coalesceable", &[FITTING], &[MULTI])
            .figure("CORF, Figure 2.4: 69 %")
            .meaning("of the instructions with two register operands, those of which two fit one register"),
        Share::percent("pair_success", "Pairs that fit", &[PAIRS_FIT], &[PAIRS])
            .figure("CORF, Figure 2.6: just under 80 %")
            .meaning("of the reads of both registers of a compiler's pair"),
    ],
    figures: &[
        Figure {
            id: "width-distribution",
            title: "Width of registers accessed",
            caption: "After CORF, Figure 2.2: register reads and writes by the bytes that the register needs.",
            marks: Marks::Stack,
            shares: &[1, 2, 3, 4],
        },
        Figure {
            id: "width-unused",
            title: "Unused register bandwidth",
            caption: "After CORF, Figure 2.3: bytes read that sign extension would restore.",
            marks: Marks::Bars,
            shares: &[5],
        },
        Figure {
            id: "width-coalesceable",
            title: "Instructions with coalesceable operands",
            caption: "After CORF, Figures 2.4 and 2.6.",
            marks: Marks::Bars,
            shares: &[8, 9],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 5,
    headline: Headline::share(5, "of the bytes that register reads move would be restored by sign extension"),
    note: |_| None,
};

/// Trip count assumed for loops of unknown length, as in the technique `corf`.
const UNKNOWN_TRIPS: u64 = 10;

/// Pairs of registers that an instruction reads as different operands, each with whether the compiler pairs them.
pub(crate) type Pairs = Vec<Vec<(u8, u8, bool)>>;

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Width {
    counts: Vec<Counts>,
}

impl Fold for Width {
    type Statics = Pairs;

    fn statics(setting: &Setting<'_>) -> Pairs {
        let paired = Affinity::of(setting.kernel, &setting.kernel.flow(), UNKNOWN_TRIPS).exclusive_pairs();
        let pairs = |inst| {
            let mut pairs = Vec::new();
            operand_pairs(inst, &mut pairs);
            pairs.iter().map(|pair| (pair.low, pair.high, paired.contains(pair))).collect()
        };
        setting.kernel.insts.iter().map(pairs).collect()
    }

    fn new(_: &Setting<'_>, statics: &Pairs) -> Width {
        Width { counts: vec![Counts::default(); statics.len()] }
    }

    #[inline]
    fn before(&mut self, statics: &Pairs, at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let counts = &mut self.counts[at.pc as usize];
        for reg in at.inst.reads() {
            counts[READ_1 - 1 + (at.width_bytes(reg) & 7) as usize] += 1;
        }
        let mut some = false;
        for &(low, high, paired) in &statics[at.pc as usize] {
            let fits = at.width_bytes(usize::from(low)) + at.width_bytes(usize::from(high)) <= 4;
            some |= fits;
            counts[PAIRS_FIT] += u64::from(paired && fits);
        }
        counts[FITTING] += u64::from(some);
    }

    #[inline]
    fn after(&mut self, _: &Pairs, at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let counts = &mut self.counts[at.pc as usize];
        for reg in at.inst.writes.iter() {
            counts[WRITE_1 - 1 + (at.width_bytes(reg) & 7) as usize] += 1;
        }
    }

    fn merge(&mut self, other: Width) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, statics: &Pairs, totals: &[Total], _: &mut Seen) -> Outcome {
        for (pc, (counts, total)) in self.counts.iter_mut().zip(totals).enumerate() {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[UNUSED] = 3 * counts[READ_1] + 2 * counts[READ_2] + counts[READ_3];
            let pairs = &statics[pc];
            if !pairs.is_empty() {
                counts[MULTI] = total.in_effect();
                counts[MULTI_READS] = total.in_effect() * setting.insts[pc].read_count() as u64;
                counts[PAIRS] =
                    total.in_effect() * pairs.iter().filter(|(.., paired)| *paired).count() as u64;
            }
        }
        Outcome::of(self.counts)
    }
}
