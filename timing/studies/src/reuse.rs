//! Study `reuse`: distances between accesses to a register within a warp, and the register file's reads and
//! writes that a window of instructions could bypass (BOW, Figures 3.3, 3.7 and 3.8).

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    READ_1 = "reads_at_1", "register reads", "of a register last accessed 1 instructions before";
    READ_2 = "reads_at_2", "register reads", "of a register last accessed 2 instructions before";
    READ_3 = "reads_at_3", "register reads", "of a register last accessed 3 instructions before";
    READ_4 = "reads_at_4", "register reads", "of a register last accessed 4 instructions before";
    READ_5 = "reads_at_5", "register reads", "of a register last accessed 5 instructions before";
    READ_6 = "reads_at_6", "register reads", "of a register last accessed 6 instructions before";
    READ_7 = "reads_at_7", "register reads", "of a register last accessed 7 instructions before";
    READ_8 = "reads_at_8", "register reads", "of a register last accessed 8 instructions before";
    READ_9 = "reads_at_9", "register reads", "of a register last accessed 9 instructions before";
    READ_10 = "reads_at_10", "register reads", "of a register last accessed 10 instructions before";
    READ_11 = "reads_at_11", "register reads", "of a register last accessed 11 instructions before";
    READ_12 = "reads_at_12", "register reads", "of a register last accessed 12 instructions before";
    READ_13 = "reads_at_13", "register reads", "of a register last accessed 13 instructions before";
    READ_14 = "reads_at_14", "register reads", "of a register last accessed 14 instructions before";
    READ_15 = "reads_at_15", "register reads", "of a register last accessed 15 instructions before";
    READ_FAR = "reads_far", "register reads", "of a register last accessed 16 or more instructions before, or never";
    TRANSIENT_1 = "transient_at_1", "register writes", "of a value that is read, the longest gap between accesses being 1 instructions";
    TRANSIENT_2 = "transient_at_2", "register writes", "of a value that is read, the longest gap between accesses being 2 instructions";
    TRANSIENT_3 = "transient_at_3", "register writes", "of a value that is read, the longest gap between accesses being 3 instructions";
    TRANSIENT_4 = "transient_at_4", "register writes", "of a value that is read, the longest gap between accesses being 4 instructions";
    TRANSIENT_5 = "transient_at_5", "register writes", "of a value that is read, the longest gap between accesses being 5 instructions";
    TRANSIENT_6 = "transient_at_6", "register writes", "of a value that is read, the longest gap between accesses being 6 instructions";
    TRANSIENT_7 = "transient_at_7", "register writes", "of a value that is read, the longest gap between accesses being 7 instructions";
    TRANSIENT_8 = "transient_at_8", "register writes", "of a value that is read, the longest gap between accesses being 8 instructions";
    TRANSIENT_9 = "transient_at_9", "register writes", "of a value that is read, the longest gap between accesses being 9 instructions";
    TRANSIENT_10 = "transient_at_10", "register writes", "of a value that is read, the longest gap between accesses being 10 instructions";
    TRANSIENT_11 = "transient_at_11", "register writes", "of a value that is read, the longest gap between accesses being 11 instructions";
    TRANSIENT_12 = "transient_at_12", "register writes", "of a value that is read, the longest gap between accesses being 12 instructions";
    TRANSIENT_13 = "transient_at_13", "register writes", "of a value that is read, the longest gap between accesses being 13 instructions";
    TRANSIENT_14 = "transient_at_14", "register writes", "of a value that is read, the longest gap between accesses being 14 instructions";
    TRANSIENT_15 = "transient_at_15", "register writes", "of a value that is read, the longest gap between accesses being 15 instructions";
    TRANSIENT_FAR = "transient_far", "register writes", "of a value that is read, with a gap of 16 or more";
    REPLACED_1 = "replaced_at_1", "register writes", "of a value that is not read and replaced 1 instructions later";
    REPLACED_2 = "replaced_at_2", "register writes", "of a value that is not read and replaced 2 instructions later";
    REPLACED_3 = "replaced_at_3", "register writes", "of a value that is not read and replaced 3 instructions later";
    REPLACED_4 = "replaced_at_4", "register writes", "of a value that is not read and replaced 4 instructions later";
    REPLACED_5 = "replaced_at_5", "register writes", "of a value that is not read and replaced 5 instructions later";
    REPLACED_6 = "replaced_at_6", "register writes", "of a value that is not read and replaced 6 instructions later";
    REPLACED_7 = "replaced_at_7", "register writes", "of a value that is not read and replaced 7 instructions later";
    REPLACED_8 = "replaced_at_8", "register writes", "of a value that is not read and replaced 8 instructions later";
    REPLACED_9 = "replaced_at_9", "register writes", "of a value that is not read and replaced 9 instructions later";
    REPLACED_10 = "replaced_at_10", "register writes", "of a value that is not read and replaced 10 instructions later";
    REPLACED_11 = "replaced_at_11", "register writes", "of a value that is not read and replaced 11 instructions later";
    REPLACED_12 = "replaced_at_12", "register writes", "of a value that is not read and replaced 12 instructions later";
    REPLACED_13 = "replaced_at_13", "register writes", "of a value that is not read and replaced 13 instructions later";
    REPLACED_14 = "replaced_at_14", "register writes", "of a value that is not read and replaced 14 instructions later";
    REPLACED_15 = "replaced_at_15", "register writes", "of a value that is not read and replaced 15 instructions later";
    REPLACED_FAR = "replaced_far", "register writes", "of a value that is not read and replaced later, or never";
    TO_FILE = "to_file", "register writes", "window 3: the value is not read within the window";
    TO_COLLECTOR = "to_collector", "register writes", "window 3: every gap between accesses of the value is within the window";
    TO_BOTH = "to_both", "register writes", "window 3: the value is read within the window, and again beyond it";
    UNIFORM_READS = "uniform_reads", "register reads", "of a uniform register, which only this counts";
    UNIFORM_WRITES = "uniform_writes", "register writes", "of a uniform register, which only this counts";
    OPERANDS_0 = "operands_0", "warp instructions", "with no register operand";
    OPERANDS_1 = "operands_1", "warp instructions", "with one register operand";
    OPERANDS_2 = "operands_2", "warp instructions", "with two register operands";
    OPERANDS_3 = "operands_3", "warp instructions", "with three register operands";
}

const fn from<const N: usize>(first: usize) -> [usize; N] {
    let mut all = [0; N];
    let mut i = 0;
    while i < N {
        all[i] = first + i;
        i += 1;
    }
    all
}

/// Positions of the counters by gap, the last for all longer ones.
const READS: [usize; 16] = from(READ_1);
const ALL_READS: [usize; 17] = {
    let mut all = [UNIFORM_READS; 17];
    let mut gap = 0;
    while gap < 16 {
        all[gap] = READS[gap];
        gap += 1;
    }
    all
};
const WRITES: [usize; 32] = from(TRANSIENT_1);

/// Writes that a window bypasses: transient values, and values that are replaced unread, with gaps below it.
const BYPASSED: [[usize; 30]; 15] = {
    let mut all = [[0; 30]; 15];
    let mut longest = 1;
    while longest <= 15 {
        let mut gap = 0;
        while gap < longest {
            all[longest - 1][gap] = TRANSIENT_1 + gap;
            all[longest - 1][longest + gap] = REPLACED_1 + gap;
            gap += 1;
        }
        longest += 1;
    }
    all
};

/// Windows of the figures.
const WINDOWS: &[f64] = &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0];

const fn reads(key: &'static str, name: &'static str, window: usize) -> Share {
    Share::percent(key, name, READS.split_at(window - 1).0, &READS)
}

const fn writes(key: &'static str, name: &'static str, window: usize) -> Share {
    Share::percent(key, name, BYPASSED[window - 2].split_at(2 * (window - 1)).0, &WRITES)
}

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "reuse",
    summary: "reads and writes of registers that a window of instructions could bypass",
    paper: "BOW (MICRO 2020; dissertation, chapter 3), Figures 3.3, 3.7, 3.8",
    text: &[
        "Distances count all instructions of the warp. A window of n instructions bypasses an access to a register \
         that the same warp accessed less than n instructions before: every access moves the window on. A register \
         that an instruction reads as several operands is read once; instructions that take effect in no lane access \
         nothing.",
        "A write is bypassed when the value never has to reach the register file: it is read at least once, every \
         read comes less than n instructions after the access before it, and after the last one it is dead; or it is \
         replaced unread less than n instructions later. Dead means: not read again before it is replaced or the warp \
         ends. That is what really happened, where a compiler has to be sure; so these are limits. A write that does \
         not cover all launched lanes counts as a read of what it leaves in the others.",
        "Destinations are those of Figure 3.7 at a window of three: register file only where the value is not read \
         within the window, collector only where it is read and bypassed, both otherwise.",
        "Uniform registers of machine code are registers of their own: how often they are read and written is counted apart, \
         and no other figure has them.",
    ],
    counters: COUNTERS,
    shares: &[
        reads("reads_bypassed_2", "Reads, window 2", 2).figure("BOW, Figure 3.3: 45 %"),
        reads("reads_bypassed_3", "Reads, window 3", 3).figure("BOW, Figure 3.3: 59 %"),
        reads("reads_bypassed_4", "Reads, window 4", 4).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_5", "Reads, window 5", 5).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_6", "Reads, window 6", 6).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_7", "Reads, window 7", 7).figure("BOW, Figure 3.3: over 70 %"),
        reads("reads_bypassed_8", "Reads, window 8", 8).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_9", "Reads, window 9", 9).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_10", "Reads, window 10", 10).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_11", "Reads, window 11", 11).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_12", "Reads, window 12", 12).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_13", "Reads, window 13", 13).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_14", "Reads, window 14", 14).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_15", "Reads, window 15", 15).figure("BOW, Figure 3.3").hidden(),
        reads("reads_bypassed_16", "Reads, window 16", 16).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_2", "Writes, window 2", 2).figure("BOW, Figure 3.3: 35 %"),
        writes("writes_bypassed_3", "Writes, window 3", 3).figure("BOW, Figure 3.3: 52 %"),
        writes("writes_bypassed_4", "Writes, window 4", 4).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_5", "Writes, window 5", 5).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_6", "Writes, window 6", 6).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_7", "Writes, window 7", 7).figure("BOW, Figure 3.3"),
        writes("writes_bypassed_8", "Writes, window 8", 8).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_9", "Writes, window 9", 9).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_10", "Writes, window 10", 10).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_11", "Writes, window 11", 11).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_12", "Writes, window 12", 12).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_13", "Writes, window 13", 13).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_14", "Writes, window 14", 14).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_15", "Writes, window 15", 15).figure("BOW, Figure 3.3").hidden(),
        writes("writes_bypassed_16", "Writes, window 16", 16).figure("BOW, Figure 3.3").hidden(),
        Share::percent("to_file_share", "To the file only", &[TO_FILE], &WRITES)
            .figure("BOW, Figure 3.7: 21 %"),
        Share::percent("to_collector_share", "To the collector only", &[TO_COLLECTOR], &WRITES)
            .figure("BOW, Figure 3.7: 52 %"),
        Share::percent("to_both_share", "To both", &[TO_BOTH], &WRITES).figure("BOW, Figure 3.7: 27 %"),
        Share::percent("operands_0_share", "0 operands", &[OPERANDS_0], &[WARP_INSTRUCTIONS])
            .figure("BOW, Figure 3.8")
            .hidden(),
        Share::percent("operands_1_share", "1 operand", &[OPERANDS_1], &[WARP_INSTRUCTIONS])
            .figure("BOW, Figure 3.8")
            .hidden(),
        Share::percent("operands_2_share", "2 operands", &[OPERANDS_2], &[WARP_INSTRUCTIONS])
            .figure("BOW, Figure 3.8")
            .hidden(),
        Share::percent("operands_3_share", "3 operands", &[OPERANDS_3], &[WARP_INSTRUCTIONS])
            .figure("BOW, Figure 3.8: 2 %"),
        Share::percent("uniform_reads_share", "Reads of uniform registers", &[UNIFORM_READS], &ALL_READS)
            .hidden(),
    ],
    figures: &[
        Figure {
            id: "reuse-reads",
            title: "Reads bypassed by window",
            caption: "After BOW, Figure 3.3, top.",
            marks: Marks::Lines("Window (instructions)", WINDOWS),
            shares: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
        },
        Figure {
            id: "reuse-writes",
            title: "Writes bypassed by window",
            caption: "After BOW, Figure 3.3, bottom.",
            marks: Marks::Lines("Window (instructions)", WINDOWS),
            shares: &[15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
        },
        Figure {
            id: "reuse-destinations",
            title: "Where results have to go at a window of three",
            caption: "After BOW, Figure 3.7.",
            marks: Marks::Stack,
            shares: &[30, 31, 32],
        },
        Figure {
            id: "reuse-operands",
            title: "Instructions by register operands",
            caption: "After BOW, Figure 3.8.",
            marks: Marks::Stack,
            shares: &[33, 34, 35, 36],
        },
    ],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 1,
    headline: Headline::share(
        1,
        "of the register reads come less than three instructions after the last access to the register",
    ),
    note: |_| None,
};

/// The window of the destinations.
const WINDOW: u8 = 3;

/// A register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// Number of the instruction that accessed it last, from 1; 0 for none.
    accessed: u32,
    /// Instruction that wrote its value.
    pc: u32,
    /// Whether it has been written.
    written: bool,
    read: bool,
    /// Gap to the first read, and the longest gap; [`FAR`] at most.
    first_gap: u8,
    longest_gap: u8,
}

/// Longer gaps count as this.
const FAR: u32 = 16;

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Reuse {
    counts: Vec<Counts>,
    registers: Vec<Register>,
}

impl Reuse {
    /// Reads a register; returns the gap to its last access, [`FAR`] at most.
    #[inline(always)]
    fn access(register: &mut Register, now: u32) -> u8 {
        let gap = if register.accessed == 0 { FAR } else { (now - register.accessed).min(FAR) } as u8;
        register.accessed = now;
        if !register.read {
            register.read = true;
            register.first_gap = gap;
        }
        register.longest_gap = register.longest_gap.max(gap);
        gap
    }

    /// Ends a value that is replaced `gap` instructions after its last access; `u32::MAX` means never.
    #[inline(always)]
    fn end(&mut self, register: Register, gap: u32) {
        if !register.written {
            return;
        }
        let counts = &mut self.counts[register.pc as usize];
        if !register.read {
            counts[REPLACED_1 - 1 + gap.min(FAR) as usize] += 1;
            counts[TO_FILE] += 1;
            return;
        }
        counts[TRANSIENT_1 - 1 + usize::from(register.longest_gap)] += 1;
        let destination = match (register.first_gap < WINDOW, register.longest_gap < WINDOW) {
            (false, _) => TO_FILE,
            (true, true) => TO_COLLECTOR,
            (true, false) => TO_BOTH,
        };
        counts[destination] += 1;
    }
}

impl Fold for Reuse {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Reuse {
        Reuse {
            counts: vec![[0; COUNTERS.len()]; setting.insts.len()],
            registers: vec![Register::default(); setting.warps() * setting.registers],
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), _: u64) {
        self.registers.fill(Register::default());
    }

    #[inline]
    fn before(&mut self, (): &(), at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let counts = &mut self.counts[at.pc as usize];
        let (now, first) = (at.clock, at.warp * at.setting.registers);
        for reg in at.inst.reads() {
            let gap = Reuse::access(&mut self.registers[first + reg], now);
            counts[READ_1 - 1 + usize::from(gap)] += 1;
        }
        for reg in at.inst.writes.iter() {
            let mut old = self.registers[first + reg];
            if at.exec != at.launched && old.accessed != now {
                Reuse::access(&mut old, now);
            }
            self.end(old, now - old.accessed);
            self.registers[first + reg] =
                Register { accessed: now, written: true, pc: at.pc, ..Register::default() };
        }
    }

    fn end_warp(&mut self, setting: &Setting<'_>, (): &(), warp: usize) {
        for reg in 0..setting.registers {
            self.end(self.registers[warp * setting.registers + reg], u32::MAX);
        }
    }

    fn merge(&mut self, other: Reuse) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        let insts = setting.insts.iter().zip(&setting.kernel.insts);
        for ((counts, total), (inst, whole)) in self.counts.iter_mut().zip(totals).zip(insts) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            let [reads, writes] = whole.uniform_operands();
            counts[UNIFORM_READS] = total.executed() * u64::from(reads);
            counts[UNIFORM_WRITES] = total.executed() * u64::from(writes);
            let operands = inst.sources.iter().filter(|span| !span.is_empty()).count();
            counts[OPERANDS_0 + operands] = total.executed();
        }
        Outcome::of(self.counts)
    }
}
