//! A checker of control bits. On hardware since Volta nothing but them keeps an instruction behind those whose results it
//! reads: a stall count in the producer for results that come after a known number of cycles, and a dependence counter
//! for the others (Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, section 4).
//! Wrong bits give wrong values on hardware. An executor in program order does not need them.
//!
//! The checker follows every path of a function, with calls and returns. For each register and predicate it knows the
//! writes that may be outstanding, and for the operands of memory instructions the reads. An instruction that reads or
//! overwrites one that is outstanding is a [`Hazard`].

use super::translate::{DependenceBarrier, Section, translate};
use sass::cubin::{Cubin, Function};
use sass::{Control, INSTRUCTION_BYTES, Instruction, Target, Value};
use std::collections::BTreeMap;
use std::fmt;
use trace_format::isa::space::Space;
use trace_format::isa::{ControlBits, Inst, Kind, LatencyClass, MachineKernel, Pc, Pred, Unit};

/// Cycles between an increment of a counter and the first instruction that can wait for it (section 4).
const COUNTER_CYCLES: u8 = 2;
/// Cycles of an instruction with a stall count of zero that yields.
const YIELD_CYCLES: u32 = 45;

/// What an instruction reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A register.
    Register(u8),
    /// A uniform register.
    Uniform(u8),
    /// A predicate, uniform ones among them.
    Predicate(Pred),
    /// A predicate that guards the instruction, where that takes longer than reading it.
    Guard(Pred),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Register(number) => write!(f, "R{number}"),
            Place::Uniform(number) => write!(f, "UR{number}"),
            Place::Predicate(predicate) => write!(f, "{predicate}"),
            Place::Guard(predicate) => write!(f, "@{predicate}"),
        }
    }
}

/// Why an instruction must not issue yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// The result comes so many cycles later.
    TooEarly(u8),
    /// The producer signals this counter when the result is there, and nothing has waited for it.
    NotWaited(u8),
    /// When the result is there is not known, and the producer has no counter.
    NoCounter,
    /// A memory instruction reads the register at a time that is not known, and nothing has waited until it has.
    NotRead,
    /// The counter that the instruction waits for may not have been incremented yet.
    JustCounted(u8),
}

/// An instruction that may issue before one that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Hazard {
    /// The instruction that must wait.
    pub consumer: Pc,
    /// The one that it has to wait for.
    pub producer: Pc,
    /// What they share; nothing for [`Why::JustCounted`].
    pub place: Option<Place>,
    /// Why it has to wait.
    pub why: Why,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |pc: Pc| pc.index() * INSTRUCTION_BYTES;
        let (consumer, producer) = (at(self.consumer), at(self.producer));
        let place = self.place.map(|place| place.to_string()).unwrap_or_default();
        write!(f, "{consumer:#06x}: ")?;
        match self.why {
            Why::TooEarly(cycles) => {
                write!(f, "{place} of {producer:#06x} is not there for {cycles} more cycles")
            }
            Why::NotWaited(counter) => {
                write!(f, "{place} of {producer:#06x} is used without waiting for SB{counter}")
            }
            Why::NoCounter => {
                write!(f, "{place} of {producer:#06x} is used, which has no dependence counter")
            }
            Why::NotRead => write!(f, "{place} is overwritten while {producer:#06x} may still read it"),
            Why::JustCounted(counter) => {
                write!(f, "waits for SB{counter} before {producer:#06x} has incremented it")
            }
        }
    }
}

/// What the checker found in a function.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Hazards, in the order of the consumers.
    pub hazards: Vec<Hazard>,
    /// Instructions that were looked at.
    pub instructions: usize,
    /// Instructions whose operands are not known, because they have no translation.
    pub unknown: usize,
}

/// Checks the control bits of a function of a cubin.
///
/// A result in one instruction's shadow that no path reads is no hazard. Convergence registers and memory are not followed.
#[must_use]
pub fn check<'a>(cubin: &Cubin<'a>, function: &Function<'a>) -> Checked {
    let branches = cubin.kernel_info(function).map(|info| info.indirect_branches).unwrap_or_default();
    let code = translate(&[Section::of(function, branches)], &[], "");
    // What needs several instructions of ours, behind the code, is left out as well.
    let length = code.length;
    let needs_several = |inst: &&Inst| inst.kind() == Kind::Branch && inst.target.index() >= length;
    let unknown = code.traps.len() + code.insts[..length].iter().filter(needs_several).count();
    let mut words: Vec<Option<Instruction>> = function.instructions().take(length).map(Result::ok).collect();
    words.resize(code.insts.len(), None);
    let kernel = MachineKernel { functions: code.functions, insts: code.insts, ..MachineKernel::default() };
    let view = |(inst, word): (&Inst, &Option<Instruction>)| {
        word.as_ref().map(|word| View::of(inst, word, cubin.target))
    };
    let views: Vec<Option<View>> = kernel.insts.iter().zip(&words).map(view).collect();
    Checked { hazards: hazards(&kernel, &views), instructions: length, unknown }
}

/// What a machine says of an instruction of a kernel that is not its own machine code.
#[derive(Clone, Copy, Debug)]
pub struct Assigned {
    /// The bits that the instruction was given.
    pub bits: ControlBits,
    /// Cycles until its results are there; none if that is not known.
    pub latency: Option<u8>,
    /// Cycles that a predicate takes longer to guard an instruction than to be read by one.
    pub guard_cycles: u8,
}

/// Checks control bits that were assigned to the instructions of a kernel for a machine.
///
/// # Panics
/// If there are not as many as the kernel has instructions.
#[must_use]
pub fn check_assigned(kernel: &MachineKernel, assigned: &[Assigned]) -> Vec<Hazard> {
    assert_eq!(kernel.insts.len(), assigned.len(), "bits of every instruction");
    let view = |(inst, assigned): (&Inst, &Assigned)| Some(View::assigned(inst, assigned));
    let views: Vec<Option<View>> = kernel.insts.iter().zip(assigned).map(view).collect();
    hazards(kernel, &views)
}

/// The hazards of all paths, in the order of the consumers.
fn hazards(kernel: &MachineKernel, views: &[Option<View>]) -> Vec<Hazard> {
    let mut hazards: Vec<Hazard> = Vec::new();
    paths(kernel, views, &mut |hazard| hazards.push(hazard));
    hazards.sort_unstable();
    hazards.dedup();
    hazards
}

/// Follows every path until the outstanding accesses before each block no longer change.
fn paths(kernel: &MachineKernel, views: &[Option<View>], found: &mut dyn FnMut(Hazard)) {
    let flow = kernel.flow();
    let successors = flow.call_graph_successors(kernel);
    let mut before: Vec<Option<Outstanding>> = vec![None; flow.blocks().len()];
    let mut work = Vec::new();
    if let Some(first) = before.first_mut() {
        *first = Some(Outstanding::default());
        work.push(0);
    }
    while let Some(block) = work.pop() {
        let Some(mut state) = before[block].clone() else { continue };
        let range = flow.blocks()[block];
        for pc in (range.first.0..range.end.0).map(Pc) {
            if let Some(view) = &views[pc.index()] {
                state.step(pc, view, found);
            }
        }
        for next in &successors[block] {
            let next = next.0 as usize;
            let changed = match &mut before[next] {
                None => {
                    before[next] = Some(state.clone());
                    true
                }
                Some(known) => known.merge(&state),
            };
            if changed && !work.contains(&next) {
                work.push(next);
            }
        }
    }
}

/// An outstanding access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    place: Place,
    producer: Pc,
    is_write: bool,
    queue: Queue,
    lanes: Lanes,
}

/// The lanes that an instruction is for: those for which a predicate has a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Lanes {
    predicate: Pred,
    not: bool,
}

impl Lanes {
    const ALL: Lanes = Lanes { predicate: Pred::PT, not: false };

    /// Whether no lane is in both, if the predicate has not changed.
    fn excludes(self, other: Lanes) -> bool {
        self.predicate == other.predicate && self.not != other.not
    }
}

/// When an outstanding access ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// In so many cycles, counted from the issue of the next instruction.
    In(u8),
    /// When one of these counters, as a mask, has been waited for. The first instruction that increments one, if there is
    /// one yet, is what `DEPBAR` counts.
    Counted(u8, Option<Pc>),
}

/// What may be outstanding before an instruction, over all paths to it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Outstanding {
    accesses: BTreeMap<Key, End>,
    /// By counter: increments since each instruction that incremented it, the last one's number 0.
    increments: [BTreeMap<Pc, u8>; 6],
    /// Counters that were incremented so recently that nothing can wait for them, with the cycles that are missing.
    fresh: BTreeMap<(u8, Pc), u8>,
}

impl Outstanding {
    /// Adds what is outstanding on another path; whether there was anything new.
    fn merge(&mut self, other: &Outstanding) -> bool {
        let before = self.clone();
        for (key, end) in &other.accesses {
            let known = self.accesses.entry(*key).or_insert(*end);
            *known = match (*known, *end) {
                (End::In(a), End::In(b)) => End::In(a.max(b)),
                // What counts later on one path only is not waited for on the other.
                (End::Counted(a, by), End::Counted(b, _)) => End::Counted(a & b, by),
                (counted @ End::Counted(..), _) | (_, counted) => counted,
            };
        }
        for (known, more) in self.increments.iter_mut().zip(&other.increments) {
            for (pc, since) in more {
                let least = known.entry(*pc).or_insert(*since);
                *least = (*least).min(*since);
            }
        }
        for (key, cycles) in &other.fresh {
            let most = self.fresh.entry(*key).or_insert(*cycles);
            *most = (*most).max(*cycles);
        }
        *self != before
    }

    /// Issues an instruction: waits for its counters, compares what it accesses, and adds its own accesses.
    fn step(&mut self, pc: Pc, view: &View, found: &mut dyn FnMut(Hazard)) {
        let View { bits, barrier, ends_reads, accesses } = view;
        for &(counter, producer) in self.fresh.keys() {
            if bits.waits_for >> counter & 1 != 0 {
                let why = Why::JustCounted(counter);
                found(Hazard { consumer: pc, producer, place: None, why });
            }
        }
        self.wait(bits.waits_for);
        if let Some(barrier) = barrier {
            self.wait(barrier.others);
            self.wait_until(barrier.counter, barrier.most);
        }
        if *ends_reads {
            self.accesses.retain(|key, _| key.is_write);
        }
        self.compare(pc, accesses, found);
        self.advance(cycles(bits));
        self.add(pc, bits, accesses);
    }

    /// Ends what counts with any of these counters.
    fn wait(&mut self, mask: u8) {
        if mask == 0 {
            return;
        }
        self.accesses.retain(|_, end| !matches!(end, End::Counted(counters, _) if *counters & mask != 0));
        for (counter, increments) in self.increments.iter_mut().enumerate() {
            if mask >> counter & 1 != 0 {
                increments.clear();
            }
        }
        self.fresh.retain(|(counter, _), _| mask >> counter & 1 == 0);
    }

    /// Ends all but the last `most` accesses that count with a counter.
    fn wait_until(&mut self, counter: u8, most: u8) {
        let Some(increments) = self.increments.get_mut(usize::from(counter)) else { return };
        let over: Vec<Pc> =
            increments.iter().filter(|(_, since)| **since >= most).map(|(pc, _)| *pc).collect();
        increments.retain(|_, since| *since < most);
        self.accesses.retain(|_, end| match end {
            End::Counted(mask, Some(by)) => *mask >> counter & 1 == 0 || !over.contains(by),
            _ => true,
        });
    }

    fn compare(&self, pc: Pc, accesses: &Accesses, found: &mut dyn FnMut(Hazard)) {
        let mut of = |place: Place, overwrites: bool| {
            for (key, end) in self.accesses.iter().filter(|(key, _)| key.place == place) {
                let why = match (key.is_write, end) {
                    // No lane takes part in both.
                    _ if key.lanes.excludes(accesses.lanes) => continue,
                    (false, _) if !overwrites => continue,
                    // Its own operands are read after theirs.
                    (false, _) if accesses.queue.reads_late() => continue,
                    (false, _) => Why::NotRead,
                    (true, End::Counted(..)) if overwrites && accesses.queue.answers_in_order(key.queue) => {
                        continue;
                    }
                    // Results of known latency are written in order.
                    (true, End::In(_)) if overwrites => continue,
                    (true, End::In(cycles)) if *cycles <= accesses.slack => continue,
                    (true, End::In(cycles)) => Why::TooEarly(*cycles),
                    (true, End::Counted(0, _)) => Why::NoCounter,
                    (true, End::Counted(mask, _)) => Why::NotWaited(mask.trailing_zeros() as u8),
                };
                found(Hazard { consumer: pc, producer: key.producer, place: Some(place), why });
            }
        };
        accesses.reads.iter().for_each(|place| of(*place, false));
        accesses.writes.iter().for_each(|place| of(*place, true));
    }

    /// Lets cycles pass.
    fn advance(&mut self, cycles: u8) {
        self.accesses.retain(|_, end| match end {
            End::In(left) => {
                *left = left.saturating_sub(cycles);
                *left > 0
            }
            End::Counted(..) => true,
        });
        self.fresh.retain(|_, left| {
            *left = left.saturating_sub(cycles);
            *left > 0
        });
    }

    /// The lanes for which a predicate was true are no longer those for which it is.
    fn forget_lanes(&mut self, predicate: Pred) {
        let of = |key: &Key| key.lanes.predicate == predicate;
        let old: Vec<(Key, End)> =
            self.accesses.iter().filter(|(key, _)| of(key)).map(|(key, end)| (*key, *end)).collect();
        self.accesses.retain(|key, _| !of(key));
        self.accesses.extend(old.into_iter().map(|(key, end)| (Key { lanes: Lanes::ALL, ..key }, end)));
    }

    /// What is served in order before an instruction is done when that instruction's counters are.
    fn cover(&mut self, pc: Pc, queue: Queue, read: u8, write: u8) {
        if queue == Queue::None || read | write == 0 {
            return;
        }
        for (key, end) in &mut self.accesses {
            if let End::Counted(mask, by) = end {
                let more = match (key.is_write, key.queue) {
                    (false, _) if queue.reads_late() => read | write,
                    (true, earlier) if queue.answers_in_order(earlier) => write,
                    _ => 0,
                };
                if more != 0 {
                    *mask |= more;
                    by.get_or_insert(pc);
                }
            }
        }
    }

    /// Adds the accesses of an instruction whose stall count has passed.
    fn add(&mut self, pc: Pc, control: &ControlBits, accesses: &Accesses) {
        let passed = cycles(control);
        for counter in [control.write_counter, control.read_counter].into_iter().flatten() {
            let Some(increments) = self.increments.get_mut(usize::from(counter)) else { continue };
            increments.values_mut().for_each(|since| *since = since.saturating_add(1));
            increments.insert(pc, 0);
            if passed < COUNTER_CYCLES {
                self.fresh.insert((counter, pc), COUNTER_CYCLES - passed);
            }
        }
        let bit = |counter: Option<u8>| counter.map_or(0, |counter| 1 << counter);
        self.cover(pc, accesses.queue, bit(control.read_counter), bit(control.write_counter));
        let key = |place, is_write| Key {
            place,
            producer: pc,
            is_write,
            queue: accesses.queue,
            lanes: accesses.lanes,
        };
        for place in &accesses.writes {
            // What the instruction overwrites is its own result from here on.
            if accesses.lanes == Lanes::ALL {
                self.accesses.retain(|key, _| key.place != *place);
            }
            if let Place::Predicate(predicate) = place {
                self.forget_lanes(*predicate);
            }
            let latency = match place {
                Place::Guard(_) => {
                    accesses.latency.map(|latency| latency.saturating_add(accesses.guard_cycles))
                }
                _ => accesses.latency,
            };
            let end = match (latency, control.write_counter) {
                (Some(latency), None) => End::In(latency.saturating_sub(passed)),
                _ => End::Counted(bit(control.write_counter), control.write_counter.map(|_| pc)),
            };
            if end != End::In(0) {
                self.accesses.insert(key(*place, true), end);
            }
        }
        if accesses.queue.reads_late() {
            // A result that is there has had its operands read.
            let mask = bit(control.read_counter) | bit(control.write_counter);
            for place in &accesses.reads {
                let is_late = matches!(place, Place::Register(_));
                if is_late && !accesses.writes.contains(place) {
                    self.accesses.insert(key(*place, false), End::Counted(mask, (mask != 0).then_some(pc)));
                }
            }
        }
    }
}

/// A queue whose instructions are served in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Queue {
    /// Shared memory: results come in order as well.
    Shared,
    /// Other memory: operands are read in order.
    Memory,
    /// Special functions and conversions: results come in order.
    Special,
    /// Double precision, conversions from and to it among them: results come in order.
    Double,
    /// Textures: operands are read, and results come, in order.
    Texture,
    /// Other instructions.
    None,
}

impl Queue {
    /// Whether operands are read at a time that is not known.
    fn reads_late(self) -> bool {
        matches!(self, Queue::Shared | Queue::Memory | Queue::Texture)
    }

    /// Whether results come after those of an earlier instruction.
    fn answers_in_order(self, earlier: Queue) -> bool {
        self == earlier && !matches!(self, Queue::Memory | Queue::None)
    }
}

/// Cycles from the issue of an instruction to that of the warp's next one.
fn cycles(bits: &ControlBits) -> u8 {
    bits.cycles_to_next_issue(YIELD_CYCLES) as u8
}

/// An instruction as the checker sees it.
struct View {
    bits: ControlBits,
    barrier: Option<DependenceBarrier>,
    /// Whether it waits until every register has been read.
    ends_reads: bool,
    accesses: Accesses,
}

impl View {
    fn of(inst: &Inst, word: &Instruction, target: Target) -> View {
        let Control { stall_cycles, yields, write_counter, read_counter, wait_mask, .. } = word.control;
        let waits_for = wait_mask;
        let bits = ControlBits {
            stall_cycles,
            yields,
            write_counter,
            read_counter,
            waits_for,
            ..ControlBits::default()
        };
        View {
            bits,
            barrier: DependenceBarrier::of(word),
            ends_reads: word.mnemonic == "BAR" && !word.has("DEFER_BLOCKING"),
            accesses: Accesses::of(inst, word, target),
        }
    }

    fn assigned(inst: &Inst, assigned: &Assigned) -> View {
        let Assigned { bits, latency, guard_cycles } = *assigned;
        View {
            bits,
            barrier: None,
            ends_reads: false,
            accesses: Accesses::assigned(inst, latency, guard_cycles),
        }
    }
}

/// What an instruction reads and writes, and when.
struct Accesses {
    reads: Vec<Place>,
    writes: Vec<Place>,
    /// Cycles until its results are there; none if that is not known.
    latency: Option<u8>,
    /// Cycles after issue at which it reads its operands, compared with other instructions.
    slack: u8,
    /// Cycles that a predicate takes longer to guard an instruction.
    guard_cycles: u8,
    lanes: Lanes,
    queue: Queue,
}

impl Accesses {
    /// Of an instruction of a machine on which nothing is known to be in order but results of known latency.
    fn assigned(inst: &Inst, latency: Option<u8>, guard_cycles: u8) -> Accesses {
        let registers = inst.src_regs().map(|reg| Place::Register(reg.0));
        let uniforms = inst.src_uniforms().map(|reg| Place::Uniform(reg.0));
        let guard = (!inst.is_unguarded()).then_some(Place::Guard(inst.guard.pred));
        let reads = registers.chain(uniforms).chain(inst.all_src_preds().map(Place::Predicate)).chain(guard);
        let registers = inst.dst_regs().map(|reg| Place::Register(reg.0));
        let uniforms = inst.dst_uniforms().map(|reg| Place::Uniform(reg.0));
        let predicates = inst.all_dst_preds().flat_map(|pred| [Place::Predicate(pred), Place::Guard(pred)]);
        let writes = registers.chain(uniforms).chain(predicates).collect();
        let queue = if inst.kind().is_memory() { Queue::Memory } else { Queue::None };
        // Whatever lanes take part: two instructions with opposite guards wait for each other here.
        let (reads, lanes) = (reads.collect(), Lanes::ALL);
        Accesses { reads, writes, latency, slack: 0, guard_cycles, lanes, queue }
    }

    fn of(inst: &Inst, word: &Instruction, target: Target) -> Accesses {
        let registers = inst.src_regs().map(|reg| Place::Register(reg.0));
        let uniforms = inst.src_uniforms().map(|reg| Place::Uniform(reg.0));
        let read = inst.all_src_preds().filter(|pred| word.mnemonic != "P2R" || selects(word, *pred));
        let reads = registers.chain(uniforms).chain(read.map(Place::Predicate)).collect();
        let registers = inst.dst_regs().map(|reg| Place::Register(reg.0));
        let uniforms = inst.dst_uniforms().map(|reg| Place::Uniform(reg.0));
        let written = inst.all_dst_preds().filter(|pred| word.mnemonic != "R2P" || selects(word, *pred));
        let writes = registers.chain(uniforms).chain(written.map(Place::Predicate));
        // The result of a barrier is B2R's, which is checked by its counter alone.
        let writes = if inst.kind() == Kind::Barrier { Vec::new() } else { writes.collect() };
        let queue = match inst.kind().space() {
            Some(Space::Shared) => Queue::Shared,
            _ if matches!(word.mnemonic, "TEX" | "TLD" | "TLD4" | "TXQ") => Queue::Texture,
            None if inst.info().latency == LatencyClass::Shuffle => Queue::Shared,
            None if inst.info().unit == Unit::Fp64 => Queue::Double,
            None if inst.info().unit == Unit::Sfu && converts_doubles(word) => Queue::Double,
            None if inst.info().unit == Unit::Sfu => Queue::Special,
            Some(Space::Const) | None => Queue::None,
            Some(_) => Queue::Memory,
        };
        let lanes = Lanes { predicate: inst.guard.pred, not: inst.guard.not };
        Accesses {
            reads,
            writes,
            latency: latency(inst, word, target),
            slack: slack(word, target),
            guard_cycles: 0,
            lanes,
            queue,
        }
    }
}

/// Whether an instruction converts from or to double precision or 64-bit integers.
fn converts_doubles(word: &Instruction) -> bool {
    word.mnemonic != "MUFU" && word.modifiers.iter().any(|modifier| modifier.contains("64"))
}

/// Whether the mask of P2R or R2P selects a predicate.
fn selects(word: &Instruction, predicate: Pred) -> bool {
    let mask = word.operands.iter().rev().find_map(|operand| match operand.value {
        Value::Integer(mask) => Some(mask),
        _ => None,
    });
    predicate.0 < 7 && mask.unwrap_or(0x7f) >> predicate.0 & 1 != 0
}

/// The least number of cycles after which a result can be read that has no dependence counter; none where it has one, or
/// needs one. They are the shortest that ptxas leaves, which no published one is below.
fn latency(inst: &Inst, word: &Instruction, target: Target) -> Option<u8> {
    if word.control.write_counter.is_some() {
        return None;
    }
    match (word.mnemonic, inst.info().unit) {
        ("ULDC" | "UMOV" | "VOTEU" | "UFLO" | "UPOPC" | "UBREV" | "UI2F", _) => Some(2),
        ("CS2R" | "I2FP" | "UI2FP" | "F2FP", _) => Some(4),
        _ if inst.kind() != Kind::Pure => None,
        // The lower word comes before the upper one.
        ("IMAD", _) if word.has("WIDE") && target.number() >= 90 => Some(3),
        (_, Unit::Int | Unit::Fp32) => Some(4),
        (_, Unit::Tensor) => Some(10),
        // Quarters of an SM have double precision of their own.
        (_, Unit::Fp64) if target.number() == 90 => Some(4),
        _ => None,
    }
}

/// `IMAD.WIDE` and `IMAD.HI` add later than they multiply.
fn slack(word: &Instruction, target: Target) -> u8 {
    let is_late = word.mnemonic == "IMAD" && (word.has("WIDE") || word.has("HI"));
    if is_late && target.number() >= 90 { 2 } else { 0 }
}
