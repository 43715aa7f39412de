//! Study `dead`: values that are written to registers and never read, and bytes that are stored and overwritten
//! before anything reads them.
//!
//! `dead/memory.rs` tracks every byte.

mod memory;

use super::define::{Figure, Headline, Marks, Mean, Share, Study, counters};
use super::driver::{Fold, Outcome, add_counts};
use super::sample::Seen;
use super::setting::{At, Setting};
use super::total::Total;
use memory::{Bytes, Fate};
use trace_format::isa::Kind;
use trace_format::isa::space::Space;

counters! {
    WARP_INSTRUCTIONS = "warp_instructions", "warp instructions", "dynamic warp instructions";
    VALUES = "register_values", "values", "lanes of registers written";
    DEAD = "dead_values", "values", "those that their lane's warp never reads before they are replaced or it ends";
    STORED = "stored_bytes", "bytes", "stored to global, shared and local memory, lane by lane";
    OVERWRITTEN = "overwritten_bytes", "bytes", "those that the same block overwrites before it reads them";
    LOST = "lost_bytes", "bytes", "those in shared and local memory that are never read before the block ends";
    GIVEN_UP = "given_up_bytes", "bytes", "those not read yet when they were given up to bound memory: perhaps dead";
}

/// The study.
pub(crate) const STUDY: Study = Study {
    name: "dead",
    summary: "values written and never read, stores overwritten before being read",
    paper: "none of the papers; after dead-value studies (Butts and Sohi, ASPLOS 2002)",
    text: &[
        "A value is what an instruction writes into one 32-bit register of one lane in which it takes effect. It is \
         dead when no later instruction of the warp reads the register while being in effect in that lane, before \
         that lane of it is replaced or the warp ends. Instructions across lanes (shuffles, votes, matches, matrix \
         products) read their operands in every lane of the warp, since any may be asked for.",
        "A byte is stored by a lane's store to global, shared or local memory (generic addresses are resolved). It is \
         overwritten when the same block stores to it again and none of its warps has loaded it in between, and lost \
         when it lies in shared or local memory and nobody loads it before the block ends. Of lanes of one store that \
         write the same byte the highest counts as the last. Atomics read what they change, and what they leave \
         counts as needed. Global memory that another block may have read in between is not told from memory that \
         nobody has: overwritten bytes there are dead only if the program does not let blocks communicate within a \
         launch. Warps take turns of 1024 instructions that end at barriers, where they wait for one another.",
        "Memory is bounded: of each of global, shared and local memory the 2^15 pieces of 256 bytes are followed that \
         the block stored to first; beyond that, the piece known longest is given up for every new one, and its bytes \
         that have not been read are counted as given up. 8 MiB of stored memory are thus followed exactly.",
        "Counts stand with the instruction that wrote the value or stored the byte, not with the one that replaced \
         it.",
    ],
    counters: COUNTERS,
    shares: &[
        Share::percent("dead_value_share", "Dead values", &[DEAD], &[VALUES]),
        Share::percent("overwritten_share", "Overwritten bytes", &[OVERWRITTEN], &[STORED]),
        Share::percent("lost_share", "Lost bytes", &[LOST], &[STORED]),
        Share::percent("dead_store_share", "Dead stores", &[OVERWRITTEN, LOST], &[STORED])
            .meaning("overwritten or lost"),
    ],
    figures: &[Figure {
        id: "dead-values",
        title: "What is written and never read",
        caption: "Dead values of all lanes of registers written; dead bytes of all bytes stored.",
        marks: Marks::Bars,
        shares: &[0, 3],
    }],
    course: None,
    mean: Mean::Arithmetic,
    worst_by: 0,
    headline: Headline::share(0, "of the register values are never read"),
    note: |_| None,
};

/// A register of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Register {
    /// Lanes whose value has not been read.
    unread: u32,
    /// Instruction that wrote it in all lanes; if the register is mixed, lanes have different writers.
    pc: u32,
    mixed: bool,
}

/// Counts and state of one thread.
#[derive(Debug)]
pub(crate) struct Dead {
    counts: Vec<Counts>,
    registers: Vec<Register>,
    /// Instruction that wrote each lane of a mixed register.
    writers: Vec<[u32; 32]>,
    shared: Bytes,
    global: Bytes,
    local: Bytes,
}

impl Dead {
    /// Counts the unread lanes of a register that are replaced.
    #[inline]
    fn replace(&mut self, at: usize, lanes: u32) {
        let register = self.registers[at];
        let dead = register.unread & lanes;
        if dead == 0 {
            return;
        }
        if !register.mixed {
            self.counts[register.pc as usize][DEAD] += u64::from(dead.count_ones());
            return;
        }
        let mut left = dead;
        while left != 0 {
            let pc = self.writers[at][left.trailing_zeros() as usize];
            left &= left - 1;
            self.counts[pc as usize][DEAD] += 1;
        }
    }
}

impl Fold for Dead {
    /// Whether each instruction reads its operands in every lane.
    type Statics = Vec<bool>;

    fn statics(setting: &Setting<'_>) -> Vec<bool> {
        setting.kernel.insts.iter().map(super::setting::across_lanes).collect()
    }

    fn new(setting: &Setting<'_>, _: &Vec<bool>) -> Dead {
        let registers = setting.warps() * setting.registers;
        Dead {
            counts: vec![Counts::default(); setting.insts.len()],
            registers: vec![Register::default(); registers],
            writers: vec![[0; 32]; registers],
            shared: Bytes::default(),
            global: Bytes::default(),
            local: Bytes::default(),
        }
    }

    fn begin_block(&mut self, _: &Setting<'_>, _: &Vec<bool>, _: u64) {
        self.registers.fill(Register::default());
        for bytes in [&mut self.shared, &mut self.global, &mut self.local] {
            bytes.clear();
        }
    }

    #[inline]
    fn before(&mut self, statics: &Vec<bool>, at: &mut At<'_>) {
        if at.exec == 0 {
            return;
        }
        let lanes = if statics[at.pc as usize] { u32::MAX } else { at.exec };
        let first = at.warp * at.setting.registers;
        for reg in at.inst.reads() {
            self.registers[first + reg].unread &= !lanes;
        }
        for reg in at.inst.writes.iter() {
            self.replace(first + reg, at.exec);
            let register = &mut self.registers[first + reg];
            if at.exec == at.launched {
                *register = Register { unread: at.exec, pc: at.pc, mixed: false };
                continue;
            }
            let writers = &mut self.writers[first + reg];
            if !register.mixed {
                *writers = [register.pc; 32];
                register.mixed = true;
            }
            for (lane, writer) in writers.iter_mut().enumerate() {
                *writer = if at.exec >> lane & 1 != 0 { at.pc } else { *writer };
            }
            register.unread |= at.exec;
        }
    }

    #[inline]
    fn after(&mut self, _: &Vec<bool>, at: &mut At<'_>) {
        let Some(access) = at.mem.filter(|access| access.mask != 0) else { return };
        if matches!(access.space, Space::Const | Space::Texture | Space::Surface) {
            return;
        }
        let store = matches!(at.inst.kind, Kind::Store(_));
        if store {
            let bytes = u64::from(access.mask.count_ones()) * u64::from(access.bytes);
            self.counts[at.pc as usize][STORED] += bytes;
        } else if self.shared.is_empty() && self.global.is_empty() && self.local.is_empty() {
            return;
        }
        let runs = match access.space {
            Space::Shared | Space::Global => Some(at.runs(access)),
            _ => None,
        };
        let Dead { counts, shared, global, local, .. } = self;
        let mut fate = |fate: Fate, pc: u32, bytes: u32| {
            let key = if fate == Fate::Overwritten { OVERWRITTEN } else { GIVEN_UP };
            counts[pc as usize][key] += u64::from(bytes);
        };
        if let Some(runs) = runs {
            let memory = if access.space == Space::Shared { &mut *shared } else { &mut *global };
            if !store {
                // An atomic reads the bytes that it changes, and its result counts as needed.
                return runs.each(access).for_each(|run| memory.read(run.from, run.to));
            }
            if runs.each(access).all(|run| run.once) {
                return runs.each(access).for_each(|run| memory.write(run.from, run.to, at.pc, &mut fate));
            }
        }
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let address = access.addresses[lane];
            let (space, address) = match access.space {
                Space::Generic => Space::of_generic(address),
                space => (space, address),
            };
            let (memory, from) = match space {
                Space::Shared => (&mut *shared, address),
                // Local memory is private to a thread.
                Space::Local => (&mut *local, (at.warp as u64 * 32 + lane as u64) << 32 | address),
                _ => (&mut *global, address),
            };
            let to = from.wrapping_add(u64::from(access.bytes));
            if store {
                memory.write(from, to, at.pc, &mut fate);
            } else {
                memory.read(from, to);
            }
        }
    }

    fn end_warp(&mut self, setting: &Setting<'_>, _: &Vec<bool>, warp: usize) {
        for reg in 0..setting.registers {
            self.replace(warp * setting.registers + reg, u32::MAX);
        }
    }

    fn end_block(&mut self, _: &Setting<'_>, _: &Vec<bool>) {
        for memory in [&self.shared, &self.local] {
            memory.unread(|pc| self.counts[pc as usize][LOST] += 1);
        }
    }

    fn merge(&mut self, other: Dead) {
        add_counts(&mut self.counts, &other.counts);
    }

    fn finish(mut self, setting: &Setting<'_>, _: &Vec<bool>, totals: &[Total], _: &mut Seen) -> Outcome {
        for ((counts, total), inst) in self.counts.iter_mut().zip(totals).zip(&setting.insts) {
            counts[WARP_INSTRUCTIONS] = total.executed();
            counts[VALUES] = total.exec_lanes() * u64::from(inst.writes.count);
        }
        Outcome::of(self.counts)
    }
}
