//! Study `liveness`: how many of the registers that a kernel allocates hold values that are still needed (RegMutex,
//! Figure 4.1; LARF, Figure 5.10).

use super::define::{Course, Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use trace_format::isa::Pc;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    LIVE = "live_registers", "registers x instructions", "registers that may still be read, summed over instructions";
    HELD = "needed_registers", "registers x instructions", "registers whose value really is read later, summed over instructions and counted where it was written";
    ALLOCATED = "allocated_registers", "registers x instructions", "registers of the kernel, summed over instructions";
    #[min] LEAST = "least_live", "registers", "fewest that may still be read before an executed instruction";
    #[max] MOST = "most_live", "registers", "most that may still be read before an executed instruction";
    #[max] REGISTERS = "registers", "registers", "registers of a thread";
}

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "liveness",
    summary: "live registers of those allocated: over time, at least, on average, at most",
    paper: "RegMutex (dissertation, chapter 4), Figure 4.1; LARF (chapter 5), Figure 5.10",
    text: &[
        "A register is live before an instruction when some path from there reads it before it is replaced in all \
         lanes: what a compiler can know. It is needed when the warp really reads its value at that instruction or \
         later, before it is replaced: what the paper's measurement sees. A write that does not cover all launched \
         lanes counts as a read of what it leaves in the others. Allocated are the registers per thread that the \
         kernel uses. 64-bit values are two registers.",
        "Averages are over executed warp instructions. Of a line or an instruction, needed registers are those of \
         the values that it wrote, however long they were kept: what is to be shortened.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("least_live_share", "Least live", &[LEAST], &[REGISTERS]).figure("LARF, Figure 5.10"),
        Share::percent("live_share", "Live", &[LIVE], &[ALLOCATED])
            .figure("RegMutex, Figure 4.1; LARF, Figure 5.10: about 50 %")
            .meaning("average over instructions of the share of registers that may still be read"),
        Share::percent("needed_share", "Needed", &[HELD], &[ALLOCATED])
            .figure("RegMutex, Figure 4.1; LARF, Figure 5.10: about 50 %")
            .meaning("average over instructions of the share of registers that are read later"),
        Share::percent("most_live_share", "Most live", &[MOST], &[REGISTERS]).figure("LARF, Figure 5.10"),
        Share::number("live_average", "Live registers", "registers", &[LIVE], &[WARP_INSTRUCTIONS]),
        Share::number("needed_average", "Needed registers", "registers", &[HELD], &[WARP_INSTRUCTIONS]),
        Share::number("allocated_average", "Allocated", "registers", &[ALLOCATED], &[WARP_INSTRUCTIONS]),
    ],
    figures: &[Figure {
        id: "liveness-utilisation",
        title: "Utilisation of allocated registers",
        caption: "After LARF, Figure 5.10: least, average and most live registers of those allocated.",
        marks: Marks::Bars,
        shares: &[0, 1, 2, 3],
    }],
    course: Some(Course {
        id: "liveness-course",
        title: "Live registers during a warp",
        caption: "After RegMutex, Figure 4.1: the first warp of the first block.",
        y: "Live of allocated registers",
    }),
    mean: Mean::Arithmetic,
    worst_by: 2,
    headline: Headline::rest_of(
        2,
        "of the registers that a kernel allocates hold, on average over its instructions, no value that is still read",
    ),
    note: |_| None,
};

/// Maximum number of points of a course.
const MOST_POINTS: usize = 512;

/// A register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// Number of the instruction that wrote it, from 1; 0 for none.
    written: u32,
    /// Number of the instruction that read it last.
    read: u32,
    pc: u32,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Liveness {
    counts: Vec<Counts>,
    registers: Vec<Register>,
    first_block: bool,
    /// Instructions between points of the course.
    stride: u32,
    course: Vec<(f64, f64)>,
}

impl Liveness {
    #[inline(always)]
    fn end(&mut self, register: Register) {
        if register.written != 0 && register.read != 0 {
            self.counts[register.pc as usize][HELD] += u64::from(register.read - register.written);
        }
    }

    #[inline(never)]
    fn note(&mut self, now: u32, share: f64) {
        if !(now - 1).is_multiple_of(self.stride) {
            return;
        }
        self.course.push((f64::from(now - 1), share));
        if self.course.len() == MOST_POINTS {
            let mut odd = false;
            self.course.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride *= 2;
        }
    }
}

impl Fold for Liveness {
    /// Live registers before each instruction.
    type Statics = Vec<u32>;

    fn statics(setting: &Setting<'_>) -> Vec<u32> {
        let liveness = setting.kernel.flow().liveness(setting.kernel);
        (0..setting.insts.len() as u32).map(|pc| liveness.count(Pc(pc))).collect()
    }

    fn new(setting: &Setting<'_>, live: &Vec<u32>) -> Liveness {
        Liveness {
            counts: vec![Counts::default(); live.len()],
            registers: vec![Register::default(); setting.warps() * setting.registers],
            first_block: false,
            stride: 1,
            course: Vec::new(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, _: &Vec<u32>, block: u64) {
        self.registers.fill(Register::default());
        self.first_block = block == 0;
    }

    #[inline]
    fn before(&mut self, live: &Vec<u32>, at: &mut At<'_>) {
        let now = at.clock;
        if self.first_block && at.warp == 0 {
            let allocated = at.setting.registers as f64;
            self.note(now, f64::from(live[at.pc as usize]) / allocated);
        }
        if at.exec == 0 {
            return;
        }
        let first = at.warp * at.setting.registers;
        for reg in at.inst.reads() {
            self.registers[first + reg].read = now;
        }
        for reg in at.inst.writes.iter() {
            let mut old = self.registers[first + reg];
            if at.exec != at.launched {
                old.read = now;
            }
            self.end(old);
            self.registers[first + reg] = Register { written: now, read: 0, pc: at.pc };
        }
    }

    fn end_warp(&mut self, setting: &Setting<'_>, _: &Vec<u32>, warp: usize) {
        for reg in 0..setting.registers {
            self.end(self.registers[warp * setting.registers + reg]);
        }
    }

    fn merge(&mut self, other: Liveness) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, live: &Vec<u32>, totals: &[Total], _: &mut Seen) -> Outcome {
        let registers = setting.registers as u64;
        for ((counts, &live), total) in self.counts.iter_mut().zip(live).zip(totals) {
            let executed = total.executed();
            counts[WARP_INSTRUCTIONS] = executed;
            counts[LIVE] = executed * u64::from(live);
            counts[ALLOCATED] = executed * registers;
            counts[REGISTERS] = registers;
            let ran = executed > 0;
            counts[LEAST] = if ran { u64::from(live) } else { u64::MAX };
            counts[MOST] = if ran { u64::from(live) } else { 0 };
        }
        Outcome { course: self.course, ..Outcome::of(self.counts) }
    }
}
