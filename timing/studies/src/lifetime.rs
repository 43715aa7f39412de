//! Study `lifetime`: how often the values of registers are read, and how soon after they are written
//! (register file cache, Figure 2).

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    NEVER = "read_never", "register writes", "of a value that is never read";
    ONCE_1 = "read_once_after_1", "register writes", "of a value that is read once, by the next instruction";
    ONCE_2 = "read_once_after_2", "register writes", "of a value that is read once, 2 instructions later";
    ONCE_3 = "read_once_after_3", "register writes", "of a value that is read once, 3 instructions later";
    ONCE_LATER = "read_once_later", "register writes", "of a value that is read once, 4 or more instructions later";
    TWICE = "read_twice", "register writes", "of a value that is read twice";
    MORE = "read_more", "register writes", "of a value that is read three times or more";
    LIFETIME = "lifetime_instructions", "instructions", "from a write to the last read of its value, summed over values";
}

/// Values by the number of their reads.
const READS: [usize; 7] = [NEVER, ONCE_1, ONCE_2, ONCE_3, ONCE_LATER, TWICE, MORE];
const ONCE: [usize; 4] = [ONCE_1, ONCE_2, ONCE_3, ONCE_LATER];
/// Values that are read at all.
const READ: [usize; 6] = [ONCE_1, ONCE_2, ONCE_3, ONCE_LATER, TWICE, MORE];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "lifetime",
    summary: "how often register values are read, and how soon after they are written",
    paper: "register file cache (Gebhart et al., ISCA 2011), Figure 2",
    text: &[
        "A value is what an instruction writes to one register; it ends when the register is written again or the warp \
         ends. A read is an instruction that reads the register, once however many of its operands do; instructions that \
         take effect in no lane read and write nothing. A write that does not cover all launched lanes counts as a read \
         of what it leaves in the others.",
        "Distances count all instructions of the warp. Values that are read once within three instructions are those \
         that a small cache in front of the register file serves without a write to the file.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("never_share", "Never read", &[NEVER], &READS).figure("RFC, Figure 2 (a)"),
        Share::percent("once_share", "Read once", &ONCE, &READS).figure("RFC, Figure 2 (a)"),
        Share::percent("twice_share", "Twice", &[TWICE], &READS).figure("RFC, Figure 2 (a)"),
        Share::percent("more_share", "More often", &[MORE], &READS).figure("RFC, Figure 2 (a)"),
        Share::percent("once_after_1_share", "Once, after 1", &[ONCE_1], &ONCE)
            .figure("RFC, Figure 2 (b)")
            .hidden(),
        Share::percent("once_after_2_share", "Once, after 2", &[ONCE_2], &ONCE)
            .figure("RFC, Figure 2 (b)")
            .hidden(),
        Share::percent("once_after_3_share", "Once, after 3", &[ONCE_3], &ONCE)
            .figure("RFC, Figure 2 (b)")
            .hidden(),
        Share::percent("once_later_share", "Once, later", &[ONCE_LATER], &ONCE)
            .figure("RFC, Figure 2 (b)")
            .hidden(),
        Share::percent("once_soon_share", "Once, within 3", &[ONCE_1, ONCE_2, ONCE_3], &READS),
        Share::number("lifetime", "Lifetime", "instructions", &[LIFETIME], &READ),
    ],
    figures: &[
        Figure {
            id: "lifetime-reads",
            title: "Register values by the number of their reads",
            caption: "After RFC, Figure 2 (a).",
            marks: Marks::Stack,
            shares: &[0, 1, 2, 3],
        },
        Figure {
            id: "lifetime-once",
            title: "Values that are read once, by the distance of the read",
            caption: "After RFC, Figure 2 (b); distances in instructions of the warp.",
            marks: Marks::Stack,
            shares: &[4, 5, 6, 7],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 8,
    headline: Headline::share(8, "of the register values are read once, within three instructions"),
    note: |_| None,
};

/// The value of a register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct RegisterValue {
    /// Number of the instruction that wrote it, from 1; 0 for none.
    written: u32,
    /// That instruction.
    pc: u32,
    /// Number of the instruction that read it last.
    last_read: u32,
    reads: u32,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Lifetime {
    counts: Vec<Counts>,
    values: Vec<RegisterValue>,
}

impl RegisterValue {
    /// Counts a read, once per instruction.
    #[inline(always)]
    fn read(&mut self, now: u32) {
        self.reads += u32::from(self.last_read != now);
        self.last_read = now;
    }
}

impl Lifetime {
    /// Counts a value that has ended at the instruction that wrote it.
    #[inline(always)]
    fn end(&mut self, value: RegisterValue) {
        if value.written == 0 {
            return;
        }
        let counts = &mut self.counts[value.pc as usize];
        let lifetime = if value.reads == 0 { 0 } else { value.last_read - value.written };
        let reads = match value.reads {
            0 => NEVER,
            1 => ONCE[lifetime.clamp(1, 4) as usize - 1],
            2 => TWICE,
            _ => MORE,
        };
        counts[reads] += 1;
        counts[LIFETIME] += u64::from(lifetime);
    }
}

impl Fold for Lifetime {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Lifetime {
        Lifetime {
            counts: vec![Counts::default(); setting.insts.len()],
            values: vec![RegisterValue::default(); setting.warps() * setting.registers],
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), _: u64) {
        self.values.fill(RegisterValue::default());
    }

    #[inline]
    fn before(&mut self, (): &(), at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let (now, first) = (at.clock, at.warp * at.setting.registers);
        for reg in at.inst.reads() {
            self.values[first + reg].read(now);
        }
        for reg in at.inst.writes.iter() {
            let mut old = self.values[first + reg];
            if at.exec != at.launched {
                old.read(now);
            }
            self.end(old);
            self.values[first + reg] = RegisterValue { written: now, pc: at.pc, ..RegisterValue::default() };
        }
    }

    fn end_warp(&mut self, setting: &Setting<'_>, (): &(), warp: usize) {
        for reg in 0..setting.registers {
            self.end(self.values[warp * setting.registers + reg]);
        }
    }

    fn merge(&mut self, other: Lifetime) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.counts.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
        }
        Outcome::of(self.counts)
    }
}
