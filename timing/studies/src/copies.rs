//! Study `copies`: registers that hold a value which another register of the block holds at the same time, which one physical
//! register could hold for both (beyond the papers: what LARF does for loaded vectors, by value and for all results).

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use super::values::Digest;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    NEEDED = "needed_rounds", "registers x rounds", "rounds for which registers hold a value that is read later, counted where it was written";
    IN_WARP = "copies_in_warp", "registers x rounds", "those in which an older register of the same warp holds the same value";
    IN_BLOCK = "copies_in_block", "registers x rounds", "those in which an older register of any warp of the block does";
    #[max] LEVEL = "sampled_level", "bits", "one of 2^n values was followed";
}

const ALL: &[usize] = &[NEEDED];

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "copies",
    summary: "registers whose value another register of the warp or block holds at the same time",
    paper: "none; a limit for sharing registers by value, where LARF (dissertation, chapter 5) shares loaded vectors",
    text: &[
        "Time is counted in rounds, in which each warp of a block that does not wait at a barrier executes one \
         instruction. A register holds a value from the instruction that wrote it to the last that reads it, before it \
         is replaced; values that are never read do not count. A write that does not cover all launched lanes reads what \
         it leaves in the others, and makes a value of the old and the new lanes.",
        "A register is a copy in the rounds in which another one, written before it, holds the same value in all launched \
         lanes, and is read later: in the same warp, or in any warp of the block with as many launched lanes. Of \
         registers written in the same round, that of the lower warp, or with the lower number, is the older. So the \
         copies of n registers with one value are n - 1: what a register file would save that held every value once.",
        "Values are compared by 128-bit digests. Memory is bounded: in a block in which registers hold more than 2^18 \
         values, only those whose digest ends in n zero bits are followed and their counts multiplied by 2^n; a note says \
         so. Copies are then estimates.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("copies_in_warp_share", "Copies in warp", &[IN_WARP], ALL).meaning(
            "of the registers that hold a value, average over rounds: copies of one of the same warp",
        ),
        Share::percent("copies_in_block_share", "Copies in block", &[IN_BLOCK], ALL).meaning(
            "of the registers that hold a value, average over rounds: copies of one of the same block",
        ),
        Share::number("needed_rounds_per_instruction", "Needed", "rounds", ALL, &[WARP_INSTRUCTIONS])
            .meaning("rounds for which an instruction's results are needed"),
    ],
    figures: &[Figure {
        id: "copies-registers",
        title: "Registers that are copies of another one",
        caption: "Of the registers that hold a value which is read later, over time; the block contains the warp.",
        marks: Marks::Bars,
        shares: &[0, 1],
    }],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 1,
    headline: Headline::share(
        1,
        "of the registers that hold a value hold a copy of that of an older register of the block",
    ),
    note: |counts| {
        (counts[LEVEL] > 0).then(|| {
            format!("copies is estimated from one in {} values in the largest block.", 1u64 << counts[LEVEL])
        })
    },
};

/// Values of a block that are followed at most.
const MOST: usize = 1 << 18;

/// A register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    value: Digest,
    /// Rounds, from 1, in which it was written and read last; 0 for none.
    written: u32,
    read: u32,
    pc: u32,
}

/// The rounds for which a register held a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Held {
    value: Digest,
    from: u32,
    warp: u32,
    register: u32,
    to: u32,
    pc: u32,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Copies {
    counts: Vec<Counts>,
    registers: Vec<Register>,
    /// Rounds before this turn of the warps, and of it so far.
    rounds: u32,
    turn: u32,
    held: Vec<Held>,
    /// Latest end of a register of each warp with the value that is looked at, and the value.
    ends: Vec<(Digest, u32)>,
    most: usize,
    level: u32,
    highest: u32,
}

impl Copies {
    /// A register's value is replaced.
    #[inline]
    fn end(&mut self, warp: usize, register: usize, old: Register) {
        if old.written == 0 || old.read == 0 {
            return;
        }
        self.counts[old.pc as usize][NEEDED] += u64::from(old.read - old.written);
        if !Seen::keeps(old.value, self.level) {
            return;
        }
        let (warp, register) = (warp as u32, register as u32);
        self.held.push(Held {
            value: old.value,
            from: old.written,
            warp,
            register,
            to: old.read,
            pc: old.pc,
        });
        while self.held.len() > self.most {
            self.level += 1;
            let level = self.level;
            self.held.retain(|held| Seen::keeps(held.value, level));
        }
    }

    /// Counts the copies among the registers of a block, which are in order.
    fn count(&mut self) {
        let mut in_block = (Digest::default(), 0);
        self.ends.fill((Digest::default(), 0));
        for held in &self.held {
            let counts = &mut self.counts[held.pc as usize];
            for (end, counter) in [(&mut in_block, IN_BLOCK), (&mut self.ends[held.warp as usize], IN_WARP)] {
                if end.0 != held.value {
                    *end = (held.value, 0);
                }
                let copied = end.1.min(held.to).saturating_sub(held.from);
                counts[counter] += u64::from(copied) << self.level;
                end.1 = end.1.max(held.to);
            }
        }
    }
}

impl Fold for Copies {
    type Statics = ();

    fn statics(_: &Setting<'_>) {}

    fn new(setting: &Setting<'_>, (): &()) -> Copies {
        Copies {
            counts: vec![Counts::default(); setting.insts.len()],
            registers: vec![Register::default(); setting.warps() * setting.registers],
            rounds: 0,
            turn: 0,
            held: Vec::new(),
            ends: vec![(Digest::default(), 0); setting.warps()],
            most: MOST,
            level: 0,
            highest: 0,
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, (): &(), _: u64) {
        self.registers.fill(Register::default());
        self.held.clear();
        (self.rounds, self.turn, self.level) = (0, 0, 0);
    }

    #[inline]
    fn before(&mut self, (): &(), at: &mut At<'_>) {
        self.turn = self.turn.max(at.step + 1);
        if at.exec == 0 {
            return;
        }
        let (now, first) = (self.rounds + at.step + 1, at.warp * at.setting.registers);
        for reg in at.inst.reads() {
            self.registers[first + reg].read = now;
        }
        for reg in at.inst.writes.iter() {
            let mut old = std::mem::take(&mut self.registers[first + reg]);
            if at.exec != at.launched {
                old.read = now;
            }
            self.end(at.warp, reg, old);
        }
    }

    #[inline]
    fn after(&mut self, (): &(), at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let (now, first) = (self.rounds + at.step + 1, at.warp * at.setting.registers);
        for reg in at.inst.writes.iter() {
            let value = Digest::default().then(Digest::of_mask(at.launched)).then(at.digest(reg));
            self.registers[first + reg] = Register { value, written: now, read: 0, pc: at.pc };
        }
    }

    fn end_turn(&mut self, _: &Setting<'_>, (): &()) {
        self.rounds += std::mem::take(&mut self.turn);
    }

    fn end_block(&mut self, setting: &Setting<'_>, (): &()) {
        for warp in 0..setting.warps() {
            for reg in 0..setting.registers {
                let last = std::mem::take(&mut self.registers[warp * setting.registers + reg]);
                self.end(warp, reg, last);
            }
        }
        self.held.sort_unstable();
        self.count();
        self.highest = self.highest.max(self.level);
    }

    fn merge(&mut self, other: Copies) {
        add_counts(&mut self.counts, &other.counts);
        self.highest = self.highest.max(other.highest);
    }

    fn finish(mut self, _: &Setting<'_>, (): &(), totals: &[Total], _: &mut Seen) -> Outcome {
        for (counts, total) in self.counts.iter_mut().zip(totals) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[LEVEL] = u64::from(self.highest);
        }
        Outcome::of(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_many_values_are_estimated_from_some_of_them() {
        let estimated = |most: usize| {
            let mut copies = Copies {
                counts: vec![Counts::default()],
                registers: Vec::new(),
                rounds: 0,
                turn: 0,
                held: Vec::new(),
                ends: vec![(Digest::default(), 0); 2],
                most,
                level: 0,
                highest: 0,
            };
            for number in 0..4096 {
                let value = Digest::default().then(Digest::of_mask(u32::MAX)).then(Digest::of_word(number));
                for warp in 0..2 {
                    copies.end(warp, 0, Register { value, written: 1, read: 4, pc: 0 });
                }
            }
            assert!(copies.held.len() <= most);
            copies.held.sort_unstable();
            copies.count();
            (copies.level, copies.counts[0])
        };
        let (level, exact) = estimated(1 << 13);
        assert_eq!((level, exact[NEEDED], exact[IN_WARP], exact[IN_BLOCK]), (0, 8192 * 3, 0, 4096 * 3));
        let (level, some) = estimated(1 << 10);
        assert!(level >= 3, "{level}");
        assert_eq!((some[NEEDED], some[IN_WARP]), (exact[NEEDED], 0));
        let off = some[IN_BLOCK].abs_diff(exact[IN_BLOCK]);
        assert!(5 * off < exact[IN_BLOCK], "{} of {}", some[IN_BLOCK], exact[IN_BLOCK]);
    }
}
