//! Operands at fixed times, without collectors: the sub-cores of the organisation with control bits (Huerta et al., MICRO 2025,
//! sections 5.1 to 5.3).
//!
//! An instruction of known latency passes two stages behind issue: Control, and Allocate, which it leaves when it finds free
//! ports of its banks in the next cycles, a window of three. In these it reads its operands, however many it has. What
//! cannot leave holds up the instructions behind it, and so issue. Memory instructions and those of units with queues
//! leave Control for their queue. A memory instruction then has its turn in the address calculation and reads its
//! registers some cycles later, through ports that are left over.
//!
//! The register file cache keeps, for each place of an instruction word and each bank, the value that the compiler has marked
//! for reuse: the next read of this place and bank finds it there, or ends it.

use super::collectors::{Collected, Collecting, LOAD_STORE_QUEUE, Offers};
use super::operand_constants::{OperandConstants, Place};
use crate::config::{GpuConfig, SubCore};
use crate::program::{MAX_SRC, MemoryKind, Path, TimedInst, has_queue};
use crate::stats::{Counters, Stall};
use crate::techniques::ReadFrom;
use std::collections::VecDeque;
use trace_format::isa::space::Space;
use trace_format::isa::{SOURCE_PLACES, Unit};

/// Cycles from issue to the first one in Allocate or in a queue.
const CONTROL_CYCLES: u64 = 2;
/// Cycles ahead in which reads of a bank are known.
const HORIZON: usize = 128;

/// What an instruction needs of a sub-core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// A window of reads and a unit that accepts an instruction at a known cycle.
    Window { unit: u8 },
    /// An entry of the memory queue.
    Memory,
    /// An entry of the queue of units whose latency is not known.
    UnitQueue,
}

impl Needs {
    fn of(inst: &TimedInst) -> Needs {
        match inst.path {
            Path::Memory(_) => Needs::Memory,
            _ if has_queue(inst.unit) => Needs::UnitQueue,
            _ => Needs::Window { unit: inst.unit },
        }
    }
}

/// A warp's next instruction: what it needs of its sub-core, and the constant that it names as an operand.
#[derive(Clone, Copy, Debug)]
struct Head {
    needs: Needs,
    constant: Option<Place>,
}

/// Reads of one bank by cycle, from now on.
#[derive(Clone, Debug)]
struct Ports {
    taken: [u8; HORIZON],
    /// Cycles before this one are past.
    from: u64,
    ports: u8,
}

impl Ports {
    fn new(ports: u8) -> Ports {
        Ports { taken: [0; HORIZON], from: 0, ports }
    }

    /// Forgets the past.
    fn advance(&mut self, now: u64) {
        let past = (now - self.from.min(now)).min(HORIZON as u64);
        for cycle in self.from..self.from + past {
            self.taken[cycle as usize % HORIZON] = 0;
        }
        self.from = self.from.max(now);
    }

    fn free(&self, cycle: u64) -> u8 {
        self.ports - self.taken[cycle as usize % HORIZON]
    }

    /// Takes ports for some reads from a cycle on; returns the cycle of the last one.
    fn take(&mut self, mut reads: u8, from: u64) -> u64 {
        let mut cycle = from;
        loop {
            let served = self.free(cycle).min(reads);
            self.taken[cycle as usize % HORIZON] += served;
            reads -= served;
            if reads == 0 || cycle + 1 >= self.from + HORIZON as u64 {
                return cycle;
            }
            cycle += 1;
        }
    }
}

/// A value of the register file cache: the warp and the register.
type Kept = Option<(u8, u8)>;

/// One sub-core.
#[derive(Clone, Debug)]
struct Core {
    /// First cycle in which Control is free for an instruction that issues then.
    issues_from: u64,
    /// Cycle in which the last instruction left Allocate.
    allocated: u64,
    /// By unit class: the first cycle in which its unit accepts an instruction of known latency.
    unit_free: [u64; Unit::ALL.len()],
    memory_queue: u32,
    unit_queue: u32,
    /// First cycle in which the address calculation is free.
    address_free: u64,
    ports: Vec<Ports>,
    /// By bank and place.
    kept: Vec<[Kept; SOURCE_PLACES]>,
    /// Cycle from which the write port for loads is free.
    write_free: u64,
    /// Instructions with their operands, oldest first.
    ready: Vec<Ready>,
    constants: OperandConstants,
}

/// An instruction with its operands.
#[derive(Clone, Copy, Debug)]
struct Ready {
    slot: u16,
    leaves_for: u8,
}

/// The sub-cores of an SM.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    cores: Vec<Core>,
    config: SubCore,
    /// Cycles that techniques add before the reads.
    extra: u64,
    /// Whether registers that are read late are kept from being overwritten although control bits do so.
    has_techniques: bool,
    banks: usize,
    dispatched: usize,
    /// By warp slot: what its next instruction needs.
    heads: [Head; 64],
    /// Instructions whose operands arrive: cycle, instruction, sub-core.
    arriving: VecDeque<(u64, Ready, u8)>,
    /// By slot: the operands that are read late, one bit each, and the cycle of their arrival.
    reads: Vec<(u16, u64)>,
    ready_count: u32,
    /// First cycle in which the SM's load/store unit takes an instruction, and the sub-core whose turn it is.
    accept_free: u64,
    turn: usize,
    now: u64,
    /// Reads and hits in the register file cache that have not been counted yet.
    uncounted: (u64, u64),
}

impl Windows {
    /// The sub-cores of a configuration; techniques delay reads by some cycles, and rely on the scoreboard.
    #[must_use]
    pub(crate) fn new(config: &GpuConfig, extra_cycles: u32, has_techniques: bool) -> Windows {
        let count = config.scheduler.count as usize;
        let banks = config.register_file.banks as usize / count;
        let core = Core {
            issues_from: 0,
            allocated: 0,
            unit_free: [0; Unit::ALL.len()],
            memory_queue: 0,
            unit_queue: 0,
            address_free: 0,
            ports: vec![Ports::new(config.register_file.bank_ports as u8); banks],
            kept: vec![[None; SOURCE_PLACES]; banks],
            write_free: 0,
            ready: Vec::new(),
            constants: OperandConstants::new(config),
        };
        Windows {
            cores: vec![core; count],
            config: config.sub_core.clone(),
            extra: extra_cycles.into(),
            has_techniques,
            banks,
            dispatched: config.collectors.dispatch_per_scheduler as usize,
            heads: [Head { needs: Needs::Memory, constant: None }; 64],
            arriving: VecDeque::new(),
            reads: Vec::new(),
            ready_count: 0,
            accept_free: 0,
            turn: 0,
            now: 0,
            uncounted: (0, 0),
        }
    }

    /// Notes what a warp's next instruction needs.
    #[inline]
    pub(crate) fn look_at(&mut self, warp: usize, inst: &TimedInst) {
        let constant = if matches!(inst.path, Path::Memory(_)) { None } else { Place::of(&inst.inst) };
        self.heads[warp & 63] = Head { needs: Needs::of(inst), constant };
    }

    /// Begins a cycle.
    #[inline]
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = now;
        self.cores.iter_mut().for_each(|core| core.constants.advance(now));
    }

    /// Whether a scheduler waits for a line of constants and issues nothing.
    #[inline]
    pub(crate) fn holds(&self, scheduler: usize) -> bool {
        self.cores[scheduler].constants.holds(self.now)
    }

    /// Looks up the constant that a warp's next instruction names, which is about to issue; whether it is there.
    #[inline]
    pub(crate) fn finds_constant(&mut self, warp: usize, scheduler: usize) -> bool {
        let Some(place) = self.heads[warp & 63].constant else { return true };
        self.cores[scheduler].constants.look_up(place, self.now)
    }

    /// Why an instruction of a sub-core cannot issue now, if it cannot.
    fn lacks(&self, core: &Core, head: Head) -> Option<Stall> {
        if core.constants.holds(self.now)
            || head.constant.is_some_and(|place| core.constants.is_coming(place))
        {
            return Some(Stall::ConstantMiss);
        }
        if core.issues_from > self.now {
            return Some(Stall::CollectorFull);
        }
        match head.needs {
            Needs::Window { unit } => {
                (core.unit_free[usize::from(unit)] > self.now + CONTROL_CYCLES).then_some(Stall::UnitBusy)
            }
            Needs::Memory => {
                (core.memory_queue >= self.config.memory_queue_entries).then_some(Stall::MemoryQueueFull)
            }
            Needs::UnitQueue => {
                (core.unit_queue >= self.config.unit_queue_entries).then_some(Stall::UnitBusy)
            }
        }
    }

    /// Warps of `mask` (all of one scheduler) whose next instruction may enter its sub-core.
    #[inline]
    pub(crate) fn with_room(&self, mask: u64, scheduler: usize) -> u64 {
        let core = &self.cores[scheduler];
        if core.issues_from > self.now {
            return 0;
        }
        super::WarpSet(mask)
            .filter(|warp| self.lacks(core, self.heads[*warp]).is_none())
            .fold(0, |found, warp| found | 1 << warp)
    }

    /// Stall cause of a warp whose next instruction may not enter.
    #[must_use]
    pub(crate) fn refuses(&self, warp: usize, scheduler: usize) -> Stall {
        self.lacks(&self.cores[scheduler], self.heads[warp & 63]).unwrap_or(Stall::UnitBusy)
    }

    /// The next cycle in which a sub-core that refuses an instruction because of the time may take it.
    #[must_use]
    pub(crate) fn next_room(&self) -> Option<u64> {
        let of = |core: &Core| {
            let units = core.unit_free.map(|free| free.saturating_sub(CONTROL_CYCLES));
            let times = [core.issues_from].into_iter().chain(units).filter(|cycle| *cycle > self.now);
            times.chain(core.constants.next_event(self.now)).min()
        };
        self.cores.iter().filter_map(of).min()
    }

    /// Takes an issued instruction, for which there must be room. Returns the operands that it reads late, one bit each, if
    /// others have to be kept from overwriting them.
    pub(crate) fn collect(
        &mut self,
        who: Collecting,
        inst: &TimedInst,
        operands: impl Iterator<Item = ReadFrom>,
        now: u64,
    ) -> u16 {
        let Collecting { id, warp, scheduler, leaves_for, .. } = who;
        self.now = now;
        let mut demand = Demand { banks: [0; 64], ready_at: 0, delay: 0, all: 0 };
        for (index, from) in operands.enumerate() {
            demand.add(index, &from, &self.reads, self.banks);
        }
        let core = &mut self.cores[scheduler];
        core.ports.iter_mut().for_each(|bank| bank.advance(now));
        let needs = Needs::of(inst);
        if self.config.register_cache
            && let Needs::Window { .. } = needs
            && let Some(bits) = &inst.control
        {
            let hits = core.reuse(warp as u8, bits, self.banks, &mut demand.banks);
            self.uncounted.1 += hits;
        }
        core.issues_from = now + 1;
        let enters = now + CONTROL_CYCLES + self.extra + demand.delay;
        let arrives = match needs {
            Needs::Window { unit } => {
                let window = u64::from(self.config.read_window_cycles);
                let at = core.allocate(enters, window, &demand.banks, core.unit_free[usize::from(unit)]);
                core.unit_free[usize::from(unit)] = at + u64::from(inst.initiation_cycles);
                at
            }
            Needs::UnitQueue => {
                core.unit_queue += 1;
                core.read_left_over(&demand.banks, enters).max(enters)
            }
            Needs::Memory => {
                core.memory_queue += 1;
                let begins = core.address_free.max(enters + 1);
                core.address_free = begins + u64::from(self.config.address_cycles);
                let last = core.read_left_over(&demand.banks, begins);
                // Uncontended, the address calculation begins three cycles behind issue.
                let read = begins - (CONTROL_CYCLES + 1) + read_cycles(&self.config, inst);
                read.max(last + 1)
            }
        };
        let arrives = arrives.max(demand.ready_at);
        self.uncounted.0 += demand.banks[..self.banks].iter().map(|reads| u64::from(*reads)).sum::<u64>();
        let slot = usize::from(id.slot());
        let reads_late = matches!(needs, Needs::Memory | Needs::UnitQueue);
        let has_bits = inst.control.is_some_and(|bits| !bits.partial);
        let held = if reads_late && (self.has_techniques || !has_bits) { demand.all } else { 0 };
        if self.reads.len() <= slot {
            self.reads.resize(slot + 1, (0, 0));
        }
        self.reads[slot] = (held, arrives);
        let at = self.arriving.partition_point(|(cycle, ..)| *cycle <= arrives);
        let ready = Ready { slot: id.slot(), leaves_for };
        self.arriving.insert(at, (arrives, ready, scheduler as u8));
        held
    }

    /// Cycle of the next arrival of operands.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        self.arriving.front().map(|(cycle, ..)| *cycle)
    }

    /// Takes the operands that arrive in this cycle; appends the instructions that have them.
    #[inline]
    pub(crate) fn take_operands(&mut self, now: u64, collected: &mut Vec<Collected>) {
        while let Some((cycle, ready, core)) = self.arriving.front().copied() {
            if cycle > now {
                break;
            }
            self.arriving.pop_front();
            self.cores[usize::from(core)].ready.push(ready);
            self.ready_count += 1;
            collected.push(Collected { slot: ready.slot, operands: self.reads[usize::from(ready.slot)].0 });
        }
    }

    /// Whether instructions with their operands wait to leave.
    #[must_use]
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.ready_count > 0
    }

    /// Earliest cycle in which an instruction with its operands can leave; `free_at` gives that of a destination, for the warp
    /// slots of a sub-core.
    pub(crate) fn next_departure(&self, free_at: impl Fn(usize, u8) -> u64) -> Option<u64> {
        let of = |(share, core): (usize, &Core)| {
            let at = |ready: &Ready| match ready.leaves_for {
                LOAD_STORE_QUEUE => free_at(share, LOAD_STORE_QUEUE).max(self.accept_free),
                class => free_at(share, class),
            };
            core.ready.iter().map(at).min()
        };
        self.cores.iter().enumerate().filter_map(of).min()
    }

    /// Begins a cycle's offers of instructions with their operands.
    #[must_use]
    pub(crate) fn offers(&self) -> Offers {
        Offers::new(self.turn, self.dispatched)
    }

    /// The next instruction to be offered; the caller answers with [`Windows::taken`] or [`Windows::refused`].
    #[inline]
    pub(crate) fn offer(&self, offers: &mut Offers) -> Option<u16> {
        while offers.share < self.cores.len() {
            let core = &self.cores[offers.asked(self.cores.len())];
            while offers.budget > 0
                && let Some(Ready { slot, leaves_for, .. }) = core.ready.get(offers.index).copied()
            {
                let waits = leaves_for == LOAD_STORE_QUEUE && self.accept_free > self.now;
                if offers.taken >> leaves_for & 1 == 0 && !waits {
                    return Some(slot);
                }
                offers.index += 1;
            }
            offers.next_share(self.dispatched);
        }
        None
    }

    /// The offered instruction has left.
    #[inline]
    pub(crate) fn taken(&mut self, offers: &mut Offers) {
        let asked = offers.asked(self.cores.len());
        let core = &mut self.cores[asked];
        let Ready { leaves_for, .. } = core.ready.remove(offers.index);
        offers.budget -= 1;
        self.ready_count -= 1;
        if leaves_for == LOAD_STORE_QUEUE {
            core.memory_queue -= 1;
            self.accept_free = self.now + u64::from(self.config.accept_cycles);
            self.turn = asked + 1;
        } else if has_queue(leaves_for) {
            core.unit_queue -= 1;
        }
    }

    /// The destination of the offered instruction has no room in this cycle.
    #[inline]
    pub(crate) fn refused(&mut self, offers: &mut Offers) {
        let leaves_for = self.cores[offers.asked(self.cores.len())].ready[offers.index].leaves_for;
        offers.taken |= 1 << leaves_for;
        offers.index += 1;
    }

    /// Cycle in which the data of a load, complete now, are in the registers. Those of the first of `passes` through shared memory
    /// go ahead of the others.
    pub(crate) fn transfer(&mut self, scheduler: usize, inst: &TimedInst, passes: u32, now: u64) -> u64 {
        let shared = matches!(inst.path, Path::Memory(MemoryKind::Load(Space::Shared)));
        let bits =
            if shared { self.config.shared_load_bits_per_cycle } else { self.config.load_bits_per_cycle };
        let cycles = u64::from((32 * 32 * u32::from(inst.dst_count)).div_ceil(bits).max(2));
        let core = &mut self.cores[scheduler];
        // What a uniform address saves beside the cycles of its reads is taken off here.
        let saved = if has_uniform_address(inst) { self.config.uniform_saved_cycles } else { 0 };
        let begins = now - u64::from(passes.saturating_sub(1) + saved).min(now);
        let done = (core.write_free.max(begins) + cycles).max(now + 1);
        core.write_free = done;
        done
    }

    /// Counts what has been read since the last call.
    #[inline]
    pub(crate) fn count(&mut self, counters: &mut Counters) {
        let (reads, hits) = std::mem::take(&mut self.uncounted);
        counters.rf_reads += reads;
        counters.register_cache_reads += hits;
    }

    /// State of the sub-cores, for the watchdog's report.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for (number, core) in self.cores.iter().enumerate() {
            text += &format!(
                "  sub-core {number}: issues from cycle {}, {} in its memory queue, {} in that of units, {} with operands\n",
                core.issues_from,
                core.memory_queue,
                core.unit_queue,
                core.ready.len()
            );
        }
        text + &format!("  operands on their way: of {} instructions\n", self.arriving.len())
    }
}

/// Cycles from the issue of a memory instruction until its registers have been read, if nothing is in its way.
fn read_cycles(config: &SubCore, inst: &TimedInst) -> u64 {
    let space = inst.inst.kind().space();
    let uniform = has_uniform_address(inst);
    let base = match space {
        Some(Space::Const) if inst.keeps_sources() => {
            config.constant_read_cycles + config.constant_register_cycles
        }
        Some(Space::Const) => config.constant_read_cycles,
        _ if uniform => config.uniform_read_cycles,
        Some(Space::Shared) => config.shared_read_cycles,
        _ => config.global_read_cycles,
    };
    let store_read_cycles = if uniform { config.uniform_store_read_cycles } else { config.store_read_cycles };
    let data = match inst.path {
        Path::Memory(MemoryKind::Store(_) | MemoryKind::Atomic(_)) => {
            let registers = inst
                .inst
                .info()
                .memory
                .and_then(|memory| memory.width())
                .map_or(1, |width| u32::from(width.regs()));
            store_read_cycles + config.wide_read_cycles * (registers - 1)
        }
        _ => 0,
    };
    u64::from(base + data)
}

/// Whether an access has its address in uniform registers alone.
fn has_uniform_address(inst: &TimedInst) -> bool {
    !inst.inst.base.is_zero() && inst.inst.src[0].as_reg().is_none()
}

/// Reads of an instruction.
struct Demand {
    /// By bank of the sub-core.
    banks: [u8; 64],
    /// Cycle before which an operand from elsewhere is not there.
    ready_at: u64,
    /// Cycles that a table delays the reads.
    delay: u64,
    /// All operands, one bit each.
    all: u16,
}

impl Demand {
    fn add(&mut self, index: usize, from: &ReadFrom, reads: &[(u16, u64)], banks: usize) {
        debug_assert!(index < MAX_SRC);
        self.all |= 1 << index;
        match from {
            ReadFrom::Bank(bank) | ReadFrom::Lane(bank, _) => self.banks[usize::from(*bank) % banks] += 1,
            ReadFrom::BankBehind(bank, access) => {
                self.banks[usize::from(*bank) % banks] += 1;
                self.delay = self.delay.max(access.waited());
            }
            ReadFrom::Storage(access, _) => self.ready_at = self.ready_at.max(access.ready_at()),
            ReadFrom::With(..) => {}
            ReadFrom::After(leader, ..) => {
                let arrives = reads.get(usize::from(leader.slot())).map_or(0, |(_, arrives)| *arrives);
                self.ready_at = self.ready_at.max(arrives);
            }
        }
    }
}

impl Core {
    /// Takes what the register file cache has from the demand, and updates it; returns the number of hits.
    fn reuse(
        &mut self,
        warp: u8,
        bits: &trace_format::isa::ControlBits,
        banks: usize,
        demand: &mut [u8; 64],
    ) -> u64 {
        let mut hits = 0;
        for (place, reg) in bits.places.iter().enumerate().filter(|(_, reg)| !reg.is_zero()) {
            let bank = usize::from(reg.0) % banks;
            let kept = &mut self.kept[bank][place];
            if *kept == Some((warp, reg.0)) && demand[bank] > 0 {
                demand[bank] -= 1;
                hits += 1;
            }
            *kept = (bits.reuse >> place & 1 != 0).then_some((warp, reg.0));
        }
        hits
    }

    /// Leaves Allocate in the first cycle from which on every bank has the free ports within the window and the unit is free;
    /// returns the cycle.
    fn allocate(&mut self, enters: u64, window: u64, demand: &[u8; 64], unit_free: u64) -> u64 {
        let enters = enters.max(self.allocated + 1);
        self.issues_from = enters - 1;
        let mut at = enters.max(unit_free);
        let fits = |at: u64| {
            self.ports.iter().zip(demand).all(|(bank, reads)| {
                let free: u32 = (at + 1..=at + window).map(|cycle| u32::from(bank.free(cycle))).sum();
                u32::from(*reads) <= free
            })
        };
        // With more operands in one bank than a window has ports, the reads go beyond it.
        let last = at + HORIZON as u64 / 2;
        while !fits(at) && at < last {
            at += 1;
        }
        if at == last {
            at = enters.max(unit_free);
        }
        for (bank, reads) in self.ports.iter_mut().zip(demand).filter(|(_, reads)| **reads > 0) {
            bank.take(*reads, at + 1);
        }
        self.allocated = at;
        at
    }

    /// Reads registers through the ports that are left over from a cycle on; returns the cycle of the last read.
    fn read_left_over(&mut self, demand: &[u8; 64], from: u64) -> u64 {
        let banks = self.ports.iter_mut().zip(demand).filter(|(_, reads)| **reads > 0);
        banks.map(|(bank, reads)| bank.take(*reads, from)).max().unwrap_or(0)
    }
}
