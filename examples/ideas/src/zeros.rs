//! Study `zeros`: register operands that are zero in every lane that reads them.

use timing::studies::{
    At, Figure, Fold, Marks, Mean, Outcome, Seen, Setting, Share, Study, Total, add_counts, counters,
};

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    READS = "register_reads", "register reads", "registers read by instructions that take effect in some lane";
    ZEROS = "zero_reads", "register reads", "those that are zero in every lane in which it does";
}

/// The study.
pub static STUDY: Study = Study {
    name: "zeros",
    summary: "register operands that are zero in every lane",
    paper: "none",
    text: &[
        "Lanes are those in which the instruction takes effect. A register that is read twice counts once.",
    ],
    counters: COUNTERS,
    shares: &[Share::percent("zero_share", "Zero", &[ZEROS], &[READS])],
    figures: &[Figure {
        id: "zeros",
        title: "Register reads of zero",
        caption: "Reads of registers that are zero in every lane, of all register reads.",
        marks: Marks::Bars,
        shares: &[0],
    }],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 0,
    headline: None,
    note: |_| None,
};

/// What one thread counts, by instruction.
#[derive(Debug)]
pub struct Zeros(Vec<Counts>);

impl Fold for Zeros {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Zeros {
        Zeros(vec![Counts::default(); setting.insts.len()])
    }

    fn before(&mut self, (): &(), at: &mut At<'_>) {
        let lanes = at.exec;
        if lanes == 0 {
            return;
        }
        for reg in at.inst.reads() {
            let value = at.row(reg);
            let zero = (0..32).all(|lane| lanes >> lane & 1 == 0 || value.0[lane] == 0);
            self.0[at.pc as usize][READS] += 1;
            self.0[at.pc as usize][ZEROS] += u64::from(zero);
        }
    }

    fn merge(&mut self, other: Zeros) {
        add_counts(&mut self.0, &other.0);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.0.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
        }
        Outcome::of(self.0)
    }
}
