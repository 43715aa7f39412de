//! Control bits for code that has none: stall counts, dependence counters and reuse flags for the latencies of a machine, as a
//! compiler for it would set them (Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025,
//! section 4).
//!
//! A recording of PTX belongs to no machine, so the bits are assigned when it is replayed on one:
//!
//! 1. A result that comes after a known number of cycles is kept from its users by stall counts, on every path.
//! 2. Each other result has one of the six counters until it is written; its users wait for that counter. Results with the same
//!    first user share one, and a result takes a counter that nothing uses, if there is one.
//! 3. A memory instruction reads its registers late. Where something overwrites one before any wait that covers it, another
//!    counter says when they have been read.
//! 4. A source that the next instruction reads in the same place stays in the register file cache.
//!
//! Nothing yields.

use crate::config::GpuConfig;
use crate::timed::{Path, TimedInst, has_queue};
use std::collections::BTreeSet;
use trace_format::isa::{
    BlockId, ControlBits, DEPENDENCE_COUNTERS, Flow, MachineKernel, Operand, Pc, Pred, Reg, SOURCE_PLACES,
    UniformReg,
};

/// Largest stall count of an instruction.
const MOST_STALL: u8 = 15;
/// Cycles between an increment of a counter and the first instruction that can wait for it (section 4).
const COUNTER_CYCLES: u8 = 2;
/// Cycles from the issue of an instruction of known latency until it has its operands.
const OPERAND_CYCLES: u32 = 2;
/// Late reads that are followed; beyond it the oldest get a counter, whether they need one or not.
const MOST_READERS: usize = 512;

/// Places that an instruction reads or writes: registers, then uniform registers and uniform predicates, then predicates.
const PLACES: usize = UNIFORMS.end + 8;
const UNIFORMS: std::ops::Range<usize> = 256..256 + 128;

/// An instruction's operands by place.
#[derive(Default)]
struct Operands {
    reads: Vec<usize>,
    writes: Vec<usize>,
    /// The predicate that guards it.
    guard: Option<usize>,
}

impl Operands {
    fn of(inst: &TimedInst) -> Operands {
        let of = &inst.inst;
        let predicate = |pred: Pred| match pred.is_uniform() {
            true => UNIFORMS.start + 64 + usize::from(pred.0 & 7),
            false => UNIFORMS.end + pred.index(),
        };
        let uniform = |reg: UniformReg| UNIFORMS.start + usize::from(reg.0 & 63);
        let registers = |of: &[u8]| of.iter().map(|reg| usize::from(*reg)).collect::<Vec<_>>();
        let (mut reads, mut writes) = (registers(inst.sources()), registers(inst.destinations()));
        reads.extend(of.src_uniforms().map(uniform).chain(of.all_src_preds().map(predicate)));
        writes.extend(of.dst_uniforms().map(uniform).chain(of.all_dst_preds().map(predicate)));
        let guard = (inst.guard != 0).then(|| predicate(of.guard.pred));
        Operands { reads, writes, guard }
    }
}

impl TimedInst {
    /// Cycles from the issue of the instruction to that of one that reads its result, if no queue makes them unknown and a stall
    /// count can hold them.
    #[must_use]
    pub fn known_cycles(&self) -> Option<u8> {
        let cycles = u8::try_from(self.latency_cycles + OPERAND_CYCLES).ok()?;
        (self.path == Path::Alu && !has_queue(self.unit) && cycles <= MOST_STALL).then_some(cycles)
    }

    /// Whether it reads its registers at a time that is not known.
    #[must_use]
    pub fn reads_late(&self) -> bool {
        matches!(self.path, Path::Memory(_))
    }
}

/// The control bits of a kernel's instructions on a machine.
#[must_use]
pub fn assign(kernel: &MachineKernel, insts: &[TimedInst], config: &GpuConfig) -> Vec<ControlBits> {
    let flow = kernel.flow();
    let mut code = Code {
        insts,
        operands: insts.iter().map(Operands::of).collect(),
        successors: flow.call_graph_successors(kernel),
        flow,
        guard_cycles: u8::try_from(config.register_file.guard_delay_cycles).unwrap_or(MOST_STALL),
        bits: insts
            .iter()
            .map(|inst| ControlBits { places: places(inst), ..ControlBits::default() })
            .collect(),
    };
    code.count_results();
    code.count_reads();
    code.stall();
    code.reuse();
    code.bits
}

/// The registers in the places of an instruction's word.
fn places(inst: &TimedInst) -> [Reg; SOURCE_PLACES] {
    let mut places = [Reg::RZ; SOURCE_PLACES];
    if inst.path == Path::Alu {
        for (place, source) in places.iter_mut().zip(&inst.inst.src) {
            if let Operand::Reg(reg) = source.operand {
                *place = reg;
            }
        }
    }
    places
}

/// What is known before an instruction, over all paths to it.
trait State: Clone + PartialEq {
    /// Before the first instruction of the kernel.
    fn begin() -> Self;
    /// Adds what is known on another path.
    fn merge(&mut self, other: &Self);
}

struct Code<'a> {
    insts: &'a [TimedInst],
    operands: Vec<Operands>,
    successors: Vec<Vec<BlockId>>,
    flow: Flow,
    guard_cycles: u8,
    bits: Vec<ControlBits>,
}

impl Code<'_> {
    fn range(&self, block: usize) -> std::ops::Range<usize> {
        let block = self.flow.blocks()[block];
        block.first.index()..block.end.index()
    }

    /// Steps over the instructions of every block until what is known before each block no longer changes.
    fn walk<S: State>(&mut self, mut step: impl FnMut(&mut Self, usize, &mut S)) {
        let mut before: Vec<Option<S>> = vec![None; self.successors.len()];
        if let Some(first) = before.first_mut() {
            *first = Some(S::begin());
        }
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            let Some(mut state) = before[block].clone() else { continue };
            for at in self.range(block) {
                step(self, at, &mut state);
            }
            for next in 0..self.successors[block].len() {
                let next = self.successors[block][next].0 as usize;
                let merged = match &before[next] {
                    None => state.clone(),
                    Some(known) => {
                        let mut merged = known.clone();
                        merged.merge(&state);
                        merged
                    }
                };
                if before[next].as_ref() != Some(&merged) {
                    before[next] = Some(merged);
                    if !work.contains(&next) {
                        work.push(next);
                    }
                }
            }
        }
    }

    /// For each instruction of a block: the first one behind it that reads or overwrites one of its results, and the first that
    /// overwrites one of its sources; the block's end if none does.
    fn first_users(&self, range: std::ops::Range<usize>) -> Vec<[usize; 2]> {
        let (mut use_of, mut write_of) = ([range.end; PLACES], [range.end; PLACES]);
        let nearest = |places: &[usize], of: &[usize; PLACES]| {
            places.iter().map(|place| of[*place]).min().unwrap_or(range.end)
        };
        let mut found = vec![[range.end; 2]; range.len()];
        for at in range.clone().rev() {
            let Operands { reads, writes, .. } = &self.operands[at];
            found[at - range.start] = [nearest(writes, &use_of), nearest(reads, &write_of)];
            reads.iter().chain(writes).for_each(|place| use_of[*place] = at);
            writes.iter().for_each(|place| write_of[*place] = at);
        }
        found
    }

    /// Gives each result of unknown latency a counter.
    fn count_results(&mut self) {
        for block in 0..self.flow.blocks().len() {
            let range = self.range(block);
            let mut in_use = InUse::default();
            for (at, [user, _]) in range.clone().zip(self.first_users(range)) {
                in_use.advance(at);
                if !self.operands[at].writes.is_empty() && self.insts[at].known_cycles().is_none() {
                    self.bits[at].write_counter = Some(in_use.choose(user));
                }
            }
        }
    }

    /// Waits for results, and counters for the memory instructions of which a register is overwritten before a wait that covers the
    /// read. A counter more is waited for earlier, after which a later wait may be gone that covered another read: so until nothing
    /// is missing.
    fn count_reads(&mut self) {
        let mut counted = vec![false; self.insts.len()];
        loop {
            self.bits.iter_mut().for_each(|bits| bits.waits_for = 0);
            self.wait();
            let overwritten = self.overwritten_reads();
            let new = counted.iter_mut().zip(&overwritten).filter(|(known, found)| !**known && **found);
            if new.map(|(known, _)| *known = true).count() == 0 {
                return;
            }
            self.choose_read_counters(&counted);
        }
    }

    /// The memory instructions of which a register is overwritten before a wait that covers the read.
    fn overwritten_reads(&mut self) -> Vec<bool> {
        let mut overwritten = vec![false; self.insts.len()];
        self.walk(|code, at, state: &mut Reads| {
            let Operands { reads, writes, .. } = &code.operands[at];
            let waits = code.bits[at].waits_for;
            if waits != 0 {
                let covers = |reader: usize| {
                    let ControlBits { write_counter, read_counter, .. } = code.bits[reader];
                    [write_counter, read_counter]
                        .into_iter()
                        .flatten()
                        .any(|counter| waits >> counter & 1 != 0)
                };
                state.0.retain(|(_, reader)| !covers(*reader));
            }
            for place in writes {
                while let Some(found) = state.0.range((*place, 0)..(*place + 1, 0)).next().copied() {
                    overwritten[found.1] = true;
                    state.0.remove(&found);
                }
            }
            if code.insts[at].reads_late() {
                let late = reads.iter().filter(|place| **place < UNIFORMS.start && !writes.contains(place));
                state.0.extend(late.map(|place| (*place, at)));
            }
            while state.0.len() > MOST_READERS {
                let oldest = state.0.iter().min_by_key(|(_, reader)| *reader).copied();
                if let Some(oldest) = oldest {
                    overwritten[oldest.1] = true;
                    state.0.remove(&oldest);
                }
            }
        });
        overwritten
    }

    /// Gives memory instructions a counter until their registers have been read.
    fn choose_read_counters(&mut self, counted: &[bool]) {
        for block in 0..self.flow.blocks().len() {
            let range = self.range(block);
            let mut in_use = InUse::default();
            for (at, [user, overwriter]) in range.clone().zip(self.first_users(range)) {
                in_use.advance(at);
                if let Some(counter) = self.bits[at].write_counter {
                    in_use.take(counter, user);
                }
                if counted[at] {
                    self.bits[at].read_counter = Some(in_use.choose(overwriter));
                }
            }
        }
    }

    /// Has users wait for the counters of what they use.
    fn wait(&mut self) {
        self.walk(|code, at, state: &mut Counted| {
            let waits = state.waits(&code.operands[at]);
            code.bits[at].waits_for |= waits;
            let waits = code.bits[at].waits_for;
            state.wait(waits);
            let (operands, bits) = (&code.operands[at], &code.bits[at]);
            state.issue(&operands.writes, bits);
            if let Some(counter) = bits.read_counter {
                let late = operands.reads.iter().filter(|place| **place < UNIFORMS.start);
                late.for_each(|place| state.reads[*place] |= 1 << counter);
            }
        });
    }

    /// Lengthens stall counts until every result of known latency is there when it is used, and every counter has been
    /// incremented when it is waited for.
    fn stall(&mut self) {
        loop {
            // Cycles that are missing behind each instruction, on the way to those that may come next.
            let mut missing = vec![0u8; self.insts.len()];
            self.walk(|code, at, state: &mut Cycles| {
                let (inst, bits) = (&code.insts[at], &code.bits[at]);
                state.issue(inst, &code.operands[at], bits, code.guard_cycles);
                state.pass(bits.stall_cycles);
                let block = code.flow.block_of(Pc(at as u32));
                let behind = match at + 1 == code.flow.block(block).end.index() {
                    false => vec![at + 1],
                    true => code.successors[block.0 as usize].iter().map(|next| code.first(*next)).collect(),
                };
                let need = behind.into_iter().map(|next| code.lacks(state, next)).max().unwrap_or(0);
                missing[at] = missing[at].max(need);
                state.pass(need);
            });
            let mut changed = false;
            for (bits, more) in self.bits.iter_mut().zip(missing) {
                let longer = bits.stall_cycles.saturating_add(more).min(MOST_STALL);
                changed |= longer != bits.stall_cycles;
                bits.stall_cycles = longer;
            }
            if !changed {
                return;
            }
        }
    }

    fn first(&self, block: BlockId) -> usize {
        self.flow.block(block).first.index()
    }

    /// Cycles that an instruction would have to wait.
    fn lacks(&self, state: &Cycles, at: usize) -> u8 {
        let Operands { reads, writes, guard } = &self.operands[at];
        let results = reads.iter().map(|place| state.results[*place]);
        // Results are written in order, unless the later one takes less time.
        let own = self.insts[at].known_cycles().unwrap_or(MOST_STALL);
        let overwritten = writes.iter().map(|place| state.results[*place].saturating_sub(own));
        let guard = guard.filter(|_| self.guard_cycles > 0).map(|place| state.guards[place - UNIFORMS.end]);
        let waits_for = self.bits[at].waits_for;
        let counters = (0..DEPENDENCE_COUNTERS).filter(|counter| waits_for >> counter & 1 != 0);
        let counters = counters.map(|counter| state.counters[counter]);
        results.chain(overwritten).chain(guard).chain(counters).max().unwrap_or(0)
    }

    /// Keeps sources that the next instruction reads in the same place.
    fn reuse(&mut self) {
        for block in 0..self.flow.blocks().len() {
            for at in self.range(block).skip(1) {
                let written = self.insts[at - 1].destinations();
                for place in 0..SOURCE_PLACES {
                    let reg = self.bits[at].places[place];
                    let same = reg != Reg::RZ && self.bits[at - 1].places[place] == reg;
                    if same && !written.contains(&reg.0) {
                        self.bits[at - 1].reuse |= 1 << place;
                    }
                }
            }
        }
    }
}

/// The counters that stand for something within a block, each with the first user of that.
#[derive(Default)]
struct InUse([Option<usize>; DEPENDENCE_COUNTERS]);

impl InUse {
    /// Frees the counters that have been waited for before an instruction ends.
    fn advance(&mut self, at: usize) {
        self.0.iter_mut().for_each(|user| *user = user.filter(|user| *user > at));
    }

    fn take(&mut self, counter: u8, user: usize) {
        let of = &mut self.0[usize::from(counter)];
        *of = Some(of.map_or(user, |other| other.min(user)));
    }

    /// A counter for something that is first used at `user`: one with the same first user, else one that stands for nothing, else
    /// the one whose first user is nearest.
    fn choose(&mut self, user: usize) -> u8 {
        let same = self.0.iter().position(|of| *of == Some(user));
        let free = || self.0.iter().position(Option::is_none);
        let distance = |counter: &usize| self.0[*counter].map_or(0, |of| of.abs_diff(user));
        let near = || (0..DEPENDENCE_COUNTERS).min_by_key(distance);
        let counter = same.or_else(free).or_else(near).unwrap_or(0) as u8;
        self.take(counter, user);
        counter
    }
}

/// Counters that stand for results, and for late reads, by place.
#[derive(Clone, PartialEq)]
struct Counted {
    results: [u8; PLACES],
    reads: [u8; UNIFORMS.start],
}

impl State for Counted {
    fn begin() -> Counted {
        Counted { results: [0; PLACES], reads: [0; UNIFORMS.start] }
    }

    fn merge(&mut self, other: &Counted) {
        self.results.iter_mut().zip(&other.results).for_each(|(mine, theirs)| *mine |= theirs);
        self.reads.iter_mut().zip(&other.reads).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

impl Counted {
    /// The counters for which an instruction has to wait.
    fn waits(&self, operands: &Operands) -> u8 {
        let results = operands.reads.iter().chain(&operands.writes).map(|place| self.results[*place]);
        let reads = operands.writes.iter().filter_map(|place| self.reads.get(*place));
        results.chain(reads.copied()).fold(0, |all, counters| all | counters)
    }

    fn wait(&mut self, counters: u8) {
        if counters != 0 {
            self.results.iter_mut().chain(&mut self.reads).for_each(|of| *of &= !counters);
        }
    }

    fn issue(&mut self, writes: &[usize], bits: &ControlBits) {
        for place in writes {
            self.results[*place] = bits.write_counter.map_or(0, |counter| 1 << counter);
        }
    }
}

/// The memory instructions that may still read a place.
#[derive(Clone, PartialEq)]
struct Reads(BTreeSet<(usize, usize)>);

impl State for Reads {
    fn begin() -> Reads {
        Reads(BTreeSet::new())
    }

    fn merge(&mut self, other: &Reads) {
        self.0.extend(&other.0);
    }
}

/// Cycles until results of known latency are there, and until counters can be waited for.
#[derive(Clone, PartialEq)]
struct Cycles {
    results: [u8; PLACES],
    /// Of predicates, when they guard.
    guards: [u8; 8],
    counters: [u8; DEPENDENCE_COUNTERS],
}

impl State for Cycles {
    fn begin() -> Cycles {
        Cycles { results: [0; PLACES], guards: [0; 8], counters: [0; DEPENDENCE_COUNTERS] }
    }

    fn merge(&mut self, other: &Cycles) {
        let theirs = other.results.iter().chain(&other.guards).chain(&other.counters);
        self.all().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }
}

impl Cycles {
    fn all(&mut self) -> impl Iterator<Item = &mut u8> {
        self.results.iter_mut().chain(&mut self.guards).chain(&mut self.counters)
    }

    fn pass(&mut self, cycles: u8) {
        if cycles > 0 {
            self.all().for_each(|left| *left = left.saturating_sub(cycles));
        }
    }

    fn issue(&mut self, inst: &TimedInst, operands: &Operands, bits: &ControlBits, guard_cycles: u8) {
        let known = inst.known_cycles().unwrap_or(0);
        for place in &operands.writes {
            self.results[*place] = known;
            if let Some(guard) = place.checked_sub(UNIFORMS.end) {
                self.guards[guard] = known.saturating_add(guard_cycles).min(MOST_STALL);
            }
        }
        for counter in [bits.write_counter, bits.read_counter].into_iter().flatten() {
            self.counters[usize::from(counter)] = COUNTER_CYCLES;
        }
    }
}
